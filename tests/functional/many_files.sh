#!/bin/bash
# many_files.sh - ludwig's memory does not grow with the files it is to bring to the share
. "$(dirname "$0")/lib.sh"

all='a tree of many files is scanned, hashed and packed in little memory'
if sanitized; then
    skip "$all" 'a sanitizer takes more than ludwig'
    done_testing
fi
configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
ludwig up >/dev/null 2>&1

# 100,000 files in one/ and as many in two/, no two of them alike.
make_files() { # FOLDER
    python3 - "$1" <<'END'
import os, sys
for half in "one", "two":
    for i in range(100):
        os.makedirs(f"{sys.argv[1]}/{half}/folder{i:03}")
        os.chdir(f"{sys.argv[1]}/{half}/folder{i:03}")
        for j in range(1000):
            fd = os.open(f"file{j:03}", os.O_CREAT | os.O_WRONLY)
            os.write(fd, f"{half} {i} {j} {'.' * 80}".encode())
            os.close(fd)
END
}

push() { # FOLDER PROJECT FILES
    measured used ludwig data push "$1" --project "$2" 2>err
    grep -q ": $3 files, " err
    read -r _ peak _ <used
    echo "$3 files: $peak kB"
}

# What has a bound is full with 100,000 files: a part takes 65,000.  100,000 more took 6 MB more, all
# together less than 34; a path kept of each would take 6 MB beside that.
packs() {
    files=$(memory_folder 1000000 210000)
    make_files "$files"
    push "$files/one" half 100000
    half=$peak
    push "$files" whole 200000
    [ "$peak" -le $((half + 9000)) ]
    [ "$peak" -le 65536 ]
}
it "$all" packs

done_testing
