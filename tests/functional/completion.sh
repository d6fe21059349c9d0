#!/bin/bash
# completion.sh - the scripts for bash, zsh and fish, run by those shells
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
printf 'project: mine\ncommand: "true"\nsource: []\nparams: {x: [1, 2]}\n' >sweep.yaml
mkdir folder
touch other.yml 'with blank.yaml' text.txt

# What a shell offers for the last of the words, one a line, sorted.
offer_bash() { # WORD...
    # shellcheck disable=SC2016 # the inner shell expands
    bash --norc -c '
        source <(ludwig completion bash)
        COMP_WORDS=(ludwig "$@") COMP_CWORD=$#
        _ludwig 2>/dev/null
        printf "%s\n" "${COMPREPLY[@]}"
    ' bash "$@" | grep . | sort
}
offer_fish() {
    # shellcheck disable=SC2016 # the inner shell expands
    fish --no-config -c '
        ludwig completion fish | source
        complete -C"ludwig $argv"
    ' -- "$@" | cut -f1 | sort
}

# offers SHELL "WORD WORD" WANTED...: exactly these
offers() {
    local shell=$1 words=$2
    shift 2
    # shellcheck disable=SC2086 # one word each
    case $shell:$words in
    fish:*) offer_fish "$words" ;;
    *' ') offer_bash $words '' ;;
    *) offer_bash $words ;;
    esac >"$TMPDIR/offered"
    printf '%s\n' "$@" | grep . | sort | diff - "$TMPDIR/offered"
}

scripts() {
    for shell in bash zsh fish; do
        ludwig completion $shell >"$TEST_TMP/$shell"
    done
    bash -n "$TEST_TMP/bash"
    ! command -v shellcheck || shellcheck -s bash "$TEST_TMP/bash"
    not ludwig completion tcsh 2>err
    grep -q "no script for 'tcsh': bash, zsh or fish$" err
    [ -z "$(pids_of ludwigd)" ]
}
it 'completion prints a script for each shell, without a server' scripts

for shell in bash fish; do
    if ! command -v $shell >/dev/null; then
        skip "$shell completes commands and options" "there is no $shell"
        continue
    fi
    static() {
        offers $shell 'resu' results resume
        offers $shell 'help und' undrain
        offers $shell 'compl' completion
        offers $shell 'completion ' bash fish zsh
        offers $shell 'results --s' --series --server --sort
        offers $shell 'submit --reuse ' all params none
        offers $shell 'submit --reuse=p' --reuse=params
        [ $shell = fish ] || offers $shell 'submit --reuse = p' params
        offers $shell 'usage --by ' user sweep
        offers $shell 'results 7 --goal m' max min
        offers $shell 'jobs 7 --state ca' cancelled
        offers $shell 'jobs 7 --state done,ca' done,cancelled
        offers $shell 'nodes --state d' drained
        offers $shell '--server unix:/x resu' results resume
        offers $shell 'submit o' other.yml
        offers $shell 'submit --param2vals t' text.txt
        offers $shell 'fetch 7 f' "$([ $shell = fish ] && echo folder/ || echo folder)"
        offers $shell 'version x'
        offers $shell 'no-such-command '
    }
    it "$shell completes commands, options, their values and files" static

    silent() {
        offers $shell 'results ' last
        offers $shell 'results 7'
        offers $shell 'drain '
        [ -z "$(pids_of ludwigd)" ]
    }
    it "$shell offers nothing live without a server, and starts none" silent
done

it 'a sweep to be completed runs' '
    ludwig_wait submit sweep.yaml --wait
    ludwig_wait submit sweep.yaml --wait --reuse none
'

