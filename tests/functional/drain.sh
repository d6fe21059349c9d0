#!/bin/bash
# drain.sh - nodes that get no more jobs
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
printf '%s\n' 'project: n' 'command: sh job.sh {a}' 'source: job.sh' 'params: {a: [1, 2, 3, 4, 5]}' >n.yaml

state_of_node() { ludwig nodes --json | json - 'd["nodes"][0]["state"]'; }

drains() {
    write_job 'gate one'
    id=$(submit n.yaml)
    wait_until 10 '[ "$(recorded "^start '"$id"'\.")$(jobs_in running '"$id"')" = 22 ]'
    node=$(ludwig nodes --quiet)
    [ "$(wc -l <<<"$node")" = 1 ]
    ludwig drain "$node" 2>err
    grep -qxF "$node: drained; 2 jobs run on to their end" err
    [ "$(state_of_node)" = drained ]
    [ "$(ludwig nodes --state drained,lost -q)" = "$node" ]
    [ -z "$(ludwig nodes --state up -q)" ]
    ludwig drain "$node" "$node" 2>err
    grep -qxF "$node: drained; 2 jobs run on to their end" err
    open one
    wait_until 10 '[ "$(jobs_in done '"$id"')" = 2 ]'
    ludwig drain "$node" 2>err
    grep -qxF "$node: was drained already; nothing runs there" err
    ludwig drain "$node" --json | json - 'd == {"v": 1, "nodes": 0, "running": 0}'
    [ "$(jobs_in queued "$id")$(recorded '^start ')" = 32 ]
    ludwig why "$id.5" | grep -qF "$node: it is drained (ludwig undrain $node)"
}
it 'a drained node gets no more jobs, and what runs there goes on' drains

stays_drained() {
    node=$(ludwig nodes --quiet)
    kill_hard ludwigd
    ludwig_wait up
    wait_until 10 '[ "$(state_of_node)" = drained ]'
    [ "$(jobs_in queued 1)" = 3 ]
    ludwig undrain "$node" 2>err
    grep -qxF "$node: takes jobs again" err
    wait_until 15 '[ "$(sweep_state 1)" = done ]'
    [ "$(state_of_node)" = up ]
    ludwig undrain "$node" 2>err
    grep -qxF "$node: was not drained" err
    ludwig undrain "$node" --quiet >out 2>&1
    [ ! -s out ]
}
it 'it stays drained when ludwigd is killed, until it is undrained' stays_drained

refuses() {
    node=$(ludwig nodes --quiet)
    ludwig drain "${node}x" 2>err && return 1
    grep -qF "no worker was ever seen on '${node}x' (did you mean '$node'?)" err
    # All or nothing.
    ludwig drain "$node" nowhere-at-all 2>err && return 1
    [ "$(state_of_node)" = up ]
    ludwig drain @nogroup 2>err && return 1
    status=0
    ludwig nodes --state drain 2>err || status=$?
    [ $status = 2 ]
    grep -qx "ludwig: --state: no node is ever 'drain' (did you mean 'drained'?)" err
}
it 'a name that no node has is refused, and nothing is drained' refuses

done_testing
