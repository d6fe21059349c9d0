/* SPDX-License-Identifier: MIT */
/*
 * work.h - what a sweep asks a worker to do: the checked part of sweep.yaml
 *
 * The client makes it, ludwigd keeps it, a worker gets it with a hand.
 */
#ifndef LUDWIG_COMMON_WORK_H
#define LUDWIG_COMMON_WORK_H

#include "common/schema.h"

enum {
    NAME_MAX_BYTES = 200,
    COMMAND_MAX_BYTES = 64 * 1024,
    REASON_MAX_BYTES = 1000,
    METRICS_MAX = 64,
    CONFIGS_PER_CHUNK_MAX = 1024,
    JOBS_PER_CHUNK_MAX = 4096, /* configurations of a chunk x reps; one configuration always fits */
    REPS_MAX = 4096,
    PARAM2VAL_MAX_BYTES = 1024 * 1024
};

struct env_entry {
    const char *name;
    const char *value;
};

struct data_entry {
    const char *name; /* below $LUDWIG_DATA */
    struct digest digest;
};

struct resources {
    int64_t cpus_milli;
    int64_t gpus_milli;
    int64_t memory_bytes; /* 0: not said */
    int64_t time_ms;      /* 0: no limit */
};

struct work {
    const char *command; /* with {placeholders} */
    const char *setup;   /* shell lines before it, or NULL */
    struct list env;     /* struct env_entry */
    struct resources resources;
    struct digest source; /* of the tree under packs/; zero: none */
    struct list data;     /* struct data_entry */
    const char *git_commit;
    bool git_dirty;
};

/* A measure a job reported. */
struct metric {
    const char *name;
    double value;
    int64_t step; /* SCHEMA_NONE: none */
};

extern const struct schema env_entry_schema;
extern const struct schema data_entry_schema;
extern const struct schema resources_schema;
extern const struct schema work_schema;
extern const struct schema metric_schema;

/*
 * What must be equal, beside the configuration, for a job to be the same job: command, setup,
 * env, source and data (not the resources it was given, nor git's names for the source).
 */
void work_digest(const struct work *w, struct digest *d);

#endif
