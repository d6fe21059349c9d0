#!/usr/bin/env bash
# slurm_commands.sh - the arguments that ludwigd gives to Slurm's commands do what they are for
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
args=$TEST_ROOT/build/default/unit/server/slurm/slurmargs
refusal=$TEST_ROOT/build/default/unit/server/slurm/slurmfailure
slurm_possible || { skip "Slurm's commands" "$slurm_lacks" && done_testing; }
[ -x "$args" ] && [ -x "$refusal" ] || { skip "Slurm's commands" 'takes the unit tests: make units' && done_testing; }
slurm_up

do_args() { # COMMAND...: what the unit test prints as its arguments is run
    "$args" --print "$@" >"$TEST_TMP/args" || return
    xargs -0 env SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0 <"$TEST_TMP/args"
}

submit_args() { # SCRIPT LOG PARTITION ACCOUNT QOS CONSTRAINT N [EXTRA...]
    "$args" --print sbatch "${@:2}" >"$TEST_TMP/args" || return
    mapfile -d '' words <"$TEST_TMP/args"
    words=("${words[@]/#--array=0-2/--array=0-2%1}") # one at a time: the others wait
    printf '#!/bin/sh\n%s\n' "$1" | "${words[@]}"
}

shown() { # JOB PATTERN...
    local pattern
    scontrol show job "$1" >"$TEST_TMP/shown"
    for pattern in "${@:2}"; do
        grep -qE -e "(^| )$pattern( |\$)" "$TEST_TMP/shown" || {
            echo "lacks $pattern:"
            cat "$TEST_TMP/shown"
            return 1
        }
    done
}

all_given() {
    local job
    job=$(submit_args 'exec sleep 1000' /dev/null short kira-lab short 'a40|rtx_6000' 1 \
        --nice=5 --exclusive=user)
    shown "$job" JobName='ludwig pilot' Partition=short Account=kira-lab QOS=short NumNodes='1(-1)?' \
        Features='a40\|rtx_6000' ExcNodeList=node2 TimeLimit=00:02:00 Comment='ludwig 0123 4' \
        Requeue=0 CPUs/Task=2 'MinMemoryNode=101M' TresPerNode='(gres:)?gpu:3' WorkDir=/ \
        StdIn=/dev/null Nice=5
    do_args scancel "$job"
    slurm_wait 60 "$job" CANCELLED
}

an_array() {
    local job
    job=$(submit_args 'exec sleep 1000' /dev/null short kira-lab short a40 3)
    wait_until 60 '[ "$(squeue -h -r -j '"$job"' -t PENDING -o %r | sort -u)" = JobArrayTaskLimit ]'
    do_args squeue "$job" | tr '\37' ' ' >"$TEST_TMP/rows"
    [ "$(wc -l <"$TEST_TMP/rows")" = 2 ]
    grep -qE "^[0-9]+ $job 1-2%1 PENDING .* JobArrayTaskLimit ludwig pilot ludwig 0123 4\$" "$TEST_TMP/rows"
    grep -qE "^[0-9]+ $job 0 RUNNING short [0-9]+ [0-9]+ [0-9]+ node1 $(id -un) None ludwig" "$TEST_TMP/rows"
    do_args scancel "$job"
    wait_until 60 'do_args sacct '"$job"' | tr "\37" " " >$TEST_TMP/rows; grep -qE " CANCELLED by [0-9]+ 0:[0-9]+ short [0-9]+ [0-9]+ [0-9]+ node1 " $TEST_TMP/rows'
}

# A name may have line feeds, and rows of sacct's behind them.
named_as_rows() {
    local job
    job=$(sbatch --parsable -o /dev/null -p short --wrap true \
        -J "$(printf 'x\n7\x1f7\x1fFAILED\x1f1:0\x1fshort\x1f1\x1f1\x1f1\x1fnode1\x1froot\x1fludwig pilot')")
    wait_until 60 'sacct -n -P -X -j '"$job"' -o state,jobname | grep FAILED'
    do_args sacct "$job" >"$TEST_TMP/rows"
    not grep FAILED "$TEST_TMP/rows"
}

# A value that looks like anything stays the name of an account, which nobody has.
stays_a_value() { # TEXT
    not submit_args 'true' /dev/null short "$1" short a40 1 2>"$TEST_TMP/said"
    grep -qE 'Invalid account|Batch job submission failed' "$TEST_TMP/said"
}

hostile() {
    local text
    for text in 'a --uid=0 --wrap=true' "a' --wrap='touch $TEST_TMP/pwned" '$(touch '"$TEST_TMP"'/pwned)' \
        'a;touch '"$TEST_TMP"'/pwned' 'a=b' '*' '%s'; do
        stays_a_value "$text"
    done
    [ ! -e "$TEST_TMP/pwned" ]
    [ -z "$(squeue -h)" ]
}

