#!/bin/bash
# watch_screen.sh - ludwig watch on the whole screen: what it shows, keys, signals, a server that dies
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/screen.sh"

if ! command -v tmux >/dev/null; then
    skip 'watch on a whole screen' 'takes tmux'
    done_testing
fi

# One after the other, so that the screens are the same each time.
configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
cat >job.sh <<END
echo "training with lr=\$1, depth=\$2"
awk -v lr="\$1" -v depth="\$2" 'BEGIN {
    for (s = 1; s <= 30; s++) {
        q = 1 - exp(-s * sqrt(lr) / 2) - depth / 40
        printf "{\\"step\\": %d, \\"accuracy\\": %.4f, \\"loss\\": %.4f}\\n", s, q, (1 - q) * 3 } }' >>"\$LUDWIG_METRICS"
# Jobs that take no time are handed out by dozens at once, and are no longer queued then.
sleep 1
printf '10%%\r\033[32m100%%\033[0m\n'
case \$LUDWIG_JOB in
*.3 | *.4) echo "RuntimeError: CUDA out of memory"; exit 1 ;;
*.6) until [ -e $TEST_TMP/gates/go ]; do sleep 0.3; done ;;
esac
echo finished
END
cat >sweep.yaml <<'END'
project: digits
name: first try
order: file
command: sh job.sh {lr} {depth}
source: job.sh
guard: off
params: {lr: [0.01, 0.1, 0.2], depth: [1, 2, 4, 8, 16]}
reps: 2
results: {metric: accuracy}
END

# A shell of a known size, in which watch is begun.
begin() { # COLUMNSxROWS COMMAND
    # What failed has left its own.
    [ ! -S "$TEST_TMP/tmux" ] || end || true
    rm -f before after
    tm new-session -d -x "${1%x*}" -y "${1#*x}" 'exec env PS1="$ " bash --norc --noprofile'
    shows '^[$]'
    keys 'stty -a >before; clear' Enter
    wait_until 20 '[ -s before ]'
    keys -l "$2; echo \"ended with \$?\"; stty -a >after"
    keys Enter
}
gone() { not shown "$1"; }
end() { tm kill-server; }
watcher() { pgrep -f '^ludwig watch' | while read -r pid; do test_pids | grep -x "$pid"; done; }

# What differs from run to run, in its own width: names of nodes, times, loads.
cat >"$TEST_TMP/mask.py" <<'END'
import re, socket, sys

width, user, host = int(sys.argv[1]), sys.argv[2], re.escape(socket.gethostname())
time = r"[0-9]+ (?:ms|s|min|h)(?: [0-9]+ (?:s|min))?"


def masked(line, pattern, text, last=None):
    """What the pattern matches up to that column, by text that is made as wide."""
    head, tail = (line, "") if last is None else (line[:last], line[last:])
    return re.sub(pattern, lambda m: m.expand(text).ljust(len(m.group(0))), head) + tail


for line in sys.stdin:
    line = line.rstrip("\n").ljust(width)
    line = masked(line, r"( on )\S+ (for|after) " + time + r"(, pinned)? *", r"\1NODE \2 TIME\3")
    line = masked(line, r"(?<=[■●✗] 1\.[0-9]) +" + time + r" \S+ +(?=lr|exit)", "  TIME NODE")
    line = masked(line, r"watch  " + re.escape(user) + " ", "watch  USER ")
    # How many jobs were given out ahead depends on how quick the first ones were.
    line = masked(line, r"(?<= of 30) .*", " ...", 80)
    line = masked(line, r"· [0-9]+ queued  (↓ [0-9]+ staging)?.*", "· some queued ...", 80)
    if re.match(r" 1 ■■✗✗", line):
        line = line.replace("↓", "·")
    line = masked(line, r"^" + host[:15] + r" .*", "NODE ...", 80)
    line = masked(line, r"^1\.[0-9]+, the first that waits: *", "1.N, the first that waits:", 80)
    line = masked(line, r"^  (it was given to )?" + host + "[ :].*", "  why", 80)
    print(line.rstrip())
END
# The screen as it was when somebody looked at it and found it good; DRAW_SCREENS=1 keeps a new one.
golden() { # NAME COLUMNS
    tm capture-pane -p | python3 "$TEST_TMP/mask.py" "$2" "$(id -un)" >"now.$1"
    [ -z "${DRAW_SCREENS-}" ] || cp "now.$1" "$TEST_ROOT/tests/fixtures/watch-$1.txt"
    diff "$TEST_ROOT/tests/fixtures/watch-$1.txt" "now.$1"
}

