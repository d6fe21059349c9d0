#!/bin/bash
# notify.sh - notify: tells of a sweep's events, each once, whatever is killed meanwhile
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
write_job '[ -z "$2" ] || gate "$2"' '[ "$1" != bad ] || exit 1'

# What came, a line each: at the server, by mail, or from the command.
cat >server.py <<'END'
"""server.py FILE PORT - writes what is posted to it into a file, but while there is FILE.fails"""
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if os.path.exists(sys.argv[1] + ".fails"):
            self.send_error(503)
            return
        with open(sys.argv[1], "a") as out:
            out.write(f"{self.path} {self.headers['Content-Type']} {body}\n")
        self.send_response(204)
        self.end_headers()
    def log_message(self, *words):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[2] + ".new", "w") as out:
    out.write(str(server.server_port))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
END
python3 server.py "$TEST_TMP/posted" "$TEST_TMP/port" &
within 30 '[ -e "$TEST_TMP/port" ]'
touch "$TEST_TMP/posted" "$TEST_TMP/ran"
port=$(cat "$TEST_TMP/port")
address=http://127.0.0.1:$port

sweep() { # PROJECT NOTIFY PARAMS GATE
    printf '%s\n' "project: $1" 'source: job.sh' "command: sh job.sh {x} ${4-}" "params: {x: $3}" "notify: $2" >"$1.yaml"
}
# How often what was noted matches, once it does and nothing is on its way any more.
noted() { # FILE PATTERN
    grep -cE -e "$2" "$TEST_TMP/$1" || true
}
quiet() { # SWEEP
    [ "$(ludwig status "$1" --json | json - "str(d['notice'])")" = None ] && [ -z "$(pids_of sleep)" ]
}
note_it="echo \"\$LUDWIG_EVENT \$LUDWIG_SWEEP \$LUDWIG_PROJECT \$LUDWIG_STATE \$LUDWIG_N_JOBS \$LUDWIG_N_DONE \$LUDWIG_N_FAILED \$(cat)\" >>$TEST_TMP/ran"

by_command() {
    sweep command "{when: [ended, failed], run: '$note_it'}" '[good, bad, fine]'
    not ludwig_wait submit command.yaml --wait >id
    id=$(cat id)
    wait_until 60 '[ "$(noted ran .)" = 2 ]'
    grep -E "^ended $id command failed 3 2 1 sweep $id of project command has ended and is failed: of 3 jobs, 2 done, 1 failed$" "$TEST_TMP/ran"
    grep -E "^failed $id command (running|failed) 3 [012] 1 sweep $id of project command has a job that failed: " "$TEST_TMP/ran"
    # It is none of the sweep's jobs, and leaves its log alone.
    [ "$(jobs_in done "$id")" = 2 ] && [ "$(jobs_in failed "$id")" = 1 ]
    [ ! -e "$SHARE/command/runs/notify" ] && [ ! -e "$SHARE/command/failed/notify" ]
    wait_until 30 '[ "$(ls "$SHARE/command/logs/$id" | grep -c "^notify_")" = 2 ]'
    nothing_left
    # A sweep that goes on and ends again has ended again.
    ludwig retry "$id"
    wait_until 60 '[ "$(noted ran "^ended")" = 2 ] && [ "$(noted ran "^failed")" = 2 ]'
}
it 'a command is told that a job failed and that all is over, and again after a retry' by_command

by_url() {
    sweep url "{url: \$HOOK}" '[1, 2]'
    HOOK=$address/hook/s3cret ludwig_wait submit url.yaml --wait >id
    id=$(cat id)
    wait_until 60 '[ "$(noted posted .)" = 1 ]'
    grep -q "^/hook/s3cret application/json " "$TEST_TMP/posted"
    cut -d' ' -f3- "$TEST_TMP/posted" | json - "d == {'text': 'sweep $id of project url has ended and is done: of 2 jobs, 2 done'}"
    # Nothing that others may read has it.
    not grep -rqs s3cret "$SHARE"
    { ludwig status "$id" --json && ludwig why "$id" --json && ludwig submit --dry-run url.yaml; } >shown 2>&1 || true
    not grep -q s3cret shown
    HOOK=$address/hook/s3cret ludwig submit --dry-run url.yaml >shown
    grep -q "^notify  *ended: a message to 127.0.0.1:$port$" shown && not grep -q s3cret shown
}
it 'a URL gets a line of text, and is shown to nobody' by_url

again() {
    : >"$TEST_TMP/posted"
    touch "$TEST_TMP/posted.fails"
    sweep again "{url: '$address/again'}" '[1]'
    ludwig_wait submit again.yaml --wait >id
    id=$(cat id)
    wait_until 60 'ludwig why "$(cat id)" | grep -q "^ *notify: that the sweep has ended was not told (try [1-9] of 10; the next one after [0-9ms ]*): .*503"'
    ludwig status "$id" | grep -q '^notify .*was not told'
    rm "$TEST_TMP/posted.fails"
    wait_until 60 '[ "$(noted posted "^/again ")" = 1 ]'
    wait_until 30 quiet "$id"
}
it 'what a server refuses is sent again, and `ludwig why` and `ludwig status` say so' again

