#!/usr/bin/env bash
# stage.sh [FILES [ROUNDS]] - staging many small files into a worker's cache, compared with other programs that unpack them
#
# FILES of 2 to 14 KiB, a thousand per folder, half of each compressible, on one local disk; nothing is synced while it is
# timed.  The programs take turns; the result of each is the fewest seconds of ROUNDS.  Then measures the check whether the
# staged files are unchanged.  Nothing is removed before the end: ext4 without a journal skips inodes that were freed in
# the last minutes, which makes creating files slower.  Needs some 37 GB for 200,000 files and three rounds.
set -euo pipefail
files=${1:-200000} rounds=${2:-3}
here=$(realpath "$(dirname "$0")")
programs=$(realpath "$here/../../build/bench")
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/ludwig-stage-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"

python3 "$here/images.py" tree "$files"
store=share/demo/.ludwig/packs
mkdir -p "$(dirname "$store")"
id=$("$programs/packs" pack tree "$store" 2>/dev/null)
tar cf all.tar tree
cpus=$(nproc)
split_tars() { # as many as there are processors, each with its share of the folders
    local i
    for ((i = 0; i < cpus; i++)); do
        find tree -mindepth 1 -maxdepth 1 | sort | awk -v n="$cpus" -v i="$i" 'NR % n == i' | tar cf "some.$i.tar" -T -
    done
}
split_tars

declare -A wall cpu
names=() n_rows=0
TIMEFORMAT='%R %U %S'
row() { # NAME COMMAND: its seconds and CPU seconds, if they are the fewest
    local real user sys
    n_rows=$((n_rows + 1))
    out=out.$n_rows
    mkdir "$out"
    export out
    sync -f .
    { time sh -c "$2"; } 2>timed
    read -r real user sys < <(tail -n 1 timed)
    [ -n "${wall[$1]-}" ] || names+=("$1")
    wall[$1]=$(python3 -c "print('%.2f' % min(${wall[$1]:-1e9}, $real))")
    cpu[$1]=$(python3 -c "print('%.2f' % min(${cpu[$1]:-1e9}, $user + $sys))")
}

for ((i = 0; i < rounds; i++)); do
    row 'tar | tar' 'tar cf - tree | tar xf - -C $out'
    row 'tar x' 'tar xf all.tar -C $out'
    if command -v bsdtar >/dev/null; then row 'bsdtar x' 'bsdtar -xf all.tar -C $out'; fi
    row "$cpus tar x at once" 'for t in some.*.tar; do tar xf $t -C $out & done; wait'
    row 'cp -r' 'cp -r tree $out'
    row 'ludwig stages' "$programs/stage share demo \$PWD/\$out $id >steps"
    diff -r tree "$out"/cache/[0-9a-f]* >/dev/null
done
best=$(for name in "${names[@]}"; do [ "$name" = 'ludwig stages' ] || echo "${wall[$name]}"; done | sort -n | head -n 1)
for name in "${names[@]}"; do
    printf '%-24s %8s s  CPU %7s s  %8.0f files/s\n' "$name" "${wall[$name]}" "${cpu[$name]}" \
        "$(python3 -c "print($files / ${wall[$name]})")"
done
printf 'of the best other: %.2f\n' "$(python3 -c "print(${wall[ludwig stages]} / $best)")"
"$programs/stage" share demo "$PWD/$out" "$id" >steps
awk '{ printf "look at its %-16s %8.1f ms  CPU %7.1f ms\n", $1, $2, $3 }' steps
