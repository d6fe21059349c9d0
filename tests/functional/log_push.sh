#!/bin/bash
# log_push.sh - logs -f where nobody tells that a file grew: by what the worker says, without looking
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'a log is followed from a laptop' "$lab_lacks"
    done_testing
}
lab_up stock fileserver laptop

socket=unix:/srv/research_data/.ludwig/server.sock
write_on fileserver /etc/ludwig/ludwigd.yaml <<'END'
share: /srv/research_data
state: /var/lib/ludwig
share_group: lab
lease: 10s
END
write_on fileserver as lab1 /home/lab1/worker.yaml <<END
server: $socket
name: n1
scratch: /processing/{user}
state: /home/lab1/worker
resources: {cpus: 4, gpus: 0}
END
write_on laptop as lab1 /home/lab1/.config/ludwig/config.yaml <<'END'
server: ssh://fileserver
END
# Prints a line for each file that appears in its folder, ends with "end".
write_on fileserver as lab1 /home/lab1/work/run.sh <<'END'
echo "begins $LUDWIG_RESTART"
n=1
while :; do
    until [ -e /tmp/gates/$n ] || [ -e /tmp/gates/end$LUDWIG_RESTART ]; do sleep 0.3; done
    [ ! -e /tmp/gates/end$LUDWIG_RESTART ] || break
    echo "line $n"
    n=$((n + 1))
done
echo "ends $LUDWIG_RESTART"
[ $LUDWIG_RESTART = 1 ]
END
write_on fileserver as lab1 /home/lab1/work/sweep.yaml <<'END'
project: demo
command: sh run.sh
retry: {max: 1, on: [failed]}
END
on fileserver mkdir -m 0777 /tmp/gates
at() { on fileserver as lab1 env LUDWIG_SERVER=$socket "$@"; }
gate() { # NAME
    on fileserver touch "/tmp/gates/$1"
}
has() { # FILE LINE
    grep -qx "$2" "$1"
}

service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
wait_until 10 '[ -S "$SHARE/.ludwig/server.sock" ]'
service fileserver worker as lab1 ludwig-worker --config worker.yaml
on fileserver as lab1 sh -c "cd work && LUDWIG_SERVER=$socket ludwig submit sweep.yaml"
on laptop as lab1 ludwig logs -f 1.1 >"$TEST_TMP/log" 2>"$TEST_TMP/notes" &
follower=$!
log=$TEST_TMP/log

follows() {
    wait_until 20 has "$log" 'begins 0'
    for n in 1 2 3; do
        gate $n
        wait_until 60 has "$log" "line $n"
    done
}
it 'what a job prints is seen before it prints more' follows

# How often the client's processes have had the processor.
switches() {
    on laptop sh -c 'cat $(grep -l "^Name:.*ludwig$" /proc/[0-9]*/status) 2>/dev/null |
        grep ^voluntary | cut -f2 | paste -sd+ | tee /dev/stderr'
}
rests() { # SECONDS
    before=$(switches)
    [ -n "$before" ] && sleep "$1" && [ "$(switches)" = "$before" ]
}
idle() {
    wait_until 30 rests 4
}
it 'while it prints nothing nobody looks' idle

worker_is() { # STATE
    at ludwig nodes --json | json - "all(n['state'] == '$1' for n in d['nodes'])" >/dev/null
}
# The line is on the share after the client has looked there and before the worker is back.
restarted() {
    service_kill fileserver ludwigd
    on fileserver pkill -STOP -f 'ludwig-worker --config'
    service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 10 '[ "$(on fileserver ss -xH state established | grep -c ludwig/server.sock)" -gt 0 ]'
    wait_until 10 rests 0.5
    gate 4
    wait_until 10 grep -qx 'line 4' "$SHARE"/demo/logs/1/*.log
    on fileserver pkill -CONT -f 'ludwig-worker --config'
    wait_until 30 has "$log" 'line 4'
    wait_until 30 worker_is up
    gate 5
    wait_until 10 has "$log" 'line 5'
}
it 'after ludwigd was killed it goes on' restarted

worker_restarted() {
    service_kill fileserver worker
    gate 6
    service fileserver worker as lab1 ludwig-worker --config worker.yaml
    wait_until 30 has "$log" 'line 6'
    wait_until 30 worker_is up
    gate 7
    wait_until 10 has "$log" 'line 7'
}
it 'after the agent was killed it goes on' worker_restarted

next_attempt() {
    gate end0
    wait_until 30 has "$log" 'begins 1'
    has "$log" 'ends 0'
    gate end1
    wait $follower
    has "$log" 'ends 1'
    grep -q 'attempt 2 of job 1.1' "$TEST_TMP/notes"
    at ludwig logs 1.1 --attempt 1 >first
    at ludwig logs 1.1 >second
    cat first second | cmp - "$log"
}
next_attempt
it 'the next attempt follows, and nothing is lost or said twice' 'has "$log" "ends 1"'

done_testing
