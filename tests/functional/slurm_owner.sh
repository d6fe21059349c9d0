#!/usr/bin/env bash
# slurm_owner.sh - what owners and sites do to pilots: nothing is lost, nothing is done twice, none stays behind
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'what is done to pilots' "$slurm_lacks" && done_testing; }
slurm_up
log=$TEST_TMP/own.log

# A ludwigd with a lease that can be waited for, with a share of its own, as pilots find it by that.
SHARE=$TEST_TMP/share
mkdir "$SHARE"
mkdir -m 0700 "$TEST_TMP/own"
printf '%s\n' "share: $SHARE" "state: $TEST_TMP/own" "sockets: [$TEST_TMP/own.sock]" 'lease: 20s' \
    'slurm: {idle: 2s}' >"$TEST_TMP/own.yaml"
ludwigd --config "$TEST_TMP/own.yaml" 2>>"$log" &
disown
export LUDWIG_SERVER=unix:$TEST_TMP/own.sock
serves "$log" ludwig status

sweep() { # NAME SLURM [LINE...]: its number
    write_job 'gate "$1"'
    printf '%s\n' "project: $1" "command: sh job.sh $1" 'params: {n: [1, 2]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 10min}' "slurm: $2" "${@:3}" >"$1.yaml"
    submit "$1.yaml"
}

pilot() { # STATE: the only one's id
    squeue -h -t "$1" -o '%A %j' | sed -n 's/ ludwig-.*//p'
}

no_pilots() {
    [ -z "$(squeue -h -o %j | grep ludwig-)" ]
}

begun() { # SWEEP N
    [ "$(recorded "^start $1[.]")" = "$2" ]
}

# Each of its two jobs has one result, and no pilot stays behind.
is_done() { # SWEEP PROJECT
    wait_until 90 ended "$1"
    [ "$(sweep_state "$1")" = done ]
    [ "$(published "$2" | cut -d' ' -f1 | sort -u | wc -l)" = 2 ]
    wait_until 60 no_pilots
}

named() {
    local id pilot
    id=$(sweep named '{partition: short}' "name: 'lr, 3 \"seeds\"'")
    wait_until 60 begun "$id" 2
    pilot=$(pilot RUNNING)
    [ "$(squeue -h -j "$pilot" -o %.8j)" = "ludwig-$id" ]
    squeue -h -j "$pilot" -o %k | grep -qE "^ludwig [0-9a-f]+ sweep $id: lr_ 3 _seeds_ of named\$"
    # As much as two jobs of ten minutes take.
    squeue -h -j "$pilot" -o '%C %m %l' | grep -qxE '2 200M 1[0-9]:00'
    open named
    is_done "$id" named
}

# By its user, or by an admin, as root is one.
held() {
    local id pilot
    id=$(sweep held '{partition: short, extra: ["--hold"]}')
    shown_by_why 30 "$id.1" 'an admin holds it|its user holds it: scontrol release'
    pilot=$(pilot PENDING)
    wait_until 10 'ludwig status '"$id"' | grep -qE "^ *Slurm .*job '"$pilot"' waits: .* holds it"'
    slurm_numbered "$pilot"
    scontrol release "$pilot"
    wait_until 60 begun "$id" 2
    [ "$(pilot RUNNING)" = "$pilot" ]
    open held
    is_done "$id" held
}

# Its jobs go elsewhere at once; in two minutes Slurm starts it again, for nothing, and it leaves.
requeued() {
    local id pilot
    id=$(sweep requeued '{partition: short}')
    wait_until 60 begun "$id" 2
    pilot=$(pilot RUNNING)
    slurm_numbered_running "$pilot"
    scontrol requeue "$pilot" || true # no, says Slurm, if nobody but its user asks
    open requeued
    wait_until 90 ended "$id"
    ! slurm_is "$pilot" PENDING || slurm_begin "$pilot"
    is_done "$id" requeued
}

slurm_numbered_running() { # JOB
    wait_until 60 '[ "$(sacct -n -P -X -j '"$1"' -o state)" = RUNNING ]'
}

# Its lease ends while it stands still, and it goes on when its jobs are at another one's.
suspended() {
    local id pilot
    id=$(sweep suspended '{partition: short}')
    wait_until 60 begun "$id" 2
    pilot=$(pilot RUNNING)
    slurm_numbered_running "$pilot"
    scontrol suspend "$pilot"
    slurm_wait 30 "$pilot" SUSPENDED
    wait_until 60 grep -q "lease-over" "$log"
    wait_until 90 begun "$id" 4
    open suspended
    wait_until 60 ended "$id"
    scontrol resume "$pilot"
    is_done "$id" suspended
}

