#!/bin/bash
# bundle.sh - `make bundle`, unpacked by a user without rights where none of our libraries is
. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" != 0 ] || sanitized; then
    skip 'a sweep runs from the bundle' 'takes root, and programs as they are installed'
    done_testing
fi

uid=54321
root=$TEST_TMP/root

bundles() {
    make_bundle
    grep -E 'with glibc 2\.[0-9]+ or newer$' said
    # Each file belongs to whoever unpacks it, below one folder.
    tar -tzf ludwig-*.tar.gz | cut -d/ -f1 | sort -u >tops
    [ "$(cat tops)" = "$(basename ludwig-*.tar.gz .tar.gz)" ]
    [ -z "$(tar -tvzf ludwig-*.tar.gz | grep -v ' 0/0 ')" ]
}
it 'make bundle makes one tar, and says what it needs' bundles

# A program, and what it loads.
add_program() { # NAME
    local file
    for file in "$(command -v "$1")" $(ldd "$(command -v "$1")" | grep -o '/[^ ]*'); do
        mkdir -p "$root$(dirname "$file")"
        cp -L "$file" "$root$file"
    done
}

# A machine with a C library, a shell and what unpacks the bundle.
makes_root() {
    local name libc
    chmod 0755 "$TEST_TMP"
    mkdir -p "$root"/{dev,proc,etc,home} "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/usr/sbin"
    for name in bin lib lib64 sbin; do
        [ ! -L "/$name" ] || ln -s "usr/$name" "$root/$name"
    done
    for name in sh cat env tar gzip sleep; do
        add_program "$name"
    done
    libc=$(dirname "$(ldd "$LUDWIG_BIN/ludwig" | awk '$1 == "libc.so.6" { print $3 }')")
    for name in m dl rt pthread resolv; do
        cp -L "$libc/lib$name".so.[0-9]* "$root$libc/"
    done
    mkdir -m 1777 "$root/tmp"
    echo "ada:x:$uid:$uid::/home/ada:/bin/sh" >"$root/etc/passwd"
    mkdir -m 0700 "$root/home/ada"
    mkdir "$root/home/ada/sweep"
    cat >"$root/home/ada/sweep/sweep.yaml" <<'END'
command: sh run.sh {a}
params: {a: [1, 2]}
END
    cat >"$root/home/ada/sweep/run.sh" <<'END'
env
ludwig report score=$1.5
echo "$1" >"$LUDWIG_SAVE_PATH/value"
END
    cp ludwig-*.tar.gz "$root/home/ada"
    chown -R "$uid:$uid" "$root/home/ada"
    tar -tzf ludwig-*.tar.gz | sed -n 's|.*/lib/\(.\)|\1|p' | grep . | while read -r name; do
        [ -z "$(find "$root" -name "$name")" ] || { echo "$name is there"; false; }
    done
}
it 'a machine without our libraries' makes_root

as_ada() { # SHELL-TEXT
    # shellcheck disable=SC2016 # for the inner shell
    unshare -m sh -c '
        mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" &&
            exec chroot --userspec="$2:$2" --groups= "$1" /usr/bin/env -i HOME=/home/ada USER=ada \
                PATH=/home/ada/ludwig/bin:/usr/bin:/bin LUDWIG_TEST_MARK="$4" sh -c "cd; $3"
    ' sh "$root" "$uid" "$1" "$LUDWIG_TEST_MARK"
}

runs() {
    as_ada 'tar -xzf ludwig-*.tar.gz && exec ludwig-*/bin/ludwig version' | grep '^ludwig '
    mv "$root"/home/ada/ludwig-*/ "$root/home/ada/ludwig" # where it lies is nothing to it
    as_ada 'cd sweep && exec ludwig submit sweep.yaml --wait' >id
    [ "$(cat id)" = 1 ]
    as_ada 'exec ludwig results 1 --json' >r
    json r 'sorted(x["metrics"]["score"]["mean"] for x in d["results"]) == [1.5, 2.5]'
}
it 'a sweep runs from it, without root' runs

leaks_nothing() {
    as_ada 'exec ludwig logs 1.1' >env
    grep '^LUDWIG_SAVE_PATH=' env
    not grep -E '^LD_|/ludwig/lib' env
}
it 'its libraries are not seen by the jobs' leaks_nothing

as_ada 'exec ludwig down' >/dev/null
done_testing
