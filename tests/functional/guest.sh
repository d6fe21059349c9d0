# guest.sh - runs a guest, a Linux kernel as an ordinary process (user-mode-linux); sourced after lib.sh
#
# The guest sees the files of this machine, and can write only to those in this test's folder.
# .ci/deps unpacks what the guest needs below ~/.cache, or `apt-get install` has installed it.
#
#     guest_possible             the machine can run a guest; if not, $guest_lacks says why.  A slow
#                                machine cannot, but for `make test-all`
#     guest_run SCRIPT MEMORY    run the script, whose path is relative to the repository, in a guest with
#                                so much memory; fails if no guest can run here, and $guest_lacks says why
#     guest_report               print the script's output, which is TAP, and end the test with the
#                                script's status
set -u

guest_lacks=''
guest_tools=$test_cache/guest
guest_out=$TEST_TMP/guest
guest_limit_s=1500
# The processor time that starting 100 small processes may take.  Each system call and page fault of
# the guest costs several on this machine.  A quick machine needs 80 ms; on one that needed 400 ms (a
# virtual machine whose hypervisor handles each page fault), memory_cgroup did not end within 1500 s.
guest_100_processes_ms=300

guest_possible() {
    [ "$(id -u)" = 0 ] || { guest_lacks='takes root' && return 1; }
    for guest_linux in "$guest_tools/usr/bin/linux.uml" "$(command -v linux.uml)" ''; do
        [ ! -x "$guest_linux" ] || break
    done
    if [ -z "$guest_linux" ]; then
        guest_lacks='takes the package user-mode-linux (.ci/deps test fetches it, where there is one)'
        return 1
    fi
    guest_would_end || return 1
    [ -d "$guest_tools/usr" ] || guest_tools=$TEST_TMP/none
    mkdir -p "$guest_tools/usr" "$guest_out"
}

# Whether this machine is quick enough for a guest to end within its limit.
guest_would_end() {
    local TIMEFORMAT='%3U %3S' took_ms
    [ -z "$test_all" ] || return 0
    took_ms=$({ time for _ in {1..100}; do /bin/true; done; } 2>&1 | awk '{printf "%d", ($1 + $2) * 1000}')
    [ "$took_ms" -le "$guest_100_processes_ms" ] || {
        guest_lacks="this machine is too slow for user-mode-linux: 100 processes take $took_ms ms of its"
        guest_lacks+=" time, $guest_100_processes_ms ms may (make test-all tries it all the same)"
        return 1
    }
}

# Runs the guest until it is off.  lib.sh cannot find the guest's processes, which lack the test's mark, so
# they have a pid namespace that ends with this shell.
guest_boot() { # SCRIPT MEMORY
    local memory=/dev/shm
    [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 1000000 ] || memory=$guest_out
    setpriv --pdeathsig KILL unshare -p -f --kill-child=KILL --mount-proc timeout -s KILL "$guest_limit_s" \
        env -i PATH="$PATH" HOME="$guest_out" TMPDIR="$memory" "$guest_linux" "mem=$2" rootfstype=hostfs \
        rootflags=/ ro init="$TEST_ROOT/tests/lab/guest_init.sh" con=null con0=null,fd:1 \
        GUEST_REPO="$TEST_ROOT" GUEST_BIN="$LUDWIG_BIN" GUEST_TOOLS="$guest_tools" GUEST_OUT="$guest_out" \
        "GUEST_SCRIPT=$1" "GUEST_LIMIT_S=$guest_limit_s"
}

guest_run() { # SCRIPT MEMORY
    local machine
    guest_boot "$@" >"$guest_out/console" 2>&1 </dev/null &
    machine=$!
    while kill -0 $machine 2>/dev/null && ! guest_stands_still; do
        sleep 1
    done
    ! guest_stands_still || kill -KILL $machine 2>/dev/null
    wait $machine
    guest_status=$?
    # Where ptrace is forbidden the guest ends at once.
    [ -e "$guest_out/log" ] || ! grep -qiE 'ptrace.*(fail|not permitted)' "$guest_out/console" ||
        { guest_lacks='takes ptrace, which is forbidden here' && return 1; }
}

# Whether the guest's kernel has run no process for 120 s: a process there writes to the file beats each
# second.  user-mode-linux loses count of a process's stops now and then, lets its system call go
# through to this machine, and stands still.  Nothing that ludwig does in the guest can cause that.
guest_stands_still() {
    local beat_s now_s
    beat_s=$(stat -c %Y "$guest_out/beats" 2>/dev/null) || return
    printf -v now_s '%(%s)T' -1
    [ $((now_s - beat_s)) -gt 120 ]
}

# The script's last line is its TAP plan if the script came to its end.
guest_report() {
    if [ "$guest_status" != 0 ] && guest_stands_still; then
        cat "$guest_out/laps" "$guest_out/log" 2>/dev/null
        test_n=$(grep -cE '^(not )?ok' "$guest_out/log")
        test_failed=$(grep -c '^not ok' "$guest_out/log")
        skip 'the rest' "user-mode-linux stood still: no process of the guest ran for 120 s"
        done_testing
    fi
    if [ ! -e "$guest_out/log" ] || ! tail -n 1 "$guest_out/log" | grep -q '^1\.\.'; then
        cat "$guest_out/log" 2>/dev/null
        echo "not ok - the guest came to its end within $guest_limit_s s"
        tail -n 30 "$guest_out/console" "$guest_out/init" | sed 's/^/# /'
        echo "# status $guest_status"
        exit 1
    fi
    cat "$guest_out/laps" 2>/dev/null
    cat "$guest_out/log"
    [ "$(cat "$guest_out/status")" = 0 ]
    exit
}
