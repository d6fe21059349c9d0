/* SPDX-License-Identifier: MIT */
/*
 * jobspec.h - what a sweep asks a worker to do: the checked part of sweep.yaml
 *
 * The client makes it, ludwigd keeps it, a worker gets it with a hand.
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
    POOLS_MAX = 64,
    PARAM2VAL_MAX_BYTES = 1024 * 1024,
    PARAM2VAL_DEPTH_MAX = 24 /* messages, which have MP_DEPTH_MAX, put a few levels around it */
};

struct env_entry {
    const char *name;
    const char *value;
};

/* A tree that was packed (docs/internals/packs.md). */
struct dataset {
    struct digest tree; /* what is in it, which says whether two are the same; zero: no dataset */
    struct digest id;   /* of the manifest, which says where it lies */
    int64_t files;
    int64_t bytes;
};

struct data_entry {
    const char *name; /* below $LUDWIG_DATA */
    struct dataset set;
};

struct resources {
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes; /* 0: not said */
    int64_t time_ms;      /* 0: no limit */
};

/* Before a job is ended that might go on elsewhere, it is asked to save what it needs for that. */
struct checkpoint {
    const char *signal; /* "SIGUSR1"; NULL: nobody asks */
    int64_t grace_ms;   /* how long it then has */
    int64_t every_ms; /* how often $LUDWIG_CHECKPOINT is copied to the share; 0: only at the end */
};

struct jobspec {
    const char *command;   /* with {placeholders} */
    const char *setup;     /* shell lines before it, or NULL */
    const char *container; /* an absolute path, scheme://..., or the name of one of data; or NULL */
    struct list env;       /* struct env_entry; in a hand with the values of passed behind */
    struct list passed;    /* const char *: variables of the shell that submitted; where their
                              values are kept, server/queue/passed_env.h says */
    struct resources resources;
    struct checkpoint checkpoint;
    int64_t batch; /* N: one process works through N configurations; 0 and 1: one each */
    struct dataset source;
    struct list data; /* struct data_entry */
    const char *git_commit;
    bool git_dirty;
};

/* The first of the names that has no entry; NULL: all have one. */
const char *jobspec_missing(const struct list *passed, const struct list *entries);
/* A name of a variable, as shells take it, that is not one of ludwig's own; else ERR_USAGE. */
int jobspec_check_variable(const char *name, struct err *e);

/* Which failures are tried again, and how often altogether. */
struct retry {
    int64_t max;
    struct list
        on; /* const char *: names of causes (common/proto/states.h) and exit codes as "137" */
};

/* One kind of pilots, as sbatch takes it.  NULL: not said. */
struct slurm_pool {
    const char *partition;
    const char *account;
    const char *qos;
    const char *constraint;
    const char *gres;
    struct list exclude; /* const char *: nodes */
    struct list extra;   /* const char *: further options of sbatch */
    int64_t pilot_jobs;  /* 1: a pilot takes one job, and leaves; 0: as many as there are */
};

/* What results are ranked by. */
enum goal { GOAL_MAX = 0, GOAL_MIN = 1, GOAL_COUNT }; /* numbers lie in databases (sweep.goal) */
extern const char *const goal_names[GOAL_COUNT];

struct ranking {
    const char *metric; /* NULL: not said */
    int goal;           /* enum goal */
};

/* A measure a job reported. */
struct metric {
    const char *name;
    double value; /* the last one */
    int64_t step; /* of the last one; SCHEMA_NONE: none */
    double min;   /* of all it reported; NAN: not known */
    double max;
    int64_t n; /* how often it was reported */
};

extern const struct schema env_entry_schema;
extern const struct schema dataset_schema;
extern const struct schema data_entry_schema;
extern const struct schema resources_schema;
extern const struct schema checkpoint_schema;
extern const struct schema work_schema;
extern const struct schema metric_schema;
extern const struct schema retry_schema;
extern const struct schema slurm_pool_schema;
extern const struct schema ranking_schema;

/* Is a failure of this cause one of those that are tried again?  "137" is exit code 137 and
 * signal 9, as shells tell it. */
bool retry_lists(const struct retry *r, enum cause cause, int64_t exit_code, int64_t signal);
/* By this very name. */
bool retry_names(const struct retry *r, enum cause cause);

/*
 * What must be equal, beside the configuration, for a job to be the same job: command, setup,
 * env, container, and what is in source and data (not what is passed from a shell, where source and
 * data lie, the resources it was given, nor how it is checkpointed and batched, nor git's names for
 * the source).
 */
void jobspec_digest(const struct jobspec *w, struct digest *d);

#endif
