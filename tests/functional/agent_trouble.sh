#!/bin/bash
# agent_trouble.sh - an agent whose runner, disk, scratch or server lets it down
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
write_job 'gate $1'

once() { # PROJECT COMMAND A...: a sweep over these values; its number in $id
    local project=$1 command=$2
    shift 2
    printf 'project: %s\ncommand: %s\nsource: job.sh\nresources: {cpus: 1}\nparams: {a: [%s]}\n' \
        "$project" "$command" "$(IFS=, && echo "$*")" >"$project.yaml"
    id=$(submit "$project.yaml" --reuse none)
}
# Bytes that lie there for them.
unread() { # PID...
    ss -xpH | grep -E "pid=($(IFS='|' && echo "$*"))," | awk '{ n += $3 } END { print n + 0 }'
}

before_it_began() {
    once first 'echo a' 1
    wait_until 10 '[ "$(sweep_state '"$id"')" = done ]'
    runner=$(pids_of --runner)
    kill -STOP $runner
    once second 'echo a' 1
    wait_until 10 '[ "$(unread $runner)" -gt 0 ]' # the order to run it
    kill_hard $runner
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 1'
    # It was not given up for saying nothing, which takes half a minute.
    not grep -q runner-killed "$XDG_STATE_HOME/ludwig/worker.log"
}
it 'a job whose runner is killed before it began is started by another, at once' before_it_began

cancelled_before_it_began() {
    wait_until 5 '[ -n "$(pids_of --runner)" ]'
    runner=$(pids_of --runner)
    kill -STOP $runner
    once third "touch $TEST_TMP/ran" 1
    wait_until 10 '[ "$(unread $runner)" -gt 0 ]'
    told=$(unread $runner)
    ludwig cancel "$id"
    wait_until 10 '[ "$(unread $runner)" -gt "$told" ]' # the order to stop it
    kill_hard $runner
    wait_until 5 ended "$id"
    # One that comes later has run.
    once fourth 'echo a' 1
    wait_until 10 '[ "$(sweep_state '"$id"')" = done ]'
    [ ! -e "$TEST_TMP/ran" ]
}
it 'and not at all if it was cancelled meanwhile' cancelled_before_it_began

