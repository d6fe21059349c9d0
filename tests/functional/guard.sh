#!/bin/bash
# guard.sh - a broken value, or a broken sweep, stops itself, and legal failures do not
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'

sweep() { # PROJECT COMMAND LINE...
    printf '%s\n' "project: $1" "command: $2" 'source: []' "${@:3}" >"$1.yaml"
}
# The first N that come go on; the others wait until jobs are held, but for less time than what
# makes ludwigd think that they do not fail.
cat >"$TEST_TMP/first.sh" <<'END'
mkdir -p "$2"
for i in $(seq "$1"); do
    ! mkdir "$2/$i" 2>/dev/null || exit 0
done
for i in $(seq 50); do
    [ ! -e "$2/held" ] || exit 0
    sleep 0.1
done
END
first() { # N PROJECT
    echo "sh $TEST_TMP/first.sh $1 $TEST_TMP/first.$2"
}
# Waits for the end; the exit code goes to the file status.
ends() { # PROJECT
    local status=0
    ludwig_wait submit "$1.yaml" --wait >id 2>err || status=$?
    echo $status >status
}
# The same of a sweep of which jobs are held.
ends_held() { # PROJECT
    local status=0 waiting
    : >id
    timeout 300 ludwig submit "$1.yaml" --wait >id 2>err &
    waiting=$!
    wait_until 60 has_held
    mkdir -p "$TEST_TMP/first.$1" && touch "$TEST_TMP/first.$1/held"
    wait $waiting || status=$?
    echo $status >status
}
held() { # SWEEP
    jobs_in held "$1"
}
has_held() {
    [ -s id ] && [ "$(held "$(cat id)")" -gt 0 ]
}

value() {
    sweep value "'[ {opt} != lion ] || { $(first 3 value); echo \"ModuleNotFoundError: No module named lion\"; exit 1; }; sleep 0.2'" \
        'params: {seed: {range: [1, 10]}, opt: [adam, lion, sgd]}'
    ends_held value
    [ "$(cat status)" = 1 ]
    id=$(cat id)
    # Three fail, and so do those that wait beside them.
    failed=$(jobs_in failed "$id")
    [ "$failed" -ge 3 ]
    [ "$failed" -lt 10 ]
    [ "$(jobs_in "done" "$id")" = 20 ]
    [ "$(held "$id")" = $((10 - failed)) ]
    [ "$(sweep_state "$id")" = held ]
    grep -q "^sweep $id: 20 done, $failed failed .*, $((10 - failed)) held$" err
    why="held: opt=lion failed $failed of $failed: ModuleNotFoundError: No module named lion"
    grep -qxF "$why (ludwig resume $id --where 'opt=lion' runs them)" err
    grep -q "^  $failed x exit code 1: ModuleNotFoundError: No module named lion (first: $id\.[0-9]*)$" err
    ludwig jobs "$id" --state held | grep -q " held .* opt=lion  *held: opt=lion failed $failed of $failed: "
    ludwig jobs "$id" --json | json - 'all(j["params"]["opt"] == "lion" for j in d["jobs"] if j["state"] == "held")'
    ludwig status "$id" | grep -q "^held  *$((10 - failed)) jobs: opt=lion failed"
    ludwig status | grep -q "^ *$id  *value .* held "
    [ "$(ludwig status --state held --quiet)" = "$id" ]
    ludwig why "$id" | grep -q "^  held: opt=lion failed"
    ludwig why "$id.$(ludwig jobs "$id" --state held -q | head -n 1 | cut -d. -f2)" | grep -q "^  held: opt=lion failed"
    status=0
    ludwig watch "$id" >out 2>&1 || status=$?
    [ $status = 1 ]
}
it 'a value with which three jobs failed is held while the others run, and --wait ends with 1' value

resumed() {
    # As it was said; two more fail, and the third one holds the rest again.
    eval "$(grep -o "ludwig resume $id --where '[^']*'" err | head -n 1) --yes 2>resume"
    grep -qx "$((10 - failed)) jobs resumed" resume
    not ludwig_wait watch "$id" >out 2>&1
    [ "$(jobs_in failed "$id")" -ge 6 ]
    # The whole of it, without a guard in the way of the last ones.
    ludwig cancel "$id" 2>cancelled
    [ "$(sweep_state "$id")" = failed ]
}
it 'what is held runs when it is resumed, and is counted anew' "$(declare -f resumed); id=\$(cat id); failed=\$(jobs_in failed \$id); resumed"

again() {
    sweep twice "'[ {opt} != lion ] || [ -e $TEST_TMP/installed ] || { $(first 3 twice); echo ImportError: lion; exit 1; }; sleep 0.2'" \
        'params: {seed: {range: [1, 10]}, opt: [adam, lion, sgd]}'
    ends_held twice
    first=$(cat id)
    [ "$(sweep_state "$first")" = held ]
    failed=$(jobs_in failed "$first")
    touch "$TEST_TMP/installed"
    ends twice
    # It runs what failed and what is held, and the first sweep has the results of the latter.
    [ "$(cat status)" = 0 ]
    second=$(cat id)
    ludwig status "$second" --json | json - 'd["reused"] == 20 and d["jobs"]["done"] == 10'
    wait_until 20 '[ "$(sweep_state '"$first"')" = failed ]'
    [ "$(held "$first")" = 0 ]
    ludwig status "$first" --json | json - "d['reused'] == 10 - $failed"
}
it 'submitted again, a sweep runs what is held, and both have the results' again

