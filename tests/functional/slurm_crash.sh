#!/usr/bin/env bash
# slurm_crash.sh - slurmctld and ludwigd are killed: nothing is lost, and nothing is done twice
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'pilots through crashes' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s, partitions: {short: {max_pilots: 1}}}' 'resources: {cpus: 2}'

# As if slurmctld were killed between its answer and its next save, once there is $TEST_TMP/armed:
# what it knew before is what it knows when it starts again.
# Or as if nothing came back from it: before it has had the question ($TEST_TMP/deaf), or its answer (mute).
mkdir "$TEST_TMP/bin"
cat >"$TEST_TMP/bin/sbatch" <<END
#!/bin/bash
if [ -e "$TEST_TMP/deaf" ]; then
    rm "$TEST_TMP/deaf"
    exec sleep 1000
fi
echo asked >>"$TEST_TMP/asked"
if [ -e "$TEST_TMP/mute" ]; then
    "$(command -v sbatch)" "\$@" >/dev/null
    rm "$TEST_TMP/mute"
    exec sleep 1000
fi
[ -e "$TEST_TMP/armed" ] || exec "$(command -v sbatch)" "\$@"
rm "$TEST_TMP/armed"
cp -a "$SLURM/state" "$TEST_TMP/state"
"$(command -v sbatch)" "\$@" >"$TEST_TMP/answer"
pkill -KILL -f 'slurmctld -D -f $SLURM_CONF\$'
cat "$TEST_TMP/answer"
touch "$TEST_TMP/fired"
END
chmod +x "$TEST_TMP/bin/sbatch"

sweep() { # NAME SLURM [LINE...]: its number
    write_job "gate $1"
    printf '%s\n' "project: $1" 'command: sh job.sh' 'params: {n: [1, 2, 3, 4]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 10min}' "slurm: $2" "${@:3}" >"$1.yaml"
    submit "$1.yaml"
}

pilots() {
    squeue -h -o '%A %j %T' | grep ' ludwig-'
}

no_pilots() {
    [ -z "$(pilots)" ]
}

all_once() { # SWEEP
    wait_until 120 ended "$1"
    [ "$(sweep_state "$1")" = done ]
    [ "$(recorded "^start $1[.]")" = 4 ]
    [ "$(recorded "^end $1[.]")" = 4 ]
}

in_submission() {
    local id lost given
    touch "$TEST_TMP/armed"
    id=$(PATH=$TEST_TMP/bin:$PATH sweep submission '{partition: short, extra: ["--begin=now+3"]}')
    wait_until 30 [ -e "$TEST_TMP/fired" ]
    kill -STOP "$(pids_of ludwigd)" # or its next pilot might get the id
    lost=$(cat "$TEST_TMP/answer")
    rm -rf "$SLURM/state"
    cp -a "$TEST_TMP/state" "$SLURM/state"
    slurm_ctld kill
    slurm_ctld start
    # Its id is given to somebody else's job.
    given=$(sbatch --parsable -p long -J somebody --wrap 'sleep 300') || true
    kill -CONT "$(pids_of ludwigd)" # before anything is looked at: one that stands still holds up all others
    [ "$given" = "$lost" ]
    wait_until 120 '[ "$(recorded "^start '"$id"'[.]")" = 4 ]'
    open submission
    all_once "$id"
    slurm_is "$lost" RUNNING
    scancel "$lost"
    slurm_wait 60 "$lost" CANCELLED
    [ "$(grep -c pilot-submitted "$XDG_STATE_HOME/ludwig/ludwigd.log")" = 2 ]
    [ "$(published submission | wc -l)" = 4 ]
}

unanswered() { # deaf|mute
    local id
    : >"$TEST_TMP/asked"
    touch "$TEST_TMP/$1"
    id=$(sweep "$1" '{partition: short, extra: ["--begin=now+40"]}')
    shown_by_why 60 "$id.1" 'Slurm cannot be asked, which is tried again .*: it did not answer in time'
    wait_until 120 '[ "$(recorded "^start '"$id"'[.]")" = 4 ]'
    open "$1"
    all_once "$id"
    [ "$(wc -l <"$TEST_TMP/asked")" = 1 ]
    wait_until 60 no_pilots
}

