#!/bin/bash
# batch.sh - with batch: N one process works through N jobs, and each of them is a job like any other
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

# The process: for each job of its chunk it records "start JOB PID", runs these lines of Python
# (job: the map, a: the parameter), and reports it done.  taken(job) waits until that was noticed.
write_walk() { # LINE...
    cat >walk.py <<END
import json, os, signal, subprocess, sys, time

def say(*words):
    with open("$TEST_TMP/records", "a") as f:
        f.write(" ".join(map(str, words)) + "\n")

def gate(name):
    while not os.path.exists(f"$TEST_TMP/gates/{name}"):
        time.sleep(0.01)

def report(job, *words):
    subprocess.run(["ludwig", "report", "--job", job["job"], *words], check=True)

def taken(job):
    while os.path.exists(job["save_path"]):
        time.sleep(0.01)

chunk = json.load(open(os.path.dirname(os.environ["LUDWIG_CHUNK"]) + "/chunk.json"))
say("process", os.getpid(), *[job["job"] for job in chunk])
for job in chunk:
    a = job["params"]["a"]
    say("start", job["job"], os.getpid())
    print("job", job["job"])
    with open(job["save_path"] + "/value", "w") as f:
        f.write(str(a))
$(printf '    %s\n' "$@")
    say("end", job["job"], os.getpid())
    report(job, f"value={a}", "--done")
    if job != chunk[-1]:
        taken(job)
END
    rm -rf "$TEST_TMP/gates"
    mkdir "$TEST_TMP/gates"
    : >"$TEST_TMP/records"
}

write_sweep() { # PROJECT JOBS [LINE...]
    printf '%s\n' "project: $1" 'command: python3 walk.py' 'source: walk.py' 'batch: 4' \
        "params: {a: [$(seq -s, 1 "$2")]}" "${@:3}" >"$1.yaml"
}

states() { # SWEEP: one letter for each job
    ludwig jobs "$1" --json | json - '"".join(j["state"][0] for j in d["jobs"])'
}

# Its result and its log are its own.
published_as_own() { # PROJECT JOB
    local folder
    folder=$(published "$1" | sed -n "s/^${2/./\\.} .* [0-9]* //p")
    [ "$(cat "$folder/value")" = "${2#*.}" ]
    [ "$(ludwig logs "$2")" = "job $2" ]
    job "$2" 'j["exit_code"] == 0 and j["signal"] is None and j["reason"] is None'
    [ "$(job "$2" 'j["log_path"]')" != null ]
}

processes() {
    recorded '^process '
}

pid_of() { # JOB
    sed -n "s/^start ${1/./\\.} //p" "$TEST_TMP/records" | tail -n 1
}

declare -ft published_as_own # so that the step that failed is shown

all_done() {
    write_walk 'pass'
    write_sweep p 10
    id=$(submit p.yaml)
    wait_until 30 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(recorded '^end ')" = 10 ]
    [ "$(processes)" -lt 10 ]
    [ "$(cut -d' ' -f3- <<<"$(grep ^process "$TEST_TMP/records")" | tr ' ' '\n' | sort -V | tr '\n' ' ')" = \
        "$(printf "$id.%s " {1..10})" ]
    [ "$(grep ^process "$TEST_TMP/records" | awk '{ if (NF - 2 > n) n = NF - 2 } END { print n }')" = 4 ]
    published p >"$TMPDIR/published"
    [ "$(wc -l <"$TMPDIR/published")" = 10 ]
    for job in {1..10}; do published_as_own p "$id.$job"; done
    ludwig results "$id" --json | json - 'sorted(r["metrics"]["value"]["mean"] for r in d["results"]) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]'
    nothing_left
}
it 'ten jobs in batches of four are all done, each with a result and a log of its own' all_done

while_it_runs() {
    write_walk 'if a == 3: gate("on")'
    write_sweep q 4
    id=$(submit q.yaml)
    wait_until 20 '[ "$(states '"$id"')" = ddrr ] && [ "$(recorded "^start ")" = 3 ]'
    pid=$(pid_of "$id.3")
    [ "$(processes)" = 1 ]
    kill -0 "$pid"
    published_as_own q "$id.1"
    published_as_own q "$id.2"
    [ "$(published q | wc -l)" = 2 ]
    open on
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    published_as_own q "$id.4"
    nothing_left
}
it 'results lie on the share while the process goes on with the next job' while_it_runs

