#!/usr/bin/env bash
# Runs Holdfast beside other engines on one job and prints one table, all from one run.
#
#   bench/compare.sh FOLDER                    river restate dbos baseline-step holdfast holdfast-memory
#   bench/compare.sh FOLDER river holdfast     these
#   bench/compare.sh FOLDER all                all
#   N=2000 C=32 SEED=1 REPEAT=3 SCENARIOS="clean faulty keys" bench/compare.sh FOLDER
#
# FOLDER holds the peers (its README.md says what they are) and stays as it is: a copy is built and run. KEEP=DIR keeps
# the copy there, so that the next run builds nothing again. bench/README.md says what the table means.
set -euo pipefail

ALL="unguarded baseline-webhook baseline-step temporal-memory temporal-postgres dbos dbos-noretry restate restate-stock river goworkflows holdfast holdfast-memory"
DEFAULT="river restate dbos baseline-step holdfast holdfast-memory"
HERE=$(cd "$(dirname "$0")" && pwd)
PG=${PG:-/usr/lib/postgresql/15/bin}
export PG N="${N:-2000}" C="${C:-32}" SEED="${SEED:-1}" REPEAT="${REPEAT:-1}" SCENARIOS="${SCENARIOS:-clean faulty}"

say() { echo "compare: $*" >&2; }

[ $# -ge 1 ] && [ -f "$1/run.sh" ] || { say "name the folder of the peers, the one with run.sh in it: bench/compare.sh FOLDER [PEER...]"; exit 2; }
FOLDER=$1
shift
WANTED=${*:-$DEFAULT}
[ "$WANTED" != all ] || WANTED=$ALL
for p in $WANTED; do
    [[ " $ALL " == *" $p "* ]] || { say "there is no peer $p; there are: $ALL"; exit 2; }
done

COPY=${KEEP:-$(mktemp -d)}
mkdir -p "$COPY"
chmod 755 "$COPY" # PostgreSQL runs as another user
[ -n "${KEEP:-}" ] || trap 'rm -rf "$COPY"' EXIT
cp -r --no-preserve=mode "$FOLDER/." "$COPY"
rm -rf "$COPY/data"

postgres() { # is there a PostgreSQL, or can one be had
    [ -x "$PG/postgres" ] || apt-get install -y postgresql >&2 || { say "no PostgreSQL in $PG, and it cannot be installed"; return 1; }
    [ "$(id -u)" = 0 ] || { say "PostgreSQL is started as the user postgres, which only root can do"; return 1; }
}
gobuild() { (cd "$COPY/$1" && go build -o "$2" .); }

have() { # have PEER: everything that it needs, built
    case $1 in
    holdfast*) (cd "$HERE/.." && go build -o "$COPY/holdfast/bin/holdfast" ./bench/peer) ;;
    unguarded | baseline-*) gobuild baseline bin/baseline ;;
    dbos*) postgres && gobuild dbos bin/dbos ;;
    river) postgres && gobuild river bin/river ;;
    goworkflows) gobuild goworkflows bin/goworkflows ;;
    temporal-*)
        [ "$1" != temporal-postgres ] || postgres || return 1
        gobuild temporal/server ../bin/server && gobuild temporal/worker ../bin/worker # minutes, the first time
        ;;
    restate*)
        gobuild restate bin/restate || return 1
        [ -d "$COPY/restate/node_modules" ] || (cd "$COPY/restate" && npm install --no-audit --no-fund >&2)
        ;;
    esac
}

gobuild target bin/target
gobuild driver bin/driver
PEERS=
for p in $WANTED; do
    if have "$p"; then PEERS="$PEERS $p"; else say "$p cannot be had here and is left out"; fi
done
[ -n "$PEERS" ] || { say "nothing is left to run"; exit 1; }

# The peers' own script runs us like any other; what is needed was built above.
sed -e 's/^build$//' -e '/^version() /,$d' -e '/^    goworkflows) start app/i\
    holdfast) start app holdfast/bin/holdfast ;;\
    holdfast-memory) DATA_DIR= start app holdfast/bin/holdfast ;;' "$FOLDER/run.sh" >"$COPY/run.sh"
chmod +x "$COPY/run.sh" "$COPY"/restate/node_modules/@restatedev/*/bin/* 2>/dev/null || true
say "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
(cd "$COPY" && ./run.sh $PEERS)
say "load after: $(cut -d' ' -f1-3 /proc/loadavg)"

echo "$(date -u +%F\ %H:%M) UTC, $(nproc) cores, $(go version | cut -d' ' -f3). N=$N C=$C SEED=$SEED REPEAT=$REPEAT (the median run by flows/s)."
echo
(cd "$COPY" && driver/bin/driver -report data/results.jsonl -order "$PEERS")
if [ -s "$COPY/data/failures.txt" ]; then
    echo
    echo "Did not finish:"
    sed 's/^/- /' "$COPY/data/failures.txt"
fi
