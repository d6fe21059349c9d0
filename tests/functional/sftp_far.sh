#!/bin/bash
# sftp_far.sh - files to a server that is some way off
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'files to a server that is some way off' "$lab_lacks"
    done_testing
}

lab_up jail laptop fileserver
lab_server
lab_client lab1
echo 'LogLevel DEBUG3' | write_on fileserver /etc/ssh/sshd_config.d/loud.conf

# New content; what sshd logs then is of this upload alone.
upload() { # PROJECT MIB
    on laptop as lab1 sh -c 'mkdir -p data && head -c "$(($1 << 20))" /dev/urandom >data/file' - "$2"
    printf '%s\n' "project: $1" 'command: "true"' 'source: [sweep.yaml]' 'data: [data]' |
        write_on laptop as lab1 /home/lab1/sweep.yaml
    sshd_mode jail
    on fileserver truncate -s 0 /var/log/sshd.log
    ludwig submit sweep.yaml
    find "$SHARE/$1/.ludwig/packs" -type f ! -name '.*' | python3 -S "$TEST_ROOT/tests/functional/packs_check.py"
}

logins() {
    sshd_log 'Accepted publickey' | wc -l
}

nothings() { # packets that it was to ignore
    sshd_log 'Received SSH2_MSG_IGNORE' | wc -l
}

far_off() {
    delay laptop 40
    upload much 72
    echo "$(logins) connections, $(nothings) packets"
    [ "$(logins)" = 8 ]
    [ "$(nothings)" = 0 ]
}
it 'much that goes far is sent over eight connections, without padding' far_off

little() {
    delay laptop 40
    upload little 1
    [ "$(logins)" = 1 ]
    [ "$(nothings)" = 0 ]
}
it 'little is not worth it' little

near() {
    delay laptop off
    upload near 72
    [ "$(logins)" -gt 1 ]
    [ "$(nothings)" = 0 ]
}
it 'nor is it near by' near

done_testing
