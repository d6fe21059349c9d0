#!/usr/bin/env bash
# slurm_sweep.sh - a sweep that names a partition gets pilots there, which work through it and leave
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'pilots' "$slurm_lacks" && done_testing; }
slurm_up
configure

cat >sweep.yaml <<'END'
project: pilots
command: sh job.sh
params: {n: [1, 2, 3, 4]}
resources: {cpus: 1, memory: 100MiB, time: 1min}
slurm: {partition: short}
END

pilots_here() {
    squeue -h -o '%j %T' | grep '^ludwig-'
}

jobs_are_done() {
    local sweep
    write_job
    sweep=$(submit sweep.yaml)
    wait_until 90 ended "$sweep"
    [ "$(sweep_state "$sweep")" = done ]
    [ "$(jobs_in done "$sweep")" = 4 ]
    [ "$(job "$sweep.1" "j['partition']")" = short ]
    [ "$(recorded '^start')" = 4 ]
}

it 'all of its jobs are done, in that partition' jobs_are_done
done_testing