for shell in bash fish; do
    command -v $shell >/dev/null || continue
    live() {
        node=$(ludwig nodes --quiet)
        offers $shell 'status ' last 1 2
        offers $shell 'status 2' 2
        offers $shell 'cancel ' all last 1 2
        offers $shell 'cancel 1.' 1.1 1.2
        offers $shell 'cancel last.' last.1 last.2
        if [ $shell = bash ]; then
            offers bash 'cancel 1.2,' 1.2,1 1.2,2
            offers bash 'cancel last.1,1-2' last.1,1-2
        fi
        offers $shell 'logs ' last. 1. 2.
        offers $shell 'logs 2.' 2.1 2.2
        offers $shell 'why last.2' last.2
        offers $shell 'fetch ' last 1 2
        offers $shell 'drain ' "$node"
        offers $shell 'submit sweep.yaml --nodes ' "$node"
        offers $shell 'logs 9.'
    }
    it "$shell completes sweeps, jobs and nodes there are" live
done

# A server may be somebody else's, and what it calls its nodes too.
hostile_names() {
    mkdir "$TEST_TMP/stub"
    cat >"$TEST_TMP/stub/ludwig" <<END
#!/bin/sh
case \$1 in
complete | completion) exec $LUDWIG_BIN/ludwig "\$@" ;;
nodes) printf '%s\n' 'good-1' '\$(touch $TEST_TMP/ran)' '\`touch $TEST_TMP/ran\`' ';touch $TEST_TMP/ran' 'a b' '*' \\
    "\$(printf '\033]0;x\007')" ;;
esac
END
    chmod +x "$TEST_TMP/stub/ludwig"
    export PATH=$TEST_TMP/stub:$PATH
    for shell in bash fish; do
        ! command -v $shell || offers $shell 'drain ' good-1
    done
    [ ! -e "$TEST_TMP/ran" ]
}
it 'names that a shell or a terminal would obey are not offered' hostile_names

# Types words and a tab into a zsh, and waits for what it shows.
cat >"$TEST_TMP/type.py" <<'END'
import os, pty, re, select, sys, time

seen = b""

def wait_for(pattern):
    global seen
    deadline = time.monotonic() + 60
    while not (found := re.search(pattern, seen)):
        if time.monotonic() > deadline:
            sys.exit("waited in vain for %r in %r" % (pattern, seen))
        if select.select([fd], [], [], 0.5)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                sys.exit("zsh ended: %r" % seen)
    seen = seen[found.end():]

pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", PS1="ready> ")
    os.execvp("zsh", ["zsh", "-f", "-i"])
wait_for(b"ready> ")
os.write(fd, b"autoload -U compinit; compinit -u -D; source <(ludwig completion zsh); setopt no_beep; echo lo''aded\n")
wait_for(b"loaded")
wait_for(b"ready> ")
for words, wanted in zip(sys.argv[1::2], sys.argv[2::2]):
    os.write(fd, words.encode() + b"\t")
    wait_for(wanted.encode())
    os.write(fd, b"\x15echo ne''xt\n")
    wait_for(b"next")
    wait_for(b"ready> ")
os.write(fd, b"exit\n")
END

zsh_completes() {
    zsh -n "$TEST_TMP/zsh"
    node=$(ludwig nodes --quiet)
    python3 "$TEST_TMP/type.py" \
        'ludwig resul' 'results ' \
        'ludwig usage --by ' 'sweep +user|user +sweep' \
        'ludwig submit --reuse=pa' '=params' \
        'ludwig submit --reuse pa' 'params' \
        'ludwig jobs 1 --state done,can' 'done,cancelled' \
        'ludwig completion fi' 'fish' \
        'ludwig --server unix:/x resul' 'results ' \
        'ludwig submit oth' 'other.yml' \
        'ludwig fetch 1 fol' 'folder/' \
        'ludwig results la' 'last' \
        'ludwig cancel 1.' '1\.1 +1\.2' \
        'ludwig logs last.' 'last\.1 +last\.2' \
        "ludwig drain ${node%?}" "$node"
}
if command -v zsh >/dev/null; then
    it 'zsh completes commands, values, files, and what there is' zsh_completes
else
    skip 'zsh completes commands, values, files, and what there is' 'there is no zsh'
fi

done_testing
