#!/usr/bin/env bash
# upload.sh [MIB [FILES]] - bringing a large file and many small ones to the file server
#
# In the laboratory of tests/functional/lab.sh, as root: from a laptop to a file server in
# namespaces, with no delay between them and with 50 ms round trip, by ludwig and by others.  Every
# row is a whole command, from its start until it ends: connecting, and with ludwig also reading all
# files for their digests, syncing each of them to the server's disk, verifying, and queueing a
# sweep.  The others sync nothing.  sftp and scp wait for several answers per small file: with a
# delay they get fewer of them, and the rate is what counts.
mib=${1:-1024} files=${2:-20000}
. "$(dirname "$0")/../functional/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || { echo "upload.sh: $lab_lacks" >&2 && exit 1; }
lab_up stock fileserver laptop
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
make_tree few 200
chown -R 2001:2001 "$home"

n_sweeps=0
by_ludwig() { # FOLDER: in a project of its own, so that nothing is there
    n_sweeps=$((n_sweeps + 1))
    printf '%s\n' "project: p$n_sweeps" 'command: "true"' 'source: [sweep.yaml]' "data: [$1]" |
        write_on laptop as lab1 /home/lab1/sweep.yaml
    on laptop as lab1 ludwig submit sweep.yaml
}

by_other() { # COMMAND...
    on laptop as lab1 sh -c "$*"
}

row() { # LINK NAME AMOUNT UNIT COMMAND...: how much of it a second
    local link=$1 name=$2 amount=$3 unit=$4 start end
    shift 4
    rm -rf "${there:?}/copy" "${SHARE:?}"/p[0-9]*
    on fileserver as lab1 mkdir copy
    sync
    start=$(date +%s%N)
    "$@" >"$TEST_TMP/output" 2>&1 || { echo "failed: $*" && cat "$TEST_TMP/output"; } >&2
    end=$(date +%s%N)
    python3 -c '
import sys
s = (int(sys.argv[2]) - int(sys.argv[1])) / 1e9
print("%-5s %-8s %8.1f s %10.1f %s" % (sys.argv[3], sys.argv[4], s, float(sys.argv[5]) / s, sys.argv[6]))
' "$start" "$end" "$link" "$name" "$amount" "$unit"
}

rsync='rsync -a --whole-file'
command -v rsync >/dev/null || rsync=''

for link in - 50ms; do
    tree=many count=$files
    if [ $link = 50ms ]; then
        delay laptop 50
        tree=few count=200
    fi
    echo "one file of $mib MiB"
    row $link ludwig "$mib" MiB/s by_ludwig large
    row $link sftp "$mib" MiB/s by_other "echo put large/data copy/data | sftp -q -b - lab1@fileserver"
    row $link scp "$mib" MiB/s by_other 'scp -q large/data lab1@fileserver:copy/data'
    [ -z "$rsync" ] || row $link rsync "$mib" MiB/s by_other "$rsync large/data lab1@fileserver:copy/data"
    echo "files of 8 KiB: $files, or $count for sftp and scp"
    row $link ludwig "$files" files/s by_ludwig many
    row $link sftp $count files/s by_other "echo put -r $tree copy/ | sftp -q -b - lab1@fileserver"
    row $link scp $count files/s by_other "scp -q -r $tree lab1@fileserver:copy/"
    [ -z "$rsync" ] || row $link rsync "$files" files/s by_other "$rsync many lab1@fileserver:copy/"
done
