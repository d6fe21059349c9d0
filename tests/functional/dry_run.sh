#!/bin/bash
# dry_run.sh - submit --dry-run tells what a submit would do, and does nothing
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
mkdir corpus
echo 'cp "$LUDWIG_PARAM2VAL" "$LUDWIG_SAVE_PATH"; sleep 0.2' >run.sh
head -c 3000 /dev/zero >corpus/words
cat >sweep.yaml <<'END'
project: dry
name: first try
command: sh run.sh {a}
source: run.sh
data: [corpus]
params: {a: [1, 2, 3, 4], b: [1, 2]}
resources: {cpus: 0.5}
END

line() { # LABEL: the rest of that line of "out"
    sed -n "s/^$1 *//p" out
}

without_server() {
    ludwig submit sweep.yaml --reps 3 --dry-run >out
    [ "$(line project)" = dry ]
    [ "$(line name)" = 'first try' ]
    [ "$(line jobs)" = '8 configurations x 3 = 24' ]
    [ "$(line first)" = '{"a":1,"b":1}' ]
    [ "$(line last)" = '{"a":3,"b":2}' ]
    [ "$(tail -n +4 out | grep -o '{.*}' | tr '\n' ' ')" = \
        '{"a":1,"b":1} {"a":1,"b":2} {"a":2,"b":1} {"a":3,"b":2} {"a":4,"b":1} {"a":4,"b":2} ' ]
    line reused | grep -q '^not known: no server'
    [ "$(line source)" = "1 file, $(stat -c %s run.sh) B" ]
    [ "$(line data)" = 'corpus: 1 file, 2.9 KiB' ]
    line upload | grep -qE '^2 files, (2\.9|3) KiB$'
    not grep -q '^time' out
    untouched
}
it 'without a server it starts none, and says what it cannot know' without_server

without_server_json() {
    ludwig submit sweep.yaml --reps 3 --dry-run --json >d
    json d 'd["v"] == 1 and d["project"] == "dry" and d["configs"] == 8 and d["reps"] == 3 and d["jobs"] == 24'
    json d 'd["reused"] is None and d["queued"] is None and d["estimate"] is None'
    json d "d['upload_files'] == 2 and d['upload_bytes'] == 3000 + $(stat -c %s run.sh)"
    json d 'd["params"] == [{"a": a, "b": b} for a in (1, 2, 3, 4) for b in (1, 2)]'
    untouched
}
it 'its JSON has all configurations' without_server_json

out_of_reach() {
    ludwig submit sweep.yaml --dry-run --server "unix:$TEST_TMP/no.sock" >out
    line reused | grep -q "^not known: .*no.sock"
    line upload | grep -q '^not known'
    ludwig submit sweep.yaml --dry-run --json --server "unix:$TEST_TMP/no.sock" |
        json - 'd["upload_files"] is None and d["upload_bytes"] is None and len(d["params"]) == 8'
    untouched
}
it 'with a server out of reach it tells what it knows all the same' out_of_reach

short() {
    ludwig submit sweep.yaml --dry-run --minimal --reps 2 >out
    [ "$(line jobs)" = '1 configuration x 2 = 2' ]
    [ "$(line configs)" = '{"a":1,"b":1}' ]
    ludwig submit sweep.yaml --dry-run --first-only --json |
        json - 'd["configs"] == 1 and d["jobs"] == 1 and d["params"] == [{"a": 1, "b": 1}]'
    ludwig submit sweep.yaml --dry-run --set a=7 --json | json - '[p["a"] for p in d["params"]] == [7, 7]'
}
it 'it obeys what the command line says over the file' short

