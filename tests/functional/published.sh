#!/usr/bin/env bash
# published.sh - results are read from the mounted share while its ludwigd is down
. "$(dirname "$0")/lib.sh"
SHARE=$TEST_TMP/drive
mkdir -p "$SHARE" "$SCRATCH"
mkdir -m 0700 "$TEST_TMP/state" "$SCRATCH/node"
chmod 0700 "$SCRATCH"
printf '%s\n' "share: $SHARE" 'projects: lab' "state: $TEST_TMP/state" "sockets: [$TEST_TMP/socket]" >ludwigd.yaml
printf '%s\n' "server: unix:$TEST_TMP/socket" "share: $SHARE" "scratch: $SCRATCH/node" "state: $TEST_TMP/node" \
    'name: node' 'kind: local' 'resources: {cpus: 2, gpus: 0, memory: 1GiB}' >worker.yaml
mkdir -p "$XDG_CONFIG_HOME/ludwig"
printf '%s\n' "server: unix:$TEST_TMP/socket" "share: $SHARE" >"$XDG_CONFIG_HOME/ludwig/config.yaml"

cat >job.sh <<'END'
echo "{\"step\": 0, \"loss\": 9}" >"$LUDWIG_METRICS"
echo "{\"step\": 1, \"loss\": $1}" >>"$LUDWIG_METRICS"
[ "$1" != 5 ] || { echo "no such thing" >&2 && exit 3; }
END

begin() { # VALUES NAME
    printf '%s\n' "project: ${2-exp}" 'command: sh job.sh {x}' 'source: job.sh' "params: {x: [$1]}" 'reps: 2' \
        'retry: {max: 1}' \
        'results: {metric: loss, goal: min}' >sweep.yaml
    ludwig submit sweep.yaml --json | json - 'str(d["sweep"])'
}

has_ended() { # SWEEP
    [ "$(sweep_state "$1")" = failed ] || [ "$(sweep_state "$1")" = done ]
}

with_server() {
    ludwigd --config ludwigd.yaml >ludwigd.log 2>&1 &
    disown
    wait_until 30 [ -S "$TEST_TMP/socket" ]
    ludwig-worker --config worker.yaml >worker.log 2>&1 &
    disown
    first=$(begin '3, 1, 5')
    wait_until 60 has_ended "$first"
    second=$(begin '1, 2')
    wait_until 60 has_ended "$second"
    third=$(begin '7' other)
    wait_until 60 has_ended "$third"
    ludwig results "$first" >first.table
    ludwig results "$first" --json >first.json
    not ludwig results exp 2>said
    grep "'exp' names no sweep or job: .*ludwig status --project exp" said
    echo "$first $second $third" >sweeps
    kill_hard ludwigd
}

# The same table, but for what the server alone knows of jobs that failed.
as_with_it() {
    local first
    read -r first _ <sweeps
    ludwig results "$first" >table 2>said
    cat table said
    # How often a job was tried, ludwigd alone knows.
    sed -E '/^$/,$d; s/, after [0-9]+ tries//' first.table >expected
    sed '/^$/,$d' table | cmp - expected
    grep -x "results  $SHARE/lab/exp/runs/" table
    grep -x "logs     $SHARE/lab/exp/logs/$first/" table
    [ "$(wc -l <said)" = 2 ]
    grep -E '^note: .*config.yaml.* is out of reach: .*socket' said
    grep "^note: this is what lies in $SHARE/lab/exp, " said
    ludwig results "$first" --json 2>/dev/null >json
    sed 's/, after [0-9]* tries//' first.json | cmp - json
}

by_name() {
    ludwig results exp --csv 2>said >csv
    cat csv
    [ "$(wc -l <csv)" = 5 ] # each configuration of both sweeps once
    grep -E '(^|,)2(\.0)?(,|$)' csv
    ludwig results 2>/dev/null | grep "$SHARE/lab/other/runs/" # the newest sweep
    ludwig results exp --where 'loss < 2' --top 1 2>/dev/null | grep -E '^\* +param_002 +1 '
}

refused() {
    not ludwig results 77 2>said
    grep "there is no sweep 77" said
    grep 'is out of reach' said
    not ludwig results nothing 2>said
    grep "no project 'nothing' has sweeps" said
    not ludwig results exp --series loss 2>said
    not grep '^note' said
    not ludwig results '../lab/exp' 2>said
    grep 'names no sweep or job' said
    not ludwig jobs 1 2>said
    grep 'is out of reach' said
}

# Neither what others left there nor what is not whole is taken for a result.
damaged() {
    mkdir -p "$SHARE/lab/exp/runs/param_001/zzz" "$SHARE/lab/exp/runs/param_001/.half" "$SHARE/lab/exp/runs/zz"
    echo '{"job": "1.99", "param_name": ' >"$SHARE/lab/exp/runs/param_001/zzz/job.json"
    echo '[]' >"$SHARE/lab/exp/runs/param_001/.half/job.json"
    echo x >"$SHARE/lab/exp/runs/file"
    ludwig results exp --csv 2>/dev/null | cmp - csv
    echo broken >"$SHARE/.ludwig/id"
    not ludwig results exp 2>said
    grep "'exp' names no sweep or job" said
}

# Whoever may make a project can make folders in it, with any sweep's number and any results.
forge() { # PROJECT
    mkdir -p "$SHARE/lab/$1/sweeps/$first" "$SHARE/lab/$1/runs/param_001/forged"
    printf '{"job": "%s.1", "sweep": %s, "param_name": "param_001", "rep": 0, "params": {"x": 0}, "metrics": {"loss": 0.125}}\n' \
        "$first" "$first" >"$SHARE/lab/$1/runs/param_001/forged/job.json"
    ludwig results "$1" 2>/dev/null | grep 0.125
}
forged() {
    local first
    read -r first _ <sweeps
    if [ "$(id -u)" = 0 ]; then
        for project in a z; do
            forge $project
            chown -R 1 "$SHARE/lab/$project"
        done
        ludwig results "$first" --json 2>/dev/null >json
        sed 's/, after [0-9]* tries//' first.json | cmp - json
        rm -r "$SHARE/lab/a" "$SHARE/lab/z"
    fi
    forge a
    not ludwig results "$first" 2>said
    grep "sweep $first is in the projects .*a.* name the project" said
    rm -r "$SHARE/lab/a"
    ludwig results "$first" --json 2>/dev/null | sed 's/, after [0-9]* tries//' >json
    sed 's/, after [0-9]* tries//' first.json | cmp - json
}

it 'sweeps are done, and ludwigd is killed' with_server
it 'a sweep is shown as with it, and one line says where that was read' as_with_it
it 'a project is shown by its name, and the newest sweep without one' by_name
it 'what is not there, and what only ludwigd knows, is refused with both reasons' refused
it 'what another project says of a sweep of that number is not taken for it' forged
it 'damaged files count for nothing' damaged
done_testing
