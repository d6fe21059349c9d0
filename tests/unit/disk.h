/* SPDX-License-Identifier: MIT */
/*
 * disk.h - puts the temporary files of tests on a disk
 */
#ifndef LUDWIG_TESTS_DISK_H
#define LUDWIG_TESTS_DISK_H

#include <stdbool.h>
#include <stdlib.h>

#include "common/base/fs.h"

/* Whether path lies neither in memory (tmpfs) nor on a network file system. */
static inline bool is_disk(const char *path)
{
    return !fs_is_memory(path) && !fs_is_network(path);
}

/* The setup of a group of tests: sets TMPDIR to /tmp, or to /var/tmp if /tmp is not on a disk. */
static inline int use_disk(void **state)
{
    (void)state;
    return setenv("TMPDIR", is_disk("/tmp") ? "/tmp" : "/var/tmp", 1);
}

#endif
