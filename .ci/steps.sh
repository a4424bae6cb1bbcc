# Sourced by .ci/run and .ci/quick: runs steps, times them, and closes with a table of what passed, failed or was not run.
# A step is "not run" when it exits 0 and a line of its output begins with "not run:" and none with "passed". It is never
# counted as passed.

exec </dev/null
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
work=$(mktemp -d)
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
names=() states=() seconds=()

# step TITLE COMMAND... runs the command and notes how it ended. It goes on after a failure.
step() {
  local title=$1 start=$SECONDS rc state=passed
  shift
  printf '\n===== %s\n' "$title"
  "$@" 2>&1 | tee "$work/log"
  rc=${PIPESTATUS[0]}
  if [ "$rc" -ne 0 ]; then
    state=failed
  elif grep -q '^not run:' "$work/log"; then
    state='not run'
    ! grep -q '^passed' "$work/log" || state='passed in part'
  fi
  names+=("$title") states+=("$state") seconds+=($((SECONDS - start)))
  printf -- '----- %s: %s (%d s)\n' "$title" "$state" $((SECONDS - start))
}

# summary prints the table and ends with 1 when a step failed.
summary() {
  local i passed=0 failed=0 skipped=0
  printf '\n===== summary\n'
  for i in "${!names[@]}"; do
    printf '%-16s %5d s  %s\n' "${states[$i]}" "${seconds[$i]}" "${names[$i]}"
    case ${states[$i]} in
      passed*) passed=$((passed + 1)) ;;
      failed) failed=$((failed + 1)) ;;
      *) skipped=$((skipped + 1)) ;;
    esac
  done
  printf 'total: %d s\n' "$SECONDS"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
}

formatted() {
  local found
  found=$(gofmt -l .) || return 1
  [ -z "$found" ] || { printf 'these files need gofmt -w:\n%s\n' "$found"; return 1; }
}

# functions builds every function as it is deployed, and prints what each binary weighs.
functions() {
  local folder name out rc=0
  for folder in functions/*/; do
    name=$(basename "$folder")
    out=$work/artifact/$name
    mkdir -p "$out"
    make -s "build-${name^}Function" ARTIFACTS_DIR="$out" || { rc=1; continue; }
    # Bytes 18 and 19 of an ELF file are its machine; b7 00 is arm64.
    [ "$(od -An -tx1 -j18 -N2 "$out/bootstrap" | tr -d ' \n')" = b700 ] || { echo "$name: not an arm64 binary"; rc=1; }
    printf '%-10s %6.1f MB, %5.1f MB as deployed (limit 50)\n' "$name" \
      "$(megabytes <"$out/bootstrap")" "$(gzip -c "$out/bootstrap" | megabytes)"
  done
  return $rc
}

megabytes() { wc -c | awk '{ printf "%.1f", $1 / 1e6 }'; }
