/* SPDX-License-Identifier: MIT */
/*
 * last_error.h - what a failed job's log says went wrong
 */
#ifndef LUDWIG_WORKER_RUNNER_LAST_ERROR_H
#define LUDWIG_WORKER_RUNNER_LAST_ERROR_H

#include "worker/base/scratch.h"

/* Appends ": LINE" as plain text: the line below the log's last traceback, or else the last of its
 * last lines that tells of an error; nothing if there is none.  If it names a missing file, and
 * $LUDWIG_DATA has one of that name, that is appended, too. */
void last_error_add(struct buf *reason, const struct scratch *s, const char *token_hex);

#endif
