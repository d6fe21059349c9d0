#!/bin/bash
# peek.sh - what a running job has saved so far, read on its node; nothing that it puts there misleads
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
echo secret >"$TEST_TMP/secret"

# Names as nobody should choose them, and what no reader should open or wait for.
cat >train.sh <<'END'
cd "$LUDWIG_SAVE_PATH"
printf 'step 1\nstep 2\nstep 3\n' >log.csv
head -c 3000000 /dev/urandom >model.bin
cp model.bin TEST_TMP/model.bin
truncate -s 1G sparse
printf '\033[31mred\033[0m \303\251\n' >colours
mkdir -p sub/deep empty
echo below >sub/deep/file
ln -s TEST_TMP/secret link
ln -s TEST_TMP linked
mkfifo pipe
printf x >"$(printf 'new\nline')"
printf x >"$(printf 'esc\033[2J')"
printf x >"$(printf 'no-utf8-\377')"
printf x >'-rf'
mkdir many && cd many && seq 5000 | sed 's/^/a-name-of-some-length-/' | xargs touch
touch TEST_TMP/written
until [ -e TEST_TMP/gates/go ]; do sleep 0.3; done
echo 'step 4' >>../log.csv
END
sed -i "s|TEST_TMP|$TEST_TMP|" train.sh
printf '%s\n' 'project: demo' 'command: sh train.sh' 'source: train.sh' 'params: {x: [1]}' >sweep.yaml

# Waits for nothing that is guessed: a peek that hangs fails the test.
peek() {
    ludwig_wait peek "$@"
}
[ "$(submit sweep.yaml)" = 1 ] && wait_until 60 test -e "$TEST_TMP/written"

listed() {
    peek 1.1 >out
    head -n 1 out | grep -q '^ *SIZE  MODIFIED  *NAME$'
    grep -q '^ *21 B  20.* log.csv$' out
    grep -q '^ *1 GiB  20.* sparse$' out
    grep -q '^ *folder  20.* sub/$' out
    grep -q '^ *link  20.* link$' out
    grep -q '^ *other  20.* pipe$' out
    grep -q 'esc^\[\[2J$' out
    grep -q 'new^Jline$' out
    cat out
    [ "$(wc -l <out)" = 15 ]
    peek 1.1 sub/ | grep -q ' deep/$'
    peek 1.1 ./sub//deep/. | grep -q '^ *6 B .* file$'
    peek 1.1 empty 2>err >out
    grep -qx 'that folder of job 1.1 is empty' err
    [ ! -s out ]
}
it 'a folder is listed' listed

listed_json() {
    peek 1.1 --json >out
    json out '[d["job"], d["attempt"], d["state"], d["path"], d["type"]] == ["1.1", 1, "running", "", "folder"]'
    json out 'd["node"] != "" and d["modified_at"].endswith("Z")'
    json out '[(x["type"], x["size_bytes"]) for x in d["entries"] if x["name"] in ("log.csv", "sparse")] == [("file", 21), ("file", 1 << 30)]'
    json out '[x["type"] for x in d["entries"] if x["name"] in ("link", "linked", "pipe")] == ["link", "link", "other"]'
    # More than fits into one answer comes in several.
    peek 1.1 many --json >out
    json out 'len(d["entries"]) == 5000 and len({x["name"] for x in d["entries"]}) == 5000'
    peek 1.1 sparse --json >out
    json out '[d["type"], d["size_bytes"], d["entries"]] == ["file", 1 << 30, []]'
}
it 'and as JSON, also a folder of many files' listed_json