mute() {
    once mute 'sh job.sh {a}' 1 2
    wait_until 10 '[ "$(recorded "^start ")" = 2 ]'
    runner=$(runner_of "$(sed -n "s/^start $id\.2 .* //p" "$TEST_TMP/records")")
    other=$(runner_of "$(sed -n "s/^start $id\.1 .* //p" "$TEST_TMP/records")")
    kill -STOP "$runner"
    kill_hard $(agents)
    open 1
    wait_until 10 gone "$other" # it has written down how its job ended
    ludwig_wait up
    wait_until 15 '[ "$(jobs_in done '"$id"')" = 1 ]'
    open 2
    kill -CONT "$runner"
    wait_until 10 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.2" 'j["attempt"] == 1'
    nothing_left
}
it 'a runner that does not answer holds up only its own job' mute

other_agent() {
    rm -f "$TEST_TMP"/gates/* "$TEST_TMP/records"
    write_job 'gate go'
    once other 'sh job.sh {a}' 1
    wait_until 10 '[ "$(recorded "^start ")" = 1 ]'
    sed "s#^state:.*#state: $TEST_TMP/elsewhere#" "$XDG_STATE_HOME/ludwig/worker.yaml" >"$TEST_TMP/w2.yaml"
    not timeout 300 ludwig-worker --config "$TEST_TMP/w2.yaml" 2>"$TEST_TMP/refused"
    grep -q "another ludwig-worker .* scratch folder" "$TEST_TMP/refused"
    open go
    wait_until 10 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 1'
}
it 'an agent that has the scratch of another is refused' other_agent

failed_runners() {
    grep -c 'error runner .*log' "$XDG_STATE_HOME/ludwig/worker.log"
}
no_runner() {
    local scratch
    scratch=$(echo "$SCRATCH"/ludwig-*)
    wait_until 5 '[ -n "$(pids_of --runner)" ]'
    # No runner can open its folders.
    mv "$scratch/log" "$scratch/log.away" && ln -s nowhere "$scratch/log"
    kill_hard $(pids_of --runner)
    once none 'echo a' 1 2 3
    # Each failure doubles the pause.  After the fourth others get the work: this node offers nothing for a while.
    wait_until 20 'ludwig nodes --json | grep -q "\"cpus[a-z_]*\": *0"'
    n=$(failed_runners)
    echo "$n runners"
    [ "$n" -ge 2 ]
    [ "$n" -lt 12 ]
    grep -q cannot-start "$XDG_STATE_HOME/ludwig/worker.log"
    wait_until 10 '[ "$(jobs_in queued '"$id"')" = 3 ]'
    ln -s log.away "$scratch/log.new" && mv -T "$scratch/log.new" "$scratch/log"
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
}
it 'where no runner lives, one start at a time is tried, until one succeeds' no_runner

no_start() {
    rm -f "$TEST_TMP"/gates/* "$TEST_TMP/records"
    local scratch
    scratch=$(echo "$SCRATCH"/ludwig-*)
    # No folder for a job can be made there.
    kill_hard $(agents)
    wait_until 15 '[ -z "$(pids_of --runner)$(pids_of --publisher)" ]'
    rm -rf "$scratch"/spare/* && chmod 0500 "$scratch/run"
    ludwig_wait up
    began=$SECONDS
    once full 'echo a' $(seq 1 20)
    wait_until 10 'grep -q cannot-start "$XDG_STATE_HOME/ludwig/worker.log"'
    sleep 2 # the time in which they are counted
    losses=$(ludwig jobs "$id" --json | json - 'sum(j["attempt"] for j in d["jobs"])')
    took=$((SECONDS - began))
    chmod 0700 "$scratch/run"
    echo "$losses attempts in $took s"
    [ "$losses" -lt $((20 + 5 * (took + 1))) ]
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    nothing_left
}
if [ "$(id -u)" = 0 ]; then
    skip 'where nothing can be started, one job at a time is tried, until one starts' 'root may write anywhere'
else
    it 'where nothing can be started, one job at a time is tried, until one starts' no_start
fi

another_server() {
    rm -f "$TEST_TMP"/gates/* "$TEST_TMP/records"
    write_job 'echo $1 >"$LUDWIG_SAVE_PATH/value"' 'gate $1'
    once old 'sh job.sh {a}' 1 2
    wait_until 10 '[ "$(recorded "^start ")" = 2 ]'
    ludwig_wait down
    open 1
    wait_until 10 '[ "$(recorded "^end ")" = 1 ]'
    rm -r "$XDG_STATE_HOME/ludwig/server"
    ludwig_wait up
    once new 'echo a' 1
    # One of two processors is taken: the other job does not wait.
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    open 2
    wait_until 30 '[ "$(find "$SHARE/old/runs" -name value | wc -l)" = 2 ]'
    nothing_left
}
it 'jobs of a server that is gone still publish their results' another_server

registered() {
    grep -c register "$TEST_TMP/ludwigd.log"
}

# Files of more than a kilobyte cannot be written: the journal takes no hand with such a command.
full_registry() {
    ludwig_wait down
    wait_until 10 '[ -z "$(agents)" ]'
    mkdir -p "$TEST_TMP/lab/share" "$TEST_TMP/lab/scratch" && mkdir -m 0700 "$TEST_TMP/lab/state"
    printf '%s\n' "share: $TEST_TMP/lab/share" "state: $TEST_TMP/lab/state" \
        "sockets: [$TEST_TMP/lab.sock]" >"$TEST_TMP/ludwigd.yaml"
    printf '%s\n' "server: unix:$TEST_TMP/lab.sock" "share: $TEST_TMP/lab/share" "kind: local" \
        "scratch: $TEST_TMP/lab/scratch" "name: hoff" "state: $TEST_TMP/lab/worker" \
        'resources: {cpus: 2, gpus: 0, memory: 1GiB}' >"$TEST_TMP/worker.yaml"
    ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>"$TEST_TMP/ludwigd.log" &
    export LUDWIG_SERVER=unix:$TEST_TMP/lab.sock
    wait_until 10 ludwig status
    began=$SECONDS
    (trap '' XFSZ && ulimit -f 1 && exec ludwig-worker --config "$TEST_TMP/worker.yaml" 2>"$TEST_TMP/hoff.log") &
    wait_until 10 'grep -q "register" "$TEST_TMP/ludwigd.log"'
    once lab "echo a $(printf '%01200d' 0)" $(seq 1 40)
    # The agent waits longer each time, so that nine times take their time on every machine.
    wait_until 30 '[ "$(registered)" -ge 9 ]'
    took=$((SECONDS - began))
    echo "registered $(registered) times in $took s"
    [ "$took" -ge 3 ]
}
it 'a hand that cannot be recorded is not asked for again and again' full_registry

registry_bytes() {
    stat -c %s "$TEST_TMP"/lab/worker/*/registry
}

# Not one byte more than what hands a job out fits: that its processors are given away cannot be recorded.
full_registry_given() {
    local agent empty one
    rm -f "$TEST_TMP"/gates/* "$TEST_TMP/records"
    kill_hard $(agents)
    wait_until 10 '[ -z "$(agents)" ]'
    export LUDWIG_SERVER=unix:$TEST_TMP/lab.sock
    ludwig cancel 1 # of the test before
    (trap "" XFSZ && exec ludwig-worker --config "$TEST_TMP/worker.yaml" 2>"$TEST_TMP/hoff.log") &
    agent=$!
    wait_until 10 'grep -q adopted "$TEST_TMP/hoff.log"'
    write_job 'gate go'
    empty=$(registry_bytes)
    once first 'sh job.sh {a}' 1
    wait_until 20 '[ "$(recorded "^start ")" = 1 ]'
    one=$(registry_bytes)
    prlimit --pid "$agent" --fsize=$((one + one - empty - 40)):
    once other 'sh job.sh {a}' 1
    wait_until 20 'grep -q "error registry" "$TEST_TMP/hoff.log"'
    sleep 1 # it must not start
    [ "$(recorded "^start ")" = 1 ]
    prlimit --pid "$agent" --fsize=unlimited:
    wait_until 20 '[ "$(recorded "^start ")" = 2 ]'
    open go
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
}
it 'a job whose processors cannot be recorded as given does not start' full_registry_given

done_testing
