#!/usr/bin/env bash
# share.sh [FILES [ROUNDS]] - how long the first job waits for data that are on the shared drive already
#
# In embedded mode, on one machine whose disk is the drive.  FILES (20000) of 8 KiB, new in each round, are given by their
# own path, so that they are staged in place, and through a symlink, so that they are packed first.  Measures the time
# from `ludwig submit` to the job's first line, and the size of the project's packs.  Prints medians of ROUNDS (5).
files=${1:-20000} rounds=${2:-5}
. "$(dirname "$0")/../functional/lib.sh"

configure 'resources: {cpus: 1, gpus: 0}'
mkdir -p "$SHARE/sets"
ln -s sets "$SHARE/link"
printf '%s\n' 'date +%s%N >"$1"' >job.sh

make_files() { # NAME
    python3 - "$SHARE/sets/$1" "$files" <<'END'
import os, sys
for i in range(int(sys.argv[2])):
    below = f"{sys.argv[1]}/{i // 1000:03}"
    if i % 1000 == 0:
        os.makedirs(below)
    with open(f"{below}/{i:06}", "wb") as f:
        f.write(os.urandom(4096).hex().encode())
END
    sync
}
# The file is there before it is written.
has_ended() { ended "$1" && [ -s "$TEST_TMP/started.$2" ]; }

once() { # NAME PATH: in ms
    local id start
    make_files "$1"
    printf '%s\n' "project: $1" "command: sh job.sh $TEST_TMP/started.$1" 'source: [job.sh]' \
        "data: [{share: $2/$1}]" 'params: {a: [1]}' >"$1.yaml"
    start=$(date +%s%N)
    id=$(submit "$1.yaml" 2>/dev/null)
    wait_until 600 has_ended "$id" "$1" || return
    echo "$((($(cat "$TEST_TMP/started.$1") - start) / 1000000))"
    du -sk "$SHARE/$1/.ludwig/packs" | cut -f1 >>"$2.kib"
}

once warm sets >warm.ms || exit
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
for ((i = 0; i < rounds; i++)); do
    once "packed$i" link >>link.ms && once "direct$i" sets >>sets.ms || exit
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
python3 - "$files" <<'END'
import statistics, sys
packed, direct = ([float(x) for x in open(f)] for f in ("link.ms", "sets.ms"))
packs, none = (statistics.median(float(x) for x in open(f)) for f in ("link.kib", "sets.kib"))
a, b = statistics.median(packed), statistics.median(direct)
print(f"{sys.argv[1]} files, packed first   {a:8.0f} ms, {packs / 1024:8.1f} MiB of packs")
print(f"{sys.argv[1]} files, where they lie {b:8.0f} ms, {none / 1024:8.1f} MiB of packs")
print(f"ratio of pairs: {' '.join(f'{x / y:.2f}' for x, y in zip(packed, direct))}, "
      f"median {statistics.median(x / y for x, y in zip(packed, direct)):.2f}")
END
ludwig down
