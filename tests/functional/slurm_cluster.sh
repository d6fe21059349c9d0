#!/usr/bin/env bash
# slurm_cluster.sh - the Slurm of these tests: what tests of pilots rely on is so
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'Slurm for the tests' "$slurm_lacks" && done_testing; }
slurm_up

# Ends when $TEST_TMP/gates/NAME is there.
cat >wait.sh <<END
#!/bin/sh
until [ -e "$TEST_TMP/gates/\$1" ]; do sleep 0.3; done
END

run() { # ARGUMENT...: submit, and print the job
    sbatch --parsable -o "$TEST_TMP/%j.out" "$@"
}

ran_in() { # PARTITION
    local job
    job=$(run -p "$1" --wrap 'echo "$SLURM_JOB_PARTITION $SLURMD_NODENAME"')
    slurm_wait 60 "$job" COMPLETED
    grep -qxE "$1 node[123]" "$TEST_TMP/$job.out"
}

each_partition() {
    local partition
    for partition in debug short long overcap; do
        ran_in $partition
    done
}

gpus_given() {
    local job
    job=$(run -C rtx_6000 --gres=gpu:2 --wrap 'echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"')
    slurm_wait 60 "$job" COMPLETED
    [ "$(cat "$TEST_TMP/$job.out")" = 'node3 0,1' ]
}

preempted() {
    local first second
    first=$(run -p overcap -w node1 -c 16 --exclusive wait.sh first)
    slurm_wait 60 "$first" RUNNING
    second=$(run -p short -w node1 -c 16 --wrap true)
    slurm_wait 90 "$second" COMPLETED
    slurm_wait 60 "$first" PENDING
    scontrol show job "$first" | grep -q 'Restarts=1'
    open first
    slurm_begin "$first"
    slurm_wait 90 "$first" COMPLETED
}

accounted() {
    local job
    job=$(run -A hoffman-lab --qos=short --wrap 'exit 3')
    slurm_wait 60 "$job" FAILED
    wait_until 60 '[ "$(sacct -n -P -X -j '"$job"' -o account,qos,state,exitcode)" = "hoffman-lab|short|FAILED|3:0" ]'
}

refused() {
    not run -A nobody --wrap true
    not run --qos=nope --wrap true
    not run -p nope --wrap true
}

power_failure() {
    local job
    job=$(run --no-requeue -w node2 wait.sh never)
    slurm_wait 60 "$job" RUNNING
    slurm_node off node2
    slurm_wait 120 "$job" NODE_FAIL
    slurm_node on node2
    wait_until 60 '[ "$(sinfo -h -N -n node2 -p short -o %T)" = idle ]'
}

slurmd_killed() {
    local job
    job=$(run -w node1 wait.sh crash)
    slurm_wait 60 "$job" RUNNING
    slurm_node crash node1
    open crash
    slurm_node on node1
    slurm_wait 60 "$job" COMPLETED
}

slurmctld_stopped() {
    local job
    job=$(run wait.sh stopped)
    slurm_wait 60 "$job" RUNNING
    slurm_ctld stop
    not scontrol ping
    slurm_ctld start
    slurm_is "$job" RUNNING
    open stopped
    slurm_wait 90 "$job" COMPLETED
}

rpcs_counted() {
    slurm_rpcs_anew
    run --wrap true
    run --wrap true
    [ "$(slurm_rpcs REQUEST_SUBMIT_BATCH_JOB)" = 2 ]
    [ "$(slurm_rpcs)" -ge 2 ]
}

as_another() {
    slurm_as alice sh -c 'cd && sbatch --parsable -W -o out --wrap "id -un; hostname"'
    printf 'alice\nnode1\n' >expected
    sed 's/^node[123]$/node1/' "$SLURM/home/alice/out" | cmp - expected
}

max_array_size() {
    scontrol show config | sed -n 's/^MaxArraySize *= //p'
}

grace_time() {
    scontrol show partition overcap | sed -n 's/.* GraceTime=\([0-9]*\).*/\1/p'
}

reconfigured() {
    slurm_conf MaxArraySize=7
    [ "$(max_array_size)" = 7 ]
    slurm_partition overcap GraceTime=15
    [ "$(grace_time)" = 15 ]
}

as_at_first() {
    run wait.sh never
    slurm_as_at_first
    [ "$(max_array_size)" = 1001 ]
    [ "$(grace_time)" = 0 ]
    [ -z "$(squeue -h)" ]
}

it 'jobs run in each partition' each_partition
it 'a job gets the GPUs that it asks for, by their numbers' gpus_given
it 'a job of overcap makes room, and begins again' preempted
it 'accounts have what ran' accounted
it 'accounts, QOS and partitions that are not there are refused' refused
it 'a slurmd that was killed finds its job again' slurmd_killed
it 'jobs outlive slurmctld' slurmctld_stopped
it 'calls are counted' rpcs_counted
if [ "$(id -u)" = 0 ]; then
    it 'somebody else has jobs, too, on nodes with names of their own' as_another
else
    skip 'somebody else has jobs, too, on nodes with names of their own' 'takes root'
fi
it 'a node without power is found out' power_failure
it 'its configuration can be changed' reconfigured
it 'the next test finds it as it was at first' as_at_first
done_testing
