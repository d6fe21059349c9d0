#!/bin/bash
# debug.sh - a job looked at by hand: what it left, its source of that time, its variables, a shell
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

# A source with all that a source may have.
mkdir -p src/sub/empty data
echo 7 >data/number
cat >src/run.sh <<'END'
echo "accuracy $1 $LUDWIG_SEED" >"$LUDWIG_SAVE_PATH/model.txt"
echo "printed $1"
[ "$1" = 1 ] || exit 3
END
chmod +x src/run.sh
echo text >src/sub/text
ln src/sub/text src/sub/same
ln -s ../run.sh src/sub/link
ln -s /etc/passwd src/sub/outside
head -c 20000000 /dev/urandom >src/large
: >src/none
printf x >"$(printf 'src/esc\033[2J')"
printf '%s\n' 'project: demo' 'command: sh src/run.sh {x}' 'source: src' 'data: {numbers: data}' \
    'params: {x: [1, "two words"]}' 'env: {MODE: fast}' 'guard: off' >sweep.yaml
submit sweep.yaml >/dev/null
wait_until 60 ended 1
cp -a src before
echo 'exit 1' >src/run.sh # what was submitted counts, not what lies here now
export SHELL=/bin/sh

fetched() {
    ludwig debug 1.1 look --no-shell >out 2>err

    grep -q '^job       1.1, attempt 1, is done$' out
    grep -qx "command   sh src/run.sh 1" out
    grep -qx "data      data is not copied: put it, or a link to it, at $PWD/look/data/data" out
    [ "$(cat look/runs/*/*/model.txt)" = "accuracy 1 $(json look/runs/*/*/job.json 'd["seed"]')" ]
    grep -qx 'printed 1' look/logs/1/*.log
    cp -a before expected
    diff -r --no-dereference expected look/source/src
    [ "$(stat -c %a look/source/src/run.sh)" = 755 ]
    [ "$(stat -c %i look/source/src/sub/text)" = "$(stat -c %i look/source/src/sub/same)" ]
    [ "$(readlink look/source/src/sub/link)" = ../run.sh ]
    [ -d look/source/src/sub/empty ]
    [ "$(cat look/param2val.json | json - 'd["x"]')" = 1 ]
}
it 'what a job left, its log and its source lie in one folder' fetched

shell() {
    printf '%s\n' 'env >variables' 'pwd >where' 'sh src/run.sh 1' 'exit 7' >commands
    ludwig debug 1.1 look <commands >out 2>err
    grep -qx "$PWD/look/source" look/source/where
    for line in LUDWIG_JOB=1.1 LUDWIG_SWEEP=1 LUDWIG_PROJECT=demo LUDWIG_PARAM_NAME=param_001 LUDWIG_REP=0 \
        LUDWIG_RESTART=0 MODE=fast "LUDWIG_SAVE_PATH=$PWD/look/save" "LUDWIG_DATA=$PWD/look/data" \
        "LUDWIG_PARAM2VAL=$PWD/look/param2val.json" "LUDWIG_METRICS=$PWD/look/metrics" \
        "LUDWIG_SEED=$(json look/runs/*/*/job.json 'd["seed"]')" \
        "LUDWIG_ATTEMPT=$(json look/runs/*/*/job.json 'd["token"]')"; do
        grep -qx "$line" look/source/variables
    done
    # The job runs by hand as it ran then.
    cmp look/save/model.txt look/runs/*/*/model.txt
    grep -qx "note: $PWD/look/source is there already, and was left as it is" err
    grep -qx "$PWD/look stays; \`ludwig debug 1.1 $PWD/look\` comes back to it" err
}
it 'a shell starts there, with the variables of the job' shell

failed() {
    ludwig debug 1.2 --no-shell >out 2>err
    grep -q '^job       1.2, attempt 1, is failed' out
    grep -qx "command   sh src/run.sh 'two words'" out
    [ -f demo-1.2/failed/*/*/model.txt ]
    [ -f demo-1.2/.ludwig-results ]
    [ "$(json demo-1.2/param2val.json 'd["x"]')" = 'two words' ]
}
it 'a failed job, too, in a folder of its own' failed

source_alone() {
    ludwig fetch 1 files --source >out 2>err
    grep -qx 'files/source: the source, 6 files' err || { cat err; false; }
    diff -r --no-dereference before files/source/src
    ludwig fetch 1 files --source >out 2>err
    grep -qx 'note: files/source is there already, and was left as it is' err
}
it 'fetch --source unpacks it as well' source_alone

damaged() {
    local part
    for part in "$SHARE"/demo/.ludwig/packs/parts/*.tar.zst "$SHARE"/demo/.ludwig/packs/parts/*.raw; do
        [ ! -e "$part" ] || { chmod u+w "$part" && printf 'damage' | dd of="$part" conv=notrunc bs=1 seek=100 status=none; }
    done
    not ludwig debug 1.1 broken --no-shell >out 2>err
    grep -q '^ludwig: its source: parts/' err
    [ "$(wc -l <err)" = 1 ]
    rm "$SHARE"/demo/.ludwig/packs/*.manifest
    not ludwig debug 1.1 gone --no-shell >out 2>err
    grep -q '^ludwig: its source: .*is not among the packs any more$' err
    not ludwig debug 1.9 2>err
    grep -q 'there is no job 1.9' err
}
it 'a source that is damaged or gone is said to be' damaged

done_testing
