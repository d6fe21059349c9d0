#!/bin/bash
# best.sh - the best configuration, alone and run again; the values of one parameter; two sweeps compared
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 2GiB}'
cat >job.sh <<'END'
case $1 in 0.01) a=7 ;; 0.1) a=9 ;; 1.0) a=5 ;; *) echo "ValueError: learning rate $1 is too big"; exit 1 ;; esac
ludwig report "accuracy=0.$a$2$LUDWIG_REP"
END
cat >sweep.yaml <<'END'
project: demo
command: sh job.sh {lr} {h}
source: job.sh
params: {lr: [0.1, 0.01, 1.0], h: [1, 2], fixed: [[1, 2]]}
reps: 2
END

ran() {
    ludwig_wait submit sweep.yaml --wait >id
    [ "$(cat id)" = 1 ]
}
it 'a sweep of six configurations runs' ran

best() {
    ludwig best 1 >out
    grep -q '^param_002: accuracy 0.9205 ± 0.00071, the highest mean of 6 configurations (jobs 1.3, 1.4)$' out
    grep -q '^  lr: 0.1$' out
    ludwig best --yaml >best.yaml
    python3 -c 'import yaml; assert yaml.safe_load(open("best.yaml")) == {"lr": 0.1, "h": 2, "fixed": [1, 2]}'
    ludwig best last --json >b
    json b 'd["metric"] == "accuracy" and len(d["results"]) == 1 and d["results"][0]["best"]'
    json b 'd["results"][0]["params"] == {"lr": 0.1, "h": 2, "fixed": [1, 2]}'
    ludwig best 1 --goal min | grep -q '^param_005: accuracy 0.5105 .* the lowest mean'
    not ludwig best 1 --sort accurac 2>err
    grep -q "did you mean 'accuracy'" err
    not ludwig best 1 --yaml --json
}
it 'the best configuration is shown, as text, YAML and JSON' best

again() {
    ludwig_wait submit sweep.yaml --from 1 --top 2 --reps 3 --wait >id 2>err
    grep -q 'best of sweep 1: param_002, with a mean accuracy of 0.9205$' err
    grep -q '^sweep 2: 2 configurations x 3 = 6 jobs (4 reused, 2 queued)' err
    ludwig results 2 --json >r
    json r '[(c["param_name"], c["n"]) for c in d["results"]] == [("param_002", 3), ("param_001", 3)] or d'
    not ludwig submit sweep.yaml --top 2 2>err
    grep -q 'top goes with --from' err
    not ludwig submit sweep.yaml --from 1 --set lr=1 2>err
    not ludwig submit sweep.yaml --from 1 --param2vals x 2>err
    grep -q 'either --from or --param2vals' err
    not ludwig submit sweep.yaml --from 77 2>err
    grep -q 'sweep 77' err
    ludwig submit sweep.yaml --from 1 -n | grep -q '^configs* .*1'
}
it 'the best ones of a sweep run again, with more replications' again

by() {
    ludwig results 1 --by lr >out
    grep -qE '^ +lr +N +accuracy' out
    not grep -q 'CONFIGURATION\|param_00' out
    # In the order of the values, and the best one marked.
    [ "$(sed -n '2,4p' out | grep -oE '^\*? +[0-9.]+ ' | tr -d ' ')" = "$(printf '0.01\n*0.1\n1.0')" ]
    ludwig results 1 --by lr --json >r
    json r '[c["params"] for c in d["results"]] == [{"lr": 0.01}, {"lr": 0.1}, {"lr": 1.0}]'
    json r '[(c["n"], round(c["metrics"]["accuracy"]["mean"], 6)) for c in d["results"]] == [(4, 0.7155), (4, 0.9155), (4, 0.5155)]'
    json r '[c["param_name"] for c in d["results"]] == ["lr=0.01", "lr=0.1", "lr=1.0"]'
    ludwig results 1 --by h,lr --csv >csv
    [ "$(wc -l <csv)" = 7 ]
    grep -q '^h=1 lr=0.1,1,0.1,2,' csv
    # What is left out is so before the values are put together.
    ludwig results 1 --by lr --where 'h = 1' --json >r
    json r '[c["n"] for c in d["results"]] == [2, 2, 2]'
    ludwig results 1 --by lr --sort accuracy --top 1 --json >r
    json r '[c["params"]["lr"] for c in d["results"]] == [0.1]'
    not ludwig results 1 --by rl 2>err
    grep -q "no configuration has a parameter 'rl'" err
    not ludwig results 1 --by lr --series accuracy 2>err
}
it 'the values of a parameter are compared, over all others' by

differ() {
    sed -i 's/^reps.*/reps: 1/; s/1\.0\]/1.0, 5]/' sweep.yaml
    sed 's/a=9/a=8/' -i job.sh
    not ludwig_wait submit sweep.yaml --wait >id 2>err
    [ "$(cat id)" = 3 ]
    ludwig diff 1 3 >out
    grep -qx '  - reps: 2' out
    grep -qx '  + reps: 1' out
    grep -qx 'source' out
    grep -q '^  + {.*tree' out
    not grep -qx 'command' out
    grep -q '^results  *6 configurations in both, 0 only in sweep 1, 2 only in sweep 3$' out
    grep -qE '^lr=0.1 h=1 .*0.9105 ± 0.00071 +0.81 +-0\.1[0-9]*$' out
    ludwig compare 1 3 | diff out -
    grep -qE '^best        sweep 1: [a-z]+ 0\.[0-9]+ ± ' out
    grep -qE '^            sweep 3: [a-z]+ [0-9.]+, ' out
    ludwig diff 1 1 >out
    grep -qx 'sweep.yaml  is the same' out
    not grep -q '^  [-+] ' out
    not ludwig diff 1 2>diff_err
}
it 'two sweeps are compared: file, source and results' differ

# The last line of what a job printed stands with its failure, wherever that is told.
digest() {
    grep -q '^sweep 3: 6 done, 2 failed' err
    grep -q '^  2 x exit code 1: ValueError: learning rate 5 is too big (first: 3\.[0-9]*)$' err
    grep -q '^`ludwig why 3\.[0-9]*` shows the end of its log$' err
    ludwig jobs 3 --state failed | grep -q 'exit code 1: ValueError: learning rate 5 is too big'
    ludwig status 3 | grep -q '2 x exit code 1: ValueError: learning rate 5 is too big'
    not ludwig watch 3 >out 2>&1
}
it 'why jobs failed is told where one looks, and counted' digest

nothing() {
    printf '%s\n' 'project: none' 'command: "true"' 'params: {x: [1, 2]}' 'source: []' >none.yaml
    ludwig_wait submit none.yaml --wait >id
    not ludwig best last 2>err
    grep -q 'no job has reported a measure yet' err
    not ludwig submit none.yaml --from last 2>err
    grep -q 'no job has reported a measure yet' err
}
it 'without measures there is no best, which is said' nothing

done_testing
