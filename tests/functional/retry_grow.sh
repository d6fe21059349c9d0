#!/bin/bash
# retry_grow.sh - what ran out of memory or time is tried again with more of it
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'

# Takes so many MiB and goes on, from its checkpoint, which it makes before.
cat >take.py <<'END2'
import os, sys, time
mine = os.path.join(os.environ["LUDWIG_CHECKPOINT"], "tries")
tries = int(open(mine).read()) if os.path.exists(mine) else 0
open(mine, "w").write(str(tries + 1))
taken = b"x" * (int(sys.argv[1]) << 20)
time.sleep(float(sys.argv[2]) if sys.argv[2:] else 2)
open(os.path.join(os.environ["LUDWIG_SAVE_PATH"], "tries"), "w").write(str(tries + 1))
END2

sweep() { # PROJECT COMMAND LINE...
    local project=$1 command=$2
    shift 2
    printf '%s\n' "project: $project" "command: $command" 'source: take.py' "$@" >"$project.yaml"
}

memory() {
    sweep memory 'python3 take.py {mib}' 'params: {mib: [10, 110, 300]}' 'resources: {memory: 70MiB}' \
        'retry: {on: [oom, timeout], max: 3, grow: {memory: 2}, up_to: {memory: 280MiB}}' \
        'checkpoint: {}' 'guard: off'
    status=0
    ludwig_wait submit memory.yaml --wait >id || status=$?
    [ $status = 1 ]
    ludwig jobs "$(cat id)" --json >jobs
    json jobs '[j["state"] for j in d["jobs"]] == ["done", "done", "failed"]'
    json jobs '[j["attempt"] for j in d["jobs"]] == [1, 2, 3]'
    json jobs '[j["memory_bytes"] >> 20 for j in d["jobs"]] == [70, 140, 280]'
    json jobs 'all(j["time_ms"] is None for j in d["jobs"])'
    # The second try went on where the first one had to end.
    [ "$(cat "$SHARE"/memory/runs/param_002/*/tries)" = 2 ]
    json "$SHARE"/memory/runs/param_002/*/job.json 'd["memory_bytes"] == 140 << 20 and d["time_ms"] is None'
    ludwig why "$(cat id).3" >why
    grep -qE 'it failed: out of memory: it used [0-9.]+ MiB of 280 MiB; that is the most that retry: up_to: allows' why
    grep -qE 'attempt 2 on .* was in vain: out of memory: it used [0-9.]+ MiB of 140 MiB' why
    # What was asked for counts as each attempt asked for it.
    ludwig jobs "$(cat id)" --columns memory_bytes | tail -1 | grep -qx ' *280 MiB'
    [ "$(ludwig jobs "$(cat id)" -q --where 'memory_bytes > 100000000 and state = done')" = "$(cat id).2" ]
}
it 'memory grows up to its limit, and a checkpoint goes along' memory

time_grows() {
    sweep time 'sh -c "test $LUDWIG_RESTART != 0 || sleep 1000"' 'resources: {time: 3s}' 'retry: {grow: {time: 20}}'
    ludwig_wait submit time.yaml --wait >id
    ludwig jobs "$(cat id)" --json >jobs
    json jobs '[(j["attempt"], j["time_ms"]) for j in d["jobs"]] == [(2, 60000)]'
}
it 'time grows' time_grows

no_more_than_there_is() {
    sweep most 'python3 take.py 2000' 'resources: {memory: 900MiB}' 'retry: {grow: {memory: 3}}'
    status=0
    ludwig_wait submit most.yaml --wait >id || status=$?
    [ $status = 1 ]
    job "$(cat id).1" 'j["attempt"] == 2 and j["memory_bytes"] == 1 << 30'
    job "$(cat id).1" 'j["reason"]' |
        grep -qE '^out of memory: it used .* of 1 GiB; that is the most that a machine has which may run it$'
}
it 'no more is asked for than a machine has' no_more_than_there_is


survives() {
    sweep kill 'python3 take.py {mib} 1' 'params: {mib: [110, 111]}' 'resources: {memory: 70MiB}' \
        'retry: {grow: {memory: 2}}' 'guard: off'
    id=$(submit kill.yaml)
    wait_until 30 'ludwig jobs '"$id"' --json | json - "all(j[\"memory_bytes\"] >> 20 == 140 for j in d[\"jobs\"])"'
    kill_hard ludwigd
    ludwig_wait up
    wait_until 60 '[ "$(sweep_state '"$id"')" = done ]'
    ludwig jobs "$id" --json | json - '[(j["attempt"], j["memory_bytes"] >> 20) for j in d["jobs"]] == [(2, 140)] * 2'
}
it 'what a job asks for survives a kill of ludwigd' survives

waits() {
    # It grew, and there is no room for it while others hold what it needs.
    sweep waits 'python3 take.py {mib} {seconds}' 'params: {mib: [10, 400], seconds: [600, 1]}' \
        'zip: [[mib, seconds]]' 'resources: {memory: 350MiB}' 'retry: {grow: {memory: 2}}' 'guard: off'
    id=$(submit waits.yaml)
    wait_until 30 'job '"$id"'.2 "j[\"state\"] == \"queued\" and j[\"memory_bytes\"] >> 20 == 700"'
    ludwig why "$id.2" >why
    grep -q 'it grew after an attempt that was in vain (retry: grow): it asks for 700 MiB of memory, not 350 MiB' why
    grep -q ': it is busy' why
    not grep -q 'job of its sweep comes before it' why
    ludwig cancel "$id.1" --yes
    wait_until 60 '[ "$(job '"$id"'.2 "j[\"state\"]")" = "done" ]'
}
it 'why says what a grown job waits for' waits

preview() {
    sweep shown 'python3 take.py 1' 'resources: {memory: 1GiB, time: 1h}' \
        'retry: {on: [oom, timeout], grow: {memory: 1.5, time: 2}, up_to: {memory: 32GiB}}'
    ludwig submit shown.yaml --dry-run >out
    grep -qE '^retry +up to 3 times after oom or timeout; after oom with 1.5 times the memory, up to 32 GiB; after timeout with 2 times the time$' out
}
it 'a dry run tells of it' preview

refused() { # MESSAGE LINE...
    local message=$1
    shift
    sweep bad 'python3 take.py 1' "$@"
    status=0
    ludwig submit bad.yaml --dry-run >out 2>err || status=$?
    [ $status = 2 ]
    grep -qF "$message" err || { cat err; return 1; }
}
bad() {
    local has='resources: {memory: 1GiB, time: 1h}'
    refused "bad.yaml:5:24: grow: memory: expected a factor above 1, as 1.5, found 0.5" "$has" \
        'retry: {grow: {memory: 0.5}}'
    refused "bad.yaml:5:22: grow: time: expected a factor above 1, as 1.5, found 1" "$has" 'retry: {grow: {time: 1}}'
    refused 'bad.yaml:5:44: up_to: memory: 512 MiB is no more than the 1 GiB of resources:, from which it grows' "$has" \
        'retry: {grow: {memory: 2}, up_to: {memory: 512MiB}}'
    refused 'grow: memory: resources: has no memory:, from which it could grow' 'retry: {grow: {memory: 2}}'
    refused 'grow: time: on: does not name timeout, after which it would grow' "$has" \
        'retry: {on: oom, grow: {time: 2}}'
    refused 'up_to: time: grow: has no time:, so it stays as it is' "$has" \
        'retry: {grow: {memory: 2}, up_to: {time: 2h}}'
}
it 'what makes no sense is refused, with its place' bad

done_testing
