#!/bin/bash
# submit.sh - from nothing but a sweep file to the table of results
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 2GiB}'

cat >train.py <<'END'
import json, os, subprocess, sys
values = json.load(open(os.environ["LUDWIG_PARAM2VAL"]))
rep = int(os.environ["LUDWIG_REP"])
words = open(os.path.join(os.environ["LUDWIG_DATA"], "corpora", "words.txt")).read().split()
score = values["lr"] * 10 + values["hidden"] + 0.5 * rep
save = os.environ["LUDWIG_SAVE_PATH"]
print("first on stdout", flush=True)
print("then on stderr", file=sys.stderr, flush=True)
print("stdout again", flush=True)
with open(os.path.join(save, "perplexity.csv"), "w") as f:
    f.write("step,perplexity\n1,1000.0\n2,%r\n" % (100.0 + rep + values["hidden"]))
os.mkdir(os.path.join(save, "model"))
open(os.path.join(save, "model", "weights.bin"), "wb").write(bytes(range(256)) * values["hidden"])
open("scribble", "w").write("the source is a private, writable copy")
with open(os.environ["LUDWIG_METRICS"], "a") as f:
    f.write(json.dumps({"accuracy": 0.0, "step": 1}) + "\n" + json.dumps({"accuracy": score, "step": 2}) + "\n")
subprocess.run(["ludwig", "report", "words=%d" % len(words), "step=1"], check=True)
env = {name: value for name, value in os.environ.items()}
env.update(argv=sys.argv[1:], cwd=os.getcwd(), files=sorted(os.listdir(".")), sid=os.getsid(0),
           fds=sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1],
           cpus=len(os.sched_getaffinity(0)))
with open(os.environ["SEEN"] + "/" + os.environ["LUDWIG_JOB"], "w") as f:
    json.dump(env, f)
END
mkdir corpora "$TEST_TMP/seen"
echo one two three >corpora/words.txt
cat >sweep.yaml <<END
project: demo
command: python3 train.py --lr {lr} --name {name}
source: train.py
data: [corpora]
params:
  lr: [0.1, 0.01]
  hidden: {values: [1, 2]}
  name: it's "so" \$HOME
env: {SEEN: $TEST_TMP/seen, MARK: "1 2"}
setup: |
  SET_UP="\$MARK and more"
  export SET_UP
END

submitted() {
    [ ! -e "$XDG_STATE_HOME/ludwig" ]
    ludwig_wait submit sweep.yaml --reps 2 --wait --json >"$TEST_TMP/submitted" 2>"$TEST_TMP/messages"
    json "$TEST_TMP/submitted" 'd["v"] == 1 and d["project"] == "demo" and d["configs"] == 4 and d["reps"] == 2'
    json "$TEST_TMP/submitted" 'd["jobs"] == 8 and d["reused"] == 0 and d["queued"] == 8 and d["sweep"] == 1'
}
it 'submit --wait starts what it needs, runs all, and says so in JSON' submitted

it 'nothing on stderr moves or is coloured when it is no terminal' '
    not grep -q "$(printf "[\r\033]")" "$TEST_TMP/messages"
'

status_json() {
    ludwig status 1 --json >s
    json s 'd["v"] == 1 and d["sweep"] == 1 and d["project"] == "demo" and d["state"] == "done"'
    json s 'd["user"] == __import__("pwd").getpwuid(__import__("os").getuid()).pw_name'
    json s 'd["jobs"] == {"queued": 0, "staging": 0, "running": 0, "publishing": 0, "done": 8, "failed": 0, "cancelled": 0, "held": 0, "stopped": 0}'
    json s 'all(__import__("re").fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", d[k]) for k in ("submitted_at", "ended_at"))'
    ludwig status --json >all
    json all 'd["v"] == 1 and [s["sweep"] for s in d["sweeps"]] == [1]'
}
it 'status has the JSON of the manual' status_json

