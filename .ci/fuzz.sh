#!/usr/bin/env bash
# Runs every fuzz target: .ci/fuzz.sh [COUNTx | SECONDS], 20000x when nothing is given. A target that finds something stops
# nothing: the rest runs, a table follows, and the exit code is 1. Environment: FUZZ_ONLY, a pattern of target names.
#
# Counts, not seconds, decide in CI: a time limit that falls into the middle of an input is reported by Go as that input's
# failure. Where seconds are given, such a report without a failing input is no finding.
# A target with the comment `//fuzz:slow` above it, because one input of it takes long, gets a tenth of a count; with
# `//fuzz:slower` it gets a hundredth.
set -uo pipefail
cd "$(dirname "$0")/.."

limit=${1:-20000x}
[[ $limit =~ ^[1-9][0-9]*(x|s)?$ ]] || { echo 'usage: .ci/fuzz.sh [COUNTx | SECONDS]' >&2; exit 2; }
[[ $limit =~ [xs]$ ]] || limit+=s
minimize=200x # inputs spent on making one smaller; Go's own limit is a minute for each
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
# What earlier runs found interesting is tried first, and counts: a count begins without it, a long run goes on from it.
corpus=$work/corpus
[[ $limit == *x ]] || corpus=$(go env GOCACHE)/fuzz/$(go list -m)

# targets lists folder, name and speed of every fuzz target.
targets() {
  grep -rn --include='*_test.go' -B1 -E '^func Fuzz[A-Za-z0-9_]+\(' . | awk '
    match($0, /fuzz:slow(er)?$/) { speed = substr($0, RSTART + 5); next }
    match($0, /func Fuzz[A-Za-z0-9_]+/) {
      name = substr($0, RSTART + 5, RLENGTH - 5); file = $0; sub(/:.*/, "", file); sub(/\/[^\/]*$/, "", file)
      print file, name, (speed == "" ? "fast" : speed); speed = ""; next
    }
    { speed = "" }' | sort
}

# share is the limit of one target.
share() {
  local part=1
  case $1 in slow) part=10 ;; slower) part=100 ;; esac
  if [[ $limit == *x ]]; then echo "$((${limit%x} / part + 1))x"; else echo "$limit"; fi
}

# built makes a package's instrumented test binary, once for all of its targets.
built() { [ -x "$1" ] || go test -c -fuzz . -o "$1" "$2"; }

# try runs one target and leaves what it said in the log.
try() {
  local folder=$1 name=$2 binary=$work/${1//\//_}
  built "$binary" "$folder" >"$log" 2>&1 || return 1
  (cd "$folder" && "$binary" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$3" -test.fuzzminimizetime "$minimize" \
    -test.fuzzcachedir "$corpus/${folder#./}" -test.paniconexit0) >"$log" 2>&1
}

# verdict reads a target's output: ok, finding or broken.
verdict() {
  if [ "$1" -eq 0 ]; then echo ok
  elif grep -qE 'Failing input written|failure while testing seed corpus entry' "$log"; then echo finding
  elif [[ $limit == *s ]] && grep -q 'context deadline exceeded' "$log"; then echo ok
  else echo broken; fi
}

rows=() failed=0 total=0
while read -r folder name speed; do
  [[ $name =~ ${FUZZ_ONLY:-.} ]] || continue
  total=$((total + 1))
  try "$folder" "$name" "$(share "$speed")"
  result=$(verdict $?)
  inputs=$(grep -oE 'execs: [0-9]+' "$log" | tail -n 1 | tr -dc 0-9)
  fresh=$(grep -oE 'new interesting: [0-9]+' "$log" | tail -n 1 | tr -dc 0-9)
  if [ "$result" != ok ]; then
    failed=$((failed + 1))
    echo "--- $folder $name: $result"
    grep -v '^fuzz: elapsed' "$log" | head -n 40
    where=$(grep -oE 'testdata/fuzz/[A-Za-z0-9_/-]+|[A-Za-z0-9_]+/seed#[0-9]+' "$log" | tail -n 1)
    [ -z "$where" ] || result="finding: $folder/$where"
  fi
  rows+=("$(printf '%-32s %-28s %9s %6s  %s' "${folder#./internal/}" "$name" "${inputs:-0}" "${fresh:-0}" "$result")")
done < <(targets)

printf '\n%-32s %-28s %9s %6s  %s\n' package target inputs new result
printf '%s\n' "${rows[@]}"
printf '\n%d targets, %s each, %d with a finding or broken\n' "$total" "$limit" "$failed"
[ "$total" -gt 0 ] && [ "$failed" -eq 0 ]
