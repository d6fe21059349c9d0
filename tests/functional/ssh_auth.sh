#!/bin/bash
# ssh_auth.sh - is it the host it should be, and who are we: over a real sshd
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/sshd.sh"

sshd_possible || {
    skip 'host keys and authentication' "$sshd_lacks"
    done_testing
}
terminal=$TEST_ROOT/tests/functional/terminal.py
me=$(id -un)

configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
ludwig up 2>/dev/null
socket=$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")
sshd_up srv
cp "$HOME/.ssh/known_hosts" known
entry="[127.0.0.1]:$(sshd_port srv)"

far() { # COMMAND...
    ludwig_wait --server "ssh://srv$socket" "$@"
}

# One line, exit code 4, these words; and nothing was let through.
denied() { # WORDS... -- COMMAND...
    local status=0 words=()
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    timeout 300 "$@" >out 2>err </dev/null || status=$?
    cat out err
    [ "$status" = 4 ]
    [ "$(wc -l <err)" = 1 ]
    for word in "${words[@]}"; do
        grep -qE -e "$word" err
    done
}

fingerprint() { # FILE
    ssh-keygen -lf "$1" | cut -d' ' -f2
}

# ---- host keys ----

unknown() {
    : >"$HOME/.ssh/known_hosts"
    denied 'not known' 'ssh-ed25519' 'ssh srv' -- ludwig --server "ssh://srv$socket" status
    grep -qF "$(fingerprint "$SSHD/srv/hostkey.pub")" err
    [ ! -s "$HOME/.ssh/known_hosts" ]
}
it 'an unknown host is refused with its fingerprint and the command that accepts it' unknown

kept_nowhere() {
    cp "$HOME/.ssh/config" config
    for files in /dev/null none; do
        ssh_config 'Host srv' "    UserKnownHostsFile $files"
        denied 'keeps no host keys of it: name a file as its UserKnownHostsFile' 'accept it, once, with: ssh srv' \
            -- ludwig --server "ssh://srv$socket" status || status=$?
        cp config "$HOME/.ssh/config"
    done
    [ -z "${status-}" ]
}
it 'where ssh keeps no host keys, that is to be mended first' kept_nowhere

no_switch() {
    cp "$HOME/.ssh/config" config
    for value in no off accept-new; do
        ssh_config 'Host srv' "    StrictHostKeyChecking $value"
        denied 'not known' -- ludwig --server "ssh://srv$socket" status || status=$?
        cp config "$HOME/.ssh/config"
    done
    [ -z "${status-}" ]
    [ ! -s "$HOME/.ssh/known_hosts" ]
}
it 'no value of StrictHostKeyChecking makes it one that is taken' no_switch

