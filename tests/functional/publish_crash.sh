#!/bin/bash
# publish_crash.sh - kill -9 at every point between a job's exit and the removal of its scratch
. "$(dirname "$0")/lib.sh"

if [ ! -x "$LUDWIG_HOOKS_BIN/ludwig-worker" ]; then
    skip 'a kill at every point of publishing costs nothing' 'no programs with test hooks (make variant=hooks)'
    done_testing
fi
PATH=$LUDWIG_HOOKS_BIN:$PATH

# The table in the code is the list; docs/internals/publishing.md is held against it elsewhere.
all_points=$(sed -n 's/^ *X(\([a-z_]*\), \(runner\|publisher\), .*/\1/p' "$TEST_ROOT/common/base/crash_point.h")
# No plain sweep comes by a result that lost, one that is withdrawn, an attempt that failed, a checkpoint, or a file in the place of save/.
points=$(echo "$all_points" | grep -v '^loser_\|^withdraw_\|^checkpoint\|^reported\|^save_')
it 'the crash points are known' '[ "$(echo "$points" | wc -w)" -ge 10 ]'

# Lies on another file system than $TEST_TMP; removed at the end whatever happens.
memory=
if [ -d /dev/shm ] && [ "$(stat -f -c %i /dev/shm)" != "$(stat -f -c %i "$TEST_TMP")" ]; then
    memory=$(mktemp -d /dev/shm/lw.XXXXXX)
    trap 'test_cleanup; rm -rf "$memory"' EXIT
fi

survives() { # POINT PROJECT
    export LUDWIG_CRASH_AT=$1 LUDWIG_CRASH_ONCE=$TEST_TMP/crashed.$2
    : >"$TEST_TMP/records"
    printf '%s\n' "project: $2" 'command: sh job.sh {a}' 'source: job.sh' 'params: {a: [1, 2, 3]}' >sweep.yaml
    ludwig_wait up
    id=$(ludwig_wait submit sweep.yaml --wait)
    [ "$(sweep_state "$id")" = done ]
    published "$2" >published
    [ "$(wc -l <published)" = 3 ]
    while read -r job token attempt folder; do
        # Whole, and of the attempt that job.json names.
        [ "$(cat "$folder/token")" = "$token" ]
        [ "$(find "$folder" -type f | wc -l)" = 7 ]
        [ "$(cat "$folder/metrics.jsonl")" = '{"accuracy": 0.5}' ]
        [ "$(stat -c %s "$folder/deep/er/big")" = 100000 ]
        [ -x "$folder/run.sh" ]
        grep -q "^end $job $token " "$TEST_TMP/records"
        [ "$(ludwig logs "$job" | grep -c 'the log')" -ge 1 ]
    done <published
    nothing_left
    [ -z "$(ls "$SHARE/$2/failed" 2>/dev/null)" ]
    # Only the death of a runner makes a job run again, and only one job.
    case $1 in
    job_exited | outcome_begun | outcome_written | ended_moved) [ "$(recorded '^start ')" -le 4 ] ;;
    *) [ "$(recorded '^start ')" = 3 ] ;;
    esac
    ludwig down
    wait_until 10 '[ -z "$(pids_of ludwigd)$(pids_of ludwig-worker)" ]'
    if [ -e "$LUDWIG_CRASH_ONCE" ]; then echo "$1" >>"$TEST_TMP/reached"; fi
}

write_job 'cd "$LUDWIG_SAVE_PATH"' 'mkdir -p deep/er' 'echo $LUDWIG_ATTEMPT >token' 'echo "step,loss\n1,$1.5" >loss.csv' \
    'head -c 100000 /dev/urandom >deep/er/big' ': >deep/empty' 'echo "#!/bin/sh" >run.sh' 'chmod +x run.sh' 'echo the log' 'echo "{\"accuracy\": 0.5}" >>"$LUDWIG_METRICS"'

