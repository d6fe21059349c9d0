/* SPDX-License-Identifier: MIT */
/*
 * passed_env.h - variables of the shell that submitted a sweep, for its jobs
 *
 * Their values lie in a table of their own (passed), are read when jobs are handed out, and go to
 * workers with the hand and nowhere else: no listing, log or reply has them.  The database takes them
 * away when the sweep ends (a trigger: however it ends, or is removed); jobs of it that are then to
 * run again need them again.
 */
#ifndef LUDWIG_SERVER_QUEUE_PASSED_ENV_H
#define LUDWIG_SERVER_QUEUE_PASSED_ENV_H

#include "common/proto/jobspec.h"

struct server;

/* Keeps the values of a sweep that is being submitted: those of names, each once and no others. */
int passed_env_keep(struct server *sv, int64_t sweep, const struct list *names,
                    const struct list *values /* struct env_entry */, struct err *e);
/* For jobs of the sweep that run again: takes values that are given, and fails with ERR_USAGE when one
 * is missing. */
int passed_env_renew(struct server *sv, int64_t sweep, const struct list *values, struct err *e);
/* Takes away what a sweep has that is over all the same, as no job of it runs again. */
int passed_env_tidy(struct server *sv, int64_t sweep, struct err *e);
/* Whether it has any: 1, 0, -1. */
int passed_env_is_there(struct server *sv, int64_t sweep, struct err *e);
/* Puts the values behind env.  *missing: the first name that has none; NULL: all have one. */
int passed_env_add(struct server *sv, int64_t sweep, struct jobspec *work, struct arena *a,
                   const char **missing, struct err *e);

#endif
