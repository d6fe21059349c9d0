/* SPDX-License-Identifier: MIT */
/*
 * passed_env.h - variables of the submitter's shell that a sweep passes to its jobs
 *
 * The values lie in a table of their own (passed).  They go to workers with a hand and nowhere
 * else: no listing, log or reply has them.  A trigger of the database deletes them when the sweep
 * ends or is removed; if jobs of it run again after that, the user has to give the values again.
 */
#ifndef LUDWIG_SERVER_QUEUE_PASSED_ENV_H
#define LUDWIG_SERVER_QUEUE_PASSED_ENV_H

#include "common/proto/jobspec.h"

struct server;

/* Keeps the values of a sweep that is being submitted: one for each of names, else ERR_PROTOCOL. */
int passed_env_keep(struct server *sv, int64_t sweep, const struct list *names,
                    const struct list *values /* struct env_entry */, struct err *e);
/* For jobs of the sweep that run again: keeps the values given for variables that the sweep passes,
 * and fails with ERR_USAGE when one is still missing. */
int passed_env_renew(struct server *sv, int64_t sweep, const struct list *values, struct err *e);
/* Deletes the sweep's values if it is over all the same, as none of its jobs runs again. */
int passed_env_tidy(struct server *sv, int64_t sweep, struct err *e);
/* Whether the sweep has values: 1, 0, -1. */
int passed_env_is_there(struct server *sv, int64_t sweep, struct err *e);
/* Appends the values to work->env, in the arena.  *missing: the first name without one, or NULL. */
int passed_env_add(struct server *sv, int64_t sweep, struct jobspec *work, struct arena *a,
                   const char **missing, struct err *e);

#endif