duplicates() {
    printf 'project: dry\ncommand: a\nsource: []\nparams: {a: [1, 1.0, 2], b: 1}\ninclude: [{a: 2}]\n' >twice.yaml
    ludwig submit twice.yaml --dry-run >out
    [ "$(line jobs)" = '2 configurations x 1 = 2 (2 more would be the same again)' ]
    ludwig submit twice.yaml --dry-run --json |
        json - 'd["configs"] == 2 and d["jobs"] == 2 and d["params"] == [{"a": 1, "b": 1}, {"a": 2, "b": 1}]'
    [ "$(grep -o '{.*}' out | tr '\n' ' ')" = '{"a":1,"b":1} {"a":2,"b":1} ' ]
    # More than are shown, the last of them twice.
    printf 'project: dry\ncommand: a\nsource: []\nparams: {a: [1, 2, 3, 4, 5, 6, 7, 6, 7, 1]}\n' >twice.yaml
    ludwig submit twice.yaml --dry-run >out
    [ "$(line jobs)" = '7 configurations x 1 = 7 (3 more would be the same again)' ]
    [ "$(grep -o '{.*}' out | tr '\n' ' ')" = '{"a":1} {"a":2} {"a":3} {"a":5} {"a":6} {"a":7} ' ]
    ludwig submit twice.yaml --dry-run --json | json - '[p["a"] for p in d["params"]] == [1, 2, 3, 4, 5, 6, 7]'
}
it 'the same configuration twice is counted once' duplicates

notes() {
    printf 'project: dry\ncommand: a\nsource: []\nparams: {a: [1, 2]}\nexclude: [{a: 3}]\n' >noted.yaml
    ludwig submit noted.yaml --dry-run >out 2>err
    grep -q '^note: .*exclude' err
    printf 'project: dry\ncommand: a\nsource: []\nslurm: [{partition: short, qos: low}]\n' >noted.yaml
    ludwig submit noted.yaml --dry-run >out 2>err
    [ "$(line slurm)" = 'short (qos low)' ]
}
it 'an exclude that matches nothing is noted, and partitions are shown' notes

needs() {
    sed -e 's/^resources:.*/resources: {gpus: 2, memory: 4GiB, time: 2h}/' -e 's/^data:.*/data: [{share: datasets\/cats}]/' sweep.yaml >needs.yaml
    printf 'nodes: [n1, "@lab"]\nbatch: 8\nretry: {max: 2, on: [oom, 3]}\ncheckpoint: {signal: USR1, every: 10min}\n' >>needs.yaml
    sed -i 's/ {a}$//' needs.yaml
    ludwig submit needs.yaml --dry-run >out
    [ "$(line 'each job')" = '1 CPU, 2 GPUs, 4 GiB of memory, at most 2 h' ]
    [ "$(line nodes)" = 'n1, @lab' ]
    [ "$(line batch)" = '8 configurations to a process' ]
    [ "$(line retry)" = 'up to 2 times after oom or 3' ]
    [ "$(line data)" = 'cats: on the shared drive, packed when it is submitted' ]
    [ "$(line 'to save')" = 'SIGUSR1, then 1 min to end; copied every 10 min' ]
    ludwig submit sweep.yaml --dry-run >out
    [ "$(line 'each job')" = '0.5 CPUs, memory not limited' ]
    not grep -qE '^(nodes|batch|retry|to save|slurm|left out)' out
}
it 'what was understood of how jobs run is shown' needs

left_out() {
    mkdir -p used/exp-1/a used/lib
    printf 'project: dry\ncommand: a\n' | tee used/sweep.yaml >used/sweep2.yaml
    echo 'made by ludwig fetch' >used/exp-1/.ludwig-results
    touch used/exp-1/a/b used/lib/c used/run.py
    ludwig submit used/sweep.yaml --dry-run >out
    [ "$(line 'left out')" = 'exp-1/ (fetched results), sweep2.yaml (a sweep file)' ]
    [ "$(line source)" = '2 files, 0 B' ]
    untouched
}
it 'other sweep files and fetched results are no part of the source, which is said' left_out

