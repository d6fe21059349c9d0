# lab.sh - a laboratory: five hosts in namespaces of this machine; sourced after lib.sh
#
#     . "$(dirname "$0")/lib.sh"
#     . "$TEST_ROOT/tests/functional/lab.sh"
#     lab_possible || { skip 'a sweep from the laptop' "$lab_lacks" && done_testing; }
#     lab_up jail
#
# The hosts are a file server, a laptop and three nodes: `fileserver`, `laptop`, `node1`, `node2`
# and `node3`, on one switch.  Each has its own network interface, host name, processes, boot id
# and disk.  The users are lab1 and lab2, in the group lab, and the service account ludwig.  The
# file server's /srv/research_data is mounted on the nodes at /media/research_data, and not on the
# laptop.  The laboratory changes nothing on the machine: hosts see only its /usr, and its /etc
# copy-on-write; /opt/lab has VERSION, docs, examples and these tests from the repository.
# The laboratory ends with the test, however that ends.
#
# From outside, a host's disk lies at $LAB/HOST/disk (/etc, /home, /srv, /var, /root, /media,
# /mnt, /processing), and the share at $SHARE.  Every host sees $TEST_TMP.
#
#     lab_possible               the machine has what the laboratory needs; if not, $lab_lacks says
#                                what is missing
#     lab_up MODE [HOST...]      build the laboratory, with all hosts or these, and sshd on the file
#                                server; end the test if that fails.  Not to be called in `it`,
#                                with whose subshell the laboratory would end
#     sshd_mode MODE             configure the file server's sshd and start it again:
#                                  stock           as Debian ships it
#                                  noforward       stock, and AllowTcpForwarding no
#                                  jail            lab's members jailed to SFTP in the share
#                                  jail-noforward  jail, and AllowTcpForwarding no
#                                  jail-user       jailed in /srv/sftp/USER, with the share
#                                                  mounted in it
#                                  bridge          keys of lab1, lab2 and ludwig may run
#                                                  `ludwig bridge`, which serves SFTP too,
#                                                  and nothing else
#     sshd_stop; sshd_start      stop the sshd and all its sessions; start it
#     sshd_log [PATTERN]         print the sshd's log, or the lines that match
#     on HOST [as USER] CMD...   run the command on the host, as root or USER, in the user's home
#                                and with a clean environment; it is killed when `on` is killed
#     gone_on HOST PID...        the processes on the host have ended (as gone in lib.sh)
#     write_on HOST [as USER] FILE   write standard input to the file, and make its folders
#     service HOST NAME [as USER] CMD...   start a service now and at each boot; its output goes to
#                                /var/log/NAME.log
#     service_stop HOST NAME     end the service with SIGTERM; it is not started at the next boot
#     service_kill HOST NAME     kill -9 the service's main process, and none that it started
#     service_log HOST NAME      print the service's output
#     host_kill HOST             power off: no other host is told; /run, /tmp and all processes are
#                                gone
#     host_boot HOST             power on: mounts and services come back
#     cable out|in HOST          unplug the host's cable at the switch; plug it in
#     delay HOST MS [LOSS%]      set the round trip time and the packet loss of the host's cable;
#                                `delay HOST off` takes both away
#     clock_off HOST SECONDS     set the host's clock wrong by so much, for programs started from
#                                now on
#     mount_share HOST; unmount_share HOST
#
# For ludwig:
#
#     lab_server [LINE...]       start ludwigd on the file server, as root, with the usual
#                                ludwigd.yaml and these lines
#     lab_worker HOST [LINE...]  start a worker on the node, as root, with the usual worker.yaml and
#                                these lines
#     lab_client USER [LINE...]  write USER's config.yaml on the laptop
#     lab_ready N                wait until N workers are up
#     admin COMMAND...           run ludwig as root on the file server
#     as_user USER COMMAND...    run a command on the laptop; `submit` and the other functions of
#                                lib.sh that call ludwig do so as lab1
#     lab_logs                   print the last lines of all hosts' logs, for a test that failed
set -u

LAB=$TEST_TMP/lab
SHARE=$LAB/fileserver/disk/srv/research_data
lab_hosts=(fileserver laptop node1 node2 node3)
lab_net=10.77.0
lab_tools=$TEST_ROOT/build/lab
lab_lacks=''

