#!/bin/bash
# jail_attack.sh - what lab2 puts into the share to be taken for the share, or for ludwigd, by jailed users
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'nobody is taken for ludwigd or its share' "$lab_lacks"
    done_testing
}
lab_up jail fileserver laptop
lab_server
lab_client lab1
lab_client lab2
share=/srv/research_data

submits() { # USER PROJECT [LINE...]: prints the number
    echo 'a source' | write_on laptop as "$1" "/home/$1/source.txt"
    printf '%s\n' "project: $2" 'command: cat source.txt' 'source: source.txt' "${@:3}" |
        write_on laptop as "$1" "/home/$1/sweep.yaml"
    on laptop as "$1" ludwig submit sweep.yaml
}
packs() { # FOLDER: how many manifests were sent there
    on fileserver find "$1" -name '*.manifest' 2>/dev/null | wc -l
}

# In a jail that is the share, SHARE/research_data has a path by which the share may be known.
false_share() {
    [ "$(submits lab2 research_data)" = 1 ]
    on fileserver as lab2 sh -ec "cd $share/research_data; chmod 755 .
        cp $share/.ludwig/id* .ludwig; chmod 755 .ludwig; mkdir -m 777 private"
    [ "$(submits lab1 private 'private: true')" = 2 ]
    [ "$(packs $share/private)" = 1 ]
    [ "$(packs $share/research_data/private)" = 0 ]
    as_user lab1 ludwig doctor --json >found || true
    not grep -q '"/research_data' found
}
it "a folder that lab2 has marked as the share gets nothing of lab1's" false_share

# In a jail a folder of the share may be one of the system: sshd runs /bin/sh there if there is a
# /etc/ssh/sshrc, and connects to /run/ludwig/server.sock.
system_folders() {
    local name
    for name in bin etc run home Lib; do
        submits lab2 $name >/dev/null
        [ "$(on fileserver stat -c %U "$share/$name.lab2")" = lab2 ]
        on fileserver test ! -e "$share/$name"
        # Who names it nevertheless is refused.
        on fileserver as lab2 timeout 300 python3 /opt/lab/tests/functional/attack.py submits $share/.ludwig/server.sock $name
        on fileserver test ! -e "$share/$name"
    done
}
it "lab2 can make no folder that is one of the system for those who are jailed to the share" system_folders

found_at_start() {
    on fileserver install -d -o lab2 "$share/usr"
    service_kill fileserver ludwigd
    lab_server
    wait_until 20 'service_log fileserver ludwigd | grep "unsafe-folder path=$share/usr uid=2002"'
}
it "ludwigd warns of one that is there already" found_at_start

done_testing
