#!/usr/bin/env bash
# doctor_lab.sh - doctor on the way to a lab's file server: files over SFTP, and whose they are
# shellcheck disable=SC2016 # the bodies are evaluated later
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"
lab_possible || { skip 'doctor, in a lab' "$lab_lacks" && done_testing; }
lab_up jail fileserver laptop

write_on fileserver /etc/ludwig/ludwigd.yaml <<'END'
share: /srv/research_data
state: /var/lib/ludwig
share_group: lab
END
service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
wait_until 10 test -S "$SHARE/.ludwig/server.sock"
install -d -o 2001 -g 2000 -m 2750 "$SHARE/p"

# Exits with 1, as no worker is up.
look() { # HOST [as USER]
    on "$@" ludwig --server ssh://lab1@fileserver doctor --json >doctor.json || [ $? = 1 ]
}

said() { # CHECK VERDICT WORDS
    json doctor.json "any(c['check'] == '$1' and c['verdict'] == '$2' and '''$3''' in c['found']
                          for c in d['checks'])" || { cat doctor.json && return 1; }
}

jailed() {
    look laptop as lab1
    said sftp ok 'the folder you are jailed to'
    said share ok 'not mounted here'
    said owners ok 'over SFTP are yours'
}
it 'in a jail it finds the drive, and writes into it' jailed

mounted() {
    mount_share laptop
    write_on laptop as lab1 /home/lab1/.config/ludwig/config.yaml <<<'share: /media/research_data'
    look laptop as lab1
    said owners ok 'through the mount are yours'
}
it 'what is made through the mount is compared with what the server says' mounted

# As where root_squash, an id mapping or a mount of one account makes files somebody else's.
foreign() {
    on laptop env HOME=/home/lab1 ludwig --server ssh://lab1@fileserver doctor --json >doctor.json ||
        [ $? = 1 ]
    said owners problem 'belongs to uid 0 on the server, and you are uid 2001 there'
}
it 'files that become another'"'"'s are told, with both uids' foreign

it 'nothing that it tried is left' '
    [ -z "$(find "$SHARE/p" -mindepth 1)" ]
'

# lab2 has none yet.
firsts() {
    on laptop as lab2 ludwig --server ssh://lab2@fileserver doctor --json >doctor.json || [ $? = 1 ]
    said projects "$@"
}
it 'who has no project is told that the server makes the first' "
    firsts ok 'the server makes'
"

serve_as_ludwig() { # INSTEAD-OF LINE...
    service_stop fileserver "$1"
    shift
    rm -rf "$SHARE/.ludwig"
    install -d -o 2100 -g 2100 "$SHARE/.ludwig"
    printf '%s\n' 'share: /srv/research_data' 'state: /home/ludwig/state' "$@" |
        write_on fileserver /etc/ludwig/ludwigd.yaml
    service fileserver own as ludwig ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 10 test -S "$SHARE/.ludwig/server.sock"
}
made_by_nobody() {
    serve_as_ludwig ludwigd
    firsts problem 'neither you nor the server can make one'
}
it 'a jail root where nobody can make a project is a problem' made_by_nobody

made_by_users() {
    install -d -m 1777 "$SHARE/projects"
    serve_as_ludwig own 'projects: projects'
    firsts ok 'you can make'
    [ -z "$(ls -A "$SHARE/projects")" ]
}
it 'with projects: below it that users may write to all is well' made_by_users
done_testing