# The uid of each user, which is also the gid of the user's own group.
declare -A lab_users=([lab1]=2001 [lab2]=2002 [ludwig]=2100)
lab_gid=2000

# ---- is it possible ----

lab_try() { # WHAT IT TAKES: COMMAND...
    local what=$1
    shift
    "$@" >"$TEST_TMP/lab_try" 2>&1 || {
        lab_lacks="takes $what"
        return 1
    }
}

lab_namespaces() {
    unshare -m -u -i -n -p -f --mount-proc --propagation private sh -ec '
        ip link add name br0 type bridge
        ip link add name v0 type veth peer name eth0
        mount -t tmpfs lab /run && mkdir /run/u /run/w
        mount -t overlay -o lowerdir=/etc,upperdir=/run/u,workdir=/run/w lab /etc
        ip tuntap add dev t0 mode tap'
}

lab_possible() {
    lab_try root test "$(id -u)" = 0 &&
        lab_try 'ip (iproute2)' command -v ip &&
        lab_try 'sshd (openssh-server)' command -v /usr/sbin/sshd &&
        lab_try 'ssh, sftp and ssh-keygen (openssh-client)' command -v ssh sftp ssh-keygen &&
        lab_try 'namespaces, overlayfs and /dev/net/tun' lab_namespaces &&
        lab_try 'what `make lab-tools` builds' make -s -C "$TEST_ROOT" lab-tools
}

# ---- hosts ----

lab_pid() { # HOST
    cat "$LAB/$1/pid" 2>/dev/null || {
        echo "$1 is off" >&2
        return 1
    }
}

lab_index() { # HOST
    local i
    for i in "${!lab_hosts[@]}"; do
        [ "${lab_hosts[i]}" != "$1" ] || echo "$i"
    done
}

switch() { # COMMAND...: run it in the switch's network namespace, where the cables end
    nsenter -t "$(lab_pid hub)" -n "$@"
}

# Starts the switch, the first process of a pid namespace that holds all hosts: all their processes
# end with it.  The switch is killed when this shell ends, even by kill -9.
lab_hub() {
    mkdir -p "$LAB/hub"
    setpriv --pdeathsig KILL unshare -m -n -p -f --kill-child --propagation private bash -ec '
        read -r pid _ </proc/self/stat
        ip link set lo up
        ip link add br0 type bridge
        ip link set br0 up
        echo "$pid" >"$1.new" && mv "$1.new" "$1"
        mkfifo "$1.never"
        exec <>"$1.never" >/dev/null 2>&1
        while :; do read -r; done' hub "$LAB/hub/pid" 2>"$LAB/hub/log" &
    disown
    wait_until 10 test -s "$LAB/hub/pid"
}

lab_down() {
    [ ! -s "$LAB/hub/pid" ] || kill -KILL "$(cat "$LAB/hub/pid")" 2>/dev/null
}
trap 'lab_down; test_cleanup' EXIT

# Connects a host to the switch by a new cable.  The host keeps its hardware address, which other
# hosts remember.
lab_cable() { # HOST
    local i pid
    i=$(lab_index "$1")
    pid=$(lab_pid "$1")
    switch ip link add "v$i" type veth peer name eth0 netns "$pid" &&
        switch ip link set "v$i" master br0 up &&
        nsenter -t "$pid" -n ip addr add "$lab_net.$((i + 1))/24" dev eth0 &&
        nsenter -t "$pid" -n ip link set eth0 address "02:00:00:00:00:0$i" up
}

lab_start() { # HOST
    local host=$1 hub
    hub=$(lab_pid hub) || return
    mkdir -p "$LAB/$host/disk/etc" "$LAB/$host/disk/.etc" "$LAB/$host/root"
    rm -f "$LAB/$host/pid"
    nsenter -t "$hub" -m -n -p unshare -m -u -i -n -p -f --kill-child --propagation private \
        bash "$TEST_ROOT/tests/lab/host.sh" "$LAB" "$host" </dev/null >"$LAB/$host/log" 2>&1 &
    disown
    wait_until 20 test -s "$LAB/$host/pid" && lab_cable "$host" && return
    cat "$LAB/$host/log" >&2
    return 1
}

