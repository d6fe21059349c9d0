#!/bin/bash
# remove.sh - what is not on the share any more is not reused, and ludwig rm
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
write_job 'echo "$1" >"$LUDWIG_SAVE_PATH/value.csv"' '[ "$1" != 9 ] || exit 3' '[ "$1" != 7 ] || gate seven'
sweep() { # PROJECT VALUE...
    printf 'project: %s\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [%s]}\n' "$1" "$(IFS=,; echo "${*:2}")" >sweep.yaml
}
run() { # PROJECT VALUE...: the sweep's number, when it is over
    sweep "$@"
    id=$(submit sweep.yaml) || return
    wait_until 60 ended "$id"
}
exists() { # FILE...: any of them
    [ -n "$(find "$@" -maxdepth 0 2>/dev/null)" ]
}

result_gone() {
    run p 1 2 3
    rm -rf "$SHARE"/p/runs/param_001 "$SHARE"/p/runs/param_003/*/
    ludwig_wait submit sweep.yaml --wait --json >s 2>said
    json s '[d["reused"], d["queued"]] == [1, 2]'
    grep -q '2 jobs that were done before run again: the results are not in p/runs any more' said
    [ "$(ls -d "$SHARE"/p/runs/*/*/ | wc -l)" = 3 ]
    ludwig_wait submit sweep.yaml --wait --json >s 2>said
    json s '[d["reused"], d["queued"]] == [3, 0]'
    not grep 'run again' said
    published p >/dev/null
}
it 'a job whose result is gone from the share runs again' result_gone

whole_sweep() {
    run q 1 9
    [ "$(sweep_state "$id")" = failed ]
    exists "$SHARE"/q/failed/param_002/*
    ludwig rm "$id" >out 2>said
    grep -q '^2 jobs removed$' said
    not ludwig status "$id" 2>e
    grep -q "there is no sweep $id" e
    not exists "$SHARE"/q/runs/* "$SHARE"/q/failed/* "$SHARE/q/logs/$id" "$SHARE/q/sweeps/$id"
    ludwig usage --by sweep --json | json - "any(x['sweep'] == $id and x['attempts'] == 2 for x in d['sweeps'])"
    ludwig_wait submit sweep.yaml --wait --json >s || true
    json s '[d["reused"], d["queued"]] == [0, 2]'
    json s "d['sweep'] > $id"
    exists "$SHARE"/q/runs/param_001/*/value.csv
}
it 'a sweep goes with its files, and nothing of it is reused' whole_sweep

leftovers() {
    run left 1 9
    exists "$SHARE"/left/failed/param_002/*
    ludwig rm left --leftovers --older 1d 2>said
    grep -qx "removed what 0 failed attempts left" said
    exists "$SHARE"/left/failed/param_002/*
    ludwig rm left --leftovers 2>said
    grep -qx "removed what 1 failed attempt left" said
    not exists "$SHARE"/left/failed/*
    exists "$SHARE"/left/runs/param_001/*/value.csv
    exists "$SHARE/left/logs/$id"/param_002*
    [ "$(ludwig jobs "$id" -q | wc -l)" = 2 ]
    not ludwig rm left --older 1d 2>said
    grep -q -e '--older goes with --leftovers' said
    not ludwig rm left --leftovers --older soon 2>said
    grep -q -e '--older: ' said
}
it 'what failed attempts left goes alone, also after a time' leftovers

one_job() {
    run r 1 2 3
    ludwig rm "$id.2" --json >s
    json s 'd["jobs"] == 1'
    not exists "$SHARE"/r/runs/param_002
    not exists "$SHARE/r/logs/$id"/param_002*
    exists "$SHARE"/r/runs/param_003/*/value.csv
    not ludwig logs "$id.2"
    ludwig logs "$id.3"
    ludwig status "$id" --json | json - 'd["jobs"]["done"] == 2 and d["state"] == "done"'
    ludwig rm r/param_003
    not exists "$SHARE"/r/runs/param_003
    ludwig jobs "$id" --json | json - "[j['job'] for j in d['jobs']] == ['$id.1']"
    not ludwig rm r/param_009 2>e
    grep -q "project 'r' has no jobs of 'param_009'" e
}
it 'a job goes, and a configuration does' one_job

reused() {
    run s 1 2
    first=$id
    ludwig_wait submit sweep.yaml --wait --json >s
    second=$(json s 'd["sweep"]')
    ludwig rm "$first"
    ludwig status "$second" --json | json - 'd["reused"] == 0'
    ludwig results "$second" --json | json - 'd["results"] == []'
}
it 'a sweep that reused a result loses it, too' reused

kept() {
    run t 1 2
    ludwig rm "$id" --keep-results 2>said
    grep -q 'what they saved is still in runs/' said
    [ "$(ls -d "$SHARE"/t/runs/*/*/value.csv | wc -l)" = 2 ]
    not exists "$SHARE/t/logs/$id"
}
it '--keep-results leaves what the jobs saved' kept

