#!/bin/bash
# host.sh LAB NAME - the first process of a host of the laboratory (see tests/functional/lab.sh)
#
# Runs in namespaces of its own.  Builds a root that shares only /usr (read-only) and /etc
# (copy-on-write) with the machine.  The rest is the host's disk, $LAB/NAME/disk, and /run,
# /tmp and /dev, which are new at each boot.
set -eu
umask 022

lab=$1
name=$2
test_tmp=$(dirname "$lab")
disk=$lab/$name/disk
root=$lab/$name/root
# /proc is still the test's, so this is the pid that the test knows this process by.
read -r pid _ </proc/self/stat
echo "$name" >/proc/sys/kernel/hostname

read_only() { # FROM TO
    mkdir -p "$2"
    mount --bind "$1" "$2"
    mount -o remount,bind,ro "$2"
}

mount -t tmpfs -o mode=0755 lab "$root"
for folder in /bin /sbin /lib /lib32 /lib64 /libx32; do
    if [ -L $folder ]; then
        cp -P $folder "$root$folder"
    elif [ -d $folder ]; then
        read_only $folder "$root$folder"
    fi
done
read_only /usr "$root/usr"
mount -t overlay -o "ro,lowerdir=$lab/bin:/usr/local/bin" lab "$root/usr/local/bin"
mkdir "$root/etc"
mount -t overlay -o "lowerdir=/etc,upperdir=$disk/etc,workdir=$disk/.etc" lab "$root/etc"

for folder in home media mnt processing root srv var; do
    mkdir -p "$disk/$folder" "$root/$folder"
    mount --bind "$disk/$folder" "$root/$folder"
done
chmod 0700 "$root/root"
mkdir -p "$root"/var/{cache,lib,log,mail,tmp} "$root"/{proc,sys,dev,run,tmp,opt}
chmod 1777 "$root/tmp" "$root/var/tmp"
ln -sfn /run "$root/var/run"
read_only "$lab/lib" "$root/opt/lab"
mkdir -p "$root$test_tmp"
mount --bind "$test_tmp" "$root$test_tmp"

mount -t tmpfs -o mode=0755 lab "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -p "$root"/dev/{pts,shm}
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 lab "$root/dev/pts"
mount -t tmpfs -o mode=1777 lab "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t sysfs -o ro lab "$root/sys"

cd "$root"
mkdir .old
pivot_root . .old
mount -t proc lab /proc
# Each boot gets a boot id of its own, as a kernel would give one.
mkdir -p /run/sshd /run/service
chmod 1777 /run/service
while read -r uid; do
    install -d -m 0700 -o "$uid" -g "$uid" "/run/user/$uid"
done <".old$lab/uids"
cat /proc/sys/kernel/random/uuid >/run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
ip link set lo up
echo "$pid" >".old$lab/$name/pid.new"
mv ".old$lab/$name/pid.new" ".old$lab/$name/pid"
umount -l .old
rmdir .old
cd /

# Orphaned processes become children of this one; bash reaps them while it reads.
mkfifo -m 0600 /run/never
exec <>/run/never >/dev/null 2>&1
while :; do
    read -r
done
