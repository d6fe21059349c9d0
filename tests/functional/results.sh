#!/bin/bash
# results.sh - what jobs measured, as a table, JSON, CSV and series
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 2GiB}'

# Accuracy rises and falls again, so that the best value is not the last one.
cat >job.sh <<'END'
for step in 1 2 3; do
    echo "{\"accuracy\": 0.$1$step, \"loss\": $1.$LUDWIG_REP, \"step\": $step}" >>"$LUDWIG_METRICS"
done
echo "{\"accuracy\": 0.$1, \"step\": 4}" >>"$LUDWIG_METRICS"
printf ',score\n10,%s.5\n20,%s.%s\n' "$1" "$1" "$LUDWIG_REP" >"$LUDWIG_SAVE_PATH/score.csv"
[ "$1$LUDWIG_REP" != 51 ] || { echo broken; exit 3; }
END
cat >sweep.yaml <<'END'
project: demo
command: sh job.sh {x}
source: job.sh
params: {x: [3, 7, 5], fixed: same}
reps: 4
END

ran() {
    not ludwig_wait submit sweep.yaml --wait >id
    [ "$(cat id)" = 1 ]
    [ "$(jobs_in failed 1)" = 1 ]
    ludwig results 1 --json >"$TEST_TMP/results"
    ludwig results 1 --csv >"$TEST_TMP/results.csv"
}
it 'a sweep of three configurations runs, one job of which fails' ran

numbers() {
    cat >check.py <<'END'
import csv, json, math, statistics, sys
d = json.load(open(sys.argv[1]))
rows = {r["param_name"]: r for r in csv.DictReader(open(sys.argv[2]))}
assert d["v"] == 1 and len(d["results"]) == 3 == len(rows)

def quartiles(values):
    values = sorted(values)
    return [values[0]] * 3 if len(values) == 1 else statistics.quantiles(values, n=4, method="inclusive")

for r in d["results"]:
    x = r["params"]["x"]
    reps = [rep for rep in range(4) if (x, rep) != (5, 1)]
    assert r["n"] == len(reps) and r["failed"] == 4 - len(reps) and r["cancelled"] == r["left"] == 0
    assert (r["reason"] is None) == (r["failed"] == 0), r
    last = {"accuracy": [float("0.%d" % x)] * len(reps), "loss": [float("%d.%d" % (x, rep)) for rep in reps],
            "score": [float("%d.%d" % (x, rep)) for rep in reps]}
    best = {"accuracy": [float("0.%d3" % x)] * len(reps), "loss": last["loss"],
            "score": [float("%d.5" % x)] * len(reps)}
    assert set(r["metrics"]) == set(last)
    for name in last:
        m = r["metrics"][name]
        for prefix, values in (("", last[name]), ("best_", best[name])):
            q1, median, q3 = quartiles(values)
            wanted = dict(mean=statistics.mean(values), std=statistics.stdev(values), min=min(values), q1=q1,
                          median=median, q3=q3, max=max(values))
            for key, value in wanted.items():
                assert math.isclose(m[prefix + key], value, rel_tol=1e-12, abs_tol=1e-12), (name, prefix + key, m, value)
                if prefix == "":
                    cell = rows[r["param_name"]]["%s_%s" % (name, key)]
                    assert math.isclose(float(cell), value, rel_tol=1e-12, abs_tol=1e-12), (name, key, cell)
        assert math.isclose(float(rows[r["param_name"]][name + "_best"]), m["best_mean"])
        assert m["goal"] == ("min" if name == "loss" else "max")
    assert rows[r["param_name"]]["failed"] == str(r["failed"]) and rows[r["param_name"]]["x"] == str(x)
    assert "fixed" in rows[r["param_name"]]
END
    python3 check.py "$TEST_TMP/results" "$TEST_TMP/results.csv"
}
it 'statistics of last and best values are those of Python, in JSON and CSV' numbers

