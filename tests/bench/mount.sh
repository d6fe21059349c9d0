#!/usr/bin/env bash
# mount.sh STAGE PACKS [FILES [MS]] - staging many small files from a mount with a round trip of MS (1) ms
#
# Runs in the laboratory of tests/functional/lab.sh, as root.  A node mounts the file server's share with sshfs, over a
# link with that delay.  The dataset has FILES (10000) of 2 to 14 KiB, a thousand per folder.  `cp -r` copies it from the
# mount, `scp -r` without a mount, and ludwig stages its packs from the mount.  STAGE and PACKS: see stage.c and packs.c.
here=$(realpath "$(dirname "$0")")
stage=$(realpath "$1") packs=$(realpath "$2") files=${3:-10000} ms=${4:-1}
. "$(dirname "$0")/../functional/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || { echo "mount.sh: $lab_lacks" >&2 && exit 1; }
command -v sshfs >/dev/null || { echo 'mount.sh: takes sshfs' >&2 && exit 1; }
lab_up stock fileserver node1
install -m 0755 "$stage" "$TEST_TMP/stage" # hosts see nothing else of the machine

python3 "$here/images.py" "$SHARE/tree" "$files"
mkdir -p "$SHARE/demo/.ludwig"
id=$("$packs" pack "$SHARE/tree" "$SHARE/demo/.ludwig/packs" 2>/dev/null) || exit
chown -R 2100:2100 "$SHARE/tree" "$SHARE/demo"

begin_mount() {
    on node1 sh -c '[ -e /dev/fuse ] || mknod /dev/fuse c 10 229'
    on node1 mkdir -p /mnt/share
    # Until it is unmounted, so that `on` does not take it along.
    service node1 sshfs sshfs -f -o IdentityFile=/home/ludwig/.ssh/id_ed25519,UserKnownHostsFile=/home/ludwig/.ssh/known_hosts \
        ludwig@fileserver:/srv/research_data /mnt/share
    wait_until 20 on node1 test -d /mnt/share/tree
}
end_mount() { service_stop node1 sshfs; }

row() { # NAME COMMAND...: from a mount that remembers nothing, to /processing/out, which is new
    local name=$1 start
    shift
    begin_mount || exit
    # What there was stays till the end, as in stage.sh.
    [ ${#took[@]} = 0 ] || on node1 mv /processing/out "/processing/out.${#took[@]}"
    on node1 install -d -m 0700 /processing/out
    sync
    start=$(date +%s%N)
    "$@" >"$TEST_TMP/output" 2>&1 || { echo "failed: $*" >&2 && cat "$TEST_TMP/output" >&2 && exit 1; }
    took[$name]=$((($(date +%s%N) - start) / 1000000))
    end_mount
}

declare -A took=()
by_scp() { on node1 as ludwig scp -q -r ludwig@fileserver:/srv/research_data/tree /home/ludwig/copy; }

delay node1 "$ms"
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
row 'ludwig stages' on node1 "$TEST_TMP/stage" /mnt/share demo /processing/out "$id"
on node1 sh -c 'ls /processing/out/cache/*/' >/dev/null || exit
row 'cp -r' on node1 cp -r /mnt/share/tree /processing/out
row 'scp -r' by_scp
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
for name in 'ludwig stages' 'cp -r' 'scp -r'; do
    python3 -c 'import sys
name, ms, mine, files = sys.argv[1], *map(int, sys.argv[2:])
print("%-14s %9.2f s %9.0f files/s %8.1f x" % (name, ms / 1e3, files / ms * 1e3, ms / mine))' \
        "$name" "${took[$name]}" "${took['ludwig stages']}" "$files"
done