# The runner reads the reports when all is printed.
next_log() {
    cat >walk.py <<END
import os, signal, subprocess, sys
sys.path.insert(0, "$TEST_ROOT/client/python")
import ludwig
runner = os.getppid()
assert b"--runner" in open(f"/proc/{runner}/cmdline", "rb").read()
os.kill(runner, signal.SIGSTOP)
for i, job in enumerate(ludwig.chunk()):
    print("job", job.job)
    if i < 2:
        subprocess.run(["ludwig", "report", "--job", job.job, "--done"], check=True)
    else:
        job.done()
print("the end")
os.kill(runner, signal.SIGCONT)
END
    write_sweep next 4
    id=$(submit next.yaml)
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    for job in "$id".{1..3}; do [ "$(ludwig logs "$job")" = "job $job" ]; done
    [ "$(ludwig logs "$id.4")" = "job $id.4"$'\n''the end' ]
    nothing_left
}
it 'what is printed right after a report is in the log of the next job' next_log

msgpack() {
    cat >walk.py <<'END'
import json, msgpack, os
path = os.environ["LUDWIG_CHUNK"]
with open(path, "rb") as f:
    chunk = msgpack.unpackb(f.read())
with open(path[:-len("msgpack")] + "json") as f:
    assert json.load(f) == chunk
assert "LUDWIG_JOB" not in os.environ and "LUDWIG_SAVE_PATH" not in os.environ
for job in chunk:
    with open(job["param2val"]) as f:
        assert json.load(f) == job["params"]
    assert os.listdir(job["save_path"]) == os.listdir(job["checkpoint"]) == []
    assert job["param_name"] == f"param_{job['params']['a']:03}" and job["seed"] > 0
    assert (job["rep"], job["restart"]) == (0, 0)
    with open(os.environ["LUDWIG_METRICS"], "a") as f: # as ludwig report does
        f.write(json.dumps({"job": job["job"], "seed": job["seed"], "done": True}) + "\n")
END
    write_sweep msgpack 3
    sed -i "s|^command: python3|command: $python|" msgpack.yaml
    id=$(submit msgpack.yaml)
    wait_until 20 ended "$id"
    ludwig logs "$id.1"
    [ "$(sweep_state "$id")" = done ]
    ludwig results "$id" --json | json - 'len({r["metrics"]["seed"]["mean"] for r in d["results"]}) == 3'
    nothing_left
}
if python=$(python_with msgpack); then
    it 'a process may read msgpack, and report by lines of its own' msgpack
else
    skip 'a process may read msgpack, and report by lines of its own' 'no python3 here has msgpack'
fi

crashed() {
    write_walk 'if a == 2: sys.exit(3)'
    write_sweep crash 4
    id=$(submit crash.yaml)
    wait_until 30 ended "$id"
    [ "$(states "$id")" = dfdd ]
    job "$id.1" 'j["attempt"] == 1'
    job "$id.2" 'j["attempt"] == 1 and j["exit_code"] == 3 and j["cause"] == "failed"'
    job "$id.2" 'j["reason"].startswith("exit code 3")'
    job "$id.3" 'j["attempt"] == 2'
    [ "$(processes)" -ge 2 ]
    [ "$(pid_of "$id.3")" != "$(pid_of "$id.2")" ]
    [ "$(cat "$SHARE"/crash/failed/param_002/*/value)" = 2 ]
    [ "$(ludwig logs "$id.2")" = "job $id.2" ]
    for job in 1 3 4; do published_as_own crash "$id.$job"; done
    # What was given back has left nothing on the share.
    [ "$(find "$SHARE/crash/logs" -type f | wc -l)" = 4 ]
    nothing_left
}
it 'a crash at the second job fails that one, and the others run in another process' crashed

checkpoint() {
    write_walk 'kept = job["checkpoint"] + "/kept"' \
        'if a == 2 and job["restart"] == 0: open(kept, "w").write("half"); sys.exit(1)' \
        'if a == 2: assert open(kept).read() == "half"' \
        'if a != 2: assert not os.path.exists(kept)'
    write_sweep checkpoint 3 'retry: {max: 1, on: [failed]}'
    id=$(submit checkpoint.yaml)
    wait_until 30 ended "$id"
    [ "$(states "$id")" = ddd ]
    job "$id.2" 'j["attempt"] == 2'
    nothing_left
}
it 'what a job left in its checkpoint folder is there when it runs again' checkpoint

