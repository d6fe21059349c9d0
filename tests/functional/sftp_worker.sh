#!/bin/bash
# sftp_worker.sh - a worker that does not mount the share reads and publishes over SFTP
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/far.sh"

far_possible || {
    skip 'a worker without the share runs jobs as one that mounts it' "$far_lacks"
    done_testing
}
far_up

sweep() { # PROJECT LINE...
    local project=$1
    shift
    printf '%s\n' "project: $project" 'command: sh job.sh' 'source: job.sh' "$@" >"$project.yaml"
}
new_records() {
    : >"$TEST_TMP/records"
}
in_state() { # STATE SWEEP
    [ "$(sweep_state "$2")" = "$1" ]
}

start_worker far

# ---- what every worker does ----

jobs_run() {
    new_records
    write_job "[ ! -e $SHARE/.ludwig ] && [ -z \"\${LUDWIG_PROJECT_PATH+set}\" ]" 'cd "$LUDWIG_SAVE_PATH"' \
        'mkdir -p deep/er' 'echo $LUDWIG_ATTEMPT >token' 'head -c 3000000 /dev/urandom >deep/er/big' ': >deep/empty' \
        'for i in $(seq 200); do echo $i >deep/$i; done' 'echo "#!/bin/sh" >run.sh' 'chmod +x run.sh' \
        'touch val:acc' 'sha256sum deep/er/big >sum' 'echo "{\"accuracy\": 0.5}" >>"$LUDWIG_METRICS"' 'echo the log'
    sweep runs 'params: {a: [1, 2, 3]}' 'reps: 2'
    id=$(ludwig_wait submit runs.yaml --wait)
    [ "$(recorded '^start ')" = 6 ]
    published runs >published
    [ "$(wc -l <published)" = 6 ]
    while read -r job token _ folder; do
        [ "$(cat "$folder/token")" = "$token" ]
        (cd "$folder" && sha256sum --quiet -c sum)
        [ "$(find "$folder" -type f | wc -l)" = 208 ]
        [ -x "$folder/run.sh" ] && [ ! -x "$folder/deep/1" ]
        [ -e "$folder/val%3Aacc" ]
        [ "$(cat "$folder/metrics.jsonl")" = '{"accuracy": 0.5}' ]
        [ "$(ludwig logs "$job")" = 'the log' ]
    done <published
    [ "$(cat "$SHARE/runs/runs/param_001/param2val.yaml")" = 'a: 1' ]
    ludwig results "$id" --json | json - 'd["results"][0]["metrics"]["accuracy"]["mean"] == 0.5' >/dev/null
    nothing_left
}
it 'jobs run, and their results lie on the share, whole' jobs_run

modes_hold() {
    mkdir -m 2770 "$SHARE/grouped"
    chmod 2770 "$SHARE/grouped"
    write_job 'cd "$LUDWIG_SAVE_PATH"' 'umask 077' 'mkdir folder' 'echo x >folder/file' 'echo x >run.sh' 'chmod 700 run.sh'
    sweep grouped
    ludwig_wait submit grouped.yaml --wait
    read -r _ _ _ folder < <(published grouped)
    [ "$(stat -c %a "$folder/folder")" = 2770 ]
    [ "$(stat -c %a "$folder/folder/file")" = 660 ]
    [ "$(stat -c %a "$folder/run.sh")" = 770 ]
    [ "$(stat -c %a "$folder/job.json")" = 660 ]
    [ "$(stat -c %a "$SHARE"/grouped/logs/*/*.log)" = 660 ]
}
it 'modes are those of the project, whatever the umask there' modes_hold

fails() {
    write_job 'echo before >"$LUDWIG_SAVE_PATH/before"' 'echo words' 'exit 3'
    sweep fails 'retry: {max: 1, on: [3]}'
    not ludwig_wait submit fails.yaml --wait
    [ "$(cat "$SHARE"/fails/failed/param_001/*.a1/before)" = before ]
    [ "$(cat "$SHARE"/fails/failed/param_001/*.a2/before)" = before ]
    json "$(echo "$SHARE"/fails/failed/param_001/*.a2/job.json)" 'd["exit_code"] == 3 and d["attempt"] == 2' >/dev/null
    [ -z "$(find "$SHARE/fails/runs" -name job.json)" ]
    [ "$(cat "$SHARE"/fails/logs/*/*.a2.log)" = words ]
    nothing_left
}
it 'what failed attempts left lies under failed/' fails