configure 'resources: {cpus: 2, gpus: 0}'
for point in $points; do
    it "one file system: killed at $point, each job has one whole result" "survives $point same_$point"
done

if [ -n "$memory" ]; then
    SHARE=$memory/share
    mkdir "$SHARE"
    configure "share: $SHARE" 'resources: {cpus: 2, gpus: 0}'
    for point in $points; do
        it "two file systems: killed at $point, each job has one whole result" "survives $point other_$point"
    done
else
    skip 'the same with share and scratch on two file systems' 'no second file system at /dev/shm'
fi

for point in $points; do
    [ -n "$memory" ] || [ "$point" != copy_begun ] || continue
    it "$point was really reached" "grep -qx $point $TEST_TMP/reached"
done

# ---- of a job that goes on from its checkpoint ----

SHARE=$HOME/ludwig_data
configure 'resources: {cpus: 2, gpus: 0}'
goes_on() { # POINT PROJECT
    export LUDWIG_CRASH_AT=$1 LUDWIG_CRASH_ONCE=$TEST_TMP/crashed.$2
    : >"$TEST_TMP/records"
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'step=$(($(cat deep/step 2>/dev/null || echo 0) + 1))' 'mkdir -p deep' \
        'echo $step >deep/step' 'head -c 100000 /dev/urandom >big' 'say step $step' \
        'echo "{\"x\": $step, \"step\": $step}" >>"$LUDWIG_METRICS"' '[ $step = 3 ] || exit 3'
    printf '%s\n' "project: $2" 'command: sh job.sh' 'source: job.sh' 'retry: {max: 2, on: [3]}' >sweep.yaml
    ludwig_wait up
    id=$(ludwig_wait submit sweep.yaml --wait)
    [ "$(sweep_state "$id")" = done ]
    [ "$(sed -n 's/^step \([0-9]*\) .*/\1/p' "$TEST_TMP/records" | tr '\n' ' ')" = '1 2 3 ' ]
    [ "$(published "$2" | wc -l)" = 1 ]
    [ -z "$(find "$SHARE/$2/.ludwig/checkpoints" -mindepth 1)" ]
    # None lost, none doubled.
    [ "$(cat "$SHARE/$2"/runs/*/*/metrics.jsonl | tr '\n' ' ')" = '{"x": 1, "step": 1} {"x": 2, "step": 2} {"x": 3, "step": 3} ' ]
    [ -z "$(find "$SHARE/$2/logs" -name '*.metrics.jsonl')" ]
    nothing_left
    ludwig down
    wait_until 10 '[ -z "$(pids_of ludwigd)$(pids_of ludwig-worker)" ]'
    [ -e "$LUDWIG_CRASH_ONCE" ]
}
for point in $(echo "$all_points" | grep '^checkpoint\|^reported'); do
    it "killed at $point, a job goes on from its checkpoint" "goes_on $point goes_on_$point"
done

# ---- of a job that put a file in the place of its folder ----

wraps() { # POINT PROJECT
    export LUDWIG_CRASH_AT=$1 LUDWIG_CRASH_ONCE=$TEST_TMP/crashed.$2
    write_job 'rmdir "$LUDWIG_SAVE_PATH"' 'echo the model >"$LUDWIG_SAVE_PATH"'
    printf '%s\n' "project: $2" 'command: sh job.sh' 'source: job.sh' >sweep.yaml
    ludwig_wait up
    id=$(ludwig_wait submit sweep.yaml --wait)
    [ "$(sweep_state "$id")" = done ]
    [ "$(cat "$SHARE/$2"/runs/*/*/save)" = 'the model' ]
    nothing_left
    ludwig down
    wait_until 10 '[ -z "$(pids_of ludwigd)$(pids_of ludwig-worker)" ]'
    [ -e "$LUDWIG_CRASH_ONCE" ]
}
for point in $(echo "$all_points" | grep '^save_'); do
    it "killed at $point, a file in the place of save/ is published" "wraps $point wraps_$point"
