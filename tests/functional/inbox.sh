#!/usr/bin/env bash
# inbox.sh - jailed to SFTP without forwarding: requests are files, and nobody can forge one
# shellcheck disable=SC2016 # the bodies are evaluated later
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"
lab_possible || { skip 'store-and-forward, in a lab' "$lab_lacks" && done_testing; }
PATH=$LUDWIG_HOOKS_BIN:$PATH LUDWIG_BIN=$LUDWIG_HOOKS_BIN
lab_up jail-noforward fileserver laptop

write_on fileserver /etc/ludwig/ludwigd.yaml <<'END'
share: /srv/research_data
state: /var/lib/ludwig
share_group: lab
END
cp "$TEST_ROOT"/tests/functional/{file_requests,raw}.py "$TEST_TMP"
mkdir -m 0777 "$TEST_TMP/open" "$SHARE/open"
inbox=$SHARE/.ludwig/inbox outbox=$SHARE/.ludwig/outbox
server=ssh://lab1@fileserver

start_ludwigd() {
    service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml --log-level debug
    wait_until 10 there status >/dev/null 2>&1
}
there() { # ARGUMENT...: ludwig, by the socket
    on fileserver as lab1 ludwig --server unix:/srv/research_data/.ludwig/server.sock "$@"
}
as() { # USER SCENARIO ARGUMENT...: on the file server itself, with a shell there
    on fileserver as "$1" timeout 300 python3 "$TEST_TMP/file_requests.py" /srv/research_data "${@:2}"
}
laptop() { # COMMAND...
    on laptop as lab1 timeout 300 env LUDWIG_SERVER=$server "$@"
}
start_ludwigd

modes() {
    [ "$(stat -c '%a %u' "$inbox")" = '755 0' ]
    [ "$(stat -c '%a %u' "$outbox")" = '711 0' ]
    [ "$(stat -c '%a %u' "$inbox/2001")" = '700 2001' ]
    [ "$(stat -c '%a %u' "$inbox/2002")" = '700 2002' ]
    [ "$(readlink "$inbox/@lab1")" = 2001 ]
}
it 'every user has an inbox that is nobody else'\''s' modes

served() {
    laptop ludwig status --json >status
    json status 'd["sweeps"] == []'
    service_log fileserver ludwigd | grep 'hello .*user=lab1'
    wait_until 10 '[ -z "$(ls -A "$inbox/2001")" ]'
}
it 'lab1 is served through SFTP alone, and nothing is left in the inbox' served

prepare() {
    mount_share laptop
    write_on laptop as lab1 /home/lab1/.config/ludwig/config.yaml <<<'share: /media/research_data'
    printf 'project: demo\ncommand: "true"\nsource: []\nparams: {a: [%s]}\n' "$(seq -s, 1 3000)" |
        write_on laptop as lab1 /home/lab1/sweep.yaml
    laptop ludwig submit sweep.yaml --json >submitted
    json submitted 'd["jobs"] == 3000'
    laptop ludwig status 1 --json >status
    json status 'd["user"] == "lab1" and d["jobs"]["queued"] == 3000'
    laptop ludwig jobs 1 --json >jobs
    json jobs 'len(d["jobs"]) == 3000'
}
it 'a sweep is submitted and listed' prepare

it 'a long message comes in several requests, in whatever order' 'as lab1 large'

followed() {
    on laptop as lab1 env LUDWIG_SERVER=$server timeout 300 ludwig watch 1 >watched 2>&1 &
    wait_until 10 '[ -n "$(on laptop pgrep ludwig-courier)" ]'
    on laptop sh -c 'kill -KILL "$(pgrep -o -x ludwig)"' # and not what keeps its SSH session
    wait_until 10 '[ -z "$(ls -A "$inbox/2001")" ]'
    wait_until 10 '[ -z "$(on laptop pgrep ludwig-courier)" ]'
}
it 'when a client is killed, its courier goes and takes the files away' followed

# ---- executed once ----

sweeps() { # PROJECT
    there status --json | json - "len([s for s in d['sweeps'] if s['project'] == '$1'])"
}

