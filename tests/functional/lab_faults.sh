#!/bin/bash
# lab_faults.sh - cables, power, clocks, sshd and ludwigd fail while sweeps run over SSH
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'sweeps outlive what fails around them' "$lab_lacks"
    done_testing
}

lab_up jail
lab_server 'lease: 2min'
for node in node1 node2 node3; do
    lab_worker $node 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
done
lab_client lab1
chmod 1777 "$TEST_TMP/gates"

# A job records itself, waits for a gate if it is told one, and leaves a result.
touch "$TEST_TMP/records"
chmod 0666 "$TEST_TMP/records"
write_on laptop as lab1 /home/lab1/job.sh <<END_OF_JOB
say() { echo "\$* \$LUDWIG_JOB \$(hostname) \$LUDWIG_ATTEMPT" >>$TEST_TMP/records; }
say start
until [ -e "$TEST_TMP/gates/\$1" ] || [ -e "$TEST_TMP/gates/\$1.\$(hostname)" ]; do sleep 0.3; done
echo "\$2" >"\$LUDWIG_SAVE_PATH/value"
ludwig report value=\$2
say end
END_OF_JOB

begin() { # PROJECT GATE JOBS LINE...: submits; prints the sweep
    printf '%s\n' "project: $1" "command: sh job.sh $2 {a}" 'source: job.sh' "params: {a: {range: [1, $3]}}" "${@:4}" |
        write_on laptop as lab1 /home/lab1/sweep.yaml
    : >"$TEST_TMP/records"
    submit sweep.yaml
}

# All are done, each result once and right.
complete() { # PROJECT SWEEP JOBS
    wait_until 60 ended "$2" || { ludwig jobs "$2" && return 1; }
    [ "$(jobs_in done "$2")" = "$3" ] || { ludwig jobs "$2" && return 1; }
    [ "$(published "$1" | wc -l)" = "$3" ]
    [ "$(cat "$SHARE/$1"/runs/*/*/value | sort -n | tr '\n' ' ')" = "$(seq -s ' ' 1 "$3") " ]
}
# After a test that failed the others have what they need.
restore() {
    for host in laptop node1 node2 node3; do
        [ -s "$LAB/$host/pid" ] || host_boot $host
        cable in $host
        delay $host off
    done
}
connections() { # HOST: those it has to sshd
    on "$1" awk '$3 ~ /:0016$/ && $4 == "01"' /proc/net/tcp
}
retransmitted() { # prints how many segments, of those whose cables lose some
    local host
    for host in laptop node1 node2; do
        on $host awk '/^Tcp:/ && $13 != "RetransSegs" { print $13 }' /proc/net/snmp
    done | awk '{ n += $1 } END { print n }'
}
# No job was begun twice.
once() { # SWEEP JOBS
    [ "$(recorded '^start ')" = "$2" ]
    ludwig jobs "$1" --json | json - 'all(j["attempt"] == 1 for j in d["jobs"])'
}
running_on() { # NODE
    grep -c "^start .* $1 " "$TEST_TMP/records" || true
}

it 'three workers came over SSH' 'lab_ready 3'

# Shorter than the lease: nobody is taken for lost.
pulled() {
    sweep=$(begin pulled go1 6)
    wait_until 20 '[ "$(recorded "^start ")" = 6 ]'
    cable out node1
    open go1
    # The others' results come meanwhile; those of node1 wait there.
    wait_until 30 '[ "$(jobs_in done '"$sweep"')" = 4 ] && [ "$(published pulled | wc -l)" = 6 ]'
    [ "$(jobs_in done "$sweep")" = 4 ]
    cable in node1
    complete pulled "$sweep" 6
    once "$sweep" 6
}
restore >/dev/null 2>&1
it 'a cable is out for some seconds: jobs there end, and are told of when it is in' pulled

