#!/bin/bash
# permissions.sh - whose a project is, who makes its folder, who may look into it
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'projects belong to their owners' "$lab_lacks"
    done_testing
}
lab_up stock fileserver

projects=$SHARE/lab
as1() { on fileserver as lab1 "$@"; }
as2() { on fileserver as lab2 "$@"; }
look() { # FOLDER: "lab1:lab 2750"
    on fileserver stat -c '%U:%G %a' "/srv/research_data/$1"
}

conf() { # LINE...: of ludwigd.yaml
    printf '%s\n' 'share: /srv/research_data' 'projects: lab' 'sockets: [/srv/research_data/.ludwig/server.sock]' \
        "$@" | write_on fileserver /etc/ludwig/ludwigd.yaml
}
for user in lab1 lab2; do
    printf '%s\n' 'server: unix:/srv/research_data/.ludwig/server.sock' |
        write_on fileserver as $user /home/$user/.config/ludwig/config.yaml
    printf '%s\n' 'server: unix:/srv/research_data/.ludwig/server.sock' 'name: node-'$user \
        'scratch: /processing/{user}' 'state: /home/'$user'/worker' 'resources: {cpus: 4, gpus: 0}' |
        write_on fileserver as $user /home/$user/worker.yaml
done
sweep() { # USER PROJECT [LINE...]: write sweep.yaml
    local user=$1 project=$2
    shift 2
    printf '%s\n' "project: $project" 'command: sh run.sh {x}' 'params: {x: [1, 2]}' "$@" |
        write_on fileserver as "$user" "/home/$user/work/sweep.yaml"
    # shellcheck disable=SC2016
    echo 'echo "x is $1"; ludwig report score=$1; echo "$1" >"$LUDWIG_SAVE_PATH/out"' |
        write_on fileserver as "$user" "/home/$user/work/run.sh"
}
submits() { # USER [ARGUMENT...]: prints the sweep's number
    on fileserver as "$1" timeout 300 ludwig submit work/sweep.yaml "${@:2}" 2>&1
}
refused() { # STATUS WORDS COMMAND...
    local status=0
    "${@:3}" >refusal 2>&1 || status=$?
    cat refusal
    [ $status = "$1" ]
    grep -qF -e "$2" refusal
}
is_up() {
    as1 ludwig status >/dev/null 2>&1
}
ludwigd_as() { # USER
    service fileserver ludwigd as "$1" ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 10 is_up
}

# ---- ludwigd as root ----

conf 'share_group: lab' 'state: /var/lib/ludwig' 'admins: [ludwig]'
ludwigd_as root

root_makes() {
    [ "$(look .ludwig)" = 'root:root 755' ]
    [ "$(look .ludwig/server.sock)" = 'root:root 666' ]
    [ "$(look lab)" = 'root:root 755' ]
    sweep lab1 demo
    submits lab1 >out
    [ "$(look lab/demo)" = 'lab1:lab 2750' ]
    [ -z "$(find "$projects/demo" -not -uid 2001)" ]
    [ -z "$(find "$projects/demo" -not -gid 2000)" ]
    [ -z "$(find "$projects/demo" -perm /027 -not -perm -040 -o -perm /007 -not -type l)" ]
}
it 'ludwigd makes the folder of a project and gives it to the submitter and the group' root_makes

lab1_runs() {
    service fileserver worker1 as lab1 ludwig-worker --config worker.yaml
    wait_until 30 '[ "$(sweep_state 1 as1)" = done ]'
    [ "$(find "$projects/demo/runs" -name out | wc -l)" = 2 ]
    [ -z "$(find "$projects/demo" -not -uid 2001)" ]
    [ -z "$(find "$projects/demo" -perm /007 -not -type l)" ]
}
it 'its jobs leave their files there, closed to all but the group' lab1_runs

members_look() {
    as2 ludwig jobs 1 --json | json - 'sorted(j["params"]["x"] for j in d["jobs"]) == [1, 2]'
    as2 ludwig results 1 --json | json - 'len(d["results"]) == 2'
    as2 ludwig logs 1.1 | grep -x 'x is 1'
    as2 ludwig why 1.1 | grep 'it is done'
    refused 4 'sweep 1 belongs to lab1' as2 ludwig cancel 1
    refused 4 'sweep 1 belongs to lab1' as2 ludwig retry 1
}
it 'a member of the group may look, and change nothing' members_look

strangers_only_count() {
    # uucp is on every Debian, and no member of the group.
    stranger() { on fileserver setpriv --reuid=uucp --regid=uucp --clear-groups env HOME=/tmp "$@"; }
    server=unix:/srv/research_data/.ludwig/server.sock
    stranger ludwig --server $server status 1 --json | json - 'd["jobs"]["done"] == 2'
    refused 4 'you may see only how far it is' stranger ludwig --server $server jobs 1
    refused 4 'you may see only how far it is' stranger ludwig --server $server results 1
    refused 4 'you may see only how far it is' stranger ludwig --server $server why 1.1
    refused 4 'you may see only how far it is' stranger ludwig --server $server logs 1.1
}
it 'others see that it exists and how far it is' strangers_only_count