ran() {
    id=$(submit sweep.yaml)
    [ "$id" = 1 ]
    wait_until 120 '[ "$(jobs_in running 1)$(jobs_in failed 1)$(jobs_in done 1)" = 123 ]'
}
it 'a sweep is half done' ran

small() {
    begin 80x24 'ludwig watch'
    shows 'a 1.6 0.*'
    shows 'best so far: accuracy'
    shows 'step 1 +30'
    golden small 80
    keys 4
    shows '^100%'
    golden log 80
    keys 5
    shows 'the first that waits'
    golden nodes 80
    keys '?'
    shows 'end the view; the jobs go on'
    golden help 80
    keys x q
    shows 'ended with 0'
    end
}
it 'at 80x24 all is there: curves, log, nodes, help' small

large() {
    begin 200x60 'ludwig watch 1'
    shows 'a 1.6 0.*'
    shows 'best so far: accuracy'
    shows 'step 1 +30'
    shows 'the first that waits'
    keys g p
    shows 'b 1.1[*] 0.*'
    shows 'a 1.6 0.*'
    shows ' finished'
    golden large 200
    # Another size is another picture, and back.
    tm resize-window -x 80 -y 24
    shows '^. help .* retry$'
    gone 'nodes and pilots'
    tm resize-window -x 200 -y 60
    shows 'nodes and pilots'
    shows 'a 1.6 0.*'
    golden large 200
    tm resize-window -x 30 -y 6
    shows 'too small a terminal'
    keys q
    shows 'ended with 0'
    end
}
it 'at 200x60 all panes are there at once; a new size is another picture' large

finds() {
    begin 80x24 'ludwig watch'
    shows '1.6 running'
    keys f
    shows '1.3 failed'
    shows 'RuntimeError: CUDA out of memory'
    keys F
    shows '1.4 failed'
    keys Enter
    shows 'log of 1.4'
    shows '^RuntimeError: CUDA out of memory'
    keys 2 / 'state = failed' Enter
    shows 'first try: state = failed'
    shows '^✗ 2 failed *$'
    keys / C-u 'lrr > 1' Enter
    shows "lrr"
    keys / C-u 'lr >' Enter
    shows 'column'
    keys Escape
    shows 'queued.*running.*failed'
    # The next measure, and a curve that stays.
    keys 3 g p
    shows '1.1 done .*pinned'
    keys m
    shows 'curves of loss'
    shows '1.1[*] '
    keys C-c
    shows 'ended with 130'
    end
}
it 'keys find what failed, filter, pin, and draw another measure' finds

changes() {
    begin 80x24 'ludwig watch'
    shows '1.6 running'
    # Nothing happens without a yes.
    keys c
    shows 'Cancel job 1.6[?] It has run for .*y/N'
    keys n
    shows 'nothing was changed'
    [ "$(jobs_in running 1)" = 1 ]
    # Two jobs that wait, one beside the other, then the same again.
    # (Some may have been given out ahead.)
    keys / 'lr = 0.2' Enter
    shows 'first try: lr = 0.2 '
    keys g Space Right Space
    shows '2 selected'
    keys s
    shows 'Pause 2 jobs of sweep 1[?]'
    keys y
    shows '2 jobs paused'
    shows '= 2 paused'
    [ "$(ludwig jobs 1 --where 'reason = paused' --quiet | wc -l)" = 2 ]
    keys a u
    shows 'Resume 2 jobs of sweep 1[?]'
    keys y
    shows '2 jobs resumed'
    wait_until 20 gone '= 2 paused'
    keys a c
    shows 'Cancel 10 jobs of sweep 1[?]'
    keys y
    shows '10 jobs cancelled'
    [ "$(jobs_in cancelled 1)" = 10 ]
    keys Escape
    shows '10 cancelled'
    # The whole sweep.
    keys 1 r
    shows 'Retry sweep 1: 12 jobs[?]'
    keys y
    shows '12 jobs queued again'
    keys u
    shows 'nothing to resume'
    keys q
    shows 'the jobs go on'
    shows 'ended with 0'
    end
}
it 'jobs are cancelled, paused, resumed and retried, each after a question' changes

killed() {
    begin 80x24 'ludwig watch'
    shows '1.6 running'
    keys 4
    shows 'log of 1.6' # it is known where that lies
    keys 5
    shows '[[]5[]] nodes'
    kill_hard ludwigd
    shows 'the server is away for'
    keys 4 # the screen goes on
    shows 'log of 1.6'
    ludwig_wait up
    wait_until 30 gone 'the server is away'
    kill_hard ludwigd
    keys q
    shows 'ended with 0'
    wait_until 10 '[ -s after ]'
    cmp before after
    gone 'jobs of sweep'
    ludwig_wait up
    end
}
it 'a ludwigd that is killed is told of, and taken up again; the terminal is left as it was' killed

