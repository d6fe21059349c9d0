/* SPDX-License-Identifier: MIT */
/*
 * container.h - a job's command inside an image, by apptainer or singularity
 *
 *   apptainer exec [--nv] --bind SCRATCH/run --bind SCRATCH/cache:...:ro
 *             [--bind PROJECT] [--bind LUDWIG:...:ro] --pwd WORK IMAGE /bin/sh -c TEXT
 *
 * A bound folder lies at the same path inside, so that all that the job's environment
 * names is there.  HOME and the environment are what the runtime makes of them; its own
 * rule that an image's variables come before those outside does not hold for the job's.
 */
#ifndef LUDWIG_WORKER_RUNNER_CONTAINER_H
#define LUDWIG_WORKER_RUNNER_CONTAINER_H

#include "worker/base/child_protocol.h"

struct container {
    const char *program; /* path of apptainer or singularity */
    const char *prefix;  /* of variables that it sets inside: "APPTAINERENV_" */
    const char *image;
    const char *scratch;
    const char *work_path;  /* where the command runs */
    const char *ludwig;     /* the program, to be in PATH inside; NULL: there is none */
    const struct list *own; /* struct env_entry: the sweep's env: */
    bool has_gpus;
    const char *text; /* for /bin/sh */
};

/* Fills in all but text.  ERR_USAGE, ERR_NOT_FOUND: the job cannot run here. */
int container_find(struct container *c, const struct order *o, char *const *env,
                   const char *scratch, struct arena *a, struct err *e);

/* The runtime's words, without the project; ended by NULL, in a. */
char **container_words(const struct container *c, struct arena *a);
/*
 * Words for /bin/sh, which starts `words` with the project bound as well if its folder is here:
 * the folder lies on the share, which may hang, so the job's own process must look.
 */
char **container_guard(char *const *words, const struct order *o, struct arena *a);

/* The environment for the runtime: env, and variables that make it count inside. */
char **container_env(const struct container *c, char *const *env, struct arena *a);

#endif
