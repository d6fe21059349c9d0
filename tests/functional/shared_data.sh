#!/bin/bash
# shared_data.sh - data that lie on the shared drive already are packed once, by a worker
#
# They lie beside the folder of projects.
. "$(dirname "$0")/lib.sh"

SHARE=$TEST_TMP/share
mkdir "$SHARE" "$SCRATCH" "$TEST_TMP/state"
chmod 0700 "$TEST_TMP/state"
export LUDWIG_SERVER=unix:$TEST_TMP/server.sock

cat >"$TEST_TMP/ludwigd.yaml" <<END
share: $SHARE
projects: lab
state: $TEST_TMP/state
sockets: [$TEST_TMP/server.sock]
END
cat >"$TEST_TMP/hoff.yaml" <<END
server: unix:$TEST_TMP/server.sock
share: $SHARE
scratch: $SCRATCH
name: hoff
kind: local
state: $TEST_TMP/hoff.state
resources: {cpus: 4, gpus: 0, memory: 1GiB}
END

start_server() {
    ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
    wait_until 10 ludwig status >/dev/null 2>&1
}
start_worker() {
    ludwig-worker --config "$TEST_TMP/hoff.yaml" 2>>"$TEST_TMP/hoff.log" &
}
passes() {
    grep -c ' info packed ' "$TEST_TMP/ludwigd.log" || true
}
# In the background; what it prints goes to NAME.
submit_later() { # NAME ARGUMENT...
    local name=$1
    shift
    ludwig submit "$@" --json >"$name" 2>"$name.err" &
}
says() { # NAME EXPRESSION
    json "$1" "d['queued'] == $2" >/dev/null 2>&1
}

CATS=$SHARE/datasets/cats
mkdir -p "$CATS/small" proj
for i in 1 2 3; do echo "cat $i" >"$CATS/small/$i"; done
head -c 70000000 /dev/zero | tr '\0' 'x' >"$CATS/large"
ln -s small/1 "$CATS/link"
cd proj || exit 1
for k in 1 2; do
    cat >"sweep$k.yaml" <<END
project: cats
command: cd \$LUDWIG_DATA/cats && grep -q "cat 1" link && test \$(wc -c <large) = 70000000 && echo {x}
source: []
data: [{share: datasets/cats}]
params: {x: [$k]}
END
done

start_server

it 'says what it waits for while no worker is there' '
    submit_later first sweep1.yaml
    submit_later second sweep2.yaml
    wait_until 10 "grep -q \"waits to be packed: no worker\" first.err"
    wait_until 10 "grep -q \"waits to be packed: no worker\" second.err"
'
start_worker

it 'packs it once for both that wait, and runs their jobs on it' '
    wait_until 30 says first 1
    wait_until 30 says second 1
    [ "$(passes)" = 1 ]
    grep -q "is being packed on hoff" first.err
    for s in first second; do
        wait_until 30 ended "$(json "$s" "d[\"sweep\"]")"
        [ "$(jobs_in done "$(json "$s" "d[\"sweep\"]")")" = 1 ]
    done
'

it 'leaves a file as large as a part where it is' '
    [ "$(du -sk "$SHARE/lab/cats/.ludwig/packs" | cut -f1)" -lt 1000 ]
'

it 'finds that nothing has changed, and runs nothing again' '
    submit_later third sweep1.yaml
    wait_until 30 says third 0
    [ "$(passes)" = 2 ]
'

it 'runs again what would be given something else' '
    echo "cat 1, older" >"$CATS/small/1"
    submit_later fourth sweep1.yaml
    wait_until 30 says fourth 1
    wait_until 30 ended "$(json fourth "d[\"sweep\"]")"
    [ "$(jobs_in done "$(json fourth "d[\"sweep\"]")")" = 1 ]
'

it 'says what is wrong with it' '
    sed "s,datasets/cats,datasets/dogs," sweep1.yaml >dogs.yaml
    not ludwig submit dogs.yaml >out 2>err
    grep -q "datasets/dogs, on hoff: .*No such file or directory" err
    mkfifo "$CATS/pipe"
    not ludwig submit sweep1.yaml >out 2>err
    grep -q "pipe" err
    rm "$CATS/pipe"
'

refused() { # PATH, as YAML has it; ERROR
    sed "s,datasets/cats,$1," sweep1.yaml >refused.yaml
    not ludwig submit refused.yaml >out 2>err
    cat err
    grep -v " is being packed on hoff$" err | diff <(echo "ludwig: share: $2") -
}

# What it says to the worker are lines, too; one of them begins with "done".
odd_names() {
    mkfifo "$CATS/$(printf 'a\ndone\033[31m')"
    refused datasets/cats "datasets/cats, on hoff: $CATS/a^Jdone^[[31m is a pipe and cannot be sent"
    rm "$CATS"/a*
    refused '"data\\nsets/cats"' "data^Jsets/cats, on hoff: $SHARE/data^Jsets/cats: No such file or directory"
}
it 'does so in one line, whatever names files and folders have' odd_names

# A quick look, as packing takes only a few seconds.
is_packing() {
    pgrep -f -- "--pack-share .*$TEST_TMP" >/dev/null
}

it 'goes on after worker and ludwigd were killed in the middle' '
    head -c 3000000000 /dev/zero >"$CATS/larger"
    submit_later fifth sweep1.yaml
    end=$((SECONDS + 300))
    until is_packing; do [ $SECONDS -lt $end ] && { read -rt 0.1 -u "$test_never" || true; }; done
    kill_hard "$TEST_TMP/hoff.yaml"
    kill_hard "$TEST_TMP/ludwigd.yaml"
    start_server
    start_worker
    wait_until 900 says fifth 1 || { cat fifth fifth.err && tail -n 20 "$TEST_TMP"/*.log && false; }
'

done_testing
