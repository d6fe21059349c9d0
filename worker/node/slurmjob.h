/* SPDX-License-Identifier: MIT */
/*
 * slurmjob.h - the resources that Slurm has given the job that we run in
 *
 * Slurm names them in the environment of the batch script; it is asked only for what that leaves
 * out.
 */
#ifndef LUDWIG_WORKER_NODE_SLURMJOB_H
#define LUDWIG_WORKER_NODE_SLURMJOB_H

#include <stddef.h>
#include <stdint.h>

struct slurm_job {
    char *id;             /* "17"; of an array "17_3"; NULL: we are in none */
    char *node;           /* as Slurm calls it; NULL: it does not say */
    int64_t cpus;         /* of this node; 0: not said */
    int64_t memory_bytes; /* likewise; 0: not said, or all the node has */
    char **gpus;          /* as CUDA_VISIBLE_DEVICES has them */
    size_t n_gpus;
    int64_t ends_at_ms; /* the end of its time, in ms since 1970; 0: not said */
};

typedef const char *(*slurm_get_fn)(const char *name);

/* get: slurm_job_env, but for tests. */
void slurm_job_read(struct slurm_job *j, slurm_get_fn get);
const char *slurm_job_env(const char *name);
void slurm_job_free(struct slurm_job *j);

/* The soonest end that it can have, as it did not begin before it was submitted: 0 when one of the
 * two is not known, or it has waited for so long that this is too little. */
int64_t slurm_job_soonest_end(int64_t submitted_at_ms, int64_t time_ms, int64_t now_ms);
/* The end in a line of `scontrol -o show job`, in this machine's time; 0: it is not told. */
int64_t slurm_job_parse_end(const char *text);
/* Asks Slurm, if it has to, and waits a while for the answer.  One call of slurmctld. */
void slurm_job_ask_end(struct slurm_job *j);

#endif