table() {
    ludwig results 1 >out
    grep -q 'CONFIGURATION  *x  *N  *accuracy  *best  *loss  *score  *NOTES' out
    grep -qE 'param_003 +5 +3 .*1 failed: exit code 3' out
    grep -q '^1 job failed' out
    grep -q '^\* best by mean accuracy (highest)$' out
    grep -q '^best: jobs 1.5, 1.6, 1.7, 1.8 (ludwig logs 1.5)$' out
    [ "$(grep -c '^\*  param_' out)" = 1 ]
    grep -qE '^\* +param_002 +7 ' out
    [ "$(grep -oE 'param_00[123]' out | tr '\n' ' ')" = 'param_001 param_002 param_003 ' ]
}
jobs() {
    json "$TEST_TMP/results" '[r["jobs"] for r in d["results"]] == [["1.%d" % (4 * i + k) for k in (1, 2, 3, 4)] for i in range(3)]'
    [ "$(head -n 1 "$TEST_TMP/results.csv" | cut -d, -f1-14)" = \
        param_name,x,fixed,n,failed,cancelled,stopped,left,reason,jobs,max_rss_bytes,cpu_seconds,gpu_memory_bytes,gpu_percent ]
    grep -q '^param_001,3,same,4,0,0,0,0,,1.1 1.2 1.3 1.4,' "$TEST_TMP/results.csv"
    # Of one that failed the jobs that did not are named.
    ludwig results 1 --where 'x = 5' >out
    grep -qE '^best: jobs (1\.[0-9]+, ){2}1\.[0-9]+ \(ludwig logs 1' out
    # Another sweep that only takes these over has no jobs of its own, and no logs.
    ludwig_wait submit sweep.yaml --set x=3 --wait >id
    ludwig results "$(cat id)" >out
    grep -q '^best: jobs 1.1, 1.2, 1.3, 1.4 ' out
    not grep -q '^logs ' out
    ludwig results 1 >out
    grep -q "^logs .*/logs/1/\$" out
}
it 'jobs are named, and logs are where the sweep has some' jobs

it 'the table marks the best and tells of failed jobs, in the order of the sweep' table

sorted() {
    order() { ludwig results 1 "$@" --json | json - '[r["params"]["x"] for r in d["results"]]'; }
    [ "$(order --sort accuracy)" = '[7, 5, 3]' ]
    [ "$(order --sort loss)" = '[3, 5, 7]' ]
    [ "$(order --sort loss --goal max)" = '[7, 5, 3]' ]
    [ "$(order --sort accuracy --goal min)" = '[3, 5, 7]' ]
    [ "$(order --sort loss --top 2)" = '[3, 5]' ]
    [ "$(order --top 1)" = '[7]' ]
    ludwig results 1 --sort loss --top 1 --json | json - 'd["metric"] == "loss" and d["goal"] == "min" and d["results"][0]["best"]'
    ludwig results 1 --top 2 >out
    grep -q '^2 of 3 configurations$' out
}
it '--sort, --goal and --top put the best first' sorted

detail() {
    ludwig results 1 --metric loss,score >out
    not grep -q accuracy out
    grep -q 'loss  *best  *median  *quartiles  *score  *best  *median  *quartiles' out
    grep -qE ' 3\.15 +3\.0[78] \.\. 3\.2[23] ' out
    ludwig results 1 -m loss -m score --json | json - 'all(list(r["metrics"]) == ["loss", "score"] for r in d["results"])'
    ludwig results 1 --metric loss --csv >out.csv
    grep -q ',loss_n,' out.csv
    not grep -q score out.csv
}
it '--metric shows these measures, in detail' detail

