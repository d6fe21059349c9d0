/* SPDX-License-Identifier: MIT */
/*
 * prelude.h - what a job's shell does before it runs the command
 *
 * The shell looks whether the sweep's environment is on this node, loads modules and runs the lines
 * of setup:, in this order.  If one of these fails, it does not run the command: a line in the log
 * and the file "trouble" in the attempt's folder say why.  The job's own processes do all of this,
 * as the environment may lie on a drive that hangs.
 */
#ifndef LUDWIG_WORKER_RUNNER_PRELUDE_H
#define LUDWIG_WORKER_RUNNER_PRELUDE_H

#include "worker/base/child_protocol.h"

/* Whether there is anything to do; if not, the command may be started without a shell. */
bool prelude_is_needed(const struct jobspec *w);

/* Returns words for /bin/SHELL that do all this and then run the command; ended by NULL, in a. */
char **prelude_words(const struct jobspec *w, const char *shell, const char *command,
                     struct arena *a);
/* Returns a text for any shell inside a container that runs setup: and the command: a container has
 * an environment of its own.  The text is in a, or it is command. */
const char *prelude_text_inside(const struct jobspec *w, const char *command, struct arena *a);

/* Returns the name of this machine, in a. */
const char *prelude_host(struct arena *a);

/* Writes the file "trouble": why the command is not run.  job_path: the attempt's folder. */
int prelude_fail(const char *job_path, enum cause cause, const char *why, struct err *e);
/* Whether "trouble" says that the job ended before its command: then *cause is set, and why is
 * appended to reason.  folder: the attempt's, relative to dir_fd. */
bool prelude_has_failed(int dir_fd, const char *folder, enum cause *cause, struct buf *reason);

#endif
