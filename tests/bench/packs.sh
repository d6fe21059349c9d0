#!/usr/bin/env bash
# packs.sh [FILES [ROUNDS]] - packing and unpacking many small files, compared with tar and zstd
#
# FILES of 2 to 14 KiB, a thousand per folder, half of each compressible.  All files are on one local disk, and nothing is
# synced while it is timed.  The programs take turns; the result of each is the fewest seconds of ROUNDS, and the fewest CPU
# seconds, on which other work on the machine has less influence.  No tree is removed before the end, as in stage.sh.  Needs
# some 25 GB for 200,000 files and three rounds.
set -euo pipefail
files=${1:-200000} rounds=${2:-3}
here=$(realpath "$(dirname "$0")")
packs=$(realpath "$here/../../build/bench/packs")
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/ludwig-packs-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"

python3 "$here/images.py" tree "$files"
tar cf /dev/null tree # warm

declare -A wall cpu
TIMEFORMAT='%R %U %S'
row() { # NAME COMMAND: its seconds and CPU seconds, if they are the fewest
    local real user sys
    sync -f .
    { time sh -c "$2"; } 2>timed
    read -r real user sys < <(tail -n 1 timed)
    wall[$1]=$(python3 -c "print('%.2f' % min(${wall[$1]:-1e9}, $real))")
    cpu[$1]=$(python3 -c "print('%.2f' % min(${cpu[$1]:-1e9}, $user + $sys))")
}

one_round() { # NUMBER: with folders of that number
    local out=out.$1
    rm -rf t.tar.zst store
    mkdir -p "$out/tar" "$out/tars"
    row 'tar | zstd -1' 'tar cf - tree | zstd -1 -q -o t.tar.zst'
    row 'ludwig packs' "$packs pack tree store >id 2>figures"
    row 'zstd -d | tar' "zstd -dc t.tar.zst | tar xf - -C $out/tar"
    row 'tar --zstd, all parts in turn' \
        'for p in store/parts/*.tar.zst; do tar --zstd -xf "$p" -C '"$out/tars; done"
    row 'ludwig, 1 thread' "$packs unpack store $(cat id) $out/1 1 2>unpacked"
    row "ludwig, $(nproc) threads" "$packs unpack store $(cat id) $out/n $(nproc) 2>unpacked"
    diff -r tree "$out/n" >/dev/null
}

for ((i = 0; i < rounds; i++)); do
    one_round "$i"
done
for name in 'tar | zstd -1' 'ludwig packs' 'zstd -d | tar' 'tar --zstd, all parts in turn' \
    'ludwig, 1 thread' "ludwig, $(nproc) threads"; do
    printf '%-32s %8s s  CPU %7s s  %8.0f files/s\n' "$name" "${wall[$name]}" "${cpu[$name]}" \
        "$(python3 -c "print($files / ${wall[$name]})")"
done
printf 'sizes: tree %s, tar.zst %s, packs %s, of that blocks %s and lists %s bytes\n' \
    "$(du -sb --apparent-size tree | cut -f1)" "$(stat -c %s t.tar.zst)" \
    "$(cat store/*/* store/*.manifest | wc -c)" "$(cat store/blocks/* | wc -c)" \
    "$(cat store/parts/*.list | wc -c)"
cat figures unpacked
rm -rf store
"$packs" again tree store 2>&1 >/dev/null | tail -n 2
