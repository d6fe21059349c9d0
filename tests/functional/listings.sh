#!/bin/bash
# listings.sh - what status, jobs, nodes and watch show: to people, to pipes, on terminals
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
terminal() { python3 -S "$TEST_ROOT/tests/functional/terminal.py" "$@"; }
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
    grep -q '^ *1  l  *a name  [a-z0-9]*  *running  *2/8  *2  *1  *2  \(now\|[0-9]* s ago\)$' out
    ludwig status 1 >out
    not grep -q "$escape" out
    grep -q '^sweep  *1 a name in project l, by ' out
    grep -q '^failed  *2 x exit code 7 (first: 1.3)$' out
    grep -q 'ludwig triage 1' out
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
        [ "$(wc -l <out)" = 10 ]
        grep -q "^JOB *STATE .*PARAMETERS *REASON" out
        tail -1 out | grep -q '^the same in all: lr=0.01 '
        tail -1 out | grep -q '…'
        grep -q '^1\.3 .* a=2\( \|.$\)' out
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
    for command in jobs cancel why; do
        status=0
        ludwig $command 1.99 >out 2>err || status=$?
        [ $status = 1 ]
        [ ! -s out ]
        grep -q '^ludwig: there is no job 1.99' err
    done
    grep -qx 'no job of sweep 1 matches' <<<"$(ludwig jobs 1 --state publishing 2>&1)"
    grep -qx 'no job of sweep 1 matches' <<<"$(ludwig jobs 1 --where 'a = 9' 2>&1)"
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
    for command in jobs retry; do
        status=0
        ludwig $command 1 --where 'a = 1 or not state = faild' 2>err || status=$?
        [ $status = 2 ]
        grep -qx "ludwig: --where: state is never 'faild' (did you mean 'failed'?)" err
    done
    ludwig jobs 1 --where 'state = paused' 2>err && return 1
    grep -qx "ludwig: --where: paused is no state of a job; paused jobs are queued: --where 'reason = paused'" err
    [ -z "$(ludwig jobs 1 --where 'lr = abc' -q 2>&1)" ]
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
    ludwig nodes --json >nodes.json
    json nodes.json 'd["v"] == 1 and d["nodes"][0]["cpus"] == 2 and d["nodes"][0]["running"] == 2'
    json nodes.json 'len(d["nodes"][0]["jobs"]) == 2 and len(d["nodes"][0]["users"]) == 1'
    # A worker that has not said its load in time has none there.
    wait_until 20 'ludwig nodes --json | json - "(d[\"nodes\"][0][\"load\"] or -1) > 0 or d[\"nodes\"][0][\"load\"] == 0"'
    ludwig nodes | grep -E '^NODE.* LOAD .* JOBS$'
    ludwig nodes | grep -E ' [0-9]+\.[0-9] .* 2 +[0-9]+\.[0-9]+ [0-9]+\.[0-9]+$'
    status=0
    ludwig status --mine --user x 2>err || status=$?
    [ $status = 2 ]
    status=0
    ludwig status 1.3 2>err || status=$?
    [ $status = 2 ]
    grep -q "'1.3' names jobs; this takes whole sweeps: 1" err
}
it '--json has "v": 1 and times in UTC' as_json

# ---- what beginners type ----

stumbles() {
    while IFS='|' read -r words answer; do
        status=0
        # shellcheck disable=SC2086 # words
        ludwig $words >out 2>err || status=$?
        [ $status = 2 ]
        [ "$(cat err)" = "ludwig: $answer" ] || { cat err && return 1; }
    done <<'END'
cancel|which sweep or job? usage: ludwig cancel SWEEP|JOB... [OPTION]...
logs|which job? usage: ludwig logs JOB [OPTION]...
drain|which node? usage: ludwig drain NODE|@GROUP... [OPTION]...
--json status|--json goes behind the command: ludwig status --json
--json|--json goes behind the command: ludwig COMMAND --json
--state=failed jobs 1|--state goes behind the command: ludwig jobs --state=failed
--where a jobs 1|--where goes behind the command: ludwig COMMAND --where
--jsn status|unknown option --jsn
run l.yaml|there is no command 'run' (did you mean 'submit'?)
ls|there is no command 'ls' (did you mean 'status' or 'jobs'?)
kill 1|there is no command 'kill' (did you mean 'cancel'?)
log 1.1|there is no command 'log' (did you mean 'logs'?)
cancle 1|there is no command 'cancle' (did you mean 'cancel'?)
END
}
it 'what is missing, misplaced or called otherwise elsewhere is told' stumbles

# ---- watching ----

watches() {
    timeout 600 ludwig watch 1 >out 2>err &
    watcher=$!
    wait_until 5 grep -q running out
    open go
    open last
    status=0
    wait $watcher || status=$?
    [ $status = 1 ]
    head -1 out | grep -qx 'sweep 1 running: 2 done, 2 running, 1 queued, 2 failed, 1 cancelled'
    tail -1 out | grep -qx 'sweep 1 failed: 5 done, 2 failed, 1 cancelled'
    [ "$(sort out | uniq -d)" = '' ]
    not grep -q "$escape" out
    grep -q '^sweep 1: 5 done, 1 cancelled, 2 failed (' err
    [ "$(ludwig watch 2>&1)" = 'you have no unfinished sweep' ]
    ludwig watch 1 >out 2>err && return 1
    [ "$(cat out)" = 'sweep 1 failed: 5 done, 2 failed, 1 cancelled' ]
}
it 'watch follows a sweep to its end, in lines where there is no terminal' watches

