#!/usr/bin/env bash
# Puts our conformance suite, the 138 checks and random requests to other DynamoDB stand-ins, and prints every
# difference from ours. A difference that internal/local/dynamo/testdata/differences-NAME.txt does not explain fails.
# Usage: .ci/dynamo-peers.sh [FOLDER-OF-THE-CHECKS]        PEERS="dynalite dynoxide" chooses
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
checks=${1:-}
seed=${HOLDFAST_SEED:-20261129}
dynalite_version=4.0.0
dynoxide_version=3.2.0
build_minutes=12 # how long a stand-in may be built
failed=0

work=$(mktemp -d)
peer=
stop() { [ -z "$peer" ] || { kill "$peer" 2>/dev/null; wait "$peer" 2>/dev/null; }; peer=; }
trap 'stop; chmod -R u+w "$work"; rm -rf "$work"' EXIT

free_port() { node -e 'const s=require("net").createServer();s.listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})' 2>/dev/null || echo 18231; }

# answers waits until something answers at the endpoint.
answers() {
  for _ in $(seq 100); do
    curl -s -o /dev/null -m 2 "$1" && return 0
    sleep 0.1
  done
  return 1
}

# install_NAME prepares the peer, or says why it cannot. start_NAME PORT runs it.
install_dynalite() {
  mkdir -p "$work/dynalite"
  (cd "$work/dynalite" && npm install --no-audit --no-fund --no-save "dynalite@$dynalite_version" >log 2>&1)
}
start_dynalite() { exec node "$work/dynalite/node_modules/dynalite/cli.js" --host 127.0.0.1 --port "$1" --createTableMs 0 --updateTableMs 0 --deleteTableMs 0; }

install_dynoxide() {
  [ -n "${DYNOXIDE_BIN:-}" ] && return 0 # built before
  DYNOXIDE_BIN=$work/dynoxide/bin/dynoxide
  command -v cargo >/dev/null || { why='cargo is not installed'; return 1; }
  timeout -k 10 "${build_minutes}m" nice -n 10 cargo install --root "$work/dynoxide" dynoxide-rs --version "$dynoxide_version" --locked \
    --no-default-features --features native-sqlite,http-server,cli >"$work/dynoxide.log" 2>&1
  case $? in
    0) return 0 ;;
    124 | 137) why="dynoxide could not be built in $build_minutes minutes" ;;
    *) tail -n 3 "$work/dynoxide.log" ;;
  esac
  return 1
}
start_dynoxide() { exec "$DYNOXIDE_BIN" --host 127.0.0.1 --port "$1"; }

# suite prints the differences of the endpoint from what our suite wants, and from our server on random requests.
suite() {
  (cd "$root" && AWS_ENDPOINT_URL_DYNAMODB=$1 HOLDFAST_SEED=$seed timeout 300 \
    go test -count=1 -run '^(TestEndpoint|TestCompare)$' ./internal/local/dynamo/conformance) >"$work/suite" 2>&1
  grep -q -E '^(ok|FAIL)[[:space:]]' "$work/suite" || { cat "$work/suite"; return 1; }
  if ! grep -q DIFFERENCE "$work/suite" && grep -q '^FAIL' "$work/suite"; then
    cat "$work/suite"
    return 1
  fi
  grep -oE 'DIFFERENCE .*' "$work/suite"
  grep -E '^panic:|fatal error' "$work/suite" | sed 's/^/DIFFERENCE /'
  return 0
}

# one_hundred_thirty_eight prints the checks that must be OK at ours and are not at the endpoint.
one_hundred_thirty_eight() {
  [ -n "$checks" ] && [ -f "$checks/go.mod" ] || { echo "not run: the 138 checks are not there" >&2; return 0; }
  rm -rf "$work/checks"
  cp -r "$checks" "$work/checks" && chmod -R u+w "$work/checks"
  (cd "$work/checks" && ENDPOINT=$1 timeout 300 go test -count=1 -run Semantics -v .) >"$work/checks.out" 2>&1
  sed -n 's/^OK  //p' "$work/checks.out" | sort >"$work/ok"
  grep -v '^#' "$root/internal/local/dynamo/testdata/must-be-ok.txt" | sort | comm -23 - "$work/ok" | sed 's/^/CHECK /'
}

for name in ${PEERS:-dynalite dynoxide}; do
  echo "== $name"
  why="$name could not be installed"
  if ! "install_$name"; then
    echo "not run: $why"
    continue
  fi
  port=$(free_port)
  ("start_$name" "$port") >"$work/$name.out" 2>&1 &
  peer=$!
  if ! answers "http://127.0.0.1:$port/"; then
    echo "not run: $name does not answer"
    tail -3 "$work/$name.out"
    stop
    continue
  fi
  if ! suite "http://127.0.0.1:$port" >"$work/found"; then
    cat "$work/found"
    echo "failed: the suite could not be put to $name"
    failed=1
  fi
  one_hundred_thirty_eight "http://127.0.0.1:$port" >>"$work/found"
  stop
  sort -u "$work/found" -o "$work/found"
  cat "$work/found"
  explained=$root/internal/local/dynamo/testdata/differences-$name.txt
  grep -v -e '^#' -e '^$' "$explained" | sort -u >"$work/explained"
  unexplained=$(comm -23 "$work/found" "$work/explained")
  gone=$(comm -13 "$work/found" "$work/explained")
  [ -z "$gone" ] || printf 'explained, and not seen this time:\n%s\n' "$gone"
  if [ -n "$unexplained" ]; then
    printf 'failed: differences that %s does not explain:\n%s\n' "$explained" "$unexplained"
    failed=1
  else
    echo "passed: every difference of $name is explained"
  fi
done
exit $failed
