/* SPDX-License-Identifier: MIT */
/*
 * shell_env.h - variables of the shell that this program was started from, for jobs
 */
#ifndef LUDWIG_CLIENT_UTIL_SHELL_ENV_H
#define LUDWIG_CLIENT_UTIL_SHELL_ENV_H

#include "common/proto/jobspec.h"

/* Says why no value may go to a server whose messages others may read. */
extern const char shell_env_open_server[];

/* The values of the variables that are named, as struct env_entry in the arena.  ERR_USAGE: one is not
 * set, or cannot be passed; no error has a value in it. */
int shell_env_read(const struct list *names, struct arena *a, struct list *entries, struct err *e);

#endif
