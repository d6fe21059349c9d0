/* SPDX-License-Identifier: MIT */
/*
 * jobenv.h - makes a job's environment from nothing
 *
 * A job gets only variables that are set here, so that it behaves the same on every node: a few of
 * the user and the machine, those of the environment that the sweep names or was submitted from,
 * ludwig's, the number of threads, the GPUs, and then those of the sweep's own env:.
 */
#ifndef LUDWIG_WORKER_RUNNER_JOBENV_H
#define LUDWIG_WORKER_RUNNER_JOBENV_H

#include "worker/base/child_protocol.h"

/* The user that jobs run as: the same for all jobs of a runner. */
struct jobenv_user {
    const char *name;
    const char *home; /* NULL: the user has none on this machine */
    const char *shell;
    const char *bin;  /* the folder with ludwig, which comes first in PATH */
    const char *path; /* the rest of PATH, as it is on this machine */
};

/* Finds the user that this process runs as; strings live in a. */
void jobenv_find_user(const char *scratch, struct arena *a, struct jobenv_user *user);

/* Returns entries NAME=VALUE, ended by NULL, all in a.  job_path: the attempt's folder. */
char **jobenv_make(const struct order *o, const struct jobenv_user *user, const char *job_path,
                   struct arena *a);
/* Returns the variable's value; NULL: env does not have it. */
const char *jobenv_get(char *const *env, const char *name);

#endif
