#!/usr/bin/env bash
# slurm_crash.sh - slurmctld and ludwigd are killed: nothing is lost, and nothing is done twice
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'pilots through crashes' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s, partitions: {short: {max_pilots: 1}}}' 'resources: {cpus: 2}'

# As if slurmctld were killed between its answer and its next save, once there is $TEST_TMP/armed:
# what it knew before is what it knows when it starts again.
mkdir "$TEST_TMP/bin"
cat >"$TEST_TMP/bin/sbatch" <<END
#!/bin/bash
[ -e "$TEST_TMP/armed" ] || exec "$(command -v sbatch)" "\$@"
rm "$TEST_TMP/armed"
cp -a "$SLURM/state" "$TEST_TMP/state"
"$(command -v sbatch)" "\$@" >"$TEST_TMP/answer"
kill -KILL "\$(pgrep -f -x 'slurmctld -D -f $SLURM_CONF')"
cat "$TEST_TMP/answer"
touch "$TEST_TMP/fired"
END
chmod +x "$TEST_TMP/bin/sbatch"

sweep() { # NAME SLURM [LINE...]: its number
    write_job "gate $1"
    printf '%s\n' "project: $1" 'command: sh job.sh' 'params: {n: [1, 2, 3, 4]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 1min}' "slurm: $2" "${@:3}" >"$1.yaml"
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
    local id lost
    touch "$TEST_TMP/armed"
    id=$(PATH=$TEST_TMP/bin:$PATH sweep submission '{partition: short, extra: ["--begin=now+3"]}')
    wait_until 30 [ -e "$TEST_TMP/fired" ]
    lost=$(cat "$TEST_TMP/answer")
    rm -rf "$SLURM/state"
    cp -a "$TEST_TMP/state" "$SLURM/state"
    slurm_ctld kill
    slurm_ctld start
    # Its id is given to somebody else's job.
    [ "$(sbatch --parsable -p long -J somebody --wrap 'sleep 300')" = "$lost" ]
    wait_until 120 '[ "$(recorded "^start '"$id"'[.]")" = 4 ]'
    open submission
    all_once "$id"
    slurm_is "$lost" RUNNING
    scancel "$lost"
    slurm_wait 60 "$lost" CANCELLED
    [ "$(grep -c pilot-submitted "$XDG_STATE_HOME/ludwig/ludwigd.log")" = 2 ]
    [ "$(published submission | wc -l)" = 4 ]
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
    scontrol update JobId="$(squeue -h -p long -o %A)" StartTime=now
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
it 'slurmctld is killed while a pilot works: nobody waits for it but what is new' in_run
it 'ludwigd is killed, and pilots end and begin meanwhile' ludwigd_killed
it '5,000 short jobs are each done once' many
done_testing