anothers() {
    sweep lab2 demo
    submits lab2 --dry-run | grep -qx 'project *demo.lab2'
    submits lab2 >out 2>&1
    grep -qx "note: project demo is another user's; yours is demo.lab2" out
    id=$(sed -n 's/^sweep \([0-9]*\): .* project demo.lab2$/\1/p' out)
    [ "$(look lab/demo)" = 'lab1:lab 2750' ]
    [ "$(look lab/demo.lab2)" = 'lab2:lab 2750' ]
    # Its user means it by either name, the other one theirs.
    for name in demo demo.lab2; do
        as2 ludwig status --project $name --json | json - "[s['sweep'] for s in d['sweeps']] == [$id]"
    done
    as1 ludwig status --project demo --json | json - "[s['sweep'] for s in d['sweeps']] == [1]"
    as2 ludwig data push work/sweep.yaml --project demo 2>&1 | grep 'in project demo.lab2'
    as2 ludwig data ls --project demo --json | json - "{x['project'] for x in d['data']} == {'demo.lab2'}"
    as2 ludwig cancel "$id"
    as2 ludwig rm demo --yes
    [ "$(look lab/demo)" = 'lab1:lab 2750' ]
    as1 ludwig results 1 --json | json - 'len(d["results"]) > 0'
    sweep lab1 demo.lab2
    refused 4 'names that end in .lab2 are kept for that user' submits lab1
}
it 'a second user may have a project of the same name, and means the own one by it' anothers

private() {
    sweep lab1 own 'private: true'
    submits lab1 --wait >out
    id=$(sed -n 's/^sweep \([0-9]*\): .* project own$/\1/p' out)
    [ "$(on fileserver stat -c '%U %a' /srv/research_data/lab/own)" = 'lab1 700' ]
    as2 ludwig status "$id" --json | json - 'd["state"] == "done" and d["jobs"]["done"] == 2'
    refused 4 'you may see only how far it is' as2 ludwig jobs "$id"
    refused 4 'you may see only how far it is' as2 ludwig results "$id"
    refused 4 'you may see only how far it is' as2 ludwig logs "$id.1"
    not as2 ls /srv/research_data/lab/own
    as1 ludwig jobs "$id" --json | json - 'len(d["jobs"]) == 2'
    for admin in root ludwig; do
        on fileserver as $admin ludwig --server unix:/srv/research_data/.ludwig/server.sock jobs "$id"
    done
    on fileserver as ludwig ludwig --server unix:/srv/research_data/.ludwig/server.sock retry "$id"
    sweep lab1 demo 'private: true'
    refused 2 'close it with chmod 700' submits lab1
}
it 'a private project is closed to the group, too' private

shared() {
    as1 chmod 2770 /srv/research_data/lab/demo
    sweep lab1 demo
    submits lab1 --reps 2 --wait
    [ "$(look lab/demo)" = 'lab1:lab 2770' ]
    as1 chmod 0700 /srv/research_data/lab/demo
    refused 4 'you may see only how far it is' as2 ludwig jobs 1
    submits lab1 --reps 3 --wait
    [ "$(look lab/demo)" = 'lab1:lab 2700' ]
    as1 chmod 2750 /srv/research_data/lab/demo
}
it 'modes that the owner sets stay, and say who may look' shared

# The group's bits of the mode are the list's mask then, and ls is refused to lab2.
listed() {
    as1 python3 -c 'import os, struct, sys
entries = [(1, 7, -1), (2, 5, 65534), (4, 0, -1), (16, 5, -1), (32, 0, -1)]
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries))' \
        /srv/research_data/lab/demo
    [ "$(look lab/demo)" = 'lab1:lab 2750' ]
    not as2 ls /srv/research_data/lab/demo
    refused 4 'you may see only how far it is' as2 ludwig jobs 1
    as1 python3 -c 'import os, sys; os.removexattr(sys.argv[1], "system.posix_acl_access")' /srv/research_data/lab/demo
    as1 chmod 2750 /srv/research_data/lab/demo
    as2 ludwig jobs 1
}
it 'an access control list counts as it does for the kernel' listed

new_state() {
    service_stop fileserver ludwigd
    on fileserver mv /var/lib/ludwig /var/lib/ludwig.old
    ludwigd_as root
    sweep lab2 demo
    submits lab2 2>&1 | grep 'project demo.lab2$'
    on fileserver install -d -o lab2 -g lab /srv/research_data/lab/byhand
    sweep lab1 byhand
    submits lab1 2>&1 | grep 'project byhand.lab1$'
    sweep lab1 demo
    submits lab1
    sweep lab2 byhand
    submits lab2
}
it 'a folder says whose the project is, when the database has forgotten' new_state

