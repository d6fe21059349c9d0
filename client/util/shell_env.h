/* SPDX-License-Identifier: MIT */
/*
 * shell_env.h - reads variables of this program's environment that are passed to jobs
 */
#ifndef LUDWIG_CLIENT_UTIL_SHELL_ENV_H
#define LUDWIG_CLIENT_UTIL_SHELL_ENV_H

#include "common/proto/jobspec.h"

/* Says why no value may go to a server whose messages others may read. */
extern const char shell_env_open_server[];

/* Fills entries with struct env_entry of the named variables, in the arena.  ERR_USAGE: one is not
 * set, or cannot be passed; no error has a value in it. */
int shell_env_read(const struct list *names, struct arena *a, struct list *entries, struct err *e);

#endif
