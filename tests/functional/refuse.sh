#!/bin/bash
# refuse.sh - a mistake in a sweep or on the command line is explained, and changes nothing
. "$(dirname "$0")/lib.sh"

configure

refused() { # WANTED_STATUS COMMAND...: stderr goes to "err"
    local wanted=$1 status=0
    shift
    "$@" >out 2>err </dev/null || status=$?
    [ $status = "$wanted" ] || { echo "exit status $status, not $wanted: $*" && cat err && return 1; }
    [ ! -s out ] || { echo "stdout of $*:" && cat out && return 1; }
}

# Each case: a sweep file and an extended regular expression that a line of stderr must match.
bad_sweep() { # PATTERN, the file on stdin
    cat >bad.yaml
    refused 2 ludwig submit bad.yaml
    grep -qE -e "$1" err || { echo "no '$1' in:" && cat err && return 1; }
    not grep -q "$(printf '\033')" err
    untouched
}

unknown_key() {
    printf 'project: p\ncomand: true\nparams: {a: 1}\n' | bad_sweep 'bad\.yaml:2:1: .*comand.*command'
    # The line itself, and a mark below the place.
    grep -q 'comand: true' err
    grep -qE '^ +\| +\^|^ *\^| \^$' err
}
it 'an unknown key names file, line and column, shows the line and suggests the nearest' unknown_key

it 'a file that is no YAML is refused with the place' '
    printf "project: p\ncommand: [true\n" | bad_sweep "bad\.yaml:[0-9]+:[0-9]+: "
'
it 'a line that is indented too much is told so, and a key that is cut short' '
    printf "command: true\n params: {lr: [1, 2]}\n" |
        bad_sweep "bad\.yaml:2:2: this line is indented more than the one above it, .*.command:."
    printf "command: true\nresources: {mem: 1GB}\n" | bad_sweep "bad\.yaml:2:13: .*did you mean .memory.\?"
'
it 'a key given twice is refused' '
    printf "command: true\ncommand: false\n" | bad_sweep "bad\.yaml:2:1: .*command"
'
it 'a sweep without a command is refused' '
    printf "project: p\nparams: {a: [1]}\n" | bad_sweep "command"
'
it 'an unknown placeholder is refused, with the nearest parameter' '
    printf "command: run --lr {lrr}\nparams: {lr: [1, 2]}\n" | bad_sweep "bad\.yaml:1:[0-9]+: .*lrr.*lr"
'
it 'a placeholder where its value cannot be quoted is refused' '
    printf "command: echo \$(( {n} ))\nparams: {n: [1, \"a b\"]}\n" |
        bad_sweep "bad\.yaml:1:19: command: .n. stands .*a b.* cannot be quoted; write VAR=.n."
'
too_long() {
    (printf 'command: echo {prompt}\nparams: {prompt: [a, '; head -c 140000 /dev/zero | tr '\0' x; printf ']}\n') |
        bad_sweep 'bad\.yaml:1:15: command: the value of .prompt. has 140000 bytes, .*LUDWIG_PARAM2VAL names'
    [ "$(wc -c <err)" -le 1000 ]
}
it 'a value that is too long for a command is refused, with its name and the way out' too_long
it 'an empty list is refused' '
    printf "command: echo {lr}\nparams:\n  lr: []\n" | bad_sweep "bad\.yaml:3:[0-9]+: .*lr"
'
it 'a wrong type is refused where it stands' '
    printf "command: echo\nreps: many\n" | bad_sweep "bad\.yaml:2:7: .*reps"
    printf "command: echo\nresources: {memory: lots}\n" | bad_sweep "bad\.yaml:2:[0-9]+: .*memory"
    printf "command: echo\nresources: {cpus: -1}\n" | bad_sweep "bad\.yaml:2:[0-9]+: .*cpus"
    printf "command: echo\nresources: {time: soon}\n" | bad_sweep "bad\.yaml:2:[0-9]+: .*time"
    printf "command: echo\nenv: [[a], b]\n" | bad_sweep "bad\.yaml:2:[0-9]+: .*env"
    printf "command: echo\nparams: 7\n" | bad_sweep "bad\.yaml:2:[0-9]+: .*params"
'
it 'no replication at all is refused' '
    printf "command: echo\nreps: 0\n" | bad_sweep "reps"
'
it 'missing source and data are refused' '
    printf "command: echo\nsource: [nothere.py]\n" | bad_sweep "bad\.yaml:2:[0-9]+: .*nothere\.py"
    printf "command: echo\nsource: []\ndata: [gone]\n" | bad_sweep "bad\.yaml:3:[0-9]+: .*gone"
