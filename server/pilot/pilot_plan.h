/* SPDX-License-Identifier: MIT */
/*
 * pilot_plan.h - how many pilots of which size and time a pool gets: a pure function
 *
 * In: jobs that wait for the pool, the pilots there are, and the partition as Slurm describes it,
 * all as of now.  Out: pilots to be submitted.
 *
 * A pilot holds several small jobs: up to PLAN_CPUS_MAX processors unless the site sets a limit,
 * and never more than fit on a node.  Short jobs get only as many slots as leave PLAN_SLOT_MS of
 * work for each, as a pilot that starts now does more than one that has to be waited for.  While
 * the run time of jobs is not known, they get PLAN_UNKNOWN_SLOTS at most; the time that jobs have
 * run so far counts as known.
 *
 * Pools of one sweep share its demand: each gets an even part, and what one pool cannot have is
 * left to the others.  A pilot that has waited for PLAN_LATE_MS does not count for other pools.
 */
#ifndef LUDWIG_SERVER_PILOT_PILOT_PLAN_H
#define LUDWIG_SERVER_PILOT_PILOT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/queue/retry.h"

enum {
    PLAN_CPUS_MAX = 16,
    PLAN_SLOT_MS = 60 * 1000,
    PLAN_UNKNOWN_SLOTS = 64,
    PLAN_LATE_MS = 2 * 60 * 1000,
    PLAN_TIME_MIN_MS = 10 * 60 * 1000,
    PLAN_START_MS = 15 * 1000,          /* time from a pilot's start to that of its first job */
    PLAN_TIME_USUAL_MS = 60 * 60 * 1000 /* a pilot's time if the partition has no default */
};

/* The size of a machine, a pilot or a job.  0: none; for a partition: not known. */
struct plan_size {
    int64_t cpus_milli, gpus_milli, memory_bytes;
};

/* Waiting jobs of a sweep; a job here is what one process works through. */
struct plan_demand {
    int64_t jobs;
    struct plan_size size; /* of one job */
    int64_t need_ms;       /* most time for one job until it is published; 0: not known */
    int64_t takes_ms;      /* time one job usually takes, or has taken so far; 0: not known */
    int64_t sweep;         /* the jobs' sweep */
    struct grown grown;    /* what the jobs ask for if they grew */
    int64_t n_sharing;     /* pools sharing the jobs that are not planned yet, with this one */
    const bool *may_use;   /* per pilot: whether the sweep names its pool; NULL: it names all */
};

struct plan_pilot {
    struct plan_size size;
    bool is_waiting;   /* it has not begun yet */
    bool is_elsewhere; /* it belongs to another pool */
    bool is_late;      /* it has waited long, or Slurm cannot start it at present */
    bool takes_one;    /* it takes one job in its life */
    int64_t time_ms;   /* 0: not known */
};

struct plan_partition {
    struct plan_size node; /* largest kind of node */
    int64_t total_cpus;
    int64_t max_time_ms, default_time_ms; /* 0: none, or not known */
    bool is_time_needed;                  /* sbatch has to name default_time_ms: Slurm's differs */
    struct plan_size pilot; /* limit for a pilot of several jobs; 0: PLAN_CPUS_MAX, one GPU */
};

struct plan_pool {
    const struct plan_demand *demands; /* the most urgent first */
    size_t n_demands;
    const struct plan_pilot *pilots;
    size_t n_pilots;
    struct plan_partition partition;
    bool has_one_job_each; /* each pilot takes one job */
    int64_t most;          /* how many pilots may be added; 0: none */
};

struct plan_order {
    struct plan_size size;
    int64_t time_ms; /* 0: the partition's default */
    int64_t n;
    int64_t sweep;      /* the sweep whose jobs need these pilots */
    struct grown grown; /* what those jobs ask for */
};

/* The next pilots to submit for the pool; n is 0 when it has enough. */
struct plan_order pilot_plan(const struct plan_pool *pool);

#endif
