#!/bin/bash
# report.sh - what a job says about itself
. "$(dirname "$0")/lib.sh"

export LUDWIG_METRICS=$TEST_TMP/metrics
reset() { rm -f "$LUDWIG_METRICS"; }
refused() { # WORDS COMMAND...
    local status=0 words=$1
    shift
    reset
    "$@" 2>err || status=$?
    [ $status = 2 ] && [ ! -s "$LUDWIG_METRICS" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$words" err ||
        { cat err && return 1; }
}

measures() {
    reset
    ludwig report accuracy=0.93 step=4
    ludwig report loss=1e-3 n=-7 'odd name"=5'
    ludwig report --job 7.13 x=1 2>/dev/null && return 1
    LUDWIG_JOB=7.13 ludwig report --job 7.13 x=1
    ludwig report loss=nan accuracy=-inf
    [ "$(tail -n 1 "$LUDWIG_METRICS")" = '{"loss": NaN, "accuracy": -Infinity}' ]
    sed -i '$d' "$LUDWIG_METRICS"
    printf '%s\n' '{"accuracy": 0.93, "step": 4}' '{"loss": 0.001, "n": -7, "odd name\"": 5}' '{"x": 1}' |
        cmp - "$LUDWIG_METRICS"
}
it 'measures are appended as a line of JSON' measures

mistakes() {
    refused 'expected a number' ludwig report accuracy=high
    refused 'NAME=VALUE' ludwig report accuracy
    refused 'whole number' ludwig report step=1.5
    refused 'usage: ludwig report' ludwig report
    refused 'NAME=VALUE' ludwig report =5
    refused 'name of a measure' ludwig report job=5
    refused 'unknown option --dnoe (did you mean --done?)' ludwig report --dnoe
    (unset LUDWIG_METRICS && not ludwig report x=1 2>err && grep -q 'inside of a job only' err)
}
it 'mistakes are refused before anything is written' mistakes

alone() {
    refused 'done when it exits with 0' ludwig report --done
    refused 'share a process' ludwig report --failed
    refused 'share a process' ludwig report x=1 --done
    LUDWIG_JOB=7.1 refused 'runs in job 7.1, not in 7.2' ludwig report --job 7.2 x=1
}
it 'a job that has its process to itself cannot say that it is over' alone

chunk() {
    mkdir -p "$TEST_TMP/chunk"
    echo 'not looked at' >"$TEST_TMP/chunk/chunk.msgpack"
    echo '[{"job": "7.13", "params": {"x": 1}}, {"job": "7.14", "params": {"x": 2}}]' >"$TEST_TMP/chunk/chunk.json"
    export LUDWIG_CHUNK=$TEST_TMP/chunk/chunk.msgpack
}

# Where stdout or stderr is a file the end of a job says how long it is.
without_log() {
    sed 's/, "log": \[[0-9]*, [0-9]*\]}$/}/' "$LUDWIG_METRICS"
}
shared() {
    chunk
    reset
    ludwig report --job 7.13 accuracy=0.5 step=1
    ludwig report --job 7.13 accuracy=0.9 --done
    ludwig report --job=7.14 --failed
    ludwig report --job 7.14 --failed='out of "luck"'
    ludwig report --failed 'no luck' --job 7.14 loss=3
    ludwig report --failed 'loss = nan' --job 7.14
    ludwig report --failed 'signal=SIGSEGV' --job 7.14
    printf '%s\n' '{"job": "7.13", "accuracy": 0.5, "step": 1}' \
        '{"job": "7.13", "accuracy": 0.9}' '{"job": "7.13", "done": true}' \
        '{"job": "7.14", "failed": ""}' '{"job": "7.14", "failed": "out of \"luck\""}' \
        '{"job": "7.14", "loss": 3}' '{"job": "7.14", "failed": "no luck"}' \
        '{"job": "7.14", "failed": "loss = nan"}' \
        '{"job": "7.14", "failed": "signal=SIGSEGV"}' | cmp - <(without_log)
    [ "$(grep -c '"log"' "$LUDWIG_METRICS")" = 6 ]
    reset
    ludwig report --job 7.13 --done 2>&1 >/dev/null | cat
    not grep '"log"' "$LUDWIG_METRICS"
}
it 'of a chunk each job is reported by itself, measures before its end' shared

long_reason() {
    chunk
    reset
    ludwig report --job 7.14 --failed="$(python3 -c 'print("x" + 700 * "\u00e4")')"
    json "$LUDWIG_METRICS" 'd["failed"] == "x" + 499 * "\u00e4"'
}
it 'a reason that is too long is cut, between characters' long_reason

shared_mistakes() {
    chunk
    refused '7.15 is none of this chunk' ludwig report --job 7.15 --done
    refused '7.13, 7.14' ludwig report --job 7.15 x=1
    refused '--job ID' ludwig report x=1
    refused '--job ID' ludwig report --done
    refused 'as 7.13' ludwig report --job 13 --done
    refused 'as 7.13' ludwig report --job 07.13 --done
    refused 'as 7.13' ludwig report --job 7.13.1 --done
    refused 'either --done or --failed' ludwig report --job 7.13 --done --failed
    refused 'name of a measure' ludwig report --job 7.13 done=1
    refused "say --failed='REASON', in quotes" ludwig report --job 7.13 --failed no luck
    echo '{' >"$TEST_TMP/chunk/chunk.json"
    not ludwig report --job 7.13 --done 2>err
    grep -q chunk.json err
    rm "$TEST_TMP/chunk/chunk.json"
    not ludwig report --job 7.13 --done 2>err
    grep -q chunk.json err
}
it 'a job that is none of the chunk is refused, with those that are' shared_mistakes

parallel() {
    unset LUDWIG_CHUNK
    reset
    for i in 1 2 3 4 5 6 7 8; do
        (for k in 1 2 3 4 5 6 7 8 9 10; do ludwig report "m$i=$k"; done) &
    done
    wait
    [ "$(wc -l <"$LUDWIG_METRICS")" = 80 ]
    python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$LUDWIG_METRICS"
}
it 'lines of several processes do not mix' parallel

whole() {
    unset LUDWIG_METRICS LUDWIG_CHUNK
    configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
    printf '%s\n' 'for i in 1 2 3; do ludwig report accuracy=0.$i step=$i; done' 'ludwig report --done 2>/dev/null && exit 9 || true' >job.sh
    printf '%s\n' 'project: demo' 'command: sh job.sh' 'source: job.sh' >sweep.yaml
    ludwig_wait submit sweep.yaml --wait
    ludwig results 1 --json | json - 'd["results"][0]["metrics"]["accuracy"]["mean"] == 0.3'
}
it 'inside of a job what it reports becomes its result' whole

done_testing
