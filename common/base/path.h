/* SPDX-License-Identifier: MIT */
/* path.h - names and paths, never in fixed buffers */
#ifndef LUDWIG_COMMON_BASE_PATH_H
#define LUDWIG_COMMON_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

char *path_join(const char *dir, const char *name); /* caller frees */
char *path_dirname(const char *path);               /* caller frees; "." for a bare name */
const char *path_basename(const char *path);        /* points into path */
/* Whether path is relative, not empty, without "..", "." or empty components: such a path stays
 * below the folder where it starts. */
bool path_is_inside(const char *path);
/* Whether ext4, NFS and SMB clients can all show the name: not empty, no / \ : * ? " < > |, no
 * control characters, no leading or trailing blank, no trailing dot, not CON, PRN, AUX, NUL, COMn,
 * LPTn; at most 200 bytes. */
bool path_is_portable_name(const char *name);
/* The absolute path without symlinks; path must exist.  Caller frees; NULL with e set. */
char *path_real(const char *path, struct err *e);
/* The path with a leading "~" or "~/" replaced by $HOME, else a copy.  Caller frees. */
char *path_expand_home(const char *path);

#endif
