#!/bin/bash
# order.sh - which jobs of a sweep run first
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 1, gpus: 0}'
echo "echo \$1\$2 >>$TEST_TMP/ran" >job.sh
sweep() { # LINE...
    printf '%s\n' 'project: order' 'command: sh job.sh {a} {b}' 'source: job.sh' "$@" >order.yaml
    rm -f "$TEST_TMP/ran"
}
ran() { tr '\n' ' ' <"$TEST_TMP/ran"; }

canary() {
    sweep 'params: {a: [1, 2, 3, 4], b: [x, y, z]}' 'reps: 2'
    ludwig_wait submit order.yaml --wait >id
    # Each value once, in four jobs; then the others, in the order of the file.
    [ "$(ran)" = '1x 2y 3z 4x 1x 1y 1y 1z 1z 2x 2x 2y 2z 2z 3x 3x 3y 3y 3z 4x 4y 4y 4z 4z ' ] || { ran && return 1; }
    # Their numbers are those of the file.
    ludwig jobs 1 --json | json - '[j["params"]["b"] for j in d["jobs"]] == [b for _ in range(4) for b in "xxyyzz"]'
}
it 'a job with each value runs first, whose number is that of the file' canary

in_file_order() {
    sweep 'params: {a: [1, 2, 3, 4], b: [x, y, z]}' 'order: file'
    ludwig_wait submit order.yaml --wait --reuse none >id
    [ "$(ran)" = '1x 1y 1z 2x 2y 2z 3x 3y 3z 4x 4y 4z ' ] || { ran && return 1; }
    sed -i 's/^order: file/order: random/' order.yaml
    not ludwig submit order.yaml 2>err
    grep -q "order: expected canary, file or 'lr > 0.01 first', found random" err
}
it 'order: file keeps the order of the file' in_file_order

expression() {
    sweep 'params: {a: [1, 2, 3, 4], b: [x, y, z]}' 'reps: 2' "order: 'a > 2 and b = y first'"
    ludwig_wait submit order.yaml --wait --reuse none >id
    [ "$(ran)" = '3y 3y 4y 4y 1x 1x 1y 1y 1z 1z 2x 2x 2y 2y 2z 2z 3x 3x 3z 3z 4x 4x 4z 4z ' ] || { ran && return 1; }
    for bad in 'a > first:6:8: order: column 4: expected a value, found the end' \
        "c = 1 first:6:8: order: unknown parameter 'c'" "state = failed first:6:8: order: unknown parameter 'state'" \
        "a > 2 last:6:8: order: expected canary, file or 'lr > 0.01 first', found a > 2 last"; do
        sed -i "s/^order: .*/order: '${bad%%:*}'/" order.yaml
        not ludwig submit order.yaml 2>err
        cat err
        grep -qF "order.yaml:${bad#*:}" err
    done
}
it "order: 'EXPRESSION first' takes what matches first, all replications of it" expression

paused() {
    sweep 'params: {a: [1, 2, 3, 4], b: [x, y, z]}'
    # The first job waits until the others have been paused.
    echo "until [ -e $TEST_TMP/gates/paused ]; do sleep 0.1; done" >>job.sh
    id=$(submit order.yaml --reuse none --set 'b=[p, q, r]')
    wait_until 20 '[ "$(jobs_in running '"$id"')" = 1 ]'
    ludwig pause "$id"
    [ "$(sweep_state "$id")" = paused ]
    ludwig resume "$id"
    open paused
    wait_until 60 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(ran)" = '1p 2q 3r 4p 1q 1r 2p 2r 3p 3q 4q 4r ' ] || { ran && return 1; }
}
it 'what was paused keeps its place' paused

list() {
    printf '%s\n' '{"a": 1, "b": "x"}' '{"a": 1, "b": "y"}' '{"a": 2, "b": "y"}' '{"a": 2, "b": "x"}' >list.jsonl
    sweep
    ludwig_wait submit order.yaml --param2vals list.jsonl --wait --reuse none >id
    [ "$(ran)" = '1x 2y 1y 2x ' ] || { ran && return 1; }
}
it 'also of a list of configurations' list

done_testing