first_job() {
    ludwig submit sweep.yaml --dry-run >out
    [ "$(line command)" = 'sh run.sh 1' ]
    [ "$(line 'not in it')" = 'b: the program has to read it from $LUDWIG_PARAM2VAL' ]
    [ "$(line program)" = "sh is $(type -P sh) here" ]
    [ "$(line results)" = "$SHARE/dry/runs/" ]
    ludwig submit sweep.yaml --dry-run --json |
        json - 'd["command"] == "sh run.sh 1" and d["not_in_command"] == ["b"]'
    mkdir bin
    printf '#!/bin/sh\n' | tee bin/python3 >bin/nice
    chmod +x bin/python3 bin/nice
    printf 'project: dry\ncommand: |\n  X={b} nice python3 "{a}"\n  echo {a}\nsource: []\nparams: {a: [it is, x], b: 1}\n' \
        >first.yaml
    PATH=$PWD/bin:$PATH ludwig submit first.yaml --dry-run >out
    [ "$(line command)" = 'X=1 nice python3 "it is"' ]
    grep -qx "          echo 'it is'" out
    [ "$(line program)" = "python3 is $PWD/bin/python3 here" ]
    not grep -q '^not in it' out
}
it 'the first command is shown as it would run, with what it does not use and what it starts' first_job

read_twice() {
    local command reader
    while IFS='|' read -r reader command; do
        printf 'project: dry\ncommand: |\n  %s\nsource: []\nparams: {a: [plain, "it is"], n: [1, 0.5]}\n' "$command" >twice.yaml
        ludwig submit twice.yaml --dry-run >out
        [ -z "$reader" ] || line re-read | grep -F "\`$reader\` reads {a} once more" || { cat twice.yaml out && return 1; }
        [ -n "$reader" ] || not grep '^re-read' out
        ludwig submit twice.yaml --dry-run --json | json - '(d["read_twice"] == "a") == '"$([ -n "$reader" ] && echo True || echo False)"
    done <<'END'
sh -c|sh -c "echo {a}"
/bin/bash -lc|cd /tmp && timeout 5 /bin/bash -lc 'echo x; echo {a}'
python3 -c|python3 -c "print('{a}')"
perl -e|perl -w -e 'print "{a}"'
bash -c|bash -eo pipefail -c "echo {a}"
su -c|su anna -c "echo {a}"
eval|eval echo {a}
eval|eval "echo {a}"
ssh|ssh -p 22 host 'echo {a}'
sh -ec|srun env X=1 sh -ec "echo {a}"
|sh -c 'echo "$1"' sh {a}
|echo "sh -c {a}"
|sh -c "echo {n}"; echo {a}
|python3 train.py -c {a}
|sh job.sh -c {a}
|ssh-keygen {a}
END
}
it 'a value that another program reads once more is named' read_twice

files() {
    mkdir files
    printf 'project: dry\ncommand: a\n' >files/sweep.yaml
    echo a | tee files/a files/b >/dev/null
    ludwig submit files/sweep.yaml --dry-run >out
    [ "$(line files)" = 'a, b' ]
    for i in {1..10}; do head -c $((100 + i)) /dev/zero >files/f$i; done
    ludwig submit files/sweep.yaml --dry-run >out
    [ "$(line largest)" = 'f10 (110 B), f9 (109 B), f8 (108 B), f7 (107 B), f6 (106 B), f5 (105 B), f4 (104 B), f3 (103 B), f2 (102 B), f1 (101 B) and 2 more (-v names all)' ]
    ludwig submit files/sweep.yaml --dry-run -v >out
    [ "$(line files)" = 'a (2 B)' ]
    grep -qx '          f10 (110 B)' out
    [ "$(grep -cE '^ +[a-z0-9]+ \([0-9]+ B\)$' out)" = 11 ]
}
it 'the files that go along are named: few, the largest, or all with -v' files