host_boot() { # HOST
    lab_start "$1" || return
    [ ! -e "$LAB/$1/mounts_share" ] || mount_share "$1" || return
    local name user command
    while IFS=$'\t' read -r name user command; do
        lab_run_service "$1" "$name" "$user" "$command" || return
    done <"$LAB/$1/services"
}

host_kill() { # HOST
    local pid
    pid=$(lab_pid "$1") || return
    # The cable goes first, so that no packet of a dying process gets out.
    switch ip link del "v$(lab_index "$1")" &&
        kill -KILL "$pid" && wait_until 10 gone "$pid" && rm "$LAB/$1/pid"
}

gone_on() { # HOST PID...
    on "$1" bash -c "$(declare -f gone); gone \"\$@\"" - "${@:2}"
}

on() { # HOST [as USER] COMMAND...
    local host=$1 user=root pid home
    shift
    [ "$1" != as ] || {
        user=$2
        shift 2
    }
    pid=$(lab_pid "$host") || return
    home=/home/$user
    local variables=()
    [ "$user" != root ] || home=/root
    [ -z "${lab_users[$user]-}" ] || variables=(XDG_RUNTIME_DIR="/run/user/${lab_users[$user]}")
    # setpriv runs in the host's mount namespace, where /etc/passwd has the host's users.
    nsenter -t "$pid" -m -u -i -n -p setpriv --reuid="$user" --regid="$user" --init-groups \
        --pdeathsig KILL env -i -C "$home" HOME="$home" USER="$user" LOGNAME="$user" \
        SHELL=/bin/bash LC_ALL=C \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" "${variables[@]}" "$@"
}

write_on() { # HOST [as USER] FILE
    local file=${!#}
    # shellcheck disable=SC2016
    on "${@:1:$#-1}" sh -ec 'mkdir -p "$(dirname "$1")" && cat >"$1"' sh "$file"
}

# ---- services ----

lab_run_service() { # HOST NAME USER COMMAND
    on "$1" sh -ec ': >>"$1" && chown "$2" "$1"' sh "/var/log/$2.log" "$3" &&
        on "$1" as "$3" env -u XDG_RUNTIME_DIR setsid -f bash -c \
            "echo \$\$ >/run/service/$2 && exec $4 >>/var/log/$2.log 2>&1 </dev/null"
}

service() { # HOST NAME [as USER] COMMAND...
    local host=$1 name=$2 user=root command
    shift 2
    [ "$1" != as ] || {
        user=$2
        shift 2
    }
    command=$(printf '%q ' "$@")
    # host_boot reads name, user and command from the columns of this file.
    sed -i "/^$name\t/d" "$LAB/$host/services" &&
        printf '%s\t%s\t%s\n' "$name" "$user" "$command" >>"$LAB/$host/services" &&
        lab_run_service "$host" "$name" "$user" "$command" &&
        wait_until 5 on "$host" test -s "/run/service/$name"
}

lab_service_pid() { # HOST NAME
    on "$1" cat "/run/service/$2"
}

lab_service_end() { # HOST NAME SIGNAL
    local pid
    pid=$(lab_service_pid "$1" "$2") && on "$1" kill "-$3" "$pid" &&
        wait_until 20 not on "$1" kill -0 "$pid" 2>/dev/null
}

service_stop() { # HOST NAME
    sed -i "/^$2\t/d" "$LAB/$1/services"
    lab_service_end "$1" "$2" TERM
}

service_kill() { # HOST NAME
    lab_service_end "$1" "$2" KILL
}

service_log() { # HOST NAME
    cat "$LAB/$1/disk/var/log/$2.log"
}

# ---- the network, the clock and the share ----

cable() { # out|in HOST
    local i
    i=$(lab_index "$2")
    case $1 in
    out) switch ip link set "v$i" down ;;
    in) switch ip link set "v$i" up ;;
    esac
}

