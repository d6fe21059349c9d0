#!/usr/bin/env bash
# results.sh [FILES [ROUNDS]] - publishing many small files that a job saved
#
# FILES of 4 KiB, a hundred per folder, go from a scratch in memory to a disk: directly; over a mount (sshfs) with a round
# trip of 1 ms; over SFTP with the same round trip.  The ways take turns; the result of each is the best of ROUNDS.  ludwig
# reads all files twice, for the digests in job.json and to copy them, and syncs every file before the result gets its
# name.  cp is followed by a sync of the file system; over the mount it syncs nothing, and copies only a tenth of the files.
set -euo pipefail
files=${1:-10000} rounds=${2:-3} delay_ms=1
publish=$(realpath "$(dirname "$0")/../../build/bench/publish")
server=/usr/lib/openssh/sftp-server
[ -x $server ] || server=/usr/libexec/openssh/sftp-server
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/ludwig-results-XXXXXX")
memory=$(mktemp -d /dev/shm/ludwig-results-XXXXXX)
line=
clean_up() {
    ! mountpoint -q "$dir/far" || fusermount3 -uz "$dir/far"
    [ -z "$line" ] || kill "$line"
    rm -rf "$dir" "$memory"
}
trap clean_up EXIT
mkdir -p "$dir"/share/.ludwig "$dir/far"
printf '{"v":1,"server":"bench","host":"h"}\n' >"$dir/share/.ludwig/id"

make_tree() { # FILES
    python3 - "$memory/tree" "$1" <<'END'
import os, sys
for i in range(int(sys.argv[2])):
    below = f"{sys.argv[1]}/{i // 100:03}"
    if i % 100 == 0:
        os.makedirs(below)
    with open(f"{below}/{i:06}", "wb") as f:
        f.write(os.urandom(4096))
END
}

# An SFTP server for whoever connects; what is said takes half a round trip, either way.
serve() {
    exec python3 - "$server" "$delay_ms" <<'END'
import collections, os, signal, socket, subprocess, sys, threading, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
half_s = float(sys.argv[2]) / 2e3
def carry(read, write, end):
    waiting, changed = collections.deque(), threading.Condition()
    def deliver():
        while True:
            with changed:
                while not waiting:
                    changed.wait()
                due, data = waiting.popleft()
            time.sleep(max(0, due - time.monotonic()))
            try:
                write(data) if data else end()
            except OSError:
                return
            if not data:
                return
    threading.Thread(target=deliver, daemon=True).start()
    while True:
        try:
            data = read(65536)
        except OSError:
            data = b""
        with changed:
            waiting.append((time.monotonic() + half_s, data))
            changed.notify()
        if not data:
            return
def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    c, _ = listener.accept()
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    p = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    i, o = p.stdin.fileno(), p.stdout.fileno()
    threading.Thread(target=carry, daemon=True, args=(c.recv, lambda d, i=i: write_all(i, d), p.stdin.close)).start()
    threading.Thread(target=carry, daemon=True, args=(lambda n, o=o: os.read(o, n), c.sendall, c.close)).start()
END
}
serve >"$dir/port" &
line=$!
until [ -s "$dir/port" ]; do sleep 0.1; done
port=$(cat "$dir/port")
sshfs -o directport="$port",max_conns=1 "localhost:$dir/share" "$dir/far"

declare -A rate
names=() n=0
TIMEFORMAT=%R
row() { # NAME FILES COMMAND
    make_tree "$2"
    mkdir "$dir/share/demo$n"
    sync -f "$dir/share"
    { time sh -ec "$3" >&2; } 2>"$dir/timed" || { cat "$dir/timed" >&2 && exit 1; }
    [ -n "${rate[$1]-}" ] || names+=("$1")
    rate[$1]=$(python3 -c "print('%.0f' % max(${rate[$1]:-0}, $2 / $(tail -n 1 "$dir/timed")))")
    rm -rf "$memory/tree" # the disk's trees stay till the end, as in stage.sh
    n=$((n + 1))
}
for ((i = 0; i < rounds; i++)); do
    row 'cp -r, sync' "$files" "cp -r $memory/tree $dir/share/copy$n; sync -f $dir/share"
    row 'ludwig publishes' "$files" "$publish $dir/share demo$n $memory/scratch $memory/tree"
    row 'cp -r, mount' $((files / 10)) "cp -r $memory/tree $dir/far/copy$n"
    row 'ludwig publishes, mount' "$files" "$publish $dir/far demo$n $memory/scratch $memory/tree"
    row 'ludwig publishes, SFTP' "$files" \
        "$publish sftp:bench::$dir/share demo$n $memory/scratch $memory/tree $port"
    for name in "${names[@]}"; do printf '%-26s %8s files/s\n' "$name" "${rate[$name]}"; done
done