in_run() {
    local id later
    id=$(sweep run '{partition: short}')
    wait_until 60 '[ "$(recorded "^start '"$id"'[.]")" = 4 ]'
    wait_until 30 [ "$SLURM/state/job_state" -nt "$TEST_TMP/records" ]
    slurm_ctld kill
    later=$(sweep later '{partition: long}')
    open run
    all_once "$id"
    wait_until 60 '[ -z "$(agents)" ]'
    wait_until 60 'ludwig why '"$later"'.1 | grep "Unable to contact slurm controller"'
    slurm_ctld start
    open later
    all_once "$later"
    wait_until 90 no_pilots
}

# One pilot ends, and one begins, while nobody looks.
ludwigd_killed() {
    local first second pilot
    first=$(sweep first '{partition: short}')
    wait_until 60 '[ "$(recorded "^start '"$first"'[.]")" = 4 ]'
    pilot=$(pilots | cut -d' ' -f1)
    second=$(sweep second '{partition: long, extra: ["--begin=now+1hour"]}')
    wait_until 60 '[ "$(squeue -h -p long -o %r)" = BeginTime ]'
    kill_hard ludwigd
    scancel "$pilot"
    slurm_begin "$(squeue -h -p long -o %A)"
    slurm_wait 60 "$pilot" CANCELLED
    slurm_wait 60 "$(squeue -h -p long -o %A)" RUNNING
    ludwig up
    wait_until 60 '[ "$(recorded "^start '"$second"'[.]")" = 4 ]'
    open first && open second
    all_once "$second"
    wait_until 120 ended "$first"
    [ "$(sweep_state "$first")" = done ]
    [ "$(recorded "^end $first[.]")" = 4 ]
    [ "$(published first | wc -l)" = 4 ]
    wait_until 60 no_pilots
}

why_again() { # SWEEP
    ludwig jobs "$1" --json | json - "[j for j in d['jobs'] if j['attempt'] > 1]"
    grep -E 'pilot-|lost|error' "$XDG_STATE_HOME/ludwig/ludwigd.log" | tail -n 20
    grep -iE 'not responding|down' "$SLURM/log/slurmctld.log" | tail -n 10
}

# A ludwigd with a lease and a share of its own, which says when it has asked for its pilots.
cat >"$TEST_TMP/bin/squeue" <<END
#!/bin/bash
"$(command -v squeue)" "\$@"
code=\$?
touch "$TEST_TMP/looked"
exit \$code
END
chmod +x "$TEST_TMP/bin/squeue"

own() { # LEASE
    SHARE=$TEST_TMP/share
    mkdir -p "$SHARE"
    mkdir -p -m 0700 "$TEST_TMP/own"
    printf '%s\n' "share: $SHARE" "state: $TEST_TMP/own" "sockets: [$TEST_TMP/own.sock]" "lease: $1" \
        'slurm: {idle: 2s, partitions: {short: {max_pilots: 1}}}' >"$TEST_TMP/own.yaml"
    PATH=$TEST_TMP/bin:$PATH ludwigd --config "$TEST_TMP/own.yaml" 2>>"$TEST_TMP/own.log" &
    disown
    export LUDWIG_SERVER=unix:$TEST_TMP/own.sock
    wait_until 30 ludwig status >/dev/null 2>&1
}

# Sets id and pilot: slurmctld's state, as it was while that one waited, lies in $TEST_TMP/then.
begun() { # NAME
    : >"$TEST_TMP/records" # another ludwigd's sweeps have the same numbers
    wait_until 60 no_pilots # none that would be there again, and has ended
    id=$(sweep "$1" '{partition: short, extra: ["--begin=now+1hour"]}')
    shown_by_why 60 "$id.1" 'short: a pilot, Slurm.s job [0-9]+: .*BeginTime' || { tail -n 20 "$TEST_TMP/own.log" && return 1; }
    pilot=$(squeue -h -p short -o %A)
    slurm_numbered "$pilot"
    slurm_ctld stop
    rm -rf "$TEST_TMP/then"
    cp -a "$SLURM/state" "$TEST_TMP/then"
    slurm_ctld start
    slurm_begin "$pilot"
    wait_until 60 '[ "$(recorded "^start '"$id"'[.]")" = 4 ]'
}

as_it_was_then() {
    slurm_ctld kill
    rm -rf "$SLURM/state"
    cp -a "$TEST_TMP/then" "$SLURM/state"
    slurm_ctld start
    slurm_is "$pilot" PENDING
}