# Connects the host's cable to a bridge of its own, which `link` connects to the switch.
delay() { # HOST MS|off [LOSS%]
    local i
    i=$(lab_index "$1")
    if [ -s "$LAB/$1/link" ]; then
        switch ip link set "v$i" master br0
        nsenter -t "$(lab_pid hub)" -p kill "$(cat "$LAB/$1/link")"
        rm "$LAB/$1/link"
        switch ip link del "b$i"
        # The kernel removes both devices a moment after the end of the process of `link`.
        wait_until 20 not switch ip link show "a$i" >/dev/null 2>&1
        wait_until 20 not switch ip link show "z$i" >/dev/null 2>&1
    fi
    [ "$2" != off ] || return 0
    nsenter -t "$(lab_pid hub)" -n -p "$lab_tools/link" "a$i" "z$i" $(($2 * 500)) "${3:-0}" \
        >"$LAB/$1/link" </dev/null &
    disown
    wait_until 5 test -s "$LAB/$1/link" &&
        switch ip link add "b$i" type bridge &&
        switch ip link set "b$i" up &&
        switch ip link set "a$i" txqueuelen 10000 master br0 up &&
        switch ip link set "z$i" txqueuelen 10000 master "b$i" up &&
        switch ip link set "v$i" master "b$i"
}

clock_off() { # HOST SECONDS
    echo "$2" | write_on "$1" /etc/clock_off
    echo /opt/lab/clock.so | write_on "$1" /etc/ld.so.preload
}

mount_share() { # HOST
    touch "$LAB/$1/mounts_share"
    on "$1" mkdir -p /media/research_data
    on "$1" mount --bind "$SHARE" /media/research_data
}

unmount_share() { # HOST
    rm "$LAB/$1/mounts_share"
    on "$1" umount -l /media/research_data
}

# ---- accounts, names and keys ----

lab_accounts() { # the files of /etc about users, in the current folder
    local user
    awk -F: '$3 < 1000 || $3 == 65534' /etc/passwd >passwd
    awk -F: '$3 < 1000 || $3 == 65534' /etc/group >group
    awk -F: '{ print $1 ":*:20000:0:99999:7:::" }' passwd >shadow
    for user in "${!lab_users[@]}"; do
        local uid=${lab_users[$user]}
        echo "$user:x:$uid:$uid::/home/$user:/bin/bash" >>passwd
        echo "$user:x:$uid:" >>group
        echo "$user:*:20000:0:99999:7:::" >>shadow
    done
    # The service account shares files with the users, but is not one of them for sshd.
    echo "lab:x:$lab_gid:lab1,lab2,ludwig" >>group
    chmod 0640 shadow
}

lab_names() {
    local host
    echo '127.0.0.1 localhost'
    for host in "${lab_hosts[@]}"; do
        echo "$lab_net.$(($(lab_index "$host") + 1)) $host"
    done
}

lab_etc() { # the other files of /etc, in the current folder
    echo 'passwd: files
group: files
shadow: files
hosts: files' >nsswitch.conf
    : >resolv.conf
    lab_names >hosts
    printf 'Include /etc/ssh/ssh_config.d/*.conf\nHost *\n    HashKnownHosts yes\n' >ssh_config
}

lab_key() { # FILE TYPE COMMENT
    ssh-keygen -q -t "$2" -N '' -C "$3" -f "$1"
}

# Makes a key for each user, which is in the user's home on all hosts (root has ludwig's key), and
# the file server's host key with a known_hosts for it.
lab_keys() {
    local user
    for user in "${!lab_users[@]}"; do
        lab_key "$LAB/keys/$user" ed25519 "$user" || return
    done
    lab_key "$LAB/keys/host" ed25519 fileserver
    { printf '%s ' "fileserver,$lab_net.1" && cat "$LAB/keys/host.pub"; } >"$LAB/keys/known_hosts"
    ssh-keygen -q -H -f "$LAB/keys/known_hosts" >/dev/null 2>&1
    rm -f "$LAB/keys/known_hosts.old"
    chmod 0644 "$LAB/keys/known_hosts"
}

