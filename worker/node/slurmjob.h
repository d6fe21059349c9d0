/* SPDX-License-Identifier: MIT */
/*
 * slurmjob.h - the resources that Slurm has given to the Slurm job in which we run
 *
 * They stand in the environment of the batch script; Slurm is asked only for what it lacks.
 */
#ifndef LUDWIG_WORKER_NODE_SLURMJOB_H
#define LUDWIG_WORKER_NODE_SLURMJOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slurm_job {
    char *id;             /* "17", in an array "17_3"; NULL: we are in no Slurm job */
    char *node;           /* this machine's name in Slurm; NULL: not said */
    int64_t cpus;         /* given on this node; 0: not said */
    int64_t memory_bytes; /* given on this node; 0: not said, or all it has */
    char **gpus;          /* names as in CUDA_VISIBLE_DEVICES */
    size_t n_gpus;
    int64_t ends_at_ms; /* when Slurm ends it, in ms since 1970; 0: not said */
};

typedef const char *(*slurm_get_fn)(const char *name);

/* Fills in *j from variables, which get returns (slurm_job_env, except in tests). */
void slurm_job_read(struct slurm_job *j, slurm_get_fn get);
const char *slurm_job_env(const char *name);
void slurm_job_free(struct slurm_job *j);

/*
 * Whether Slurm is ending this job already.  To end a job, slurmstepd writes "*** JOB 62 ON node1
 * CANCELLED AT 2026-11-26T18:10:06 ***" into its output and sends SIGTERM, which is lost if the
 * script has not begun; SIGKILL follows after KillWait.  Call this when SIGTERM is blocked: what
 * came before then is in the output, of which output is a descriptor.  Returns false for a job that
 * Slurm has started again: its output may have the line of an earlier run.
 */
bool slurm_job_is_ended(slurm_get_fn get, int output);

/* Returns the soonest end that the job can have, as it began no sooner than it was submitted, in ms
 * since 1970; 0: a time is not known, or the job has waited for more than 2% of time_ms. */
int64_t slurm_job_soonest_end(int64_t submitted_at_ms, int64_t time_ms, int64_t now_ms);
/* Reads the end in a line of `scontrol -o show job`, a local time; 0: there is none. */
int64_t slurm_job_parse_end(const char *text);
/* Fills in j->ends_at_ms if it is 0: asks slurmctld once and waits up to 21 s. */
void slurm_job_ask_end(struct slurm_job *j);

#endif