where() {
    of() { ludwig results 1 --where "$1" --json | json - '[r["params"]["x"] for r in d["results"]]'; }
    [ "$(of 'x > 3')" = '[7, 5]' ]
    [ "$(of 'failed = 0 and accuracy > 0.5')" = '[7]' ]
    [ "$(of 'reason = null')" = '[3, 7]' ]
    ludwig results 1 --where 'x = 5' >out
    grep -q '^1 of 3 configurations$' out
    grep -qE '^\* +param_003 +5 ' out
    ludwig results 1 --where 'x = 5' --csv >out
    grep -q '^param_name,x,fixed,n,' out
    grep -q '^param_003,5,same,3,' out
    ludwig results 1 --where 'x = 8' >out
    [ "$(head -n 1 out)" = 'no configuration matches' ]
    not grep -q CONFIGURATION out
    not ludwig results 1 --where 'y = 5' 2>err
    grep -q "'y'" err
    not ludwig results 1 --where 'x >' 2>err
}
where_reps() {
    ludwig results 1 --where 'rep < 2' --json | json - 'all(r["n"] <= 2 for r in d["results"]) and len(d["results"]) == 3'
    ludwig results 1 --where 'rep = 0 and accuracy > 0.5' --csv >out
    [ "$(wc -l <out)" = 2 ]
    grep -q '^param_002,7,same,1,' out
    not ludwig results 1 --where 'rep = 0 and acuracy > 0.5' 2>err
    grep -q "no job has 'acuracy' (did you mean 'accuracy'?)" err
    not ludwig results 1 --where 'state = faild' 2>err
    grep -q "state is never 'faild' (did you mean 'failed'?)" err
}
it '--where rep, job or state chooses jobs' where_reps
it '--where leaves configurations out, by parameters, means and counts' where

mistakes() {
    for words in '--sort accurcy' '--metric accurcy' '--goal best' '--json --csv' '--series loss --top 2' '--top 0'; do
        status=0
        # shellcheck disable=SC2086 # one word each
        ludwig results 1 $words >out 2>err || status=$?
        [ $status = 2 ]
        [ ! -s out ]
        [ "$(wc -l <err)" = 1 ]
    done
    ludwig results 1 --sort accurcy 2>&1 | grep -q "did you mean 'accuracy'"
    for option in sort metric; do
        not ludwig results 1 --$option f1 2>err
        grep -q "^ludwig: --$option: no job reported 'f1'; there are accuracy, loss, score\$" err
    done
}
it 'mistakes are told in one line, with exit code 2' mistakes

series() {
    ludwig results 1 --series accuracy >s.csv
    ludwig results 1 --series accuracy --json >s.json
    cat >check.py <<'END'
import csv, json, sys
rows = list(csv.DictReader(open("s.csv")))
assert list(rows[0]) == ["job", "param_name", "rep", "x", "fixed", "step", "value"], list(rows[0])
assert len(rows) == 12 * 4, len(rows) # what the failed one reported, too
for row in rows:
    wanted = float("0.%s" % row["x"] if row["step"] == "4" else "0.%s%s" % (row["x"], row["step"]))
    assert float(row["value"]) == wanted, row
by_job = {}
for row in rows:
    by_job.setdefault(row["job"], []).append(int(row["step"]))
assert all(steps == [1, 2, 3, 4] for steps in by_job.values()), by_job
objects = json.load(open("s.json"))
assert objects["v"] == 1 and len(objects["series"]) == len(rows)
for row, o in zip(rows, objects["series"]):
    assert o["job"] == row["job"] and o["rep"] == int(row["rep"]) and o["step"] == int(row["step"])
    assert o["value"] == float(row["value"]) and o["params"] == {"x": int(row["x"]), "fixed": "same"}
END
    python3 check.py
    ludwig results 1 --series score --where 'x = 7 and rep = 0' >s.csv
    printf '%s\n' job,param_name,rep,x,fixed,step,value 1.5,param_002,0,7,same,10,7.5 1.5,param_002,0,7,same,20,7.0 |
        cmp - s.csv
}
it '--series prints every value in long form, from lines of JSON and from CSV' series

