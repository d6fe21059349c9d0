#!/bin/bash
# ssh_worker.sh - a worker that reaches ludwigd through a real sshd
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/sshd.sh"

sshd_possible || {
    skip 'a worker over SSH' "$sshd_lacks"
    done_testing
}

configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
ludwig up 2>/dev/null
socket=$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")
sshd_up srv

cat >sweep.yaml <<'END'
project: far
command: sh job.sh
source: [job.sh]
params: {lr: 1}
nodes: [far]
END
mkdir -m 0700 "$TEST_TMP/far" "$TEST_TMP/far/scratch" "$TEST_TMP/far/state"
cat >worker.yaml <<END
name: far
min_uid: 0
private_tmp: no
scratch: $TEST_TMP/far/scratch
state: $TEST_TMP/far/state
resources: {cpus: 1, gpus: 0, memory: 1GiB}
END

worker_up() { # ARGUMENT...
    ludwig-worker --config worker.yaml "$@" 2>>worker.log &
    echo $! >worker.pid
    disown
}

worker_down() {
    kill -TERM "$(cat worker.pid)"
    wait_until 20 gone "$(cat worker.pid)"
}

node_is() { # STATE
    ludwig nodes --json | json - "any(n['node'] == 'far' and n['state'] == '$1' for n in d['nodes'])" >/dev/null
}

logged() { # PATTERN
    grep -cE -e "$1" worker.log || true
}

connects() {
    worker_up --server "ssh://srv$socket"
    wait_until 20 node_is up
    [ "$(logged 'connected .*way=stream-local')" = 1 ]
    write_job 'echo hello'
    ludwig submit sweep.yaml --wait
    ludwig logs last.1 | grep -q '^hello$'
}
it 'a worker takes jobs over SSH, with the address on its command line' connects

survives() {
    local pid
    write_job 'say waiting' 'gate cut'
    ludwig submit sweep.yaml --reuse none --wait &
    pid=$!
    wait_until 30 '[ "$(recorded ^waiting)" = 1 ]'
    sshd_down srv
    wait_until 20 '[ "$(logged "disconnected .*connection to srv was lost")" = 1 ]'
    wait_until 20 '[ "$(logged "disconnected .*connection refused")" = 1 ]'
    open cut
    wait_until 20 '[ "$(recorded "^end")" -ge 2 ]'
    sshd_start srv
    wait "$pid"
    [ "$(recorded ^waiting)" = 1 ]
    [ "$(logged 'disconnected .*connection refused')" = 1 ]
    wait_until 40 node_is up
}
it 'jobs go on while sshd is away, are reported when it is back, and each reason is logged once' survives

server_restarted() {
    kill_hard ludwigd
    ludwig up
    wait_until 40 node_is up
    write_job 'echo again'
    ludwig submit sweep.yaml --reuse none --wait
}
it 'a ludwigd that comes back is found over the same connection' server_restarted

mux_killed() {
    local before
    before=$(logged 'connected ')
    kill_hard $(pids_of ludwig-ssh)
    wait_until 40 '[ "$(logged "connected ")" -gt '"$before"' ]'
    wait_until 40 node_is up
}
it 'the child that keeps the session may be killed' mux_killed

leaves_nothing() {
    local child
    child=$(pids_of ludwig-ssh)
    [ -n "$child" ]
    worker_down
    wait_until 10 gone $child
    worker_up --server "ssh://srv$socket"
    wait_until 20 node_is up
    child=$(pids_of ludwig-ssh)
    kill_hard "$(cat worker.pid)"
    wait_until 10 gone $child
}
it 'it ends with the agent, however that ends' leaves_nothing

refusals() {
    grep -c 'Disconnected from authenticating\|Connection closed by authenticating' "$SSHD/srv/log"
}
refused() {
    cp "$SSHD/srv/authorized_keys" keys
    : >"$SSHD/srv/authorized_keys"
    : >worker.log
    worker_up --server "ssh://srv$socket"
    wait_until 20 '[ "$(logged "disconnected .*lets nobody in")" = 1 ]'
    wait_until 20 '[ "$(refusals)" -ge 1 ]'
    sleep 3 # nothing may happen now
    [ "$(refusals)" = 1 ]
    worker_down
    cp keys "$SSHD/srv/authorized_keys"
}
it 'a key that is refused is not tried again at once' refused

restricted() {
    ssh-keygen -q -t ed25519 -N '' -f bridge
    echo "restrict,command=\"ludwig bridge $socket\" $(cat bridge.pub)" >>"$SSHD/srv/authorized_keys"
    ssh_config 'Host only' '    HostName 127.0.0.1' "    Port $(sshd_port srv)" "    IdentityFile $PWD/bridge" \
        '    IdentitiesOnly yes' "    UserKnownHostsFile $HOME/.ssh/known_hosts"
    : >worker.log
    echo 'server: ssh://only' >>worker.yaml
    worker_up
    wait_until 20 node_is up || {
        cat worker.log
        return 1
    }
    [ "$(logged 'connected .*way=bridge')" = 1 ]
    write_job 'echo bridged'
    ludwig submit sweep.yaml --reuse none --wait
    worker_down
}
it 'with a key that may only run `ludwig bridge`, and the address in its configuration' restricted

wrong() {
    local status=0
    ludwig-worker 2>err || status=$?
    [ "$status" = 2 ]
    ludwig-worker --server 2>err || status=$?
    [ "$status" = 2 ]
    ludwig-worker --server ssh://a:b 2>err || status=$?
    cat err
    [ "$status" = 2 ]
    grep -q "'b' is no port" err
}
it 'wrong addresses are wrong usage' wrong

done_testing
