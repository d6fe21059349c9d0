# lib.sh - sourced by every functional test
#
#     . "$(dirname "$0")/lib.sh"
#     it 'says its version' '
#         ludwig version >out && grep -q "^ludwig " out
#     '
#     done_testing
#
# A test runs in an empty folder $TEST_TMP with a HOME and XDG folders of its own,
# with $LUDWIG_BIN first in PATH; the repository is $TEST_ROOT.  At its end every
# process it started is killed and the folder is removed, unless LUDWIG_TEST_KEEP
# is set.
#
#     it SENTENCE BODY           BODY, shell text or a function's name, must succeed; what
#                                it prints is shown when it fails.  It runs in a subshell
#                                under set -e: share files, or set variables outside
#     skip SENTENCE WHY
#     done_testing               last of all
#     not COMMAND...             must fail; "!" would not do, as set -e overlooks it
#     within SECONDS CMD...      try every 50 ms, later every 200 and never for more than a quarter
#                                of the time, until it succeeds; one argument is shell text
#     wait_until SECONDS CMD...  the same where the time is not what is tested: a busy machine
#                                gets two minutes in any case
#     memory_folder KB FILES     print an empty folder for so many files: in memory, if there is
#                                room, as a disk takes minutes to remove them; one for each test
#     measured FILE COMMAND...   run it; "SECONDS PEAK_KB CPU_SECONDS" of it go to the file
#     python_with MODULE...      print the first python3 that has these; fails when none has
#     json FILE|- EXPRESSION     print a Python expression on d, the file's JSON value;
#                                fails when that is None or False
#     pids_of NAME               the test's processes of that name, or with those words
#                                in their command line
#
# About ludwig itself, in embedded mode with the share in $SHARE and scratch in $SCRATCH;
# $SHOWN is how people are told where that is, before a path in it:
#
#     configure LINE...          write config.yaml: where scratch is, and these lines
#     write_job LINE...          write job.sh: it appends "start JOB TOKEN RESTART PID" to
#                                $TEST_TMP/records, does these lines, appends "end ..."; in
#                                them, `say WORD` records, `gate NAME` waits for `open NAME`
#     open NAME                  let the jobs pass that gate
#     recorded PATTERN           how many records match an extended regular expression
#     submit ARGUMENT...         submit; prints the sweep's number
#     sweep_state SWEEP          prints its state
#     ended SWEEP                its jobs have all ended
#     jobs_in STATE SWEEP        prints how many of its jobs are in that state
#     job JOB EXPRESSION         prints a Python expression on j, the job as `ludwig jobs` has it
#     agents                     pids of the workers' agents
#     runner_of PID              the nearest runner above that process of a job
#     kill_hard NAME|PID...      kill -9 by name (see pids_of) or pid, and wait until they are gone
#     published PROJECT          check a project on the share; prints "JOB TOKEN ATTEMPT FOLDER"
#                                for each result
#     make_bundle                `make bundle`, whose words are in the file said; the tar is copied here
#     nothing_left               no attempt has left anything on scratch or half-made on the share
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
umask 022

TEST_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LUDWIG_BIN=$(realpath -m "${LUDWIG_BIN:-$TEST_ROOT/build/bin}")
LUDWIG_HOOKS_BIN=$(realpath -m "${LUDWIG_HOOKS_BIN:-$TEST_ROOT/build/hooks/bin}")
test_keep=${LUDWIG_TEST_KEEP-}
# What .ci/deps has unpacked for tests.
test_cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/ludwig-tests

# With the link resolved and the name short: a unix socket's path has 107 bytes at most.
TEST_TMP=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/lw.XXXXXX")") || exit 1
test_memory=/dev/shm/${TEST_TMP##*/}
LUDWIG_TEST_MARK=$TEST_TMP.$$

# Processes carry the mark in the environment they were started with, which this shell
# does not.  The commands that look for it must not either.
# Jobs get an environment made from nothing, but it says where they save and whose project
# it is: one of both lies in the test's folder.  So does what builds an environment.
test_pids() {
    LUDWIG_TEST_MARK='' command grep -lzxE -e "LUDWIG_TEST_MARK=$LUDWIG_TEST_MARK" \
        -e "LUDWIG_(SAVE_PATH|PROJECT_PATH|TO)=$TEST_TMP/.*" /proc/[0-9]*/environ 2>/dev/null |
        LUDWIG_TEST_MARK='' command cut -d/ -f3
}

# Again until nobody is left, as a process may start another while we look.
test_kill_all() {
    local pids tries
    for tries in {1..100}; do
        pids=$(test_pids)
        [ -n "$pids" ] || return 0
        # shellcheck disable=SC2086 # one word each
        kill -KILL $pids 2>/dev/null
        LUDWIG_TEST_MARK='' command sleep 0.02
    done
    echo "# still there after $tries kills: $pids"
}

test_cleanup() {
    trap '' INT TERM
    test_kill_all
    cd /
    if [ -n "$test_keep" ]; then
        echo "# kept $TEST_TMP"
    else
        chmod -R u+rwX "$TEST_TMP" 2>/dev/null
        rm -rf "$TEST_TMP"
        [ ! -O "$test_memory" ] || rm -rf "$test_memory"
    fi
}
trap test_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck disable=SC2086 # one word each
for test_name in ${!LUDWIG_@}; do
    case $test_name in
    LUDWIG_BIN | LUDWIG_HOOKS_BIN | LUDWIG_TEST_MARK | LUDWIG_TEST_LAB | LUDWIG_TEST_SLURM) ;;
    *) unset "$test_name" ;;
    esac
