#!/bin/bash
# guest_init.sh - the first process of a machine in the machine: builds its root, runs a script there
#
# linux.uml starts it with the outer machine's files below /, which cannot be written to.  In the
# environment, from the kernel's command line:
#
#     GUEST_REPO     the repository        GUEST_BIN    ludwig's programs
#     GUEST_TOOLS    unpacked packages     GUEST_OUT    a folder that may be written to: /out inside
#     GUEST_SCRIPT   what to run, below the repository
#
# What the script prints lies in GUEST_OUT/log.  The machine is off when the script has ended.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
root=/mnt

off() {
    echo o >$root/proc/sysrq-trigger
    sleep 10
}

modules() { # NAME...: a tool of that name may have been unpacked only
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
# By its age functional/guest.sh tells a guest that stands still from a script that waits in vain.
while sleep 1; do
    echo >>$root/out/beats
done &
modules=$GUEST_TOOLS/usr/lib/uml/modules
[ -d "$modules" ] || modules=/usr/lib/uml/modules
if build_root; then
    modules nfsd nfs nfsv4 cifs cmac hmac ctr ghash-generic gcm ccm sha512_generic
    chroot $root env -i PATH="/opt/ludwig:$PATH" LC_ALL=C HOME=/root LUDWIG_BIN=/opt/ludwig \
        /bin/bash "/repo/$GUEST_SCRIPT" >$root/out/log 2>&1 </dev/null
    echo $? >$root/out/status
fi
# Not all there is: who served a mount may be gone.
sync -f $root/out/log
off
