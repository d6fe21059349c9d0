/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_signal.h - asks a job to save its state, and finds out whether it has done so
 *
 * The signal that the sweep names goes to those of the job's processes that catch it: a shell that
 * does not would die of it, so only its command is asked.  Children that a process forked and that
 * still run the same program (workers of a data loader) have inherited its handler: they are not
 * asked beside it.
 *
 * A job that then ends with exit code 0 may be done, or may only have saved its state.  Whether it
 * has written to its checkpoint folder tells which.
 */
#ifndef LUDWIG_WORKER_RUNNER_CHECKPOINT_SIGNAL_H
#define LUDWIG_WORKER_RUNNER_CHECKPOINT_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "worker/base/scratch.h"
#include "worker/saved/checkpoint.h"

/* Returns the number of "SIGUSR1" or "USR1"; 0: no signal has that name. */
int checkpoint_signal_number(const char *name);

/* Whether the text of /proc/PID/status says that the process has a handler for the signal.  That it
 * blocks the signal, to wait for it, does not count: a child that has not begun its program yet
 * looks the same, and would die of the signal. */
bool checkpoint_signal_catches(const char *status, int signal);

/* Sends the signal to those of our descendants that are to be asked, as said above, but not to the
 * process `except` (0: no exception); returns how many processes were sent the signal. */
size_t checkpoint_signal_ask(int signal, pid_t except);

/* When a job was asked, and its checkpoint folder just before; begins as all zeroes. */
struct checkpoint_request {
    bool is_known; /* `before` could be taken */
    int64_t at_ms; /* since 1970 */
    struct checkpoint_snapshot before;
};

/* Takes the snapshot; call it just before the job is asked.  hex: the job's folder in run/. */
void checkpoint_signal_begin(struct checkpoint_request *a, const struct scratch *s,
                             const char *hex);
/* Whether the job has written to its checkpoint folder since it was asked, or in the second before,
 * as Slurm signals one process after the other.  true if that cannot be known. */
bool checkpoint_signal_was_obeyed(const struct checkpoint_request *a, const struct scratch *s,
                                  const char *hex);
void checkpoint_signal_free(struct checkpoint_request *a);

#endif