accepted() {
    local command
    denied 'accept it' -- ludwig --server "ssh://srv$socket" status
    command=$(sed 's/.*once, with: //' err)
    # what the user does: run it, compare, say yes
    python3 -S "$terminal" 24x200 --type 'continue connecting' 'yes\r' \
        ${command/#ssh/ssh -F "$HOME/.ssh/config"} true || true # which key it takes is another matter
    far status
}
it 'that command makes it known' accepted

hashed() {
    cp known "$HOME/.ssh/known_hosts"
    ssh-keygen -q -H -f "$HOME/.ssh/known_hosts" 2>/dev/null
    grep -q '^|1|' "$HOME/.ssh/known_hosts"
    not grep -qF 127.0.0.1 "$HOME/.ssh/known_hosts"
    far status
}
it 'a host is known by a hashed name' hashed

several_files() {
    : >"$HOME/.ssh/known_hosts"
    cp known known2
    ssh_config 'Host srv' "    UserKnownHostsFile $HOME/.ssh/known_hosts $PWD/known2"
    far status
    ssh_config 'Host srv' "    UserKnownHostsFile $HOME/.ssh/known_hosts" "    GlobalKnownHostsFile $PWD/known2"
    far status
    cp config "$HOME/.ssh/config"
    cp known "$HOME/.ssh/known_hosts"
}
it 'by a second file of the user, and by that of the machine' several_files

pattern() {
    echo "*.0.0.1,[127.0.0.*]:$(sshd_port srv) $(cut -d' ' -f1,2 "$SSHD/srv/hostkey.pub")" >"$HOME/.ssh/known_hosts"
    far status
    cp known "$HOME/.ssh/known_hosts"
}
it 'by a pattern' pattern

by_alias() {
    echo "the-server $(cut -d' ' -f1,2 "$SSHD/srv/hostkey.pub")" >"$HOME/.ssh/known_hosts"
    ssh_config 'Host srv' '    HostKeyAlias the-server'
    far status
    cp config "$HOME/.ssh/config"
    cp known "$HOME/.ssh/known_hosts"
}
it 'by the name of HostKeyAlias' by_alias

changed() {
    local command
    ssh-keygen -q -t ed25519 -N '' -f other
    echo "$entry $(cut -d' ' -f1,2 other.pub)" >"$HOME/.ssh/known_hosts"
    denied 'another one' 'listening in' 'ssh-keygen -f' -- ludwig --server "ssh://srv$socket" status
    grep -qF "$(fingerprint "$SSHD/srv/hostkey.pub")" err
    command=$(sed 's/.*confirms the fingerprint: //; s/, then ssh.*//' err)
    eval "$command"
    denied 'not known' -- ludwig --server "ssh://srv$socket" status
    cp known "$HOME/.ssh/known_hosts"
}
it 'a changed host key is refused with its fingerprint, and the command that forgets the old one works' changed

other_type() {
    ssh-keygen -q -t rsa -b 2048 -N '' -f "$SSHD/srv/rsakey"
    echo "HostKey $SSHD/srv/rsakey" >>"$SSHD/srv/sshd_config"
    sshd_down srv
    sshd_start srv
    echo "$entry $(cut -d' ' -f1,2 "$SSHD/srv/rsakey.pub")" >"$HOME/.ssh/known_hosts"
    far status
    far doctor | grep -q 'host key is known: ssh-rsa SHA256:'
    ssh-keygen -q -t ecdsa -N '' -f ecdsa
    echo "$entry $(cut -d' ' -f1,2 ecdsa.pub)" >"$HOME/.ssh/known_hosts"
    denied 'a key of another type' -- ludwig --server "ssh://srv$socket" status
    cp known "$HOME/.ssh/known_hosts"
}
it 'of a host with several keys the known one is asked for; one of a type that is not known is refused' other_type

revoked() {
    { cat known; echo "@revoked * $(cut -d' ' -f1,2 "$SSHD/srv/hostkey.pub")"; } >"$HOME/.ssh/known_hosts"
    denied 'marked as revoked' -- ludwig --server "ssh://srv$socket" status
    cp known "$HOME/.ssh/known_hosts"
}
it 'a key that is marked as revoked is refused, though it is known' revoked

strange_lines() {
    { printf '# a comment\n\nnonsense\n%s sk-ssh-ed25519@openssh.com AAAA\n@cert-authority * ssh-rsa AAAA\n' "$entry"; cat known; } >"$HOME/.ssh/known_hosts"
    far status
    cp known "$HOME/.ssh/known_hosts"
}
it 'lines that are not understood do not hide the others' strange_lines

# ---- keys ----

wrong_key() {
    cp "$SSHD/srv/authorized_keys" authorized
    ssh-keygen -q -t ed25519 -N '' -f stranger
    cp stranger.pub "$SSHD/srv/authorized_keys"
    denied "lets nobody in as $me" 'it takes publickey' "key $HOME/.ssh/id_ed25519 \(refused\)" 'ssh-copy-id' \
        -- ludwig --server "ssh://srv$socket" status
    cp authorized "$SSHD/srv/authorized_keys"
}
it 'a key that is not accepted is named, and what would be' wrong_key

# So much data that further connections are made for them.
truncate -s 40M large
printf '%s\n' 'project: demo' 'command: "true"' 'source: []' 'data: [large]' >large.yaml

turned_away() { # how often somebody tried, and did not get in
    sshd_log srv | grep -c 'authenticating user' || true
}

shown_once() {
    local before
    before=$(turned_away)
    cp stranger.pub "$SSHD/srv/authorized_keys"
    denied "lets nobody in as $me" -- ludwig --server "ssh://srv$socket" submit large.yaml
    wait_until 10 '[ "$(turned_away)" -gt '"$before"' ]'
    sshd_log srv | tail -n 20
    [ "$(turned_away)" = $((before + 1)) ]
    cp authorized "$SSHD/srv/authorized_keys"
}
it 'sshd is shown it once, however many connections are wanted' shown_once

no_key() {
    ssh_config 'Host srv' '    IdentityFile none'
    mv "$HOME/.ssh/id_ed25519" "$HOME/.ssh/id_ed25519.pub" .
    denied 'tried: nothing' 'ssh-keygen, then ssh-copy-id' -- ludwig --server "ssh://srv$socket" status || status=$?
    mv id_ed25519 id_ed25519.pub "$HOME/.ssh/"
    cp config "$HOME/.ssh/config"
    [ -z "${status-}" ]
}
it 'who has no key is told how to get one' no_key

several_keys() {
    for n in 1 2 3; do
        ssh-keygen -q -t ed25519 -N '' -f "key$n"
    done
    cat key3.pub >>"$SSHD/srv/authorized_keys"
    ssh_config 'Host srv' "    IdentityFile $PWD/key1" "    IdentityFile $PWD/key2" "    IdentityFile $PWD/key3" \
        '    IdentitiesOnly yes'
    cp "$SSHD/srv/authorized_keys" both
    cp key3.pub "$SSHD/srv/authorized_keys"
    far status
    rm key3.pub # not needed
    far status
    cp both "$SSHD/srv/authorized_keys"
    cp config "$HOME/.ssh/config"
}
it 'several keys are tried, with and without their public halves' several_keys

types() {
    for type in rsa ecdsa; do
        ssh-keygen -q -t "$type" -N '' -f "key-$type"
        cp "key-$type.pub" "$SSHD/srv/authorized_keys"
        ssh_config 'Host srv' "    IdentityFile $PWD/key-$type" '    IdentitiesOnly yes'
        far status
        cp config "$HOME/.ssh/config"
    done
    ssh-keygen -q -t rsa -m PEM -N '' -f key-pem
    cp key-pem.pub "$SSHD/srv/authorized_keys"
    ssh_config 'Host srv' "    IdentityFile $PWD/key-pem" '    IdentitiesOnly yes'
    far status
    cp config "$HOME/.ssh/config"
    cp authorized "$SSHD/srv/authorized_keys"
}
it 'keys of other types and formats' types

certificate() {
    ssh-keygen -q -t ed25519 -N '' -f ca
    ssh-keygen -q -t ed25519 -N '' -f signed
    ssh-keygen -q -s ca -I me -n "$me" signed.pub
    echo "cert-authority $(cat ca.pub)" >"$SSHD/srv/authorized_keys"
    ssh_config 'Host srv' "    IdentityFile $PWD/signed" '    IdentitiesOnly yes'
    far status
    cp config "$HOME/.ssh/config"
    cp authorized "$SSHD/srv/authorized_keys"
}
it 'a certificate beside a key' certificate

# What is in the way must not use up the tries.
named_certificates() {
    local n
    for n in 1 2 3 4 5 6; do
        ssh-keygen -q -t ed25519 -N '' -f "other$n"
        ssh-keygen -q -s ca -I me -n "$me" "other$n.pub"
    done
    mv signed-cert.pub elsewhere.pub
    echo "cert-authority $(cat ca.pub)" >"$SSHD/srv/authorized_keys"
    ssh_config 'Host srv' "    IdentityFile $PWD/signed" '    IdentitiesOnly yes' \
        $(for n in 1 2 3 4 5 6; do echo "CertificateFile=$PWD/other$n-cert.pub"; done) "    CertificateFile $PWD/elsewhere.pub"
    sed -i 's/CertificateFile=/    CertificateFile /' "$HOME/.ssh/config"
    far status
    mv signed.pub away.pub # not needed, with one certificate
    cp config "$HOME/.ssh/config"
    ssh_config 'Host srv' "    IdentityFile $PWD/signed" '    IdentitiesOnly yes' "    CertificateFile $PWD/elsewhere.pub"
    far status
    mv away.pub signed.pub
    cp config "$HOME/.ssh/config"
    cp authorized "$SSHD/srv/authorized_keys"
}
it 'a certificate that the configuration names: that of the key, whatever others there are' named_certificates

# ---- passphrases ----

ssh-keygen -q -t ed25519 -N 'open sesame' -C locked -f locked
cat locked.pub >>"$SSHD/srv/authorized_keys"
cp "$SSHD/srv/authorized_keys" authorized
ssh_config 'Host locked' '    HostName 127.0.0.1' "    Port $(sshd_port srv)" "    IdentityFile $PWD/locked" \
    '    IdentitiesOnly yes' "    UserKnownHostsFile $HOME/.ssh/known_hosts"
cp "$HOME/.ssh/config" config

asked() {
    python3 -S "$terminal" 24x200 --type "Passphrase for the key $PWD/locked:" 'open sesame\r' \
        ludwig --server "ssh://locked$socket" status >shown
    cat shown
    not grep -q sesame shown
}
it 'the passphrase of a key is asked for on the terminal, and not shown' asked

asked_once() {
    python3 -S "$terminal" 24x200 --type "Passphrase for the key $PWD/locked:" 'open sesame\r' \
        ludwig --server "ssh://locked$socket" submit large.yaml >shown
    cat shown
    [ "$(grep -o Passphrase shown | wc -l)" = 1 ]
    grep -q 'sweep [0-9]*: 1 configuration' shown
}
it 'once, however many connections are wanted' asked_once

not_asked() {
    python3 -S "$terminal" 24x200 timeout 300 \
        bash -c "ludwig --server ssh://locked$socket status 2>err </dev/null" >shown || [ $? = 4 ]
    not grep -q Passphrase shown
    grep -q 'it needs a passphrase: ssh-add' err
}
it 'not of a command whose input and errors go elsewhere, as in the completion of a word' not_asked

asked_again() {
    python3 -S "$terminal" 24x200 --type 'Passphrase' 'wrong\r' --type 'Passphrase' 'open sesame\r' \
        ludwig --server "ssh://locked$socket" status
    not python3 -S "$terminal" 24x200 --type 'Passphrase' 'a\r' --type 'Passphrase' 'b\r' --type 'Passphrase' 'c\r' \
        ludwig --server "ssh://locked$socket" status >shown
    cat shown
    grep -q 'wrong passphrase' shown
}
it 'three times at most' asked_again

given_up() {
    python3 -S "$terminal" 24x200 --type 'Passphrase' '\x03' \
        bash -c "trap : INT; ludwig --server ssh://locked$socket status; echo status \$?; stty -a | grep -o ' -*echo '" >shown 2>&1 || true
    cat shown
    grep -q ' echo' shown
    not grep -q ' -echo' shown
}
it 'Ctrl-C gives up, and the terminal is as before' given_up

unasked() {
    setsid -w timeout 300 ludwig --server "ssh://locked$socket" status >out 2>err </dev/null || status=$?
    cat err
    [ "$status" = 4 ]
    grep -q "key $PWD/locked (the server takes it, but it needs a passphrase: ssh-add)" err
}
it 'where nobody can be asked, the way to load it is told' unasked

with_agent() {
    eval "$(ssh-agent -s)" >/dev/null
    printf '#!/bin/sh\necho open sesame\n' >askpass
    chmod 700 askpass
    DISPLAY=x SSH_ASKPASS=$PWD/askpass SSH_ASKPASS_REQUIRE=force ssh-add locked
    setsid -w timeout 300 ludwig --server "ssh://locked$socket" status
    setsid -w timeout 300 ludwig --server "ssh://locked$socket" doctor >shown
    cat shown
    grep -q 'by agent with locked' shown
    ssh-add -D
    for n in 1 2 3; do
        ssh-add "key$n"
    done
    # the agent's are refused, and the file does
    far status
    cp stranger.pub "$SSHD/srv/authorized_keys"
    denied 'agent with .*, .*, .* \(refused\)' -- ludwig --server "ssh://srv$socket" status || status=$?
    cp authorized "$SSHD/srv/authorized_keys"
    kill "$SSH_AGENT_PID"
    [ -z "${status-}" ]
}
it 'a key that the agent has is not asked for; its keys are named when they are refused' with_agent

named_agent() {
    ssh-agent -a "$PWD/agent.sock" >agent
    eval "$(sed 's/echo.*//' agent)"
    DISPLAY=x SSH_ASKPASS=$PWD/askpass SSH_ASKPASS_REQUIRE=force ssh-add locked
    local pid=$SSH_AGENT_PID
    unset SSH_AUTH_SOCK SSH_AGENT_PID
    ssh_config 'Host locked' "    IdentityAgent $PWD/agent.sock"
    setsid -w timeout 300 ludwig --server "ssh://locked$socket" status || status=$?
    kill "$pid"
    cp config "$HOME/.ssh/config"
    [ -z "${status-}" ]
}
it 'the agent that IdentityAgent names' named_agent

# ---- passwords: an account of the test's own, in a private view of /etc ----

if [ "$(id -u)" != 0 ]; then
    for each in 'a password' 'keyboard-interactive' 'a key and a password' 'a password and a key' 'few tries'; do
        skip "$each" 'takes root, for an account with a password'
    done
    done_testing
fi

mkdir -p "$SSHD/pw/home"
chmod 711 "$TEST_TMP" "$SSHD" "$SSHD/pw"
chown 4711:4711 "$SSHD/pw/home"
{ cat /etc/passwd; echo "lw1:x:4711:4711::$SSHD/pw/home:/bin/sh"; } >"$SSHD/pw/passwd"
{ cat /etc/shadow; echo "lw1:$(openssl passwd -6 'correct horse'):19000:0:99999:7:::"; } >"$SSHD/pw/shadow"
mkdir "$SSHD/pw/pam.d"
for each in sshd other; do
    printf '%s\n' 'auth required pam_unix.so' 'account required pam_unix.so' 'session required pam_permit.so' \
        'password required pam_deny.so' >"$SSHD/pw/pam.d/$each"
done
chmod 600 "$SSHD/pw/shadow"

# sshd where lw1 is known
sshd_run() { # ARGUMENT...
    exec unshare -m sh -ec '
        mount --make-rprivate /
        mount --bind "$0/passwd" /etc/passwd
        mount --bind "$0/shadow" /etc/shadow
        mount --bind "$0/pam.d" /etc/pam.d
        exec /usr/sbin/sshd "$@"' "$SSHD/pw" "$@"
}
sshd_up pw 'UsePAM no' 'PasswordAuthentication yes'
sshd_up kbd 'UsePAM yes' 'KbdInteractiveAuthentication yes'
sshd_up both 'UsePAM no' 'PasswordAuthentication yes' 'AuthenticationMethods publickey,password'
sshd_up later 'UsePAM no' 'PasswordAuthentication yes' 'AuthenticationMethods password,publickey'
sshd_up answers 'UsePAM yes' 'KbdInteractiveAuthentication yes' 'AuthenticationMethods keyboard-interactive,publickey'
sshd_up few 'UsePAM no' 'PasswordAuthentication yes' 'PubkeyAuthentication no' 'MaxAuthTries 2'

: >"$SSHD/pw/authorized_keys"
: >"$SSHD/kbd/authorized_keys"

# The account may not see the test's server: what it is told is that.
typed() { # HOST WORDS --type ...
    local host=$1 words=$2
    shift 2
    python3 -S "$terminal" 24x300 "$@" ludwig --server "ssh://lw1@$host/nowhere/server.sock" status >shown || [ $? = 3 ]
    cat shown
    not grep -q 'horse' shown
    grep -q "$words" shown
}
it 'a password is asked for on the terminal, and not shown' "
    typed pw 'there is no socket at /nowhere' --type '(lw1@pw) password:' 'correct horse\r'"
it 'a password may be mistyped' "
    typed pw 'there is no socket at /nowhere' --type 'password:' 'battery\r' --type 'password:' 'correct horse\r'"
it 'what a server asks with keyboard-interactive is asked' "
    typed kbd 'there is no socket at /nowhere' --type '(lw1@kbd) Password:' 'correct horse\r'"
it 'a server may want a key and a password' "
    typed both 'there is no socket at /nowhere' --type 'password:' 'correct horse\r'"

it 'a server may want a key after a password' "
    typed later 'there is no socket at /nowhere' --type 'password:' 'correct horse\r'"
it 'or after the answers to what it asks' "
    typed answers 'there is no socket at /nowhere' --type 'Password:' 'correct horse\r'"

for n in 1 2 3; do
    ssh-keygen -q -t ed25519 -N '' -f "few$n"
done
ssh_config 'Host few' "    IdentityFile $PWD/few1" "    IdentityFile $PWD/few2" "    IdentityFile $PWD/few3"
it 'keys do not use up the tries of a server that takes none' "
    typed few 'there is no socket at /nowhere' --type 'password:' 'correct horse\r'"

keys_in_agent() {
    eval "$(ssh-agent -s)" >/dev/null
    trap 'kill "$SSH_AGENT_PID"' EXIT
    ssh-add few1 few2 few3
    typed few 'there is no socket at /nowhere' --type 'password:' 'correct horse\r'
}
it 'nor do those in an agent' keys_in_agent

used_up() {
    local status=0
    python3 -S "$terminal" 24x300 --type 'password:' 'battery\r' ludwig --server ssh://lw1@few/nowhere status >shown || status=$?
    cat shown
    [ "$status" = 4 ]
    grep -q 'Too many authentication failures.*; tried: .*password (refused)' shown
}
it 'who has used up the tries is told what was tried' used_up

no_terminal() {
    setsid -w timeout 300 ludwig --server ssh://lw1@pw/nowhere status >out 2>err </dev/null || status=$?
    cat err
    [ "$status" = 4 ]
    grep -q 'password (nobody can be asked)' err
}
it 'without a terminal the error says that a password was wanted' no_terminal

done_testing
