#!/usr/bin/env bash
# start.sh [FILES [ROUNDS]] - how much later a job with data starts, on a node that has the data staged
#
# In embedded mode, on one machine.  Jobs without data and jobs with FILES (200000) small files take turns, each alone and
# each queued while the node is drained.  Measures the time from `ludwig undrain` to the job's first line, and prints
# medians of ROUNDS (9).
files=${1:-200000} rounds=${2:-9}
. "$(dirname "$0")/../functional/lib.sh"

configure 'resources: {cpus: 1, gpus: 0}'
python3 - images "$files" <<'END'
import os, sys
for i in range(int(sys.argv[2])):
    below = f"{sys.argv[1]}/{i // 1000:03}"
    if i % 1000 == 0:
        os.makedirs(below)
    with open(f"{below}/{i:06}", "wb") as f:
        f.write(b"%d" % i * 100)
END
printf '%s\n' 'date +%s%N >"$1"' >job.sh

sweep() { # NAME VALUE [DATA]: its number
    printf '%s\n' "project: $1" "command: sh job.sh $TEST_TMP/started.{a}" 'source: [job.sh]' \
        "data: [${3-}]" "params: {a: [$2]}" >"$1.yaml"
    submit "$1.yaml"
}
node() { ludwig nodes --json | json - 'd["nodes"][0]["node"]'; }
# The file is there before it is written.
has_ended() { ended "$1" && [ -s "$TEST_TMP/started.$2" ]; }

once() { # NAME VALUE [DATA]: in ms
    local id start
    ludwig drain "$name" >/dev/null 2>&1 || return
    id=$(sweep "$@" 2>/dev/null)
    start=$(date +%s%N)
    ludwig undrain "$name" >/dev/null 2>&1
    wait_until 60 has_ended "$id" "$2" || return
    echo "$((($(cat "$TEST_TMP/started.$2") - start) / 10000))e-2"
}

# They are brought, and looked at as new ones are.
id=$(sweep with first images 2>/dev/null) && wait_until 600 ended "$id" || exit
id=$(sweep without first2 2>/dev/null) && wait_until 60 ended "$id" || exit
name=$(node)
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
for ((i = 0; i < rounds; i++)); do
    once without "$((2 * i))" >>without.ms && once with "$((2 * i + 1))" images >>with.ms || exit
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
python3 - "$files" <<'END'
import statistics, sys
without, with_ = ([float(x) for x in open(f)] for f in ("without.ms", "with.ms"))
a, b = statistics.median(without), statistics.median(with_)
print(f"without data          {a:8.1f} ms")
print(f"with {sys.argv[1]:>7} files    {b:8.1f} ms")
print(f"longer by             {b - a:8.1f} ms")
END
ludwig down
