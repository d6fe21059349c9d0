# lib.sh - sourced by every functional test
#
#     . "$(dirname "$0")/lib.sh"
#     it 'says its version' '
#         ludwig version >out && grep -q "^ludwig " out
#     '
#     done_testing
#
# A test has an empty folder $TEST_TMP, with a HOME and XDG folders of its own in it,
# and $LUDWIG_BIN first in PATH; the repository is $TEST_ROOT.  When the test ends, every
# process that it started is killed and the folder is removed; if LUDWIG_TEST_KEEP
# is set the folder stays.
#
#     it SENTENCE BODY           run a test: BODY, shell text or a function's name, must succeed;
#                                its output is shown if it fails.  BODY runs in a subshell under
#                                set -e: variables that it sets are lost, files are not
#     skip SENTENCE WHY          count a test as skipped, with the reason
#     done_testing               print the plan and exit; the last line of each script
#     not COMMAND...             succeed if the command fails; set -e ignores a failing "! COMMAND"
#     within SECONDS CMD...      run the command again and again until it succeeds; fail after
#                                SECONDS.  The pause between two runs is 50 ms, grows to 200 ms and
#                                is eight times as long as the last run at least, so that waiting
#                                takes no machine's time from what is waited for.  A single argument is
#                                shell text
#     wait_until SECONDS CMD...  the same, but with 300 s at least: for a test that does not check
#                                how long something takes, so that a busy machine does not fail it
#     memory_folder KB FILES     print the path of an empty folder with room for so many files: in
#                                memory if there is room, as a disk takes minutes to remove them;
#                                call it once per test
#     measured FILE COMMAND...   run the command; its "SECONDS PEAK_KB CPU_SECONDS" go to the file
#     python_with MODULE...      print the first python3 that has these modules; fail if none has
#     json FILE|- EXPRESSION     print the value of a Python expression on d, the file's JSON value;
#                                fail if the value is None or False
#     pids_of NAME               print the pids of the test's processes that have this name, or
#                                these words in their command line
#
# For ludwig itself, in embedded mode with the share in $SHARE and scratch in $SCRATCH; ludwig
# prints $SHOWN before a path in the share:
#
#     configure LINE...          write config.yaml with the path of scratch and these lines
#     write_job LINE...          write job.sh: it appends "start JOB TOKEN RESTART PID" to
#                                $TEST_TMP/records, runs these lines and appends "end ...".  The
#                                lines may call `say WORD`, which appends a record, and
#                                `gate NAME`, which waits for `open NAME`
#     open NAME                  let the jobs pass the gate of that name
#     recorded PATTERN           print how many records match an extended regular expression
#     submit ARGUMENT...         run `ludwig submit`; print the sweep's number
#     sweep_state SWEEP [COMMAND...]   print the sweep's state; COMMAND, if given, runs ludwig
#     ended SWEEP                all jobs of the sweep have ended
#     jobs_in STATE SWEEP [COMMAND...]   print how many jobs of the sweep are in that state
#     is_up NAME                 the worker of that name is up
#     job JOB EXPRESSION         print the value of a Python expression on j, the job as in
#                                `ludwig jobs --json`
#     agents                     print the pids of the workers' agents
#     runner_of PID              print the pid of the runner that is the nearest ancestor of PID,
#                                a job's process
#     kill_hard NAME|PID...      kill -9 by name (see pids_of) or pid, and wait until the processes
#                                are gone
#     published PROJECT          check the project's results on the share; print "JOB TOKEN ATTEMPT
#                                FOLDER" for each
#     make_bundle                run `make bundle`, with its output in the file said, and copy the
#                                tar file here
#     nothing_left               no attempt has left files on scratch or unfinished ones on the share
#     ludwig_wait ARGUMENT...    run ludwig, which ends by itself; after ten minutes it hangs and is ended
#     build_alone COMMAND...     run a command that builds in the repository; others wait
#     sanitized                  the programs under test are built with a sanitizer
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
umask 022

