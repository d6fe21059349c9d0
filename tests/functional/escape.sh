#!/bin/bash
# escape.sh - nothing that a job, a sweep or an argument says reaches a terminal as a command
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'

# A terminal in which a command runs; what it got must be text, but for what ludwig itself says:
# colours and "erase the line"; of watch also what ncurses says to draw a whole screen.
cat >"$TEST_TMP/terminal.py" <<'END'
"""usage: terminal.py WORDS COMMAND...: WORDS must be seen; prints what the terminal got, as text"""
import fcntl, os, pty, re, signal, struct, sys, termios

OURS = re.compile(rb"\x1b\[(0|1|2|31|32|36)?m|\x1b\[[0-9]*[KABCDGHJ]|\x1b\[\?(25|7|1049|2004)[hl]")
SCREEN = re.compile(rb"\x1b\[(?!5m)[0-9;]*[mABCDGHJKLMPXZ@bdhlr]|\x1b\[\?[0-9;]*[hl]|\x1b\(B|\x1b[=>]|\x1b\[2[23];0;0t")
is_screen = sys.argv[2:4] == ["ludwig", "watch"]
read_end, write_end = os.pipe()
pid, fd = pty.fork()
if pid == 0:
    os.read(read_end, 1)
    os.environ["TERM"] = "xterm"
    os.environ.pop("NO_COLOR", None)
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 250, 0, 0))
os.write(write_end, b"x")
signal.alarm(50)
got = b""
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    got += piece
    if is_screen and sys.argv[1].encode() in got:
        os.write(fd, b"q")
os.waitpid(pid, 0)
text = (SCREEN if is_screen else OURS).sub(b"", got)
bad = re.findall(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]", text)
if bad:
    sys.exit("%r reached the terminal: %r" % (bad, got))
try:
    shown = text.decode()
except UnicodeDecodeError as why:
    sys.exit("%s: %r" % (why, got))
if sys.argv[1] not in shown:
    sys.exit("%r was not shown: %r" % (sys.argv[1], shown))
print(shown)
END
shows() { # WORDS COMMAND...
    python3 "$TEST_TMP/terminal.py" "$@"
}

# Each of these would do something: a title, a blink, a reset, an answer typed in, one-character
# CSI, backspaces, another alphabet, text from right to left.
cat >sweep.yaml <<'END'
project: hostile
command: sh job.sh
source: job.sh
params:
  key: ["value \e]0;pwned\a", "other \ec\u009b5m"]
  plain: "\e[6n\b\b\x0e pwned"
END
cat >job.sh <<'END'
printf 'log \033]0;pwned\007 \033[5m\n\2335m and \302\2335m\b\b\016 \342\200\256pwned\n'
printf '{"metric \\u001b[5m \\u009b5m": 1.5, "step": 1}\n{"second \\u001b]0;pwned\\u0007": 2}\n' >>"$LUDWIG_METRICS"
case $(cat "$LUDWIG_PARAM2VAL") in *other*) exit 3 ;; esac
END

# ludwig refuses such names; another client of the same server might not have, and a worker may
# call itself and its reasons what it likes.
cat >"$TEST_TMP/taint.py" <<'END'
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1])
evil = "\x1b]0;pwned\a\x1b[5m\x9b5m"
db.execute("UPDATE sweep SET name = ?, metric = ?", ("name " + evil, "metric \x1b[5m \x9b5m"))
assert db.execute("UPDATE attempt SET reason = ? WHERE exit_code = 3", ("reason " + evil,)).rowcount == 1
for row, value in db.execute("SELECT id, value FROM param").fetchall():
    name = ("key " + evil).encode()
    tainted = value.replace(b"\xa3key", b"\xd9" + bytes([len(name)]) + name)
    assert tainted != value
    db.execute("UPDATE param SET value = ? WHERE id = ?", (tainted, row))
columns = [c[1] for c in db.execute("PRAGMA table_info(worker)")]
row = dict(zip(columns, db.execute("SELECT * FROM worker").fetchone()))
row.update(id=None, token=b"0123456789abcdef", node="node " + evil, user="user " + evil, seen_at=int(time.time() * 1000))
db.execute("INSERT INTO worker(%s) VALUES(%s)" % (", ".join(row), ", ".join("?" * len(row))), list(row.values()))
db.commit()
END

ran() {
    not ludwig_wait submit sweep.yaml --wait
    [ "$(sweep_state 1)" = failed ]
    ludwig down
    python3 "$TEST_TMP/taint.py" "$XDG_STATE_HOME/ludwig/server/ludwig.db"
    ludwig up
    ludwig status 1 --json | json - '"pwned" in d["name"] and "\x1b" in d["name"]'
    ludwig nodes --json | json - 'any("pwned" in n["node"] for n in d["nodes"])'
}
it 'a hostile sweep runs' ran

listings() {
    shows pwned ludwig status
    shows pwned ludwig status 1
    shows pwned ludwig jobs 1
    shows 'reason ^[]0;pwned^G' ludwig jobs 1 --state failed
    shows failed ludwig watch 1
    shows 'reason ^[]0;pwned^G' ludwig watch 1
    shows hostile ludwig usage --by sweep
    shows pwned ludwig usage --by sweep
    shows 'node ^[]0;pwned^G' ludwig nodes
    shows 'node ^[]0;pwned^G' ludwig nodes --quiet
    shows 'node ^[]0;pwned^G' ludwig doctor
}
it 'listings of sweeps and jobs' listings