gpus() {
    hint='GPUs, and these jobs get none: resources: {gpus: 1} gives each of them one'
    configure 'resources: {cpus: 2, gpus: 3}'
    ludwig submit sweep.yaml --dry-run >out
    [ "$(line 'no GPUs')" = "this machine has 3 $hint" ]
    ludwig up
    wait_until 20 '[ -n "$(ludwig nodes -q)" ]'
    printf 'project: gpus\ncommand: "true"\nsource: []\n' >no_gpus.yaml
    ludwig submit no_gpus.yaml 2>err >id
    grep -qx "note: $(ludwig nodes -q) has 3 $hint" err
    ludwig submit no_gpus.yaml --dry-run >out
    [ "$(line 'no GPUs')" = "$(ludwig nodes -q) has 3 $hint" ]
    for said in 'resources: {gpus: 0}' 'resources: {gpus: 1}' 'nodes: [elsewhere]'; do
        { cat no_gpus.yaml && echo "$said"; } >said.yaml
        ludwig submit said.yaml --dry-run >out
        not grep -q '^no GPUs' out
    done
    ludwig down
    rm -rf "$SHARE" "$XDG_STATE_HOME/ludwig"
    configure 'resources: {cpus: 2, gpus: 0}'
}
it 'GPUs that a sweep does not ask for are told' gpus

first_of_many() {
    printf 'project: dry\ncommand: a\nsource: []\nparams: {a: &a {range: [1, 5000]}, b: *a}\n' >many.yaml
    not ludwig submit many.yaml --dry-run 2>err
    grep -q 'many.yaml:4:1: 25000000 configurations: more than 10000000 need --yes' err
    ludwig submit many.yaml --dry-run --first-only >out
    [ "$(line configs)" = '{"a":1,"b":1}' ]
}
it 'too many configurations are refused, the first of them is not' first_of_many

no_places() {
    for option in '--nodes=' '--nodes=a b' '--partition='; do
        not ludwig submit sweep.yaml --dry-run "$option" 2>err
        grep -q -- "${option%%=*}: " err
    done
}
it 'an empty list of places is refused' no_places

large_source() {
    mkdir large
    printf 'project: dry\ncommand: a\n' >large/sweep.yaml
    truncate -s 101M large/big
    ludwig submit large/sweep.yaml --dry-run 2>err >out
    grep -q '^note: the source has 101 MiB in 1 file,' err
    echo big >large/.ludwigignore
    ludwig submit large/sweep.yaml --dry-run 2>err >out
    [ ! -s err ]
}
it 'a large source is noted' large_source

# As under some supervisors and launchers, where the end of a child would not be told.
no_sigchld() {
    mkdir quiet
    printf 'project: dry\ncommand: a\n' >quiet/sweep.yaml
    touch quiet/a quiet/b.log
    echo '*.log' >quiet/.ludwigignore
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' ludwig submit quiet/sweep.yaml --dry-run >out
    line source | grep -q '^1 file,'
}
it 'children that end are heard of, whoever starts ludwig' no_sigchld

interrupted() {
    mkdir -p stuck/below places
    printf 'project: dry\ncommand: a\n' >stuck/sweep.yaml
    echo '*.log' >stuck/.ludwigignore
    mkfifo stuck/below/.ludwigignore # git waits for somebody who writes to it
    TMPDIR=$PWD/places setsid env --default-signal=INT ludwig submit stuck/sweep.yaml --dry-run >out 2>&1 &
    wait_until 5 pgrep -s $! -f ls-files
    ls -d places/ludwig-*
    kill -INT -- -$!
    status=0
    wait $! || status=$?
    [ "$status" = 130 ]
    [ -z "$(ls -A places)" ]
}
it 'Ctrl-C while git is asked leaves nothing behind' interrupted

compare() { # ARGUMENT...: what it foretells comes true
    ludwig submit sweep.yaml --dry-run --json "$@" >foretold
    ludwig_wait submit sweep.yaml --wait --json "$@" >true
    python3 - <<'END'
import json
foretold, true = json.load(open("foretold")), json.load(open("true"))
keys = "project configs reps jobs reused queued".split()
assert [foretold[k] for k in keys] == [true[k] for k in keys], (foretold, true)
END
}

