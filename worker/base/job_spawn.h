/* SPDX-License-Identifier: MIT */
/*
 * job_spawn.h - starts a job's first process
 *
 * The process gets a session and process group of its own, default signals and only descriptors 0
 * to 2; the kernel kills it when its parent dies.
 */
#ifndef LUDWIG_WORKER_BASE_JOB_SPAWN_H
#define LUDWIG_WORKER_BASE_JOB_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/data/schema.h"

struct job_spawn {
    const char *program; /* run with words; NULL, or it cannot be run: the shell is */
    char *const *words;
    const char *shell;
    char *const *shell_words;
    char *const *env;
    int work_fd;            /* the folder to start in */
    bool shares_with_group; /* umask 007: new files are for its group as for itself */
    int in_fd;
    int log_fd;              /* stdout and stderr */
    int out_fd;              /* stdout instead of log_fd; 0: stdout goes to log_fd */
    const struct list *cpus; /* struct number: its processors; empty: any */
    bool has_group;          /* it starts in the control group (version 2) with folder group_fd */
    int group_fd;
    int64_t file_max_bytes; /* the largest size of a file that it writes; 0: no limit */
};

/* Whether a process can start in a control group: since Linux 5.7, but not in some containers. */
bool job_spawn_knows_groups(void);

/* Starts the process.  The caller must have blocked all signals that it handles.  Returns the pid,
 * or -1 with e set; *is_jobs_fault: starting it on another machine would fail, too. */
pid_t job_spawn(const struct job_spawn *s, bool *is_jobs_fault, struct err *e);

/*
 * Commands that need no shell.
 *
 * Starting /bin/sh costs as much as starting the job itself.  A command that consists of words,
 * plain or in single quotes, means the same without a shell, as make(1) knows too.  What a shell
 * would interpret ($ * ; = ~ ...), and the names of its own commands, are left to it.
 */

/* Returns the command's words, ended by NULL, in the arena; NULL: the command needs a shell. */
char **job_spawn_words(const char *command, struct arena *a);

/* Returns the path of the program that word names by this PATH, in the arena; NULL: none. */
const char *job_spawn_program(const char *word, const char *path, struct arena *a);

#endif
