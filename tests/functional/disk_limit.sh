#!/bin/bash
# shellcheck disable=SC2016 # shell text for wait_until and for jobs
# disk_limit.sh - a job whose files take more than `resources: {disk}` is ended; others are not
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
limited() { # PROJECT DISK LINE...
    write_job "${@:3}"
    printf '%s\n' "project: $1" 'command: sh job.sh' 'source: job.sh' "resources: {cpus: 1, disk: $2}" >sweep.yaml
    sweep=$(submit sweep.yaml)
    wait_until 60 ended "$sweep"
}
reason() {
    job "$sweep.1" 'j["reason"] or "-"'
}

many_files() {
    # Each within the limit; together in the work folder, among the results and for the next attempt.
    limited many 3MiB 'for d in . "$LUDWIG_SAVE_PATH" "$LUDWIG_CHECKPOINT" "$TMPDIR"; do' \
        'head -c 1048576 /dev/urandom >$d/part; done' 'gate never'
    [ "$(sweep_state "$sweep")" = failed ]
    reason | grep -E '^out of disk: its files take 4[.0-9]* MiB of 3 MiB \(resources: disk\)'
}
it 'files in all its folders count together' many_files

one_file() {
    limited one 2MiB 'head -c 10485760 /dev/zero >big; echo "code $?" >"$LUDWIG_SAVE_PATH/said"' 'ls -s big'
    [ "$(cat "$SHARE"/one/runs/*/*/said)" = 'code 153' ] # SIGXFSZ
    [ "$(sweep_state "$sweep")" = done ]
}
it 'no file gets larger' one_file

its_log() {
    # Neither is too large alone.
    limited log 1MiB 'yes | head -c 700000' 'head -c 700000 /dev/urandom >part' 'gate never2'
    [ "$(sweep_state "$sweep")" = failed ]
    reason | grep 'out of disk'
}
it 'its log counts, too' its_log

small() {
    limited within 8MiB 'head -c 1000000 /dev/urandom >a' 'truncate -s 7M hole && cp --sparse=always hole hole2' \
        'mkdir -p deep/er && cp a deep/er' 'sleep 2.5' 'echo fine >"$LUDWIG_SAVE_PATH/out"'
    [ "$(sweep_state "$sweep")" = done ]
}
it 'what is within the limit is left alone, and holes take nothing' small

# All jobs of a batch share the limit of the file size; each may take so much beside what its process takes.
of_a_batch() {
    cat >batch.py <<'END'
import json, os, subprocess, time
for job in json.load(open(os.path.dirname(os.environ["LUDWIG_CHUNK"]) + "/chunk.json")):
    size = job["params"]["mb"]
    for i in range(size):
        with open(f"{job['save_path']}/part{i}", "wb") as f:
            f.write(os.urandom(1 << 20))
    if size > 3:
        time.sleep(60)
    subprocess.check_call(["ludwig", "report", "--job", job["job"], "--done"])
END
    printf '%s\n' 'project: batched' 'command: python3 batch.py' 'source: batch.py' 'batch: 3' 'params: {mb: [1, 2, 6]}' \
        'resources: {cpus: 1, disk: 3MiB}' 'retry: {max: 0}' >batch.yaml
    sweep=$(submit batch.yaml)
    wait_until 60 ended "$sweep"
    ludwig jobs "$sweep" --json >jobs
    json jobs '[j["state"] for j in d["jobs"] if j["params"]["mb"] < 3] == ["done"] * 2'
    json jobs '[j["reason"] for j in d["jobs"] if j["params"]["mb"] == 6][0].startswith("out of disk: its files take ")'
}
it 'a job of a batch is limited likewise' of_a_batch

nameless() {
    # Each within the limit, open in the job, and without a name.
    limited nameless 3MiB 'exec 3>a 4>b 5>c' 'rm a b c' \
        'for fd in 3 4 5; do head -c 2097152 /dev/zero >&$fd; done' 'say wrote' 'gate never4'
    [ "$(sweep_state "$sweep")" = failed ]
    reason | grep -E '^out of disk: its files take 6[.0-9]* MiB of 3 MiB \(resources: disk\)'
}
it 'files that are open and have no name any more count, too' nameless

# The runner does something else meanwhile: it is told to end the job.
many_more_files() {
    write_job 'mkdir d && cd d && seq 60000 | xargs touch && say made && gate never3'
    printf '%s\n' 'project: very' 'command: sh job.sh' 'source: job.sh' 'resources: {cpus: 1, disk: 1GiB}' >sweep.yaml
    sweep=$(submit sweep.yaml)
    wait_until 60 '[ "$(recorded "^made")" = 1 ]'
    sleep 3 # it looks now
    ludwig cancel "$sweep"
    wait_until 20 ended "$sweep"
    nothing_left
}
it 'many files are looked at piece by piece' many_more_files

by_the_node() {
    ludwig down
    configure 'resources: {cpus: 4, gpus: 0}'
    ludwig up
    sed -i '/^disk_per_job/d' "$XDG_STATE_HOME/ludwig/worker.yaml"
    echo 'disk_per_job: 2MiB' >>"$XDG_STATE_HOME/ludwig/worker.yaml"
    kill_hard $(agents)
    wait_until 20 '[ -z "$(agents)" ]'
    ludwig-worker --config "$XDG_STATE_HOME/ludwig/worker.yaml" 2>>"$TEST_TMP/worker.log" &
    limited node 1GiB 'i=0; while :; do head -c 1000000 /dev/urandom >$i; i=$((i + 1)); sleep 0.2; done'
    [ "$(sweep_state "$sweep")" = failed ]
    reason | grep -E 'out of disk: .* of 2 MiB'
}
it 'a node may allow less than a job asks for' by_the_node

done_testing
