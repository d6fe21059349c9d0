#!/usr/bin/env bash
# slurm_refused.sh - a request that Slurm does not take holds up no other, and is told of at once
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'requests that Slurm refuses' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s}' 'resources: {cpus: 2}'
log=$XDG_STATE_HOME/ludwig/ludwigd.log

# A site's wrapper, which has something to say to everybody.  Of partition debug it says what no ludwig
# has heard of.
mkdir "$TEST_TMP/bin"
cat >"$TEST_TMP/bin/sbatch" <<END
#!/bin/bash
echo 'Project kira-lab has 42 hours left.'
echo 'Jobs without --account go to kira-lab: see the handbook.' >&2
echo "\$*" >>"$TEST_TMP/asked"
case "\$*" in
*--partition=debug*)
    echo 'sbatch: error: Batch job submission failed: The moon is in the wrong phase' >&2
    exit 1
    ;;
esac
"$(command -v sbatch)" "\$@"
code=\$?
echo 'Bye.'
exit \$code
END
chmod +x "$TEST_TMP/bin/sbatch"
PATH=$TEST_TMP/bin:$PATH

sweep() { # NAME SLURM [LINE...]: its number
    write_job 'gate "$1"'
    printf '%s\n' "project: $1" "command: sh job.sh $1" 'params: {n: [1, 2]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 10min}' "slurm: $2" "${@:3}" >"$1.yaml"
    submit "$1.yaml"
}

asked_for() { # PARTITION: how often
    grep -c -e "--partition=$1" "$TEST_TMP/asked" || true
}

no_pilots() {
    [ -z "$(squeue -h -o %j | grep ludwig-)" ]
}

is_said() { # SWEEP PARTITION WORDS: wherever somebody may look
    ludwig status "$1" | tee said | grep -qE "^ *Slurm .*$3" &&
        ludwig status "$1" --json | json - 'd["refused"] != ""' &&
        ludwig nodes 2>&1 | tee said | grep -qE "^Slurm, partition $2, for $(id -un): no pilots: .*$3" &&
        ludwig nodes --json | json - 'any(p["partition"] == "'"$2"'" and p["why"] for p in d["pools"])' &&
        why_says "$1.1" "partition $2: .*$3"
}

all_have_begun() { # SWEEP N
    [ "$(recorded "^start $1[.]")" = "$2" ]
}

is_done() { # SWEEP
    wait_until 60 ended "$1"
    [ "$(sweep_state "$1")" = done ]
}

# Both at once; the good one is submitted behind the bad one.
beside() {
    local bad good
    bad=$(sweep gres '{partition: short, gres: "fpga:1"}')
    good=$(sweep good '{partition: short}')
    wait_until 20 is_said "$bad" short 'Invalid generic resource .gres. specification' || { cat said "$log" && return 1; }
    wait_until 60 all_have_begun "$good" 2
    open good
    is_done "$good"
    ludwig why "$good.1" | not grep 'no pilots'
    not grep slurm-away "$log"
    ludwig cancel "$bad"
}

waited_for() { # WORDS
    wait_until 20 grep -qE "^no pilots: .*$1.*\(\`ludwig why" waited || { cat waited && return 1; }
    [ "$(grep -c '^no pilots' waited)" = 1 ]
    kill -INT %1
    wait || true
}

elsewhere() {
    local id
    sweep else '[{partition: short, gres: "fpga:1"}, {partition: overcap}]' >else.id
    id=$(cat else.id)
    wait_until 60 all_have_begun "$id" 2
    [ "$(job "$id.1" 'j["partition"]')" = overcap ]
    ludwig status "$id" | grep -qE '^ *Slurm .*Invalid generic resource'
    ludwig nodes 2>&1 | grep -qE '^Slurm, partition short, .*: no pilots: .*Invalid generic resource'
    open else
    is_done "$id"
    ludwig nodes --json | json - 'd["pools"] == []'
}

# Where nobody knows what the answer means, that pool waits, and no other.
unheard_of() {
    local id good
    id=$(sweep moon '{partition: debug}')
    good=$(sweep sun '{partition: long}')
    wait_until 20 is_said "$id" debug 'The moon is in the wrong phase' || { cat said "$log" && return 1; }
    why_says "$id.1" 'could not be submitted: Batch job submission failed: The moon'
    wait_until 60 all_have_begun "$good" 2
    open sun
    is_done "$good"
    not grep slurm-away "$log"
    # It may have been taken nevertheless: it is looked for, and not asked for again in the meantime.
    wait_until 30 grep -q 'pilot-not-submitted' "$log"
    [ "$(asked_for debug)" -le 2 ]
    ludwig cancel "$id"
}

closed() {
    local id
    slurm_partition short State=DRAIN
    write_job 'gate "$1"'
    printf '%s\n' 'project: closed' 'command: sh job.sh closed' 'params: {n: [1, 2]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 10min}' 'slurm: {partition: short}' >closed.yaml
    ludwig submit closed.yaml --wait 2>waited &
    waited_for 'the last one was not taken: .*Required partition not available'
    id=$(ludwig status --json | json - 'str(d["sweeps"][0]["sweep"])')
    is_said "$id" short 'Required partition not available'
    [ "$(asked_for short)" -ge 1 ]
    slurm_partition short State=UP
    open closed
    is_done "$id"
    not grep slurm-away "$log"
    wait_until 30 no_pilots
}

# Slurm takes it, and lets it wait; the other partition is open.
down() {
    local id
    slurm_partition short State=DOWN
    id=$(sweep down '{partition: short}')
    wait_until 20 is_said "$id" short 'the partition is down \(PartitionDown\)' || { cat said "$log" && return 1; }
    sweep up '[{partition: short}, {partition: long}]' >up.id
    wait_until 60 all_have_begun "$(cat up.id)" 2
    open up
    is_done "$(cat up.id)"
    slurm_partition short State=UP
    open down
    is_done "$id"
    wait_until 30 no_pilots
}

it 'a resource that is not there holds up no sweep beside it' beside
it 'where another pool can run the jobs, it does' elsewhere
it 'an answer that nobody has heard of concerns that pool alone' unheard_of
it 'a partition that is closed for a while is waited for, and --wait says so' closed
it 'so it is with one that is down, and other partitions go on' down
done_testing
