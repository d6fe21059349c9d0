/* SPDX-License-Identifier: MIT */
/*
 * sweep_wait.h - waits until a sweep is over
 */
#ifndef LUDWIG_CLIENT_SESSION_SWEEP_WAIT_H
#define LUDWIG_CLIENT_SESSION_SWEEP_WAIT_H

#include "client/session/rpc.h"

/* Prints the outcome of a sweep that is over, or held, on stderr.  EXIT_WELL when all jobs are
 * done, else EXIT_FAILED. */
int sweep_wait_say_end(const struct sweep_info *s);

/* Waits, with the progress on a terminal.  Returns EXIT_WELL when all jobs are done, EXIT_FAILED
 * when one failed or was cancelled or all jobs left are held, EXIT_INTERRUPTED after Ctrl-C, -1
 * with e set. */
int sweep_wait(struct rpc *rpc, int64_t sweep, struct err *e);

#endif