logs_grow() {
    new_records
    write_job 'for i in 1 2 3 4 5 6; do echo line $i; say said $i; sleep 0.4; done' 'gate logged'
    sweep logged
    id=$(submit logged.yaml)
    wait_until 20 '[ "$(recorded "^said 3")" = 1 ]'
    wait_until 10 grep -q 'line 3' "$SHARE"/logged/logs/"$id"/*.log
    wait_until 20 '[ "$(recorded "^said 6")" = 1 ]'
    wait_until 10 '[ "$(cat "$SHARE"/logged/logs/'"$id"'/*.log | wc -l)" = 6 ]'
    [ -z "$(find "$SHARE/logged/runs" -name job.json)" ]
    open logged
    wait_until 20 in_state done "$id"
}
it 'logs grow on the share while a job runs' logs_grow

data_comes() {
    mkdir -p corpora/deep/er
    head -c 5000000 /dev/urandom >corpora/large
    for i in $(seq 300); do echo "text $i" >corpora/deep/$i; done
    ln -s ../large corpora/deep/link
    : >corpora/deep/er/empty
    echo one >single
    (cd corpora && find . -type f -exec sha256sum {} + | LC_ALL=C sort) >sums
    write_job '(cd "$LUDWIG_DATA/corpora" && find . -type f -exec sha256sum {} + | LC_ALL=C sort) >"$LUDWIG_SAVE_PATH/sums"' \
        '[ "$(readlink "$LUDWIG_DATA/corpora/deep/link")" = ../large ]' '[ -d "$LUDWIG_DATA/corpora/deep/er" ]' \
        'cp "$LUDWIG_DATA/single" "$LUDWIG_SAVE_PATH"' '[ -x "$PWD/tool" ] && [ ! -x "$PWD/job.sh" ]'
    echo '#!/bin/sh' >tool
    chmod +x tool
    printf '%s\n' 'project: data' 'command: sh job.sh' 'source: [job.sh, tool]' 'data: [corpora, single]' >data.yaml
    ludwig_wait submit data.yaml --wait
    read -r _ _ _ folder < <(published data)
    cmp sums "$folder/sums"
    [ "$(cat "$folder/single")" = one ]
}
it 'source and data are brought over SFTP' data_comes

# ---- checkpoints ----

write_steps() {
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'step=$(($(cat deep/step 2>/dev/null || echo 0) + 1))' 'say step $step' 'mkdir -p deep' \
        'echo $step >deep/step.tmp' 'mv deep/step.tmp deep/step' 'head -c 2500000 /dev/urandom >large' 'ln -sf deep/step link' \
        "[ \$step -ge ${1:-3} ] || exit 3" 'echo $step >"$LUDWIG_SAVE_PATH/steps"'
}
steps_of() { # SWEEP
    sed -n "s/^step \([0-9]*\) $1\.1 .*/\1/p" "$TEST_TMP/records" | tr '\n' ' '
}
none_kept() { # PROJECT
    [ -z "$(find "$SHARE/$1/.ludwig/checkpoints" -mindepth 1 2>/dev/null)" ]
}

goes_on() {
    new_records
    write_steps
    sweep steps 'retry: {max: 2, on: [3]}'
    id=$(ludwig_wait submit steps.yaml --wait)
    [ "$(steps_of "$id")" = '1 2 3 ' ]
    none_kept steps
    nothing_left
}
it 'a job goes on from its checkpoint' goes_on

moves() {
    new_records
    write_steps
    sweep moves
    id=$(submit moves.yaml)
    wait_until 20 in_state failed "$id"
    ludwig drain far
    start_worker near
    ludwig retry "$id" --yes
    wait_until 20 in_state failed "$id"
    job "$id.1" 'j["node"] == "near"' >/dev/null
    ludwig drain near
    ludwig undrain far
    ludwig retry "$id" --yes
    wait_until 20 in_state done "$id"
    job "$id.1" 'j["node"] == "far"' >/dev/null
    [ "$(steps_of "$id")" = '1 2 3 ' ]
    none_kept moves
    ludwig undrain near
    stop_near
}
it 'its checkpoint moves between a worker that mounts the share and one that does not' moves

copied_while_running() {
    new_records
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'step=$(cat step 2>/dev/null || echo 0)' 'say from $step' \
        "until [ -e $TEST_TMP/gates/enough ]; do step=\$((step + 1)); echo \$step >step.tmp; mv step.tmp step" \
        "  until [ -e $TEST_TMP/gates/enough ] || [ -e $TEST_TMP/gates/\$step ]; do sleep 0.1; done" 'done'
    sweep every 'checkpoint: {every: 1s}'
    id=$(submit every.yaml)
    wait_until 20 '[ -n "$(ls -d "$SHARE"/every/.ludwig/checkpoints/param_001/*.a1.1 2>/dev/null)" ]'
    open 1
    wait_until 20 '[ -n "$(ls -d "$SHARE"/every/.ludwig/checkpoints/param_001/*.a1.2 2>/dev/null)" ]'
    # shellcheck disable=SC2046
    kill_hard $(pids_of ludwig-runner)
    wait_until 20 '[ "$(recorded "^from ")" = 2 ]'
    [ "$(sed -n 's/^from \([0-9]*\) .*/\1/p' "$TEST_TMP/records" | tail -n 1)" -ge 2 ]
    open enough
    wait_until 20 in_state done "$id"
    none_kept every
}
it 'with every: it is copied while the job runs' copied_while_running

