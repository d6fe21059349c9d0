#!/bin/bash
# results_out.sh - what jobs saved on its way from scratch to a share on another file system
. "$(dirname "$0")/lib.sh"

memory=$(mktemp -d /dev/shm/ludwig-test.XXXXXX 2>/dev/null)
if [ -z "$memory" ] || [ "$(stat -c %d "$memory")" = "$(stat -c %d "$HOME")" ]; then
    skip 'results are copied' 'takes /dev/shm, and a TMPDIR that is not there'
    done_testing
fi
trap 'rm -rf "$memory"; test_cleanup' EXIT
SCRATCH=$memory
configure 'resources: {cpus: 1, gpus: 0}'

sweep() { # PROJECT
    printf '%s\n' "project: $1" 'command: sh job.sh {a}' 'source: job.sh' 'params: {a: [1, 2]}' >sweep.yaml
}

many() {
    write_job 'cd "$LUDWIG_SAVE_PATH"' 'for d in $(seq 20); do mkdir -p $d/deep; for i in $(seq 50); do echo $1 $d $i >$d/deep/$i; done; done' \
        'ln -s 1/deep/1 link' 'mkdir -p a/b/c/d/e' 'head -c 3000000 /dev/urandom >large'
    sweep many && id=$(submit sweep.yaml)
    wait_until 60 ended "$id"
    [ "$(jobs_in done "$id")" = 2 ]
    python3 - "$SHARE"/many/runs/*/*/ <<'END'
import hashlib, json, os, sys
assert len(sys.argv) == 3
for folder in sys.argv[1:]:
    files = json.load(open(folder + "job.json"))["files"]
    assert len(files) == 1001, len(files)
    for f in files:
        content = open(folder + f["path"], "rb").read()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (f["size"], f["sha256"]), f
    assert os.readlink(folder + "link") == "1/deep/1"
    assert os.path.isdir(folder + "a/b/c/d/e")
END
    nothing_left
}
it 'many small files arrive as job.json says' many

# The slot does not wait for the share.
away() {
    write_job 'echo $1 >"$LUDWIG_SAVE_PATH/x"' 'gate $1'
    sweep away && id=$(submit sweep.yaml)
    wait_until 20 '[ "$(recorded "^start")" = 3 ]' # the third of all
    mv "$SHARE/away" "$SHARE/gone"
    open 1
    wait_until 20 '[ "$(recorded "^start")" = 4 ]'
    open 2
    wait_until 20 '[ "$(jobs_in publishing '"$id"')" = 2 ]'
    [ ! -e "$SHARE/away" ]
    mv "$SHARE/gone" "$SHARE/away"
    wait_until 60 ended "$id"
    [ "$(jobs_in done "$id")" = 2 ]
    cat "$SHARE"/away/runs/*/*/x | sort >got
    printf '1\n2\n' | cmp - got
    nothing_left
}
it 'while the share is away results wait, shown as publishing, and the slot goes on' away

# While the publisher stands results pile up.
together() {
    write_job 'echo $1 >"$LUDWIG_SAVE_PATH/x"' 'gate t$1'
    printf '%s\n' 'project: together' 'command: sh job.sh {a}' 'source: job.sh' "params: {a: [$(seq -s, 20)]}" >sweep.yaml
    open t1
    id=$(submit sweep.yaml)
    wait_until 20 '[ "$(jobs_in "done" '"$id"')" = 1 ]'
    publisher=$(pids_of --publisher)
    strace -f -qq -o trace -e trace=syncfs,fsync,renameat,renameat2 -p "$publisher" &
    tracer=$!
    wait_until 20 'grep -q "^TracerPid:.[1-9]" /proc/'"$publisher"'/status'
    kill -STOP "$publisher"
    for i in $(seq 2 20); do open "t$i"; done
    wait_until 60 '[ "$(jobs_in publishing '"$id"')" = 19 ]'
    kill -CONT "$publisher"
    wait_until 60 ended "$id"
    [ "$(jobs_in "done" "$id")" = 20 ]
    kill $tracer && wait $tracer || true
    # The renames that give results their names: 19 in a row, behind a sync, before another.
    grep -oE '^[0-9]+ +(syncfs|fsync)\(|rename.*, "[0-9]+-[0-9]+_num[0-9]+"' trace |
        sed 's/.*sync.*/sync/; s/^rename.*/named/' | uniq -c >order
    cat order
    grep -B 1 -A 1 ' 19 named' order | sed 's/ *[0-9]* //' | tr '\n' ' ' | grep 'sync named sync'
    [ "$(grep -c 'sync' trace)" -lt 19 ]
}
if command -v strace >/dev/null; then
    it 'what has piled up is synced together, and then it gets its names' together
else
    skip 'what has piled up is synced together, and then it gets its names' 'takes strace'
fi

done_testing