refused_before() {
    not submit_args true /dev/null short --uid=0 short a40 1
    not submit_args true /dev/null short,long kira-lab short a40 1
    not submit_args true /dev/null short kira-lab short a40 1 --wrap=true
    not submit_args true /dev/null short kira-lab short a40 1 --reservation
    [ -z "$(squeue -h)" ]
}

log_names() {
    local job
    mkdir "$TEST_TMP/50%j"
    job=$(submit_args 'echo well' "$TEST_TMP/50%j/log" short kira-lab short a40 1)
    slurm_wait 60 "$job" COMPLETED
    grep -qx well "$TEST_TMP/50%j/log"
}

# What is between ludwigd and sbatch: its own program, which becomes the user.
as_its_user() {
    "$args" --print sbatch "$SLURM/home/alice/log" short kira-lab short a40 1 >"$TEST_TMP/args"
    mapfile -d '' words <"$TEST_TMP/args"
    printf '#!/bin/sh\nid -u; id -g; id -G; env | cut -d= -f1 | grep -v "^SLURM\\|^CUDA\\|^GPU"' |
        SECRET=1 slurm_inside env -i PATH="$SLURM/bin:/usr/bin:/bin" SLURM_CONF="$SLURM_CONF" HOME=/ \
            "$LUDWIG_BIN/ludwigd" --as 2001:2001:2000,2001 "${words[@]}" >job
    slurm_wait 60 "$(cat job)" COMPLETED
    head -n 3 "$SLURM/home/alice/log" | cmp - <(printf '2001\n2001\n2001 2000\n')
    not grep -qx SECRET "$SLURM/home/alice/log"
    [ "$(stat -c %u:%g "$SLURM/home/alice/log")" = 2001:2001 ]
}

fails_as() { # WHAT COMMAND...
    local status=0
    "${@:2}" >/dev/null 2>"$TEST_TMP/said" || status=$?
    [ "$("$refusal" --print $status <"$TEST_TMP/said")" = "$1" ] || {
        echo "$status is not $1: $(cat "$TEST_TMP/said")"
        return 1
    }
}

failures() {
    local try=(sbatch --parsable -o /dev/null --wrap true)
    fails_as well "${try[@]}"
    fails_as refused "${try[@]}" -p nope
    fails_as refused "${try[@]}" -A nope
    fails_as refused "${try[@]}" --qos=nope
    fails_as refused "${try[@]}" -C nope
    fails_as refused "${try[@]}" --gres=gpu:h100:1
    fails_as refused "${try[@]}" --gres=gpu:9
    fails_as refused "${try[@]}" --gres=fpga:1
    fails_as refused "${try[@]}" --gres=gpu:1,gpu:a40:1
    fails_as refused "${try[@]}" --gres=nonsense=
    fails_as refused "${try[@]}" --mem=1000G
    fails_as refused "${try[@]}" --array=0-1001
    fails_as refused "${try[@]}" --array=x
    fails_as refused "${try[@]}" -w nope
    fails_as refused "${try[@]}" --time=abc
    fails_as refused "${try[@]}" --signal=B:FOO@10
    fails_as refused "${try[@]}" --no-such-option=1
    fails_as refused "${try[@]}" --reservation=nope
    fails_as refused "${try[@]}" --licenses=nope
    fails_as 'no such job' squeue -j 99999
    fails_as 'not here' env SLURM_CONF=/nonexistent squeue
    fails_as 'not here' env PATH=/usr/bin:/bin no-such-command
    slurm_manage modify qos debug set MaxSubmitJobsPerUser=1
    fails_as well "${try[@]}" --qos=debug -H
    fails_as 'not now' "${try[@]}" --qos=debug -H
    slurm_manage modify user "$(id -un)" where account=hoffman-lab set MaxSubmitJobs=1
    fails_as 'not now' "${try[@]}" -A hoffman-lab --array=0-1
    slurm_conf EnforcePartLimits=ALL
    wait_until 30 '! sbatch --parsable -p short -t 3-0 -o /dev/null --wrap true'
    fails_as refused "${try[@]}" -p short -t 3-0
    fails_as refused "${try[@]}" -N 9
    fails_as refused "${try[@]}" -p closed
    slurm_ctld stop
    fails_as away squeue
    fails_as away "${try[@]}"
    slurm_ctld start
}

it 'sbatch is given all that a pool says' all_given
it 'an array runs as many at once as it should, and is asked for' an_array
it 'what a name says below a line feed is no row of sacct' named_as_rows
it 'a value stays a value, whatever it looks like' hostile
it 'what is no value never reaches sbatch' refused_before
it 'a log is called what it is called' log_names
if [ "$(id -u)" = 0 ]; then
    it 'sbatch runs with the uid, the gid and the groups of its user' as_its_user
else
    skip 'sbatch runs with the uid, the gid and the groups of its user' 'takes root'
fi
it 'what fails is understood' failures
done_testing
