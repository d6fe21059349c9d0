#!/bin/bash
# waste.sh - what jobs took of memory and processors, and what was asked for in vain
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 8GiB}'

# Holds so many MiB in each of two processes, and works for a while.
cat >hold.py <<'PY'
import os, sys, time
mib = int(sys.argv[1])
child = os.fork()
held = bytearray(mib << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
until = time.process_time() + 0.3
while time.process_time() < until:
    pass
if child == 0:
    time.sleep(1.5)
    os._exit(0)
os.waitpid(child, 0)
PY

sweep() { # LINE...
    printf '%s\n' 'project: hold' 'command: python3 hold.py {mib}' 'source: hold.py' \
        'params: {mib: [40, 60, 80]}' "$@" >sweep.yaml
}

everywhere() {
    sweep 'resources: {memory: 4GiB, time: 4h}'
    ludwig_wait submit sweep.yaml --wait >id 2>said
    not grep -q 'asked for' said
    # Both processes count.
    for job in 1 2 3; do
        least=$((2 * (20 + 20 * job)))
        job "$(cat id).$job" "j['cpu_seconds'] >= 0.6 and $least << 20 < j['max_rss_bytes'] < ($least + 60) << 20"
    done
    json "$SHARE"/hold/runs/param_003/*/job.json 'd["max_rss_bytes"] > 160 << 20 and d["cpu_seconds"] >= 0.6'
    ludwig results "$(cat id)" --json >out
    json out 'all(r["max_rss_bytes"] > 80 << 20 and r["cpu_seconds"] >= 0.6 for r in d["results"])'
    ludwig results "$(cat id)" --csv >out
    head -n 1 out | grep -q ',jobs,max_rss_bytes,cpu_seconds'
    ludwig usage --json | json - 'd["users"][0]["max_rss_bytes"] > 160 << 20 and d["total"]["max_rss_bytes"] > 160 << 20'
    ludwig usage --by sweep --json | json - '[s["max_rss_bytes"] > 160 << 20 and s["limit_hours"] for s in d["sweeps"]] == [12]'
    ludwig usage | grep -qE ' PEAK$'
}
it 'memory and processor time of a job are in job.json, jobs, results and usage' everywhere

columns() {
    ludwig jobs "$(cat id)" --columns job,mib,max_rss_bytes,cpu_seconds,seconds --csv --sort -max_rss_bytes >out
    [ "$(head -n 1 out)" = job,mib,max_rss_bytes,cpu_seconds,seconds ]
    [ "$(tail -n +2 out | cut -d, -f1,2 | tr '\n' ' ')" = '1.3,80 1.2,60 1.1,40 ' ]
    tail -n +2 out | grep -cE '^1\.[123],[0-9]+,[0-9]{8,},[0-9.]+,[0-9.]+$' | grep -qx 3
    ludwig jobs "$(cat id)" --columns job,max_rss_bytes,node,exit_code >out
    [ "$(wc -l <out)" = 4 ]
    grep -qE '^job +max_rss_bytes +node +exit_code$' out
    grep -qE '^1\.3 +1[6-9][0-9](\.[0-9]+)? MiB +[^ ]+ +0$' out
    [ "$(ludwig jobs "$(cat id)" -q --where 'max_rss_bytes > 160000000 and cpu_seconds > 0.5')" = 1.3 ]
    not ludwig jobs "$(cat id)" --columns job,max_rss 2>e
    grep -q "no job has a 'max_rss' (did you mean 'max_rss_bytes'?)" e
    not ludwig jobs "$(cat id)" --columns job --json 2>e
    grep -q -e '--columns goes without' e
}
it 'jobs shows the columns that are asked for' columns

unused() {
    ludwig usage --waste --by sweep --json >out
    json out '[w["sweep"] for w in d["sweeps"]] == [1]'
    json out 'd["sweeps"][0]["attempts"] == 3 and d["sweeps"][0]["limit_hours"] == 12'
    json out '0.9 < d["sweeps"][0]["unused_memory_gib_hours"] / d["sweeps"][0]["memory_gib_hours"] < 1'
    json out '0.9 < d["sweeps"][0]["unused_limit_hours"] / 12 < 1'
    # One that asks for little wastes less, and comes behind.
    printf '%s\n' 'project: small' 'command: python3 hold.py 40' 'source: hold.py' >small.yaml
    ludwig_wait submit small.yaml --wait
    ludwig usage --waste --by sweep --json | json - '[w["sweep"] for w in d["sweeps"]] == [1, 2]'
    ludwig usage --waste --json >before
    json before '[w["sweeps"] for w in d["users"]] == [2]'
    ludwig usage --waste --by sweep >out
    grep -qE '^ *SWEEP +PROJECT +USER +ATTEMPTS +CPU-HOURS +UNUSED +GIB-HOURS +UNUSED +PEAK +TIME-LIMITS +UNUSED$' out
    grep -qE '^ *2 +small .* - +[0-9.]+ MiB +0.00 +-$' out
    ludwig down && ludwig up
    ludwig usage --waste --json >after
    cmp before after
}
it 'usage --waste tells what was not used, also after ludwigd was started again' unused

proposed() {
    local figures='used at most 1[6-9][0-9].* MiB and [0-9.]+ m?s of the 4 GiB and 4 h asked for: resources: \{memory: [0-9]+MiB, time: 10min\} would do'
    ludwig submit sweep.yaml --dry-run --reuse none >out
    grep -qE "^too much +the 3 jobs of this project that ended before $figures" out
    ludwig submit sweep.yaml --dry-run --json | json - 'd["max_rss_bytes"] > 160 << 20 and d["longest_ms"] > 1000'
    printf 'nodes: []\n' >>sweep.yaml
    ludwig submit sweep.yaml --reuse none >id 2>said
    grep -qE "^note: the 3 jobs of this project that ended before $figures" said
    ludwig cancel "$(cat id)" --yes
    sweep 'resources: {memory: 512MiB, time: 10min}' 'nodes: []'
    ludwig submit sweep.yaml --reuse none >id 2>said
    not grep -q 'asked for' said
    ludwig cancel "$(cat id)" --yes
}
it 'a submit proposes figures where far more is asked for than was needed' proposed

done_testing