# The sweep ends also when that failed: the next watch follows all sweeps that go on.
open go
open last

watches_many() {
    printf '%s\n' 'project: m' 'command: sh job.sh' 'source: job.sh' 'params: {a: [1, 2]}' >m.yaml
    write_job 'gate many'
    first=$(submit m.yaml --reuse none) second=$(submit m.yaml --reuse none)
    wait_until 20 ended 1
    timeout 300 ludwig watch >out 2>err &
    watcher=$!
    wait_until 5 grep -q "sweep $first running" out
    wait_until 5 grep -q "sweep $second running" out
    # The server may be restarted meanwhile.
    kill_hard ludwigd
    ludwig_wait up
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
    [ $status = 130 ]
    grep -q 'the jobs go on' screen
    wait_until 10 '[ "$(jobs_in running '"$id"')" = 2 ]'
    open later
    wait_until 10 ended "$id"
}
it 'Ctrl-C ends watch, and not the jobs' interrupted

# ---- what only some listings have ----

numbers() {
    printf '%s\n' 'project: n' 'command: "false"' 'source: []' \
        'params: {x: [0.12345678901, 2], rep: [5], lr: 1e-3}' >n.yaml
    id=$(submit n.yaml)
    wait_until 10 ended "$id"
    ludwig jobs "$id" >out
    grep -q ' x=0\.12345678901 rep=5 lr=0\.001 ' out
    not grep -q ATTEMPT out
    NO_COLOR=1 terminal 24x150 ludwig jobs "$id" >out
    grep -q ' x=0\.123457  ' out
    tail -1 out | grep -q '^the same in all: rep=5 lr=0\.001'
    # One job alone shows all it has.
    NO_COLOR=1 terminal 24x150 ludwig jobs "$id.1" | grep -q ' x=0\.123457 rep=5 lr=0\.001 '
    ludwig retry "$id.2" --quiet
    wait_until 10 ended "$id"
    ludwig jobs "$id" >out
    head -1 out | grep -q '^JOB  *STATE  *REP  *ATTEMPT  *NODE'
    grep -q "^$id\.1  *failed  *0  *1 " out
    grep -q "^$id\.2  *failed  *0  *2 " out
    [ "$(ludwig jobs "$id" --where 'rep = 0' -q 2>err | wc -l)" = 2 ]
    [ ! -s err ]
    ludwig jobs "$id" --where 'rep = 5' >out 2>err
    [ "$(head -1 err)" = '--where: rep is the job'\''s field; params.rep is the parameter' ]
    [ "$(ludwig jobs "$id" --where 'params.rep = 5' 2>err | wc -l)" = 3 ]
    [ ! -s err ]
}
it 'a terminal is spared constant parameters and long numbers; ATTEMPT is shown once there are several' numbers

done_before() {
    printf '%s\n' 'project: b' 'command: "true"' 'source: []' 'params: {a: [1, 2]}' >b.yaml
    first=$(submit b.yaml)
    wait_until 10 ended "$first"
    second=$(submit b.yaml)
    ludwig jobs "$second" 2>err >out
    [ ! -s out ]
    [ "$(cat err)" = "sweep $second has no jobs of its own: all 2 were done before, in earlier sweeps (ludwig results $second shows them)" ]
    ludwig jobs "$second.1" 2>err && return 1
    grep -qx "ludwig: there is no job $second\.1: all 2 were done before, in earlier sweeps (ludwig results $second shows them)" err
    sed -i 's/1, 2/1, 2, 3/' b.yaml
    third=$(submit b.yaml)
    ludwig jobs "$third" 2>err >out
    [ "$(wc -l <out)" = 2 ]
    [ "$(cat err)" = "2 more jobs of sweep $third were done before, in earlier sweeps (ludwig results $third shows them)" ]
    ludwig jobs "$third" --state queued -q 2>err
    [ ! -s err ]
}
it 'jobs that were done before are told of' done_before

many_sweeps() {
    printf '%s\n' 'project: o' 'command: "true"' 'source: []' 'resources: {cpus: 4000}' >o.yaml
    for _ in {1..22}; do
        ludwig cancel "$(submit o.yaml --reuse none 2>/dev/null)" --quiet
    done
    id=$(submit o.yaml 2>/dev/null)
    total=$(ludwig status --quiet | wc -l)
    [ "$(ludwig status | wc -l)" = $((total + 1)) ]
    NO_COLOR=1 terminal 60x100 ludwig status >out
    # A head, one that goes on, twenty that are over, and how many more.
    [ "$(wc -l <out)" = 23 ]
    grep -q "^ *$id  o .* running " out
    tail -1 out | grep -q "^$((total - 21)) older ones have ended (--state done,failed,cancelled shows them)"
    NO_COLOR=1 terminal 60x100 ludwig status --state cancelled >out
    [ "$(grep -c ' cancelled ' out)" = 22 ]
    ludwig status "$id" | grep -qx "waiting  *\`ludwig why $id\.1\` says what for"
    ludwig cancel "$id" --quiet
    not grep -q '^waiting' <<<"$(ludwig status "$id")"
}
it 'on a terminal status lists the newest that are over, and says what a sweep waits for' many_sweeps

done_testing
