#!/usr/bin/env bash
# slurm_preempt.sh - a pilot's place is taken away: its jobs save their state, and go on elsewhere
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
. "$TEST_ROOT/tests/functional/pilot.sh"
slurm_possible || { skip 'pilots whose place is taken away' "$slurm_lacks" && done_testing; }
slurm_up
pilots_begin
cp "$TEST_ROOT"/examples/checkpoint/count.* .
# The first attempt lasts until it is ended, and the next one need not take as long.
sed -i 's/time\.sleep(params\["seconds"\])/time.sleep(params["seconds"] if os.environ["LUDWIG_RESTART"] == "0" else 0)/' count.py
sed -i 's/^set -eu$/&; [ "$LUDWIG_RESTART" = 0 ] || sleep() { :; }/' count.sh
[ "$(grep -c LUDWIG_RESTART count.py count.sh | tr '\n' ' ')" = 'count.py:1 count.sh:1 ' ] || exit

# It takes its time, which the others need as well.
SLURM_JOB_ID=1000000 timeout 300 ludwig-worker pilot --server "unix:$TEST_TMP/none" --idle 100 \
    >"$TEST_TMP/alone" 2>&1 &
alone=$!

# The first attempt would last a quarter of an hour, so that its place is always taken away before.
# Each of its steps takes a tenth of a second: none is seen twice by accident.
count() { # PROJECT N COMMAND [LINE...]
    printf '%s\n' "project: $1" "command: $3" 'source: [count.py, count.sh]' \
        "params: {n: $2, seconds: 0.1, save_every: 100000}" 'resources: {cpus: 1, memory: 100MiB}' \
        'checkpoint: {signal: SIGUSR1, grace: 20s}' "${@:4}" >"$1.yaml"
    submit "$1.yaml"
}