lab_settle() { # HOST: set up a new host's disk
    local host=$1
    on "$host" bash -ec '
        lab=$1 host=$2
        cd /etc
        # A message of the day takes five processes for each login.
        rm -rf ssh ludwig hosts resolv.conf hostname machine-id ld.so.preload update-motd.d
        mkdir -p ssh/ssh_config.d ssh/sshd_config.d ludwig
        cp "$lab"/etc/{passwd,group,shadow,nsswitch.conf,hosts,resolv.conf} .
        cp "$lab/etc/ssh_config" ssh/ssh_config
        chgrp shadow shadow 2>/dev/null || true
        echo "$host" >hostname
        tr -d - </proc/sys/kernel/random/uuid >machine-id
        ssh_home() { # USER KEY HOME
            install -d -m 0700 -o "$1" -g "$1" "$3" "$3/.ssh"
            install -m 0600 -o "$1" -g "$1" "$lab/keys/$2" "$3/.ssh/id_ed25519"
            install -m 0644 -o "$1" -g "$1" "$lab/keys/$2.pub" "$3/.ssh/id_ed25519.pub"
            install -m 0644 -o "$1" -g "$1" "$lab/keys/known_hosts" "$3/.ssh/known_hosts"
        }
        for user in lab1 lab2 ludwig; do
            ssh_home $user $user /home/$user
            install -d -m 0700 -o $user -g $user /processing/$user
        done
        chmod 0755 /processing
        ssh_home root ludwig /root
    ' bash "$LAB" "$host" 2>&1
}

# ---- sshd ----

