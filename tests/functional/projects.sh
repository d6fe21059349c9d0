#!/bin/bash
# projects.sh - projects in a folder of their own below the share
. "$(dirname "$0")/lib.sh"

SHARE=$TEST_TMP/share
mkdir "$SHARE" "$TEST_TMP/mount"
ln -s "$SHARE" "$TEST_TMP/mount/data"
configure "share: $TEST_TMP/mount/data"
export LUDWIG_SERVER=unix:$TEST_TMP/server.sock

cat >"$TEST_TMP/ludwigd.yaml" <<END
share: $SHARE
projects: research/lab
state: $TEST_TMP/state
sockets: [$TEST_TMP/server.sock]
END
cat >"$TEST_TMP/worker.yaml" <<END
server: unix:$TEST_TMP/server.sock
share: $TEST_TMP/mount/data
scratch: $SCRATCH
name: n1
kind: local
state: $TEST_TMP/worker
END
cat >sweep.yaml <<'END'
project: demo
command: echo "$LUDWIG_PROJECT_PATH"; echo well >"$LUDWIG_SAVE_PATH/out"; exit {code}
params: {code: [0, 3]}
END

ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>"$TEST_TMP/ludwigd.log" &
wait_until 10 ludwig status >"$TEST_TMP/out" 2>&1
ludwig-worker --config "$TEST_TMP/worker.yaml" 2>"$TEST_TMP/worker.log" &

it 'a sweep runs, and its project lies in that folder' '
    [ "$(submit sweep.yaml)" = 1 ]
    wait_until 20 ended 1
    [ "$(ls "$SHARE/research/lab/demo")" = "$(printf "%s\n" failed logs runs sweeps)" ]
    [ "$(ls -A "$SHARE")" = "$(printf "%s\n" .ludwig research)" ]
'

it 'paths in JSON begin at the share, whichever way it is mounted' '
    [ "$(cat "$SHARE/$(job 1.1 "j[\"run_path\"]")/out")" = well ]
    [ "$(cat "$SHARE/$(job 1.1 "j[\"log_path\"]")")" = "$TEST_TMP/mount/data/research/lab/demo" ]
    job 1.2 "j[\"run_path\"]" | grep "^research/lab/demo/failed/"
    ludwig why 1.1 --json | json - "d[\"job\"][\"run_path\"].startswith(\"research/lab/demo/runs/\")"
    ludwig why 1.1 --json | json - "d[\"lines\"][0].endswith(\": \" + d[\"job\"][\"run_path\"])"
'

it 'people are told the path here' '
    ludwig why 1.1 | grep -F "its files: $TEST_TMP/mount/data/$(job 1.1 "j[\"run_path\"]")"
    ludwig why 1.1 | grep -F "its log: $TEST_TMP/mount/data/$(job 1.1 "j[\"log_path\"]")"
'

it 'logs, results and fetch find their files' '
    ludwig logs 1.1 | grep -x "$TEST_TMP/mount/data/research/lab/demo"
    ludwig fetch 1 fetched
    [ "$(cat fetched/runs/*/*/out)" = well ]
'

it 'peek, debug and reproduce, too' '
    [ "$(ludwig peek 1.1 out)" = well ]
    ludwig debug 1.1 looked --no-shell
    [ "$(cat looked/runs/*/*/out)" = well ]
    ludwig reproduce 1.1 | grep "^job 2.1 came out as job 1.1: "
'

it 'doctor looks at the projects there' '
    ludwig doctor | tee /dev/stderr | grep -F "$TEST_TMP/mount/data/research/lab/demo is yours"
'

done_testing
