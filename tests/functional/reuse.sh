#!/bin/bash
# reuse.sh - what is done already and has not changed is not done again
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
write_job 'echo "$1" >"$LUDWIG_SAVE_PATH/value.csv"'
mkdir data && echo a >data/a
sweep() { # LINE...: more of, or instead of, the usual
    printf '%s\n' "$@" >sweep.yaml
    local line
    for line in 'project: p' 'command: sh job.sh {a}' 'source: job.sh' 'data: [data]' 'params: {a: [1, 2]}'; do
        grep -q "^${line%%:*}:" sweep.yaml || echo "$line" >>sweep.yaml
    done
}

# Submits, waits, and compares [jobs, reused, queued] and how many jobs ran.
runs() { # JOBS REUSED QUEUED ARGUMENT...
    local wanted="[$1, $2, $3]" queued=$3 before
    shift 3
    before=$(recorded '^end ')
    ludwig_wait submit sweep.yaml --wait --json "$@" >s
    [ "$(json s '[d["jobs"], d["reused"], d["queued"]]')" = "$wanted" ] || { cat s && return 1; }
    [ $(($(recorded '^end ') - before)) = "$queued" ]
}

it 'two replications more run two more jobs for each configuration' '
    sweep
    runs 4 0 4 --reps 2
    runs 8 4 4 --reps 4
    published p >/dev/null
    [ "$(ls -d "$SHARE"/p/runs/param_001/*/ | wc -l)" = 4 ]
'

it 'nothing runs when nothing changed, and the sweep is done at once' '
    runs 8 8 0 --reps 4
    [ "$(sweep_state 3)" = done ]
    runs 2 2 0 --reps 1
'

it 'results of a sweep show the jobs it reused' '
    ludwig results 3 --json >r
    json r "[x[\"n\"] for x in d[\"results\"]] == [4, 4]"
'

it 'a touched file with the same content changes nothing' '
    touch -d "1 hour ago" job.sh data/a
    runs 4 4 0 --reps 2
'

it 'more resources, another name and another priority change nothing' '
    sweep "resources: {cpus: 2, time: 1h}" "priority: 5"
    runs 4 4 0 --reps 2 --name other
'

it 'a changed source runs all again' '
    sweep
    echo "# changed" >>job.sh
    runs 4 0 4 --reps 2
'

it 'a changed command runs all again' '
    sweep "command: sh job.sh {a} "
    sweep "command: sh job.sh {a} again"
    runs 4 0 4 --reps 2
    runs 4 4 0 --reps 2
'

it 'a changed environment or setup runs all again' '
    sweep "env: {X: 1}"
    runs 2 0 2
    sweep "env: {X: 2}"
    runs 2 0 2
    sweep "setup: \"true\""
    runs 2 0 2
    runs 2 2 0
'

it 'changed data run all again' '
    sweep
    runs 2 2 0
    echo b >data/a
    runs 2 0 2
    runs 2 2 0
    mv data/a data/b
    runs 2 0 2
'

it 'going back to what was done before reuses that' '
    mv data/b data/a
    echo a >data/a
    runs 2 2 0
'

it '--reuse params looks at the configuration alone' '
    echo "# changed again" >>job.sh
    runs 2 2 0 --reuse params
'

it 'that jobs were done otherwise is noted' '
    sweep
    echo "# changed once more" >>job.sh
    ludwig_wait submit sweep.yaml --wait 2>err >out
    grep -q "^note: 2 of its jobs finished earlier with the same parameters but a .*; --reuse params accepts those$" err
    ludwig_wait submit sweep.yaml --wait 2>err >out
    not grep -q "^note:" err
    sed -i "\$d" job.sh
'

it '--reuse none runs all' '
    sweep
    runs 2 0 2 --reuse none
    runs 2 0 2 --reuse none
'

failed_again() {
    printf 'project: f\ncommand: test -e %s/now\nsource: []\n' "$TEST_TMP" >sweep.yaml
    status=0
    ludwig_wait submit sweep.yaml --wait >id || status=$?
    [ $status = 1 ]
    touch "$TEST_TMP/now"
    ludwig_wait submit sweep.yaml --wait --json >s
    json s 'd["reused"] == 0 and d["queued"] == 1'
}
it 'a job that failed is not reused' failed_again

# ---- numbers ----

names() { # SWEEP: "PARAM_NAME PARAMS" of its configurations
    ludwig results "$1" --json | json - '"\n".join(r["param_name"] + " " + str(sorted(r["params"].items())) for r in d["results"])'
}

numbers() {
    printf 'project: n\ncommand: echo {a} {b}\nsource: []\nparams: {a: [1, 2], b: [x, y]}\n' >sweep.yaml
    first=$(ludwig_wait submit sweep.yaml --wait)
    # Other order of keys and values, one more value, and numbers that are equal.
    printf 'project: n\ncommand: echo {a} {b}\nsource: []\nparams: {b: [y, x, z], a: [2.0, 1.0]}\n' >sweep.yaml
    ludwig_wait submit sweep.yaml --reuse params --wait --json >s
    json s 'd["configs"] == 6 and d["reused"] == 4 and d["queued"] == 2'
    second=$(json s 'd["sweep"]')
    ludwig results "$first" --json >r1
    ludwig results "$second" --json >r2
    cat >check.py <<'END'
import json
numbers = [{tuple(sorted(r["params"].items())): r["param_name"] for r in json.load(open(f))["results"]}
           for f in ("r1", "r2")]
assert sorted(numbers[0].values()) == ["param_00%d" % i for i in (1, 2, 3, 4)], numbers
assert len(numbers[1]) == 6
for params, name in numbers[0].items():
    assert numbers[1][params] == name, (params, name, numbers[1])
assert sorted(set(numbers[1].values()) - set(numbers[0].values())) == ["param_005", "param_006"]
END
    python3 check.py
}
it 'a configuration keeps its number, whatever the order of keys and however a number is written' numbers

