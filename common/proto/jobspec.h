/* SPDX-License-Identifier: MIT */
/*
 * jobspec.h - a sweep's work for workers: the checked part of sweep.yaml
 *
 * The client makes a jobspec, ludwigd keeps it, a worker gets it with a hand.
 */
#ifndef LUDWIG_COMMON_PROTO_JOBSPEC_H
#define LUDWIG_COMMON_PROTO_JOBSPEC_H

#include "common/data/schema.h"
#include "common/proto/states.h"

enum {
    NAME_MAX_BYTES = 200,
    COMMAND_MAX_BYTES = 64 * 1024,
    REASON_MAX_BYTES = 1000,
    METRICS_MAX = 64,
    CONFIGS_PER_CHUNK_MAX = 1024,
    JOBS_PER_CHUNK_MAX = 4096, /* configurations of a chunk x reps; one configuration always fits */
    REPS_MAX = 4096,
    BATCH_MAX = 512,
    PASSED_MAX = 100,
    RETRIES_MAX = 1000,
    GUARD_FAILURES_MAX = 1000,
    POOLS_MAX = 64,
    MODULES_MAX = 200,
    PARAM2VAL_MAX_BYTES = 1024 * 1024,
    PARAM2VAL_DEPTH_MAX = 24 /* messages, which have MP_DEPTH_MAX, put a few levels around it */
};

struct env_entry {
    const char *name;
    const char *value;
};

/* A tree that was packed (docs/internals/packs.md). */
struct dataset {
    struct digest tree; /* of the content: the same for equal trees; zero: no dataset */
    struct digest id;   /* of the manifest, which says where the content is stored */
    int64_t files;
    int64_t bytes;
};

struct data_entry {
    const char *name; /* below $LUDWIG_DATA */
    struct dataset set;
    const char
        *link; /* a path in the folder that the job runs in, which is linked to it; or NULL */
};

struct resources {
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes; /* 0: not set */
    int64_t time_ms;      /* 0: no limit */
    int64_t disk_bytes;   /* on scratch; 0: no limit */
};

/* A job that may go on elsewhere is asked to save a checkpoint before it is ended. */
struct checkpoint {
    const char *signal; /* that asks the job: "SIGUSR1"; NULL: the job is not asked */
    int64_t grace_ms;   /* the job's time between the signal and its end */
    int64_t every_ms; /* how often $LUDWIG_CHECKPOINT is copied to the share; 0: only at the end */
};

/* Of what a job prints. */
struct log_limit {
    int64_t max_bytes; /* what comes after is left out; 0: all is kept */
};

/*
 * What jobs run in, beside what every node has: a venv, conda's or pixi's environment, or a folder with
 * bin/; and modules.  The client finds it out; a runner asks whether its node has it.  One that a tool
 * builds has another path on each node, and the client leaves path, paths and variables empty.
 */
struct environment {
    const char *path;         /* its folder, absolute; NULL: there is none but the node's own */
    const char *kind;         /* "venv", "conda", "pixi", "folder" */
    const char *python;       /* "3.11"; NULL: not known */
    bool was_active;          /* when it was submitted; else the sweep file names it */
    bool decides;             /* a job done in another one is another job */
    struct list paths;        /* const char *: what it puts in front of PATH, in this order */
    struct list variables;    /* struct env_entry: VIRTUAL_ENV, CONDA_PREFIX, ... */
    struct list modules;      /* const char *: for `module load` */
    bool modules_were_loaded; /* when it was submitted; else the sweep file names them */
    const char *data;         /* the entry of data that is a copy of path for nodes, or what it is
                                 built from; NULL: none */
    const char *base;         /* the interpreter outside of path that the copy needs; NULL: none */
    const char *tool; /* that builds it on each node: "pip", "uv", "conda"; NULL: none does */
    const char *file; /* it is built from, in that entry of data: "requirements.txt" */
    const char *interpreter; /* that pip or uv builds it with: "python3.12"; NULL: "python3" */
    struct list options;     /* const char *: further ones of that tool */
};

struct jobspec {
    const char *command;   /* with {placeholders} */
    const char *setup;     /* shell lines before the command, or NULL */
    const char *container; /* an absolute path, scheme://..., or the name of one of data; or NULL */
    struct list env;       /* struct env_entry; in a hand with the values of passed behind */
    struct list passed;    /* const char *: variables of the shell that submitted; where their
                              values are kept, server/queue/passed_env.h says */
    struct environment environment;
    struct resources resources;
    struct checkpoint checkpoint;
    int64_t batch; /* N: one process works through N configurations; 0 and 1: one each */
    struct dataset source;
    struct list data; /* struct data_entry */
    const char *git_commit;
    bool git_dirty;
    struct digest same_source; /* counts instead of source.tree; zero: that does */
    struct log_limit log;
};

/* The first of the names that has no entry; NULL: all have one. */
const char *jobspec_missing(const struct list *passed, const struct list *entries);
/* A name of a variable, as shells take it, that is not one of ludwig's own; else ERR_USAGE. */
int jobspec_check_variable(const char *name, struct err *e);

/* The failures after which a job is tried again, and how often altogether. */
struct retry {
    int64_t max;
    struct list
        on; /* const char *: names of causes (common/proto/states.h) and exit codes as "137" */
};

/* When jobs are held, as all that was like them failed (server/queue/guard.h). */
struct guard_policy {
    bool off;
    int64_t failures; /* so many of one kind; 0: as usual */
};

/* One kind of pilots: options of sbatch.  NULL: not set. */
struct slurm_pool {
    const char *partition;
    const char *account;
    const char *qos;
    const char *constraint;
    const char *gres;
    struct list exclude; /* const char *: nodes */
    struct list extra;   /* const char *: further options of sbatch */
    int64_t pilot_jobs;  /* 1: a pilot takes one job, and leaves; 0: as many as it can */
};

/* The ranking of results: by which metric, and in which direction. */
enum goal { GOAL_MAX = 0, GOAL_MIN = 1, GOAL_COUNT }; /* numbers lie in databases (sweep.goal) */
extern const char *const goal_names[GOAL_COUNT];

struct ranking {
    const char *metric; /* NULL: not set */
    int goal;           /* enum goal */
};

/* A metric that a job reported. */
struct metric {
    const char *name;
    double value; /* the last one */
    int64_t step; /* of the last one; SCHEMA_NONE: none */
    double min;   /* of all reported values; NAN: not known */
    double max;
    int64_t n; /* number of reported values */
};

extern const struct schema env_entry_schema;
extern const struct schema dataset_schema;
extern const struct schema data_entry_schema;
extern const struct schema resources_schema;
extern const struct schema checkpoint_schema;
extern const struct schema log_limit_schema;
extern const struct schema environment_schema;
extern const struct schema work_schema;
extern const struct schema metric_schema;
extern const struct schema retry_schema;
extern const struct schema guard_schema;
extern const struct schema slurm_pool_schema;
extern const struct schema ranking_schema;

/* Whether a job is tried again after a failure of this cause.  "137" is exit code 137 and signal 9,
 * as in shells. */
bool retry_lists(const struct retry *r, enum cause cause, int64_t exit_code, int64_t signal);
/* Whether r->on has the cause's own name. */
bool retry_names(const struct retry *r, enum cause cause);

/*
 * The digest of all that must be equal, beside the configuration, for two jobs to be the same:
 * command, setup, env, container, modules that the sweep file names, the content of source and data
 * (not where that is stored, nor variables passed from a shell, resources, checkpoints, batch, the
 * limit of the log or git's names for the source), and the environment only if it decides.
 */
void jobspec_digest(const struct jobspec *w, struct digest *d);

#endif
