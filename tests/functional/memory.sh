#!/bin/bash
# memory.sh - jobs that run out of memory are named so
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

# Takes so many MiB, and ends itself as the kernel would, or stays.
cat >take.py <<'END'
import os, sys, time
taken = b"x" * (int(sys.argv[1]) << 20)
print("took", len(taken) >> 20, flush=True)
if sys.argv[2:] == ["stay"]:
    time.sleep(90)
elif len(sys.argv) > 2:
    os.kill(os.getpid(), int(sys.argv[2]))
END

sweep() { # PROJECT COMMAND LINE...
    local project=$1 command=$2
    shift 2
    printf '%s\n' "project: $project" "command: $command" 'source: take.py' "$@" >"$project.yaml"
}
fails() { # FILE; prints the sweep's number
    local status=0
    ludwig_wait submit "$1" --wait || status=$?
    [ $status = 1 ]
}

likely() {
    sweep likely 'python3 take.py 63 9' 'resources: {memory: 70MiB}'
    fails likely.yaml >id
    job "$(cat id).1" 'j["cause"] == "oom" and j["signal"] == 9'
    job "$(cat id).1" 'j["reason"]' |
        grep -qxE 'killed by signal 9, likely out of memory: it used [0-9.]+ MiB of 70 MiB'
    json "$SHARE"/likely/failed/param_001/*.a1/job.json 'd["max_rss_bytes"] > 70 << 20'
}
it 'a kill near the memory it asked for is called likely out of memory' likely

behind_a_shell() {
    sweep shell 'python3 take.py 63 9; exit $?' 'resources: {memory: 70MiB}'
    fails shell.yaml >id
    job "$(cat id).1" 'j["cause"] == "oom" and j["exit_code"] == 137'
    job "$(cat id).1" 'j["reason"]' | grep -q 'likely out of memory'
}
it 'also when a shell tells of it by its exit code' behind_a_shell

other_ends() {
    sweep others 'python3 take.py {mib} {signal}' 'params: {mib: [10, 63], signal: [9, 11]}' \
        'exclude: [{mib: 63, signal: 9}]' 'resources: {memory: 70MiB}'
    fails others.yaml >id
    ludwig jobs "$(cat id)" --json >jobs
    json jobs '[j["cause"] for j in d["jobs"]] == ["signal"] * 3'
    json jobs '[j["signal"] for j in d["jobs"]] == [9, 11, 11]'
    json jobs 'not any("memory" in j["reason"] for j in d["jobs"])'
}
it 'kills far from it, and other signals near it, are signals' other_ends

too_large() {
    sweep large 'python3 take.py 300 stay' 'resources: {memory: 70MiB}'
    fails large.yaml >id
    job "$(cat id).1" 'j["cause"] == "oom"'
    job "$(cat id).1" 'j["reason"]' | grep -qE '^out of memory: it used [0-9.]+ MiB of 70 MiB$'
}
it 'a job that takes more than it asked for is ended' too_large

gives_way() {
    sweep way 'test "$(cat /proc/self/oom_score_adj)" -ge 500'
    ludwig_wait submit way.yaml --wait
}
it 'a job is what the kernel ends first when the machine runs out of memory' gives_way

# ---- the kernel's own ----

# A group of ours that may have little memory (version 1, as nobody else's processes may be moved
# for one of version 2).
own_group() {
    local mount path
    mount=$(awk '$(NF-2) == "cgroup" && $NF ~ /(^|,)memory(,|$)/ { print $5; exit }' /proc/self/mountinfo)
    path=$(awk -F: '$2 == "memory" { print $3 }' /proc/self/cgroup)
    [ -n "$mount" ] && [ -w "$mount$path/cgroup.procs" ] || return 1
    group=$mount${path%/}/${TEST_TMP##*/}
    mkdir "$group" 2>/dev/null
}
by_kernel() {
    sweep kernel 'python3 take.py 2000'
    ludwig down 2>/dev/null || true
    wait_until 10 '[ -z "$(pids_of ludwigd)$(pids_of ludwig-worker)" ]'
    echo $((400 << 20)) >"$group/memory.limit_in_bytes"
    # Alone, so that this shell is none of those that may be ended.
    (sh -c 'echo $$ >"$0/cgroup.procs" && exec ludwig up' "$group")
    fails kernel.yaml >id
    job "$(cat id).1" 'j["cause"] == "oom"'
    job "$(cat id).1" 'j["reason"]' |
        grep -qxE 'out of memory: the kernel ended it \(peak [0-9.]+ MiB of 400 MiB\)'
    grep -qx 'oom_kill 1' "$group/memory.oom_control"
}
if own_group; then
    it 'what the kernel ended is told as a fact' by_kernel
    test_kill_all
    wait_until 5 'rmdir "$group" 2>/dev/null'
else
    skip 'what the kernel ended is told as a fact' 'takes a memory group that we may divide'
fi

done_testing