types_differ() {
    printf 'project: t\ncommand: echo {a}\nsource: []\nparams: {a: [1, "1", true, null, 1.5, -0.0, 0, [1], {b: 1}]}\n' >sweep.yaml
    ludwig_wait submit sweep.yaml --wait --json >s
    # -0.0 equals 0, as 1 equals 1.0; the text "1" equals neither.
    json s 'd["jobs"] == 8'
}
it 'texts, numbers, truth values, lists and maps are different values' types_differ

duplicates() {
    printf 'project: d\ncommand: echo {a}\nsource: []\nparams: {a: [3, 3.0, 4, 3]}\n' >sweep.yaml
    ludwig_wait submit sweep.yaml --reps 2 --wait --json >s
    json s 'd["jobs"] == 4 and d["queued"] == 4'
    [ "$(echo "$SHARE"/d/runs/*)" = "$SHARE/d/runs/param_001 $SHARE/d/runs/param_002" ]
    published d >/dev/null
}
it 'equal values in a list are one configuration' duplicates

many_numbers() {
    printf 'project: m\ncommand: "true"\nsource: []\nnodes: []\nparams: {a: [%s]}\n' "$(seq -s, 1 1001)" >sweep.yaml
    id=$(submit sweep.yaml)
    ludwig jobs "$id" --json | json - 'd["jobs"][0]["param_name"] == "param_001" and d["jobs"][-1]["param_name"] == "param_1001"'
    ludwig cancel "$id"
}
it 'numbers grow beyond three digits' many_numbers

two_at_once() {
    printf 'project: c\ncommand: sleep 0.3\nsource: []\nparams: {a: [1, 2]}\n' >sweep.yaml
    timeout 300 ludwig submit sweep.yaml --wait >a &
    timeout 300 ludwig submit sweep.yaml --wait >b &
    wait
    [ "$(cat a)" != "$(cat b)" ]
    published c >/dev/null
    # Names are of the job, not of the second it was submitted in.
    [ "$(ls -d "$SHARE"/c/runs/*/*/ | wc -l)" = "$(($(ludwig status "$(cat a)" --json | json - 'd["jobs"]["done"]') +
        $(ludwig status "$(cat b)" --json | json - 'd["jobs"]["done"]')))" ]
}
it 'the same sweep submitted twice at once gives each job a folder of its own' two_at_once

it 'nothing is left on scratch' nothing_left

told() {
    mkdir told && cd told
    printf 'project: told\ncommand: sh train.sh {a}\nparams: {a: [1, 2]}\nreuse: {ignore: [README.md, notebooks/]}\n' >sweep.yaml
    mkdir lib notebooks wandb
    echo 'exit 0' | tee train.sh lib/a lib/b old >README.md
    ludwig_wait submit sweep.yaml --wait 2>../err >../id
    grep -q '^note: not sent to the jobs: wandb/ (written by runs)[.,]' ../err
    # What does not count runs nothing again.
    echo more | tee -a README.md >notebooks/a.ipynb
    ludwig_wait submit sweep.yaml --json 2>../err | json - 'd["reused"] == 2'
    # Nor do pages and pictures of its results.
    echo 'echo "{\"accuracy\": 0.$1}" >>"$LUDWIG_METRICS"' >../measure.sh
    printf 'project: measured\ncommand: sh measure.sh {a}\nsource: measure.sh\nparams: {a: [1, 2]}\n' >../measure.yaml
    measured=$(ludwig_wait submit ../measure.yaml --wait)
    for form in '--html sweep.html' '--optuna study.log'; do
        # shellcheck disable=SC2086 # words
        ludwig results "$measured" $form
    done
    for form in svg pdf png; do
        ludwig plot "$measured" -o "sweep.$form"
    done
    ludwig_wait submit sweep.yaml --json 2>../err | json - 'd["reused"] == 2'
    for name in sweep.html study.log sweep.svg sweep.pdf sweep.png; do
        grep -q "$name (written by ludwig)" ../err
    done
    last=$(ludwig status last --json | json - 'd["sweep"]')
    echo '# more' >>train.sh
    rm old
    echo x >log.txt
    ludwig submit sweep.yaml --dry-run >../out
    what="train.sh changed since sweep $last; log.txt is new; old is gone"
    grep -qx "changed   $what" ../out
    ludwig_wait submit sweep.yaml 2>../err >../id
    grep -qx "note: 2 of its jobs finished earlier with the same parameters but a different command, source or data ($what); --reuse params accepts those" ../err
    # The source is not what has changed.
    sed -i 's/{a}/{a} x/' sweep.yaml
    ludwig_wait submit sweep.yaml 2>../err >../id
    grep -q 'different command, source or data; --reuse params' ../err
}
it 'what has changed in the source since is told, and what reuse: ignores does not count' told

done_testing
