/* SPDX-License-Identifier: MIT */
/*
 * folders.h - chooses, makes and checks the worker's folders on this machine
 *
 * scratch holds jobs, their results until they are published, and the cache.  runtime holds locks,
 * sockets and the registry, so it must be on a local file system, whatever the user's home is on.
 * Both are our user's alone, and nobody else may rename them; names taken by strangers are avoided.
 */
#ifndef LUDWIG_WORKER_BASE_FOLDERS_H
#define LUDWIG_WORKER_BASE_FOLDERS_H

#include <stdbool.h>

#include "worker/base/conf.h"

struct folders {
    char *pattern; /* path of scratch, as configured or chosen; may contain {user} */
    char *scratch; /* NULL if each user has a scratch folder, see user_scratch.h */
    char *common;  /* scratch of our user outside Slurm, whose cache pilots share; NULL likewise */
    char *runtime;
    char *pilots_scratch, *pilots_runtime; /* paths of a pilot's, up to the Slurm job's id */
};

/* Names the folders, and makes those above them.  job: NULL, or the id of the Slurm job that the
 * worker is in and has folders of its own for.  is_for_many: each user has a scratch folder. */
int folders_name(const struct conf *c, const char *host, const char *job, bool is_for_many,
                 struct folders *p, struct err *e);
/* Names and makes the folders; in a Slurm job, cache becomes a link to the common one if it can. */
int folders_find(const struct conf *c, const char *host, const char *job, bool is_for_many,
                 struct folders *p, struct err *e);
/* Removes scratch and runtime of a worker inside a Slurm job: no later worker uses them. */
void folders_remove(const struct folders *p);
void folders_free(struct folders *p);

/* All names of scratch folders begin so. */
#define FOLDERS_PREFIX "ludwig-"
/* Stands for the user's name in the setting scratch:. */
#define FOLDERS_USER "{user}"
/* Returns pattern with the user's name for each {user}; the caller frees it. */
char *folders_replace_user(const char *pattern, const char *user);

/* Makes the folder if need be and gives it the mode 0700; refuses a symlink and another user's. */
int folders_own(const char *path, struct err *e);

/* Puts a link to the ludwig beside our own program into <scratch>/bin, for the jobs' PATH. */
int folders_link_ludwig(const char *scratch, struct err *e);

#endif
