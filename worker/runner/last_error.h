/* SPDX-License-Identifier: MIT */
/*
 * last_error.h - what a failed job's log says went wrong
 */
#ifndef LUDWIG_WORKER_RUNNER_LAST_ERROR_H
#define LUDWIG_WORKER_RUNNER_LAST_ERROR_H

#include "worker/base/scratch.h"

/* Appends ": LINE", the one below the last traceback, or else the last of the log's last lines that tells
 * of an error, on one line of plain text; nothing where there is none.  Where it names a file that is not
 * there, and $LUDWIG_DATA has one of that name, that is said, too. */
void last_error_add(struct buf *reason, const struct scratch *s, const char *token_hex);

#endif
