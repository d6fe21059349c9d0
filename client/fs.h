/* SPDX-License-Identifier: MIT */
/*
 * fs.h - what kind of file system something lies on
 */
#ifndef LUDWIG_CLIENT_FS_H
#define LUDWIG_CLIENT_FS_H

#include <stdbool.h>

/* Other machines may see it too, and nobody is told what they change.  True when in doubt. */
bool fs_is_network(const char *path);

#endif