jobs_json() {
    ludwig jobs 1 --json >"$TEST_TMP/jobs"
    cat >check.py <<'END'
import json, re, sys
d = json.load(open(sys.argv[1]))
assert d["v"] == 1 and len(d["jobs"]) == 8
assert [j["job"] for j in d["jobs"]] == ["1.%d" % i for i in range(1, 9)]
keys = ("job param_name job_name rep state attempt node partition exit_code signal reason "
        "queued_at started_at ended_at params run_path log_path").split()
for j in d["jobs"]:
    assert set(keys) <= set(j), set(keys) - set(j)
    assert re.fullmatch(r"param_00[1-4]", j["param_name"])
    assert j["run_path"] == "demo/runs/%s/%s" % (j["param_name"], j["job_name"])
    assert j["log_path"] == "demo/logs/1/%s_%s.log" % (j["param_name"], j["job_name"])
    assert re.fullmatch(r"\d{8}-\d{6}_num%d" % j["rep"], j["job_name"]), j["job_name"]
    assert j["state"] == "done" and j["attempt"] == 1 and j["exit_code"] == 0 and j["signal"] is None
    assert j["node"] and j["queued_at"] <= j["started_at"] <= j["ended_at"]
    assert set(j["params"]) == {"lr", "hidden", "name"}
assert sorted((j["params"]["lr"], j["params"]["hidden"], j["rep"]) for j in d["jobs"]) == sorted(
    (lr, hidden, rep) for lr in (0.1, 0.01) for hidden in (1, 2) for rep in (0, 1))
END
    python3 check.py "$TEST_TMP/jobs"
    ludwig jobs 1 --state failed --json | json - 'd["jobs"] == []'
    ludwig jobs 1 --state done --json | json - 'len(d["jobs"]) == 8'
}
it 'jobs has the JSON of the manual' jobs_json

nodes_json() {
    ludwig nodes --json >n
    json n 'd["v"] == 1 and len(d["nodes"]) == 1'
    kind=local
    [ -z "${LUDWIG_TEST_LAB-}" ] || kind=node
    json n '(lambda n: n["kind"] == "'$kind'" and n["state"] == "up" and n["cpus"] == 2 and n["gpus"] == 0 and n["memory"] == 2 << 30 and n["running"] == 0 and bool(n["node"]) and bool(n["user"]))(d["nodes"][0])'
}
it 'nodes has the JSON of the manual' nodes_json

results_json() {
    ludwig results 1 --json >"$TEST_TMP/results"
    cat >check.py <<'END'
import json, math, statistics, sys
d = json.load(open(sys.argv[1]))
assert d["v"] == 1 and len(d["results"]) == 4
for r in d["results"]:
    p = r["params"]
    lists = {
        "accuracy": [p["lr"] * 10 + p["hidden"] + 0.5 * rep for rep in (0, 1)],
        "perplexity": [100.0 + rep + p["hidden"] for rep in (0, 1)],
        "words": [3, 3],
    }
    assert r["n"] == 2 and set(r["metrics"]) == set(lists), r
    for name, values in lists.items():
        m = r["metrics"][name]
        for key, wanted in dict(mean=statistics.mean(values), std=statistics.stdev(values),
                                min=min(values), max=max(values)).items():
            assert math.isclose(m[key], wanted, rel_tol=1e-12, abs_tol=1e-12), (name, key, m, wanted)
END
    python3 check.py "$TEST_TMP/results"
}
it 'results aggregates reported, appended and CSV measures as statistics does' results_json

results_csv() {
    ludwig results 1 --csv >"$TEST_TMP/r.csv"
    cat >check.py <<'END'
import csv, json, math, sys
rows = list(csv.DictReader(open(sys.argv[1])))
wanted = json.load(open(sys.argv[2]))["results"]
assert len(rows) == 4
columns = list(rows[0])
assert "lr" in columns and "hidden" in columns, columns
assert "name" in columns, "so are parameters that are the same everywhere"
means = [c for c in columns if "accuracy" in c and "mean" in c]
assert len(means) == 1, columns
got = {(float(r["lr"]), int(r["hidden"])): float(r[means[0]]) for r in rows}
for r in wanted:
    at = (r["params"]["lr"], r["params"]["hidden"])
    assert math.isclose(got[at], r["metrics"]["accuracy"]["mean"]), at
END
    python3 check.py "$TEST_TMP/r.csv" "$TEST_TMP/results"
}
it 'results --csv has a row for each configuration and a column for what varies' results_csv

