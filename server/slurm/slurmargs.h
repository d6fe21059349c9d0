/* SPDX-License-Identifier: MIT */
/*
 * slurmargs.h - the arguments, the environment and the script that Slurm's commands get
 *
 * No shell reads the arguments, each option is one of them, and texts of a user are checked
 * here again: a text may be wrong for Slurm, but is never another option, nor a line of the script.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMARGS_H
#define LUDWIG_SERVER_SLURM_SLURMARGS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/mem.h"
#include "common/proto/jobspec.h"

/* Pilots of one pool, to be submitted at once. */
struct pilot_request {
    const struct slurm_pool *pool; /* of the user's sweep */
    const char *name, *comment;    /* by which pilots are known again */
    const char *folder;            /* where pilots start; it has to exist on their node */
    const char *log;    /* NAME.log, where a pilot's output goes; in an array each has NAME_N.log */
    const char *signal; /* as --signal takes it: "B:USR1@60"; NULL: none */
    int64_t cpus;
    int64_t memory_bytes; /* 0: the partition's default, as time_ms */
    int64_t time_ms;
    int64_t gpus; /* unless the pool names its gres */
    int64_t n;    /* more than one are an array, 0 to n - 1 */
};

/* argv of sbatch, which reads its script from standard input; NULL with e set when a text cannot be
 * an argument.  In the arena, like the others below. */
char **slurm_sbatch_args(const struct pilot_request *r, struct arena *a, struct err *e);

/* texts: jobs as "17", or as "17_3", which lists that task alone; by_name: names of jobs. */
char **slurm_squeue_args(bool by_name, const char *const *texts, size_t n, struct arena *a);
char **slurm_sacct_args(const char *const *jobs, size_t n, struct arena *a);
char **slurm_scancel_args(const char *const *jobs, size_t n, struct arena *a);

/* Appends the script of a pilot: the shell is replaced by this program. */
void slurm_add_script(struct buf *out, const char *const *program);

/* The user whose rights the commands have. */
struct slurm_user {
    const char *name, *home, *shell;
};

/* The environment of sbatch, from which jobs inherit it: nothing but the user's names and where
 * Slurm is (path, and conf if it has no configuration of the system's).  is_read: for a command
 * whose output is read, with what slurmread.h needs. */
char **slurm_env(const struct slurm_user *user, const char *path, const char *conf, bool is_read,
                 struct arena *a);

#endif
