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
uid=2001
for user in alice bob carol dave erin; do
    install -d -m 700 -o $uid -g $uid "$lab/$user"
    uid=$((uid + 1))
done

printf '%s\n' "share: $lab/share" 'projects: lab' 'share_group: lab' "state: $lab/state" \
    "sockets: [$lab/socket]" 'slurm: {idle: 2s}' >"$lab/ludwigd.yaml"
SECRET=of-root slurm_inside env PATH="$lab/bin:$PATH" "$lab/bin/ludwigd" --config "$lab/ludwigd.yaml" >"$lab/ludwigd.log" 2>&1 &
disown
serves "$lab/ludwigd.log" [ -S "$lab/socket" ]

as() { # USER COMMAND...
    slurm_as "$1" env -C "$lab/$1" HOME="$lab/$1" LUDWIG_SERVER="unix:$lab/socket" "${@:2}"
}

# shellcheck disable=SC2016 # for the job
probe='echo mine >"$LUDWIG_SAVE_PATH/mine"
echo "ids $(id -u) $(id -g) $(id -G)"; echo "umask $(umask)"; env | sed "s/^/env /"
grep "^Cap[IPE]" /proc/self/status
ps -o ruser=,rgid=,args= -p $PPID | sed "s/^/parent /"
until [ -e '$lab'/shared/go ]; do sleep 0.3; done'

sweep() { # USER NAME SLURM [LINE...]: its number
    printf '%s\n' "$probe" | as "$1" tee "$lab/$1/job.sh" >/dev/null
    printf '%s\n' "project: $2" 'command: sh job.sh' 'source: job.sh' 'params: {n: [1, 2]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 10min}' "slurm: $3" "${@:4}" | as "$1" tee "$lab/$1/$2.yaml" >/dev/null
    as "$1" ludwig submit "$2.yaml" --json | json - 'str(d["sweep"])'
}

