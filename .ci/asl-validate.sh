#!/bin/sh
# Checks statemachine/run.asl.json with the npm package asl-validator, in a directory of its own that is removed again.
# Prints "not run: ..." and succeeds when npm or the package cannot be reached; fails on any finding.
set -eu

version=4.0.0
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
file=${1:-$root/statemachine/run.asl.json}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

if ! command -v npm >/dev/null 2>&1; then
  echo "not run: npm is not installed"
  exit 0
fi
if ! npm install --prefix "$work" --no-save --no-audit --no-fund --ignore-scripts --silent "asl-validator@$version" >"$work/npm.log" 2>&1; then
  echo "not run: asl-validator $version could not be installed"
  exit 0
fi
# The deployment puts the functions' ARNs in; the validator gets one of the same shape.
sed 's/\${[A-Za-z]*}/arn:aws:lambda:us-east-1:000000000000:function:placeholder/g' "$file" >"$work/run.asl.json"
"$work/node_modules/.bin/asl-validator" --json-path "$work/run.asl.json"