# ---- trouble ----

comes_back() {
    new_records
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'gate away' 'echo said while away'
    sweep away
    id=$(submit away.yaml)
    wait_until 20 '[ "$(recorded "^start ")" = 1 ]'
    sshd_down srv
    open away
    wait_until 10 '[ "$(recorded "^end ")" = 1 ]'
    wait_until 20 "grep -q 'not-published-yet sweep=$id ' $TEST_TMP/far.log"
    [ -z "$(find "$SHARE/away/runs" -name job.json)" ]
    sshd_start srv
    wait_until 60 in_state done "$id"
    [ "$(published away | wc -l)" = 1 ]
    [ "$(ludwig logs "$id.1")" = 'said while away' ]
    nothing_left
}
it 'results wait on scratch while sshd is away' comes_back

# The command leads to that file, and the process stops as soon as it is there; what it needs is
# killed, and it goes on.
strike() { # CHILD VICTIM PATTERN COMMAND...
    local pids command
    wait_until 20 '[ -n "$(pids_of '"$1"')" ]'
    pids=$(pids_of "$1")
    "${@:4}" &
    command=$!
    wait_for_file 20 "$3"
    # shellcheck disable=SC2086
    kill -STOP $pids
    wait $command
    case $2 in
    sshd) sshd_down srv && sshd_start srv ;;
    connection) kill_hard ludwig-ssh ;;
    itself) kill_hard "$1" ;;
    esac
    # shellcheck disable=SC2086
    [ "$2" = itself ] || kill -CONT $pids
}

broken_off() { # VICTIM
    new_records
    rm -f "$TEST_TMP/gates/strike"
    write_job 'gate strike' 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'for i in $(seq 100); do echo $i >"$LUDWIG_SAVE_PATH/$i"; done' \
        'head -c 250000000 /dev/zero >"$LUDWIG_SAVE_PATH/large"'
    sweep "broken_$1"
    id=$(submit "broken_$1.yaml")
    wait_until 20 '[ "$(recorded "^start ")" = 1 ]'
    strike --publisher "$1" "$SHARE/broken_$1/runs/*/.*/large" open strike
    wait_until 60 in_state done "$id"
    published "broken_$1" >published
    [ "$(wc -l <published)" = 1 ]
    read -r _ token _ folder <published
    [ "$(cat "$folder/token")" = "$token" ]
    [ "$(stat -c %s "$folder/large")" = 250000000 ]
    [ "$(find "$folder" -type f | wc -l)" = 103 ]
    [ "$(recorded '^start ')" = 1 ]
    nothing_left
}
it 'sshd dies in the middle of publishing: the result appears once, whole' 'broken_off sshd'
it 'the same when the process of the connection dies' 'broken_off connection'
it 'the same when the publisher dies' 'broken_off itself'

# Its data are new each time, or they would be there already.
half_staged() { # VICTIM
    new_records
    write_job 'cd "$LUDWIG_DATA/many" && sha256sum --quiet -c sums && cp sums "$LUDWIG_SAVE_PATH"'
    mkdir -p many
    for i in $(seq 300); do echo "$1 $i" >"many/$i"; done
    head -c 60000000 /dev/urandom >many/large
    (cd many && sha256sum large [0-9]* >sums)
    sweep "staged_$1" 'data: many'
    strike --stager "$1" "$SCRATCH/far/*/cache/.*.new/large" submit "staged_$1.yaml" >id
    id=$(cat id)
    wait_until 60 in_state done "$id"
    [ "$(recorded '^start ')" = 1 ]
    [ "$(recorded '^end ')" = 1 ]
    [ "$(published "staged_$1" | wc -l)" = 1 ]
    [ -z "$(find "$SCRATCH/far" -path '*/cache/.*.new')" ]
    nothing_left
}
it 'sshd dies while data are brought: they come whole, and the job runs once' 'half_staged sshd'
it 'the same when the process of that connection dies' 'half_staged connection'
it 'the same when the stager dies' 'half_staged itself'

