#!/usr/bin/env bash
# slurm_limits.sh - what Slurm does not allow: it is shown in its words, and what may come later does
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'limits of pilots' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s}' 'resources: {cpus: 2}'

sweep() { # NAME SLURM [LINE...]: its number, in NAME.id as well
    write_job 'gate "$1"'
    printf '%s\n' "project: $1" "command: sh job.sh $1" "slurm: $2" "${@:3}" >"$1.yaml"
    grep -q '^params:' "$1.yaml" || echo 'params: {n: [1, 2]}' >>"$1.yaml"
    grep -q '^resources:' "$1.yaml" || echo 'resources: {cpus: 1, memory: 100MiB, time: 10min}' >>"$1.yaml"
    submit "$1.yaml" | tee "$1.id"
}

pilots() {
    squeue -h -r -o '%A %P %T %r %j' | grep ' ludwig-'
}

no_pilots() {
    [ -z "$(pilots)" ]
}

# NAME|SLURM|RESOURCES|what Slurm says
cannot='
account|{partition: short, account: nobody}|cpus: 1|Invalid account or account/partition combination specified
qos|{partition: short, qos: nope}|cpus: 1|Invalid qos specification
foreign-qos|{partition: short, account: overcap, qos: short}|cpus: 1|Invalid qos specification
constraint|{partition: short, constraint: a100}|cpus: 1|Invalid feature specification
gres|{partition: short, gres: "gpu:h100:1"}|cpus: 1|Requested node configuration is not available
gpus|{partition: short, extra: [--nice]}|gpus: 9|Requested node configuration is not available
memory|{partition: short, extra: [--nice=1]}|memory: 900GiB|Memory specification can not be satisfied
licence|{partition: short, extra: [--licenses=matlab]}|cpus: 1|Invalid license specification
reservation|{partition: short, extra: [--reservation=none]}|cpus: 1|Requested reservation
exclude|{partition: short, exclude: ["node[1-3]"]}|cpus: 1|configuration|Required node
closed|{partition: closed}|cpus: 1|account may not use the partition
time|{partition: debug}|time: 9h|more time than the partition allows \(PartitionTimeLimit\)
'

each_that_cannot() { # FUNCTION: with name, slurm, resources and words
    local name slurm resources words
    while IFS='|' read -r name slurm resources words; do
        [ -z "$name" ] || "$1"
    done <<<"$cannot"
}

submit_it() {
    sweep "$name" "$slurm" "resources: {$resources}"
}

is_shown() {
    shown_by_why 60 "$(cat "$name.id").1" "partition [a-z]*: no pilots: .*($words)"
    ludwig status "$(cat "$name.id")" | grep -qE "^ *Slurm .*($words)"
}

refused() {
    slurm_rpcs_anew
    each_that_cannot submit_it
    each_that_cannot is_shown
}

waited_for() {
    ludwig submit qos.yaml --reuse none --wait 2>waited &
    wait_until 30 grep -q 'no pilots: .*Invalid qos specification (`ludwig why' waited
    [ "$(grep -c 'no pilots' waited)" = 1 ]
    kill -INT %1
    wait || true
}

not_again() {
    local n
    n=$(slurm_rpcs REQUEST_SUBMIT_BATCH_JOB)
    echo "$n submissions"
    [ "$n" -le 13 ]
    no_pilots
}

# The same entry of slurm: has room for one sweep, and none for the other.
beside() {
    local large small
    large=$(sweep large '{partition: long}' 'resources: {cpus: 1, gpus: 9}')
    shown_by_why 60 "$large.1" "no pilots: .*Requested node configuration"
    small=$(sweep small '{partition: long}')
    open small
    wait_until 60 ended "$small"
    [ "$(sweep_state "$small")" = done ]
    why_says "$large.1" "no pilots: .*Requested node configuration"
    ludwig why "$small.1" | not grep 'no pilots'
}

# Each of its jobs would have a pilot of its own.
gpus_each() { # NAME N SLURM: its number
    sweep "$1" "$3" "params: {n: [$(seq -s, "$2")]}" 'resources: {cpus: 1, gpus: 1, memory: 100MiB, time: 10min}'
}

