#!/usr/bin/env bash
# Puts the 138 checks of a DynamoDB stand-in to our server: every line of must-be-ok.txt must be OK.
# Usage: .ci/dynamo-checks.sh FOLDER-OF-THE-CHECKS
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
checks=${1:-}
list=$root/internal/local/dynamo/testdata/must-be-ok.txt

if [ -z "$checks" ] || [ ! -f "$checks/go.mod" ]; then
  echo "not run: the folder of the checks was not given or is not there: '${checks}'"
  exit 0
fi

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; chmod -R u+w "$work"; rm -rf "$work"' EXIT

cp -r "$checks" "$work/checks"
chmod -R u+w "$work/checks"
(cd "$root" && go build -o "$work/dynamo-serve" ./internal/local/dynamo/cmd/dynamo-serve)

mkfifo "$work/address"
"$work/dynamo-serve" -addr 127.0.0.1:0 >"$work/address" &
server=$!
read -r endpoint <"$work/address"

if ! (cd "$work/checks" && ENDPOINT=$endpoint go test -count=1 -run Semantics -v .) >"$work/out" 2>&1; then
  cat "$work/out"
  echo "failed: the checks could not be run"
  exit 1
fi

sed -n 's/^OK  //p' "$work/out" | sort >"$work/ok"
grep -v '^#' "$list" | sort >"$work/must"
missing=$(comm -23 "$work/must" "$work/ok")
grep -E '^[0-9]+ OK, [0-9]+ GAP$' "$work/out"
grep '^GAP' "$work/out" || true
if [ -n "$missing" ]; then
  printf 'failed: these checks must be OK and are not:\n%s\n' "$missing"
  exit 1
fi
echo "passed: all $(wc -l <"$work/must") checks that must be OK are"