missing() {
    for words in '--series nothing' '--series acuracy --json'; do
        status=0
        # shellcheck disable=SC2086 # one word each
        ludwig results 1 $words >out 2>err || status=$?
        [ $status = 1 ]
        [ ! -s out ]
        [ "$(wc -l <err)" = 1 ]
        grep -q 'there are accuracy, loss, score' err
    done
    grep -q "'acuracy' (did you mean 'accuracy'?)" err
    run=$SHARE/$(job 1.1 'j["run_path"]')
    mv "$run/metrics.jsonl" kept
    ludwig results 1 --series accuracy >s.csv 2>err
    [ "$(grep -c '^1\.' s.csv)" = 44 ]
    grep -q '^note: job 1.1 ' err
    other=$SHARE/$(job 1.2 'j["run_path"]')
    mv "$other/metrics.jsonl" kept2
    ludwig results 1 --series accuracy >s.csv 2>err
    grep -q ', nor has 1 other of the 11 jobs that are done$' err
    mv kept2 "$other/metrics.jsonl"
    mv kept "$run/metrics.jsonl"
}
it 'a job without the series is told once, and the others are printed' missing

ranked() {
    sed 's/demo/ranked/' sweep.yaml >ranked.yaml
    echo 'results: {metric: loss, goal: max}' >>ranked.yaml
    not ludwig_wait submit ranked.yaml --wait >id
    ludwig results last >out
    grep -q '^\* best by mean loss (highest)$' out
    [ "$(grep -oE 'param_00[123]' out | tr '\n' ' ')" = 'param_002 param_003 param_001 ' ]
    head -n 1 out | grep -qE 'N +loss +accuracy'
    [ "$(ludwig results last --goal min --json | json - '[r["params"]["x"] for r in d["results"]]')" = '[3, 5, 7]' ]
    ludwig results last --json | json - 'd["metric"] == "loss" and d["goal"] == "max"'
}
it 'results: in the sweep file says by what results are ranked' ranked

guessed() {
    printf 'project: guessed\ncommand: ludwig report val_mse={x}\nparams: {x: [3, 1, 2]}\n' >guessed.yaml
    echo 'results: {metric: val_mse}' >>guessed.yaml
    ludwig_wait submit guessed.yaml --wait >id
    ludwig results last >out
    grep -q '^\* best by mean val_mse (lowest)$' out
    grep -qE '^\* +param_002 +1 ' out
    sed 's/val_mse/thing/' guessed.yaml >unknown.yaml
    not ludwig submit unknown.yaml --dry-run 2>err
    grep -q '^ludwig: unknown.yaml:4:19: results: the name thing .*; add goal: max or goal: min$' err
    sed -i '4s/.*/results: {metric: val_mse, goal: maximize}/' guessed.yaml
    ludwig_wait submit guessed.yaml --wait >id
    ludwig results last >out
    grep -q '^\* best by mean val_mse (highest)$' out
}
it 'without goal: the name of the measure says which values are best, or it has to be said' guessed

unfinished() {
    cat >gate.yaml <<END
project: unfinished
command: sh gate.sh {x}
source: gate.sh
params: {x: [1, 2]}
resources: {cpus: 2}
END
    cat >gate.sh <<END
[ \$1 = 1 ] || until [ -e $TEST_TMP/gates/go ]; do sleep 0.3; done
ludwig report m=\$1
END
    id=$(submit gate.yaml)
    wait_until 20 "[ \$(jobs_in done $id) = 1 ]"
    ludwig results "$id" >out
    grep -qE 'param_002 +2 +0 +- +1 not over' out
    grep -q '^1 job is not over yet$' out
    ludwig results "$id" --json | json - '[(r["n"], r["left"]) for r in d["results"]] == [(1, 0), (0, 1)]'
    open go
    wait_until 20 ended "$id"
}
it 'configurations that are not over are listed as such' unfinished