done
unset MAKEFLAGS MFLAGS MAKELEVEL T
export LUDWIG_BIN LUDWIG_HOOKS_BIN LUDWIG_TEST_MARK
export PATH=$LUDWIG_BIN:$PATH
export HOME=$TEST_TMP/home TMPDIR=$TEST_TMP/tmp
export XDG_CONFIG_HOME=$HOME/.config XDG_STATE_HOME=$HOME/.local/state
export XDG_CACHE_HOME=$HOME/.cache XDG_RUNTIME_DIR=$TEST_TMP/run
SHARE=$HOME/ludwig_data SCRATCH=$TEST_TMP/scratch SHOWN=$SHARE/
mkdir -p "$HOME/.local" "$TEST_TMP/work" "$TEST_TMP/gates"
mkdir -m 0700 "$TMPDIR" "$XDG_CONFIG_HOME" "$XDG_STATE_HOME" "$XDG_CACHE_HOME" "$XDG_RUNTIME_DIR"
chmod 0700 "$HOME" "$HOME/.local"
cd "$TEST_TMP/work" || exit 1

test_n=0
test_failed=0

it() {
    local output=$TEST_TMP/output step=$TEST_TMP/step status
    test_n=$((test_n + 1))
    # The step that failed is the last one that was begun, in a function too.
    [ "$(type -t "${2%% *}")" != function ] || declare -ft "${2%% *}"
    (
        set -e
        trap 'printf "%s\n" "$BASH_COMMAND" >"$step"' DEBUG
        eval "$2"
    ) >"$output" 2>&1 </dev/null
    status=$?
    if [ $status = 0 ]; then
        echo "ok $test_n - $1"
    else
        test_failed=$((test_failed + 1))
        echo "not ok $test_n - $1"
        tail -n 40 "$output" | sed 's/^/#   /'
        sed "1s/^/# status $status at: /; 2,\$s/^/#   /" "$step"
    fi
}

skip() {
    test_n=$((test_n + 1))
    echo "ok $test_n - $1 # SKIP $2"
}

done_testing() {
    echo "1..$test_n"
    [ $test_failed = 0 ]
    exit
}

not() { # COMMAND...
    ! "$@"
}

wait_until() { # SECONDS COMMAND...
    within $(($1 > 120 ? $1 : 120)) "${@:2}"
}

within() { # SECONDS COMMAND...
    local begun=${EPOCHREALTIME/./} waited=$1 pause_ms=50 took_ms pause now
    local deadline=$((begun + $1 * 1000000))
    shift
    [ $# != 1 ] || set -- eval "$1"
    until "$@"; do
        now=${EPOCHREALTIME/./}
        if [ "$now" -ge $deadline ]; then
            echo "waited $waited s in vain for: $*" >&2
            return 1
        fi
        took_ms=$(((now - begun) / 1000))
        pause_ms=$((pause_ms < 200 ? pause_ms + 5 : 200))
        pause_ms=$((pause_ms > 3 * took_ms ? pause_ms : 3 * took_ms))
        printf -v pause '%d.%03d' $((pause_ms / 1000)) $((pause_ms % 1000))
        sleep "$pause"
        begun=${EPOCHREALTIME/./}
    done
}

memory_folder() { # KB FILES
    local kb files
    read -r kb files < <(df --output=avail,iavail /dev/shm 2>/dev/null | tail -n 1)
    if [ -w /dev/shm ] && [ "$kb" -ge "$1" ] && [ "$files" -ge "$2" ] && mkdir -m 0700 "$test_memory"; then
        echo "$test_memory"
    else
        mktemp -d "$TEST_TMP/many.XXXXXX"
    fi
}

measured() { # FILE COMMAND...
    python3 "$TEST_ROOT/tests/functional/measure.py" "$@"
}

python_with() { # MODULE...
    local python
    for python in python3 /usr/bin/python3; do
        ! "$python" -c "import $(IFS=, && echo "$*")" 2>/dev/null || { echo "$python" && return; }
    done
    false
}

json() { # FILE|- EXPRESSION
    python3 -c '
import json, sys
source, expression = sys.argv[1:]
d = json.load(sys.stdin if source == "-" else open(source))
value = eval(expression, {"d": d})
print(value if isinstance(value, str) else json.dumps(value))
sys.exit(value is None or value is False)
' "$1" "$2"
}

pids_of() { # NAME
    local pid comm words
    for pid in $(test_pids); do
        { read -r comm <"/proc/$pid/comm" && words=$(tr '\0' ' ' <"/proc/$pid/cmdline"); } 2>/dev/null || continue
        case "$comm| $words" in
        "$1|"* | *" $1 "*) echo "$pid" ;;
        esac
    done
}

