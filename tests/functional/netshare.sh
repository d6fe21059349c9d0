#!/usr/bin/env bash
# netshare.sh - the ways of results, logs, checkpoints and requests over a real NFS 4.2 and a real SMB
#
# A machine in the machine (user-mode-linux, an ordinary process) serves both and mounts them, as few
# kernels that run tests may: tests/lab/netshare.sh is what runs there, and prints these tests' lines.
# It sees the files of this machine, and cannot write to any but those in this test's folder.
# What it takes, .ci/deps unpacks below ~/.cache, or `apt-get install` has installed.
. "$(dirname "$0")/lib.sh"

what='NFS 4.2 and SMB, served and mounted for real'
tools=$test_cache/guest
limit_s=580

lacks() { # WHY
    skip "$what" "$1"
    done_testing
}

find_linux() {
    for linux in "$tools/usr/bin/linux.uml" "$(command -v linux.uml)" ''; do
        [ ! -x "$linux" ] || return 0
    done
    return 1
}

guest() {
    local out=$TEST_TMP/guest memory=/dev/shm
    [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 1000000 ] || memory=$out
    # It cannot be killed by names or environments: its processes have none of ours.
    # shellcheck disable=SC2016 # expanded inside
    setpriv --pdeathsig KILL unshare -p -f --kill-child=KILL --mount-proc timeout -s KILL "$limit_s" \
        env -i PATH="$PATH" HOME="$out" TMPDIR="$memory" "$linux" mem=768M rootfstype=hostfs rootflags=/ ro \
        init="$TEST_ROOT/tests/lab/guest_init.sh" con=null con0=null,fd:1 \
        GUEST_REPO="$TEST_ROOT" GUEST_BIN="$LUDWIG_BIN" GUEST_TOOLS="$tools" GUEST_OUT="$out" "$@"
}

[ "$(id -u)" = 0 ] || lacks 'takes root'
find_linux || lacks 'takes the package user-mode-linux (.ci/deps test fetches it, where there is one)'
[ -d "$tools/usr" ] || tools=$TEST_TMP/none
mkdir -p "$tools/usr" "$TEST_TMP/guest"
for tool in smbd mount.cifs rpc.nfsd mount.nfs4; do
    [ -x "$tools/usr/sbin/$tool" ] || PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null ||
        lacks "takes $tool (packages samba, cifs-utils, nfs-kernel-server, nfs-common)"
done

# Where tracing processes is forbidden it ends at once.
guest GUEST_SCRIPT=tests/lab/netshare.sh >"$TEST_TMP/guest/console" 2>&1 </dev/null
status=$?
[ -e "$TEST_TMP/guest/log" ] || ! grep -qiE 'ptrace.*(fail|not permitted)' "$TEST_TMP/guest/console" ||
    lacks 'takes ptrace, which is forbidden here'
# Its plan is the last line when all went well.
if [ ! -e "$TEST_TMP/guest/log" ] || ! tail -n 1 "$TEST_TMP/guest/log" | grep -q '^1\.\.'; then
    cat "$TEST_TMP/guest/log" 2>/dev/null
    echo "not ok - the guest came to its end within $limit_s s"
    tail -n 30 "$TEST_TMP/guest/console" "$TEST_TMP/guest/init" | sed 's/^/# /'
    echo "# status $status"
    exit 1
fi
cat "$TEST_TMP/guest/laps" "$TEST_TMP/guest/log"
[ "$(cat "$TEST_TMP/guest/status")" = 0 ]