submit_killed() { # POINT
    laptop env LUDWIG_COURIER_CRASH="$1" LUDWIG_CRASH_ONCE="$TEST_TMP/open/crashed" \
        ludwig submit killed.yaml --json >submitted
}
couriers_killed() {
    local n
    for n in {0..60}; do
        rm -f "$TEST_TMP/open/crashed"
        printf 'project: killed%s\ncommand: "true"\nsource: []\nparams: {a: [1, 2]}\n' "$n" |
            write_on laptop as lab1 /home/lab1/killed.yaml
        # Without a greeting nothing was asked, and the command says so.
        submit_killed "$n" || { [ $? = 3 ] && [ "$(sweeps "killed$n")" = 0 ] && submit_killed "$n"; }
        [ "$(sweeps "killed$n")" = 1 ]
        [ -e "$TEST_TMP/open/crashed" ] || break
    done
    echo "killed at $n points"
    [ "$n" -ge 8 ] && [ "$n" -lt 60 ]
}
it 'whenever the courier is killed, a submit is executed once' couriers_killed

why_not() {
    sort tries | uniq -c
    ls -la "$inbox/2001" "$outbox" | head -n 12
    service_log fileserver ludwigd | tail -n 20
}
ludwigds_killed() {
    local n pid
    for n in {0..11}; do
        as lab1 persistent "k$n" >once 2>tries &
        pid=$!
        # The later ones find it at work, or at the answer.
        on fileserver sleep "$(printf '0.%03d' $((n * 15)))"
        service_kill fileserver ludwigd
        start_ludwigd
        wait $pid || { why_not; return 1; }
        [ "$(sweeps "oncek$n")" = 1 ]
        [ "$(wc -l <once)" = 1 ]
    done
}
it 'whenever ludwigd is killed, a submit is executed once' ludwigds_killed

answer_lost() {
    as lab1 leave_request "$TEST_TMP/open/state1"
    as lab1 answered "$TEST_TMP/open/state1"
    service_kill fileserver ludwigd
    start_ludwigd
    as lab1 is_ignored "$TEST_TMP/open/state1"
    as lab1 ask_again "$TEST_TMP/open/state1"
    [ "$(sweeps left)" = 1 ]
}
it 'an answer that nobody has read is given again' answer_lost

not_taken() {
    as lab1 leave_request "$TEST_TMP/open/state2"
    as lab1 answered "$TEST_TMP/open/state2"
    service_kill fileserver ludwigd
    # What is put while nobody is there is for the ludwigd that was.
    as lab1 old_request "$TEST_TMP/open/state2" 2>refused &
    start_ludwigd
    wait $!
    [ "$(sweeps replayed)" = 0 ]
}
it 'an old request is refused by the next ludwigd' not_taken

# ---- attackers ----

it 'who puts a request is who owns it' '
    [ "$(as lab1 who)" = "lab1 2001" ]
    [ "$(as lab2 who)" = "lab2 2002" ]
'

forged() { # HOW
    local conn
    rm -f "$SHARE/open/spare"
    conn=$(as lab1 spare /srv/research_data/open/spare)
    as lab2 take_it "$1" /srv/research_data/open/spare "$conn" >out
    cat out
    # It was not for want of a listing: lab2 was served meanwhile.
    grep -E 'lab2 2002|the kernel' out
    not grep lab1 out
}
it 'a hard link to a file of lab1'\''s is not believed' 'forged link'
it 'nor is a file of lab1'\''s that was renamed into the inbox' 'forged rename'
it 'nor is a symbolic link' 'forged symlink'