TEST_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LUDWIG_BIN=$(realpath -m "${LUDWIG_BIN:-$TEST_ROOT/build/bin}")
LUDWIG_HOOKS_BIN=$(realpath -m "${LUDWIG_HOOKS_BIN:-$TEST_ROOT/build/hooks/bin}")
test_keep=${LUDWIG_TEST_KEEP-}
# Set by `make test-all`: what takes too long for each landing is tested, too.
test_all=${LUDWIG_TEST_ALL-}
# Packages that .ci/deps has unpacked for tests.
test_cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/ludwig-tests

# The path has no symlinks, and the name is short: a unix socket's path has 107 bytes at most.
TEST_TMP=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/lw.XXXXXX")") || exit 1
test_memory=/dev/shm/${TEST_TMP##*/}
LUDWIG_TEST_MARK=$TEST_TMP.$$

# Prints the pids of the test's processes.  Each has LUDWIG_TEST_MARK in the environment that it was
# started with; this shell has not, and the commands that look for the mark must not have it either.
# A job gets a new environment without the mark, but with the paths of its save folder and of its
# project, one of which lies in the test's folder; a process that builds an environment has such a
# path in LUDWIG_TO.
test_pids() {
    local found
    mapfile -t found < <(LUDWIG_TEST_MARK='' command grep -lzxE -e "LUDWIG_TEST_MARK=$LUDWIG_TEST_MARK" \
        -e "LUDWIG_(SAVE_PATH|PROJECT_PATH|TO)=$TEST_TMP/.*" /proc/[0-9]*/environ 2>/dev/null)
    found=("${found[@]#/proc/}")
    [ ${#found[@]} = 0 ] || printf '%s\n' "${found[@]%/environ}"
}

# Kills until no process is left, as a process may start another one meanwhile.
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
    # The command that failed is the last one that was begun; -t makes the trap see those in functions.
    ! declare -F "${2%% *}" >/dev/null || declare -ft "${2%% *}"
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
    within $(($1 > 300 ? $1 : 300)) "${@:2}"
}

# Nothing is ever written to this pipe: `read` with a time limit waits on it without starting a process.
exec {test_never}<> <(:)
export test_never

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
        pause_ms=$((pause_ms > 8 * took_ms ? pause_ms : 8 * took_ms))
        pause_ms=$((pause_ms < 2000 || took_ms > 2000 ? pause_ms : 2000))
        printf -v pause '%d.%03d' $((pause_ms / 1000)) $((pause_ms % 1000))
        read -rt "$pause" -u "$test_never" || true
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
    python3 -S "$TEST_ROOT/tests/functional/measure.py" "$@"
}

python_with() { # MODULE...
    local python
    for python in python3 /usr/bin/python3; do
        ! "$python" -c "import $(IFS=, && echo "$*")" 2>/dev/null || { echo "$python" && return; }
    done
    false
}

# The system's python3 starts in half the time of one that was built elsewhere.  -I -S leaves
# site-packages out, whose start-up code may take longer than all the rest here.
json() { # FILE|- EXPRESSION
    local python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    "$python" -I -S -c '
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
        { read -r comm <"/proc/$pid/comm" && mapfile -d '' words <"/proc/$pid/cmdline"; } 2>/dev/null || continue
        case "$comm| ${words[*]} " in
        "$1|"* | *" $1 "*) echo "$pid" ;;
        esac
    done
}

sanitized() {
    grep -qaE '__(asan|tsan|msan)_init' "$LUDWIG_BIN/ludwig"
}

# ---- ludwig ----

ludwig_wait() { # ARGUMENT...
    timeout 600 ludwig "$@"
}

configure() { # LINE...
    mkdir -p "$XDG_CONFIG_HOME/ludwig" "$SCRATCH"
    chmod 0700 "$SCRATCH"
    printf '%s\n' "scratch: $SCRATCH" "$@" >"$XDG_CONFIG_HOME/ludwig/config.yaml"
}

