/* SPDX-License-Identifier: MIT */
/*
 * sftp_attrs.h - what an SFTP server says of a file
 */
#ifndef LUDWIG_COMMON_SFTP_SFTP_ATTRS_H
#define LUDWIG_COMMON_SFTP_SFTP_ATTRS_H

#include <stdint.h>
#include <sys/types.h>

enum sftp_attr { SFTP_SIZE = 1, SFTP_OWNER = 2, SFTP_MODE = 4, SFTP_TIMES = 8 };

struct sftp_attrs {
    unsigned has; /* enum sftp_attr: which of the others hold */
    uint64_t size_bytes;
    uint32_t uid, gid;
    mode_t mode; /* type and permissions, as in struct stat */
    uint32_t atime_s, mtime_s;
};

#endif