hard_link_by_owner() {
    # Nothing forbids root, or lab1, a second name.
    local conn
    rm -f "$TEST_TMP/open/spare"
    conn=$(as lab1 spare "$TEST_TMP/open/spare")
    cp --preserve=all "$TEST_TMP/open/spare" "$SHARE/spare"
    chmod 0600 "$SHARE/spare"
    ln "$SHARE/spare" "$inbox/2001/$conn.0"
    as lab1 who
    not ls "$outbox"/2001."$conn".*
    rm "$SHARE/spare"
    mv "$inbox/2001/$conn.0" "$inbox/2001/.x"
    mv "$inbox/2001/.x" "$inbox/2001/$conn.0"
    wait_until 10 ls "$outbox/2001.$conn.0"
}
it 'a file with two names waits until it has one' hard_link_by_owner

open_folder() {
    local conn
    chmod 0777 "$inbox/2001"
    rm -f "$TEST_TMP/open/spare"
    conn=$(as lab1 spare "$TEST_TMP/open/spare")
    cp --preserve=ownership "$TEST_TMP/open/spare" "$inbox/2001/.x"
    chmod 0600 "$inbox/2001/.x"
    mv "$inbox/2001/.x" "$inbox/2001/$conn.0"
    wait_until 10 'service_log fileserver ludwigd | grep "inbox-refused.*2001.*others may write"'
    not laptop ludwig status 2>err
    grep 'others may write into .*chmod' err
    not ls "$outbox"/2001."$conn".*
    chmod 0700 "$inbox/2001"
    rm "$inbox/2001/$conn.0"
    laptop ludwig status
}
it 'nothing is taken from a folder that others may write' open_folder

others() {
    local state=$TEST_TMP/open/held pid conn
    rm -f "$state"
    as lab1 hold "$state" &
    pid=$!
    wait_until 10 test -e "$state"
    read -r conn _ <"$state"
    as lab2 into_anothers 2001 "$conn"
    as lab2 guess "$state"
    rm "$state"
    wait $pid
}
it 'lab2 can neither read nor disturb lab1'\''s connection, nor write into .ludwig' others

strangers() {
    as lab1 strange
    laptop ludwig status
    find "$inbox/2001" -mindepth 1 -delete
}
it 'fifos, folders, devices and a terabyte are passed over' strangers

filled() {
    local pid
    as lab2 fill 100000
    as lab2 stir "$TEST_TMP/gates/stirred" >stirs &
    pid=$!
    wait_until 60 grep stirs stirs
    as lab1 asks 100
    kill -0 $pid # all of them were answered meanwhile
    open stirred
    wait $pid
    pid=$(lab_service_pid fileserver ludwigd)
    rss=$(on fileserver sed -n 's/^VmRSS:\s*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
    echo "ludwigd: $rss kB"
    [ "$rss" -lt 65536 ]
    laptop ludwig status
}
it 'who fills an inbox with 100,000 files and stirs them keeps nobody else from answers' filled

it 'replies to connections that were refused are not many' '
    ls "$outbox" | wc -l | tee n
    [ "$(cat n)" -lt 1000 ]
'

quiet() {
    local pid before
    pid=$(lab_service_pid fileserver ludwigd)
    # ludwigd takes some away itself.
    find "$inbox/2002" -mindepth 1 -delete 2>/dev/null || true
    ticks() { on fileserver sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f12,13; }
    settled() {
        before=$(ticks)
        sleep 2
        [ "$(ticks)" = "$before" ]
    }
    wait_until 60 settled
}
it 'afterwards ludwigd takes no processor time' quiet

# ---- users who come ----

new_user() {
    on fileserver sh -ec '
        sed "s/^lab2:x:2002:2002:/lab3:x:2003:2003:/" /etc/passwd | grep ^lab3 >/etc/passwd.line
        cat /etc/passwd /etc/passwd.line >/etc/passwd.new
        chmod 644 /etc/passwd.new
        mv /etc/passwd.new /etc/passwd'
    wait_until 10 '[ "$(stat -c "%a %u" "$inbox/2003")" = "700 2003" ]'
    [ "$(readlink "$inbox/@lab3")" = 2003 ]
}
it 'a user who comes gets an inbox' new_user

stopped() {
    service_stop fileserver ludwigd
    not laptop ludwig status 2>err
    grep 'was stopped' err
}
it 'when ludwigd was stopped, a client is told so at once' stopped

done_testing
