/* SPDX-License-Identifier: MIT */
/*
 * trusted_dir.h - folders that nobody but root and ludwigd's own account can change
 *
 * What lies in them is theirs, and stays where it was seen.
 */
#ifndef LUDWIG_SERVER_CONN_TRUSTED_DIR_H
#define LUDWIG_SERVER_CONN_TRUSTED_DIR_H

#include <stdbool.h>

#include "common/base/err.h"

/* path is for the error alone: ERR_DENIED says whose the folder is, or who may write into it. */
int trusted_dir_check(int fd, const char *path, struct err *e);

/* Opens a folder that the configuration names; links on the way to it are followed. */
int trusted_dir_open(const char *path, struct err *e);

/* Opens a folder in a trusted one, which may be no link; with makes it is made if need be (0755). */
int trusted_dir_step(int dir_fd, const char *name, const char *path, bool makes, struct err *e);

#endif