done

# ---- with ludwigd out of reach meanwhile ----

SHARE=$TEST_TMP/share
mkdir -p "$SHARE" "$TEST_TMP/state"
chmod 0700 "$TEST_TMP/state"
configure
export LUDWIG_SERVER=unix:$TEST_TMP/server.sock
cat >"$TEST_TMP/ludwigd.yaml" <<END
share: $SHARE
state: $TEST_TMP/state
sockets: [$TEST_TMP/server.sock]
lease: 8s
END
for name in hoff norman; do
    mkdir -p "$SCRATCH/$name"
    printf '%s\n' "server: unix:$TEST_TMP/$name.sock" "scratch: $SCRATCH/$name" "name: $name" 'kind: local' \
        "state: $TEST_TMP/$name.state" 'resources: {cpus: 2, gpus: 0}' >"$TEST_TMP/$name.yaml"
done
proxy() { # NAME
    python3 -S "$TEST_ROOT/tests/functional/proxy.py" "$TEST_TMP/$1.sock" "$TEST_TMP/server.sock" "$TEST_TMP/$1.reports" &
}
agent() { # NAME POINT
    LUDWIG_CRASH_AT=$2 LUDWIG_CRASH_ONCE=$TEST_TMP/crashed.$2 \
        ludwig-worker --config "$TEST_TMP/$1.yaml" 2>>"$TEST_TMP/$1.log" &
}
begin() { # PROJECT POINT: one job runs on hoff
    : >"$TEST_TMP/records"
    rm -f "$TEST_TMP/crashed.$2"
    [ -n "$(pids_of ludwigd)" ] || ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
    wait_until 10 ludwig status
    proxy hoff
    agent hoff "$2"
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' "gate $1"
    printf '%s\n' "project: $1" 'command: sh job.sh' 'source: job.sh' >sweep.yaml
    id=$(submit sweep.yaml)
    wait_until 15 '[ "$(recorded "^start ")" = 1 ]'
    kill_hard "$TEST_TMP/hoff.sock"
}
end_workers() {
    for name in hoff norman; do
        [ -z "$(pids_of "$TEST_TMP/$name.yaml")" ] || kill_hard "$TEST_TMP/$name.yaml"
        [ -z "$(pids_of "$TEST_TMP/$name.sock")" ] || kill_hard "$TEST_TMP/$name.sock"
    done
}

withdrawn() { # POINT
    begin "gone_$1" "$1"
    open "gone_$1"
    wait_until 10 '[ "$(published "gone_'"$1"'" | wc -l)" = 1 ]'
    ludwig cancel "$id"
    proxy hoff
    wait_until 20 '[ -e "$TEST_TMP/crashed.'"$1"'" ]'
    wait_until 20 '[ -z "$(find "$SHARE/gone_'"$1"'" -name job.json)" ]'
    nothing_left
    [ "$(sweep_state "$id")" = cancelled ]
    end_workers
}

lost_race() { # POINT
    begin "lost_$1" "$1"
    proxy norman
    agent norman "$1"
    wait_until 15 '[ "$(recorded "^start ")" = 2 ]'
    open "lost_$1"
    wait_until 15 '[ "$(recorded "^end ")" = 2 ]'
    proxy hoff
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    wait_until 20 '[ -e "$TEST_TMP/crashed.'"$1"'" ]'
    nothing_left
    published "lost_$1" >published
    [ "$(wc -l <published)" = 1 ]
    read -r _ token _ folder <published
    [ "$(cat "$folder/token")" = "$token" ]
    end_workers
}

for point in $all_points; do
    case $point in
    withdraw_*) it "killed at $point, a withdrawn result is gone" "withdrawn $point" ;;
    loser_*) it "killed at $point, the winner's result stays" "lost_race $point" ;;
    esac
done

done_testing