reported_failed() {
    write_walk 'if a == 2: report(job, "--failed", "loss is not a number"); continue'
    sed -i 's/"--failed", "/"--failed=" + "/' walk.py
    write_sweep failed 3
    id=$(submit failed.yaml)
    wait_until 20 ended "$id"
    [ "$(states "$id")" = dfd ]
    job "$id.2" 'j["reason"] == "loss is not a number" and j["exit_code"] is None'
    [ "$(processes)" = 1 ]
    ludwig retry "$id.2" --yes
    wait_until 20 '[ "$(job '"$id.2"' "j[\"attempt\"]")" = 2 ]'
    wait_until 20 ended "$id"
    [ "$(processes)" = 2 ]
    nothing_left
}
it 'a job may be reported failed while the others go on, and be retried alone' reported_failed

unreported() {
    echo 'print("nothing to say")' >walk.py
    write_sweep silent 3
    id=$(submit silent.yaml)
    wait_until 20 ended "$id"
    [ "$(states "$id")" = fff ]
    for job in 1 2 3; do
        job "$id.$job" 'j["reason"] == "the process ended without reporting any job: call `ludwig report --job JOB --done`"'
        job "$id.$job" 'j["attempt"] == 1 and j["exit_code"] == 0'
    done
    nothing_left
}
it 'a process that reports nothing fails all of its jobs, and says how to report' unreported

differing() {
    write_walk pass
    write_sweep differ 3
    sed -i 's/^command:.*/command: python3 walk.py {a}/' differ.yaml
    if id=$(submit differ.yaml 2>"$TMPDIR/refused"); then
        wait_until 20 ended "$id"
        [ "$(states "$id")" = fff ]
        job "$id.1" '"LUDWIG_CHUNK" in j["reason"]'
    else
        grep -q batch "$TMPDIR/refused"
    fi
    [ "$(processes)" = 0 ]
}
it 'a command with a placeholder that differs between the jobs is refused' differing

agent_killed() {
    write_walk 'gate(a)'
    write_sweep agent 8
    id=$(submit agent.yaml)
    open 1
    wait_until 20 '[ "$(states '"$id"')" = drrrrrrr ]'
    wait_until 10 '[ "$(recorded "^start ")" = 3 ]'
    kill_hard $(agents)
    open 2
    wait_until 10 '[ "$(recorded "^start ")" = 4 ]' # 1.3: the runner has taken 1.2
    ludwig_wait up
    wait_until 20 '[ "$(states '"$id"')" = ddrrrrrr ]'
    kill_hard $(agents)
    for gate in {3..8}; do open $gate; done
    wait_until 10 '[ "$(recorded "^end ")" = 8 ]'
    wait_until 10 gone $(sed -n 's/^process \([0-9]*\) .*/\1/p' "$TEST_TMP/records")
    ludwig_wait up
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(processes)" = 2 ]
    ludwig jobs "$id" --json | json - 'all(j["attempt"] == 1 for j in d["jobs"])'
    for job in {1..8}; do published_as_own agent "$id.$job"; done
    nothing_left
}
it 'kill -9 of the agent in the middle of batches costs nothing, whoever is left' agent_killed

runner_killed() {
    write_walk 'if a == 2 and job["restart"] == 0: subprocess.Popen(["sleep", "600"], start_new_session=True); gate("never")'
    write_sweep runner 4
    id=$(submit runner.yaml)
    wait_until 20 '[ "$(states '"$id"')" = drrr ] && [ "$(recorded "^start ")" = 2 ]'
    pid=$(pid_of "$id.2")
    wait_until 10 'pgrep -P '"$pid"' sleep'
    sleeper=$(pgrep -P "$pid" sleep)
    kill_hard "$(runner_of "$pid")"
    wait_until 10 gone "$pid" "$sleeper"
    wait_until 30 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 1'
    for job in 2 3 4; do
        job "$id.$job" 'j["attempt"] == 2'
        published_as_own runner "$id.$job"
    done
    [ "$(recorded "^start $id\.1 ")" = 1 ]
    nothing_left
}
it 'kill -9 of the runner loses what was not reported, which runs again' runner_killed

# Whenever a process is at that job its runner is killed, until all is over.
strike() { # SWEEP JOB
    local pid
    ! ended "$1" || return 0
    pid=$(pid_of "$2")
    [ -n "$pid" ] && [ -e "/proc/$pid" ] && kill_hard "$(runner_of "$pid")" && wait_until 10 gone "$pid"
    return 1
}
runner_killed_often() {
    write_walk 'if a == 2: gate("never")'
    write_sweep often 4
    id=$(submit often.yaml)
    wait_until 60 strike "$id" "$id.2"
    [ "$(states "$id")" = dfdd ]
    for job in 1 3 4; do published_as_own often "$id.$job"; done
    nothing_left
}
it 'kill -9 of the runner again and again fails the job that it was at, and no other' runner_killed_often

