#!/bin/bash
# usage.sh - CPU- and GPU-hours by user and sweep
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0, memory: 2GiB}'

cat >job.sh <<'END'
[ "$1" != busy ] || python3 -c 'exec("import time\nwhile time.process_time() < 0.6: pass")'
[ "$1" != fail ] || { sleep 0.5; exit 1; }
END
write_sweep() { # PROJECT WORD CPUS
    printf '%s\n' "project: $1" "command: sh job.sh $2" 'source: job.sh' "resources: {cpus: $3}" >"$1.yaml"
}

counted() {
    me=$(id -un)
    write_sweep one busy 2
    write_sweep two fail 1
    ludwig_wait submit one.yaml --wait
    not ludwig_wait submit two.yaml --wait --name second
    ludwig usage --json >"$TEST_TMP/users"
    ludwig usage --by sweep --json >"$TEST_TMP/sweeps"
    cat >check.py <<'END'
import json, sys
users, sweeps, me = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), sys.argv[3]
assert users["v"] == sweeps["v"] == 1
u, = users["users"]
assert u["user"] == me and u["sweeps"] == 2 and u["attempts"] == 2
assert [s["sweep"] for s in sweeps["sweeps"]] == [2, 1]
assert [(s["project"], s["name"], s["user"], s["attempts"]) for s in sweeps["sweeps"]] == [
    ("two", "second", me, 1), ("one", None, me, 1)]
second, first = sweeps["sweeps"]
assert 0.6 / 3600 < first["hours"] < 100 / 3600 and abs(first["cpu_hours"] - 2 * first["hours"]) < 1e-9
assert 0.6 / 3600 <= first["busy_cpu_hours"] <= first["cpu_hours"], first
assert 0.5 / 3600 < second["hours"] < 100 / 3600 and abs(second["cpu_hours"] - second["hours"]) < 1e-9
assert first["gpu_hours"] == second["gpu_hours"] == 0
for total in users["total"], sweeps["total"]:
    assert total["user"] is None and total["sweeps"] == 2
    for key in "attempts", "hours", "cpu_hours", "gpu_hours", "busy_cpu_hours":
        assert abs(total[key] - first[key] - second[key]) < 1e-9, key
        assert abs(u[key] - total[key]) < 1e-9, key
END
    python3 check.py "$TEST_TMP/users" "$TEST_TMP/sweeps" "$me"
}
it 'usage adds up what attempts took, those that failed too' counted

since() {
    ludwig usage --since 1h --json | json - 'd["total"]["sweeps"] == 2'
    ludwig usage --since 2999-01-01 --json | json - 'd["users"] == [] and d["total"]["sweeps"] == 0'
    ludwig usage --since "$(date -d yesterday +%F)" --by sweep --json | json - 'len(d["sweeps"]) == 2'
    at=$(ludwig status 2 --json | json - 'd["submitted_at"]')
    # Without the fraction it is no later than that sweep.
    at=${at%Z}
    ludwig usage --since "${at%.*}Z" --json >out
    json out '1 <= d["total"]["sweeps"] <= 2'
    for words in '--since yesterday' '--since 2026-02-30' '--by project'; do
        status=0
        # shellcheck disable=SC2086 # one word each
        ludwig usage $words >out 2>err || status=$?
        [ $status = 2 ]
        [ ! -s out ]
    done
}
it '--since takes a time back or a date, and refuses what is neither' since

table() {
    ludwig usage >out
    grep -qE '^USER +SWEEPS +ATTEMPTS +HOURS +CPU-HOURS +BUSY +GPU-HOURS +BUSY +GPU-PEAK +SLURM +PEAK$' out
    grep -qE "^$(id -un) +2 +2 " out
    grep -qE '^total +2 +2 ' out
    ludwig usage --by sweep >out
    grep -qE '^ *2 +two +second ' out
    grep -qE '^total +2 ' out
    [ "$(grep -c . out)" = 4 ]
}
it 'usage prints a table with a total' table

readable() {
    python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x100 env NO_COLOR=1 ludwig usage >out
    grep -qE '^total +2 +2 +([0-9]+ (s|ms|min)( [0-9]+ s)? +){2}[0-9]+% +0\.00' out
    not grep -q '<0.01' out
    ludwig usage >out
    not grep -qE '[0-9] m?s' out
}
it 'on a terminal small amounts are seconds and minutes' readable

done_testing
