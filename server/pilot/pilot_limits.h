/* SPDX-License-Identifier: MIT */
/*
 * pilot_limits.h - what accounts and QOS allow a user's pilots: a pure function
 *
 * In: what sacctmgr says.  A limit of the partition's QOS counts before one of the job's QOS, and that
 * before one of the association; those of groups all count.  What others of a group have is not
 * known: Slurm itself refuses then, or lets wait.
 */
#ifndef LUDWIG_SERVER_PILOT_PILOT_LIMITS_H
#define LUDWIG_SERVER_PILOT_PILOT_LIMITS_H

#include "server/pilot/pilot_plan.h"
#include "server/slurm/slurmread.h"

struct slurm_accounts {
    struct slurm_answer assocs, qos, users;
};

/* Whose pilots, and what is asked for; NULL: nothing. */
struct limits_of {
    const char *user, *account, *qos;
    const char *partition, *partition_qos;
};

/* SLURM_NONE and size 0: none. */
struct pilot_limits {
    int64_t submit;          /* jobs that may be there, waiting or running */
    int64_t run;             /* that may run at once */
    const char *submit_what; /* "MaxSubmitJobs of account lab", in the arena */
    const char *run_what;
    struct plan_size size; /* that one may have, or all together */
    int64_t group_cpus;    /* all together */
    int64_t max_time_ms;
};

struct pilot_limits pilot_limits(const struct slurm_accounts *all, const struct limits_of *of,
                                 struct arena *a);

/* Has any QOS a limit of those above?  Where none has, it is all the same which one a partition has. */
bool limits_any_qos(const struct slurm_accounts *all);

/* The partition as it is for somebody with these limits. */
void limits_narrow(const struct pilot_limits *limits, struct plan_partition *partition);

#endif
