#!/bin/bash
# checkpoint.sh - the checkpoint folder follows a job to its next attempt
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

sweep() { # PROJECT LINE...
    local project=$1
    shift
    printf '%s\n' "project: $project" 'command: sh job.sh' 'source: job.sh' "$@" >"$project.yaml"
}
kept() { # PROJECT: names of its checkpoints on the share
    (cd "$SHARE/$1/.ludwig/checkpoints" 2>/dev/null && find . -mindepth 2 -maxdepth 2 -printf '%f\n' | sort)
}
kept_file() { # PROJECT FILE: as it lies in the newest one, whichever of its names that has
    cat "$SHARE/$1"/.ludwig/checkpoints/param_*/*/"$2" 2>/dev/null
}
none_kept() { # PROJECT
    [ -z "$(find "$SHARE/$1/.ludwig/checkpoints" -mindepth 1 2>/dev/null)" ]
}

# Goes one step further with each attempt; the third is the last.
write_steps() {
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'step=$(($(cat step 2>/dev/null || echo 0) + 1))' 'say step $step' \
        'echo $step >step.tmp' 'mv step.tmp step' '[ $step -ge 3 ] || exit 3' \
        'echo $step >"$LUDWIG_SAVE_PATH/steps"'
}
steps_of() { # SWEEP: one word for each attempt
    sed -n "s/^step \([0-9]*\) $1\.1 .*/\1/p" "$TEST_TMP/records" | tr '\n' ' '
}

retried() {
    write_steps
    sweep steps
    id=$(submit steps.yaml)
    for attempt in 1 2; do
        wait_until 20 '[ "$(sweep_state '"$id"')" = failed ]'
        name=$(job "$id.1" 'j["job_name"]')
        # It is there when ludwigd says so, and no older one beside it.
        [ "$(kept steps)" = "$name.a$attempt" ]
        [ "$(kept_file steps step)" = $attempt ]
        ludwig retry "$id" --yes
    done
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(steps_of "$id")" = '1 2 3 ' ]
    [ "$(cat "$(published steps | cut -d' ' -f4)/steps")" = 3 ]
    none_kept steps
    nothing_left
}
it 'each attempt goes on where the one before ended, and nothing is left when the job is done' retried

by_policy() {
    rm "$TEST_TMP/records"
    write_steps
    sweep policy 'retry: {max: 2, on: [3]}'
    id=$(ludwig_wait submit policy.yaml --wait)
    [ "$(steps_of "$id")" = '1 2 3 ' ]
    job "$id.1" 'j["attempt"] == 3'
    none_kept policy
    nothing_left
}
it 'retry: goes on from the checkpoint as well' by_policy

whole_tree() {
    rm "$TEST_TMP/records"
    cat >tree.sh <<'END'
mkdir -p deep/er 'nothing in it' con
head -c 300000 /dev/urandom >deep/er/weights
printf '#!/bin/sh\necho 7\n' >deep/run.sh
chmod 751 deep/run.sh
chmod 400 deep/er/weights
touch -d '2001-02-03 04:05:06.789' deep/er/weights
ln -s er/weights deep/link
ln -s /nowhere/at/all dangling
echo a >val:acc
echo b >Model.pt
echo c >model.pt
: >empty
chmod 500 deep/er
END
    # Times of folders and links are not kept; all else is.
    write_job 'cd "$LUDWIG_CHECKPOINT"' \
        'list() { find . -mindepth 1 \( -type d -printf "%p %m\n" -o -type l -printf "%p %l\n" -o -printf "%p %y %m %s %T@\n" \) | LC_ALL=C sort; find . -type f -exec sha256sum {} + | LC_ALL=C sort; }' \
        "if [ \$LUDWIG_RESTART = 0 ]; then sh $PWD/tree.sh; list >$TEST_TMP/before; exit 3; fi" \
        "list >$TEST_TMP/after" 'deep/run.sh'
    sweep tree
    id=$(submit tree.yaml)
    wait_until 20 '[ "$(sweep_state '"$id"')" = failed ]'
    [ -z "$(find "$SHARE/tree/.ludwig/checkpoints" -type l -o -name '*:*')" ]
    ludwig retry "$id" --yes
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    grep -q weights "$TEST_TMP/before"
    diff "$TEST_TMP/before" "$TEST_TMP/after"
    [ "$(ludwig logs "$id.1" | tail -n 1)" = 7 ]
    none_kept tree
    nothing_left
}
it 'names, modes, times, links and folders come back as they were' whole_tree