whole() {
    sweep whole "'$(first 3 whole); echo \"FileNotFoundError: data/part_{x}.csv\"; exit 1'" 'params: {x: {range: [1, 40]}}'
    ends_held whole
    [ "$(cat status)" = 1 ]
    id=$(cat id)
    failed=$(jobs_in failed "$id")
    [ "$failed" -ge 3 ]
    [ "$failed" -lt 20 ]
    [ "$(held "$id")" = $((40 - failed)) ]
    grep -q "^held: the first [0-9]* configurations failed: FileNotFoundError: data/part_[0-9]*.csv (ludwig resume $id runs the others)$" err
}
it 'a sweep whose first jobs all fail of one cause is held' whole

off() {
    sweep off "'exit 1'" 'params: {x: {range: [1, 12]}}' 'guard: off'
    ends off
    [ "$(jobs_in failed "$(cat id)")" = 12 ]
    sweep five "'$(first 5 five); exit 1'" 'params: {x: {range: [1, 30]}}' 'guard: {failures: 5}' 'resources: {cpus: 4}'
    ends_held five
    failed=$(jobs_in failed "$(cat id)")
    [ "$failed" -ge 5 ]
    [ "$failed" -lt 20 ]
    sweep wrong "'true'" 'guard: {failures: 0}'
    not ludwig submit wrong.yaml 2>err
    sed -i 's/^guard:.*/guard: none/' wrong.yaml
    not ludwig submit wrong.yaml 2>err
    grep -q 'guard: expected {failures: N, nan: stop} or off' err
}
it 'guard: off holds nothing, and another number is taken' off

# ---- what is legal ----

# Nothing is held in the end, and all jobs have run.
legal() { # PROJECT JOBS
    ends "$1"
    id=$(cat id)
    [ "$(held "$id")" = 0 ] || { cat err && return 1; }
    [ $(($(jobs_in "done" "$id") + $(jobs_in failed "$id"))) = "$2" ]
}

flaky() {
    # The same ones fail each time; of the first four one ends well.
    sweep flaky "'sleep 0.1; [ \$(({seed} * 7919 % 10)) -ge 3 ] || { echo Error: bad luck; exit 1; }'" \
        'params: {seed: {range: [11, 50]}, lr: [0.1, 0.5]}'
    legal flaky 80
    [ "$(jobs_in failed "$id")" = 24 ]
}
it 'a program that fails in three cases of ten is not held' flaky

batch() {
    # Twenty begin together; some fail at once while the others are busy.
    sweep batch "'[ {x} -gt 5 ] || exit 1; sleep 2'" 'params: {x: {range: [1, 40]}}' 'resources: {cpus: 0.2}'
    legal batch 40
    [ "$(jobs_in failed "$id")" = 5 ]
}
it 'of twenty jobs that begin together some may fail at once' batch

pair() {
    sweep pair "'[ {a}{b} != 33 ] || { echo Error: out of memory; exit 1; }'" \
        'params: {a: [3, 2, 1], b: [1, 2, 3], seed: {range: [1, 6]}}' 'resources: {cpus: 4}'
    legal pair 54
    [ "$(jobs_in failed "$id")" = 6 ]
}
it 'two values that cannot work together are not held' pair

codes() {
    sweep codes "'sleep 0.05; exit \$(({x} * 31 % 4))'" 'params: {x: {range: [1, 40]}}'
    legal codes 40
}
it 'exit codes that are results hold nothing' codes

slow() {
    sweep slow "'[ {x} != 2 ] || sleep 1; sleep 0.1'" 'params: {x: [1, 2, 3], seed: {range: [1, 6]}}'
    legal slow 18
    [ "$(cat status)" = 0 ]
}
it 'a value with which jobs are slow is not held' slow

# ---- another ludwigd ----

killed() {
    sweep killed "'[ {opt} != lion ] || exit 1; while [ ! -e $TEST_TMP/go ]; do sleep 0.1; done; sleep 0.1'" \
        'params: {seed: {range: [1, 10]}, opt: [lion, adam, sgd]}'
    id=$(submit killed.yaml)
    wait_until 60 '[ "$(jobs_in running '"$id"')" -ge 4 ] || [ "$(held '"$id"')" -gt 0 ]'
    kill_hard ludwigd
    touch "$TEST_TMP/go"
    ludwig up
    wait_until 60 '[ "$(sweep_state '"$id"')" = held ]'
    [ "$(jobs_in "done" "$id")" = 20 ]
    kill_hard ludwigd
    ludwig up
    ludwig status "$id" | grep -q '^held .* opt=lion failed'
    ludwig resume "$id" 2>err
}
it 'what is held is held by the next ludwigd' killed

done_testing
