/* SPDX-License-Identifier: MIT */
/*
 * jobspec.h - a sweep's work: the checked part of sweep.yaml that workers need
 *
 * The client makes a jobspec, ludwigd keeps it, and a worker gets it with a hand (struct msg_hand).
 */
#ifndef LUDWIG_COMMON_PROTO_JOBSPEC_H
#define LUDWIG_COMMON_PROTO_JOBSPEC_H

#include "common/data/schema.h"
#include "common/proto/states.h"

enum {
    NAME_MAX_BYTES = 200,
    COMMAND_MAX_BYTES = 64 * 1024,
    REASON_MAX_BYTES = 1000,
    METRICS_MAX = 4096,
    MAX_RUNNING_MAX = 1000 * 1000, /* the largest limit of jobs that run at once */
    CONFIGS_PER_CHUNK_MAX = 1024,
    JOBS_PER_CHUNK_MAX = 4096, /* configurations of a chunk x reps; one configuration always fits */
    REPS_MAX = 4096,
    BATCH_MAX = 512,
    PASSED_MAX = 100,
    RETRIES_MAX = 1000,
    GUARD_FAILURES_MAX = 1000,
    STEP_MAX = 1000 * 1000 * 1000, /* the largest step in stop: */
    POOLS_MAX = 64,
    MODULES_MAX = 200,
    PARAM2VAL_MAX_BYTES = 1024 * 1024,
    PARAM2VAL_DEPTH_MAX = 24 /* messages, limited to MP_DEPTH_MAX, put a few levels around it */
};

struct env_entry {
    const char *name;
    const char *value;
};

/* A packed tree of source or data (docs/internals/packs.md). */
struct dataset {
    struct digest tree; /* digest of the content: equal trees have the same; zero: no dataset */
    struct digest id;   /* digest of the manifest, which tells where the content is stored */
    int64_t files;
    int64_t bytes;
};

struct data_entry {
    const char *name; /* below $LUDWIG_DATA */
    struct dataset set;
    const char
        *link; /* a path in the folder that the job runs in, which is linked to it; or NULL */
};

/* Resources of one process. */
struct resources {
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes; /* 0: not set */
    int64_t time_ms;      /* 0: no limit */
    int64_t disk_bytes;   /* on scratch; 0: no limit */
};

/* Checkpoints: before a job that may go on elsewhere is ended, a signal asks it to save one. */
struct checkpoint {
    const char *signal; /* name of the signal: "SIGUSR1"; NULL: the job is not asked */
    int64_t grace_ms;   /* time between the signal and the job's end */
    int64_t every_ms; /* how often $LUDWIG_CHECKPOINT is copied to the share; 0: only at the end */
    bool keep; /* checkpoints of done jobs stay on the share, for jobs that go on from them */
};

/* With checkpoint.keep, a parameter of this name makes a job go on from another job's checkpoint.
 * Its value, as "param_003", names the other job's configuration; project and replication are the
 * same for both jobs. */
#define PARAM_FROM_CHECKPOINT "from_checkpoint"

/* The limit of a job's log. */
struct log_limit {
    int64_t max_bytes; /* output beyond this size is left out; 0: all output is kept */
};

/*
 * The environment of jobs besides each node's own programs: a venv, an environment of conda or
 * pixi, or a folder with bin/; and modules.  The client detects it; a runner checks whether its
 * node has it.  If a tool builds the environment, it has another path on each node, and path, paths
 * and variables are empty.
 */
struct environment {
    const char *path;         /* its folder, absolute; NULL: the node's own programs are used */
    const char *kind;         /* "venv", "conda", "pixi", "folder" */
    const char *python;       /* "3.11"; NULL: not known */
    bool was_active;          /* in the submitter's shell; false: the sweep file names it */
    bool decides;             /* a job in another environment is another job */
    struct list paths;        /* const char *: folders put in front of PATH, in this order */
    struct list variables;    /* struct env_entry: VIRTUAL_ENV, CONDA_PREFIX, ... */
    struct list modules;      /* const char *: for `module load` */
    bool modules_were_loaded; /* in the submitter's shell; false: the sweep file names them */
    const char *data;         /* name of the data entry with a copy of path, or with the files that
                                 the environment is built from; NULL: none */
    const char *base;         /* the interpreter outside of path that the copy needs; NULL: none */
    const char *tool; /* the tool that builds it on each node: "pip", "uv", "conda"; NULL: none */
    const char *file; /* the file in that data entry to build from: "requirements.txt" */
    const char *interpreter; /* pip and uv build with it: "python3.12"; NULL: "python3" */
    struct list options;     /* const char *: further options of the tool */
};

struct jobspec {
    const char *command;   /* with {placeholders} */
    const char *setup;     /* shell lines before the command, or NULL */
    const char *container; /* absolute path, scheme://..., or a data entry's name; or NULL */
    struct list env;       /* struct env_entry; in a hand followed by the values of passed */
    struct list passed;    /* const char *: variables of the submitter's shell; their values are
                              kept apart (server/queue/passed_env.h) */
    struct environment environment;
    struct resources resources;
    struct checkpoint checkpoint;
    int64_t batch; /* N: one process works through N jobs; 0 and 1: each job has its own */
    struct dataset source;
    struct list data; /* struct data_entry */
    const char *git_commit;
    bool git_dirty;
    struct digest same_source; /* jobspec_digest takes it for source.tree; zero: source.tree */
    struct log_limit log;
};

