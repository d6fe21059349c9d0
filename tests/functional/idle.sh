#!/bin/bash
# idle.sh - waiting costs nothing: no processor time, little memory
idle_seconds=${LUDWIG_IDLE_SECONDS:-10}
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

ticks() { # PID...: processor time all of them have taken
    local pid total=0 stat
    for pid; do
        stat=$(sed 's/.*) //' "/proc/$pid/stat")
        # shellcheck disable=SC2086 # fields
        set -- $stat
        total=$((total + ${12} + ${13}))
    done
    echo $total
}

ours() {
    echo $(pids_of ludwigd) $(pids_of ludwig-worker)
}

queued() {
    printf 'project: idle\ncommand: exec sleep 1000\nsource: []\nparams:\n  a: [%s]\n  b: [%s]\n' \
        "$(seq -s, 1 100)" "$(seq -s, 1 100)" >sweep.yaml
    id=$(submit sweep.yaml)
    wait_until 20 '[ "$(jobs_in running '"$id"')" = 2 ]'
    [ "$(jobs_in queued "$id")" = 9998 ]
}
it '10,000 jobs queue behind a full machine' queued

settled() { # for a second, with whom else
    local before
    before=$(ticks $(ours) "$@")
    sleep 1
    [ "$(ticks $(ours) "$@")" = "$before" ]
}

no_time() {
    local before after
    wait_until 20 settled
    pids=$(ours)
    [ "$(echo "$pids" | wc -w)" -ge 2 ]
    before=$(ticks $pids)
    sleep "$idle_seconds"
    [ "$(ours)" = "$pids" ]
    after=$(ticks $pids)
    echo "ticks: $before, then $after, of $pids"
    # Whoever runs for a moment when the clock ticks is charged with the whole tick.
    [ $((after - before)) -le "$(echo "$pids" | wc -w)" ]
}
it "ludwigd and the worker take no more processor time than a tick in $idle_seconds s" no_time

memory() {
    rss=$(sed -n 's/^VmRSS:\s*\([0-9]*\) kB/\1/p' "/proc/$(pids_of ludwigd)/status")
    echo "ludwigd: $rss kB"
    [ "$rss" -lt 32768 ]
}
it "ludwigd's memory is below 32 MB" memory

rests() { # PID...
    local before
    before=$(ticks "$@")
    sleep 3
    [ "$(ticks "$@")" = "$before" ]
}
waiting_client() {
    timeout 300 ludwig logs -f 1.1 >out &
    wait_until 10 '[ -n "$(pids_of ludwig)" ]'
    # The look is repeated, as a heartbeat may fall on a tick.
    wait_until 20 rests $(pids_of ludwig) $(pids_of ludwigd)
}
it 'nor does a client that follows a silent job' waiting_client

done_testing
