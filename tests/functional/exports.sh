#!/bin/bash
# exports.sh - results --tensorboard and --mlflow, read back without either program
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0, memory: 2GiB}'
cat >job.sh <<'END'
for step in 1 2 3; do
    awk -v lr="$1" -v s=$step -v r="$LUDWIG_REP" 'BEGIN { printf "{\"step\": %d, \"loss\": %.6f, \"val/loss\": %.6f, \"../evil\": %d, \"val\": %d}\n", s, lr / s + r, lr, s, s }'
done >>"$LUDWIG_METRICS"
[ "$2" != bad ] || { echo '{"step": 4, "loss": NaN}' >>"$LUDWIG_METRICS"; }
[ "$2" != fails ]
END
cat >sweep.yaml <<'END'
project: demo
guard: off
command: sh job.sh {lr} {opt}
source: job.sh
params:
  lr: [0.001, 0.5]
  opt: [adam, bad, fails]
  "../up": [1]
  "a/b": x
  a: "two\nlines"
  "größe": [[1, 2]]
reps: 2
results: {metric: loss, goal: min}
END
not ludwig_wait submit sweep.yaml --wait >id
ludwig results 1 --json >results
ludwig jobs 1 --json >jobs
ludwig results 1 --series loss --json >series

tensorboard() {
    ludwig results 1 --tensorboard runs 2>said
    grep -q '^runs: 12 runs; look at them with: tensorboard --logdir runs$' said
    [ "$(ls runs | wc -l)" = 12 ]
    python3 "$TEST_ROOT/tests/functional/exports_read.py" tensorboard runs jobs series
    # A reader that is to notice damage does.
    file=$(ls runs/1.1/events*) && cp "$file" whole
    printf x | dd of="$file" bs=1 seek=60 conv=notrunc 2>dd
    not python3 "$TEST_ROOT/tests/functional/exports_read.py" tensorboard runs jobs series
    # Written again, it is whole again.
    ludwig results 1 --tensorboard runs
    cmp whole "$file"
}
it 'event files have the series and the parameters, with checksums' tensorboard

sentence='TensorBoard reads them'
if python=$(python_with tensorboard); then
    it "$sentence" '"$python" "$TEST_ROOT/tests/functional/exports_read.py" by-tensorboard runs jobs series'
else
    skip "$sentence" 'takes tensorboard'
fi

mlflow() {
    ludwig results 1 --mlflow mlruns 2>said
    grep -q '^mlruns: 12 runs; look at them with: mlflow ui --backend-store-uri mlruns$' said
    python3 "$TEST_ROOT/tests/functional/exports_read.py" mlflow mlruns jobs series
    find mlruns | sort >before
    ludwig results 1 --mlflow mlruns
    find mlruns | sort | cmp - before
    # Nothing was written elsewhere, whatever names say.
    [ -z "$(find . -name '*evil*' -not -path './mlruns/*')" ] && [ ! -e up ] && [ ! -e mlruns/up ]
}
it 'a file store has experiment, runs, metrics, parameters and tags' mlflow

sentence='MLflow reads it'
if python=$(python_with mlflow); then
    it "$sentence" '"$python" "$TEST_ROOT/tests/functional/exports_read.py" by-mlflow mlruns jobs series'
else
    skip "$sentence" 'takes mlflow'
fi

refused() {
    mkdir other && echo precious >other/file
    for form in tensorboard mlflow; do
        not ludwig results 1 --$form other 2>error
        grep -q '^ludwig: other is not empty, and was not written by this command: name another folder$' error
        not ludwig results 1 --$form other/file 2>error
        grep -q 'other/file' error
        not ludwig results 1 --$form x --csv 2>error
        grep -q 'one of --json, --csv, --html, --optuna, --tensorboard and --mlflow' error
        not ludwig results 1 --$form x --by lr 2>error
        grep -q -e "--$form has each configuration: without --by" error
    done
    not ludwig results 1 --mlflow runs 2>error
    grep -q '^ludwig: runs is not empty' error
    [ "$(ls -A other)" = file ] && [ ! -e x ]
}
it 'a folder of something else is not touched' refused

done_testing