all_killed() {
    write_walk 'if a == 2 and job["restart"] == 0: gate("never")'
    write_sweep allkilled 4
    id=$(submit allkilled.yaml)
    wait_until 20 '[ "$(recorded "^start ")" = 2 ]'
    pid=$(pid_of "$id.2")
    runner=$(runner_of "$pid")
    kill_hard $(agents)
    kill_hard "$runner"
    wait_until 10 gone "$pid"
    ludwig_wait up
    wait_until 30 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 1'
    job "$id.2" 'j["attempt"] == 2'
    [ "$(recorded "^start $id\.1 ")" = 1 ]
    nothing_left
}
it 'a runner that dies while no agent is there is noticed by the next one' all_killed

one_cancelled() {
    write_walk 'if a > 1: gate(a)'
    write_sweep cancel 4
    id=$(submit cancel.yaml)
    wait_until 20 '[ "$(states '"$id"')" = drrr ] && [ "$(recorded "^start ")" = 2 ]'
    pid=$(pid_of "$id.2")
    ludwig cancel "$id.3"
    wait_until 10 '[ "$(job '"$id.3"' "j[\"state\"]")" = cancelled ]'
    kill -0 "$pid"
    for gate in 2 3 4; do open $gate; done
    wait_until 20 ended "$id"
    [ "$(states "$id")" = ddcd ]
    [ "$(processes)" = 1 ]
    [ "$(recorded "^end $id\.4 ")" = 1 ]
    [ "$(published cancel | wc -l)" = 3 ]
    published cancel | not grep "^$id\.3 "
    nothing_left
}
it 'one job can be cancelled, and the others go on' one_cancelled

rest_cancelled() {
    write_walk 'if a > 1: gate("never")'
    write_sweep rest 4
    id=$(submit rest.yaml)
    wait_until 20 '[ "$(states '"$id"')" = drrr ] && [ "$(recorded "^start ")" = 2 ]'
    pid=$(pid_of "$id.2")
    ludwig cancel "$id.3"
    ludwig cancel "$id.4"
    kill -0 "$pid"
    ludwig cancel "$id.2"
    wait_until 20 gone "$pid"
    [ "$(states "$id")" = dccc ]
    published_as_own rest "$id.1"
    nothing_left
}
it 'when all that is left is cancelled the process is ended' rest_cancelled

slots() {
    write_walk 'gate("end")'
    write_sweep slots 12
    id=$(submit slots.yaml)
    wait_until 20 '[ "$(processes)" = 2 ] && [ "$(states '"$id"')" = rrrrrrrrqqqq ]'
    ludwig why "$id.9" | grep -q ': it is busy'
    [ "$(processes)" = 2 ]
    open end
    wait_until 30 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(processes)" = 3 ]
    nothing_left
}
it 'a batch takes one slot' slots

killed_often() {
    write_walk 'time.sleep(0.02)'
    write_sweep storm 60
    id=$(submit storm.yaml)
    for kills in 1 2 3 4; do
        wait_until 30 '[ "$(recorded "^end ")" -ge '$((kills * 10))' ]'
        kill_hard $(agents)
        ludwig_wait up
    done
    wait_until 60 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(recorded '^end ')" = 60 ]
    published storm >"$TMPDIR/published"
    [ "$(wc -l <"$TMPDIR/published")" = 60 ]
    nothing_left
}
it 'with the agent killed again and again every job has run once' killed_often

example() {
    cp -r "$TEST_ROOT/examples/chunk" "$TEST_TMP/work/chunk"
    cd "$TEST_TMP/work/chunk"
    id=$(submit sweep.yaml --wait)
    [ "$(jobs_in done "$id")" = 24 ]
    [ "$(published primes | wc -l)" = 24 ]
    ludwig results "$id" --json | json - 'all(r["metrics"]["classes"]["mean"] > 1 for r in d["results"])'
    # Which log a line gets into that is printed right after a report is a matter of luck.
    [ "$(cat "$SHARE/primes/logs/$id"/*.log | grep -c '^modulus .* classes, spread ')" = 24 ]
    nothing_left
}
it 'the example runs' example

done_testing
