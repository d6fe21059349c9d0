#!/bin/bash
# lifecycle.sh - how jobs fail, are stopped, cancelled, tried again, and watched
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'

sweep() { # PROJECT COMMAND LINE...
    local project=$1 command=$2
    shift 2
    printf '%s\n' "project: $project" "command: $command" 'source: job.sh' "$@" >"$project.yaml"
}
reason_of() { job "$1" 'j["reason"]'; }

# ---- failing ----

fails() {
    write_job 'echo kept >"$LUDWIG_SAVE_PATH/part.txt"; case $1 in code) exit 7;; signal) kill -SEGV $$;; esac'
    sweep fails 'sh job.sh {how}' 'params: {how: [code, signal, well]}'
    status=0
    ludwig_wait submit fails.yaml --wait >id 2>err || status=$?
    [ $status = 1 ]
    ludwig jobs 1 --json >"$TEST_TMP/jobs"
    json "$TEST_TMP/jobs" '[j["state"] for j in d["jobs"]] == ["failed", "failed", "done"]'
    json "$TEST_TMP/jobs" '[j["exit_code"] for j in d["jobs"]] == [7, None, 0]'
    json "$TEST_TMP/jobs" '[j["signal"] for j in d["jobs"]] == [None, 11, None]'
    [ "$(sweep_state 1)" = failed ]
}
it 'exit codes and signals are told apart' fails

