/* SPDX-License-Identifier: MIT */
/*
 * slurmargs.h - the arguments, the environment and the script that Slurm's commands get
 *
 * No shell reads the arguments, each option is one of them, and what comes from a user is checked
 * here again: it may be wrong for Slurm, but is never another option, nor a line of the script.
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
    const char *name, *comment;    /* by which they are known again */
    const char *folder;            /* where they start; there has to be one on their node */
    const char *log;    /* NAME.log, where their output goes; of an array each has NAME_N.log */
    const char *signal; /* as --signal takes it: "B:USR1@60"; NULL: none */
    int64_t cpus;
    int64_t memory_bytes; /* 0: what the partition gives, as time_ms */
    int64_t time_ms;
    int64_t gpus; /* unless the pool names its gres */
    int64_t n;    /* more than one are an array, 0 to n - 1 */
};

/* argv of sbatch, which reads its script from standard input; NULL with e set when something is no
 * text for it.  In the arena, like those below. */
char **slurm_sbatch_args(const struct pilot_request *r, struct arena *a, struct err *e);

/* Jobs are "17", "17_3"; ids of an array's tasks are looked at one by one.  by_name: all that have
 * one of these names. */
char **slurm_squeue_args(bool by_name, const char *const *texts, size_t n, struct arena *a);
char **slurm_sacct_args(const char *const *jobs, size_t n, struct arena *a);
char **slurm_scancel_args(const char *const *jobs, size_t n, struct arena *a);

/* The script of a pilot: it becomes this program, in a shell of which nothing is left. */
void slurm_add_script(struct buf *out, const char *const *program);

/* Whose commands they are. */
struct slurm_user {
    const char *name, *home, *shell;
};

/* An environment made from nothing but the user's names and where Slurm is (path, and conf if it
 * has no configuration of the system's): of sbatch, from which jobs inherit it.  is_read: of a
 * command whose output is read, with what slurmread.h needs. */
char **slurm_env(const struct slurm_user *user, const char *path, const char *conf, bool is_read,
                 struct arena *a);

#endif