state() { # USER SWEEP
    sweep_state "$2" as "$1"
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
    wait_until 30 '[ "$(as alice ludwig peek '"$alice"'.1 mine)" = mine ]'
    not as bob ludwig peek "$alice.1" mine
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
    ls -lR "$lab"/share/.ludwig/pilots
    [ "$(stat -c '%u %a' "$lab"/share/.ludwig/pilots/*)" = $'2001 700\n2002 700' ]
    [ "$(stat -c %u "$lab"/share/.ludwig/pilots/2001/*.log)" = 2001 ]
    [ "$(stat -c %u "$lab"/share/.ludwig/pilots/2002/*.log)" = 2002 ]
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

pilot_of() { # SWEEP: its job in Slurm
    squeue -h -o '%A %j' | sed -n "s/ ludwig-$1-.*//p"
}

# The names of pilots are known to all while they wait, and some projects let their group write.
not_through_links() {
    local alice name folder=$lab/share/lab/linked
    alice=$(sweep alice linked '{partition: short, extra: ["--hold"]}')
    wait_until 60 '[ -n "$(pilot_of '"$alice"')" ]'
    name=$(squeue -h -j "$(pilot_of "$alice")" -o %j)
    echo precious | as alice tee precious >/dev/null
    as alice chmod 2775 "$folder"
    ! [ -e "$folder/pilots" ] || as bob mv "$folder/pilots" "$folder/away"
    as bob mkdir -m 2775 "$folder/pilots"
    as bob ln -s "$lab/alice/precious" "$folder/pilots/$name.log"
    as alice scontrol release "$(pilot_of "$alice")"
    wait_until 60 '[ "$(state alice '"$alice"')" = done ]'
    wait_until 60 '[ -z "$(squeue -h)" ]'
    [ "$(cat "$lab/alice/precious")" = precious ]
    grep -q connected "$lab/share/.ludwig/pilots/2001/$name.log"
    not as bob cat "$lab/share/.ludwig/pilots/2001/$name.log"
}

# As somebody's own sbatch would; the others have one of Slurm's.
apart_from_hangs() {
    local user bob
    cat >"$lab/bin/sbatch" <<END
#!/bin/sh
[ "\$(id -u)" = 2002 ] && exec "$(command -v sbatch)" "\$@"
touch "$lab/shared/hangs.\$(id -u)"
until [ -e "$lab/shared/answer" ]; do sleep 0.2; done
exit 1
END
    chmod 755 "$lab/bin/sbatch"
    for user in alice carol dave erin; do
        sweep $user "hangs-$user" '{partition: short}' >hangs.$user
    done
    bob=$(sweep bob beside '{partition: short, extra: ["--hold"]}')
    # Each of them hangs for 25 s.
    within 20 '[ -n "$(pilot_of '"$bob"')" ]'
    within 20 '[ "$(ls "$lab"/shared/hangs.* | wc -l)" = 4 ]'
    for user in alice carol dave erin; do
        wait_until 60 'as '$user' ludwig why "$(cat hangs.'$user').1" | grep "could not be submitted: it did not answer in time"'
        as $user ludwig cancel "$(cat hangs.$user)"
    done
    as bob ludwig cancel "$bob"
    wait_until 60 '[ -z "$(pilot_of '"$bob"')" ]'
    not grep slurm-away "$lab/ludwigd.log"
    touch "$lab/shared/answer"
    rm "$lab/bin/sbatch"
}

# The linker says so, where the program has begun as little as the shell.
found_by_user() {
    local alice log
    printf '#!/bin/sh\necho "no libfoo.so here" >&2\nexit 127\n' >"$lab/bin/ludwig-worker.new"
    chmod 755 "$lab/bin/ludwig-worker.new"
    mv "$lab/bin/ludwig-worker" "$lab/bin/ludwig-worker.old"
    mv "$lab/bin/ludwig-worker.new" "$lab/bin/ludwig-worker"
    alice=$(sweep alice early '{partition: short}')
    wait_until 60 'as alice ludwig why '"$alice"'.1 | grep "its log: "'
    mv "$lab/bin/ludwig-worker.old" "$lab/bin/ludwig-worker"
    log=$(as alice ludwig why "$alice.1" | sed -n 's/.*its log: \([^ ]*\) on the share.*/\1/p' | head -n 1)
    as alice grep 'no libfoo.so here' "$lab/share/$log"
    as alice ludwig cancel "$alice"
}

it "each one's pilots run as themselves, with nothing of root's" each_as_itself
it 'what pilots print belongs to their users' nobody_elses
it 'what a pilot prints goes through no link that another user has put into the project' not_through_links
it 'what a pilot says that cannot begin is found where ludwig why says' found_by_user
it 'a request that Slurm refuses one of them holds up nobody else' apart_from_refusals
it 'users whose sbatch hangs hold up nobody else' apart_from_hangs
it 'what would be another option or a command is refused, or is a name that Slurm does not know' refused
it 'what is a text stays one' harmless

# sbatch runs as its user, who may have it say anything; ludwigd's scancel has root's rights.
said_number() {
    local victim bob
    victim=$(as alice sbatch --parsable -o /dev/null -p debug --wrap 'sleep 1000')
    slurm_wait 60 "$victim" RUNNING
    printf '#!/bin/sh\necho %s\n' "$victim" >"$lab/bin/sbatch"
    chmod 755 "$lab/bin/sbatch"
    bob=$(sweep bob said '{partition: short}')
    wait_until 100 'grep "pilot-submitted job='"$victim"' " "$lab/ludwigd.log"'
    as bob ludwig cancel "$bob"
    rm "$lab/bin/sbatch"
    cancelled_after
    slurm_is "$victim" RUNNING
    as alice scancel "$victim"
    wait_until 60 '[ -z "$(squeue -h)" ]'
}
# After the pilot of a later sweep has been cancelled, so have those before.
cancelled_after() {
    local bob
    bob=$(sweep bob later '{partition: short, extra: ["--hold"]}')
    wait_until 60 '[ -n "$(pilot_of '"$bob"')" ]'
    as bob ludwig cancel "$bob"
    wait_until 60 '[ -z "$(pilot_of '"$bob"')" ]'
}

# What squeue prints of a job may have line feeds that its user has written, and whole rows behind them.
row() { # JOB USER NAME STATE
    printf '%s\x1f' "$1" "$1" N/A "$4" short N/A N/A N/A '' "$2" None "$3"
}

# sbatch runs as its user, who may kill it: then ludwigd looks for the pilot by its name.
cat >"$lab/kill.py" <<'END'
import os, signal, time

def sbatches():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline").read().split("\0")
            if os.stat("/proc/" + pid).st_uid == os.getuid() and "--parsable" in words:
                yield int(pid), words
        except OSError:
            pass

found = []
while not found:
    time.sleep(0.01)
    found = list(sbatches())
for pid, words in found:
    os.kill(pid, signal.SIGKILL)
    names = [word.partition("=")[2] for word in words if word.startswith("--job-name=")]
print(names[0])
END
# The row has the number of a job of alice's, and ludwigd's scancel root's rights.
foreign_number() {
    local victim bob name
    victim=$(as alice sbatch --parsable -o /dev/null -p debug --wrap 'sleep 1000')
    slurm_wait 60 "$victim" RUNNING
    # A wrapper of the site's, so that there is time to find it.
    printf '#!/bin/sh\nsleep 5\nexec "%s" "$@"\n' "$(command -v sbatch)" >"$lab/bin/sbatch"
    chmod 755 "$lab/bin/sbatch"
    as bob timeout 300 python3 - <"$lab/kill.py" >name &
    bob=$(sweep bob forged '{partition: short}')
    wait_until 100 [ -s name ]
    name=$(<name)
    rm "$lab/bin/sbatch"
    as bob sbatch -H -o /dev/null -p short -J "$name" --wrap true \
        --comment="$(printf 'ludwig elsewhere\n%s\nx' "$(row "$victim" bob "$name" PENDING)")"
    wait_until 100 'grep -E "pilot-(found|not-submitted) name='"$name"'( |$)" "$lab/ludwigd.log"'
    as bob ludwig cancel "$bob"
    cancelled_after
    slurm_is "$victim" RUNNING
    as alice scancel "$victim"
    as bob scancel -u bob
    wait_until 60 '[ -z "$(squeue -h)" ]'
}

foreign_end() {
    local bob other alice forger victim ended
    # It comes first in what squeue prints.
    bob=$(sweep bob forger '{partition: short, extra: ["--begin=now+1hour"]}')
    alice=$(sweep alice victim '{partition: short, extra: ["--hold"]}')
    other=$(sweep bob other '{partition: short, extra: ["--hold"]}')
    wait_until 60 '[ -n "$(pilot_of '"$bob"')" ] && [ -n "$(pilot_of '"$alice"')" ] && [ -n "$(pilot_of '"$other"')" ]'
    forger=$(pilot_of "$bob") victim=$(pilot_of "$alice") ended=$(pilot_of "$other")
    slurm_numbered "$forger"
    slurm_numbered "$ended"
    wait_until 60 'as alice ludwig status '"$alice"' | grep -q "^ *Slurm .* holds it"'
    as bob scontrol update "jobid=$forger" \
        comment="$(printf 'x\n%s\nx' "$(row "$victim" alice "$(squeue -h -j "$victim" -o %j)" COMPLETED)")"
    squeue -h -j "$forger" -o %k | grep COMPLETED
    as bob scancel "$ended"
    wait_until 120 'grep "pilot-ended job='"$ended"' " "$lab/ludwigd.log"'
    not grep "pilot-ended job=$victim " "$lab/ludwigd.log"
    as bob ludwig cancel "$bob" "$other"
    as alice ludwig cancel "$alice"
    wait_until 60 '[ -z "$(squeue -h)" ]'
}
it "a job of alice's is not cancelled for bob, whose sbatch says that it is bob's pilot" said_number
it "a job of alice's is not cancelled for bob, whose job says that its number is that of bob's pilot" foreign_number
it "what bob writes into the comment of a job is no answer of Slurm's about a pilot of alice's" foreign_end

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
    wait_until 60 '[ "$(sweep_state 1 own bob)" = done ]'
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
    wait_until 60 '[ "$(sweep_state 2 own alice)" = done ]'
    wait_until 60 '[ "$(sweep_state 2 own bob)" = done ]'
    wait_until 60 '[ -z "$(squeue -h)" ]'
}

it 'ludwigds of two users do not disturb each other' apart
it 'so it is where users may not see the jobs of others' unseen
done_testing