# Pilots of ludwigd's know of no test.
agent_of() { # JOB
    local process
    for process in /proc/[0-9]*; do
        if grep -qzxF -e --pilot-agent "$process/cmdline" && grep -qzxF "SLURM_JOB_ID=$1" "$process/environ" &&
            grep -qzxF "SLURM_CONF=$SLURM_CONF" "$process/environ"; then
            echo "${process#/proc/}"
        fi
    done 2>/dev/null
}

state_of_pilots() {
    ludwig nodes --json | json - '" ".join(n["state"] for n in d["nodes"])'
}

# Its node cannot say that it runs there.  ludwigd looks while its worker is away for a moment.
outranked() {
    local id pilot node agent
    own 10min
    begun outranked
    node=$(squeue -h -j "$pilot" -o %N)
    slurm_node crash "$node"
    as_it_was_then
    # What ludwigd would cancel if it had not run.
    slurm_partition short MaxTime=1
    slurm_begin "$pilot"
    wait_until 60 '[ "$(slurm_reason '"$pilot"')" = PartitionTimeLimit ]'
    agent=$(agent_of "$pilot")
    kill -STOP "$agent"
    kill_hard "$TEST_TMP/own.yaml"
    rm -f "$TEST_TMP/looked"
    own 10min
    wait_until 60 [ -e "$TEST_TMP/looked" ]
    kill -CONT "$agent"
    wait_until 60 '[ "$(state_of_pilots)" = up ]'
    open outranked
    all_once "$id"
    [ "$(published outranked | wc -l)" = 4 ]
    [ "$(grep -c pilot-submitted "$TEST_TMP/own.log")" = 1 ]
    slurm_is "$pilot" PENDING
    wait_until 60 '[ -z "$(agent_of '"$pilot"')" ]' # it would take the next ones
    slurm_node on "$node"
    scancel "$pilot"
    slurm_partition short MaxTime=2-0
    wait_until 60 no_pilots
    kill_hard "$TEST_TMP/own.yaml"
}

# Slurm kills what it knows as one that waits; when it lets it begin anew, it is the same pilot.
killed_by_slurm() {
    local id pilot
    : >"$TEST_TMP/own.log"
    own 10s
    begun forgotten
    as_it_was_then
    wait_until 60 '[ "$(jobs_in queued '"$id"')" = 4 ]'
    shown_by_why 90 "$id.1" "short: a pilot, Slurm.s job $pilot: .*BeginTime"
    slurm_begin "$pilot"
    wait_until 60 '[ "$(recorded "^start '"$id"'[.]")" = 8 ]'
    open forgotten
    wait_until 60 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    [ "$(recorded "^end $id[.]")" = 4 ]
    [ "$(published forgotten | wc -l)" = 4 ]
    [ "$(grep -c pilot-submitted "$TEST_TMP/own.log")" = 1 ]
    wait_until 60 no_pilots
    kill_hard "$TEST_TMP/own.yaml"
}

many() {
    local id
    printf '%s\n' 'project: many' "command: echo {n} >>$TEST_TMP/many" 'source: []' "params: {n: [$(seq -s, 5000)]}" \
        'resources: {cpus: 1, memory: 100MiB, time: 1min}' 'slurm: {partition: debug}' >many.yaml
    id=$(submit many.yaml)
    wait_until 180 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    seq 5000 >expected
    sort -n "$TEST_TMP/many" | cmp - expected || { why_again "$id" && return 1; }
    [ "$(published many | wc -l)" = 5000 ]
}

it 'slurmctld forgets the pilot it has just accepted, and gives its id to another job' in_submission
it 'sbatch hangs, and Slurm has heard nothing of it: it is asked again' 'unanswered deaf'
it 'sbatch hangs, and Slurm has taken the pilot: it is found, and no other submitted' 'unanswered mute'
it 'slurmctld is killed while a pilot works: nobody waits for it but what is new' in_run
it 'ludwigd is killed, and pilots end and begin meanwhile' ludwigd_killed
it '5,000 short jobs are each done once' many
it 'slurmctld shows a pilot that works as one that waits: nobody cancels or replaces it' outranked
it 'and when it kills that one, the jobs are done by it once it begins again' killed_by_slurm
done_testing
