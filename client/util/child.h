/* SPDX-License-Identifier: MIT */
/*
 * child.h - runs other programs, with a list of words and never through a shell
 */
#ifndef LUDWIG_CLIENT_UTIL_CHILD_H
#define LUDWIG_CLIENT_UTIL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/*
 * Runs argv[0] (searched for in PATH) and appends its stdout, at most max_bytes; its
 * stderr is dropped.  Returns its exit status (128 + signal when one ended it), -1
 * with e set when it could not be run.
 */
int child_capture(const char *const *argv, size_t max_bytes, struct buf *out, struct err *e);
/* A run as of child_capture in two calls, between which the program runs. child_end also returns -1
 * when the run was not begun, or was ended already. */
struct child_run {
    pid_t pid; /* 0: not running */
    int stdout_fd;
};
int child_begin(struct child_run *run, const char *const *argv, struct err *e);
int child_end(struct child_run *run, size_t max_bytes, struct buf *out);
/* Instead of child_end: kills the program.  A run that was not begun is fine. */
void child_stop(struct child_run *run);
/* As child_capture, but appends all of its stdout to out and all of its stderr to errors. */
int child_capture_all(const char *const *argv, struct buf *out, struct buf *errors, struct err *e);

/* Starts the program at argv[0] in its own session, in /, with an empty stdin, stdout and stderr
 * appended to the log, and without the environment of Python that is active here in its PATH.
 * -1 with e set when it could not be started. */
pid_t child_start_daemon(const char *const *argv, const char *log_path, struct err *e);
/* Whether a child has ended; if so, reaps it. */
bool child_has_ended(pid_t pid);

/* Returns the path of a program beside this one, which the caller frees; NULL with e set. */
char *child_beside_us(const char *name, struct err *e);
/* Returns the path of a program in PATH, which the caller frees; NULL: it is not there. */
char *child_find(const char *name);
bool child_is_in_path(const char *name);

#endif