failed_files() {
    local folder
    for n in 1 2; do
        folder=$SHARE/fails/failed/$(job 1.$n 'j["param_name"] + "/" + j["job_name"] + ".a1"')
        [ "$(cat "$folder/part.txt")" = kept ]
        json "$folder/job.json" "d['job'] == '1.$n'"
    done
    [ -z "$(find "$SHARE/fails/runs" -path "*/$(job 1.1 'j["param_name"]')/*" -name job.json)" ]
    [ "$(published fails | wc -l)" = 1 ]
}
it 'what a failed job saved lies under failed/, and nothing of it under runs/' failed_files

missing_command() {
    printf 'project: missing\ncommand: ./nothere --x\nsource: []\n' >missing.yaml
    status=0
    ludwig_wait submit missing.yaml --wait >id || status=$?
    [ $status = 1 ]
    job "$(cat id).1" 'j["exit_code"] == 127'
    ludwig logs "$(cat id).1" | grep -q nothere
}
it 'a command that is not there fails the job with 127 and says so in its log' missing_command

# ---- time ----

# Leaves a process behind that has a session of its own and whose parent is gone.
cat >daemonize.py <<'END'
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1], "a") as f:
            f.write("%d\n" % os.getpid())
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
os.wait()
END
cp daemonize.py "$TEST_TMP"

time_limit() {
    write_job "python3 $TEST_TMP/daemonize.py $TEST_TMP/daemons" "sh -c 'trap \"\" TERM; echo \$\$ >>$TEST_TMP/daemons; while :; do sleep 1; done' &" \
        'sleep 600'
    sweep slow 'sh job.sh' 'resources: {time: 15s}'
    status=0
    ludwig_wait submit slow.yaml --wait >id || status=$?
    [ $status = 1 ]
    [ "$(wc -l <"$TEST_TMP/daemons")" = 2 ]
    gone $(cat "$TEST_TMP/daemons")
    gone "$(sed -n 's/^start .* //p' "$TEST_TMP/records")"
    reason_of "$(cat id).1" | grep -q time
    job "$(cat id).1" 'j["state"] == "failed"'
}
it 'a job over its time is ended with all it started, also what daemonized' time_limit

leaves_children() {
    : >"$TEST_TMP/daemons"
    write_job "python3 $TEST_TMP/daemonize.py $TEST_TMP/daemons"
    sweep leaver 'sh job.sh' 'resources: {time: 20s}'
    ludwig_wait submit leaver.yaml --wait >id || true
    [ -s "$TEST_TMP/daemons" ]
    gone $(cat "$TEST_TMP/daemons")
}
it 'no process outlives its job' leaves_children

# ---- cancel and retry ----

cancels() {
    rm -f "$TEST_TMP/records" "$TEST_TMP/daemons"
    write_job 'echo x >"$LUDWIG_SAVE_PATH/x"' "python3 $TEST_TMP/daemonize.py $TEST_TMP/daemons" 'gate never'
    sweep cancels 'sh job.sh {a}' 'params: {a: [1, 2, 3, 4, 5, 6]}'
    id=$(submit cancels.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 4 ] && [ "$(wc -l <"$TEST_TMP/daemons")" = 4 ]'
    ludwig cancel "$id"
    wait_until 30 ended "$id"
    [ "$(sweep_state "$id")" = cancelled ]
    [ "$(jobs_in cancelled "$id")" = 6 ]
    wait_until 15 gone $(sed -n 's/^start .* //p' "$TEST_TMP/records") $(cat "$TEST_TMP/daemons")
    [ "$(recorded "^start ")" = 4 ]
    [ -z "$(find "$SHARE/cancels/runs" "$SHARE/cancels/failed" -name job.json 2>/dev/null)" ]
    nothing_left
}
it 'cancel ends what runs, drops what waits, and leaves nothing in runs/' cancels

cancel_one() {
    rm "$TEST_TMP/records"
    write_job 'gate one'
    sweep one 'sh job.sh {a}' 'params: {a: [1, 2, 3, 4, 5, 6]}'
    id=$(submit one.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 4 ]'
    ludwig cancel "$id.2" "$id.6"
    # The place of the one that ran is taken by one that waited.
    wait_until 15 '[ "$(recorded "^start '"$id"'.5 ")" = 1 ]'
    open one
    wait_until 15 ended "$id"
    ludwig jobs "$id" --json | json - '[j["state"] for j in d["jobs"]] == ["done", "cancelled", "done", "done", "done", "cancelled"]'
    [ "$(recorded "^start $id.6 ")" = 0 ]
    [ "$(recorded "^end $id.2 ")" = 0 ]
    [ "$(published one | wc -l)" = 4 ]
    echo "$id" >"$TEST_TMP/one"
}
it 'cancel takes single jobs, running and queued' cancel_one

retry_cancelled() {
    id=$(cat "$TEST_TMP/one")
    ludwig retry "$id"
    wait_until 15 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(jobs_in done "$id")" = 6 ]
    [ "$(recorded "^start $id.1 ")" = 1 ]
    [ "$(recorded "^end $id.2 ")" = 1 ]
    [ "$(recorded "^end $id.6 ")" = 1 ]
    [ "$(published one | wc -l)" = 6 ]
}
it 'retry runs what was cancelled, and nothing else' retry_cancelled

retry_failed() {
    write_job "test -e $TEST_TMP/now"
    sed -i 's/^say end/status=$?; say end; exit $status/' job.sh
    sweep again 'sh job.sh'
    ludwig_wait submit again.yaml --wait >id && return 1
    id=$(cat id)
    ludwig retry "$id.1"
    wait_until 10 '[ "$(job '"$id"'.1 "str(j[\"attempt\"]) + j[\"state\"]")" = 2failed ]'
    touch "$TEST_TMP/now"
    ludwig retry "$id"
    wait_until 10 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 3'
    [ "$(published again | cut -d' ' -f3)" = 3 ]
    [ "$(ls "$SHARE/again/failed/param_001" | sed 's/.*\.//' | tr '\n' ' ')" = 'a1 a2 ' ]
    # The first log is the job's, later ones say which attempt they are of.
    [ "$(ls "$SHARE/again/logs/$id" | sed 's/.*_num0//' | sort | tr '\n' ' ')" = '.a2.log .a3.log .log ' ]
    [ "$(grep "^start $id\.1 " "$TEST_TMP/records" | cut -d' ' -f4 | tr '\n' ' ')" = '0 1 2 ' ]
}
it 'retry gives a failed job a new attempt, and keeps the files of the old ones' retry_failed

done_stays() {
    id=$(cat "$TEST_TMP/one")
    before=$(recorded "^start $id\.")
    ludwig retry "$id" || true
    ludwig cancel "$id" || true
    # One that comes later has run.
    ludwig_wait submit again.yaml --reuse none --wait
    [ "$(sweep_state "$id")" = done ]
    [ "$(recorded "^start $id\.")" = "$before" ]
    [ "$(published one | wc -l)" = 6 ]
}
it 'what is done stays done, whatever is asked' done_stays

# ---- following ----

follows() {
    write_job 'echo line one; echo err two >&2; gate follow; echo line three'
    sweep follow 'sh job.sh'
    id=$(submit follow.yaml)
    timeout 300 ludwig logs -f "$id.1" >follow.out &
    follower=$!
    # Lines come while the job runs, also on the share, within a second or so.
    wait_until 5 'grep -q two follow.out'
    wait_until 3 'grep -q two "$SHARE"/follow/logs/*/*.log'
    not grep -q three follow.out
    kill -0 $follower
    open follow
    wait $follower
    printf '%s\n' 'line one' 'err two' 'line three' | cmp - follow.out
    wait_until 10 ended "$id"
}
it 'logs -f shows lines as they come, and ends with the job' follows

interrupted() {
    write_job 'echo begun' 'gate interrupt'
    sweep interrupt 'sh job.sh'
    # A background job of a shell ignores SIGINT, so Python sends it.
    cat >interrupt.py <<'END'
import re, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[2:], stdout=open(sys.argv[1], "w"),
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
def catches():
    caught = re.search(r"SigCgt:\s*(\w+)", open("/proc/%d/status" % p.pid).read())[1]
    return int(caught, 16) >> signal.SIGINT - 1 & 1
deadline = time.monotonic() + 60
while not (open(sys.argv[1]).read() and catches()):
    assert p.poll() is None, "it ended by itself with %s" % p.returncode
    assert time.monotonic() < deadline, "it does not wait"
    time.sleep(0.02)
p.send_signal(signal.SIGINT)
print(p.wait(60))
END
    python3 interrupt.py id ludwig submit interrupt.yaml --wait >status
    grep -qx 130 status
    id=$(cat id)
    wait_until 10 '[ "$(recorded "^start '"$id"'.1 ")" = 1 ]'
    python3 interrupt.py log ludwig logs -f "$id.1" >status
    grep -qx 130 status
    grep -q begun log
    [ "$(sweep_state "$id")" = running ]
    [ "$(recorded "^end $id.1 ")" = 0 ]
    open interrupt
    wait_until 10 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(recorded "^end $id.1 ")" = 1 ]
    job "$id.1" 'j["attempt"] == 1'
}
it 'Ctrl-C during --wait and logs -f detaches, and the job goes on' interrupted

# ---- up and down ----

up_twice() {
    server=$(pids_of ludwigd) worker=$(agents)
    ludwig up
    ludwig up
    [ "$(pids_of ludwigd)" = "$server" ]
    [ "$(agents)" = "$worker" ]
    ludwig down
    wait_until 10 gone $server $worker
    wait_until 10 '[ -z "$(pids_of ludwig-worker)" ]'
    ludwig down 2>err && status=0 || status=$?
    [ $status = 0 ] || [ $status = 3 ]
}
it 'up is there once however often it is said, down ends all of it' up_twice

down_and_up() {
    rm "$TEST_TMP/records"
    write_job 'gate down'
    sweep down 'sh job.sh {a}' 'params: {a: [1, 2, 3, 4, 5, 6]}'
    id=$(submit down.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 4 ]'
    tokens=$(sed 's/ [0-9]*$//' "$TEST_TMP/records" | sort)
    ludwig down
    wait_until 10 '[ -z "$(pids_of ludwigd)" ] && [ -z "$(agents)" ]'
    kill -0 $(sed 's/.* //' "$TEST_TMP/records")
    ludwig_wait up
    wait_until 10 '[ "$(jobs_in running '"$id"')" = 4 ]'
    [ "$(sed 's/ [0-9]*$//' "$TEST_TMP/records" | sort)" = "$tokens" ]
    open down
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(recorded '^start ')" = 6 ]
    [ "$(recorded '^end ')" = 6 ]
    not grep -v ' 0 [0-9]*$' "$TEST_TMP/records"
    [ "$(published down | wc -l)" = 6 ]
    nothing_left
}
it 'down lets running jobs go on, and up adopts them' down_and_up

second_server() {
    local config
    ludwig up
    config=$(tr '\0' '\n' <"/proc/$(pids_of ludwigd)/cmdline" | sed -n '/--config/{n;p}')
    [ -s "$config" ]
    server=$(pids_of ludwigd)
    status=0
    timeout 300 ludwigd --config "$config" >out 2>err || status=$?
    [ $status != 0 ]
    [ $status != 124 ]
    grep -qiE 'already|another|in use' err || { cat err && return 1; }
    [ "$(pids_of ludwigd)" = "$server" ]
    ludwig status >/dev/null
}
it 'a second ludwigd on the same state is refused in words, and harms nobody' second_server

terminated() {
    ludwig up
    server=$(pids_of ludwigd)
    kill -TERM "$server"
    wait_until 10 gone "$server"
    status=0
    ludwig status 2>err || status=$?
    [ $status = 3 ]
    ludwig_wait up
    ludwig status >/dev/null
}
it 'SIGTERM stops ludwigd cleanly, and it starts again' terminated

leaves() {
    grep -c ' leave ' "$XDG_STATE_HOME/ludwig/ludwigd.log"
}
# Only builds with hooks can take the share for one that hangs.
hung() {
    kill -TERM "$(pids_of ludwigd)"
    wait_until 10 '[ -z "$(pids_of ludwigd)" ]'
    LUDWIG_INBOX_HANGS=1 LUDWIG_BIN=$LUDWIG_HOOKS_BIN PATH=$LUDWIG_HOOKS_BIN:$PATH ludwig_wait up
    server=$(pids_of ludwigd)
    wait_until 10 'grep -l poll_schedule "/proc/'"$server"'/task/"*/wchan | grep -qv "/'"$server"'/wchan"'
    told=$(leaves)
    kill -TERM "$server"
    # Two signals that come before the first is handled are one.
    wait_until 10 '[ "$(leaves)" -gt "$told" ]'
    kill -0 "$server"
    kill -TERM "$server"
    wait_until 5 gone "$server"
    ludwig_wait up
}
if [ -x "$LUDWIG_HOOKS_BIN/ludwigd" ]; then
    it 'a second SIGTERM ends a ludwigd whose share hangs' hung
else
    skip 'a second SIGTERM ends a ludwigd whose share hangs' 'there is no build with hooks'
fi

done_testing
