#!/bin/bash
# two_workers.sh - two workers, one server: who gets what, and who may publish
. "$(dirname "$0")/lib.sh"

SHARE=$TEST_TMP/share
mkdir "$SHARE" "$SCRATCH" "$TEST_TMP/state"
chmod 0700 "$TEST_TMP/state"
export LUDWIG_SERVER=unix:$TEST_TMP/server.sock

cat >"$TEST_TMP/ludwigd.yaml" <<END
share: $SHARE
state: $TEST_TMP/state
sockets: [$TEST_TMP/server.sock]
lease: 8s
END

# Each worker reaches ludwigd through a proxy, which can be killed and writes down reports.
worker_conf() { # NAME
    mkdir -p "$SCRATCH/$1"
    cat >"$TEST_TMP/$1.yaml" <<END
server: unix:$TEST_TMP/$1.sock
share: $SHARE
scratch: $SCRATCH/$1
name: $1
kind: local
state: $TEST_TMP/$1.state
resources: {cpus: 4, gpus: 0, memory: 1GiB}
END
}
worker_conf hoff
worker_conf norman

start_server() {
    ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
    wait_until 10 ludwig status >/dev/null 2>&1
}
start_proxy() { # NAME
    python3 -S "$TEST_ROOT/tests/functional/proxy.py" "$TEST_TMP/$1.sock" "$TEST_TMP/server.sock" "$TEST_TMP/$1.reports" &
}
start_agent() { # NAME
    ludwig-worker --config "$TEST_TMP/$1.yaml" 2>>"$TEST_TMP/$1.log" &
}
start_worker() { # NAME
    start_proxy "$1"
    start_agent "$1"
    wait_until 15 is_up "$1"
}
stop_worker() { # NAME: its jobs go on
    kill_hard "$TEST_TMP/$1.yaml"
    kill_hard "$TEST_TMP/$1.sock"
}
reported() { # NAME EVENT: "TOKEN WINNER" of each
    python3 -c '
import json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r.get("event") == sys.argv[2]:
        print(r["token"], r.get("winner", ""))' "$TEST_TMP/$1.reports" "$2" | sort -u
}

# The lease of what a worker holds ran out, and the other one runs the same jobs.
both_run() { # SWEEP JOBS
    wait_until 15 '[ "$(recorded "^start '"$1"'\.")" = '$((2 * $2))' ]'
    [ "$(grep "^start $1\." "$TEST_TMP/records" | cut -d' ' -f2 | sort | uniq -c | sort -u | grep -c '^ *2 ')" -gt 0 ]
    [ "$(grep "^start $1\." "$TEST_TMP/records" | cut -d' ' -f2 | sort -u | wc -l)" = "$2" ]
}

# One result for each job, of an attempt that ran to its end.
one_result_each() { # PROJECT SWEEP JOBS
    wait_until 20 '[ "$(jobs_in done '"$2"')" = '"$3"' ]'
    # The attempt that loses may still be copying.
    wait_until 20 'published "'"$1"'" >"$TEST_TMP/published"'
    [ "$(wc -l <"$TEST_TMP/published")" = "$3" ]
    while read -r job token _ folder; do
        grep -q "^end $job $token " "$TEST_TMP/records"
        # The files are of the attempt that job.json names.
        [ "$(cat "$folder/token")" = "$token" ]
    done <"$TEST_TMP/published"
    nothing_left
    ludwig jobs "$2" --json | json - 'all(j["state"] == "done" for j in d["jobs"])'
}

spread() {
    start_server
    start_worker hoff
    start_worker norman
    ludwig nodes --json | json - 'sorted(n["node"] for n in d["nodes"]) == ["hoff", "norman"]'
    write_job 'gate spread'
    printf 'project: spread\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [1, 2, 3, 4, 5, 6, 7, 8]}\n' >spread.yaml
    id=$(submit spread.yaml)
    wait_until 15 '[ "$(recorded "^start ")" = 8 ]'
    wait_until 5 '[ "$(jobs_in running '"$id"')" = 8 ]'
    ludwig nodes --json | json - 'sorted(n["running"] for n in d["nodes"]) == [4, 4]'
    ludwig jobs "$id" --json | json - 'sorted(j["node"] for j in d["jobs"]) == ["hoff"] * 4 + ["norman"] * 4'
    open spread
    wait_until 15 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(published spread | wc -l)" = 8 ]
    nothing_left
}
it 'jobs spread over both workers' spread

node_list() {
    printf 'project: listed\ncommand: "true"\nsource: []\nnodes: [norman]\nparams: {a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n' >listed.yaml
    id=$(ludwig_wait submit listed.yaml --wait)
    ludwig jobs "$id" --json | json - 'all(j["node"] == "norman" for j in d["jobs"])'
    id=$(ludwig_wait submit listed.yaml --wait --nodes hoff --reuse none)
    ludwig jobs "$id" --json | json - 'all(j["node"] == "hoff" for j in d["jobs"])'
    id=$(submit listed.yaml --nodes elsewhere --reuse none)
    id2=$(ludwig_wait submit listed.yaml --wait --reuse none)
    [ "$(jobs_in queued "$id")" = 10 ]
    ludwig cancel "$id"
}
it 'a list of nodes holds' node_list