'
it 'source outside the folder of the sweep is refused' '
    printf "command: echo\nsource: [../elsewhere]\n" | bad_sweep "bad\.yaml:2:[0-9]+: "
    printf "command: echo\nsource: [/etc/passwd]\n" | bad_sweep "bad\.yaml:2:[0-9]+: "
'
it 'project names that are no plain folder names are refused' '
    for name in "../up" "a/b" ".ludwig" "con" "a:b"; do
        printf "project: \"%s\"\ncommand: echo\nsource: []\n" "$name" | bad_sweep "bad\.yaml:1:[0-9]+: .*project"
    done
'
it 'variables of our own cannot be set in env' '
    printf "command: echo\nenv: {LUDWIG_JOB: 1}\n" | bad_sweep "bad\.yaml:2:[0-9]+: .*LUDWIG_JOB"
'
it 'whole files that are no sweep are refused' '
    printf "" | bad_sweep "bad\.yaml:1:1: the file is empty"
    printf "# a comment\n" | bad_sweep "bad\.yaml:1:1: the file is empty"
    printf "command: a\nname: b\000c\n" | bad_sweep "bad\.yaml:2:8: .*NUL"
    printf "command: a\nname: \"b\\\\0c\"\n" | bad_sweep "bad\.yaml:2:7: .*NUL"
    printf "command: a\nname: b\377c\n" | bad_sweep "bad\.yaml:2:8: .*UTF-8"
    printf "command: a\nparams:\n\tlr: 1\n" | bad_sweep "bad\.yaml:3:1: .*tab"
    printf "command: a\n---\ncommand: b\n" | bad_sweep "bad\.yaml:2:1: "
    head -c 100000 /dev/urandom | bad_sweep "bad\.yaml:[0-9]+:[0-9]+: "
'

not_files() {
    mkdir -p folder
    refused 2 ludwig submit folder
    grep -q 'folder is a folder' err
    refused 2 ludwig submit nowhere/sweep.yaml
    grep -q 'nowhere/sweep.yaml' err
    printf 'command: true\n' >secret.yaml
    chmod 0 secret.yaml
    if [ "$(id -u)" = 0 ]; then
        refused 2 setpriv --bounding-set -dac_override,-dac_read_search ludwig submit secret.yaml
    else
        refused 2 ludwig submit secret.yaml
    fi
    grep -q 'secret.yaml: Permission denied' err
    rm -f secret.yaml
    untouched
}
it 'a folder, a missing and an unreadable file are refused' not_files

it 'deep nesting and a billion laughs are refused' '
    python3 -c "print(\"command: a\nparams: {a: \" + \"[\" * 100000 + \"]\" * 100000 + \"}\")" |
        bad_sweep "bad\.yaml:2:[0-9]+: nested more than"
    python3 -c "
