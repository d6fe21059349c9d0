/* SPDX-License-Identifier: MIT */
/*
 * child.h - other programs, started with a list of words and never through a shell
 */
#ifndef LUDWIG_CLIENT_UTIL_CHILD_H
#define LUDWIG_CLIENT_UTIL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/*
 * Runs argv[0] (looked for in PATH) and appends what it writes to stdout, at most
 * max_bytes; its stderr is dropped.  Returns its exit status (128 + signal when one
 * ended it), -1 with e set when it could not be run.
 */
int child_capture(const char *const *argv, size_t max_bytes, struct buf *out, struct err *e);
/* The same in two: meanwhile it runs.  -1 as well where it was not begun, or has been ended. */
struct child_run {
    pid_t pid; /* 0: it does not run */
    int stdout_fd;
};
int child_begin(struct child_run *run, const char *const *argv, struct err *e);
int child_end(struct child_run *run, size_t max_bytes, struct buf *out);
/* Instead, at once, for who does not want to know any more; also what does not run. */
void child_stop(struct child_run *run);
/* The same with all that it writes to stdout and, for errors, to stderr. */
int child_capture_all(const char *const *argv, struct buf *out, struct buf *errors, struct err *e);

/* Starts the program at argv[0] in a session of its own, in /, with stdin empty and stdout and
 * stderr appended to the log.  -1 with e set when it could not be started. */
pid_t child_start_daemon(const char *const *argv, const char *log_path, struct err *e);
/* Whether such a child is no more; forgets it then. */
bool child_has_ended(pid_t pid);

/* The program of that name beside our own; the caller frees it.  NULL with e set. */
char *child_beside_us(const char *name, struct err *e);
bool child_is_in_path(const char *name);

#endif
