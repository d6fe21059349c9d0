#!/usr/bin/env bash
# upload.sh STREAMS [ROUNDS [MIB [FILES [LINKS]]]] - sending a large file and many small ones to the file server
#
# Runs in the laboratory of tests/functional/lab.sh, as root: from the laptop to the file server, without delay between
# them and with a round trip of 50 ms (LINKS: "- 50ms", or one of the two).  ludwig and other programs take turns; prints
# medians of ROUNDS (3), and the ratio to ludwig's.  Every row is a whole command, from its start to its end, with
# connecting.  ludwig also reads all files for their digests, syncs what it sends to the server's disk and queues a
# sweep; the other programs sync nothing.
#
#   ludwig     ludwig submit, of data that are not on the server
#   packed     the floor: tar, written through the SFTP client of common/ to one file over as many
#              SSH sessions as ludwig makes, which are made at once, and synced; nothing is hashed
#              or queued
#   packed.zst the same through zstd -1
#   ready      the bytes that packed sends of noise, and packed.zst of text, made beforehand
#   rsync -z   with --compress, which is zstd where both sides have it
#
# The small files are noise, and text (numbers and words) that zstd -1 shrinks to 0.43 of its size.
# The large file is noise.  sftp and scp wait for several replies per small file: they get fewer
# files, so compare the rates.  A command is stopped after ten minutes.
#
# "ssh x N" sends as many bytes as the large file has, or ready, by the SFTP client of common/ over N SSH
# sessions at once; the time includes the syncs, but not connecting: STREAMS, see streams.c.  "log in" is an
# OpenSSH sftp that sends nothing, and is counted as if it had sent all files.
streams=$(realpath "$1") rounds=${2:-3} mib=${3:-1024} files=${4:-20000} links=${5:-- 50ms}
near_sample=2000 far_sample=100 limit_s=600
near_sessions=4 far_sessions=8 # see client/share/share_connection.c
. "$(dirname "$0")/../functional/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || { echo "upload.sh: $lab_lacks" >&2 && exit 1; }
lab_up stock fileserver laptop
install -m 0755 "$streams" "$TEST_TMP/streams" # hosts see nothing else of the machine
write_on fileserver /etc/ludwig/ludwigd.yaml <<END
share: /srv/research_data
state: /var/lib/ludwig
share_group: lab
END
service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
wait_until 10 test -S "$SHARE/.ludwig/server.sock" || exit
write_on laptop as lab1 /home/lab1/.config/ludwig/config.yaml <<END
server: ssh://lab1@fileserver
END

home=$LAB/laptop/disk/home/lab1
there=$LAB/fileserver/disk/home/lab1

make_tree() { # NAME FILES noise|text
    python3 - "$home/$1" "$2" "$3" <<'END'
import os, random, sys
folder, n, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
r = random.Random(1)
words = ["w%05x" % r.randrange(1 << 20) for _ in range(2000)]

def line():
    return "%d,%.6f,%.4f,%s,%s\n" % (r.randrange(100000), r.random(), r.gauss(0, 1),
                                     r.choice(("train", "valid", "test")), r.choice(words))

def content():
    if kind == "noise":
        return os.urandom(8192)
    text = ""
    while len(text) < 8192:
        text += line()
    return text[:8192].encode()

for i in range(n):
    below = f"{folder}/{i // 500:03}"
    if i % 500 == 0:
        os.makedirs(below)
    with open(f"{below}/{i:06}", "wb") as f:
        f.write(content())
END
}

mkdir -p "$home/large"
head -c "${mib}M" /dev/urandom >"$home/large/data"
for kind in noise text; do
    make_tree "$kind" "$files" "$kind"
    make_tree "near-$kind" $near_sample "$kind"
    make_tree "far-$kind" $far_sample "$kind"
done
tar -C "$home" -cf "$home/noise.ready" noise
tar -C "$home" -cf - text | if command -v zstd >/dev/null; then zstd -1 -c; else cat; fi >"$home/text.ready"
chown -R 2001:2001 "$home"

n_sweeps=0 n_rows=0
on fileserver as lab1 mkdir copy
by_ludwig() { # FOLDER: in a project of its own, so that nothing is there
    n_sweeps=$((n_sweeps + 1))
    printf '%s\n' "project: p$n_sweeps" 'command: "true"' 'source: [sweep.yaml]' "data: [$1]" |
        write_on laptop as lab1 /home/lab1/sweep.yaml
    on laptop as lab1 timeout $limit_s ludwig submit sweep.yaml
}

by_other() { # COMMAND...
    on laptop as lab1 timeout $limit_s sh -c "$*"
}

mib_of() { echo $((($(stat -c %s "$1") + 1048575) / 1048576)); } # FILE

by_streams() { # COUNT MIB: the first line is how long it took
    on laptop as lab1 timeout $limit_s "$TEST_TMP/streams" ssh://lab1@fileserver copy "$1" "$2"
}

