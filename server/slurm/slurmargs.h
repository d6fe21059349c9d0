/* SPDX-License-Identifier: MIT */
/*
 * slurmargs.h - the arguments, environment and script that Slurm's commands get
 *
 * No shell reads the arguments, and each option is one argument.  Texts of a user are checked here
 * again: a text may be wrong for Slurm, but never becomes another option or a line of the script.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMARGS_H
#define LUDWIG_SERVER_SLURM_SLURMARGS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/mem.h"
#include "common/proto/jobspec.h"

/* Pilots of one pool that one sbatch submits. */
struct pilot_request {
    const struct slurm_pool *pool; /* of the user's sweep */
    const char *name, *comment;    /* by which ludwigd recognises its pilots */
    const char *folder;            /* where pilots start; it has to exist on their node */
    const char *log;    /* NAME.log, for a pilot's output; in an array each pilot has NAME_N.log */
    const char *signal; /* as --signal takes it: "B:USR1@60"; NULL: none */
    int64_t cpus;
    int64_t memory_bytes; /* 0: the partition's default; the same for time_ms */
    int64_t time_ms;
    int64_t gpus; /* not used if the pool names its gres */
    int64_t n;    /* how many pilots; more than one are an array, 0 to n - 1 */
};

/* argv of sbatch, which reads its script from standard input; NULL with e set when a text cannot be
 * an argument.  All argv and environments here are in the arena. */
char **slurm_sbatch_args(const struct pilot_request *r, struct arena *a, struct err *e);

/* argv of squeue.  texts: jobs like "17", or "17_3" for that task alone; by_name: names of jobs. */
char **slurm_squeue_args(bool by_name, const char *const *texts, size_t n, struct arena *a);
/* env, extended so that squeue begins each row with the mark.  A user can write line feeds, and
 * whole rows after them, into a job's name and comment, but cannot see the mark, unlike
 * arguments. */
char **slurm_squeue_env(char *const *env, const char *mark, struct arena *a);
/* argv of sacct, for jobs that also have one of these names: sacct prints names as they are, and a
 * user can write line feeds and whole rows into one. */
char **slurm_sacct_args(const char *const *jobs, size_t n, const char *const *names, size_t n_names,
                        struct arena *a);
/* argv of scancel.  user: cancels only that user's jobs, whatever `jobs` names; NULL: anybody's. */
char **slurm_scancel_args(const char *user, const char *const *jobs, size_t n, struct arena *a);

/* Appends the script of a pilot, in which the shell replaces itself by this program (argv). */
void slurm_add_script(struct buf *out, const char *const *program);

/* The user with whose rights a command runs. */
struct slurm_user {
    const char *name, *home, *shell;
};

/* The environment of sbatch, which its jobs inherit: only the user's names and where Slurm is
 * (path; conf if Slurm has no system-wide configuration).  is_read: for a command whose output is
 * read, with the variables that slurmread.h needs. */
char **slurm_env(const struct slurm_user *user, const char *path, const char *conf, bool is_read,
                 struct arena *a);

#endif
