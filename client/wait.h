/* SPDX-License-Identifier: MIT */
/*
 * wait.h - until a sweep is over
 */
#ifndef LUDWIG_CLIENT_WAIT_H
#define LUDWIG_CLIENT_WAIT_H

#include "client/rpc.h"

/* Shows the progress on a terminal.  Returns EXIT_WELL when all jobs are done, EXIT_FAILED when
 * one failed or was cancelled or the user pressed Ctrl-C, -1 with e set. */
int wait_for_sweep(struct rpc *rpc, int64_t sweep, struct err *e);

#endif
