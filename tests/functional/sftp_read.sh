#!/bin/bash
# sftp_read.sh - logs, results and files of jobs, over SFTP as on a share that is mounted
. "$(dirname "$0")/lib.sh"

sftp="python3 -S $TEST_ROOT/tests/functional/sftp_server.py $TEST_TMP/asked"
if ! timeout 300 $sftp </dev/null >/dev/null 2>&1; then
    skip 'reads the share over SFTP' 'there is no sftp-server here'
    done_testing
fi

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'

# Each use of the server leaves a line: what it was asked.
over_sftp() { # COMMAND...
    local before result=0
    before=$(wc -l <"$TEST_TMP/asked")
    LUDWIG_TEST_SFTP=$sftp timeout 300 "$LUDWIG_HOOKS_BIN/ludwig" "$@" || result=$?
    wait_until 5 '[ "$(wc -l <"$TEST_TMP/asked")" -gt '"$before ]" || return 99
    return $result
}

asked() { # EXPRESSION on the last line
    tail -n 1 "$TEST_TMP/asked" | json - "$1"
}

cat >job.sh <<'END_OF_JOB'
mkdir -p "$LUDWIG_SAVE_PATH/model/deep/er" "$LUDWIG_SAVE_PATH/many"
head -c 3000000 /dev/urandom >"$LUDWIG_SAVE_PATH/model/weights"
printf '#!/bin/sh\n' >"$LUDWIG_SAVE_PATH/run"
chmod +x "$LUDWIG_SAVE_PATH/run"
ln -s weights "$LUDWIG_SAVE_PATH/model/link"
: >"$LUDWIG_SAVE_PATH/model/deep/er/empty"
for i in $(seq 150); do echo "$i" >"$LUDWIG_SAVE_PATH/many/file $i"; done
for step in 1 2 3; do echo "{\"loss\": $step.5, \"step\": $step}" >>"$LUDWIG_METRICS"; done
printf ',curve\n0,1.5\n1,2.5\n' >"$LUDWIG_SAVE_PATH/curve.csv"
echo "job $LUDWIG_JOB says"
seq 20000
echo 'the last line'
[ "$1" != 2 ] || exit 1
END_OF_JOB
printf '%s\n' 'project: demo' 'command: sh job.sh {x}' 'source: job.sh' 'params: {x: [1, 2]}' 'reps: 3' >sweep.yaml
not ludwig_wait submit sweep.yaml --wait 2>/dev/null >id

fetched() {
    ludwig fetch 1 mounted --logs --failed
    over_sftp fetch 1 remote --logs --failed >out
    grep -q '^3 jobs in remote: ' out
    diff -r --no-dereference mounted remote
    (cd mounted && find . -type f -printf '%p %Ts %m\n' | sort) >first
    (cd remote && find . -type f -printf '%p %Ts %m\n' | sort) | grep -v ludwig-results >second
    grep -v ludwig-results first | cmp - second
    over_sftp fetch 1 remote --logs --failed >out
    grep -q ': 0 files copied (0 B), ' out
    asked 'd["sent_back"] < 200000 and "read" not in d["requests"]'
}
it 'fetch brings the same as from a mounted share, and each file once' fetched

places() {
    ludwig results 1 >out
    grep -qx "results  $SHARE/demo/runs/" out
    not grep -q 'ludwig fetch' out
    LUDWIG_TEST_SFTP=$sftp timeout 300 "$LUDWIG_HOOKS_BIN/ludwig" results 1 >out
    grep -qx 'results  demo/runs/' out
    not grep -qF "$SHARE" out
    grep -q '`ludwig fetch 1` copies them here' out
}
it 'results says where they lie as this machine sees it, and how to get them' places

told() {
    for options in '--series loss' '--series curve' '--series loss --json'; do
        # shellcheck disable=SC2086 # one word each
        ludwig results 1 $options >first
        # shellcheck disable=SC2086
        over_sftp results 1 $options | cmp first -
        [ "$(wc -l <first)" -gt 3 ]
    done
    not over_sftp results 1 --series nothing 2>err
    grep -q 'nothing' err
}
it 'results --series reads the same numbers' told

printed() {
    for options in '' '-n 1' '-n 3000' '-n 0'; do
        # shellcheck disable=SC2086
        ludwig logs 1.1 $options >first
        # shellcheck disable=SC2086
        over_sftp logs 1.1 $options | cmp first -
    done
    [ "$(over_sftp logs 1.2 -n 1)" = 'the last line' ]
    over_sftp why 1.4 >why
    grep -q 'The end of its log (.* on the server)' why
    grep -q 'the last line' why
}
it 'logs and why show what jobs printed' printed

