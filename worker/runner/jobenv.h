/* SPDX-License-Identifier: MIT */
/*
 * jobenv.h - a job's environment, made from nothing
 *
 * Only what is set here reaches a job, so that it behaves the same on every
 * node: a few things of the user and the machine, the environment that the sweep
 * names or was submitted from, ludwig's variables, the number of threads, the GPUs, and then the
 * sweep's own env:.
 */
#ifndef LUDWIG_WORKER_RUNNER_JOBENV_H
#define LUDWIG_WORKER_RUNNER_JOBENV_H

#include "worker/base/child_protocol.h"

/* The user that jobs run as: the same for all of a runner. */
struct jobenv_user {
    const char *name;
    const char *home; /* NULL: there is none on this machine */
    const char *shell;
    const char *bin;  /* first in PATH: where ludwig is */
    const char *path; /* the rest of PATH, as it is on this machine */
};

/* Strings live in a. */
void jobenv_find_user(const char *scratch, struct arena *a, struct jobenv_user *user);

/* The entries NAME=VALUE, ended by NULL, all in a.  job_path: the attempt's folder. */
char **jobenv_make(const struct order *o, const struct jobenv_user *user, const char *job_path,
                   struct arena *a);
/* The variable's value; NULL when it is not there. */
const char *jobenv_get(char *const *env, const char *name);

#endif