sshd_restarted() {
    sweep=$(begin sshd go3 6)
    wait_until 20 '[ "$(recorded "^start ")" = 6 ]'
    ludwig submit sweep.yaml --reuse none --name again --wait >again 2>messages &
    waiting=$!
    wait_until 20 '[ "$(admin status --json | json - "str(len(d[\"sweeps\"]))")" = 3 ]'
    [ -n "$(connections node1)" ]
    [ -n "$(connections laptop)" ]
    sshd_stop
    wait_until 20 '[ -z "$(connections node1)$(connections laptop)" ]'
    sshd_start
    open go3
    wait $waiting || { cat messages && return 1; }
    wait_until 60 ended "$sweep"
    [ "$(jobs_in done "$sweep")$(jobs_in done "$(cat again)")" = 66 ]
    [ "$(published sshd | wc -l)" = 12 ]
    [ "$(recorded '^start ')" = 12 ]
    lab_ready 3
}
restore >/dev/null 2>&1
it 'sshd is restarted: workers and --wait come back, no job is begun twice' sshd_restarted

ludwigd_restarted() {
    sweep=$(begin ludwigd go4 6)
    wait_until 20 '[ "$(recorded "^start ")" = 6 ]'
    service_kill fileserver ludwigd
    open go4
    wait_until 20 '[ "$(recorded "^end ")" = 6 ]'
    lab_server 'lease: 2min'
    complete ludwigd "$sweep" 6
    once "$sweep" 6
    lab_ready 3
}
restore >/dev/null 2>&1
it 'ludwigd is killed and started: jobs that ended meanwhile count, none is begun twice' ludwigd_restarted

# Back before the lease is over: the boot id says that its jobs are gone.
rebooted() {
    sweep=$(begin reboot go6 6)
    wait_until 20 '[ "$(recorded "^start ")" = 6 ]'
    host_kill node2
    host_boot node2
    wait_until 60 '[ "$(running_on node2)" = 4 ]'
    open go6
    complete reboot "$sweep" 6
    [ "$(recorded '^start ')" = 8 ]
}
restore >/dev/null 2>&1
it 'a node that is back at once says that its jobs are gone, and begins them again' rebooted

server_power() {
    sweep=$(begin server go7 6)
    wait_until 20 '[ "$(recorded "^start ")" = 6 ]'
    host_kill fileserver
    open go7
    wait_until 20 '[ "$(recorded "^end ")" = 6 ]'
    host_boot fileserver
    sshd_start
    complete server "$sweep" 6
    once "$sweep" 6
    lab_ready 3
}
restore >/dev/null 2>&1
it 'the file server loses power: jobs go on, and are told of when it is back' server_power

