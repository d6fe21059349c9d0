#!/bin/bash
# jobs.sh - the time per job: N jobs of /bin/true in 2 slots through all of ludwig, compared with
# the floor (see floor.c), GNU parallel --results and xargs
#
#     tests/bench/jobs.sh FLOOR [N [ROUNDS]]
#
# The programs take turns within each round, and nothing is deleted in between: a disk is
# slower for a while after many files were deleted. Timings vary, so compare the ratios.
floor=$(realpath "${1:?usage: jobs.sh FLOOR [N [ROUNDS]]}")
n=${2:-1000} rounds=${3:-3} slots=2
. "$(dirname "$0")/../functional/lib.sh"

configure "resources: {cpus: $slots, gpus: 0}"
mkdir "$TEST_TMP/times"

# Configurations of 50 replications, as the floor makes them.
sweep_of() { # ROUND
    printf '%s\n' "project: bench$1" 'command: /bin/true' 'source: []' \
        "params: {a: [$(seq -s, 1 $((n / 50)))]}" 'reps: 50' >"bench$1.yaml"
}

run_floor() { "$floor" "$n" $slots "$TEST_TMP/work/floor$1" >/dev/null; }
# From the start of submit until the last job's result lies on the share and is reported.
run_ludwig() { ludwig submit "bench$1.yaml" --wait >/dev/null 2>&1; }
run_parallel() { seq "$n" | parallel -j$slots --results "$TEST_TMP/work/parallel$1" /bin/true >/dev/null 2>&1; }
run_xargs() { seq "$n" | xargs -P$slots -n1 /bin/true; }

programs='floor ludwig xargs'
if command -v parallel >/dev/null; then
    programs='floor ludwig parallel xargs'
else
    echo 'parallel is not there: left out' >&2
fi

ludwig up 2>/dev/null || exit
for ((round = 1; round <= rounds; round++)); do
    sweep_of $round
    for program in $programs; do
        begin=${EPOCHREALTIME/./}
        "run_$program" $round || { echo "$program failed" >&2 && exit 1; }
        echo $((${EPOCHREALTIME/./} - begin)) >>"$TEST_TMP/times/$program"
    done
    published=$(find "$SHARE/bench$round/runs" -name job.json | wc -l)
    [ "$published" = "$n" ] || { echo "round $round: $published results of $n" >&2 && exit 1; }
done
ludwig down 2>/dev/null

python3 - "$n" "$TEST_TMP/times" $programs <<'END'
import os, statistics, sys
n, folder, programs = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
times = {p: [int(line) / 1e6 for line in open(os.path.join(folder, p))] for p in programs}
median = {p: statistics.median(times[p]) for p in programs}
print("%-10s %8s %10s %10s   %s" % ("", "jobs/s", "ms a job", "of floor", "seconds of each round"))
for p in programs:
    print("%-10s %8.0f %10.2f %10.2f   %s" % (
        p, n / median[p], 1000 * median[p] / n, median["floor"] / median[p],
        " ".join("%.2f" % t for t in times[p])))
END