stalled() {
    : >"$TEST_TMP/ran"
    sweep stalled "{when: stalled, after: 2s, run: '$note_it'}" '[1, 2]'
    echo 'resources: {cpus: 1000}' >>stalled.yaml
    id=$(submit stalled.yaml)
    wait_until 60 '[ "$(noted ran "^stalled $id stalled running 2 0 0 .*has stalled, as none")" = 1 ]'
    sleep 4 # more than once the time after which it is told
    [ "$(noted ran .)" = 1 ]
    ludwig cancel "$id" --yes
    # One that waits behind others is not stalled.
    sweep waits "{when: stalled, after: 1s, run: '$note_it'}" '[1, 2, 3, 4, 5, 6]' go
    id=$(submit waits.yaml)
    wait_until 60 '[ "$(jobs_in running "$id")" = 4 ]'
    sleep 3
    open go
    wait_until 60 ended "$id"
    [ "$(noted ran .)" = 1 ]
}
it 'a sweep that nothing can run is told once, one that waits for others is not' stalled

# Each event exactly once although ludwigd and the agent die while it is told, and while it waits.
killed() {
    : >"$TEST_TMP/ran"
    sweep killed "{run: 'until [ -e $TEST_TMP/gates/tell ]; do sleep 0.3; done; $note_it'}" '[1]'
    ludwig_wait submit killed.yaml --wait >id
    id=$(cat id)
    within 60 '[ -n "$(pids_of "$TEST_TMP/gates/tell")" ]' || true
    for victim in ludwigd agent both; do
        case $victim in
        ludwigd) kill_hard ludwigd ;;
        agent) kill_hard $(agents) ;;
        both) kill_hard ludwigd && kill_hard $(agents) ;;
        esac
        ludwig_wait up
        ludwig status "$id" >/dev/null
    done
    kill_hard ludwigd
    open tell # it ends while nobody listens
    wait_until 30 '[ "$(noted ran .)" = 1 ]'
    ludwig_wait up
    wait_until 60 told "$id"
    [ "$(noted ran "^ended $id ")" = 1 ]
}
# Nothing of it is to be done any more, by ludwigd's own record.
told() { # SWEEP
    grep -q "notified.*sweep=\"*$1\"*" "$XDG_STATE_HOME"/ludwig/*.log
}
it 'SIGKILL of ludwigd and agent while it is told: told once' killed

by_mail() {
    cat >smtp.py <<'END'
"""smtp.py FILE PORTFILE - an SMTP server that keeps what it is given"""
import asyncio, os, sys
from aiosmtpd.controller import Controller

class Keeper:
    async def handle_DATA(self, server, session, envelope):
        with open(sys.argv[1], "ab") as out:
            out.write(b"RCPT " + " ".join(envelope.rcpt_tos).encode() + b"\n" + envelope.content)
        return "250 kept"

import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
port = s.getsockname()[1]
s.close()
Controller(Keeper(), hostname="127.0.0.1", port=port).start()
with open(sys.argv[2] + ".new", "w") as out:
    out.write(str(port))
os.rename(sys.argv[2] + ".new", sys.argv[2])
asyncio.new_event_loop().run_forever()
END
    "$smtp_python" smtp.py "$TEST_TMP/mailed" "$TEST_TMP/smtp" &
    within 30 '[ -e "$TEST_TMP/smtp" ]'
    printf '%s\n' 'account default' 'host 127.0.0.1' "port $(cat "$TEST_TMP/smtp")" 'from ludwig@example.org' >"$HOME/.msmtprc"
    chmod 0600 "$HOME/.msmtprc"
    sweep mail '{mail: "Alice <alice@example.org>"}' '[1]'
    ludwig_wait submit mail.yaml --wait >id
    id=$(cat id)
    wait_until 60 '[ -s "$TEST_TMP/mailed" ]'
    tr -d '\r' <"$TEST_TMP/mailed" >mail
    grep -q '^RCPT alice@example.org$' mail
    grep -q "^Subject: ludwig: sweep $id of mail has ended$" mail
    grep -q "^sweep $id of project mail has ended and is done: of 1 job, 1 done$" mail
    wait_until 30 quiet "$id"
}
sentence='a mail goes out by the sendmail program'
if smtp_python=$(python_with aiosmtpd) && PATH=$PATH:/usr/sbin command -v sendmail >/dev/null; then
    it "$sentence" by_mail
else
    skip "$sentence" 'takes python3-aiosmtpd and msmtp-mta'
fi

no_program() {
    sweep none '{mail: alice@example.org}' '[1]'
    # Nothing of the node's is in the way: the job's PATH is that of the worker, which has no sendmail here.
    [ -z "$(PATH=$PATH:/usr/sbin command -v sendmail)" ] || return 0
    ludwig_wait submit none.yaml --wait >id
    wait_until 60 'ludwig why "$(cat id)" | grep -q "^ *notify: .* has no sendmail program to mail with"'
}
it 'a node without the program is named' no_program

refused() {
    while IFS='|' read -r notify why; do
        sweep refused "$notify" '[1]'
        not ludwig submit --dry-run refused.yaml >said 2>&1
        grep -q "refused.yaml:5:[0-9]*: .*$why" said || { cat said && return 1; }
    done <<'END'
{when: ended}|expected one of run: COMMAND, mail: ADDRESS and url: URL
{run: a, mail: b}|expected one of run
{run: ''}|it is empty
{when: endet, run: a}|unknown event 'endet' (did you mean 'ended'?)
{when: [], run: a}|expected ended, failed or stalled
{mail: "a\nb"}|that is no address
{mail: -t}|that is no address
{url: ftp://x/}|expected a URL as https://HOST/PATH
{url: https://me:pass@host/}|it has a name or password
{url: $NOT_SET}|url: $NOT_SET is not set here
{run: a, after: 10ms}|after
{ran: a}|did you mean 'run'?
END
}
it 'what is wrong with notify: is said with its place' refused

done_testing