wrong_clocks() {
    for at in node2:-3600 node3:3600; do
        service_stop ${at%:*} worker
        clock_off ${at%:*} ${at#*:}
        lab_worker ${at%:*} 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
    done
    lab_ready 3
    off=$(($(on node3 date +%s) - $(on node2 date +%s)))
    [ $off -gt 7100 ]
    sweep=$(begin clocks go8 6)
    wait_until 20 '[ "$(recorded "^start ")" = 6 ]'
    open go8
    complete clocks "$sweep" 6
    once "$sweep" 6
    [ "$(running_on node2)" = 2 ]
    [ "$(running_on node3)" = 2 ]
    ludwig usage --by sweep --json >usage
    json usage 'next(0 < s["hours"] < 0.05 for s in d["sweeps"] if s["sweep"] == '"$sweep"')'
    ludwig jobs "$sweep" | tee jobs
    # Nothing took an hour, nothing was begun before it was queued or ends in an hour.
    not grep -E '[0-9] ?h( |$)|-[0-9]|in [0-9]' jobs
    ludwig jobs "$sweep" --json | json - 'all(j["queued_at"] <= j["started_at"] <= j["ended_at"] for j in d["jobs"])'
    for node in node2 node3; do
        service_stop $node worker
        clock_off $node 0
        lab_worker $node 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
    done
}
restore >/dev/null 2>&1
it 'clocks that are an hour behind or ahead change nothing' wrong_clocks

slow() {
    for host in laptop node1 node2; do
        delay $host 50 10
    done
    before=$(retransmitted)
    sweep=$(begin slow go9 12)
    ludwig logs -f "$sweep.1" >followed &
    follower=$!
    open go9
    complete slow "$sweep" 12
    once "$sweep" 12
    wait $follower
    ludwig results "$sweep" --json | json - 'len(d["results"]) == 12'
    [ "$(retransmitted)" -gt $((before + 3)) ]
    for host in laptop node1 node2; do
        delay $host off
    done
}
restore >/dev/null 2>&1
it '50 ms and one packet in ten lost: a sweep runs, logs are followed, results come' slow

# Nobody says that the connection is gone: who waits has to ask.
silent() {
    lab_ready 3
    for who in 'node1 as root' 'laptop as lab1'; do
        printf '%s\n' 'ServerAliveInterval 1' 'ServerAliveCountMax 3' | write_on $who .ssh/config
    done
    service_stop node1 worker
    lab_worker node1 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
    lab_ready 3
    printf '%s\n' 'project: silent' 'command: sh job.sh go10 1' 'source: job.sh' 'nodes: [node1]' |
        write_on laptop as lab1 /home/lab1/sweep.yaml
    : >"$TEST_TMP/records"
    ludwig submit sweep.yaml --wait >id 2>messages &
    waiting=$!
    wait_until 20 '[ "$(recorded "^start ")" = 1 ]'
    [ -n "$(connections node1)" ]
    [ -n "$(connections laptop)" ]
    cable out node1
    cable out laptop
    wait_until 30 '[ -z "$(connections node1)$(connections laptop)" ]'
    service_log node1 worker | grep 'was lost: no answer for 4 s'
    cable in node1
    cable in laptop
    open go10
    wait $waiting
    complete silent "$(cat id)" 1
    on node1 rm .ssh/config
    on laptop as lab1 rm .ssh/config
}
restore >/dev/null 2>&1
it 'a server that has died silently is noticed, by a worker and by who waits' silent

# ---- others get the jobs ----

it 'ludwigd is started with a short lease' "
    service_stop fileserver ludwigd
    lab_server 'lease: 20s'
    lab_ready 3"

lost_and_found() {
    lab_ready 3
    sweep=$(begin lost go2 6)
    wait_until 20 '[ "$(recorded "^start ")" = 6 ]'
    cable out node1
    # Given to others, who are free once their gate is open.
    open go2.node2
    open go2.node3
    complete lost "$sweep" 6
    [ "$(recorded '^start ')" = 8 ]
    [ "$(admin nodes --state up -q | tr '\n' ' ')" = 'node2 node3 ' ]
    published lost >before
    cable in node1
    lab_ready 3
    # What runs there still is ended, and leaves nothing.
    nothing_left_on node1
    [ "$(recorded '^end .* node1 ')" = 0 ]
    published lost | cmp before -
}
nothing_left_on() { # HOST
    SCRATCH=$LAB/$1/disk/processing nothing_left
}
restore >/dev/null 2>&1
it 'a cable is out for longer than the lease: others do the jobs, and each result is there once' lost_and_found

power_off() {
    sweep=$(begin power go5 6)
    wait_until 20 '[ "$(recorded "^start ")" = 6 ]'
    host_kill node2
    open go5
    complete power "$sweep" 6
    [ "$(running_on node2)" = 2 ]
    [ "$(recorded '^end .* node2 ')" = 0 ]
    host_boot node2
    lab_ready 3
    nothing_left_on node2
    sweep=$(begin after go5 6)
    complete after "$sweep" 6
}
restore >/dev/null 2>&1
it 'a node loses power: its jobs are done elsewhere, and it takes others once it is back' power_off

done_testing