running() {
    sweep u 1 7
    id=$(submit sweep.yaml)
    wait_until 60 '[ "$(jobs_in done "$id")" = 1 ] && [ "$(jobs_in running "$id")" = 1 ]'
    not ludwig rm "$id" 2>e
    grep -q "job $id.2: it is running: .ludwig cancel $id.2. ends it" e
    exists "$SHARE"/u/runs/param_001/*/value.csv
    ludwig_wait submit sweep.yaml --json | json - 'd["reused"] == 1'
    ludwig rm "$id.1"
    not exists "$SHARE"/u/runs/param_001
    ludwig cancel all
    open seven
    wait_until 60 'ludwig rm u'
    not exists "$SHARE"/u
}
it 'what runs is refused, and nothing of it goes; a project goes when all is over' running

links() {
    run v 1 2
    mkdir -p other/param_001
    echo mine >other/param_001/file
    mv "$SHARE"/v/runs "$SHARE"/v/elsewhere
    ln -s "$PWD/other" "$SHARE"/v/runs
    not ludwig rm "$id" 2>e
    grep -q 'a link, which is not followed' e
    [ "$(cat other/param_001/file)" = mine ]
    rm "$SHARE"/v/runs
    mv "$SHARE"/v/elsewhere "$SHARE"/v/runs
    job=$(echo "$SHARE"/v/runs/param_001/*/)
    ln -s "$PWD/other" "$job/link"
    ludwig rm "$id"
    [ "$(cat other/param_001/file)" = mine ]
    not exists "$SHARE"/v/runs/*
}
it 'no link is followed out of the project, and the same command goes on' links

killed() {
    run w 1 2
    ludwig rm "$id" &
    kill -KILL $! || true
    wait
    kill_hard ludwigd
    ludwig up
    ludwig rm "$id" || not ludwig status "$id"
    not exists "$SHARE/w/logs/$id" "$SHARE"/w/runs/*
}
it 'what broke off is ended by the same command' killed

smaller() {
    seq 20000 | sed 's/.*/{"a": &}/' >big.jsonl
    printf 'project: x\ncommand: "true"\nsource: []\nnodes: []\n' >big.yaml
    id=$(submit big.yaml --param2vals big.jsonl)
    ludwig cancel "$id" --yes
    ludwig down
    db=$(find "$XDG_STATE_HOME" -name ludwig.db)
    before=$(stat -c %s "$db")
    ludwig up
    ludwig rm "$id"
    wait_until 60 'ludwig down && [ $(stat -c %s "$db") -lt $((before * 3 / 4)) ]'
}
it 'the database gets smaller' smaller

# Behind a proxy that says KEPT for MINE, from the Nth time on.
lied_to() { # N COMMAND...
    local n=$1 status=0
    shift
    rm -f lie.sock
    python3 "$TEST_ROOT/tests/functional/cut.py" "$PWD/lie.sock" \
        "$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")" lie "$n" mine kept &
    wait_until 10 '[ -S lie.sock ]'
    ludwig_wait --server "unix:$PWD/lie.sock" "$@" || status=$?
    kill $!
    return $status
}
liar() {
    run kept 1
    run mine 1
    not lied_to 0 rm mine --yes 2>e
    grep -qx "ludwig: the server takes project 'mine' for 'kept', which is another" e
    exists "$SHARE"/kept/runs/param_001/*/value.csv
    exists "$SHARE"/mine/runs/param_001/*/value.csv
    python3 "$TEST_ROOT/tests/functional/terminal.py" 24x80 --type '[y/N] ' 'n\r' ludwig rm "$id" >out && return 1
    grep -q "^remove 1 job of sweep $id of mine with results, logs and checkpoints, for good? \[y/N\] " out
    # What it said first holds, whatever it says later.
    lied_to 1 rm "$id" --yes
    not exists "$SHARE"/mine/runs/*
    run mine 1
    exists "$SHARE"/mine/runs/param_001/*/value.csv
    lied_to 2 rm mine --yes
    not exists "$SHARE"/mine/runs/*
    exists "$SHARE"/kept/runs/param_001/*/value.csv
}
it 'a server that lies has nothing of another project removed' liar

disk() {
    run y 1 2
    ludwig usage --disk --json >s
    json s 'next(x for x in d["projects"] if x["project"] == "y")["results"] > 3'
    json s 'd["total"]["total"] == sum(x["total"] for x in d["projects"])'
    json s 'next(x for x in d["projects"] if x["project"] == "y")["total"] == '"$(find "$SHARE/y" -type f -printf '%s\n' | awk "{ n += \$1 } END { print n }")"
    ludwig usage --disk >table
    grep -q '^y ' table
    ludwig usage --disk --by user --json | json - 'len(d["users"]) == 1 and d["users"][0]["user"] == "'"$(id -un)"'"'
    not ludwig usage --disk --by sweep
}
it 'usage --disk says how much each project takes' disk

it 'nothing is left on scratch' nothing_left

done_testing
