/* SPDX-License-Identifier: MIT */
/*
 * disk.h - for tests: temporary files that lie on a disk
 */
#ifndef LUDWIG_TESTS_DISK_H
#define LUDWIG_TESTS_DISK_H

#include <stdbool.h>
#include <stdlib.h>

#include "common/base/fs.h"

static inline bool is_disk(const char *path)
{
    return !fs_is_memory(path) && !fs_is_network(path);
}

/* Sets TMPDIR; a group's setup. */
static inline int use_disk(void **state)
{
    (void)state;
    return setenv("TMPDIR", is_disk("/tmp") ? "/tmp" : "/var/tmp", 1);
}

#endif