sshd_config() { # MODE
    cat <<'CONFIG'
Include /etc/ssh/sshd_config.d/*.conf
KbdInteractiveAuthentication no
UsePAM yes
X11Forwarding yes
PrintMotd no
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
CONFIG
    # OpenSSH 9.8 and newer would refuse logins for a while after those that are meant to fail.
    ! on fileserver /usr/sbin/sshd -t -f /dev/null -o 'PerSourcePenalties no' 2>/dev/null ||
        echo 'PerSourcePenalties no'
    case $1 in
    stock | bridge) ;;
    noforward) echo 'AllowTcpForwarding no' ;;
    jail*)
        printf 'Match Group lab User *,!ludwig\n    ForceCommand internal-sftp\n    X11Forwarding no\n'
        case $1 in
        jail | jail-noforward) echo '    ChrootDirectory /srv/research_data' ;;
        jail-user) echo '    ChrootDirectory /srv/sftp/%u' ;;
        esac
        [ "$1" != jail-noforward ] || echo '    AllowTcpForwarding no'
        ;;
    *)
        echo "lab: no mode $1" >&2
        return 1
        ;;
    esac
}

lab_authorize() { # MODE
    local user options=''
    [ "$1" != bridge ] || options='restrict,command="ludwig bridge" '
    for user in "${!lab_users[@]}"; do
        { printf '%s' "$options" && cat "$LAB/keys/$user.pub"; } |
            write_on fileserver as "$user" "/home/$user/.ssh/authorized_keys" || return
    done
}

lab_user_jails() {
    on fileserver sh -ec '
        for user in lab1 lab2; do
            mkdir -p /srv/sftp/$user/research_data
            mountpoint -q /srv/sftp/$user/research_data ||
                mount --bind /srv/research_data /srv/sftp/$user/research_data
        done'
}

sshd_stop() {
    on fileserver sh -c '! [ -s /run/sshd.pid ] || kill $(cat /run/sshd.pid)
        rm -f /run/sshd.pid; while pkill "^sshd"; do sleep 0.02; done'
}

sshd_start() {
    # sshd writes its pid once it listens.
    on fileserver /usr/sbin/sshd -f /etc/ssh/sshd_config -E /var/log/sshd.log &&
        wait_until 10 on fileserver test -s /run/sshd.pid
}

sshd_mode() { # MODE
    sshd_stop
    sshd_config "$1" | write_on fileserver /etc/ssh/sshd_config &&
        lab_authorize "$1" || return
    [ "$1" != jail-user ] || lab_user_jails || return
    sshd_start
}

sshd_log() { # [PATTERN]
    grep -e "${1-}" "$LAB/fileserver/disk/var/log/sshd.log"
}

# Writes what Debian's pam-auth-update writes, as it was not run in every machine's image.
lab_pam() {
    on fileserver sh -ec '
        cd /etc/pam.d
        echo "auth required pam_unix.so" >common-auth
        echo "account required pam_unix.so" >common-account
        echo "session required pam_unix.so" >common-session
        cp common-session common-session-noninteractive
        echo "password required pam_unix.so yescrypt" >common-password'
}

# ---- the whole laboratory ----

lab_files() {
    mkdir -p "$LAB"/{bin,lib,keys,etc} || return
    chmod 0755 "$TEST_TMP"
    chmod 0700 "$LAB"
    cp "$LUDWIG_BIN"/ludwig "$LUDWIG_BIN"/ludwigd "$LUDWIG_BIN"/ludwig-worker "$LAB/bin"
    cp "$lab_tools"/* "$LAB/lib"
    # Copies the files, as users may not be allowed to enter the folders above the repository.
    (cd "$TEST_ROOT" && cp -r --parents VERSION docs examples tests/functional tests/lab "$LAB/lib") &&
        chmod -R a+rX "$LAB/lib" || return
    printf '%s\n' "${lab_users[@]}" >"$LAB/uids"
    (cd "$LAB/etc" && lab_accounts && lab_etc) && lab_keys
}

lab_up() { # MODE [HOST...]
    if [ "$BASHPID" != $$ ] || ! lab_build "$@"; then
        echo '# the laboratory does not stand' >&2
        exit 1
    fi
}

lab_build() { # MODE [HOST...]
    local mode=$1 host
    shift
    [ $# != 0 ] || set -- "${lab_hosts[@]}"
    lab_files && lab_hub || return
    for host; do
        mkdir -p "$LAB/$host"
        : >"$LAB/$host/services"
        lab_start "$host" && lab_settle "$host" || return
    done
    on fileserver sh -ec 'install -m 0600 "$1/keys/host" /etc/ssh/ssh_host_ed25519_key
        install -m 0644 "$1/keys/host.pub" /etc/ssh/ssh_host_ed25519_key.pub
        install -d -m 0755 /srv/research_data' sh "$LAB" && lab_pam || return
    for host; do
        case $host in
        node*) mount_share "$host" || return ;;
        esac
    done
    sshd_mode "$mode"
}

# ---- ludwig ----

lab_server() { # [LINE...]
    {
        printf '%s\n' 'share: /srv/research_data' 'share_group: lab' 'state: /var/lib/ludwig' \
            'worker_users: [ludwig]' \
            'sockets: [/srv/research_data/.ludwig/server.sock, /run/ludwig/server.sock]'
        printf '%s\n' "$@"
    } | write_on fileserver /etc/ludwig/ludwigd.yaml &&
        service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml &&
        wait_until 10 on fileserver test -S /srv/research_data/.ludwig/server.sock
}

lab_worker() { # HOST [LINE...]
    local host=$1
    shift
    {
        printf '%s\n' 'server: ssh://ludwig@fileserver' 'share: /media/research_data' \
            'scratch: /processing/{user}' 'state: /var/lib/ludwig'
        # The tests' jobs use $TEST_TMP, which lies in /tmp.
        case "$*" in *private_tmp*) ;; *) echo 'private_tmp: no' ;; esac
        printf '%s\n' "$@"
    } | write_on "$host" /etc/ludwig/worker.yaml &&
        service "$host" worker ludwig-worker --config /etc/ludwig/worker.yaml
}

lab_client() { # USER [LINE...]
    local user=$1
    shift
    printf '%s\n' "server: ssh://$user@fileserver" "$@" |
        write_on laptop as "$user" "/home/$user/.config/ludwig/config.yaml"
}

admin() { # COMMAND...
    on fileserver ludwig --server unix:/srv/research_data/.ludwig/server.sock "$@"
}

lab_ready() { # N
    wait_until 30 '[ "$(admin nodes --state up --quiet | wc -l)" = '"$1"' ]'
}

as_user() { # USER COMMAND...
    on laptop as "$@"
}

ludwig() {
    on laptop as lab1 ludwig "$@"
}

lab_logs() {
    tail -n 20 "$LAB"/*/disk/var/log/{ludwigd,worker,sshd}.log 2>/dev/null
}
