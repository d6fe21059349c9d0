#!/bin/bash
# data_nodes.sh - jobs go to the node that holds their data, and nodes say what they hold
. "$(dirname "$0")/lib.sh"

SHARE=$TEST_TMP/share
mkdir "$SHARE" "$SCRATCH" "$TEST_TMP/state"
chmod 0700 "$TEST_TMP/state"
export LUDWIG_SERVER=unix:$TEST_TMP/server.sock

cat >"$TEST_TMP/ludwigd.yaml" <<END
share: $SHARE
state: $TEST_TMP/state
sockets: [$TEST_TMP/server.sock]
END

start_server() {
    ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
    wait_until 10 ludwig status >/dev/null 2>&1
}
start_worker() { # NAME
    mkdir -p "$SCRATCH/$1"
    cat >"$TEST_TMP/$1.yaml" <<END
server: unix:$TEST_TMP/server.sock
share: $SHARE
scratch: $SCRATCH/$1
name: $1
kind: local
state: $TEST_TMP/$1.state
resources: {cpus: 4, gpus: 0, memory: 1GiB}
END
    ludwig-worker --config "$TEST_TMP/$1.yaml" 2>>"$TEST_TMP/$1.log" &
    wait_until 15 is_node "$1" "n['state'] == 'up'"
}
# A Python expression on n, the node, is true.
is_node() { # NAME EXPRESSION
    ludwig nodes --json |
        json - "any(n['node'] == '$1' and ($2) for n in d['nodes'])" >/dev/null
}

# Large enough that it is better to wait a moment than to bring it elsewhere.
mkdir -p proj/corpora
cd proj || exit 1
head -c 300000000 /dev/zero | tr '\0' 'x' >corpora/words
cat >sweep.yaml <<END
project: words
command: test \$(wc -c <\$LUDWIG_DATA/corpora/words) = 300000000
source: []
data: [corpora]
params: {x: [1, 2]}
END

start_server
start_worker hoff

it 'brings the data to the one node there is, which then says that it holds them' '
    submit sweep.yaml >first
    wait_until 60 ended "$(cat first)"
    [ "$(jobs_in done "$(cat first)")" = 2 ]
    wait_until 10 is_node hoff "n[\"held\"] == 1 and n[\"held_bytes\"] == 300000000"
    is_node hoff "n[\"holds\"][0][\"bytes\"] == 300000000"
    ludwig nodes | grep -q "286.1 MiB (1)"
'

start_worker norman

it 'gives the next jobs to that node, though another one is as free' '
    submit sweep.yaml --reps 2 >second
    wait_until 60 ended "$(cat second)"
    [ "$(jobs_in done "$(cat second)")" = 2 ]
    for no in 1 2; do
        [ "$(job "$(cat second).$no" "j[\"node\"]")" = hoff ]
    done
    is_node norman "n[\"held\"] == 0"
'

it 'knows it again after each of both was killed' '
    kill_hard "$TEST_TMP/hoff.yaml"
    wait_until 15 is_node hoff "n[\"state\"] == \"lost\""
    start_worker hoff
    wait_until 10 is_node hoff "n[\"held\"] == 1"
    kill_hard "$TEST_TMP/ludwigd.yaml"
    start_server
    wait_until 30 is_node hoff "n[\"held\"] == 1"
'

done_testing