races() { # WINNER
    local winner=$1
    new_records
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'gate $LUDWIG_RESTART.'"$winner"
    sweep "race_$winner"
    id=$(submit "race_$winner.yaml")
    wait_until 20 '[ "$(jobs_in running '"$id"')" = 1 ]'
    sshd_down srv
    start_worker near
    wait_until 20 '[ "$(recorded "^start '"$id"'\.")" = 2 ]'
    if [ "$winner" = near ]; then
        open 1.near
        wait_until 20 '[ "$(published race_near | wc -l)" = 1 ]'
        sshd_start srv
        open 0.near
    else
        open 0.far
        wait_until 20 '[ "$(recorded "^end '"$id"'\.")" = 1 ]'
        sshd_start srv
        wait_until 60 '[ "$(published race_far | wc -l)" = 1 ]'
        open 1.far
    fi
    wait_until 60 in_state done "$id"
    # The one that came too late withdraws.
    wait_until 60 "published race_$winner >published"
    [ "$(wc -l <published)" = 1 ]
    read -r _ token attempt folder <published
    [ "$(cat "$folder/token")" = "$token" ]
    [ "$attempt" = "$([ "$winner" = near ] && echo 2 || echo 1)" ]
    nothing_left
    stop_near
}
it 'two attempts race, the one with a mount wins: one result' 'races near'
it 'two attempts race, the one without wins: one result' 'races far'

looked_at() {
    new_records
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'gate looked'
    sweep looked
    id=$(submit looked.yaml)
    wait_until 20 '[ "$(recorded "^start ")" = 1 ]'
    # It publishes unheard, and is taken for lost.
    kill_hard ludwigd
    open looked
    wait_until 20 '[ "$(published looked | wc -l)" = 1 ]'
    kill_agent far
    start_server
    start_worker near
    wait_until 30 in_state done "$id"
    [ "$(recorded '^start ')" = 1 ]
    start_worker far
    stop_near
    nothing_left
}
it 'an attempt looks at the final name before it starts' looked_at

withdrawn() {
    new_records
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'gate withdrawn'
    sweep withdrawn
    id=$(submit withdrawn.yaml)
    wait_until 20 '[ "$(recorded "^start ")" = 1 ]'
    kill_hard ludwigd
    open withdrawn
    wait_until 20 '[ "$(published withdrawn | wc -l)" = 1 ]'
    # Cancelled before it hears that it is done.
    kill -STOP $(agent_of far)
    start_server
    ludwig cancel "$id" --yes
    kill -CONT $(agent_of far)
    wait_until 20 '[ -z "$(find "$SHARE/withdrawn/runs" -name job.json)" ]'
    in_state cancelled "$id"
    nothing_left
}
it 'the result of a job that was cancelled meanwhile is withdrawn' withdrawn

kill_one() { # VICTIM
    case $1 in
    agent) kill_agent far && start_worker far ;;
    sshd) sshd_down srv && sshd_start srv ;;
    *) wait_until 20 kill_hard "$1" ;; # what belonged to another agent may just end
    esac
}
# Twelve jobs more may end after each kill, so that there is always something to be killed.
killed_often() {
    local kills=0
    new_records
    open wave0
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'gate wave$(((${LUDWIG_JOB#*.} - 1) / 12))'
    sweep often 'params: {a: {range: [1, 100]}}'
    id=$(submit often.yaml)
    for victim in agent --publisher ludwig-ssh sshd agent --publisher ludwig-ssh agent; do
        kills=$((kills + 1))
        wait_until 20 "[ \"\$(recorded '^end ')\" -ge $((kills * 10)) ]"
        kill_one $victim
        open wave$kills
    done
    wait_until 60 in_state done "$id"
    [ "$(published often | wc -l)" = 100 ]
    [ "$(recorded '^start ')" = 100 ]
    nothing_left
}
it 'kill -9 of all that runs, in turn, loses nothing and runs nothing twice' killed_often

# ---- whose jobs ----

others() {
    mkdir "$TEST_TMP/theirs"
    cd "$TEST_TMP/theirs"
    printf '%s\n' 'project: theirs' 'command: "true"' 'source: []' >sweep.yaml
    chown -R daemon .
    chmod 0711 "$TEST_TMP" "$TEST_TMP/work"
    mkdir -m 0711 "$TEST_TMP/bin"
    cp "$LUDWIG_BIN/ludwig" "$TEST_TMP/bin"
    id=$(setpriv --reuid=daemon --regid=daemon --clear-groups env -i HOME="$TEST_TMP/theirs" PATH="$TEST_TMP/bin:/usr/bin:/bin" \
        LUDWIG_SERVER="$LUDWIG_SERVER" ludwig submit sweep.yaml)
    # One of its own account that came later has run.
    sed 's/theirs/ours/' sweep.yaml >ours.yaml
    ludwig_wait submit ours.yaml --wait
    [ "$(jobs_in queued "$id")" = 1 ]
    ludwig why "$id.1" | grep -q "far: .* jobs of $(id -un) only"
    ludwig cancel "$id" --yes
}
if [ "$(id -u)" = 0 ]; then
    it "it is given jobs of its own account only" others
else
    skip 'it is given jobs of its own account only' 'takes root'
fi
says_so() {
    grep -q 'share over-sftp=.*own account only' "$TEST_TMP/far.log"
}
it 'its log says so' says_so

done_testing
