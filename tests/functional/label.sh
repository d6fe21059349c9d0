#!/usr/bin/env bash
# label.sh - people who share an account tell their sweeps apart
# shellcheck disable=SC2016 # the bodies are evaluated later
. "$(dirname "$0")/lib.sh"

account=$(id -un)
cat >sweep.yaml <<'END'
project: p
command: echo hello
END

as() { # LABEL|- COMMAND...: run ludwig as one of them
    local label=$1
    shift
    [ "$label" = - ] && label='' || label="user: $label"
    configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}' "$label"
    "$@"
}

submits() {
    as alice submit sweep.yaml >alice.number
    as bob submit sweep.yaml --reuse none >bob.number
    wait_until 30 ended "$(cat alice.number)"
    wait_until 30 ended "$(cat bob.number)"
    as - ludwig status --json >status.json
    json status.json "[s['user'] for s in d['sweeps']] == ['$account/bob', '$account/alice']"
}
it 'a sweep is shown as that of who submitted it' submits

it 'last and --mine are those of the label' '
    as alice ludwig status --mine --json | json - "[s[\"sweep\"] for s in d[\"sweeps\"]] == [$(cat alice.number)]"
    as alice ludwig jobs last --json | json - "d[\"jobs\"][0][\"job\"] == \"$(cat alice.number).1\""
'
it 'without a label all of the account are one'"'"'s own' '
    as - ludwig status --mine --json | json - "len(d[\"sweeps\"]) == 2"
    as - ludwig jobs last --json | json - "d[\"jobs\"][0][\"job\"] == \"$(cat bob.number).1\""
'
it '--user takes the label, the account, or both' '
    for user in alice "$account/alice"; do
        as - ludwig status --user "$user" --json | json - "len(d[\"sweeps\"]) == 1"
    done
    as - ludwig status --user "$account" --json | json - "len(d[\"sweeps\"]) == 2"
    as - ludwig status --user ali --json | json - "len(d[\"sweeps\"]) == 0"
'
it 'a label that is no name is refused' '
    not as "\"../x\"" ludwig status 2>err
    grep "cannot be a user" err
'
done_testing
