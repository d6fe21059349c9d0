#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# search.sh - what early stopping and racing save, replayed on the tables of a folder: FOLDER [SEEDS]
#
# build/bench/search replays searches with ludwigd's own decisions; search_reference.py makes the decisions of some
# replays once more and compares.  If python3-optuna is installed, Optuna's pruners replay the same lists
# (OPTUNA_SEEDS, default 10: a replay takes a second), and its TPE searches with ludwigd's rules (TPE_SEEDS,
# default 5, 0: none; a search takes two minutes).
set -eu
cd "$(dirname "$0")/../.."

folder=${1:-}
seeds=${2:-100}
if [ ! -d "$folder" ] || [ -z "$(find "$folder" -maxdepth 1 -name '*.json' -print -quit)" ]; then
    echo "search.sh: no tables in '$folder'; use: make bench-search FOLDER=... [SEEDS=100]" >&2
    exit 2
fi

build/bench/search "$folder" "$seeds"

echo '# the same decisions by search_reference.py'
for table in "$folder"/*.json; do
    name=$(basename "$table" .json)
    for rule in 1 2 3 4 5 6; do
        build/bench/search "$folder" "$rule" "$name" "$rule" $((rule % 2 == 0 ? 32 : 8))
    done
done | python3 tests/bench/search_reference.py

python=$(for p in python3 /usr/bin/python3; do "$p" -c 'import optuna' 2>/dev/null && echo "$p" && break; done || :)
if [ -z "$python" ]; then
    echo '# python3-optuna is not installed: its pruners are left out'
    exit
fi
"$python" tests/bench/search_optuna.py "$folder" "${OPTUNA_SEEDS:-10}"
[ "${TPE_SEEDS:-5}" = 0 ] || "$python" tests/bench/search_tpe.py "$folder" "${TPE_SEEDS:-5}"