comes_true() {
    ludwig up
    compare --reps 1
    compare --reps 2
    json foretold 'd["reused"] == 8 and d["queued"] == 8'
    compare --reps 2 --set a=[3,4,5]
    json foretold 'd["reused"] == 8 and d["queued"] == 4'
    compare --reps 2
    json foretold 'd["queued"] == 0'
}
it 'what is done already is foretold as submit then finds it' comes_true

result_gone() {
    rm -r "$SHARE"/dry/runs/param_001
    compare --reps 2
    json foretold 'd["reused"] == 14 and d["queued"] == 2'
    rm -r "$SHARE"/dry/runs/param_002
    ludwig submit sweep.yaml --dry-run --reps 2 >out
    grep -q '^reused *14 done already; 2 would run$' out
    grep -q '^ *2 done before would run again: not in dry/runs any more$' out
    compare --reps 2
}
it 'results that are not there any more are foretold to be done again' result_gone

changed_work() {
    ludwig submit sweep.yaml --dry-run --json --reuse none | json - 'd["reused"] == 0'
    echo '# changed' >>run.sh
    ludwig submit sweep.yaml --dry-run --json | json - 'd["reused"] == 0 and d["queued"] == 8'
    ludwig submit sweep.yaml --dry-run --json --reuse params | json - 'd["reused"] == 8 and d["queued"] == 0'
    # Only the source would be sent again.
    ludwig submit sweep.yaml --dry-run --json |
        json - "d['upload_files'] == 1 and d['upload_bytes'] == $(stat -c %s run.sh)"
    sed -i '$d' run.sh
    ludwig submit sweep.yaml --dry-run >out
    [ "$(line upload)" = 'nothing: all of it is on the shared drive' ]
    [ "$(line reused)" = '8 done already; 0 would run' ]
}
it '--reuse, and what changed since, are looked at' changed_work

done_otherwise() {
    echo '# changed' >>run.sh
    ludwig submit sweep.yaml --dry-run --set a=[1,2,50] >out
    [ "$(line reused)" = '0 done already; 6 would run (4 finished earlier with the same parameters but a different command, source or data; --reuse params accepts those)' ]
    ludwig submit sweep.yaml --dry-run --json --set a=[1,2,50] | json - 'd["done_otherwise"] == 4 and d["queued"] == 6'
    # What was said to be taken or left needs no hint.
    for reuse in params none; do
        ludwig submit sweep.yaml --dry-run --json --reuse $reuse | json - 'd["done_otherwise"] == 0'
    done
    sed -i '$d' run.sh
    ludwig submit sweep.yaml --dry-run --json | json - 'd["done_otherwise"] == 0 and d["reused"] == 8'
    ludwig submit sweep.yaml --dry-run >out
    not grep -q 'reuse params' out
}
it 'what is done with another command, source or data is told' done_otherwise

estimated() {
    ludwig submit sweep.yaml --dry-run --json --set a=[10,20,30] --reps 10 >d
    # 60 jobs of at least 0.2 s with half a processor, and hardly one of 5 s.
    json d 'd["queued"] == 60 and 60 * 0.2 * 0.5 <= d["estimate"]["cpu_hours"] * 3600 <= 60 * 5 * 0.5'
    json d 'd["estimate"]["gpu_hours"] == 0'
    sed 's/cpus: 0.5/cpus: 0.5, gpus: 2/' sweep.yaml >gpus.yaml
    ludwig submit gpus.yaml --dry-run --json --set a=[10,20,30] --reps 10 |
        json - 'abs(d["estimate"]["gpu_hours"] - 4 * d["estimate"]["cpu_hours"]) < 1e-9'
    ludwig submit gpus.yaml --dry-run --set a=[10,20,30] --reps 10 >out
    time='[0-9]+ (ms|s|min)( [0-9]+ s)?'
    line time | grep -qE "^about $time of CPU time \([0-9.]+ CPU-hours\), about $time of GPU time \([0-9.]+ GPU-hours\); jobs took $time on average\$"
}
it 'processor hours are estimated from how long jobs of the project took' estimated