# A virtual machine may have given memory that nobody used back to its host, and gets it slowly: see
# docs/performance.md.  Every row finds as much that was just freed.
warm_memory() {
    head -c 1G /dev/zero >"$TEST_TMP/warm" && rm "$TEST_TMP/warm"
}

# So may the system do with what was read a while ago.
read_sources() {
    find "$home" -type f -exec cat {} + >/dev/null
}

# What went before makes room for the next, but files that were many stay till the end: ext4 without a
# journal passes over inodes freed in the last minutes, and whoever makes many files pays for that.
make_room() {
    n_rows=$((n_rows + 1))
    find "$there/copy" -maxdepth 1 -type f -delete
    mv "$there/copy" "$there/copy.$n_rows"
    rm -rf "${SHARE:?}"/p[0-9]* "${home:?}/.cache/ludwig"
    on fileserver as lab1 mkdir copy
}

# A line for each round: LINK, what was sent, NAME, seconds, AMOUNT, UNIT.
row() { # NAME AMOUNT UNIT COMMAND...
    local name=$1 amount=$2 unit=$3 start seconds status=0
    shift 3
    make_room
    sync
    read_sources
    warm_memory
    start=$(date +%s%N)
    "$@" >"$TEST_TMP/output" 2>&1 || status=$?
    seconds=$(($(date +%s%N) - start))e-9
    if [ $status != 0 ]; then
        [ $status != 124 ] || echo "stopped after $limit_s s:" >&2
        echo "failed: $*" >&2
        cat "$TEST_TMP/output" >&2
        return
    fi
    [ "$1" != by_streams ] || seconds=$(head -n 1 "$TEST_TMP/output")
    echo "$link;$what;$name;$seconds;$amount;$unit" >>"$TEST_TMP/rows"
}

rsync='rsync -a --whole-file'
command -v rsync >/dev/null || rsync=''
packed="$TEST_TMP/streams ssh://lab1@fileserver copy"

send_large() {
    what="one file of $mib MiB"
    row ludwig "$mib" MiB/s by_ludwig large
    row sftp "$mib" MiB/s by_other "echo put large/data copy/data | sftp -q -b - lab1@fileserver"
    row scp "$mib" MiB/s by_other 'scp -q large/data lab1@fileserver:copy/data'
    [ -z "$rsync" ] || row rsync "$mib" MiB/s by_other "$rsync large/data lab1@fileserver:copy/data"
    row packed "$mib" MiB/s by_other "$packed $sessions - <large/data"
    for n in 1 2 4 8; do
        row "ssh x $n" "$mib" MiB/s by_streams $n "$mib"
    done
}

send_many() { # KIND TREE COUNT: what sftp and scp get
    what="files of 8 KiB, $1: $files, or $3 for sftp and scp"
    row ludwig "$files" files/s by_ludwig "$1"
    if [ -n "$rsync" ]; then
        row rsync "$files" files/s by_other "$rsync $1 lab1@fileserver:copy/"
        row 'rsync -z' "$files" files/s by_other "$rsync -z $1 lab1@fileserver:copy/"
    fi
    row packed "$files" files/s by_other "tar -cf - $1 | $packed $sessions -"
    ! command -v zstd >/dev/null ||
        row packed.zst "$files" files/s by_other "tar -cf - $1 | zstd -1 -c | $packed $sessions -"
    row ready "$files" files/s by_other "$packed $sessions - <$1.ready"
    row "ssh x $sessions" "$files" files/s by_streams $sessions "$(mib_of "$home/$1.ready")"
    row 'log in' "$files" files/s by_other 'sftp -q -b - lab1@fileserver </dev/null'
    row sftp "$3" files/s by_other "echo put -r $2 copy/ | sftp -q -b - lab1@fileserver"
    row scp "$3" files/s by_other "scp -q -r $2 lab1@fileserver:copy/"
}

load() { cut -d' ' -f1-3 /proc/loadavg; }

echo "load before: $(load)"
for link in $links; do
    sessions=$near_sessions
    [ "$link" = - ] || { sessions=$far_sessions && delay laptop 50; }
    for _ in $(seq "$rounds"); do
        for kind in noise text; do
            if [ "$link" = - ]; then
                send_many $kind near-$kind $near_sample
            else
                send_many $kind far-$kind $far_sample
            fi
        done
        send_large
    done
done
echo "load after: $(load)"

python3 - "$TEST_TMP/rows" <<'END'
import statistics, sys
rows, last, own = {}, None, 0
for line in open(sys.argv[1]):
    link, what, name, seconds, amount, unit = line.strip().split(";")
    rows.setdefault((link, what, name, float(amount), unit), []).append(float(seconds))
for (link, what, name, amount, unit), seconds in rows.items():
    median = statistics.median(seconds)
    if (link, what) != last:
        print(what)
        own = amount / median # ludwig comes first
    last = link, what
    print("%-5s %-10s %8.2f s (%.2f to %.2f) %10.1f %-8s ludwig is %.2f times as fast" %
          (link, name, median, min(seconds), max(seconds), amount / median, unit, own / (amount / median)))
END
