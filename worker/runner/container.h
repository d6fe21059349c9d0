/* SPDX-License-Identifier: MIT */
/*
 * container.h - runs a job's command inside an image, by apptainer or singularity
 *
 *   apptainer exec [--nv] --bind SCRATCH/run --bind SCRATCH/cache:...:ro
 *             [--bind PROJECT] [--bind LUDWIG:...:ro] --pwd WORK IMAGE /bin/sh -c TEXT
 *
 * A bound folder lies at the same path inside, so that the paths in the job's environment hold
 * there.  The runtime decides what HOME and the environment are inside, except for one of its
 * rules: an image's variables do not come before those that a job must have (container_env).
 */
#ifndef LUDWIG_WORKER_RUNNER_CONTAINER_H
#define LUDWIG_WORKER_RUNNER_CONTAINER_H

#include "worker/base/child_protocol.h"

struct container {
    const char *program; /* path of apptainer or singularity */
    const char *prefix;  /* it sets PREFIX_NAME as NAME inside: "APPTAINERENV_" */
    const char *image;
    const char *scratch;
    const char *work_path;  /* where the command runs */
    const char *ludwig;     /* path of ludwig, which gets into PATH inside; NULL: there is none */
    const struct list *own; /* struct env_entry: the sweep's env: */
    bool has_gpus;
    const char *text; /* what /bin/sh runs inside */
};

/* Fills in all but text; strings live in a and o.  The runtime is looked for in the PATH of env.
 * ERR_USAGE, ERR_NOT_FOUND, ERR_DENIED: the job cannot run here. */
int container_find(struct container *c, const struct order *o, char *const *env,
                   const char *scratch, struct arena *a, struct err *e);

/* Returns the runtime's command line, without the project's folder; ended by NULL, in a. */
char **container_words(const struct container *c, struct arena *a);
/* Returns words for /bin/sh that start `words`, with the project's folder bound as well if this
 * machine has it: it lies on the share, which may hang, so the job's own process must look. */
char **container_guard(char *const *words, const struct order *o, struct arena *a);

/* Returns the runtime's environment: env, and variables with the prefix that make entries of env
 * count inside; ended by NULL, in a. */
char **container_env(const struct container *c, char *const *env, struct arena *a);

#endif