content() {
    peek 1.1 log.csv >out
    printf 'step 1\nstep 2\nstep 3\n' | cmp - out
    peek 1.1 model.bin | cmp - "$TEST_TMP/model.bin"
    peek 1.1 -- -rf >out
    [ "$(cat out)" = x ]
    peek 1.1 "$(printf 'no-utf8-\377')" >out
    [ "$(cat out)" = x ]
    peek 1.1 "$(printf 'new\nline')" >out
    [ "$(cat out)" = x ]
    peek 1.1 log.csv -n 2 >out
    printf 'step 2\nstep 3\n' | cmp - out
    peek 1.1 log.csv --offset 14 >out
    printf 'step 3\n' | cmp - out
    peek 1.1 log.csv --lines 0 >out
    [ ! -s out ]
}
it 'a file comes byte for byte, its last lines, or the rest of it' content

cut_short() {
    peek 1.1 model.bin --bytes 1000000 >out 2>err
    head -c 1000000 "$TEST_TMP/model.bin" | cmp - out
    cat err
    grep -qx 'cut: 976.6 KiB of 2.9 MiB are shown; --offset 1000000 goes on there, --bytes shows more' err
    peek 1.1 model.bin --offset 1000000 >>out 2>err
    cmp out "$TEST_TMP/model.bin"
    [ ! -s err ]
    peek 1.1 sparse >out 2>err
    [ "$(stat -c %s out)" = $((16 * 1024 * 1024)) ]
    cat err
    grep -q '^cut: 16 MiB of 1 GiB are shown; --offset 16777216' err
    peek 1.1 sparse -n 5 --bytes 2MiB >out 2>err
    [ "$(stat -c %s out)" = $((2 * 1024 * 1024)) ]
    grep -q '^cut: 2 MiB of 1 GiB are shown, fewer than 5 lines' err
    not peek 1.1 log.csv --offset 22 2>err
    grep -qx 'ludwig: --offset 22: log.csv has 21 bytes' err
}
it 'a large file is cut, and it is said how to go on' cut_short

terminal() {
    script -qec "timeout 300 ludwig peek 1.1 colours" /dev/null </dev/null >out
    grep -q '\^\[\[31mred\^\[\[0m é' out
    not grep -q "$(printf '\033')" out
    script -qec "timeout 300 ludwig peek 1.1 colours --raw" /dev/null </dev/null >out
    grep -q "$(printf '\033\\[31mred')" out
}
it 'a terminal obeys nothing that is in a file' terminal

refused() { # PATH WORDS
    not peek 1.1 "$1" >out 2>err
    [ ! -s out ]
    [ "$(wc -l <err)" = 1 ]
    cat err
    grep -qx "ludwig: $2" err
}
outside() {
    refused link 'job 1.1: link is a symlink, which is not followed'
    refused linked/secret 'job 1.1: linked/secret leads through a symlink, which is not followed'
    refused pipe 'job 1.1: pipe is neither a file nor a folder'
    refused ../work/train.sh '../work/train.sh leads out of the folder that the job saves to'
    refused /etc/passwd '/etc/passwd: PATH is relative to the folder that the job saves to'
    refused nothing 'job 1.1: there is no nothing'
    refused log.csv/x 'job 1.1: there is no log.csv/x: a file is in the way'
    not peek 1.2 2>err
    grep -q '^ludwig: there is no job 1.2' err
    not peek 9.1 2>err
    grep -qx 'ludwig: there is no sweep 9' err
    not peek 1.1 log.csv -n 1 --offset 1 2>err
    [ "$(recorded_children)" = 0 ]
}
recorded_children() {
    pids_of --peek | wc -l
}
it 'nothing outside of its folder is read, and a pipe is not waited for' outside

# Changes what stands at a name as fast as it can: whatever is read, it is never the secret.
swapped() {
    local save
    save=$(echo "$SCRATCH"/*/run/*/save)
    [ -d "$save" ]
    (
        while [ ! -e "$TEST_TMP/gates/swapped" ]; do
            ln -sfn "$TEST_TMP" "$save/.new" && mv -T "$save/.new" "$save/swap" 2>/dev/null
            rm -f "$save/swap"
            mkdir -p "$save/swap" && echo harmless >"$save/swap/secret"
            rm -rf "$save/swap"
        done
    ) 2>/dev/null &
    for _ in $(seq 40); do
        peek 1.1 swap/secret 2>/dev/null || true
    done >out
    open swapped
    wait
    not grep -q '^secret$' out
}
it 'nor while the way there changes' swapped

