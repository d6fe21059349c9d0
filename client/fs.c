/* SPDX-License-Identifier: MIT */
/* fs.c - what kind of file system something lies on */
#include <stddef.h>
#include <stdint.h>

#ifdef __linux__
#include <sys/vfs.h>
#else
#include <sys/param.h>
#include <sys/mount.h>
#endif

#include "client/fs.h"

#ifdef __linux__
/* f_type of statfs(2); those that linux/magic.h lacks are named beside. */
static const uint32_t network_types[] = {
    0x6969,     /* NFS */
    0x517b,     /* SMB */
    0xff534d42, /* CIFS */
    0xfe534d42, /* SMB2 */
    0x65735546, /* FUSE: sshfs and others */
    0x01021997, /* 9p */
    0x00c36400, /* Ceph */
    0x5346414f, /* AFS */
    0x6b414653, /* kAFS */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x19830326, /* BeeGFS */
    0xaad7aaea, /* PanFS */
    0x7461636f, /* OCFS2 */
    0x01161970, /* GFS2 */
    0x20030528, /* OrangeFS */
};

bool fs_is_network(const char *path)
{
    struct statfs fs;

    if (statfs(path, &fs) < 0)
        return true;
    for (size_t i = 0; i < sizeof network_types / sizeof network_types[0]; i++)
        if ((uint32_t)fs.f_type == network_types[i])
            return true;
    return false;
}
#else
bool fs_is_network(const char *path)
{
    struct statfs fs;

    return statfs(path, &fs) < 0 || (fs.f_flags & MNT_LOCAL) == 0;
}
#endif
