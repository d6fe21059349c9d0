#!/usr/bin/env bash
# slurm_users.sh - pilots of several users: each runs as its own, and no text of theirs is a command
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'pilots of several users' "$slurm_lacks" && done_testing; }
[ "$(id -u)" = 0 ] || { skip 'pilots of several users' 'takes root' && done_testing; }
slurm_up

# Where they may look.
lab=$(mktemp -d "$SLURM/users.XXXXXX")
trap 'rm -rf "$lab"; '"$(trap -p EXIT | sed "s/^trap -- '\(.*\)' EXIT$/\1/")" EXIT
chmod 755 "$lab"
mkdir -m 755 "$lab/bin" "$lab/share" "$lab/share/lab"
install -d -m 01777 "$lab/shared"
cp "$LUDWIG_BIN"/ludwig* "$lab/bin"
PATH=$lab/bin:$PATH
install -d -m 2775 -g 2000 "$lab/share/lab"
mkdir -m 700 "$lab/state"
install -d -m 700 -o 2001 -g 2001 "$lab/alice"
install -d -m 700 -o 2002 -g 2002 "$lab/bob"

printf '%s\n' "share: $lab/share" 'projects: lab' 'share_group: lab' "state: $lab/state" \
    "sockets: [$lab/socket]" 'slurm: {idle: 2s}' >"$lab/ludwigd.yaml"
SECRET=of-root slurm_inside "$lab/bin/ludwigd" --config "$lab/ludwigd.yaml" >"$lab/ludwigd.log" 2>&1 &
disown
serves "$lab/ludwigd.log" [ -S "$lab/socket" ]

as() { # USER COMMAND...
    slurm_as "$1" env -C "$lab/$1" HOME="$lab/$1" LUDWIG_SERVER="unix:$lab/socket" "${@:2}"
}

# shellcheck disable=SC2016 # for the job
probe='echo "ids $(id -u) $(id -g) $(id -G)"; echo "umask $(umask)"; env | sed "s/^/env /"
grep "^Cap[IPE]" /proc/self/status
ps -o ruser=,rgid=,args= -p $PPID | sed "s/^/parent /"
until [ -e '$lab'/shared/go ]; do sleep 0.1; done'

sweep() { # USER NAME SLURM [LINE...]: its number
    printf '%s\n' "$probe" | as "$1" tee "$lab/$1/job.sh" >/dev/null
    printf '%s\n' "project: $2" 'command: sh job.sh' 'source: job.sh' 'params: {n: [1, 2]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 10min}' "slurm: $3" "${@:4}" | as "$1" tee "$lab/$1/$2.yaml" >/dev/null
    as "$1" ludwig submit "$2.yaml" --json | json - 'str(d["sweep"])'
}

state() { # USER SWEEP
    as "$1" ludwig status "$2" --json | json - 'd["state"]'
}

running() { # USER SWEEP
    as "$1" ludwig status "$2" --json | json - 'str(d["jobs"]["running"])'
}

each_as_itself() {
    local alice bob
    alice=$(sweep alice one '{partition: short}')
    bob=$(sweep bob two '{partition: short}')
    wait_until 90 '[ "$(running alice '"$alice"')$(running bob '"$bob"')" = 22 ]'
    [ "$(squeue -h -o %U | sort | tr '\n' ' ')" = '2001 2002 ' ]
    touch "$lab/shared/go"
    wait_until 60 '[ "$(state alice '"$alice"')$(state bob '"$bob"')" = donedone ]'
    as alice ludwig logs "$alice.1" >log1
    as bob ludwig logs "$bob.1" >log2
    grep -x 'ids 2001 2001 2001 2000' log1
    grep -x 'ids 2002 2002 2002 2000' log2
    not grep -E '^env (SECRET|.*root)' log1 log2
    not grep -E '^Cap[IPE][a-z]*:[[:space:]]*0*[1-9a-f]' log1 log2
    [ "$(find "$lab/share/lab/one" -not -user 2001 -o -not -group 2000 | wc -l)" = 0 ]
    [ "$(find "$lab/share/lab/two" -not -user 2002 -o -not -group 2000 | wc -l)" = 0 ]
}

nobody_elses() {
    ls -ld "$lab"/share/lab/*/pilots
    [ -z "$(find "$lab"/share/lab/*/pilots -maxdepth 0 -perm /007)" ]
    [ "$(stat -c %u "$lab"/share/lab/one/pilots/*.log)" = 2001 ]
    [ "$(stat -c %u "$lab"/share/lab/two/pilots/*.log)" = 2002 ]
}

# shellcheck disable=SC2016 # no shell is to expand it
hostile=(
    '{partition: "short --uid=0"}'
    '{partition: "$(touch PWNED)"}'
    '{partition: "--wrap=touch PWNED"}'
    '{partition: short, account: "kira-lab;touch PWNED"}'
    '{partition: short, account: "--uid=0"}'
    '{partition: short, qos: "`touch PWNED`"}'
    '{partition: short, constraint: "a40 --gid=0"}'
    '{partition: short, gres: "gpu:1\n#SBATCH --uid=0"}'
    '{partition: short, exclude: ["node1 --uid=0", "$(touch PWNED)"]}'
    '{partition: short, extra: ["--uid=0"]}'
    '{partition: short, extra: ["--ui=0"]}'
    '{partition: short, extra: ["--wrap=touch PWNED"]}'
    '{partition: short, extra: ["touch PWNED"]}'
    '{partition: short, extra: ["--export=ALL,LD_PRELOAD=x"]}'
    '{partition: short, extra: ["--mail-user=x\n--uid=0"]}'
)

