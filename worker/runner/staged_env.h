/* SPDX-License-Identifier: MIT */
/*
 * staged_env.h - shows a job an environment that lies in the cache at the environment's own path
 *
 *     ludwig-worker --environment TREE PATH BASE JOB SHELL WORD...
 *
 * is started as the job's first process, and becomes SHELL with the words, in a mount namespace of its
 * own in which TREE lies at PATH, read-only.  Uid, groups, network and devices stay; where we may not
 * mount, a user namespace that maps the user to itself is what allows it.  A folder on the way to PATH
 * that lacks the next one is shown with all that is in it and that one, and takes no other new entries
 * meanwhile.
 *
 * Where namespaces are off the environment is relocated: JOB/environment has its own bin/, with PATH
 * replaced in its scripts, and links to all else, and PATH is replaced in the job's environment and
 * words.  A line in the log says so.
 *
 * The own path of an environment that was built here is where it lies in the cache.  Where it could not be
 * built, the job is not begun: its log has what the tool printed.
 */
#ifndef LUDWIG_WORKER_RUNNER_STAGED_ENV_H
#define LUDWIG_WORKER_RUNNER_STAGED_ENV_H

#include "worker/base/child_protocol.h"

enum { STAGED_ENV_ARGUMENTS = 5 }; /* and one word at least */

/* Sets path, paths and variables of one that is built here; all of it in a. */
int staged_env_find_built(struct order *o, const char *scratch, struct arena *a, struct err *e);

/* The words that start these of a shell so; in a.  job_path: the attempt's folder. */
char **staged_env_words(const struct order *o, const char *scratch, const char *job_path,
                        const char *shell, char *const *words, struct arena *a);

int staged_env_main(int argc, char **argv);

#endif