leaves_nothing() {
    find "$SHARE" | sort >before
    ludwig status --json >status_before
    ludwig submit sweep.yaml --dry-run --set a=99 >/dev/null
    echo 'new content' >>corpus/words
    ludwig submit sweep.yaml --dry-run --json >/dev/null
    find "$SHARE" | sort >after
    cmp before after
    ludwig status --json | cmp - status_before
}
it 'nothing is changed on the share and in the queue' leaves_nothing

streamed() {
    printf 'project: dry\ncommand: a\nsource: []\nparams: {a: {range: [1, 1000]}, b: {range: [1, 300]}}\n' >big.yaml
    measured took ludwig submit big.yaml --dry-run --json >d
    json d 'd["configs"] == 300000 and len(d["params"]) == 300000 and d["params"][-1] == {"a": 1000, "b": 300}'
    [ "$(cut -d' ' -f2 took)" -lt 40000 ]
    # A reader that has seen enough is no mistake.
    ludwig submit big.yaml --dry-run --json | head -c 1000 >/dev/null
    [ "${PIPESTATUS[0]}" = 0 ]
}
it 'the JSON of a large sweep is streamed' streamed

# Needs a second user who reaches the first one's server.
others() {
    local code=0
    chmod 0755 "$TEST_TMP"
    mkdir -m 0755 "$TEST_TMP/shared" "$TEST_TMP/shared/bin"
    cp "$LUDWIG_BIN"/ludwig "$LUDWIG_BIN"/ludwigd "$TEST_TMP/shared/bin"
    cat >d.yaml <<END
share: $TEST_TMP/shared
state: $TEST_TMP/state
sockets: [$TEST_TMP/shared/s.sock]
min_uid: 1
END
    ludwigd --config d.yaml 2>d.log &
    wait_until 20 '[ -S "$TEST_TMP/shared/s.sock" ]'
    export LUDWIG_SERVER=unix:$TEST_TMP/shared/s.sock
    ludwig submit sweep.yaml >/dev/null
    mkdir -m 0777 "$TEST_TMP/shared/other"
    mkdir "$TEST_TMP/shared/dry.daemon" # else that would be daemon's
    printf 'project: dry\ncommand: a\nsource: []\nparams: {a: 1}\n' >"$TEST_TMP/shared/other/sweep.yaml"
    setpriv --reuid=daemon --regid=daemon --clear-groups env -i HOME="$TEST_TMP/shared/other" PATH="$PATH" \
        LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" \
        "$TEST_TMP/shared/bin/ludwig" --server "$LUDWIG_SERVER" submit "$TEST_TMP/shared/other/sweep.yaml" --dry-run \
        >out 2>err || code=$?
    [ $code = 4 ]
    grep -q "project 'dry.daemon' belongs to $(id -un)" err
    [ ! -s out ]
    # submit says the same, before it tries to upload what it could not.
    sed -i 's/source: .*/source: sweep.yaml/' "$TEST_TMP/shared/other/sweep.yaml"
    code=0
    setpriv --reuid=daemon --regid=daemon --clear-groups env -i HOME="$TEST_TMP/shared/other" PATH="$PATH" \
        LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" \
        "$TEST_TMP/shared/bin/ludwig" --server "$LUDWIG_SERVER" submit "$TEST_TMP/shared/other/sweep.yaml" \
        >out 2>submit_err || code=$?
    [ $code = 4 ]
    cmp err submit_err
}
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    it 'a project of somebody else is refused as submit would refuse it' others
else
    skip 'a project of somebody else is refused as submit would refuse it' 'takes root and setpriv'
fi

done_testing