mv_save() {
    local save
    save=$(echo "$SCRATCH"/*/run/*/save)
    [ -d "$save" ]
    mv "$save" "$save.away"
    ln -s "$TEST_TMP" "$save"
    refused secret 'job 1.1: it has put a symlink in the place of its save folder'
    rm "$save"
    refused secret 'job 1.1: its files are not on its node now: .*'
    mv "$save.away" "$save"
    peek 1.1 log.csv >out
}
it 'nor through its save folder itself' mv_save

gone_worker() {
    kill_hard ludwig-worker
    not peek 1.1 >out 2>err
    grep -q '^ludwig: .*, where job 1.1 runs, is not connected now: try again$' err
    # The next command that needs a worker starts one, which finds the job running.
    ludwig up >/dev/null
    wait_until 60 'peek 1.1 log.csv >out 2>err'
    printf 'step 1\nstep 2\nstep 3\n' | cmp - out
}
it 'a worker that is away is named, and another agent goes on' gone_worker

# An agent that does not answer keeps nobody waiting for long.
silent() {
    local agent begun=$SECONDS
    agent=$(agents)
    kill -STOP "$agent"
    not peek 1.1 log.csv >out 2>err
    kill -CONT "$agent"
    cat err
    grep -qx 'ludwig: job 1.1: its worker has not answered in time: try again' err
    [ $((SECONDS - begun)) -ge 19 ]
    wait_until 60 'peek 1.1 log.csv >out 2>err'
}
it 'a worker that is silent is not waited for' silent

ended_job() {
    open go
    wait_until 60 ended 1
    peek 1.1 log.csv -n 1 >out
    [ "$(cat out)" = 'step 4' ]
    peek 1.1 model.bin | cmp - "$TEST_TMP/model.bin"
    peek 1.1 --json >out
    json out 'd["state"] == "done" and d["node"] is None and "job.json" in [x["name"] for x in d["entries"]]'
    refused link 'demo/runs/.*/link is neither a file nor a folder'
    refused linked/secret 'linked/secret leads through a symlink, which is not followed'
    peek 1.1 sub/deep/file >out
    [ "$(cat out)" = below ]
}
it 'once it has ended the same is read on the share' ended_job

waiting() {
    printf '%s\n' 'project: demo' 'command: sh train.sh' 'source: train.sh' 'params: {x: [2]}' \
        'resources: {cpus: 1}' >other.yaml
    ludwig submit other.yaml >/dev/null
    ludwig pause 2 >/dev/null || true
    case $(job 2.1 'j["state"]') in
    queued)
        not peek 2.1 2>err
        grep -qx 'ludwig: job 2.1 is queued: it has written nothing yet' err
        ;;
    esac
}
it 'a job that waits has nothing yet' waiting

batch() {
    cat >batch.py <<'END'
import json, os, time
for job in json.load(open(os.path.dirname(os.environ["LUDWIG_CHUNK"]) + "/chunk.json")):
    open(job["save_path"] + "/mine", "w").write("x = %d\n" % job["params"]["x"])
open("TEST_TMP/batched", "w")
while not os.path.exists("TEST_TMP/gates/batch"):
    time.sleep(0.1)
END
    sed -i "s|TEST_TMP|$TEST_TMP|" batch.py
    printf '%s\n' 'project: demo' 'command: python3 batch.py' 'source: batch.py' 'params: {x: [7, 8]}' \
        'resources: {cpus: 1}' 'batch: 2' 'guard: off' >batch.yaml
    sweep=$(submit batch.yaml)
    wait_until 60 test -e "$TEST_TMP/batched"
    [ "$(peek "$sweep.1" mine)" = 'x = 7' ]
    [ "$(peek "$sweep.2" mine)" = 'x = 8' ]
    open batch
}
it 'each job of a batch has its own' batch

done_testing