# What is known already is shown without asking for it.
unanswered() {
    begin 80x24 'ludwig watch'
    shows '1.6 running'
    server=$(pids_of ludwigd)
    kill -STOP "$server"
    keys g
    shows '1.1 done'
    keys Right
    shows '1.2 done'
    keys / 'state = done' Enter
    shows 'first try: state = done'
    keys '?'
    shows 'end the view; the jobs go on'
    keys x
    kill -CONT "$server"
    keys Escape q
    shows 'ended with 0'
    end
}
it 'a server that does not answer holds up neither the cursor nor a filter' unanswered

# Each of these ends it from outside.
signalled() { # SIGNAL STATUS
    begin 80x24 'ludwig watch'
    shows '1.6 running'
    kill -"$1" "$(watcher)"
    shows "ended with $2"
    wait_until 10 '[ -s after ]'
    cmp before after
    gone 'jobs of sweep'
    # Letters are shown again, and so is the cursor.
    keys 'echo ab""cd' Enter
    shows '^abcd'
    [ "$(tm display -p '#{cursor_flag}#{alternate_on}#{mouse_any_flag}#{keypad_flag}')" = 1000 ]
    end
}
for what in 'TERM 130' 'HUP 130' 'SEGV 139' 'ABRT 134'; do
    it "SIG${what% *} leaves the terminal as it was" "signalled $what"
done

stopped() {
    begin 80x24 'ludwig watch'
    shows '1.6 running'
    keys C-z
    shows 'Stopped'
    gone 'jobs of sweep'
    keys fg Enter
    shows 'jobs of sweep 1'
    keys 4
    shows 'log of 1.6'
    keys q
    shows 'the jobs go on'
    end
}
it 'Ctrl-Z stops it, and fg goes on' stopped

# Neither names nor values nor logs reach the terminal as they are; and what is long is cut.
hostile() {
    open go
    ludwig cancel 1 --yes --quiet
    cat >evil.sh <<'END'
printf 'log \033]0;pwned\007 \033[5m\n\2335m and \302\2335m\b\b\016 \342\200\256pwned \347\213\227 dog\n'
printf '{"met\\u001b]0;pwned\\u0007": 1.5, "step": 1, "v": 1e308}\n{"v": -1e308, "step": 2}\n{"v": NaN, "step": 3}\n{"v": 1e999, "step": 4}\n{"v": 3, "step": 5}\n' >>"$LUDWIG_METRICS"
head -c 10000000 /dev/zero | tr '\0' x
printf '\nlast line \033]0;pwned\007\n'
until [ -e "$1" ]; do sleep 0.3; done
END
    printf '%s\n' 'project: evil' "command: sh evil.sh $TEST_TMP/gates/evil" 'source: evil.sh' 'order: file' \
        'params: {v: ["\e]0;pwned\a", "狗 \u009b5m"]}' >evil.yaml
    id=$(submit evil.yaml)
    wait_until 60 '[ "$(jobs_in running '"$id"')" = 1 ]'
    begin 80x24 "ludwig watch $id"
    tm pipe-pane -o "cat >$PWD/raw"
    shows 'curves of met'
    keys m
    shows ' 1e[+]308'
    keys 4
    shows '^last line \^\[\]0;pwned\^G'
    keys 2 l
    shows 'v=狗 .x'
    keys q
    shows 'ended with 0'
    end
    python3 - <<'END'
import re
raw = open("raw", "rb").read()
bad = re.findall(rb"\x07(?!$)|\x1b\]|\x1b\[5m|\x0e|\xc2\x9b|\xe2\x80\xae", raw)
assert not bad, bad
assert b"pwned" in raw
raw.decode()
END
    open evil
    wait_until 60 ended "$id"
}
it 'hostile names, values and logs stay text' hostile

lines() {
    # Where it is no terminal, and where it is one that cannot.
    ludwig watch 1 </dev/null >out 2>err || true
    grep -q '^sweep 1 .*: ' out
    TERM=dumb python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x80 ludwig watch 1 >out || true
    grep -q '^sweep 1 .*: ' out
    not grep -q $'\033' out
    not env TERM=nonsense-27 python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x80 ludwig watch 1 >out
    grep -q "does not know a terminal 'nonsense-27'" out
}
it 'without a terminal it prints lines' lines

done_testing