cancelled() {
    rm "$TEST_TMP/records"
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'say found $(cat step 2>/dev/null || echo nothing)' '[ ! -e step ] || exit 0' \
        'echo 5 >step' 'say written' 'gate never'
    sweep cancelled
    id=$(submit cancelled.yaml)
    wait_until 20 '[ "$(recorded "^written ")" = 1 ]'
    ludwig cancel "$id" --yes
    wait_until 20 '[ "$(kept_file cancelled step)" = 5 ]'
    ludwig retry "$id" --yes
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(sed -n 's/^found \([a-z0-9]*\) .*/\1/p' "$TEST_TMP/records" | tr '\n' ' ')" = 'nothing 5 ' ]
    none_kept cancelled
    nothing_left
}
it 'a cancelled job that is tried again goes on as well' cancelled

time_is_up() {
    rm "$TEST_TMP/records"
    write_job 'cd "$LUDWIG_CHECKPOINT"' '[ ! -e saved ] || { cat saved >"$LUDWIG_SAVE_PATH/saved"; exit 0; }' \
        'trap "echo in time >saved; exit 9" USR1' 'say waiting' 'while :; do sleep 0.05; done'
    sweep limit 'resources: {time: 15s}' 'checkpoint: {signal: SIGUSR1, grace: 60s}' 'retry: {max: 1, on: [timeout]}'
    id=$(ludwig_wait submit limit.yaml --wait)
    [ "$(cat "$(published limit | cut -d' ' -f4)/saved")" = 'in time' ]
    none_kept limit
    nothing_left
}
it 'one whose time is up is asked to save, and goes on from that' time_is_up

# ---- killed ----

is_at_least() { # NUMBER PROJECT
    local step
    step=$(kept_file "$2" step | tail -n 1)
    [ "${step:-0}" -ge "$1" ]
}

write_counting() {
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'step=$(cat step 2>/dev/null || echo 0)' 'say from $step' \
        "until [ -e $TEST_TMP/gates/enough ]; do step=\$((step + 1)); echo \$step >step.tmp; mv step.tmp step; sleep 0.1; done" \
        'echo $step >"$LUDWIG_SAVE_PATH/steps"'
}

runner_killed() {
    rm "$TEST_TMP/records"
    write_counting
    sweep killed 'checkpoint: {every: 1s}'
    id=$(submit killed.yaml)
    wait_until 20 is_at_least 1 killed
    first=$(kept killed)
    wait_until 20 '[ -n "$(kept killed)" ] && [ "$(kept killed | head -n 1)" != "'"$first"'" ]'
    wait_until 20 is_at_least 2 killed
    name=$(job "$id.1" 'j["job_name"]')
    kept killed | grep -qE "^$name\.a1\.[0-9]+$"
    kill_hard "$(runner_of "$(sed -n 's/^start .* //p' "$TEST_TMP/records")")"
    wait_until 20 '[ "$(recorded "^from ")" = 2 ]'
    from=$(sed -n 's/^from \([0-9]*\) .*/\1/p' "$TEST_TMP/records" | tail -n 1)
    [ "$from" -ge 2 ]
    open enough
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 2'
    [ "$(cat "$(published killed | cut -d' ' -f4)/steps")" -ge "$from" ]
    none_kept killed
    nothing_left
}
it 'with every: what a killed runner had copied is gone on from' runner_killed

runner_killed_once() {
    rm "$TEST_TMP/records"
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'say found $(cat step 2>/dev/null || echo nothing)' '[ ! -e step ] || exit 0' \
        'echo 8 >step' 'say written' 'gate never'
    sweep once
    id=$(submit once.yaml)
    wait_until 20 '[ "$(recorded "^written ")" = 1 ]'
    none_kept once
    kill_hard "$(runner_of "$(sed -n 's/^start .* //p' "$TEST_TMP/records")")"
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 2'
    [ "$(sed -n 's/^found \([a-z0-9]*\) .*/\1/p' "$TEST_TMP/records" | tr '\n' ' ')" = 'nothing 8 ' ]
    none_kept once
    nothing_left
}
it 'without every: what a killed runner left on scratch is gone on from' runner_killed_once

publisher_killed() {
    rm "$TEST_TMP/records" "$TEST_TMP/gates/enough"
    write_counting
    sweep again 'checkpoint: {every: 1s}'
    id=$(submit again.yaml)
    wait_until 20 is_at_least 1 again
    before=$(kept again)
    kill_hard "$(pids_of --publisher)"
    wait_until 20 '[ -n "$(kept again)" ] && [ "$(kept again | tail -n 1)" != "'"$before"'" ]'
    open enough
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    none_kept again
    nothing_left
}
it 'another publisher goes on copying' publisher_killed

done_testing