tail_stays_even() {
    rm "$TEST_TMP/records"
    write_job 'gate $1'
    printf 'project: even\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [%s]}\n' "$(seq -s, 1 16)" >even.yaml
    id=$(submit even.yaml)
    wait_until 20 '[ "$(recorded "^start ")" = 8 ]'
    # All places become free, and none of the other jobs makes room for another one.
    for job in $(sed -n "s/^start $id\.\([0-9]*\) .*/\1/p" "$TEST_TMP/records"); do open "$job"; done
    wait_until 20 '[ "$(recorded "^start ")" = 16 ]'
    for job in {1..16}; do open "$job"; done
    wait_until 20 ended "$id"
    ludwig jobs "$id" --json | json - 'min(sum(j["node"] == n for j in d["jobs"]) for n in ("hoff", "norman")) >= 5'
}
it 'neither worker hoards what the other could run' tail_stays_even

# ---- two attempts of one job ----

# hoff gets the jobs and is cut off; norman gets them as well.
get_both_to_run() { # PROJECT JOBS: prints the sweep
    rm -f "$TEST_TMP/records" "$TEST_TMP"/*.reports
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'head -c 300000 /dev/urandom >"$LUDWIG_SAVE_PATH/noise"' "gate $1"
    printf '%s\n' "project: $1" 'command: sh job.sh {a}' 'source: job.sh' "params: {a: [$(seq -s, 1 "$2")]}" >"$1.yaml"
    kill_hard "$TEST_TMP/norman.yaml"
    id=$(submit "$1.yaml")
    wait_until 10 '[ "$(recorded "^start ")" = '"$2"' ]'
    kill_hard "$TEST_TMP/hoff.$3"
    start_agent norman
    both_run "$id" "$2"
}

declare -ft get_both_to_run one_result_each # so that the step that failed is shown

same_time() {
    get_both_to_run race 4 sock
    open race
    wait_until 20 '[ "$(recorded "^end '"$id"'\.")" = 8 ]'
    wait_until 20 '[ "$(published race | wc -l)" = 4 ]'
    start_proxy hoff
    one_result_each race "$id" 4
    # Whoever did not publish says so, and names who did.
    cut -d' ' -f2 "$TEST_TMP/published" | sort >winners
    wait_until 10 '[ "$(cat <(reported hoff done) <(reported norman done) | cut -d" " -f1 | sort | cmp - winners && echo same)" = same ]'
    grep '^start' "$TEST_TMP/records" | cut -d' ' -f3 | sort | comm -23 - winners >losers
    [ "$(wc -l <losers)" = 4 ]
    cat <(reported hoff supersede) <(reported norman supersede) | sort >superseded
    cut -d' ' -f1 superseded | cmp - losers
    cut -d' ' -f2 superseded | sort | cmp - winners
}
it 'two attempts that finish at the same time leave one result, and the other says superseded' same_time

agent_killed() {
    get_both_to_run again 4 yaml
    open again
    start_agent hoff
    wait_until 20 '[ "$(recorded "^end '"$id"'\.")" -ge 4 ]'
    one_result_each again "$id" 4
    [ "$(sweep_state "$id")" = done ]
}
it 'the same when the agent was gone meanwhile and returns with its attempts' agent_killed

longest_counts() {
    get_both_to_run longest 2 sock
    start_proxy hoff
    # norman's are told to stop: they began later.
    norman=$(grep '^start' "$TEST_TMP/records" | tail -n 2 | sed 's/.* //')
    wait_until 20 gone $norman
    hoff=$(grep '^start' "$TEST_TMP/records" | head -n 2 | sed 's/.* //')
    kill -0 $hoff
    open longest
    one_result_each longest "$id" 2
    [ "$(cut -d' ' -f2 "$TEST_TMP/published" | sort)" = "$(grep '^start' "$TEST_TMP/records" | head -n 2 | cut -d' ' -f3 | sort)" ]
    [ "$(recorded '^end ')" = 2 ]
}
it 'when a worker returns in time, the attempt that has run longest counts' longest_counts

nobody_else() {
    kill_hard "$TEST_TMP/norman.yaml"
    rm "$TEST_TMP/records"
    write_job 'echo $LUDWIG_ATTEMPT >"$LUDWIG_SAVE_PATH/token"' 'gate alone'
    printf 'project: alone\ncommand: sh job.sh\nsource: job.sh\n' >alone.yaml
    id=$(submit alone.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 1 ]'
    kill_hard "$TEST_TMP/hoff.sock"
    # Its lease runs out, and nobody else is there.
    wait_until 10 '[ "$(jobs_in queued '"$id"')" = 1 ]'
    ludwig nodes --json | json - '[n["state"] for n in d["nodes"] if n["node"] == "hoff"] == ["lost"]'
    start_proxy hoff
    wait_until 15 is_up hoff
    wait_until 5 '[ "$(jobs_in running '"$id"')" = 1 ]'
    open alone
    one_result_each alone "$id" 1
    [ "$(recorded '^start ')" = 1 ]
    job "$id.1" 'j["attempt"] == 1'
}
it 'a worker that was thought lost goes on with what it has' nobody_else

cancelled_after_publishing() {
    rm "$TEST_TMP/records"
    write_job 'gate withdraw'
    printf 'project: withdraw\ncommand: sh job.sh\nsource: job.sh\n' >withdraw.yaml
    id=$(submit withdraw.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 1 ]'
    kill_hard "$TEST_TMP/hoff.sock"
    open withdraw
    wait_until 10 '[ "$(published withdraw | wc -l)" = 1 ]'
    ludwig cancel "$id"
    start_proxy hoff
    wait_until 15 '[ -z "$(find "$SHARE/withdraw" -name job.json)" ]'
    [ "$(sweep_state "$id")" = cancelled ]
    nothing_left
}
it 'a result that was published before its cancellation was known is taken out again' cancelled_after_publishing

done_testing
