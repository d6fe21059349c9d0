#!/bin/bash
# guest_init.sh - the first process of a guest (functional/guest.sh): builds its root, runs a script
#
# linux.uml starts it with the outer machine's files below /, read-only.  The environment, which
# comes from the kernel's command line, has:
#
#     GUEST_REPO     the repository        GUEST_BIN    ludwig's programs
#     GUEST_TOOLS    unpacked packages     GUEST_OUT    a writable folder, which is /out in the guest
#     GUEST_SCRIPT   the script, relative to the repository
#     GUEST_LIMIT_S  the guest is killed after so many seconds
#
# The script's output goes to GUEST_OUT/log, its status to GUEST_OUT/status.  When the script has ended
# the guest is switched off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
root=/mnt

off() {
    echo o >$root/proc/sysrq-trigger
    sleep 10
}

modules() { # NAME...: load kernel modules, by a kmod that may only have been unpacked
    local tool
    tool=$(PATH=$PATH:$GUEST_TOOLS/usr/bin command -v kmod) || return
    for name; do
        (exec -a modprobe "$tool" -d "$root/modules" "$name") || return
    done
}

build_root() {
    mkdir -p $root/{usr,etc/alternatives,var/{lib,log,cache},home,root,run,tmp,sys,dev,srv,media,opt} \
        $root/{repo,modules/lib,processing} || return
    chmod 1777 $root/tmp
    for name in bin sbin lib lib64; do
        ln -s usr/$name $root/$name || return
    done
    for name in netconfig protocols services ld.so.cache ld.so.conf request-key.conf; do
        [ ! -e "/etc/$name" ] || cp "/etc/$name" $root/etc/ || return
        [ -e "$root/etc/$name" ] || [ ! -e "$GUEST_TOOLS/etc/$name" ] ||
            cp "$GUEST_TOOLS/etc/$name" $root/etc/ || return
    done
    ln -s "$modules" $root/modules/lib/modules &&
        modules overlay &&
        mount -t overlay -o "lowerdir=$GUEST_TOOLS/usr:/usr" usr $root/usr &&
        mount --bind /etc/alternatives $root/etc/alternatives &&
        mount --bind "$GUEST_REPO" $root/repo &&
        cp -r "$GUEST_BIN" $root/opt/ludwig &&
        mount -t sysfs sysfs $root/sys &&
        mount --bind /dev $root/dev && mkdir -p $root/dev/shm $root/dev/pts &&
        mount -t tmpfs shm $root/dev/shm &&
        mount -t devpts devpts $root/dev/pts
}

mount -t proc proc /proc
mount --make-rprivate /
mount -t tmpfs run /run
mount -t tmpfs -o mode=0755 root $root && mkdir $root/{out,proc} && mount --bind /proc $root/proc &&
    mount -t hostfs -o "$GUEST_OUT" out $root/out || off
exec >$root/out/init 2>&1 </dev/null
# The age of this file tells functional/guest.sh whether the guest's kernel still runs.
while sleep 1; do
    echo >>$root/out/beats
done &
modules=$GUEST_TOOLS/usr/lib/uml/modules
[ -d "$modules" ] || modules=/usr/lib/uml/modules
if build_root; then
    modules nfsd nfs nfsv4 cifs cmac hmac ctr ghash-generic gcm ccm sha512_generic
    chroot $root env -i PATH="/opt/ludwig:$PATH" LC_ALL=C HOME=/root LUDWIG_BIN=/opt/ludwig GUEST_LIMIT_S="$GUEST_LIMIT_S" \
        /bin/bash "/repo/$GUEST_SCRIPT" >$root/out/log 2>&1 </dev/null
    echo $? >$root/out/status
fi
# Sync only the log's file system: one whose server has ended would block.
sync -f $root/out/log
off
