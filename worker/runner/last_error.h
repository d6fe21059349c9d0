/* SPDX-License-Identifier: MIT */
/*
 * last_error.h - what a failed job's log says went wrong
 */
#ifndef LUDWIG_WORKER_RUNNER_LAST_ERROR_H
#define LUDWIG_WORKER_RUNNER_LAST_ERROR_H

#include <stdbool.h>

#include "worker/base/scratch.h"

/* Returns the line in the end of a log that says what went wrong, as plain text that the caller
 * frees: the exception below the last of Python's tracebacks, or else the last of the last lines
 * that tells of an error.  *is_sure false: none does, so it is the last line.  NULL: no line. */
char *last_error_find(const struct buf *tail, bool *is_sure);

/* Appends ": LINE" of the attempt's log, or "; last line: LINE" where that is not sure; nothing if
 * there is none.  If it names a missing file, and $LUDWIG_DATA has one of that name, that is
 * appended, too. */
void last_error_add(struct buf *reason, const struct scratch *s, const char *token_hex);

#endif
