#!/bin/bash
# listings.sh - what status, jobs, nodes and watch show: to people, to pipes, on terminals
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
terminal() { python3 "$TEST_ROOT/tests/functional/terminal.py" "$@"; }
# The longest line in characters, without colours and line ends of terminals.
widest() { sed 's/\x1b\[[0-9;]*m//g; s/\r//g' "$1" | LC_ALL=C.UTF-8 wc -L; }
escape=$(printf '\033')

# ---- one sweep with some of everything ----

cat >job.py <<'END'
import os, sys, time
a = int(sys.argv[1])
if a == 2:
    sys.exit(7)
while a == 3 and not os.path.exists(sys.argv[2]):
    time.sleep(0.02)
while a == 3 and os.environ["LUDWIG_REP"] == "1" and not os.path.exists(sys.argv[3]):
    time.sleep(0.02)
END
cat >l.yaml <<END
project: l
name: a name
command: python3 job.py {a} $TEST_TMP/gates/go $TEST_TMP/gates/last
source: job.py
params:
  a: [1, 2, 3, 4]
  lr: 0.01
  text: {value: "$(printf 'x%.0s' {1..150})\u001b[2J\u009b31m\nnew line"}
  model: {value: {depth: 3}}
reps: 2
END

submits() {
    id=$(submit l.yaml)
    [ "$id" = 1 ]
    wait_until 15 '[ "$(jobs_in running 1)$(jobs_in failed 1)$(jobs_in done 1)" = 222 ]'
    ludwig cancel 1.8 --quiet
}
it 'a sweep has jobs in many states' submits

pipes() {
    ludwig jobs 1 >out
    [ "$(wc -l <out)" = 9 ]
    head -1 out | grep -q '^JOB *STATE *REP *NODE *TIME *CONFIGURATION *PARAMETERS *REASON$'
    # Nothing is cut, nothing is coloured, nothing is obeyed by a terminal.
    [ "$(grep -c 'x\{150\}^\[\[2J\\xc2\\x9b31m^Jnew line' out)" = 8 ]
    not grep -q "$escape" out
    not grep -q '…' out
    ludwig jobs 1 | head -1 >out
    ludwig status >out
    not grep -q "$escape" out
    grep -q '^ *1  l  *a name  [a-z]*  *running  *2/8  *2  *1  *2  \(now\|[0-9]* s ago\)$' out
    ludwig status 1 >out
    not grep -q "$escape" out
    grep -q '^sweep  *1 a name in project l, by ' out
    grep -q '^failed  *2 x exit code 7 (first: 1.3)$' out
    grep -q 'ludwig jobs 1 --state failed' out
    grep -q '^progress  *\[.*\] 62 %' out
}
it 'in a pipe nothing is cut or coloured, and what others wrote is harmless' pipes

terminals() {
    local columns
    for columns in 40 80 200; do
        for words in 'jobs 1' 'status' 'status 1' 'nodes' 'jobs 1 --state failed'; do
            # shellcheck disable=SC2086 # words
            NO_COLOR=1 terminal 24x$columns ludwig $words >out
            [ "$(widest out)" -le $columns ]
            not grep -q "$escape" out
            # shellcheck disable=SC2086
            TERM=xterm terminal 24x$columns ludwig $words >out
            [ "$(widest out)" -le $columns ]
            # No cursor is moved.
            not grep -q "$escape\[[0-9;]*[^0-9;m]" out
        done
        NO_COLOR=1 terminal 24x$columns ludwig jobs 1 >out
        [ "$(wc -l <out)" = 9 ]
        grep -q "^JOB *STATE .*PARAMETERS *REASON" out
        [ "$(grep -c '…' out)" -ge 8 ]
        NO_COLOR=1 terminal 24x$columns ludwig status >out
        grep -q ' 2/8 ' out
    done
    TERM=xterm terminal 24x80 ludwig jobs 1 | grep -q "$escape\[31mfailed"
    TERM=dumb terminal 24x80 ludwig jobs 1 >out
    not grep -q "$escape" out
}
it 'on terminals of 40, 80 and 200 columns lines fit, coloured unless NO_COLOR is set' terminals

quiet() {
    [ "$(ludwig status --quiet)" = 1 ]
    [ "$(ludwig jobs 1 --quiet | tr '\n' ' ')" = '1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 ' ]
    [ "$(ludwig jobs 1.2-4,7 -q | tr '\n' ' ')" = '1.2 1.3 1.4 1.7 ' ]
    [ "$(ludwig jobs 1.7 1.1 -q | tr '\n' ' ')" = '1.1 1.7 ' ]
    [ "$(ludwig jobs last --state failed,cancelled -q | tr '\n' ' ')" = '1.3 1.4 1.8 ' ]
    [ "$(ludwig jobs all --state failed --state cancelled -q | tr '\n' ' ')" = '1.3 1.4 1.8 ' ]
    ludwig jobs 1.99 >out 2>err
    [ ! -s out ]
    grep -qx 'there is no such job' err
}
it '--quiet prints bare ids, --state and selectors choose' quiet

