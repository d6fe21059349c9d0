#!/bin/bash
# reproduce.sh - a job runs once more with all that it had, and what came out differently is said
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

# A program that depends on its seed, its source and its data, and on nothing else if x is 1.
mkdir data
echo 7 >data/number
cat >train.sh <<'END'
echo "accuracy: $1 $LUDWIG_SEED" >"$LUDWIG_SAVE_PATH/model.txt"
cat "$LUDWIG_DATA_NUMBERS/number" >>"$LUDWIG_SAVE_PATH/model.txt"
noise=0
[ "$1" = 1 ] || noise=$(date +%N)
[ "$1" != 3 ] || echo more >"$LUDWIG_SAVE_PATH/more-$noise.txt"
echo "{\"accuracy\": 0.$LUDWIG_SEED, \"noise\": 1$noise}" >>"$LUDWIG_METRICS"
[ "$1" != 4 ] || exit 3
END
printf '%s\n' 'project: demo' 'command: sh train.sh {x}' 'source: train.sh' 'data: {numbers: data}' \
    'params: {x: [1, 2, 3, 4]}' 'reps: 2' 'guard: off' >sweep.yaml
submit sweep.yaml >/dev/null
wait_until 60 ended 1

same() {
    # What was submitted counts, not what lies here now.
    echo 'exit 1' >train.sh
    echo 8 >data/number
    ludwig reproduce 1.2 >out 2>err
    grep -qx 'job 2.1 came out as job 1.2: 2 metrics and 2 files are the same' out
    grep -qx 'job 1.2 runs once more, as job 2.1' err
    [ "$(job 1.2 'j["rep"]')" = 1 ]
    [ "$(job 2.1 'j["rep"]')" = 1 ]
    [ "$(job 2.1 'j["params"]["x"]')" = 1 ]
    published demo | grep -q '^2\.1 '
}
it 'a job with a fixed seed comes out the same, from the source and data of that time' same

differs() {
    not ludwig reproduce 1.3 >out 2>err
    grep -qx 'job 3.1 came out otherwise than job 1.3: 1 metric and 1 file are the same' out
    grep -qE '^  metric noise: [0-9.e+]+ -> [0-9.e+]+$' out
    grep -qE '^  file metrics.jsonl: [0-9a-f]{12}\.\.\. -> [0-9a-f]{12}\.\.\.$' out
    not ludwig reproduce 1.5 --json >out 2>err
    json out '[sorted((x["of"], x["before"] is None, x["now"] is None) for x in d["differences"])] == [[("file", False, False), ("file", False, True), ("file", True, False), ("metric", False, False)]]'
    json out 'd["same"] is False or "wrong"'
}
it 'what came out differently is named' differs

failed() {
    ended_as=$(ludwig reproduce 1.7 2>err | head -n 1)
    [ "${ended_as%%:*}" = 'job 5.1 came out otherwise than job 1.7' ] # its noise
    not ludwig reproduce 1.7 >out 2>err
    not grep 'exit_code\|cause' out
}
it 'a failed job fails again' failed

refused() {
    not ludwig reproduce 1.99 2>err
    grep -qx 'ludwig: there is no job 1.99' err
    not ludwig reproduce 99.1 2>err
    grep -qx 'ludwig: there is no sweep 99' err
    not ludwig reproduce 1 2>err
    [ "$(ludwig status --json | json - 'len(d["sweeps"])')" = 6 ]
}
it 'what is not there is refused, and nothing is submitted' refused

variables() {
    printf '%s\n' 'project: demo' "command: test -n \"\$TOKEN\"" 'source: train.sh' 'env: [TOKEN]' >passed.yaml
    export TOKEN=secret
    sweep=$(submit passed.yaml)
    wait_until 60 ended "$sweep"
    not ludwig reproduce "$sweep.1" 2>err
    grep -q TOKEN err
    ludwig reproduce "$sweep.1" --env TOKEN >out
    grep -q 'came out as' out
}
it 'a variable of the shell is given again' variables

done_testing