steps_of() { # PROJECT: what all of its attempts have printed
    cat "$SHARE/$1"/logs/*/* | sed -n 's/^step //p'
}

has_begun() { # PROJECT
    [ "$(steps_of "$1" 2>/dev/null | wc -l)" -ge 10 ]
}

# The job is back, for the next pilot.
is_queued() { # SWEEP
    [ "$(jobs_in queued "$1")" = 1 ]
}

# Each step was done once, in two attempts at least, and no attempt counts as a failure.
counted() { # SWEEP PROJECT N
    wait_until 120 ended "$1"
    [ "$(sweep_state "$1")" = done ]
    steps_of "$2" | sort -n | cmp - <(seq "$3")
    [ "$(cat "$(published "$2" | cut -d' ' -f4)/sum")" = $(($3 * ($3 + 1) / 2)) ]
    job "$1.1" 'j["attempt"] == 2'
    [ -z "$(find "$SHARE/$2/.ludwig/checkpoints" -mindepth 1 2>/dev/null)" ]
}

# Nobody is left to take what comes next.
all_left() {
    wait_until 60 '[ -z "$(squeue -h)" ]'
}

# SIGTERM comes to all processes, and half a minute later SIGKILL.
without_grace() {
    local first second py sh deaf sweep
    first=$(pilot -p overcap -w node1 -c 16 --exclusive -- --idle 60000)
    write_job 'gate deaf'
    printf '%s\n' 'project: deaf' 'command: sh job.sh; exit $?' 'source: job.sh' >deaf.yaml
    py=$(count py0 9000 'python3 count.py')
    sh=$(count sh0 9000 'sh count.sh {n} {seconds} {save_every}')
    deaf=$(submit deaf.yaml)
    wait_until 60 has_begun py0
    wait_until 60 has_begun sh0
    wait_until 60 '[ "$(recorded "^start '"$deaf"'.1 ")" = 1 ]'
    second=$(sbatch --parsable -p short -w node1 -c 16 --wrap true)
    # Long before SIGKILL.
    slurm_wait 20 "$second" COMPLETED
    slurm_wait 20 "$first" PREEMPTED
    pilot_log "$first" | grep -q told-to-end
    for sweep in "$py" "$sh" "$deaf"; do
        wait_until 60 is_queued "$sweep"
    done
    pilot -p short -w node2 -c 4 -- --idle 5000
    counted "$py" py0 9000
    counted "$sh" sh0 9000
    open deaf
    wait_until 60 ended "$deaf"
    job "$deaf.1" 'j["state"] == "done" and j["attempt"] == 2'
    all_left
}

with_grace() {
    local first py
    slurm_partition overcap GraceTime=15
    first=$(pilot -p overcap -w node1 -c 16 --exclusive -- --idle 60000)
    py=$(count py15 9000 'python3 count.py')
    wait_until 60 has_begun py15
    sbatch -p short -w node1 -c 16 --wrap true
    slurm_wait 90 "$first" PREEMPTED
    wait_until 60 is_queued "$py"
    pilot -p short -w node2 -c 4 -- --idle 5000
    counted "$py" py15 9000
    all_left
}

time_over() {
    local first py
    first=$(pilot -p short -w node1 -c 4 -t 1 -- --idle 60000)
    py=$(count py-time 9000 'python3 count.py')
    wait_until 60 has_begun py-time
    slurm_wait 90 "$first" COMPLETED
    pilot_log "$first" | grep -q 'retire why="the time of its Slurm job was over"'
    wait_until 60 is_queued "$py"
    pilot -p short -w node2 -c 4 -- --idle 5000
    counted "$py" py-time 9000
    all_left
}

by_hand() {
    local first py
    first=$(pilot -p short -w node1 -c 4 -- --idle 60000)
    py=$(count py-hand 9000 'python3 count.py')
    wait_until 60 has_begun py-hand
    scancel "$first"
    slurm_wait 20 "$first" CANCELLED
    wait_until 10 '[ -z "$(folders_of '"$first"')" ]'
    wait_until 60 is_queued "$py"
    pilot -p short -w node2 -c 4 -- --idle 5000
    counted "$py" py-hand 9000
    all_left
}

# A whole one: what is on its way has a name that begins with a dot.
has_copy() { # PROJECT
    find "$SHARE/$1/.ludwig/checkpoints" -name '.*' -prune -o -name state.json -print 2>/dev/null |
        grep -q .
}

# ludwigd's own pilots are submitted with --signal, and are warned five minutes before SIGTERM here.  The next one
# finds no node: the job goes on where no Slurm is, and then there is nothing left for that pilot.
warned() {
    local py first taker
    slurm_conf SlurmctldParameters=preempt_send_user_signal
    slurm_partition overcap GraceTime=300
    py=$(count warned 9000 'python3 count.py' 'slurm: {partition: overcap, exclude: [node2, node3]}')
    wait_until 60 has_begun warned
    first=$(squeue -h -p overcap -o %A)
    start_node plain
    taker=$(sbatch --parsable -o /dev/null -p short -w node1 -c 16 --wrap 'exec sleep 1000')
    wait_until 60 slurm_is "$first" COMPLETED # long before SIGTERM
    pilot_logs "$py" | xargs grep -q 'told-to-end signal=10'
    counted "$py" warned 9000
    job "$py.1" 'j["node"] == "plain" and j["partition"] is None'
    wait_until 60 '[ -z "$(squeue -h -p overcap)" ]'
    kill_hard plain.yaml
    scancel "$taker"
    slurm_partition overcap GraceTime=0
    all_left
}

# Nobody could say goodbye: what was copied while it ran is what there is.
power_failure() {
    local py
    printf '%s\n' 'project: power' 'command: python3 count.py' 'source: [count.py]' \
        'params: {n: 9000, seconds: 0.1, save_every: 5}' 'resources: {cpus: 1, memory: 100MiB}' \
        'checkpoint: {every: 1s}' >power.yaml
    pilot -p short -w node3 -c 4 -- --idle 60000
    py=$(submit power.yaml)
    wait_until 60 has_copy power
    slurm_node off node3
    wait_until 60 is_queued "$py"
    pilot -p short -w node2 -c 4 -- --idle 20000
    wait_until 120 ended "$py"
    slurm_node on node3
    [ "$(sweep_state "$py")" = done ]
    job "$py.1" 'j["attempt"] == 2'
    [ "$(cat "$(published power | cut -d' ' -f4)/sum")" = $((9000 * 9001 / 2)) ]
    grep -h '^from' "$SHARE"/power/logs/*/*.a2.log | grep -vx 'from 0'
}

# Its agent was started once: nobody is waited for until the walltime ends.
nobody_there() {
    tail --pid="$alone" -f /dev/null
    grep -q 'ludwigd was not reached' "$TEST_TMP/alone"
    [ "$(grep -c ' start ' "$TEST_TMP/alone")" = 1 ]
}

it 'without GraceTime: who is ended at once has saved its state, and goes on elsewhere' without_grace
it 'scancel of a pilot gives its jobs back' by_hand
it 'at the end of its time jobs go on elsewhere' time_over
it 'with GraceTime: the same, when SIGTERM comes' with_grace
it 'where the site warns of preemption they leave at once, and a plain node goes on' warned
it 'after a power failure a job goes on from what was copied last' power_failure
it 'a pilot that finds no ludwigd leaves' nobody_there
done_testing