write_job() { # LINE...
    cat >job.sh <<END
say() { echo "\$* \$LUDWIG_JOB \$LUDWIG_ATTEMPT \$LUDWIG_RESTART \$\$" >>$TEST_TMP/records; }
gate() { until [ -e $TEST_TMP/gates/\$1 ]; do sleep 0.3; done; }
say start
$(printf '%s\n' "$@")
say end
END
    : >>"$TEST_TMP/records"
}

open() { # NAME
    touch "$TEST_TMP/gates/$1"
}

recorded() { # PATTERN
    grep -cE -e "$1" "$TEST_TMP/records" || true
}

# No process of ludwig runs, and no command has written a file yet.
untouched() {
    [ -z "$(pids_of ludwigd)" ]
    [ -z "$(agents)" ]
    [ ! -e "$SHARE" ]
    [ -z "$(find "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" "$TMPDIR" -type f)" ]
}

submit() { # ARGUMENT...
    local answer
    answer=$(ludwig submit --json "$@") || return
    [[ ! $answer =~ \"sweep\":([0-9]+) ]] || echo "${BASH_REMATCH[1]}"
}

sweep_state() { # SWEEP [COMMAND...]
    [[ $("${@:2}" ludwig status "$1" --json) =~ \"state\":\"([a-z]+)\" ]] && echo "${BASH_REMATCH[1]}"
}

ended() { # SWEEP
    case $(sweep_state "$1") in
    done | failed | cancelled) ;;
    *) return 1 ;;
    esac
}

jobs_in() { # STATE SWEEP [COMMAND...]
    [[ $("${@:3}" ludwig status "$2" --json) =~ \"jobs\":\{[^}]*\"$1\":([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

is_up() { # NAME
    ludwig nodes --state up --quiet | grep -qxF -e "$1"
}

job() { # JOB EXPRESSION
    ludwig jobs "${1%.*}" --json |
        json - "next($2 for j in d['jobs'] if j['job'] == '$1')"
}

agents() {
    local pid words
    for pid in $(pids_of ludwig-worker); do
        { mapfile -d '' words <"/proc/$pid/cmdline"; } 2>/dev/null || continue
        case " ${words[*]} " in
        '  ' | *' --runner '* | *' --stager '* | *' --publisher '* | *' --janitor '* | *' --mux '*) ;;
        *) echo "$pid" ;;
        esac
    done
}

runner_of() { # PID
    local pid=$1 words stat
    until mapfile -d '' words <"/proc/$pid/cmdline" && [[ " ${words[*]} " == *' --runner '* ]]; do
        read -r stat <"/proc/$pid/stat" || return
        read -r _ pid _ <<<"${stat##*) }"
        [ "$pid" -gt 1 ] || return
    done
    echo "$pid"
}

# A zombie process keeps its files and locks until its last thread has ended.
gone() { # PID...
    local pid stat threads
    for pid; do
        stat=''
        { read -r stat <"/proc/$pid/stat"; } 2>/dev/null || true
        case ${stat##*) } in
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
    python3 -I -S "$TEST_ROOT/tests/functional/published.py" "$SHARE/$1"
}

# The lock keeps two tests from building in the same folder at once.
build_alone() { # COMMAND...
    LUDWIG_TEST_MARK='' flock "$TEST_ROOT/build/tests.lock" "$@"
}

make_bundle() {
    # shellcheck disable=SC2016 # for the inner shell
    build_alone sh -c 'make -C "$1" bundle && cp "$1"/build/ludwig-*.tar.gz .' sh "$TEST_ROOT" >said 2>&1 ||
        { cat said && return 1; }
}

leftovers() {
    find "$SCRATCH" -regextype posix-extended -regex '.*/[0-9a-f]{32}'
    find "$SHARE" -regextype posix-extended -regex '.*/\..*\.[0-9a-f]{32}'
}

nothing_left() {
    # A worker removes scratch files after ludwigd's acknowledgement, for which no command waits.
    wait_until 10 '[ -z "$(leftovers)" ]' || { leftovers && return 1; }
}

# shellcheck source=/dev/null
[ -z "${LUDWIG_TEST_LAB-}" ] || . "$TEST_ROOT/tests/lab/client.sh"
