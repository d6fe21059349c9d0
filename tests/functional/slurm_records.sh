#!/usr/bin/env bash
# slurm_records.sh - what this Slurm says is read and judged as it is meant
#
# Jobs are brought into the states that there are, each with what is expected of a pilot in that
# state as its name: PHASE.JOBS.WHAT, in the words of server/slurm/slurmstate.h.  What Slurm's commands
# print then is read by the unit tests slurmread and slurmstate of server/slurm, which hold each row
# against its name; they do the same with what is kept in tests/slurm/VERSION.  To keep what
# another version says:
#
#     SLURM_RECORDS=$PWD/tests/slurm tests/run tests/functional/slurm_records.sh
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'what Slurm says' "$slurm_lacks" && done_testing; }
# Slurm would still show what others have run.
[ -z "${LUDWIG_TEST_SLURM-}" ] || touch "$LUDWIG_TEST_SLURM/changed"
slurm_up
records=$TEST_TMP/slurm-records
units=$TEST_ROOT/build/default/unit
mkdir "$records"

job() { # NAME ARGUMENT...: submit, and print its number
    sbatch --parsable -o /dev/null -J "$1" "${@:2}"
}

# Keeps as much of a node as is asked for.
stay='exec sleep 1000'

waiting() {
    job never.stay.time-limit -p short -t 3-0 --wrap true
    job never.stay.node-limit -N 9 --wrap true
    job never.stay.cpus -n 999 --wrap true
    job never.stay.account -p closed --wrap true
    job held.stay.user -H --wrap true
    job waits.stay.begin --begin=now+1hour --wrap true
    slurm_manage modify qos debug set MaxJobsPerUser=1
    job runs.stay.first-of-user --qos=debug --wrap "$stay"
    job limited.stay.user --qos=debug --wrap true
    slurm_manage modify qos long set MaxTRESPerJob=cpu=1
    job never.stay.qos-cpus --qos=long -c 2 --wrap true
    slurm_manage modify account hoffman-lab set GrpJobs=1
    job runs.stay.first-of-account -A hoffman-lab --wrap "$stay"
    job limited.stay.account -A hoffman-lab --wrap true
    job waits.stay.dependency --dependency=afterok:"$(job runs.stay.other --wrap "$stay")" --wrap true
    job an-array --array=0-99%2 --wrap "$stay"
    slurm_partition long State=DOWN
    job limited.stay.partition-down -p long --wrap true
    job $'with\nline breaks' -H --wrap true
    job $'with\x1fseparators' -H --wrap true
    wait_until 60 '[ "$(squeue -h -t RUNNING | wc -l)" = 5 ]'
}

running() {
    local stopped requeued held
    stopped=$(job stopped.lease.suspended --wrap "$stay")
    requeued=$(job waits.stay.requeued --wrap "$stay")
    held=$(job stuck.stay.requeue-held --wrap "$stay")
    special=$(job stuck.back.special-exit --wrap "$stay")
    slurm_wait 60 "$stopped" RUNNING
    scontrol suspend "$stopped"
    slurm_wait 60 "$requeued" RUNNING
    scontrol requeue "$requeued"
    slurm_wait 60 "$held" RUNNING
    scontrol requeuehold "$held"
    slurm_wait 60 "$special" RUNNING
    scontrol requeuehold State=SpecialExit "$special"
    slurm_wait 60 "$requeued" PENDING
    slurm_wait 60 "$special" 'SPECIAL_EXIT|PENDING'
}

ending() {
    local cancelled lost preempted
    job ended.back.completed --wrap true
    job ended.back.exit-3 --wrap 'exit 3'
    job ended.back.signal --wrap 'kill -9 $$'
    scancel "$(job ended.back.never-began -H --wrap true)"
    cancelled=$(job ended.back.cancelled --wrap "$stay")
    slurm_wait 60 "$cancelled" RUNNING
    scancel "$cancelled"
    preempted=$(job ended.back.preempted -p overcap --no-requeue -w node2 --exclusive --wrap "$stay")
    slurm_wait 60 "$preempted" RUNNING
    slurm_wait 60 "$(job ended.back.preemptor -p debug -w node2 -c 16 --wrap true)" COMPLETED
    lost=$(job ended.back.node-fail --no-requeue -w node3 --wrap "$stay")
    slurm_wait 60 "$lost" RUNNING
    slurm_node off node3
    slurm_wait 120 "$lost" NODE_FAIL
    wait_until 60 '[ "$(squeue -h -t CG | wc -l)" = 0 ]'
}

said_to() { # FILE COMMAND...
    SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0 "${@:2}" |
        sed "s#$SLURM#/slurm#; s#\b$(hostname -s)(127#login1(127#; s# at $(hostname -s) is # at login1 is #" >"$records/$1"
}

recorded_all() {
    said_to config scontrol show config
    said_to partitions scontrol -o show partition
    # As server/slurm/slurmread.h has them.
    said_to nodes sinfo -h -e -o "$(format NODES_FORMAT)"
    said_to jobs squeue -h -t all -o "$(format JOBS_FORMAT)"
    said_to assocs sacctmgr -n -P show assoc cluster=skynet format="$(format ASSOC_FIELDS)"
    said_to qos sacctmgr -n -P show qos format="$(format QOS_FIELDS)"
    said_to users sacctmgr -n -P show user format="$(format USER_FIELDS)"
    # Accounting lags.
    wait_until 60 'sacct -n -X -o jobname%30,state | grep -q "node-fail *NODE_FAIL"'
    said_to ended sacct -n -P -X -D --delimiter=$'\x1f' -o "$(format ENDED_FIELDS)"
    version=$(sed -n 's/^SLURM_VERSION *= *//p' "$records/config")
    if [ -n "${SLURM_RECORDS-}" ]; then
        mkdir -p "$SLURM_RECORDS/$version"
        cp "$records"/* "$SLURM_RECORDS/$version"
    fi
}

format() { # NAME
    "$units/server/slurm/slurmread" --print "$1"
}

understood() {
    LUDWIG_SLURM_RECORDS=$records "$units/server/slurm/slurmread"
}

if [ ! -x "$units/server/slurm/slurmread" ]; then
    skip 'what Slurm says' 'takes the unit tests: make units'
    done_testing
fi
it 'jobs wait for all kinds of reasons' waiting
it 'jobs that ran are suspended, requeued and held' running
it 'jobs end in all kinds of ways' ending
it 'it says so' recorded_all
it 'what it says is understood' understood
done_testing