expressions() {
    local expression
    while IFS='|' read -r expression wanted; do
        [ "$(ludwig jobs 1 --where "$expression" -q | sed 's/1\.//' | tr -d '\n')" = "$wanted" ] ||
            { echo "$expression" && return 1; }
    done <<'END'
a >= 3 and state != running|78
state = failed|34
exit_code = 7 and rep = 1|4
not (a = 1 or a = 2) and model.depth = 3|5678
param_name ~ _00 and a in (1, 4)|1278
job = 1.2|2
lr = 1e-2|12345678
cause = failed|34
node = null and state = cancelled|8
END
    for expression in 'a >' 'lrr = 1' 'a = 1 and' '(a = 1'; do
        status=0
        ludwig jobs 1 --where "$expression" --json >out 2>err || status=$?
        [ $status = 2 ]
        [ ! -s out ]
        grep -q '^ludwig: --where: ' err
    done
    ludwig jobs 1 --where 'lrr = 1' 2>err || true
    grep -qx "ludwig: --where: no job has 'lrr' (did you mean 'lr'?)" err
    # Only jobs that are done have this state's name, which the first page need not show.
    [ -z "$(ludwig jobs 1 --state cancelled --where 'model.depth = 4' -q)" ]
    status=0
    ludwig jobs 1 --state faild 2>err || status=$?
    [ $status = 2 ]
    grep -q "(did you mean 'failed'?)" err
}
it '--where chooses by fields and parameters, and says where it is wrong' expressions

as_json() {
    ludwig jobs 1 --where 'a = 2' --json >out
    json out 'd["v"] == 1 and [j["job"] for j in d["jobs"]] == ["1.3", "1.4"]'
    json out 'set(d["jobs"][0]) >= {"job", "param_name", "job_name", "rep", "state", "attempt", "node",
        "partition", "exit_code", "signal", "reason", "queued_at", "started_at", "ended_at", "params",
        "run_path", "log_path"}'
    json out 'd["jobs"][0]["params"]["text"].startswith("xxx") and d["jobs"][0]["params"]["text"].endswith("\x1b[2J\x9b31m\nnew line")'
    json out '__import__("re").fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", d["jobs"][0]["ended_at"]) is not None'
    ludwig status 1 --json | json - 'd["v"] == 1 and d["sweep"] == 1 and d["state"] == "running" and d["jobs"]["failed"] == 2'
    ludwig status --json --mine --state running | json - 'd["v"] == 1 and len(d["sweeps"]) == 1'
    ludwig status --json --user nobody | json - 'd["sweeps"] == []'
    ludwig status --json --state paused,done | json - 'd["sweeps"] == []'
    ludwig nodes --json | json - 'd["v"] == 1 and d["nodes"][0]["cpus"] == 2 and d["nodes"][0]["running"] == 2'
    status=0
    ludwig status --mine --user x 2>err || status=$?
    [ $status = 2 ]
    status=0
    ludwig status 1.3 2>err || status=$?
    [ $status = 2 ]
    grep -q "'1.3' names jobs; this takes whole sweeps: 1" err
}
it '--json has "v": 1 and times in UTC' as_json

# ---- watching ----

watches() {
    timeout 60 ludwig watch 1 >out 2>err &
    watcher=$!
    TERM=xterm terminal 30x100 ludwig watch >screen &
    painter=$!
    wait_until 5 grep -q running out
    wait_until 5 grep -q '62 %' screen
    open go
    wait_until 10 "grep -q '^1\.5 done on ' screen"
    open last
    status=0
    wait $watcher || status=$?
    [ $status = 1 ]
    head -1 out | grep -qx 'sweep 1 running: 2 done, 2 running, 1 queued, 2 failed, 1 cancelled'
    tail -1 out | grep -qx 'sweep 1 failed: 5 done, 2 failed, 1 cancelled'
    [ "$(sort out | uniq -d)" = '' ]
    not grep -q "$escape" out
    grep -q '^sweep 1: 5 done, 1 cancelled, 2 failed (' err
    status=0
    wait $painter || status=$?
    [ $status = 1 ]
    # Painted over at least once, and at the end all of it stands there.
    grep -q "$escape\[[0-9]*A" screen
    grep -q '100 %' screen
    tr '\r' '\n' <screen | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | tail -12 | grep -q 'failed  *2 x exit code 7 (first: 1.3)'
    [ "$(ludwig watch 2>&1)" = 'none of your sweeps goes on any more' ]
    ludwig watch 1 >out 2>err && return 1
    [ "$(cat out)" = 'sweep 1 failed: 5 done, 2 failed, 1 cancelled' ]
}
it 'watch follows a sweep to its end, painted on a terminal, in lines elsewhere' watches

watches_many() {
    printf '%s\n' 'project: m' 'command: sh job.sh' 'source: job.sh' 'params: {a: [1, 2]}' >m.yaml
    write_job 'gate many'
    first=$(submit m.yaml --reuse none) second=$(submit m.yaml --reuse none)
    ludwig watch >out 2>err &
    watcher=$!
    wait_until 5 grep -q "sweep $first running" out
    wait_until 5 grep -q "sweep $second running" out
    # The server may be restarted meanwhile.
    kill_hard ludwigd
    timeout 30 ludwig up
    open many
    wait $watcher
    [ "$(sort out | uniq -d)" = '' ]
    grep -qx "sweep $first done: 2 done" out
    grep -qx "sweep $second done: 2 done" out
    grep -qx "sweep $first: all 2 done" err
}
it 'watch without a sweep follows all that go on, and outlives a ludwigd' watches_many

interrupted() {
    write_job 'gate later'
    id=$(submit m.yaml --reuse none)
    status=0
    TERM=xterm terminal 24x80 --type ' running' '\x03' ludwig watch "$id" >screen || status=$?
    [ $status = 1 ]
    grep -q 'the jobs go on' screen
    wait_until 10 '[ "$(jobs_in running '"$id"')" = 2 ]'
    open later
    wait_until 10 ended "$id"
}
it 'Ctrl-C ends watch, and not the jobs' interrupted

done_testing