# ---- ludwig ----

configure() { # LINE...
    mkdir -p "$XDG_CONFIG_HOME/ludwig" "$SCRATCH"
    chmod 0700 "$SCRATCH"
    printf '%s\n' "scratch: $SCRATCH" "$@" >"$XDG_CONFIG_HOME/ludwig/config.yaml"
}

write_job() { # LINE...
    cat >job.sh <<END
say() { echo "\$* \$LUDWIG_JOB \$LUDWIG_ATTEMPT \$LUDWIG_RESTART \$\$" >>$TEST_TMP/records; }
gate() { until [ -e $TEST_TMP/gates/\$1 ]; do sleep 0.1; done; }
say start
$(printf '%s\n' "$@")
say end
END
    touch "$TEST_TMP/records"
}

open() { # NAME
    touch "$TEST_TMP/gates/$1"
}

recorded() { # PATTERN
    grep -cE -e "$1" "$TEST_TMP/records" || true
}

# No command did anything yet.
untouched() {
    [ -z "$(pids_of ludwigd)" ]
    [ -z "$(agents)" ]
    [ ! -e "$SHARE" ]
    [ -z "$(find "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" "$TMPDIR" -type f)" ]
}

submit() { # ARGUMENT...
    local answer
    answer=$(ludwig submit --json "$@") || return
    sed -n 's/.*"sweep": *\([0-9]*\).*/\1/p' <<<"$answer"
}

sweep_state() { # SWEEP
    ludwig status "$1" --json | sed -n 's/.*"state": *"\([a-z]*\)".*/\1/p'
}

ended() { # SWEEP
    case $(sweep_state "$1") in
    done | failed | cancelled) ;;
    *) return 1 ;;
    esac
}

jobs_in() { # STATE SWEEP
    ludwig status "$2" --json | json - "str(d['jobs']['$1'])"
}

job() { # JOB EXPRESSION
    ludwig jobs "${1%.*}" --json |
        json - "next($2 for j in d['jobs'] if j['job'] == '$1')"
}

agents() {
    local pid
    for pid in $(pids_of ludwig-worker); do
        case " $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)" in
        ' ' | *' --runner '* | *' --stager '* | *' --publisher '* | *' --janitor '* | *' --mux '*) ;;
        *) echo "$pid" ;;
        esac
    done
}

runner_of() { # PID
    local pid=$1
    until tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -e ' --runner '; do
        pid=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f2)
        [ "${pid:-0}" -gt 1 ] || return
    done
    echo "$pid"
}

# A zombie has let go of files and locks only when its last thread has.
gone() { # PID...
    local pid threads
    for pid; do
        case $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) in
        '') ;;
        Z* | X*)
            threads=(/proc/$pid/task/*)
            [ ${#threads[@]} -le 1 ] || return 1
            ;;
        *) return 1 ;;
        esac
    done
}

kill_hard() { # NAME|PID...
    local pids
    case $1 in
    *[!0-9]*) pids=$(pids_of "$1") ;;
    *) pids=$* ;;
    esac
    [ -n "$pids" ] || { echo "no process $1 to kill" >&2 && return 1; }
    # shellcheck disable=SC2086 # one word each
    kill -KILL $pids && wait_until 5 gone $pids
}

published() { # PROJECT
    python3 "$TEST_ROOT/tests/functional/published.py" "$SHARE/$1"
}

# Two of them at once would build into the same folder.
make_bundle() {
    # shellcheck disable=SC2016 # for the inner shell
    LUDWIG_TEST_MARK='' flock "$TEST_ROOT/build/bundle.lock" \
        sh -c 'make -C "$1" bundle && cp "$1"/build/ludwig-*.tar.gz .' sh "$TEST_ROOT" >said 2>&1 ||
        { cat said && return 1; }
}

leftovers() {
    find "$SCRATCH" -regextype posix-extended -regex '.*/[0-9a-f]{32}'
    find "$SHARE" -regextype posix-extended -regex '.*/\..*\.[0-9a-f]{32}'
}

nothing_left() {
    # Scratch goes after ludwigd's acknowledgement, which nobody waits for.
    wait_until 10 '[ -z "$(leftovers)" ]' || { leftovers && return 1; }
}

# shellcheck source=/dev/null
[ -z "${LUDWIG_TEST_LAB-}" ] || . "$TEST_ROOT/tests/lab/client.sh"
