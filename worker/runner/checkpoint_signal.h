/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_signal.h - asking a job to save its state, and whether it has done so
 *
 * The signal, which the job chose, goes to those of its processes that catch it: a shell, which
 * would die of it, is left in peace and its command is asked.  Children that a process forked and
 * that still run the same program (workers of a data loader) have inherited its handler: they are
 * not asked beside it.
 *
 * A job that ends then with exit code 0 may be done, or may have saved and call that well done.
 * What it has written to its checkpoint's folder tells.
 */
#ifndef LUDWIG_WORKER_RUNNER_CHECKPOINT_SIGNAL_H
#define LUDWIG_WORKER_RUNNER_CHECKPOINT_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "worker/base/scratch.h"
#include "worker/saved/checkpoint.h"

/* "SIGUSR1" or "USR1"; 0: there is none of that name. */
int checkpoint_signal_number(const char *name);

/* Whether the text of /proc/PID/status says that the process has a handler.  A process that has the
 * signal blocked is not counted: a child that has not begun its program yet looks the same, and
 * would die. */
bool checkpoint_signal_catches(const char *status, int signal);

/* Sends the signal to those of our descendants that are to be asked, except to one process (0:
 * none), and returns how many that were. */
size_t checkpoint_signal_ask(int signal, pid_t except);

/* Begins as all zeroes. */
struct checkpoint_request {
    bool is_known; /* whether `before` is */
    int64_t at_ms; /* since 1970 */
    struct checkpoint_snapshot before;
};

/* For just before the job is asked.  hex: the name of its folder in run/. */
void checkpoint_signal_begin(struct checkpoint_request *a, const struct scratch *s,
                             const char *hex);
/* Whether the job wrote to its checkpoint since, or shortly before: Slurm tells one process after
 * the other.  Where that cannot be known: true. */
bool checkpoint_signal_was_obeyed(const struct checkpoint_request *a, const struct scratch *s,
                                  const char *hex);
void checkpoint_signal_free(struct checkpoint_request *a);

#endif
