#!/bin/bash
# retry_grow_nodes.sh - a job that grew goes to the machine that has room for it
. "$(dirname "$0")/lib.sh"

SHARE=$TEST_TMP/share
mkdir "$SHARE" "$SCRATCH" "$TEST_TMP/state"
chmod 0700 "$TEST_TMP/state"
export LUDWIG_SERVER=unix:$TEST_TMP/server.sock
printf '%s\n' "share: $SHARE" "state: $TEST_TMP/state" "sockets: [$TEST_TMP/server.sock]" >"$TEST_TMP/ludwigd.yaml"

start_server() {
    ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
    wait_until 10 ludwig status >/dev/null 2>&1
}
start_worker() { # NAME MEMORY CPUS
    mkdir -p "$SCRATCH/$1"
    printf '%s\n' "server: unix:$TEST_TMP/server.sock" "share: $SHARE" "scratch: $SCRATCH/$1" "name: $1" 'kind: local' \
        "state: $TEST_TMP/$1.state" "resources: {cpus: $3, gpus: 0, memory: $2}" >"$TEST_TMP/$1.yaml"
    ludwig-worker --config "$TEST_TMP/$1.yaml" 2>>"$TEST_TMP/$1.log" &
    wait_until 15 is_up "$1"
}
start_server
start_worker small 100MiB 4
start_worker big 400MiB 1

cat >take.py <<'END'
import sys, time
taken = b"x" * (int(sys.argv[1]) << 20)
time.sleep(2)
END
sweep() { # PROJECT LINE...
    printf '%s\n' "project: $1" 'command: python3 take.py {mib}' 'source: take.py' 'resources: {memory: 70MiB}' \
        'guard: off' "${@:2}" >"$1.yaml"
}

to_the_big_one() {
    sweep grows 'params: {mib: [110, 10, 11, 12]}' 'retry: {grow: {memory: 2}}'
    ludwig_wait submit grows.yaml --wait >id
    job "$(cat id).1" 'j["attempt"] == 2 and j["node"] == "big" and j["memory_bytes"] >> 20 == 140'
    job "$(cat id).2" 'j["attempt"] == 1 and j["memory_bytes"] >> 20 == 70'
}
it 'what has no room on the small one goes to the big one' to_the_big_one

away() {
    # The big one is away: that is no reason to ask for less.
    kill_hard "$TEST_TMP/big.yaml"
    wait_until 15 not is_up big
    sweep away 'params: {mib: [110]}' 'retry: {grow: {memory: 2}}'
    id=$(submit away.yaml)
    wait_until 30 'job '"$id"'.1 "j[\"state\"] == \"queued\" and j[\"memory_bytes\"] >> 20 == 140"'
    ludwig why "$id.1" | grep -q 'small: it needs 140 MiB of memory, and there are 100 MiB'
    kill_hard "$TEST_TMP/ludwigd.yaml"
    start_server
    start_worker big 400MiB 1
    wait_until 60 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 2 and j["node"] == "big"'
}
it 'it waits for one that is away, also when ludwigd is killed meanwhile' away

slots() {
    # Those that did not grow go on while one that did waits for room.
    sweep slots 'params: {mib: [110, 10, 11, 12]}' 'retry: {grow: {memory: 2}}'
    kill_hard "$TEST_TMP/big.yaml"
    wait_until 15 not is_up big
    id=$(submit slots.yaml)
    ludwig shrink "$id" --slots 1
    wait_until 60 '[ "$(jobs_in done '"$id"')" = 3 ]'
    job "$id.1" 'j["state"] == "queued"'
    start_worker big 400MiB 1
    wait_until 60 '[ "$(sweep_state '"$id"')" = done ]'
}
it 'of a sweep with one slot the others go on while it waits' slots


done_testing
