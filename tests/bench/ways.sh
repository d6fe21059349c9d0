#!/usr/bin/env bash
# ways.sh ROUNDTRIP - measures connecting to ludwigd and a request, in each way of connecting
#
# Runs in the laboratory of tests/functional/lab.sh, as root: between the laptop and the file
# server, first without delay, then with a round trip of 50 ms. For comparison, prints the time
# of a whole `ssh HOST true`. ROUNDTRIP: see roundtrip.c.
roundtrip=$(realpath "$1") || exit
. "$(dirname "$0")/../functional/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || { echo "ways.sh: $lab_lacks" >&2 && exit 1; }
lab_up stock fileserver laptop
install -m 0755 "$roundtrip" "$TEST_TMP/roundtrip" # hosts see nothing else of the machine
roundtrip=$TEST_TMP/roundtrip

write_on fileserver /etc/ludwig/ludwigd.yaml <<END
share: /srv/research_data
state: /var/lib/ludwig
share_group: lab
END
service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
wait_until 10 test -S "$SHARE/.ludwig/server.sock"

seconds() { # COMMAND...: how long it takes, in ms
    local start
    start=$(date +%s%N)
    "$@" >/dev/null 2>&1 || echo "failed: $*" >&2
    echo $((($(date +%s%N) - start) / 100000)) | sed 's/.$/.&/'
}

row() { # LABEL COMMAND...: the best of three by the median question
    local label=$1
    shift
    for _ in 1 2 3; do "$@"; done | sort -k3,3n | head -n 1 | sed "s/^/$label  /"
}

printf 'link   %-18s %9s %9s %9s   (ms)\n' way connect median worst
row '-    ' on fileserver "$roundtrip" unix:/srv/research_data/.ludwig/server.sock 2000
for link in off 50; do
    [ "$link" = off ] || delay laptop "$link"
    label=$(printf '%-5s' "$link")
    count=$([ "$link" = off ] && echo 1000 || echo 50)
    for mode in stock bridge jail-noforward; do
        sshd_mode $mode
        row "$label" on laptop as lab1 "$roundtrip" ssh://lab1@fileserver "$count"
    done
    sshd_mode stock
    printf '%s  %-18s %9s\n' "$label" 'ssh HOST true' \
        "$(seconds on laptop as lab1 ssh lab1@fileserver true)"
done
