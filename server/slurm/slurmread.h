/* SPDX-License-Identifier: MIT */
/*
 * slurmread.h - reads what Slurm's commands print
 *
 * The commands print rows in formats that ludwigd asks for (-o, -P) or `scontrol -o show`, which
 * are the same from Slurm 21.08 to 25; the output of --json differs with each release.  They run
 * with LC_ALL=C, SLURM_TIME_FORMAT=%s and SLURM_BITSTR_LEN=0, so that times are seconds since 1970
 * and no set of array tasks is cut short, and without the variables by which users change formats.
 *
 * Malformed rows are passed over and counted: a job's name may contain line breaks and separators,
 * and its own row is then lost.  A user may have forged a row that names one of our jobs: it is
 * compared with what we know of that job, and is a hint even then.  All texts are in the arena.
 * Numbers are SLURM_NONE where there is no number or no limit.
 */
#ifndef LUDWIG_SERVER_SLURM_SLURMREAD_H
#define LUDWIG_SERVER_SLURM_SLURMREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"

/* No number, or one without a limit: N/A, Unknown, UNLIMITED, (null), nothing at all. */
enum { SLURM_NONE = -1 };

/* Larger output is refused: 10,000 jobs make 2 MB. */
enum { SLURM_OUTPUT_MAX_BYTES = 1 << 26, SLURM_ROWS_MAX = 1 << 18 };

/* squeue -h -o FORMAT */
#define SLURM_JOBS_FORMAT \
    "%A\x1f%F\x1f%K\x1f%T\x1f%P\x1f%V\x1f%S\x1f%e\x1f%N\x1f%u\x1f%r\x1f%j\x1f%k"

/* A job; for an array: one task that runs, or all tasks that wait. */
struct slurm_job {
    int64_t id;        /* an array's last task has the array's id */
    int64_t array_id;  /* without an array the same as id */
    const char *tasks; /* "3", "4-9%2"; NULL: no array */
    const char *state; /* as slurm_state_parse takes it */
    int64_t submitted_s;
    const char *user, *reason, *name;
    const char *comment; /* NULL: none */
};

/* sacct -n -P -X -D --delimiter=SEPARATOR -o FIELDS --name=PILOTS: one row for each run of a
 * job. */
#define SLURM_SEPARATOR "\x1f"
#define SLURM_ENDED_FIELDS \
    "jobidraw,jobid,state,exitcode,partition,submit,start,end,nodelist,user,jobname"

struct slurm_ended {
    int64_t id, array_id;
    const char *tasks;
    const char *state; /* "CANCELLED by 1000" */
    int64_t signal;
    int64_t submitted_s;
    const char *name;
};

/* sinfo -h -e -o FORMAT: nodes of a partition that are alike and in the same state */
#define SLURM_NODES_FORMAT "%R\x1f%a\x1f%T\x1f%D\x1f%c\x1f%m\x1f%b\x1f%G\x1f%l\x1f%L"

struct slurm_nodes {
    const char *partition;
    bool is_usable; /* the nodes take jobs, now or when other jobs have ended */
    int64_t n, cpus, memory_mb, gpus;
    int64_t max_time_ms, default_time_ms; /* of the partition */
};

/* scontrol -o show partition; sinfo gives the rest about partitions */
struct slurm_partition {
    const char *name;
    const char *qos; /* NULL: none */
};

/* sacctmgr -n -P show assoc cluster=CLUSTER format=FIELDS */
#define SLURM_ASSOC_FIELDS                                                                       \
    "cluster,account,user,partition,qos,defaultqos,maxjobs,maxsubmit,grpjobs,grpsubmit,maxwall," \
    "parentname,grptres,maxtres"

struct slurm_assoc {
    const char *account;
    const char *user;      /* "": the row has the limits of the account itself */
    const char *partition; /* NULL: all partitions */
    const char *parent;    /* parent account; NULL for a user and for the root account */
    const char *group_tres, *max_tres_per_job;
    const char *default_qos;
    int64_t max_jobs, max_submit, group_jobs, group_submit, max_time_ms;
};

/* sacctmgr -n -P show qos format=FIELDS */
#define SLURM_QOS_FIELDS                                                            \
    "name,maxjobspu,maxsubmitpu,grpjobs,grpsubmit,maxwall,gracetime,preempt,flags," \
    "grptres,maxtrespu,maxtres"

struct slurm_qos {
    const char *name;
    int64_t max_jobs_per_user, max_submit_per_user, group_jobs, group_submit, max_time_ms;
    const char *group_tres, *max_tres_per_user, *max_tres_per_job;
};

/* sacctmgr -n -P show user format=FIELDS */
#define SLURM_USER_FIELDS "user,defaultaccount"

struct slurm_account_user {
    const char *name;
    const char *account; /* default account; NULL: none */
};

/* scontrol show config */
struct slurm_config {
    const char *version; /* "22.05.8" */
    const char *cluster;
    int64_t max_array_size, kill_wait_s;
    bool has_accounting;      /* slurmdbd is there: sacct and sacctmgr have answers */
    bool warns_of_preemption; /* B:SIGNAL comes before preemption, too */
    /* slurmctld's limits for each user: calls at once, and more with time; 0: none. */
    int64_t rpc_bucket, rpc_refill, rpc_refill_period_s;
};

struct slurm_answer {
    size_t n;
    size_t n_passed_over;
    union {
        struct slurm_job *jobs;
        struct slurm_ended *ended;
        struct slurm_nodes *nodes;
        struct slurm_partition *partitions;
        struct slurm_assoc *assocs;
        struct slurm_qos *qos;
        struct slurm_account_user *users;
    };
};

enum slurm_rows { SLURM_JOBS, SLURM_ENDED, SLURM_NODES, SLURM_ASSOCS, SLURM_QOS, SLURM_USERS };

/* Reads all well-formed rows; -1 when there are too many. */
int slurm_read(enum slurm_rows rows, const char *text, size_t n, struct arena *a,
               struct slurm_answer *out, struct err *e);
int slurm_read_partitions(const char *text, size_t n, struct arena *a, struct slurm_answer *out,
                          struct err *e);
/* -1 also when the text has no version. */
int slurm_read_config(const char *text, size_t n, struct arena *a, struct slurm_config *out,
                      struct err *e);

/* Appends the lines of squeue that begin with the mark, without the mark. */
void slurm_keep_marked(const char *text, size_t n, const char *mark, struct buf *out);

/* Reads the id that sbatch prints on a line, "17" or "17;cluster"; -1 when there is none. */
int slurm_read_submitted(const char *text, size_t n, int64_t *id, struct err *e);

/* "17", "300 sec", "4+", "64K"; SLURM_NONE for anything else, and for more than 2^53. */
int64_t slurm_number(const char *text);
/* A number that squeue and scancel take as the id of a job; 0 for anything else. */
int64_t slurm_job_id(const char *text);
/* "30", "02:30", "1-02", "2-00:00:00" (where minutes are meant if it is but one number), in ms. */
int64_t slurm_time_ms(const char *text);

/* How many numbers a set like "0-9%2", "[3,7-11:2%4]" or "5" has; 0: the text is no set. */
int64_t slurm_set_count(const char *set);
bool slurm_set_has(const char *set, int64_t index);

/* How many GPUs a text like "gpu:a40:8(S:0-1),gpu:2,shard:8" names. */
int64_t slurm_gres_gpus(const char *gres);

/* The number of that name in a text like "cpu=8,mem=64G,gres/gpu=2". */
int64_t slurm_tres(const char *tres, const char *name);

#endif