following() {
    cat >slow.sh <<END_OF_JOB
echo begins
until [ -e $TEST_TMP/gates/go ]; do sleep 0.3; done
seq 50000
until [ -e $TEST_TMP/gates/end ]; do sleep 0.3; done
printf 'no newline'
END_OF_JOB
    printf '%s\n' 'project: demo' 'command: sh slow.sh' 'source: slow.sh' >slow.yaml
    id=$(submit slow.yaml)
    over_sftp logs "$id.1" -f >all &
    follower=$!
    wait_until 20 'grep -q begins all'
    open go
    wait_until 20 'grep -q "^50000$" all'
    open end
    wait $follower
    ludwig logs "$id.1" | cmp all -
}
it 'logs -f goes on as the log grows, to its end' following

odd() {
    folder=$(find "$SHARE/demo/runs" -name many | head -n 1)
    mkfifo "$folder/fifo"
    ln -s /etc/passwd "$folder/passwd"
    over_sftp fetch 1 odd >out
    grep -q '1 link out of it left out (--all-links copies it), 1 that are no files left out' out
    [ -z "$(find odd -name passwd)" ]
    over_sftp fetch 1 --all-links odd >out
    grep -q '1 that are no files left out' out
    [ "$(readlink "$(find odd -name passwd)")" = /etc/passwd ]
    log=$(find "$SHARE/demo/logs/1" -name '*.log' | sort | head -n 1)
    mv "$log" "$log.away"
    mkfifo "$log"
    job=$(ludwig jobs 1 --json | json - "next(j['job'] for j in d['jobs'] if '$log'.endswith(j['log_path']))")
    status=0
    over_sftp logs "$job" 2>err || status=$?
    [ "$status" = 1 ]
    grep -q 'is no regular file' err
    rm "$log"
    ln -s /etc/passwd "$log"
    not over_sftp logs "$job" 2>err
    grep -q 'is no regular file' err
    rm "$log"
    not over_sftp logs "$job" 2>err
    grep -q 'there is no log at .* on the server' err
    mv "$log.away" "$log"
}
it 'no link is followed, and no fifo waited for' odd

broken() {
    status=0
    LUDWIG_TEST_SFTP='exit 1' "$LUDWIG_HOOKS_BIN/ludwig" logs 1.1 2>err || status=$?
    [ $status = 3 ]
    cat err
    grep -q 'may this account use SFTP there' err
    status=0
    LUDWIG_TEST_SFTP='echo Welcome to the machine; exec cat 2>/dev/null' "$LUDWIG_HOOKS_BIN/ludwig" fetch 1 2>err || status=$?
    [ $status = 1 ]
    grep -q "speaks no SFTP: it began with 'Welc" err
    [ "$(wc -l <err)" = 1 ]
    # It ends in the middle of a file; what is whole by then stays.
    status=0
    LUDWIG_TEST_SFTP="$sftp --cut-out 4500000" "$LUDWIG_HOOKS_BIN/ludwig" fetch 1 part 2>err || status=$?
    [ $status = 3 ]
    cat err
    grep -q 'the connection for files is lost.*goes on where this one stopped' err
    [ "$(wc -l <err)" = 1 ]
    before=$(find part -name weights | wc -l)
    over_sftp fetch 1 part >out
    grep -q '^3 jobs in part: ' out
    [ "$before" -gt 0 ]
    [ "$(find part -name weights | wc -l)" = 3 ]
    [ -z "$(find part -name '.ludwig-fetch*')" ]
}
it 'without SFTP there it says so in one line' broken

elsewhere() {
    [ -f "$SHARE/.ludwig/id-$(json "$SHARE/.ludwig/id" 'd["server"]')" ]
    sed -i 's/"server":"./"server":"x/' "$SHARE/.ludwig/id"
    rm "$SHARE"/.ludwig/id-*
    not over_sftp logs 1.1 2>err
    grep -q "SFTP shows the shared drive of another server at $SHARE" err
    mv "$SHARE/.ludwig/id" "$TEST_TMP/id"
    status=0
    over_sftp logs 1.1 2>err || status=$?
    [ $status = 1 ]
    grep -q "SFTP does not show the shared drive, which is $SHARE on the server" err
}
it 'a share that SFTP does not show is told from that of another server' elsewhere

done_testing
