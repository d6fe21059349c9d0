#!/bin/bash
# lab_setup.sh - docs/lab-setup.md, followed command by command
# shellcheck disable=SC2016 # the bodies are evaluated later
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"
lab_possible || { skip 'docs/lab-setup.md, command by command' "$lab_lacks" && done_testing; }
lab_up stock fileserver laptop node1 node2

# The laboratory has accounts and keys already; the page begins with none.
for host in fileserver laptop node1 node2; do
    on "$host" bash -ec '
        for file in passwd group shadow; do
            grep -vE "^(lab|lab1|lab2|ludwig):" /etc/$file >/tmp/$file || true
            cat /tmp/$file >/etc/$file
        done
        rm -rf /home/* /root/.ssh /processing/* /etc/ludwig /var/lib/ludwig
        mkdir -p /etc/systemd/system' || exit
done
on laptop useradd --create-home --shell /bin/bash alice

# Block N of the page lies in blocks/N; blocks/list has "N HOST USER STEP" of each.
mkdir blocks keys
awk '/^## / { step = $2 }
    /^```sh / { n++; print n, $2, $3, step >"blocks/list"; inside = 1; next }
    /^```/ { inside = 0 }
    inside { print >("blocks/" n) }' "$TEST_ROOT/docs/lab-setup.md"

# `make install` of the page: the programs are in the laboratory already, the rest is mounted.
installed() {
    [ "$(cat "blocks/$1")" = 'make install' ]
    build_alone make -s -C "$TEST_ROOT" install DESTDIR="$TEST_TMP/dest" PREFIX=/usr/local >/dev/null
    chmod -R a+rX "$TEST_TMP/dest"
    for host in fileserver laptop node1 node2; do
        on "$host" mountpoint -q /usr/local/share ||
            on "$host" mount --bind "$TEST_TMP/dest/usr/local/share" /usr/local/share
    done
}

install -D -m 0755 "$TEST_ROOT/tests/lab/systemctl" "$TEST_TMP/bin/systemctl"
chmod 0755 "$TEST_TMP/bin"

# What a block printed as a key takes the place of KEY-OF-WHOM in later ones.
run_block() { # N HOST USER
    local text key
    text=$(cat "blocks/$1")
    for key in keys/*; do
        [ ! -e "$key" ] || text=${text//${key#keys/}/$(cat "$key")}
    done
    case $text in *KEY-OF-*) echo 'a key that nothing printed' >&2 && return 1 ;; esac
    on "$2" as "$3" bash -eu -c 'PATH=$1:$PATH; eval "$2"' bash "$TEST_TMP/bin" "$text" | tee said
}

settled() { # N HOST: what a human would have waited for
    if grep -q 'systemctl.* ludwigd$' "blocks/$1"; then
        wait_until 20 on fileserver ludwig nodes --quiet
    fi
    if grep -qE 'systemctl (enable --now|restart) ludwig-worker$' "blocks/$1"; then
        wait_until 60 '[ "$(on fileserver ludwig nodes --state up,drained --quiet | grep -cx '"$2"')" = 1 ]'
    fi
}

block() { # N HOST USER
    run_block "$@"
    settled "$1" "$2"
    sed -n 's/.*ssh-ed25519/ssh-ed25519/p' said | grep -E ' (node[0-9]|alice@laptop)$' >key || return 0
    [ ! -s key ] || case $2 in
    laptop) cp key keys/KEY-OF-ALICE ;;
    *) cp key "keys/KEY-OF-${2^^}" ;;
    esac
}

while read -r n host user step; do
    if [ "$host" = everywhere ]; then
        it "step $step, block $n: make install" "installed $n"
    else
        it "step $step, block $n, on $host as $user: $(head -n 1 "blocks/$n")" "block $n $host $user </dev/null"
    fi
    case $(tail -n 1 "blocks/$n") in
    'ludwig results last')
        it "... whose jobs ran on the node as $([ "$host" = laptop ] && echo alice || echo bob)" '
            who=$(on fileserver sh -c "stat -c %U /srv/research_data/*-first/runs/*/*/job.json" | sort -u)
            [ "$(tail -n 1 <<<"$who")" = '"$([ "$host" = laptop ] && echo alice || echo bob)"' ]'
        ;;
    'ludwig status')
        it '... the restored database knows both sweeps' \
            '[ "$(on fileserver ludwig status --state done --quiet | wc -l)" = 2 ]'
        ;;
    esac
done <blocks/list

mapfile -t rows <blocks/list

# "The new node is set up as in steps 1, 2, 3 and 5", with its name in place of node1.
replaced() {
    for row in "${rows[@]}"; do
        read -r n host user step <<<"$row"
        case $step$host in
        2.node1 | 5.*) ;;
        *) continue ;;
        esac
        sed -i 's/node1/node2/g; s/NODE1/NODE2/g' "blocks/$n"
        block "$n" "${host/node1/node2}" "$user" </dev/null
    done
    on fileserver ludwig nodes --state up --quiet | grep -qx node2
    on fileserver as bob sh -c 'cd ~/bob-first && ludwig submit sweep.yaml --set x=[4,5] --wait'
}
it 'a new node is set up by the same steps, and runs jobs' replaced

done_testing
