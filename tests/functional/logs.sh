#!/bin/bash
# logs.sh - what jobs printed: of which attempt, how much of it, and on what
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'

printf '%s\n' 'project: demo' 'command: sh job.sh' 'source: job.sh' >sweep.yaml

attempts() {
    # shellcheck disable=SC2016 # the job expands
    printf '%s\n' 'for i in 1 2 3; do echo "attempt $LUDWIG_RESTART line $i"; done' \
        'if [ $LUDWIG_RESTART = 0 ]; then exit 1; fi' >job.sh
    not ludwig_wait submit sweep.yaml --wait
    ludwig retry 1.1
    wait_until 20 '[ "$(sweep_state 1)" = done ]'
    ludwig logs 1.1 >newest
    ludwig logs 1.1 --attempt 2 | cmp newest -
    printf 'attempt 1 line %s\n' 1 2 3 | cmp newest -
    ludwig logs 1.1 --attempt 1 >first
    printf 'attempt 0 line %s\n' 1 2 3 | cmp first -
    [ "$(ludwig logs 1.1 --attempt 1 -n 1)" = 'attempt 0 line 3' ]
    ludwig logs 1.1 --attempt 1 -f | cmp first -
    status=0
    ludwig logs 1.1 --attempt 3 2>err || status=$?
    [ $status = 1 ]
    grep -q 'is done and has had 2 attempts' err
    not ludwig logs 1.1 --attempt 0 2>err
    # A person who looks is told of the attempt before.
    terminal() { python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x80 "$@"; }
    terminal ludwig logs 1.1 >shown
    [ "$(head -n 1 shown | tr -d '\r')" = 'attempt 2; ludwig logs 1.1 --attempt 1 shows the one before' ]
    ludwig logs 1.1 2>&1 | cmp newest -
    terminal ludwig logs 1.1 --attempt 2 >shown
    not grep -q 'the one before' shown
}
it '--attempt shows what an earlier attempt printed' attempts

following() {
    cat >job.sh <<END
echo "attempt \$LUDWIG_RESTART begins"
until [ -e $TEST_TMP/gates/\$LUDWIG_RESTART ]; do sleep 0.3; done
echo "attempt \$LUDWIG_RESTART ends"
[ \$LUDWIG_RESTART = 1 ]
END
    printf '%s\n' 'retry: {max: 1, on: [failed]}' >>sweep.yaml
    id=$(submit sweep.yaml)
    ludwig logs "$id.1" -f >all 2>notes &
    both=$!
    ludwig logs "$id.1" -f --attempt 1 >one &
    first=$!
    ludwig logs "$id.1" -f --attempt 2 >two &
    second=$!
    wait_until 20 'grep -q "attempt 0 begins" all && grep -q "attempt 0 begins" one'
    [ ! -s two ]
    open 0
    # The attempt is over, and so is what follows it, while the job goes on.
    wait $first
    wait_until 20 'grep -q "attempt 1 begins" two'
    [ "$(sweep_state "$id")" = running ]
    open 1
    wait $both
    wait $second
    printf '%s\n' 'attempt 0 begins' 'attempt 0 ends' | cmp one -
    printf '%s\n' 'attempt 1 begins' 'attempt 1 ends' | cmp two -
    cat one two | cmp all -
    grep -q "attempt 2 of job $id.1" notes
}
it '-f goes on with the next attempt, or ends with the one that was named' following

# The bytes that a command writes to a terminal.
on_terminal() { # COMMAND...
    python3 - "$@" <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    sys.stdout.buffer.write(piece)
END
}

bytes() {
    printf '%s\n' 'project: bytes' 'command: cat bytes' 'source: bytes' >bytes.yaml
    printf '\033[31mred\033[0m\ttab\rback\ngr\303\274n \302\2331m \377\nend \342\210' >bytes
    ludwig_wait submit bytes.yaml --wait >id
    ludwig logs "$(cat id).1" | cmp bytes -
    ludwig logs "$(cat id).1" --raw | cmp bytes -
    on_terminal ludwig logs "$(cat id).1" >shown
    printf '^[[31mred^[[0m\ttab\rback\r\ngr\303\274n \\xc2\\x9b1m \\xff\r\nend \\xe2\\x88' | cmp shown -
    on_terminal ludwig logs "$(cat id).1" --raw >shown
    grep -q "$(printf '\033')" shown
}
it 'a terminal gets harmless text, a pipe every byte' bytes

no_file() {
    printf 'project: fifo\ncommand: exit 3\nsource: []\n' >l.yaml
    id=$(submit l.yaml)
    wait_until 10 ended "$id"
    log=$SHARE/$(job "$id.1" 'j["log_path"]')
    rm "$log"
    mkfifo "$log"
    not ludwig_wait logs "$id.1" 2>err
    grep -q 'is no regular file' err
    ludwig_wait why "$id.1" >out
}
it 'a fifo where a log should be holds nobody up' no_file

too_long() {
    write_job 'i=0' 'while [ $i -lt 30 ]; do head -c 5000000 /dev/zero | tr "\\0" x; i=$((i + 1)); sleep 0.1; done' 'echo done >"$LUDWIG_SAVE_PATH/x"'
    printf '%s\n' 'project: long' 'command: sh job.sh' 'source: job.sh' 'log: {max: 100KiB}' >long.yaml
    id=$(ludwig_wait submit long.yaml --wait)
    log=$SHARE/$(job "$id.1" 'j["log_path"]')
    tail -n 1 "$log" | grep -qx 'ludwig: this log has reached its limit of 100.* (log: max); what the job prints from here on is left out'
    [ "$(head -n 1 "$log" | wc -c)" = 102401 ]
    [ "$(wc -l <"$log")" = 2 ]
    printf '%s\n' 'project: long' 'command: sh job.sh' 'source: job.sh' 'log: {max: 10B}' >other.yaml
    ludwig_wait submit other.yaml --json | json - 'd["reused"] == 1'
}
it 'a log is limited by log: max, says so, and is no part of what makes a job the same' too_long

done_testing
