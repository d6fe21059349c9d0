/* SPDX-License-Identifier: MIT */
/*
 * prelude.h - what a job's shell does before the command
 *
 * It looks whether the environment of the sweep is on this node, loads modules and runs the lines of
 * setup:, in this order.  Where one of that fails, the command is not run: a line in the log and the
 * file "trouble" in the attempt's folder say why.  All of it happens in the job's own processes, as
 * the environment may lie on a drive that hangs.
 */
#ifndef LUDWIG_WORKER_RUNNER_PRELUDE_H
#define LUDWIG_WORKER_RUNNER_PRELUDE_H

#include "worker/base/child_protocol.h"

/* Else a command may be started without a shell. */
bool prelude_is_needed(const struct jobspec *w);

/* The words of /bin/SHELL that do all that, and then the command; ended by NULL, in a. */
char **prelude_words(const struct jobspec *w, const char *shell, const char *command,
                     struct arena *a);
/* The same for any shell inside a container, which has an environment of its own. */
const char *prelude_text_inside(const struct jobspec *w, const char *command, struct arena *a);

/* Of this machine, in a. */
const char *prelude_host(struct arena *a);

/* Writes why the command is not run; job_path: the attempt's folder. */
int prelude_fail(const char *job_path, enum cause cause, const char *why, struct err *e);
/* Whether the process ended before the command, with the cause and, appended to reason, why.
 * folder: of the attempt, at dir_fd. */
bool prelude_has_failed(int dir_fd, const char *folder, enum cause *cause, struct buf *reason);

#endif
