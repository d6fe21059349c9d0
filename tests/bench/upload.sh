#!/usr/bin/env bash
# upload.sh STREAMS [ROUNDS [MIB [FILES]]] - bringing a large file and many small ones to the file server
#
# In the laboratory of tests/functional/lab.sh, as root: from a laptop to a file server in
# namespaces, with no delay between them and with 50 ms round trip, by ludwig and by others, which
# take turns; medians of ROUNDS (3).  Every row is a whole command, from its start until it ends:
# connecting, and with ludwig also reading all files for their digests, syncing each of them to the
# server's disk, verifying, and queueing a sweep.  The others sync nothing.  sftp and scp wait for
# several answers per small file: with a delay they get fewer of them, and the rate is what counts.
# What takes longer than ten minutes is stopped.
#
# "ssh x N" is what the SFTP client of common/ does with a large file's bytes over N SSH sessions
# at once, syncs included, connecting not: STREAMS, see streams.c.
streams=$(realpath "$1") rounds=${2:-3} mib=${3:-1024} files=${4:-20000}
sample=100 limit_s=600
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

make_tree() { # NAME FILES
    python3 - "$home/$1" "$2" <<'END'
import os, sys
folder, n = sys.argv[1], int(sys.argv[2])
for i in range(n):
    below = f"{folder}/{i // 500:03}"
    if i % 500 == 0:
        os.makedirs(below)
    with open(f"{below}/{i:06}", "wb") as f:
        f.write(os.urandom(8192))
END
}

mkdir -p "$home/large"
head -c "${mib}M" /dev/urandom >"$home/large/data"
make_tree many "$files"
make_tree few "$sample"
chown -R 2001:2001 "$home"

n_sweeps=0
by_ludwig() { # FOLDER: in a project of its own, so that nothing is there
    n_sweeps=$((n_sweeps + 1))
    printf '%s\n' "project: p$n_sweeps" 'command: "true"' 'source: [sweep.yaml]' "data: [$1]" |
        write_on laptop as lab1 /home/lab1/sweep.yaml
    on laptop as lab1 timeout $limit_s ludwig submit sweep.yaml
}

by_other() { # COMMAND...
    on laptop as lab1 timeout $limit_s sh -c "$*"
}

by_streams() { # COUNT: the first line is how long it took
    on laptop as lab1 timeout $limit_s "$TEST_TMP/streams" ssh://lab1@fileserver copy "$1" "$mib"
}

# A line for each round: LINK, what was sent, NAME, seconds, AMOUNT, UNIT.
row() { # NAME AMOUNT UNIT COMMAND...
    local name=$1 amount=$2 unit=$3 start seconds status=0
    shift 3
    rm -rf "${there:?}/copy" "${SHARE:?}"/p[0-9]*
    on fileserver as lab1 mkdir copy
    sync
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

send_large() {
    what="one file of $mib MiB"
    row ludwig "$mib" MiB/s by_ludwig large
    row sftp "$mib" MiB/s by_other "echo put large/data copy/data | sftp -q -b - lab1@fileserver"
    row scp "$mib" MiB/s by_other 'scp -q large/data lab1@fileserver:copy/data'
    [ -z "$rsync" ] || row rsync "$mib" MiB/s by_other "$rsync large/data lab1@fileserver:copy/data"
    for n in 1 2 4 8; do
        row "ssh x $n" "$mib" MiB/s by_streams $n
    done
}

send_many() { # TREE COUNT: what sftp and scp get
    what="files of 8 KiB: $files, or $2 for sftp and scp"
    row ludwig "$files" files/s by_ludwig many
    row sftp "$2" files/s by_other "echo put -r $1 copy/ | sftp -q -b - lab1@fileserver"
    row scp "$2" files/s by_other "scp -q -r $1 lab1@fileserver:copy/"
    [ -z "$rsync" ] || row rsync "$files" files/s by_other "$rsync many lab1@fileserver:copy/"
}

load() { cut -d' ' -f1-3 /proc/loadavg; }

echo "load before: $(load)"
for link in - 50ms; do
    [ $link = - ] || delay laptop 50
    for _ in $(seq "$rounds"); do
        send_large
        if [ $link = - ]; then send_many many "$files"; else send_many few $sample; fi
    done
done
echo "load after: $(load)"

python3 - "$TEST_TMP/rows" <<'END'
import statistics, sys
rows, last = {}, None
for line in open(sys.argv[1]):
    link, what, name, seconds, amount, unit = line.strip().split(";")
    rows.setdefault((link, what, name, float(amount), unit), []).append(float(seconds))
for (link, what, name, amount, unit), seconds in rows.items():
    if (link, what) != last:
        print(what)
    last = link, what
    median = statistics.median(seconds)
    print("%-5s %-10s %8.1f s %10.1f %s" % (link, name, median, amount / median, unit))
END
