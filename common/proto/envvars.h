/* SPDX-License-Identifier: MIT */
/* envvars.h - every environment variable that ludwig sets for jobs and commands, or reads */
#ifndef LUDWIG_COMMON_PROTO_ENVVARS_H
#define LUDWIG_COMMON_PROTO_ENVVARS_H

/* variables for jobs: constant, name, meaning */
#define JOB_ENVVARS(X)                                                                            \
    X(ENV_JOB, "LUDWIG_JOB", "the job, as 7.13")                                                  \
    X(ENV_ATTEMPT, "LUDWIG_ATTEMPT", "this attempt's token, 32 hex digits")                       \
    X(ENV_SWEEP, "LUDWIG_SWEEP", "the sweep's number")                                            \
    X(ENV_PROJECT, "LUDWIG_PROJECT", "the project's name")                                        \
    X(ENV_PARAM_NAME, "LUDWIG_PARAM_NAME", "the configuration, as param_003")                     \
    X(ENV_JOB_NAME, "LUDWIG_JOB_NAME", "the job's name below its configuration")                  \
    X(ENV_REP, "LUDWIG_REP", "the replication, from 0")                                           \
    X(ENV_SEED, "LUDWIG_SEED", "a seed of its own for each configuration and replication")        \
    X(ENV_RESTART, "LUDWIG_RESTART", "0 on the first attempt, then 1, 2, ...")                    \
    X(ENV_PARAM2VAL, "LUDWIG_PARAM2VAL", "path of param2val.json; .yaml and .msgpack beside it")  \
    X(ENV_DATA, "LUDWIG_DATA", "folder with the staged data, one entry for each of data:")        \
    X(ENV_SAVE_PATH, "LUDWIG_SAVE_PATH", "folder whose content is moved to the share at the end") \
    X(ENV_PROJECT_PATH, "LUDWIG_PROJECT_PATH", "the project on the shared drive, if mounted")     \
    X(ENV_METRICS, "LUDWIG_METRICS", "file for JSON lines of measures")                           \
    X(ENV_CHECKPOINT, "LUDWIG_CHECKPOINT", "folder that follows the job to its next attempt")     \
    X(ENV_CHUNK, "LUDWIG_CHUNK", "with batch: path of chunk.msgpack; chunk.json beside it")

/* variables for a notification's command, besides those of jobs: constant, name, meaning */
#define NOTIFY_ENVVARS(X)                                                                     \
    X(ENV_EVENT, "LUDWIG_EVENT", "ended, failed or stalled")                                  \
    X(ENV_STATE, "LUDWIG_STATE", "the sweep's state then: running, done, failed, ...")        \
    X(ENV_N_JOBS, "LUDWIG_N_JOBS", "how many jobs it had then")                               \
    X(ENV_N_DONE, "LUDWIG_N_DONE", "of these done")                                           \
    X(ENV_N_FAILED, "LUDWIG_N_FAILED", "of these failed")                                     \
    X(ENV_N_STOPPED, "LUDWIG_N_STOPPED", "of these stopped early")                            \
    X(ENV_N_CANCELLED, "LUDWIG_N_CANCELLED", "of these cancelled")                            \
    X(ENV_N_HELD, "LUDWIG_N_HELD", "of these held")                                           \
    X(ENV_TEXT, "LUDWIG_TEXT", "what happened, a sentence; it is also on the standard input") \
    X(ENV_NOTIFY, "LUDWIG_NOTIFY", "what is run, mailed or sent: not for the command")

/* variables that ludwig's programs read: constant, name, meaning */
#define USER_ENVVARS(X) \
    X(ENV_SERVER, "LUDWIG_SERVER", "the server's address, before the configuration's")

enum job_envvar {
#define X(constant, name, meaning) constant,
    JOB_ENVVARS(X)
#undef X
        JOB_ENVVAR_COUNT
};

enum user_envvar {
#define X(constant, name, meaning) constant,
    USER_ENVVARS(X)
#undef X
        USER_ENVVAR_COUNT
};

enum notify_envvar {
#define X(constant, name, meaning) constant,
    NOTIFY_ENVVARS(X)
#undef X
        NOTIFY_ENVVAR_COUNT
};

struct envvar {
    const char *name;
    const char *meaning;
};

extern const struct envvar job_envvars[JOB_ENVVAR_COUNT];
extern const struct envvar user_envvars[USER_ENVVAR_COUNT];
extern const struct envvar notify_envvars[NOTIFY_ENVVAR_COUNT];

#endif