# Whatever a user puts in the way, root gives nothing of anybody's away.
links() {
    on fileserver chmod 1777 /srv/research_data/lab
    as2 ln -s /srv/research_data/lab/demo /srv/research_data/lab/link
    sweep lab2 link
    refused 4 'is no folder but a link' submits lab2
    as2 touch /srv/research_data/lab/file
    sweep lab2 file
    refused 4 'is no folder' submits lab2
    [ "$(look lab/demo)" = 'lab1:lab 2750' ]
    on fileserver chmod 0755 /srv/research_data/lab
}
it 'links and files in its place are refused' links

without_fsetid() {
    service_stop fileserver ludwigd
    service fileserver ludwigd setpriv --bounding-set=-fsetid ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 10 is_up
    sweep lab1 bare
    refused 4 'got the mode 0750 and not 2750: ludwigd needs the capability CAP_FSETID' submits lab1
    not look lab/bare
}
it 'ludwigd without the right to set a group makes no folder that lacks it' without_fsetid

service_stop fileserver worker1
service_stop fileserver ludwigd

# ---- ludwigd as a service user ----

on fileserver sh -c 'rm -rf /run/service/ludwigd /srv/research_data/lab /srv/research_data/.ludwig
    install -d -o ludwig -g ludwig -m 0700 /var/lib/service'
conf 'share_group: lab' 'state: /var/lib/service'

service_needs() {
    refused 4 '/srv/research_data/.ludwig' on fileserver as ludwig ludwigd --config /etc/ludwig/ludwigd.yaml
    on fileserver mkdir /srv/research_data/.ludwig
    refused 4 '/srv/research_data/.ludwig belongs to root' on fileserver as ludwig ludwigd --config /etc/ludwig/ludwigd.yaml
}
it 'a service user says what it lacks on the share' service_needs

on fileserver sh -c 'chown ludwig: /srv/research_data/.ludwig; mkdir /srv/research_data/lab
    for user in lab1 lab2; do echo "server_user: ludwig" >>/home/$user/.config/ludwig/config.yaml; done'
ludwigd_as ludwig

client_makes() {
    sweep lab1 demo
    refused 4 "make the project's folder" submits lab1
    grep -q 'projects:' refusal
    on fileserver sh -c 'chgrp lab /srv/research_data/lab && chmod 3775 /srv/research_data/lab'
    submits lab1
    [ "$(look lab/demo)" = 'lab1:lab 2770' ]
    sweep lab2 demo
    submits lab2
    [ "$(look lab/demo.lab2)" = 'lab2:lab 2770' ]
    sweep lab2 own 'private: true'
    submits lab2
    [ "$(on fileserver stat -c '%U %a' /srv/research_data/lab/own)" = 'lab2 700' ]
}
it 'then the client makes the folder, as ludwigd says' client_makes

service_runs() {
    conf 'share_group: lab' 'state: /var/lib/service' 'worker_users: [ludwig]'
    service_stop fileserver ludwigd
    ludwigd_as ludwig
    printf '%s\n' 'server: unix:/srv/research_data/.ludwig/server.sock' 'share: /srv/research_data' 'name: service' \
        'scratch: /processing/{user}' 'state: /var/lib/service/worker' 'resources: {cpus: 4, gpus: 0}' |
        write_on fileserver as ludwig /var/lib/service/worker.yaml
    sweep lab1 demo
    echo 'mkdir "$LUDWIG_PROJECT_PATH/made.$1" && echo x >"$LUDWIG_PROJECT_PATH/made.$1/file"' |
        write_on fileserver as lab1 /home/lab1/work/run.sh
    service fileserver worker2 as ludwig ludwig-worker --config /var/lib/service/worker.yaml
    submits lab1 --wait
    [ "$(look lab/demo/made.1)" = 'ludwig:lab 2770' ]
    [ "$(look lab/demo/made.1/file)" = 'ludwig:lab 660' ]
    as1 sh -c 'cd /srv/research_data/lab/demo && echo y >made.1/file && rm -r made.2'
}
it 'a service account leaves to the group what jobs of others make' service_runs

one_account() {
    grep -q one-account <(service_log fileserver worker2)
    as1 ludwig nodes --json >nodes
    json nodes '{n["node"]: n["is_one_account"] for n in d["nodes"]}["service"]'
    as1 ludwig doctor --json >found || [ $? = 1 ]
    cat found
    json found 'any("can read its worker'"'"'s key and each other'"'"'s files there: service" in c["found"] for c in d["checks"])'
}
it 'its log and doctor say that these jobs can read its key' one_account

done_testing
