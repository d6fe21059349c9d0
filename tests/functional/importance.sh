#!/bin/bash
# importance.sh - results --importance against the formulas written down once more, and against Optuna
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0, memory: 2GiB}'
cat >job.sh <<'END'
awk -v lr="$1" -v width="$2" -v opt="$3" 'BEGIN { l = log(lr) / log(10) + 2.5; w = (width - 200) / 100
    printf "{\"score\": %.12g}\n", -l * l - 0.1 * w * w - (opt == "sgd" ? 0.5 : 0) }' >>"$LUDWIG_METRICS"
END
cat >sweep.yaml <<'END'
project: demo
command: sh job.sh {lr} {width} {opt}
source: job.sh
params:
  lr: {log_uniform: [1e-4, 1e-1]}
  width: {int_uniform: [8, 512]}
  depth: {int_uniform: [1, 6]}
  opt: [adam, sgd, lion]
  useless: {uniform: [-1, 1]}
method: random
samples: 60
seed: 3
results: {metric: score}
END

ran() {
    id=$(submit sweep.yaml)
    wait_until 120 ended "$id"
    [ "$(jobs_in "done" "$id")" = 60 ]
    ludwig results "$id" --json >"$TEST_TMP/results"
    ludwig results "$id" --importance --json >"$TEST_TMP/importance"
}
it 'a sweep of 60 drawn configurations runs' ran

it 'the numbers are those of the formulas, written down in Python' '
    python3 "$TEST_ROOT/tests/functional/ped_anova.py" "$TEST_TMP/results" "$TEST_TMP/importance"
'

sentence="the numbers are those of Optuna's PedAnovaImportanceEvaluator"
if optuna=$(python_with optuna) && "$optuna" -c 'from optuna.importance import PedAnovaImportanceEvaluator' 2>/dev/null; then
    it "$sentence" '"$optuna" "$TEST_ROOT/tests/functional/ped_anova.py" --optuna "$TEST_TMP/results" "$TEST_TMP/importance"'
else
    skip "$sentence" 'takes Optuna 3.6 or newer'
fi

table() {
    LC_ALL=C.UTF-8 ludwig results 1 --importance >table
    [ "$(awk 'NR == 2 { print $1 }' table)" = lr ]
    grep -q '█' table
    LC_ALL=C ludwig results 1 --importance | grep -q '####'
    grep -q 'the best 6 of 60 configurations, by mean score (highest)' table
    # Those that --where leaves are compared with each other.
    ludwig results 1 --importance --where 'opt != sgd' --json >part
    json part 'd["configs"] < 60 and "opt" in [p["param"] for p in d["importance"]]'
    [ "$(json part 'd["importance"][0]["param"]')" = lr ]
}
it 'people see the most important one first; --where leaves out' table

refused() {
    for words in --csv '--by opt' '--top 3' '--series score' '--html x.html'; do
        # shellcheck disable=SC2086 # words
        not ludwig results 1 --importance $words 2>error
        grep -q importance error
    done
    not ludwig results 1 --importance --where 'lr < 0' 2>error
    grep -q 'takes at least 4 configurations' error
}
it 'what makes no sense with it is refused' refused

done_testing