print(\"command: a\nparams:\n  a: &a [x, x, x, x, x, x, x, x, x]\")
for x, y in zip(\"abcdefghij\", \"bcdefghijk\"):
    print(\"  %s: &%s [%s]\" % (y, y, \", \".join([\"*\" + x] * 9)))" |
        bad_sweep "bad\.yaml:[0-9]+:[0-9]+: more than [0-9]+ values"
'

params() { # LINE...: with a command and two parameters before
    printf 'command: echo\nsource: []\nparams: {lr: [0.1, 0.2], opt: [adam, sgd, x], mom: [0.5, 0.9]}\n'
    printf '%s\n' "$@"
}

it 'names of parameters are checked wherever they stand' '
    params "when: {momentum: {opt: sgd}}" | bad_sweep "bad\.yaml:4:8: when: unknown parameter .momentum."
    params "when: {mom: {opts: sgd}}" | bad_sweep "bad\.yaml:4:14: when: .*opts.*did you mean .opt."
    params "when: {mom: {mom: 0.5}}" | bad_sweep "bad\.yaml:4:8: when: .*itself"
    params "exclude: [{lr: 0.1, op: sgd}]" | bad_sweep "bad\.yaml:4:21: exclude: .*op"
    params "include: [{l: 5}]" | bad_sweep "bad\.yaml:4:12: include: .*lr"
    params "zip: [[lr, moment]]" | bad_sweep "bad\.yaml:4:7: zip: .*moment"
    params "debug: {op: x}" | bad_sweep "bad\.yaml:4:9: debug: .*opt"
    printf "command: a\nparams: {LUDWIG_JOB: 1}\n" | bad_sweep "bad\.yaml:2:10: .*reserved"
'
it 'a zip of unequal lengths, and an exclude that leaves nothing, are refused' '
    params "zip: [[lr, opt]]" | bad_sweep "bad\.yaml:4:7: zip: lr has 2 values, but opt has 3"
    params "exclude: [{lr: [0.1, 0.2]}]" | bad_sweep "bad\.yaml:4:11: exclude: nothing is left"
    grep -q "    4 | exclude: \[{lr" err
'
it 'a mistake in one key hides none in the others' '
    params "zip: [[lr]]" "exclude: 5" "when: {mom: {opts: x}}" "include: [{l: 5}]" | bad_sweep "bad\.yaml:6:14: when: .*opts"
    [ "$(grep -o "bad\.yaml:[0-9]*" err | tr "\n" " ")" = "bad.yaml:4 bad.yaml:5 bad.yaml:6 bad.yaml:7 " ]
    printf "command: a {x} {y} {x}\n" | bad_sweep "bad\.yaml:1:16: .*y"
    [ "$(grep -c "unknown parameter" err)" = 2 ]
    printf "comand: a\nyaml: 1\n" | bad_sweep "bad\.yaml:1:1: .*command"
    not grep -qE "no .command:|name" err
'
it 'quotes, units and words that are nearly right are told' '
    printf "command: a\nreps: \"2\"\n" | bad_sweep "bad\.yaml:2:7: reps: .*the text .2. .take the quotes away."
    printf "command: a\nresources: {memory: 4}\n" | bad_sweep "bad\.yaml:2:21: memory: 4 lacks a unit: write 4GiB"
    printf "command: a\nretry: {on: [fail]}\n" | bad_sweep "bad\.yaml:2:14: on: unknown cause .fail. .did you mean .failed."
'
it 'what belongs to samples needs a method, and the other way round' '
    params "samples: 3" | bad_sweep "bad\.yaml:4:10: samples: needs method"
    params "method: random" | bad_sweep "bad\.yaml:4:9: method: random needs samples"
    params "method: randm" | bad_sweep "bad\.yaml:4:9: method: .*random"
    printf "command: a\nparams: {lr: {uniform: [0, 1]}}\n" | bad_sweep "bad\.yaml:2:10: lr: uniform needs method"
    printf "command: a\nmethod: random\nsamples: 2\nparams: {lr: {unifrm: [0, 1]}}\n" |
        bad_sweep "bad\.yaml:4:15: .*did you mean .uniform."
'
it 'a placeholder must have a value in every configuration' '
    printf "command: run {mom}\nparams: {opt: [adam, sgd], mom: [0.5]}\nwhen: {mom: {opt: sgd}}\n" |
        bad_sweep "bad\.yaml:1:14: command: mom exists only where opt is sgd; .*LUDWIG_PARAM2VAL"
    printf "command: run {lr}\nparams: {lr: [1, 2]}\nbatch: 2\n" |
        bad_sweep "bad\.yaml:1:14: command: .*batch.*LUDWIG_CHUNK"
'
it 'keys that say how jobs run are checked' '
    printf "command: a\nslurm: {account: x}\n" | bad_sweep "bad\.yaml:2:8: slurm: there is no .partition:"
    printf "command: a\nslurm: {partition: x, extra: --wrap=y}\n" | bad_sweep "bad\.yaml:2:30: .*--wrap"
    printf "command: a\nretry: {on: [preemted]}\n" | bad_sweep "bad\.yaml:2:14: .*preempted"
    printf "command: a\nretry: {on: [256]}\n" | bad_sweep "bad\.yaml:2:14: .*255"
    printf "command: a\ncheckpoint: {signal: SIGKILL}\n" | bad_sweep "bad\.yaml:2:22: .*catch"
    printf "command: a\ncontainer: nothere.sif\n" | bad_sweep "bad\.yaml:2:12: container: .*nothere\.sif"
    printf "command: a\nresults: {metric: m, goal: most}\n" | bad_sweep "bad\.yaml:2:28: .*max or min"
    printf "command: a\nbatch: 0\n" | bad_sweep "bad\.yaml:2:8: batch"
'
it 'more than 10 million points are refused without --yes' '
    printf "command: a\nsource: []\nparams: {a: {range: [1, 4000]}, b: {range: [1, 4000]}}\n" |
        bad_sweep "16000000 configurations.*--yes"
    ludwig submit bad.yaml --yes --dry-run >out
    grep -q " 16000000$" out
    untouched
'
it 'all mistakes of a file are told in one run' '
    printf "comand: a\nreps: x\nparam: {a: 1}\n" | bad_sweep "bad\.yaml:1:1: "
    grep -q "bad\.yaml:2:[0-9]*: " err
    grep -q "bad\.yaml:3:1: .*params" err
    printf "command: a {z}\nparams: {a: [1, 2], b: [1]}\nzip: [[a, b]]\nrep: 1\nwhen: {q: {a: 1}}\n" |
        bad_sweep "bad\.yaml:4:1: .*reps"
    [ "$(grep -o "bad\.yaml:[0-9]*" err | tr "\n" " ")" = "bad.yaml:1 bad.yaml:3 bad.yaml:4 bad.yaml:5 " ]
'

usage() {
    refused 2 ludwig
    refused 2 ludwig sbmit sweep.yaml
    grep -q submit err
    refused 2 ludwig submit
    refused 2 ludwig submit --rep 2 sweep.yaml
    grep -q -e --reps err
    refused 2 ludwig submit --reps two sweep.yaml
    refused 2 ludwig submit --reps 0 sweep.yaml
    refused 2 ludwig submit a.yaml b.yaml
    refused 2 ludwig submit nowhere.yaml
    grep -q nowhere.yaml err
    refused 2 ludwig submit --reuse some sweep.yaml
    refused 2 ludwig submit --priority 1001 sweep.yaml
    refused 2 ludwig cancel
    refused 2 ludwig cancel x.y
    refused 2 ludwig logs
    refused 2 ludwig logs 1.1 1.2
    refused 2 ludwig jobs 1 --state sleeping
    refused 2 ludwig version now
    untouched
}
it 'wrong usage exits 2 and starts nothing' usage

it '--set of a parameter that is not there is refused with the nearest' '
    printf "command: echo {lr}\nsource: []\nparams: {lr: 1}\n" >sweep.yaml
    refused 2 ludwig submit sweep.yaml --set lrr=2
    grep -q "lr" err
    refused 2 ludwig submit sweep.yaml --set lr
    refused 2 ludwig submit sweep.yaml --set lr=[1
    grep -qF "in '"'[1'"'" err
    refused 2 ludwig submit sweep.yaml --set loss=1
    grep -q "there is only lr" err
    refused 2 ludwig submit sweep.yaml --set samples=1
    grep -qF "changes parameters of the file (lr); samples: is a key" err
    refused 2 ludwig submit sweep.yaml --nodes ""
    refused 2 ludwig submit sweep.yaml --set "lr={uniform: [0, 1]}"
    grep -q -e "--set lr: uniform needs method" err
    refused 2 ludwig submit sweep.yaml --partition a,-b
    refused 2 ludwig submit sweep.yaml --name "$(printf "a\033b")"
    not grep -q "$(printf "\033")" err
    untouched
'

unreachable() {
    refused 3 ludwig --server "unix:$TEST_TMP/no.sock" status
    grep -q no.sock err
    refused 3 ludwig submit sweep.yaml --server "unix:$TEST_TMP/no.sock"
    refused 3 env LUDWIG_SERVER="unix:$TEST_TMP/no.sock" ludwig nodes
    # A socket whose server died.
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$TEST_TMP/dead.sock"
    refused 3 ludwig --server "unix:$TEST_TMP/dead.sock" status
    untouched
}
it 'a server out of reach exits 3' unreachable

none_runs() {
    refused 3 ludwig status
    refused 3 ludwig jobs 1
    refused 3 ludwig cancel 1
    untouched
}
if [ -n "${LUDWIG_TEST_LAB-}" ]; then
    skip 'where none of one'"'"'s own runs, reading commands start none' 'the laboratory has its server'
else
    it 'where none of one'"'"'s own runs, reading commands start none' none_runs
fi

it 'an address that makes no sense is refused' '
    refused 2 ludwig --server "nonsense" status
    refused 2 ludwig --server "unix:relative.sock" status
    untouched
'

bad_config() {
    cp "$XDG_CONFIG_HOME/ludwig/config.yaml" kept
    echo 'sharee: /x' >"$XDG_CONFIG_HOME/ludwig/config.yaml"
    refused 2 ludwig submit sweep.yaml
    grep -q 'config.yaml:1:1: .*sharee.*share' err
    cp kept "$XDG_CONFIG_HOME/ludwig/config.yaml"
    untouched
}
it 'a mistake in config.yaml is told with its place' bad_config

daemons() {
    for daemon in ludwigd ludwig-worker; do
        not timeout 300 $daemon --config nowhere.yaml 2>err
        grep -q nowhere.yaml err
    done
    echo 'shar: /x' >d.yaml
    refused 2 ludwigd --config d.yaml
    grep -q 'd.yaml:1:1: .*shar' err
    refused 2 ludwig-worker --config d.yaml
    grep -q 'd.yaml:1:1: .*shar' err
}
it 'the daemons name the mistake in their configuration' daemons

missing_things() {
    ludwig_wait up
    refused 1 ludwig status 99
    grep -q 99 err
    refused 1 ludwig jobs 99
    refused 1 ludwig logs 99.1
    refused 1 ludwig results 99
    refused 1 ludwig cancel 99
    refused 1 ludwig retry 99.1
    [ -z "$(ls -A "$SHARE" | grep -v '^\.ludwig$')" ]
    ludwig status --json | json - 'd["sweeps"] == []'
}
it 'sweeps and jobs that are not there exit 1' missing_things

done_testing
