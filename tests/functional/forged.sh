#!/bin/bash
# forged.sh - a server that is broken or means harm cannot crash or hold a client, nor lead it astray
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
printf '%s\n' 'project: demo' 'command: "echo {x} >$LUDWIG_SAVE_PATH/x"' 'params: {x: [1, 2, 3]}' >sweep.yaml
submit sweep.yaml >/dev/null
wait_until 60 ended 1
target=$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")

forge() { # FORGERY
    python3 -S "$TEST_ROOT/tests/functional/forge.py" "$TEST_TMP/$1.sock" "$target" "$1" 2>"$1.log" &
    wait_until 20 [ -S "$TEST_TMP/$1.sock" ]
}

# It fails with a word that the server did wrong, and by itself.
refuses() { # FORGERY PATTERN ARGUMENT...
    local status=0
    ludwig_wait --server "unix:$TEST_TMP/$1.sock" "${@:3}" >out 2>err || status=$?
    cat err
    [ "$status" -ge 1 ] && [ "$status" -lt 100 ]
    grep -E "$2" err
    not grep -F '(null)' out err
}

no_names() {
    local words='the server names the folder of job 1[.][123] '
    forge nameless
    refuses nameless "$words" debug 1.1 look --no-shell
    refuses nameless "$words" fetch 1 copy --logs
    refuses nameless "$words" fetch 1 copy --failed
    refuses nameless "$words" logs 1.1 --attempt 1
    refuses nameless "$words" rm 1 --yes
    [ "$(published demo | wc -l)" = 3 ]
}
it 'one that leaves out the names of folders is told so' no_names

other_names() {
    forge outside
    refuses outside 'the server names the folder of job 1[.]1 .[.][.]/' debug 1.1 look --no-shell
    refuses outside 'the server names the folder of job 1[.]1 .[.][.]/' fetch 1 copy --logs
}
it 'one whose names lead elsewhere is told so' other_names

shouted() {
    forge shouting
    ludwig_wait --server "unix:$TEST_TMP/shouting.sock" why 1.1 >out
    cat out
    grep -Fx 'job ^[]0;owned^G: done' out
    not grep -F "$(printf '\033')" out
}
it "one that writes to one's terminal is kept from it" shouted

no_end() {
    local words="the server's pages lead nowhere"
    forge endless
    refuses endless "$words" jobs 1
    refuses endless "$words" status
    refuses endless "$words" usage --by sweep
    refuses endless "$words" fetch 1 endless
}
it 'one whose pages come again and again holds nobody' no_end

done_testing
