#!/bin/bash
# optuna.sh - results --optuna, read back by Optuna
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0, memory: 2GiB}'
cat >job.sh <<'END'
for step in 1 2 3; do
    awk -v lr="$1" -v s=$step -v r="$LUDWIG_REP" 'BEGIN { printf "{\"step\": %d, \"loss\": %.6f, \"accuracy\": %.6f}\n", s, lr / s + r, s / 4 }'
done >>"$LUDWIG_METRICS"
[ "$2" != bad ] || { echo '{"loss": NaN}' >>"$LUDWIG_METRICS"; }
[ "$2" != fails ]
END
cat >sweep.yaml <<'END'
project: demo
order: file
guard: off
command: sh job.sh {lr} {opt}
source: job.sh
params:
  lr: {log_uniform: [1e-4, 1e-1]}
  width: {int_uniform: [8, 512]}
  opt: [adam, sgd, bad, fails]
  "</script>": [true, "1"]
  layers: {values: [[1, 2], [3]]}
  momentum: {uniform: [0.5, 0.9]}
  epochs: 3
when: {momentum: {opt: sgd}}
method: random
samples: 24
seed: 5
reps: 2
results: {metric: loss, goal: min}
END

written() {
    not ludwig_wait submit sweep.yaml --wait >id
    ludwig results 1 --optuna study.log 2>said
    grep -q '^study.log: 24 trials by loss; ' said
    ludwig results 1 --optuna - --where 'opt = adam' >part.log
    [ "$(wc -l <part.log)" -lt "$(wc -l <study.log)" ]
    ludwig results 1 --json >results
    python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' study.log
}
it 'a study is written, a line of JSON for each operation' written

sentence='Optuna reads what the terminal says'
if optuna=$(python_with optuna) && "$optuna" -c 'import optuna; optuna.storages.JournalStorage' 2>/dev/null; then
    it "$sentence" '"$optuna" -W ignore "$TEST_ROOT/tests/functional/optuna_read.py" study.log results'
else
    skip "$sentence" 'takes python3-optuna 3.1 or newer'
fi

refused() {
    not ludwig results 1 --optuna x.log --json 2>error
    grep -q 'one of --json, --csv, --html, --optuna, --tensorboard and --mlflow' error
    printf '%s\n' 'project: two' 'command: ludwig report a=1 b=2' 'params: {x: [1, 2]}' >two.yaml
    id=$(submit two.yaml)
    wait_until 60 ended "$id"
    not ludwig results "$id" --optuna x.log 2>error
    grep -q 'which measure is a trial' error
    ludwig results "$id" --optuna x.log --sort b
    not ludwig results "$id" --optuna no/such/folder --sort b 2>error
    grep -q 'no/such' error
}
it 'without a measure that ranks it is refused' refused

done_testing
