/* SPDX-License-Identifier: MIT */
/* fs.c - the kind of file system that a path lies on */
#include <stddef.h>

#ifdef __linux__
#include <sys/vfs.h>
#else
#include <sys/param.h>
#include <sys/mount.h>
#endif

#include "common/base/fs.h"

/* f_type of statfs(2), from linux/magic.h and the file systems' own sources. */
static const struct known {
    uint32_t magic;
    struct fs_type type;
} known[] = {
    { 0xef53, { "ext4", FS_LOCAL, true } }, /* and ext2, ext3 */
    { 0x58465342, { "xfs", FS_LOCAL, true } },
    { 0x9123683e, { "btrfs", FS_LOCAL, true } },
    { 0xf2f52010, { "f2fs", FS_LOCAL, true } },
    { 0x2fc12fc1, { "zfs", FS_LOCAL, true } },
    { 0xca451a4e, { "bcachefs", FS_LOCAL, true } },
    { 0x794c7630, { "overlay", FS_LOCAL, true } },
    { 0x4d44, { "vfat", FS_LOCAL, false } },
    { 0x2011bab0, { "exfat", FS_LOCAL, false } },
    { 0x5346544e, { "ntfs", FS_LOCAL, false } },
    { 0x7366746e, { "ntfs3", FS_LOCAL, false } },
    { 0x01021994, { "tmpfs", FS_MEMORY, true } },
    { 0x858458f6, { "ramfs", FS_MEMORY, true } },
    { 0x958458f6, { "hugetlbfs", FS_MEMORY, true } },
    { 0x6969, { "nfs", FS_NETWORK, true } },
    { 0x517b, { "smb", FS_NETWORK, false } },
    { 0xff534d42, { "cifs", FS_NETWORK, false } },
    { 0xfe534d42, { "smb2", FS_NETWORK, false } },
    { 0x65735546, { "fuse", FS_NETWORK, false } }, /* sshfs and others */
    { 0x01021997, { "9p", FS_NETWORK, false } },
    { 0x00c36400, { "ceph", FS_NETWORK, true } },
    { 0x5346414f, { "afs", FS_NETWORK, false } },
    { 0x6b414653, { "kafs", FS_NETWORK, false } },
    { 0x73757245, { "coda", FS_NETWORK, false } },
    { 0x0bd00bd0, { "lustre", FS_NETWORK, true } },
    { 0x47504653, { "gpfs", FS_NETWORK, true } },
    { 0x19830326, { "beegfs", FS_NETWORK, true } },
    { 0xaad7aaea, { "panfs", FS_NETWORK, true } },
    { 0x7461636f, { "ocfs2", FS_NETWORK, true } },
    { 0x01161970, { "gfs2", FS_NETWORK, true } },
    { 0x20030528, { "orangefs", FS_NETWORK, true } },
};

static const struct fs_type in_doubt = { "", FS_NETWORK, false };

struct fs_type fs_type_of_magic(uint32_t magic)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].magic == magic)
            return known[i].type;
    return (struct fs_type){ "", FS_UNKNOWN, false };
}

#ifdef __linux__
static struct fs_type type_of(const struct statfs *fs)
{
    return fs_type_of_magic((uint32_t)fs->f_type);
}
#else
static struct fs_type type_of(const struct statfs *fs)
{
    bool is_local = (fs->f_flags & MNT_LOCAL) != 0;

    return (struct fs_type){ "", is_local ? FS_LOCAL : FS_NETWORK, is_local };
}
#endif

struct fs_type fs_type_of(const char *path)
{
    struct statfs fs;

    return statfs(path, &fs) < 0 ? in_doubt : type_of(&fs);
}

struct fs_type fs_type_of_fd(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) < 0 ? in_doubt : type_of(&fs);
}

bool fs_is_network(const char *path)
{
    return fs_type_of(path).kind == FS_NETWORK;
}

bool fs_is_memory(const char *path)
{
    return fs_type_of(path).kind == FS_MEMORY;
}
