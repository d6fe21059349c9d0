#!/bin/bash
# sftp_crash.sh - kill -9 at every point of publishing over SFTP
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/far.sh"

all='over SFTP too, a kill at every point of publishing costs nothing'
if [ ! -x "$LUDWIG_HOOKS_BIN/ludwig-worker" ]; then
    skip "$all" 'no programs with test hooks (make variant=hooks)'
    done_testing
fi
far_possible || {
    skip "$all" "$far_lacks"
    done_testing
}
PATH=$LUDWIG_HOOKS_BIN:$PATH
far_up

# The table in the code is the list.  What the runner does has nothing to do with the share.
all_points=$(sed -n 's/^ *X(\([a-z_]*\), publisher, .*/\1/p' "$TEST_ROOT/common/base/crash_point.h")
points_of() { # checkpoint|withdraw|loser|plain
    case $1 in
    plain) echo "$all_points" | grep -v '^loser_\|^withdraw_\|^checkpoint\|^reported\|^save_' ;;
    checkpoint) echo "$all_points" | grep '^checkpoint\|^reported' ;;
    *) echo "$all_points" | grep "^$1" ;;
    esac
}
it 'the crash points are known' '[ "$(points_of plain | wc -w)" -ge 10 ]'

# A worker of that name for each point, whose publisher is killed there, and a sweep that runs on
# that worker alone.  Most of the time they wait, so many do so side by side.
begin() { # POINT
    LUDWIG_CRASH_AT=$1 LUDWIG_CRASH_ONCE=$TEST_TMP/crashed.$1 start_agent "$1"
    mkdir -p "$1"
    cp job.sh "$1"
    printf '%s\n' "project: $1" "nodes: [$1]" 'command: sh job.sh {a}' 'source: job.sh' "${@:2}" >"$1/sweep.yaml"
}
begin_each() { # KIND LINE-OF-SWEEP...
    local point
    for point in $(points_of "$1"); do
        begin "$point" "${@:2}"
    done
}
was_killed() { # POINT
    [ -e "$TEST_TMP/crashed.$1" ]
}
end() { # POINT
    was_killed "$1"
    kill_agent "$1"
    wait_until 10 '[ -z "$(pids_of '"$SCRATCH/$1"')" ]'
}
starts() { # POINT
    recorded "^start $(cat "$1.id")\."
}

run_each() { # KIND
    local point
    for point in $(points_of "$1"); do
        (cd "$point" && timeout 300 ludwig submit sweep.yaml --wait >"../$point.id") 2>"$point.err" &
    done
    wait
}

# ---- of plain jobs ----

plain_ones() {
    write_job 'cd "$LUDWIG_SAVE_PATH"' 'mkdir -p deep/er' 'echo $LUDWIG_ATTEMPT >token' 'head -c 1500000 /dev/urandom >deep/er/big' \
        ': >deep/empty' 'echo "#!/bin/sh" >run.sh' 'chmod +x run.sh' 'echo the log' 'echo "{\"accuracy\": 0.5}" >>"$LUDWIG_METRICS"'
    begin_each plain 'params: {a: [1, 2, 3]}'
    run_each plain
    nothing_left
}
it 'many workers, and each has its publisher killed once' plain_ones

survived() { # POINT
    cat "$1.err"
    published "$1" >published
    [ "$(wc -l <published)" = 3 ]
    while read -r job token _ folder; do
        [ "$(cat "$folder/token")" = "$token" ]
        [ "$(find "$folder" -type f | wc -l)" = 6 ]
        [ "$(cat "$folder/metrics.jsonl")" = '{"accuracy": 0.5}' ]
        [ "$(stat -c %s "$folder/deep/er/big")" = 1500000 ]
        [ -x "$folder/run.sh" ]
        [ "$(ludwig logs "$job")" = 'the log' ]
    done <published
    [ "$(starts "$1")" = 3 ]
    [ -z "$(ls "$SHARE/$1/failed" 2>/dev/null)" ]
    end "$1"
}
for point in $(points_of plain); do
    it "killed at $point, each job has one whole result" "survived $point"
done

# ---- of jobs that go on from a checkpoint ----