results_text() {
    ludwig results 1 >out
    grep -q accuracy out
    grep -q perplexity out
    grep -q hidden out
    not grep -q 'so.*HOME' out
    not grep -q "$(printf '\033')" out
}
it 'results shows a table without the parameters that are the same everywhere' results_text

layout() {
    cd "$SHARE/demo"
    [ "$(echo runs/*)" = 'runs/param_001 runs/param_002 runs/param_003 runs/param_004' ]
    [ -d "$SHARE/.ludwig" ]
    [ -d sweeps/1 ]
    cmp sweeps/1/sweep.yaml "$TEST_TMP/work/sweep.yaml"
    for param in 1 2 3 4; do
        [ -s runs/param_00$param/param2val.yaml ]
        [ "$(ls -d runs/param_00$param/*/ | wc -l)" = 2 ]
    done
    for run in runs/param_*/*/; do
        cmp "$run/model/weights.bin" <(python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * (1 if sys.argv[1] == "256" else 2))' \
            "$(stat -c %s "$run/model/weights.bin")")
        [ -s "$run/perplexity.csv" ]
    done
    [ ! -e failed ] || [ -z "$(find failed -type f)" ]
    [ "$(ls logs/1 | wc -l)" = 8 ]
}
it 'the share looks as the manual says' layout

param2val() {
    # Each line "name: value"; the digest of the canonical form is nobody's business here.
    cat >check.py <<'END'
import json, os, sys
share, jobs = sys.argv[1:]
for j in json.load(open(jobs))["jobs"]:
    lines = open(os.path.join(share, "demo/runs", j["param_name"], "param2val.yaml")).read().splitlines()
    got = dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    assert set(got) == {"lr", "hidden", "name"}, got
    assert float(got["lr"]) == j["params"]["lr"] and int(got["hidden"]) == j["params"]["hidden"]
END
    python3 check.py "$SHARE" "$TEST_TMP/jobs"
}
it 'param2val.yaml says which values a configuration has' param2val

job_json() {
    published demo >"$TEST_TMP/published"
    [ "$(wc -l <"$TEST_TMP/published")" = 8 ]
    # published.py hashes with Python; here is what a user would type.
    while read -r job token attempt folder; do
        [ "$attempt" = 1 ]
        [ ${#token} = 32 ]
        json "$folder/job.json" '"\n".join(f["sha256"] + "  " + f["path"] for f in d["files"])' >"$TMPDIR/sums"
        (cd "$folder" && sha256sum --strict -c "$TMPDIR/sums")
        [ "$token" = "$(json "$TEST_TMP/seen/$job" 'd["LUDWIG_ATTEMPT"]')" ]
    done <"$TEST_TMP/published"
}
it 'job.json names the attempt and its files with size and SHA-256' job_json

job_json_more() {
    local folder
    folder=$(head -n 1 "$TEST_TMP/published" | cut -d' ' -f4)
    cp "$folder/job.json" j
    json j 'd["exit_code"] == 0 and d["max_rss_bytes"] > 1 << 20 and d["cpu_seconds"] > 0 and bool(d["host"])'
    json j 'd["started_at"] <= d["ended_at"]'
    json j '"server_id" in d and len(d["server_id"]) > 0'
}
it 'job.json records host, times, CPU time and memory' job_json_more

environment() {
    cat >check.py <<'END'
import json, os, sys
jobs, seen, share, scratch = sys.argv[1:]
seeds = set()
for j in json.load(open(jobs))["jobs"]:
    e = json.load(open(os.path.join(seen, j["job"])))
    assert e["argv"] == ["--lr", str(j["params"]["lr"]), "--name", "it's \"so\" $HOME"], e["argv"]
    assert e["LUDWIG_JOB"] == j["job"] and e["LUDWIG_SWEEP"] == "1" and e["LUDWIG_PROJECT"] == "demo"
    assert e["LUDWIG_PARAM_NAME"] == j["param_name"] and e["LUDWIG_JOB_NAME"] == j["job_name"]
    assert e["LUDWIG_REP"] == str(j["rep"]) and e["LUDWIG_RESTART"] == "0"
    assert os.path.basename(e["LUDWIG_PARAM2VAL"]) == "param2val.json"
    if "LUDWIG_TEST_LAB" not in os.environ:  # else they are paths on another host
        assert os.path.realpath(e["LUDWIG_PROJECT_PATH"]) == os.path.realpath(share + "/demo")
        assert e["HOME"] == os.environ["HOME"]
    for name in ("LUDWIG_SAVE_PATH", "LUDWIG_METRICS", "LUDWIG_PARAM2VAL", "LUDWIG_DATA", "cwd", "TMPDIR"):
        path = e.get(name)
        assert path and os.path.realpath(path).startswith(os.path.realpath(scratch) + "/"), (name, path)
    assert e["PYTHONUNBUFFERED"] == "1" and e["OMP_NUM_THREADS"] == "1"
    assert e["MARK"] == "1 2" and e["SET_UP"] == "1 2 and more"
    assert "scribble" in e["files"] and "train.py" in e["files"], e["files"]
    assert e["fds"] == [0, 1, 2], e["fds"]
    assert e["cpus"] == 1 or os.cpu_count() == 1
    seeds.add(int(e["LUDWIG_SEED"]))
assert len(seeds) == 8, "each job has a seed of its own"
assert len({json.load(open(os.path.join(seen, j)))["cwd"] for j in os.listdir(seen)}) == 8
END
    python3 check.py "$TEST_TMP/jobs" "$TEST_TMP/seen" "$SHARE" "$SCRATCH"
}
it 'a job sees the environment of the manual' environment

logs() {
    local log
    ludwig logs 1.3 >out
    printf '%s\n' 'first on stdout' 'then on stderr' 'stdout again' | cmp - out
    for log in "$SHARE"/demo/logs/1/*.log; do cmp "$log" out; done
    [ "$(ludwig logs 1.3 -n 1)" = 'stdout again' ]
}
it 'logs have stdout and stderr in the order they were written' logs

it 'nothing is left on scratch but the cache' nothing_left

it 'the number of the sweep is all that submit writes to stdout' '
    id=$(ludwig_wait submit sweep.yaml --reps 2 --wait 2>/dev/null)
    [ "$id" = 2 ]
'

failing() {
    cat >fail.yaml <<'END'
project: demo2
command: exit {code}
source: []
params: {code: [0, 7]}
END
    status=0
    ludwig_wait submit fail.yaml --wait >id || status=$?
    [ $status = 1 ]
    [ "$(sweep_state "$(cat id)")" = failed ]
}
it 'submit --wait exits 1 when a job failed' failing

rings() {
    local waits=(python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x80 ludwig submit sweep.yaml --wait --reps)
    env -u TMUX -u STY -u TERM_PROGRAM TERM=xterm WT_SESSION=1 "${waits[@]}" 2 >shown
    grep -qaF $'\033]9;4;1;100\033\\' shown
    grep -qaF $'\033]9;4;0;0\033\\' shown
    grep -qaE $'\033]2;[0-9]+ % of sweep [0-9]+\033' shown
    [ "$(tail -c 1 shown)" = $'\a' ]
    # Jobs that are reused count among all.
    env -u TMUX -u STY -u TERM_PROGRAM TERM=xterm WT_SESSION=1 "${waits[@]}" 3 >shown
    grep -aoE $'\033]9;4;1;[0-9]+' shown | awk -F';' '{ print; if ($4 > 100) exit 1 }'
    # Not where it would be shown as text.
    env -u TMUX -u STY -u TERM_PROGRAM -u VTE_VERSION -u ConEmuANSI TERM=linux "${waits[@]}" 2 >shown
    not grep -qaF $'\033]' shown
    TERM=dumb "${waits[@]}" 2 >shown
    not grep -qa $'\a' shown
}
it 'submit --wait rings at its end, and tells a terminal that knows it how far it is' rings

git_state() {
    command -v git >/dev/null || return 0
    mkdir repo && cd repo
    git init -q . && echo 'exit 0' >run.sh
    printf 'project: versioned\ncommand: sh run.sh\nsource: run.sh\n' >sweep.yaml
    git add . && git -c user.name=n -c user.email=e commit -qm one
    clean=$(ludwig_wait submit sweep.yaml --wait)
    echo 'exit  0' >run.sh
    dirty=$(ludwig_wait submit sweep.yaml --wait)
    for sweep in $clean $dirty; do
        folder=$SHARE/$(job "$sweep.1" 'j["run_path"]')
        [ "$(json "$folder/job.json" 'd["git"]["commit"]')" = "$(git rev-parse HEAD)" ]
        json "$folder/job.json" "d['git']['dirty'] is $([ "$sweep" = "$dirty" ] && echo True || echo False)"
    done
}
it 'job.json says which commit the source was, and whether it had changes' git_state

slow_git() {
    command -v ssh >/dev/null || return 0
    mkdir "$TEST_TMP/slow" && printf '#!/bin/sh\nexec sleep 97\n' >"$TEST_TMP/slow/git"
    chmod +x "$TEST_TMP/slow/git"
    not env "PATH=$TEST_TMP/slow:$PATH" LUDWIG_SERVER=ssh://127.0.0.1:1 timeout 30 ludwig submit sweep.yaml 2>err
    cat err
    grep -q 'refused' err
    [ -z "$(pids_of git)$(pids_of 97)" ]
}
it 'a submit that fails does not wait for a slow git, and leaves none behind' slow_git

minimal() {
    cat >dry.yaml <<'END'
project: dry
command: echo {a} {b}
source: []
params: {a: [1, 2, 3], b: [1, 2]}
debug: {b: 9}
END
    ludwig submit dry.yaml --dry-run >out
    [ ! -e "$SHARE/dry" ]
    id=$(ludwig_wait submit dry.yaml --minimal --wait)
    ludwig jobs "$id" --json | json - '[j["params"] for j in d["jobs"]] == [{"a": 1, "b": 9}]'
    id=$(ludwig_wait submit dry.yaml --set a=5 --set b=[6,7] --name mine --wait)
    ludwig jobs "$id" --json | json - '[j["params"] for j in d["jobs"]] == [{"a": 5, "b": 6}, {"a": 5, "b": 7}]'
    ludwig status "$id" | grep -q mine
}
it 'submit obeys --dry-run, --minimal, --set and --name' minimal

left_out() {
    mkdir -p beside
    printf 'project: beside\ncommand: cat model.yaml\n' | tee beside/sweep.yaml >beside/other.yaml
    printf 'command: run\nlr: 3\n' >beside/model.yaml
    id=$(ludwig_wait submit beside/sweep.yaml --wait 2>err)
    grep -q '^note: not sent to the jobs: other.yaml (a sweep file)\. List them under source: ' err
    [ "$(grep -c 'not sent to the jobs' err)" = 1 ]
    ludwig logs "$id.1" | grep -qx 'lr: 3'
}
it 'a sweep file beside it is left out, which is said; a map of the program is not' left_out

without_file() {
    mkdir alone && cd alone
    printf 'import sys\nopen(sys.argv[1], "w").write(repr(sys.argv[2:]))\n' >save.py
    ludwig submit --dry-run -- python3 save.py x '{lr}' "it's" >out
    grep -qx "command   python3 save.py x '{lr}' 'it'\\\\''s'" out
    ludwig_wait submit --name one --wait --json -- sh -c 'cd "$LUDWIG_SAVE_PATH" && exec python3 "$OLDPWD/save.py" seen "$@"' \
        - '{lr}' "it's" '$(id)' 'a;b' 0.1 >s
    json s 'd["project"] == "alone" and d["jobs"] == 1'
    [ "$(cat "$SHARE"/alone/runs/param_001/*/seen)" = "['{lr}', \"it's\", '\$(id)', 'a;b', '0.1']" ]
    not ludwig submit save.py more 2>err
    grep -q "'more' is one argument too many; .*ludwig submit \[OPTION\]... -- COMMAND" err
    not ludwig submit --param2vals x.jsonl -- python3 save.py x 2>err
    grep -q 'goes with a sweep file' err
}
it 'a command behind -- is a sweep of one job' without_file

it 'version and help work without a server' '
    ludwig down
    ludwig version | grep -q "$(cat "$TEST_ROOT/VERSION")"
    ludwig help | grep -q submit
    ludwig help submit | grep -q -e --reps
    ludwig submit --help | grep -q -e --wait
    [ -z "$(pids_of ludwigd)" ]
'

done_testing
