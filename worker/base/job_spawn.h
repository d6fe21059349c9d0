/* SPDX-License-Identifier: MIT */
/*
 * job_spawn.h - starts a job's first process
 *
 * It gets a session and process group of its own, default signals, nothing but
 * descriptors 0 to 2, and dies with its parent.
 */
#ifndef LUDWIG_WORKER_BASE_JOB_SPAWN_H
#define LUDWIG_WORKER_BASE_JOB_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/data/schema.h"

struct job_spawn {
    const char *program; /* tried first, with words; NULL: the shell at once */
    char *const *words;
    const char *shell;
    char *const *shell_words;
    char *const *env;
    int work_fd;            /* folder to start in */
    bool shares_with_group; /* its files are for its group as for itself */
    int in_fd;
    int log_fd;              /* stdout and stderr */
    const struct list *cpus; /* struct number; empty: any */
    bool has_group;          /* it starts in this control group: the folder of one of version 2 */
    int group_fd;
    int64_t file_max_bytes; /* no file of it gets larger; 0: no limit */
};

/* Whether a process can start in a control group: since Linux 5.7, but not in some containers. */
bool job_spawn_knows_groups(void);

/* The caller must have all signals blocked that it handles. Returns the pid, or -1: then
 * *is_jobs_fault says that starting it elsewhere would not help. */
pid_t job_spawn(const struct job_spawn *s, bool *is_jobs_fault, struct err *e);

/*
 * Commands that need no shell.
 *
 * Starting /bin/sh costs as much as starting the job itself.  A command that is
 * nothing but words, plain or in single quotes, means the same without a shell,
 * as make(1) knows too.  Whatever the shell would look at twice ($ * ; = ~ ...),
 * and the names of its own commands, are left to it.
 */

/* The words, ended by NULL, in the arena; NULL when the command needs a shell. */
char **job_spawn_words(const char *command, struct arena *a);

/* The program that word names, by this PATH, in the arena; NULL when there is none. */
const char *job_spawn_program(const char *word, const char *path, struct arena *a);

#endif