with_checkpoints() {
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'step=$(($(cat deep/step 2>/dev/null || echo 0) + 1))' 'mkdir -p deep' \
        'echo $step >deep/step' 'head -c 1500000 /dev/urandom >big' 'say step $step' \
        'echo "{\"x\": $step, \"step\": $step}" >>"$LUDWIG_METRICS"' '[ $step = 3 ] || exit 3'
    begin_each checkpoint 'params: {a: 1}' 'retry: {max: 2, on: [3]}'
    run_each checkpoint
    nothing_left
}
it 'the same with checkpoints' with_checkpoints

went_on() { # POINT
    cat "$1.err"
    [ "$(sed -n "s/^step \([0-9]*\) $(cat "$1.id")\..*/\1/p" "$TEST_TMP/records" | tr '\n' ' ')" = '1 2 3 ' ]
    [ "$(published "$1" | wc -l)" = 1 ]
    [ -z "$(find "$SHARE/$1/.ludwig/checkpoints" -mindepth 1)" ]
    # None lost, none doubled.
    [ "$(cat "$SHARE/$1"/runs/*/*/metrics.jsonl | tr '\n' ' ')" = '{"x": 1, "step": 1} {"x": 2, "step": 2} {"x": 3, "step": 3} ' ]
    [ -z "$(find "$SHARE/$1/logs" -name '*.metrics.jsonl')" ]
    end "$1"
}
for point in $(points_of checkpoint); do
    it "killed at $point, a job goes on from its checkpoint" "went_on $point"
done

# ---- with ludwigd out of reach meanwhile ----

submit_each() { # KIND
    local point
    for point in $(points_of "$1"); do
        (cd "$point" && submit sweep.yaml >"../$point.id")
    done
    for point in $(points_of "$1"); do
        wait_until 30 '[ "$(starts '"$point"')" = 1 ]'
    done
    cut_link
}

withdrawn_ones() {
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'gate gone'
    begin_each withdraw 'params: {a: 1}'
    submit_each withdraw
    open gone
    for point in $(points_of withdraw); do
        wait_until 20 '[ "$(published '"$point"' | wc -l)" = 1 ]'
        ludwig cancel "$(cat "$point.id")" --yes
    done
    mend_link
    for point in $(points_of withdraw); do
        wait_until 40 was_killed "$point"
    done
    nothing_left
}
it 'results that are withdrawn' withdrawn_ones

is_gone() { # POINT
    wait_until 20 '[ -z "$(find "$SHARE/'"$1"'/runs" -name job.json)" ]'
    [ "$(sweep_state "$(cat "$1.id")")" = cancelled ]
    end "$1"
}
for point in $(points_of withdraw); do
    it "killed at $point, a withdrawn result is gone" "is_gone $point"
done

# The other one wins while this one's publisher stands still in the middle of its copy.
lost_race() { # POINT
    local publisher
    : >"$TEST_TMP/records"
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' "gate $1."'$LUDWIG_RESTART' \
        '[ $LUDWIG_RESTART = 1 ] || head -c 250000000 /dev/zero >"$LUDWIG_SAVE_PATH/large"'
    begin "$1" 'params: {a: 1}'
    sed -i 's/^nodes:.*/nodes: ['"$1"', near]/' "$1/sweep.yaml"
    submit_each "$1"
    wait_until 20 '[ -n "$(pids_of --publisher)" ]'
    publisher=$(pids_of --publisher)
    open "$1.0"
    wait_for_file 30 "$SHARE/$1/runs/*/.*/large"
    kill -STOP $publisher
    [ "$(published "$1" | wc -l)" = 0 ]
    start_worker near
    open "$1.1"
    wait_until 20 '[ "$(published '"$1"' | wc -l)" = 1 ]'
    kill -CONT $publisher
    wait_until 30 was_killed "$1"
    mend_link
    wait_until 20 '[ "$(sweep_state '"$(cat "$1.id")"')" = done ]'
    nothing_left
    published "$1" >published
    [ "$(wc -l <published)" = 1 ]
    read -r _ token attempt folder <published
    [ "$attempt" = 2 ]
    [ "$(cat "$folder/token")" = "$token" ]
    stop_near
    end "$1"
}
for point in $(points_of loser); do
    it "killed at $point, the winner's result stays" "lost_race $point"
done

done_testing
