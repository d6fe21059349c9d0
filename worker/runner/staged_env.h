/* SPDX-License-Identifier: MIT */
/*
 * staged_env.h - shows a job an environment that lies in the cache at the environment's own path
 *
 *     ludwig-worker --environment TREE PATH BASE JOB SHELL WORD...
 *
 * starts as the job's first process and becomes SHELL with the words, in a mount namespace of its
 * own in which TREE lies at PATH, read-only.  Uid, groups, network and devices stay; a process that
 * may not mount first enters a user namespace, which maps the user to itself.  In place of a folder
 * on the way to PATH that lacks the next one, the job sees one in memory that has all its entries
 * and the missing one, and can have no other new entries.
 *
 * Where namespaces are off, the environment is relocated: JOB/environment gets a bin/ of its own,
 * in whose scripts PATH is replaced, and links to all else; PATH is replaced in the job's
 * environment and words as well.  A line in the log says so.
 *
 * The own path of an environment that was built on this node is its folder in the cache.  If it
 * could not be built, the job does not begin: its log has what the tool printed.
 */
#ifndef LUDWIG_WORKER_RUNNER_STAGED_ENV_H
#define LUDWIG_WORKER_RUNNER_STAGED_ENV_H

#include "worker/base/child_protocol.h"

enum { STAGED_ENV_ARGUMENTS = 5 }; /* TREE to SHELL; behind them at least one word */

/* Sets path, paths and variables of o's environment, which is built on this node; all in a. */
int staged_env_find_built(struct order *o, const char *scratch, struct arena *a, struct err *e);

/* Returns words that start these words of shell so; in a.  job_path: the attempt's folder. */
char **staged_env_words(const struct order *o, const char *scratch, const char *job_path,
                        const char *shell, char *const *words, struct arena *a);

int staged_env_main(int argc, char **argv);

#endif
