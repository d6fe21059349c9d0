/* SPDX-License-Identifier: MIT */
/*
 * jailpattern.h - how a socket in each user's folder is written: "/srv/sftp/%u/ludwig/server.sock"
 */
#ifndef LUDWIG_SERVER_BASE_JAILPATTERN_H
#define LUDWIG_SERVER_BASE_JAILPATTERN_H

#include <stdbool.h>

#include "common/base/err.h"

/* For all users: "%u" stands for a whole folder's name. */
bool jailpattern_is(const char *socket);
int jailpattern_check(const char *socket, struct err *e);
/* Of one that was checked: the folder that holds the jails, and what is below each; the caller frees
 * both. */
void jailpattern_split(const char *pattern, char **dir, char **below);

#endif
