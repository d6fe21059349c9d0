/* SPDX-License-Identifier: MIT */
/*
 * slurmjob.h - the resources that Slurm has given to the Slurm job in which we run
 *
 * They stand in the environment of the batch script; Slurm is asked only for what it lacks.
 */
#ifndef LUDWIG_WORKER_NODE_SLURMJOB_H
#define LUDWIG_WORKER_NODE_SLURMJOB_H

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

/* The soonest end that it can have, as it did not begin before it was submitted: 0 when one of the
 * two is not known, or it has waited for so long that this is too little. */
int64_t slurm_job_soonest_end(int64_t submitted_at_ms, int64_t time_ms, int64_t now_ms);
/* Reads the end in a line of `scontrol -o show job`, a local time; 0: there is none. */
int64_t slurm_job_parse_end(const char *text);
/* Fills in j->ends_at_ms if it is 0: asks slurmctld once and waits up to 21 s. */
void slurm_job_ask_end(struct slurm_job *j);

#endif
