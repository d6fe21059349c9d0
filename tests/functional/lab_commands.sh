#!/bin/bash
# lab_commands.sh - the commands' tests once more, from the laptop, over plain SFTP alone
#
# Those of LAB_TESTS, if that is set, and with sshd as LAB_MODE says (see lab.sh).
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'the commands work from a jail without forwarding' "$lab_lacks"
    done_testing
}

lab_up "${LAB_MODE-jail-noforward}" fileserver laptop node1

# What the tests on the laptop may see; see tests/lab/client.sh.
seen=$TEST_TMP/seen
prepare() {
    mkdir -p "$seen"/{share,scratch,tmp}
    mkfifo "$seen/asked" "$seen/answered"
    echo 'server: ssh://lab1@fileserver' >"$seen/client.yaml"
    chown -R 2001:2001 "$seen"
    on laptop mount --bind "$SHARE" "$seen/share"
    exec 7<>"$seen/asked" 8<>"$seen/answered"
}
prepare

# ---- what they ask for ----

stop_all() {
    on fileserver pkill -KILL ludwigd
    on node1 sh -c 'pkill -KILL ludwig-worker; kill -KILL $(pgrep -u lab1)'
    # do_up takes one that is still there for one that runs.
    wait_until 20 '! on fileserver pgrep -x ludwigd && ! on node1 pgrep -x ludwig-worker'
    on fileserver sh -c 'rm -rf /var/lib/ludwig /srv/research_data/* /srv/research_data/.ludwig'
    on node1 sh -c 'rm -rf /var/lib/ludwig /processing/lab1/*'
    rm -rf "${seen:?}"/scratch/*
} 2>/dev/null

do_up() {
    on fileserver pgrep -x ludwigd >/dev/null ||
        service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml || return
    on node1 pgrep -x ludwig-worker >/dev/null ||
        service node1 worker ludwig-worker --config /etc/ludwig/worker.yaml || return
    wait_until 20 '[ -n "$(on fileserver ludwig --server unix:/srv/research_data/.ludwig/server.sock nodes -q)" ]'
}

do_start() {
    stop_all
    write_on fileserver /etc/ludwig/ludwigd.yaml <<'YAML'
share: /srv/research_data
state: /var/lib/ludwig
share_group: lab
worker_users: [ludwig]
admins: [lab1]
YAML
    {
        echo "server: ssh://ludwig@fileserver
share: /media/research_data
scratch: $seen/scratch/{user}
state: /var/lib/ludwig
private_tmp: no" # jobs look into $seen, which lies in /tmp
        cat "$seen/worker_lines"
    } | write_on node1 /etc/ludwig/worker.yaml
    do_up
}

do_down() {
    service_stop node1 worker && service_stop fileserver ludwigd
}

do_pids() { # NAME
    on fileserver pgrep -x "$1" || on node1 pgrep -x "$1" || true
}

do_gone() { # PID...
    gone_on node1 "$@"
}

do_kill() { # NAME|PID...
    case $1 in
    ludwigd) service_kill fileserver ludwigd ;;
    ludwig-worker) on node1 pkill -KILL -x ludwig-worker ;;
    *) on node1 kill -KILL "$@" ;;
    esac
}

serve() { # until the test that runs says that it ended
    local words
    while read -r -u 7 -a words; do
        [ "${words[0]}" != end ] || return 0
        "do_${words[0]}" "${words[@]:1}" >"$seen/answer" 2>&1
        echo $? >&8
    done
}

# ---- the tests ----

# Its lines, with the numbers of this one.
pass_on() { # NAME FILE
    local line
    while IFS= read -r line; do
        case $line in
        'ok '* | 'not ok '*)
            test_n=$((test_n + 1))
            [[ $line = ok* ]] || test_failed=$((test_failed + 1))
            sed -E "s/^((not )?ok) [0-9]+ - /\1 $test_n - $1: /" <<<"$line"
            ;;
        \#*) echo "$line" ;;
        esac
    done <"$2"
    it "$1: all of it" "grep -qE '^1\\.\\.[0-9]+\$' $2"
}

again() { # NAME
    local log=$TEST_TMP/$1.log
    rm -f "$seen/worker_lines"
    {
        on laptop as lab1 env LUDWIG_TEST_LAB="$seen" LUDWIG_BIN=/usr/local/bin TMPDIR="$seen/tmp" \
            bash "/opt/lab/tests/functional/$1.sh" >"$log" 2>&1
        echo end >"$seen/asked"
    } &
    serve
    wait $!
    pass_on "$1" "$log"
}

for name in ${LAB_TESTS-logs json${test_all:+ listings why usage refuse}}; do
    again "$name"
done
done_testing