/* Returns the first name in passed (const char *) without an entry in entries (struct env_entry);
 * NULL: all names have one. */
const char *jobspec_missing(const struct list *passed, const struct list *entries);
/* -1 with ERR_USAGE unless name is a valid name of a shell variable that does not begin with
 * LUDWIG_. */
int jobspec_check_variable(const char *name, struct err *e);

/* The factors, in thousandths, by which a job's memory or time grows after the job ran out of it;
 * 0: it does not grow. */
struct retry_grow {
    int64_t memory_milli; /* after oom */
    int64_t time_milli;   /* after timeout */
};
enum { GROW_MAX_MILLI = 100 * 1000 };

/* The bounds up to which a job's memory and time grow; 0: no bound. */
struct retry_up_to {
    int64_t memory_bytes;
    int64_t time_ms;
};

/* The failures after which a job is tried again, and how often altogether. */
struct retry {
    int64_t max;
    struct list
        on; /* const char *: names of causes (common/proto/states.h) and exit codes as "137" */
    struct retry_grow grow;
    struct retry_up_to up_to;
};

/* When the guard holds jobs because all jobs like them failed (server/queue/guard.h). */
struct guard_policy {
    bool off;
    int64_t failures; /* number of failures of one kind that makes a hold; 0: the usual number */
    bool nan;         /* a job whose metric is nan or infinite ends as failed */
};

/* When jobs are stopped early (server/search/stop_rule.h tells the members' meanings and defaults),
 * and when the race does not begin replications, as other configurations are surely better
 * (server/search/race.h). */
struct stop_policy {
    const char *rule; /* one of stop_words; NULL: no job is stopped */
    const char *step; /* the counter that jobs report beside the metric; NULL: "step" */
    int64_t first;
    double eta;
    int64_t max_step;
    int64_t patience;
    double min_delta;
    bool has_threshold;
    double threshold;
    int64_t race; /* replications that each configuration gets in any case; 0: all */
    int64_t best; /* number of best configurations that the race looks for; 0: one */
    bool resume;  /* for asha and median: a stopped job may go on from its checkpoint */
};
enum { RACE_REPS_MAX = 1000 };
enum { STOP_WORDS = 4 };
extern const char *const stop_words[STOP_WORDS];

/* What the worker does with values that jobs of the sweep report while they run. */
struct live_policy {
    const char *metric; /* the metric that the worker reads; NULL: it reads none */
    const char *step;   /* the counter reported beside the metric; NULL: "step" */
    bool tells;         /* the worker sends the metric's values to ludwigd (msg_measured) */
    bool ends_nan;      /* the worker ends a job whose value is nan or infinite; it has failed */
};

/* The options of sbatch for one kind of pilots; NULL: not set. */
struct slurm_pool {
    const char *partition;
    const char *account;
    const char *qos;
    const char *constraint;
    const char *gres;
    struct list exclude; /* const char *: nodes */
    struct list extra;   /* const char *: further options of sbatch */
    int64_t pilot_jobs;  /* 1: a pilot ends after one job; 0: it takes as many as it can */
};

/* The ranking of results: the metric, and whether large or small values are good. */
enum goal { GOAL_MAX = 0, GOAL_MIN = 1, GOAL_COUNT }; /* numbers lie in databases (sweep.goal) */
extern const char *const goal_names[GOAL_COUNT];

struct ranking {
    const char *metric; /* NULL: not set */
    int goal;           /* enum goal */
};

/* A metric that a job reported. */
struct metric {
    const char *name;
    double value; /* the last reported value */
    int64_t step; /* the step of that value; SCHEMA_NONE: none */
    double min;   /* min and max of all reported values; NAN: not known */
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
extern const struct schema retry_grow_schema;
extern const struct schema retry_up_to_schema;
extern const struct schema retry_schema;
extern const struct schema guard_schema;
extern const struct schema stop_policy_schema;
extern const struct schema live_schema;
extern const struct schema slurm_pool_schema;
extern const struct schema ranking_schema;

/* Whether a job is tried again after a failure of this cause.  "137" is exit code 137 and signal 9,
 * as in shells. */
bool retry_lists(const struct retry *r, enum cause cause, int64_t exit_code, int64_t signal);
/* Whether r->on has the cause's own name, and not only "preempted" for several causes. */
bool retry_names(const struct retry *r, enum cause cause);
/* Whether jobs grow after they ran out of memory or time. */
bool retry_grows(const struct retry *r);

/*
 * Computes a digest of everything that must be equal, besides the configuration, for two jobs to be
 * the same: command, setup, env, container, modules that the sweep file names, the content of
 * source and data, the names and links of data, and the environment if it decides.  Not part of the
 * digest are the place where content is stored, variables passed from a shell, resources,
 * checkpoints, batch, the limit of the log, and git's names for the source.
 */
void jobspec_digest(const struct jobspec *w, struct digest *d);

#endif
