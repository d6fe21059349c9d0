#!/usr/bin/env bash
# slurm_site.sh - what sites are like: an accounting that is away, pilots that are cancelled to make room, hours
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'what sites are like' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s}'

sweep() { # NAME SLURM [RESOURCES]: its number
    write_job 'gate "$1"'
    printf '%s\n' "project: $1" "command: sh job.sh $1" 'params: {n: [1, 2]}' \
        "resources: {cpus: 1, memory: 100MiB${3-, time: 10min}}" "slurm: $2" >"$1.yaml"
    submit "$1.yaml"
}

begun() { # SWEEP N
    [ "$(recorded "^start $1[.]")" = "$2" ]
}

no_pilots() {
    [ -z "$(squeue -h -o %j | grep ludwig-)" ]
}

# Each of its two jobs has one result, and no pilot stays behind.
is_done() { # SWEEP PROJECT
    wait_until 120 ended "$1"
    [ "$(sweep_state "$1")" = done ]
    [ "$(published "$2" | cut -d' ' -f1 | sort -u | wc -l)" = 2 ]
    wait_until 60 no_pilots
}

time_limit() {
    squeue -h -o '%l %j' | sed -n 's/ ludwig-.*//p'
}

# The partition's default, a day, is what a job of nobody knows how long gets there; users are told what to say.
unknown_time() {
    local id
    id=$(sweep unknown '{partition: long, extra: []}' '' 2>said)
    grep -q "note: nothing says how long a job takes, so pilots ask for the partition's default time; .*time: 10min" said
    ludwig submit unknown.yaml --dry-run | grep -q '^no time  *nothing says how long'
    wait_until 60 begun "$id" 2
    [ "$(time_limit)" = 1-00:00:00 ]
    open unknown
    is_done "$id" unknown
    sbatch -N 3 --exclusive -p short --wrap 'sleep 600' >blocker # nothing of it is free
    id=$(sweep waits '{partition: long}' '')
    shown_by_why 60 "$id.1" 'partition long: its pilots ask for 1 d(ay)? ?[0 h]*, the default there, .*time: 10min'
    scancel "$(sed 's/.* //' blocker)"
    open waits
    is_done "$id" waits
    # Two jobs of a minute: two processors, and the least time.
    id=$(sweep minute '{partition: long}' ', time: 1min' 2>said)
    not grep 'nothing says how long' said
    wait_until 60 begun "$id" 2
    [ "$(squeue -h -o '%C %l' -p long)" = '2 10:00' ]
    open minute
    is_done "$id" minute
}

# PreemptMode=CANCEL: Slurm does not begin it again, and ludwigd has another one.
cancelled() {
    local id first
    slurm_partition overcap PreemptMode=CANCEL
    id=$(sweep cancelled '{partition: overcap}')
    wait_until 60 begun "$id" 2
    first=$(squeue -h -p overcap -o %A)
    sbatch -N 3 --exclusive -p short --wrap 'sleep 3' >/dev/null
    slurm_wait 60 "$first" PREEMPTED
    wait_until 120 begun "$id" 4
    open cancelled
    is_done "$id" cancelled
    job "$id.1" 'j["attempt"] == 2 and j["state"] == "done"'
}

# Nobody tells limits or how pilots ended: pilots begin, end and are lost all the same.
no_slurmdbd() {
    local id
    slurm_dbd kill
    ludwig down && ludwig up # and knows nothing of Slurm
    id=$(sweep unasked '{partition: short}')
    wait_until 60 begun "$id" 2
    scancel "$(squeue -h -p short -o %A)"
    wait_until 150 begun "$id" 4
    open unasked
    slurm_dbd start
    is_done "$id" unasked
    not grep slurm-away "$XDG_STATE_HOME/ludwig/ludwigd.log"
}

# One pilot at a time, of which half is idle for half of the time.
same_hours() {
    local id all pilots
    configure 'slurm: {idle: 10s, partitions: {short: {pilot: {cpus: 2}, max_pilots: 1}}}'
    ludwig down && ludwig up
    printf '%s\n' 'project: hours' 'command: sleep 30' 'source: []' 'params: {n: [1, 2, 3]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 2min}' 'slurm: {partition: short}' >hours.yaml
    id=$(submit hours.yaml)
    wait_until 240 ended "$id"
    wait_until 60 no_pilots
    within 60 '[ "$(sacct -X -n -P -S now-1hour -o state,jobname | grep -c "^COMPLETED|ludwig-'"$id"'-")" -ge 1 ]'
    all=$(sacct -X -n -P -S now-1hour -o cputimeraw,jobname | awk -F'|' -v name="^ludwig-$id-" '$2 ~ name { s += $1 } END { print s }')
    ludwig usage --by sweep --json >usage
    pilots=$(sacct -X -n -P -S now-1hour -o jobname | grep -c "^ludwig-$id-")
    echo "sacct: $all s of $pilots; usage: $(json usage "[(s['pilot_cpu_hours'] * 3600, s['cpu_hours'] * 3600) for s in d['sweeps'] if s['sweep'] == $id]")"
    json usage "[abs(s['pilot_cpu_hours'] * 3600 - $all) <= 0.02 * $all + 2 * 2 * $pilots for s in d['sweeps'] if s['sweep'] == $id][0]"
    json usage "[90 <= s['cpu_hours'] * 3600 <= 0.85 * $all for s in d['sweeps'] if s['sweep'] == $id][0]"
}

it 'pilots of two short jobs are small and short, and users are told what to say' unknown_time
it 'a pilot that is cancelled to make room is replaced, and its jobs go on' cancelled
it 'without slurmdbd pilots come, are lost and leave as ever' no_slurmdbd
it 'usage and sacct agree' same_hours
done_testing