# None of it begins.
refused() {
    local i id text
    for i in "${!hostile[@]}"; do
        text=${hostile[i]//PWNED/$lab/shared/pwned}
        id=$(sweep alice "bad$i" "$text") || continue
        echo "$i: $id"
        wait_until 30 'as alice ludwig why '"$id"'.1 | grep "no pilots: "'
    done 2>&1 | tee refusals
    [ "$(grep -c 'ludwig: ' refusals)" -ge 5 ]
    [ -z "$(squeue -h)" ]
    [ ! -e "$lab/shared/pwned" ]
}

harmless() {
    local id
    id=$(sweep alice good "{partition: short, extra: ['--comment=\$(touch $lab/shared/pwned);\`id\`', '--mail-user=a b;touch $lab/shared/pwned', '--nice=1 --uid=0']}" \
        "name: '\$(touch $lab/shared/pwned) --uid=0'")
    wait_until 60 '[ "$(state alice '"$id"')" = done ]'
    [ ! -e "$lab/shared/pwned" ]
    as alice ludwig logs "$id.1" | grep -x 'ids 2001 2001 2001 2000'
}

# At once; what Slurm says to one of them is nothing to the other.
apart_from_refusals() {
    local alice bob
    rm -f "$lab/shared/go"
    alice=$(sweep alice three '{partition: short, gres: "fpga:1"}')
    bob=$(sweep bob four '{partition: short}')
    wait_until 30 'as alice ludwig status '"$alice"' | grep -q "^ *Slurm .*Invalid generic resource"'
    wait_until 60 '[ "$(running bob '"$bob"')" = 2 ]'
    as alice ludwig nodes 2>&1 | grep -q '^Slurm, partition short, for alice: no pilots: '
    not grep slurm-away "$lab/ludwigd.log"
    as bob ludwig nodes 2>said >/dev/null
    not grep 'no pilots' said
    touch "$lab/shared/go"
    wait_until 60 '[ "$(state bob '"$bob"')" = done ]'
    as alice ludwig cancel "$alice"
}

it "each one's pilots run as themselves, with nothing of root's" each_as_itself
it 'what pilots print belongs to their users' nobody_elses
it 'a request that Slurm refuses one of them holds up nobody else' apart_from_refusals
it 'what would be another option or a command is refused, or is a name that Slurm does not know' refused
it 'what is a text stays one' harmless

# ---- a ludwigd of each ----

own() { # USER COMMAND...
    slurm_as "$1" env -C "$lab/$1" HOME="$lab/$1" "${@:2}"
}

apart() {
    local user
    rm -f "$lab/shared/go"
    wait_until 60 '[ -z "$(squeue -h)" ]' # root's are gone
    for user in alice bob; do
        own $user mkdir -p .config/ludwig scratch
        own $user chmod 700 scratch
        printf '%s\n' "scratch: $lab/$user/scratch" 'slurm: {idle: 2s}' | own $user tee "$lab/$user/.config/ludwig/config.yaml" >/dev/null
        printf '%s\n' 'project: own' 'command: sh job.sh' 'source: job.sh' 'params: {n: [1, 2]}' \
            'resources: {cpus: 1, memory: 100MiB, time: 10min}' 'slurm: {partition: short}' | own $user tee "$lab/$user/own.yaml" >/dev/null
        own $user ludwig submit own.yaml --json | json - 'd["sweep"] == 1'
    done
    wait_until 90 '[ "$(own_running alice)$(own_running bob)" = 22 ]'
    [ "$(squeue -h -o %U | sort | tr '\n' ' ')" = '2001 2002 ' ]
    [ "$(squeue -h -o '%k' | sort -u | wc -l)" = 2 ]
    own alice ludwig cancel 1
    wait_until 60 '[ "$(squeue -h -o %U)" = 2002 ]'
    [ "$(own_running bob)" = 2 ]
    touch "$lab/shared/go"
    wait_until 60 '[ "$(own bob ludwig status 1 --json | json - "d[\"state\"]")" = done ]'
}

own_running() { # USER
    own "$1" ludwig status 1 --json | json - 'str(d["jobs"]["running"])'
}

# Neither sees anything of what is the other's.
unseen() {
    slurm_conf PrivateData=accounts,jobs,usage
    for user in alice bob; do
        own $user ludwig submit own.yaml --reuse none --json | json - 'd["sweep"] == 2'
    done
    wait_until 60 '[ "$(own alice ludwig status 2 --json | json - "d[\"state\"]")" = done ]'
    wait_until 60 '[ "$(own bob ludwig status 2 --json | json - "d[\"state\"]")" = done ]'
    wait_until 60 '[ -z "$(squeue -h)" ]'
}

it 'ludwigds of two users do not disturb each other' apart
it 'so it is where users may not see the jobs of others' unseen
done_testing
