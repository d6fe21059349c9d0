/* SPDX-License-Identifier: MIT */
/*
 * failure.h - the cause of a failure, in words that are the same for all jobs that failed alike
 *
 * Two jobs failed alike if their programs ended in the same way (exit code, signal, memory, time)
 * with the same last error line in their logs.  Numbers, addresses and folders in that line are
 * ignored, as they differ from job to job; not in a line that may be no error.
 */
#ifndef LUDWIG_COMMON_PROTO_FAILURE_H
#define LUDWIG_COMMON_PROTO_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/proto/states.h"

enum { FAILURE_NAME_MAX_BYTES = 300 };

/* Stands in a reason, before ": " and the log's last line, where no line tells of an error. */
#define FAILURE_LAST_LINE "; last line"

/* The recorded facts about a failed attempt. */
struct failure {
    enum cause cause;
    int64_t exit_code;  /* SCHEMA_NONE: none */
    int64_t signal;     /* SCHEMA_NONE: none */
    const char *reason; /* in words: "exit code 1: ValueError: lr must be below 1"; NULL: none */
};

/* Whether the job's own program caused the failure (exit code, signal, memory, time, metric), and
 * not a node, the shared drive or a user. */
bool failure_is_own(enum cause cause);

/*
 * Appends the normalised cause, one line of FAILURE_NAME_MAX_BYTES at most: "ValueError: lr must be
 * below N", "signal 11 (Segmentation fault)", "out of memory".  An exit code is named unless it is
 * 1 and there is an error line.
 */
void failure_add_name(struct buf *out, const struct failure *f);

/* Appends the cause for people: as failure_add_name, but numbers and folders stay as they are. */
void failure_add_words(struct buf *out, const struct failure *f);

#endif