one_job() {
    failed=$(ludwig jobs 1 --state failed --quiet)
    shows pwned ludwig why "$failed"
    shows pwned ludwig logs "$failed"
    shows 'and ' ludwig logs "$failed" -n 1
    shows 'and ' ludwig logs "$failed" -f
    # As it is, when that is asked for, and when nobody looks.
    not shows pwned ludwig logs "$failed" --raw
    ludwig logs "$failed" | cmp - "$SHARE/$(job "$failed" 'j["log_path"]')"
}
it 'why and logs of a job' one_job

results() {
    shows 'metric ^[[5m' ludwig results 1
    shows 'second ^[]0;pwned' ludwig results 1
    shows 'reason ^[]0;pwned' ludwig results 1
    shows quartiles ludwig results 1 --metric $'metric \e[5m \xc2\x9b5m'
    shows pwned ludwig results 1 --csv
    shows pwned ludwig results 1 --json
    shows pwned ludwig results 1 --series $'second \e]0;pwned\a'
    shows pwned ludwig results 1 --series $'second \e]0;pwned\a' --json
    shows pwned ludwig results 1 --series $'third \e]0;pwned\a'
    # Programs get every byte.
    ludwig results 1 --csv | grep -q "$(printf 'value \033')"
}
it 'results in all their forms' results

json_forms() {
    for words in status 'status 1' 'jobs 1' 'results 1' 'usage --by sweep' 'why 1.1'; do
        # shellcheck disable=SC2086 # one word each
        shows pwned ludwig $words --json
        # shellcheck disable=SC2086 # one word each
        ludwig $words --json | json - 'd["v"] == 1'
    done
    shows '"checks"' ludwig doctor --json
    shows pwned ludwig submit sweep.yaml --dry-run --json
}
it 'JSON on a terminal' json_forms

changes() {
    shows 'job' ludwig retry 1 --yes
    wait_until 30 ended 1
    for command in cancel pause resume; do
        shows 'sweep 1' ludwig $command 1 --yes
    done
    shows 'pwned' ludwig cancel 1 --where $'"\e]0;pwned\a" = 1' --yes
    shows 'pwned' ludwig drain $'\e]0;pwned\a'
}
it 'commands that change something' changes

arguments() {
    evil=$'\e]0;pwned\a\x9b5m\xc2\x9b5m'
    shows pwned ludwig "$evil"
    shows pwned ludwig help "$evil"
    shows pwned ludwig "--$evil"
    shows pwned ludwig results "$evil"
    shows pwned ludwig results 1 --sort "$evil"
    shows pwned ludwig results 1 --where "$evil = 1"
    shows pwned ludwig results 1 --goal "$evil"
    shows pwned ludwig usage --since "$evil"
    shows pwned ludwig usage --by "$evil"
    shows pwned ludwig jobs 1 --state "$evil"
    shows pwned ludwig completion "$evil"
    shows pwned ludwig submit "$evil"
    shows pwned ludwig submit sweep.yaml --set "$evil"
    shows pwned ludwig --server "$evil" status
    shows pwned ludwig --server "unix:/$evil" doctor
    shows pwned ludwig fetch 1 "$evil"
    LUDWIG_METRICS=$TEST_TMP/metrics shows pwned ludwig report "$evil"
    LUDWIG_METRICS=$TEST_TMP/metrics shows pwned ludwig report --job "$evil" --done
}
it 'what is said about hostile arguments' arguments

files() {
    shows pwned ludwig submit sweep.yaml --dry-run
    printf 'project: x\ncommand: "true"\n"key \\e]0;pwned\\a": 1\nparams: {a: [}\n' >broken.yaml
    shows broken.yaml ludwig submit broken.yaml
    printf 'project: x\ncommand: "true"\n"key \\e]0;pwned\\a": 1\n' >unknown.yaml
    shows pwned ludwig submit unknown.yaml
    printf 'project: x\ncommand: "true" \033]0;pwned\007\n' >raw.yaml
    shows raw.yaml ludwig submit raw.yaml
    printf 'project: "x\\e]0;pwned\\a"\ncommand: "true"\n' >project.yaml
    shows pwned ludwig submit project.yaml
    printf 'project: x\nname: "name \\e]0;pwned\\a"\ncommand: "true"\n' >name.yaml
    shows pwned ludwig submit name.yaml
    printf 'project: "x\\u009b5m"\ncommand: "true"\n' >c1.yaml
    shows 'project' ludwig submit c1.yaml --dry-run
    printf 'project: x\ncommand: "echo \\e]0;pwned\\a {nothing}"\n' >placeholder.yaml
    shows nothing ludwig submit placeholder.yaml
    printf '"\\e]0;pwned\\a": 1\n' >"$XDG_CONFIG_HOME/ludwig/config.yaml"
    shows pwned ludwig status
    shows pwned ludwig doctor
}
it 'what is said about hostile files' files

done_testing