# It had ten minutes, and is told of the end that comes sooner by Slurm alone.
shortened() {
    local id pilot
    id=$(sweep shortened '{partition: short}')
    wait_until 60 begun "$id" 2
    pilot=$(pilot RUNNING)
    slurm_numbered_running "$pilot"
    scontrol update "JobId=$pilot" TimeLimit=1
    slurm_wait 150 "$pilot" 'TIMEOUT|COMPLETED|CANCELLED'
    wait_until 90 '[ "$(recorded "^start '"$id"'[.]")" -ge 4 ]'
    open shortened
    is_done "$id" shortened
}

# A job's own steps; Slurm gives each of them what the pilot has.
steps() {
    local id
    printf '%s\n' 'project: steps' "command: srun --overlap -n 1 sh -c 'echo step \$SLURM_STEP_ID of \$SLURM_JOB_ID'" \
        'source: []' 'params: {n: [1, 2]}' 'resources: {cpus: 1, memory: 100MiB, time: 10min}' 'slurm: {partition: short}' >steps.yaml
    id=$(submit steps.yaml)
    wait_until 90 ended "$id"
    [ "$(sweep_state "$id")" = done ] || { cat "$SHARE"/steps/logs/*/* && return 1; }
    [ "$(cat "$SHARE"/steps/logs/*/* | grep -cE '^step [0-9]+ of [0-9]+$')" = 2 ]
    wait_until 60 no_pilots
}

it 'squeue tells whose a pilot is, and it asks for what its jobs need' named
it 'one that is held is waited for, and --wait, status and why say so' held
it 'one that is requeued' requeued
it 'one that is suspended for longer than its lease' suspended
it 'one whose time is cut short' shortened
it 'a job starts steps of its own by srun' steps

# ---- what a site forbids ----

mkdir "$TEST_TMP/forbidden"
for name in sacct sacctmgr sdiag; do
    printf '#!/bin/sh\necho "%s: error: Access/permission denied" >&2\nexit 1\n' $name >"$TEST_TMP/forbidden/$name"
    chmod +x "$TEST_TMP/forbidden/$name"
done

# On a login node, with one's own ludwigd, which is killed there.
forbidden() {
    local id pilot
    unset LUDWIG_SERVER
    SHARE=$HOME/ludwig_data
    : >"$TEST_TMP/records" # the other ludwigd's sweeps have the same numbers
    configure 'slurm: {idle: 2s}'
    id=$(PATH=$TEST_TMP/forbidden:$PATH sweep forbidden '{partition: short}')
    wait_until 60 begun "$id" 2
    pilot=$(pilot RUNNING)
    kill_hard "$XDG_STATE_HOME/ludwig/ludwigd.yaml"
    open forbidden
    wait_until 30 '[ "$(recorded "^end '"$id"'[.]")" = 2 ]'
    PATH=$TEST_TMP/forbidden:$PATH ludwig status 2>said
    grep -q 'your server had ended by itself or was killed, and was started again' said
    ludwig status 2>said
    not grep -q 'started again' said
    is_done "$id" forbidden
    begun "$id" 2
    scancel "$pilot" 2>/dev/null || true
    id=$(sweep cancelled '{partition: short}')
    wait_until 60 begun "$id" 2
    scancel "$(pilot RUNNING)"
    wait_until 90 '[ "$(recorded "^start '"$id"'[.]")" -ge 4 ]'
    open cancelled
    is_done "$id" cancelled
    ludwig down
    status=0
    ludwig status 2>said || status=$?
    [ $status != 0 ]
    grep -q 'no server of yours is running here' said
}

no_accounting() {
    local id
    sed -i 's/^AccountingStorage.*//' "$SLURM_CONF"
    echo 'AccountingStorageType=accounting_storage/none' >>"$SLURM_CONF"
    slurm_changes
    slurm_ctld stop
    slurm_ctld start
    id=$(sweep unaccounted '{partition: short}')
    wait_until 60 begun "$id" 2
    scancel "$(pilot RUNNING)"
    wait_until 90 '[ "$(recorded "^start '"$id"'[.]")" -ge 4 ]'
    open unaccounted
    is_done "$id" unaccounted
}

it 'a ludwigd that was killed on the login node, where sacct, sacctmgr and sdiag are forbidden' forbidden
it 'a Slurm without accounting' no_accounting
done_testing