# Nobody told ludwigd, which has asked before: Slurm refuses the five of them.
limit_is_new() {
    local id
    wait_until 60 no_pilots
    slurm_manage modify user "$(id -un)" account=hoffman-lab set MaxSubmitJobs=3
    id=$(gpus_each new 5 '{partition: long, account: hoffman-lab}')
    shown_by_why 30 "$id.1" 'the last one was not taken: AssocMaxSubmitJobLimit.*; the next is submitted in'
    wait_until 60 '[ "$(recorded "^start '"$id"'[.]")" -ge 2 ]'
    [ "$(pilots | wc -l)" -le 3 ]
    open new
    echo "$id" >new.id
}

# No array may have more than two.
large_array() {
    local id
    id=$(cat arrays.id)
    wait_until 60 all_have "$id" 5 ||
        { squeue -h -r -o '%i %P %T %r %S' && ludwig jobs "$id" && tail -n 20 "$XDG_STATE_HOME/ludwig/ludwigd.log" && return 1; }
    [ "$(squeue -h -r -p overcap -o %i | wc -l)" = 5 ]
    [ "$(squeue -h -r -p overcap -o %F | sort | uniq -c | sort -n | awk '{ printf "%s ", $1 }')" = '1 2 2 ' ]
    open arrays
    wait_until 60 ended "$id"
    [ "$(recorded "^end $id[.]")" = 5 ]
}

rest_came() {
    local id
    id=$(cat new.id)
    wait_until 90 ended "$id"
    [ "$(recorded "^end $id[.]")" = 5 ]
}

all_have() { # ID N ...: so many of its jobs run
    while [ $# != 0 ]; do
        [ "$(recorded "^start $1[.]")" = "$2" ] || return
        shift 2
    done
}

# It has asked by now: nothing is refused.
limits_are_known() {
    local submit run size
    slurm_manage modify user "$(id -un)" account=kira-lab set MaxSubmitJobs=4
    slurm_manage modify qos debug set MaxJobsPerUser=1
    slurm_manage modify qos long set MaxTRESPerUser=cpu=2 MaxWall=30
    slurm_conf MaxArraySize=2
    kill_hard ludwigd
    mv "$XDG_STATE_HOME/ludwig/ludwigd.log" log.before
    run=$(gpus_each run 3 '{partition: debug, qos: debug}')
    size=$(sweep size '{partition: long, qos: long}' 'params: {n: [1, 2, 3, 4]}' 'resources: {cpus: 1, memory: 100MiB}')
    gpus_each arrays 5 '{partition: overcap, account: overcap, qos: overcap}' >arrays.id
    wait_until 60 all_have "$run" 1 "$size" 2
    submit=$(gpus_each submit 6 '{partition: short}')
    wait_until 60 all_have "$submit" 2 "$run" 1 "$size" 2
    shown_by_why 30 "$submit.6" "short: $(id -un) has 4 pilots, and may have no more \(MaxSubmitJobs of account kira-lab=4\)"
    shown_by_why 30 "$run.3" "debug: $(id -un) has 4 pilots, and may have no more"
    [ "$(squeue -h -r -A kira-lab -o '%P' | sort | tr '\n' ' ')" = 'debug long short short ' ]
    [ "$(squeue -h -A kira-lab -p long -o '%C %l')" = '2 30:00' ]
    not grep -e pilot-refused -e slurm-accounts "$XDG_STATE_HOME/ludwig/ludwigd.log"
    open submit && open run && open size
    wait_until 60 ended "$submit" && wait_until 60 ended "$run" && wait_until 60 ended "$size"
    [ "$(recorded "^end ($submit|$run|$size)[.]")" = 13 ]
}

it 'what cannot be is shown in words of Slurm' refused
it 'so it is by submit --wait' waited_for
it 'and is not tried again' not_again
it 'other sweeps for that partition are not held up' beside
it 'when more are submitted than an account may have, fewer are' limit_is_new
it 'what ludwigd knows of limits is not tried' limits_are_known
it 'more pilots than an array may have come in several' large_array
it 'and the rest comes later' rest_came
done_testing
