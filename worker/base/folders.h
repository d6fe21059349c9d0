/* SPDX-License-Identifier: MIT */
/*
 * folders.h - the worker's folders on this machine
 *
 * scratch holds jobs, their results until they are published, and the cache.
 * runtime holds locks, sockets and the registry, so it must be a local file
 * system, whatever the user's home is.  Both belong to us alone.
 */
#ifndef LUDWIG_WORKER_BASE_FOLDERS_H
#define LUDWIG_WORKER_BASE_FOLDERS_H

#include <stdbool.h>

#include "worker/base/conf.h"

struct folders {
    char *pattern; /* of scratch, as configured or chosen */
    char *scratch; /* NULL where each user has one of its own, see user_scratch.h */
    char *common;  /* scratch outside Slurm, whose cache pilots share; NULL likewise */
    char *runtime;
    char *pilots_scratch, *pilots_runtime; /* of a pilot, but for the Slurm job's id at the end */
};

/* Names the folders, and makes those above them.  job: of a worker inside a Slurm job, which has
 * folders of its own beside others of the same user on this host; else NULL. */
int folders_name(const struct conf *c, const char *host, const char *job, bool is_for_many,
                 struct folders *p, struct err *e);
/* Makes the folders, too.  A worker inside a Slurm job shares the others' cache if it can. */
int folders_find(const struct conf *c, const char *host, const char *job, bool is_for_many,
                 struct folders *p, struct err *e);
/* Removes the folders of a worker inside a Slurm job, which no later worker goes on with. */
void folders_remove(const struct folders *p);
void folders_free(struct folders *p);

/* The beginning of all names of scratch folders, */
#define FOLDERS_PREFIX "ludwig-"
/* and the place of the user's name in scratch:. */
#define FOLDERS_USER "{user}"
/* Caller frees. */
char *folders_replace_user(const char *pattern, const char *user);

/* Makes the folder, 0700, if need be; refuses a symlink and another user's folder. */
int folders_own(const char *path, struct err *e);

/* Puts a link to the ludwig beside our own program into <scratch>/bin, for the jobs' PATH. */
int folders_link_ludwig(const char *scratch, struct err *e);

#endif