narrow() {
    cat >wide.sh <<'END'
ludwig report a_long_name_of_a_measure=1.5 another_long_name=2.5 the_third_of_them=3.5 accuracy=4.5 number_five=5
END
    printf 'project: wide\ncommand: sh wide.sh {x}\nsource: wide.sh\nparams: {x: [1, 2]}\nreps: 2\n' >wide.yaml
    ludwig_wait submit wide.yaml --wait >id
    python3 - "$(cat id)" >out <<'END'
import os, pty, struct, fcntl, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execvp("ludwig", ["ludwig", "results", sys.argv[1]])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
text = b""
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    text += piece
sys.stdout.write(text.decode())
END
    # The width may be set a moment too late; then it is a terminal of 80 columns.
    grep -q 'accuracy' out
    grep -q 'more measures do not fit' out
    [ "$(sed 's/\x1b\[[0-9;]*m//g; s/\r//' out | grep -v / | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 80 ]
}
it 'a table fits the terminal, with the measure that counts first' narrow

unmeasured() {
    printf 'project: unmeasured\ncommand: "true"\nsource: []\nparams: {x: [3, 1, 2]}\n' >unmeasured.yaml
    id=$(ludwig_wait submit unmeasured.yaml --wait)
    ludwig results "$id" --top 2 >out 2>err
    [ "$(grep -oE 'param_00[123]' out | tr '\n' ' ')" = 'param_001 param_002 ' ]
    grep -q '^note: no job has reported a measure' err
    [ "$(wc -l <err)" = 1 ]
    [ "$(ludwig results "$id" --top 2 --json 2>err | json - '[r["params"]["x"] for r in d["results"]]')" = '[3, 1]' ]
}
it '--top without a measure lists the first, with a note' unmeasured

diverged() {
    cat >nan.sh <<'END'
ludwig report accuracy=0.9 step=1
[ "$1" = 1 ] || ludwig report accuracy=0.8 loss=1 step=2
[ "$1$LUDWIG_REP" != 10 ] || ludwig report accuracy=nan step=2
[ "$1" != 3 ] || ludwig report loss=inf accuracy=-inf
END
    printf 'project: nan\ncommand: sh nan.sh {x}\nsource: nan.sh\nparams: {x: [1, 2, 3]}\nreps: 2\n' >nan.yaml
    id=$(ludwig_wait submit nan.yaml --wait)
    run=$SHARE/$(job "$id.1" 'j["run_path"]')
    json "$run/job.json" 'd["metrics"] == {"accuracy": None} and d["metric_ranges"]["accuracy"]["max"] == 0.9'
    run=$SHARE/$(job "$id.5" 'j["run_path"]')
    json "$run/job.json" 'd["metrics"] == {"accuracy": None, "loss": None}'
    ludwig results "$id" --sort accuracy >out
    grep -qE '^ +param_001 +1 +2 +nan .*1 nan$' out
    grep -qE '^ +param_003 +3 +2 +nan .*nan .*2 nan$' out
    grep -qE '^\* +param_002 ' out
    [ "$(grep -oE 'param_00[123]' out | head -n 1)" = param_002 ]
    ludwig results "$id" --json >nan.json
    json nan.json '[r["metrics"]["accuracy"]["nan"] for r in d["results"]] == [1, 0, 2]'
    json nan.json '[r["metrics"]["accuracy"]["mean"] for r in d["results"]] == [None, 0.8, None]'
    json nan.json 'd["results"][2]["metrics"]["loss"]["nan"] == 2'
    not grep -qi 'nan[^"]' nan.json
    ludwig results "$id" --csv >nan.csv
    grep -qE '^param_001,1,2,0,0,0,0,,[0-9. ]+,[0-9]+,[0-9.]+,,,2,1,,,' nan.csv
    ludwig results "$id" --series accuracy --json | json - '[s["value"] for s in d["series"]][:2] == [0.9, None]'
}
it 'a job that diverged is told, and never looks good' diverged

done_testing
