#!/usr/bin/env bash
# slurm_away.sh - slurmctld is killed and stays away for three minutes: pilots work on, nothing is lost or done twice
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'pilots without slurmctld' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s, partitions: {short: {max_pilots: 1, pilot: {cpus: 2}}, debug: {max_pilots: 1}}}'
log=$XDG_STATE_HOME/ludwig/ludwigd.log

sweep() { # NAME SLURM N: its number
    write_job 'gate "$1"'
    printf '%s\n' "project: $1" "command: sh job.sh $1" "params: {n: {range: [1, $3]}}" \
        'resources: {cpus: 1, memory: 100MiB, time: 10min}' "slurm: $2" >"$1.yaml"
    submit "$1.yaml"
}

begun() { # SWEEP N
    [ "$(recorded "^start $1[.]")" = "$2" ]
}

no_pilots() {
    [ -z "$(squeue -h -o %j | grep ludwig-)" ]
}

all_once() { # SWEEP PROJECT N
    wait_until 120 ended "$1"
    [ "$(sweep_state "$1")" = done ]
    begun "$1" "$3"
    [ "$(recorded "^end $1[.]")" = "$3" ]
    [ "$(published "$2" | cut -d' ' -f1 | sort -u | wc -l)" = "$3" ]
    [ "$(published "$2" | wc -l)" = "$3" ]
}

asked_for() { # N: so many pilots were submitted
    [ "$(grep -c ' pilot-submitted ' "$log")" = "$1" ]
}

is_said() { # SWEEP: by each command that says what jobs wait for
    why_says "$1.1" 'Slurm cannot be asked, which is tried again .*: .*Unable to contact slurm controller' &&
        ludwig status "$1" | grep -E '^ *Slurm .*cannot be asked' &&
        ludwig nodes 2>&1 | grep -E '^Slurm, .*cannot be asked'
}

away_for() { # SECONDS
    [ $(($(date +%s) - $(cat "$TEST_TMP/killed"))) -ge "$1" ]
}

# One pilot has two of four jobs; one works all the time; one waits in Slurm's queue.
before() {
    sweep works '{partition: short}' 4 >works
    sweep lasts '{partition: debug}' 1 >lasts
    sweep waits '{partition: overcap, extra: ["--begin=now+1hour"]}' 2 >waits
    wait_until 60 begun "$(cat works)" 2
    wait_until 60 begun "$(cat lasts)" 1
    shown_by_why 60 "$(cat waits).1" 'overcap: a pilot, Slurm.s job [0-9]+: .*BeginTime'
    squeue -h -p overcap -o %A >pilot
    slurm_numbered "$(cat pilot)" # and slurmctld's state has them all
    wait_until 60 [ "$SLURM/state/job_state" -nt "$TEST_TMP/records" ]
    asked_for 3
}

# The pilots take, do and publish what there is, and what is new waits and says for what.
meanwhile() {
    slurm_ctld kill
    date +%s >"$TEST_TMP/killed"
    sweep comes '{partition: long}' 2 >comes
    open works
    all_once "$(cat works)" works 4
    wait_until 60 is_said "$(cat comes)" || { cat "$TEST_TMP/why" && ludwig status "$(cat comes)" && ludwig nodes && return 1; }
    [ "$(sweep_state "$(cat lasts)")" = running ]
    wait_until 300 away_for 180
    is_said "$(cat comes)"
    [ "$(jobs_in running "$(cat lasts)")" = 1 ]
    [ "$(jobs_in queued "$(cat waits)")" = 2 ]
    [ "$(jobs_in queued "$(cat comes)")" = 2 ]
    grep -c ' slurm-away ' "$log" >attempts
    asked_for 3
}

# Tried again by itself, at the latest after as long as the longest pause.
after() {
    local minutes
    slurm_ctld start
    slurm_begin "$(cat pilot)"
    open lasts
    open waits
    open comes
    all_once "$(cat lasts)" lasts 1
    all_once "$(cat waits)" waits 2
    wait_until 300 begun "$(cat comes)" 2
    all_once "$(cat comes)" comes 2
    asked_for 4
    wait_until 60 no_pilots
    wait_until 60 '[ -z "$(agents)" ]'
    nothing_left
    ludwig why "$(cat comes).1" | not grep 'cannot be asked'
    # Not every few seconds while it was away.
    minutes=$((($(date +%s) - $(cat "$TEST_TMP/killed")) / 60 + 1))
    cat attempts
    [ "$(cat attempts)" -le $((3 * minutes)) ]
}

it 'pilots work, and one waits, when slurmctld is killed' before
it 'without slurmctld for three minutes jobs are done and published, and what waits says why' meanwhile
it 'when it is back each job is done once, and no pilot stays behind' after
done_testing
