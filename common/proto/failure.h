/* SPDX-License-Identifier: MIT */
/*
 * failure.h - the cause of a failure, in words that are the same for all jobs that failed alike
 *
 * Two jobs failed alike if their programs ended in the same way (exit code, signal, memory, time)
 * with the same last error line in their logs, apart from what differs from job to job: numbers,
 * addresses and folders.
 */
#ifndef LUDWIG_COMMON_PROTO_FAILURE_H
#define LUDWIG_COMMON_PROTO_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/proto/states.h"

enum { FAILURE_NAME_MAX_BYTES = 300 };

/* What is recorded of an attempt that failed. */
struct failure {
    enum cause cause;
    int64_t exit_code;  /* SCHEMA_NONE: none */
    int64_t signal;     /* SCHEMA_NONE: none */
    const char *reason; /* in words: "exit code 1: ValueError: lr must be below 1"; NULL: none */
};

/* Whether the program did it (its exit code, a signal, its memory or its time), and not a node, the
 * shared drive or a user. */
bool failure_is_own(enum cause cause);

/*
 * Appends the normalised cause, one line: "ValueError: lr must be below N", "signal 11
 * (Segmentation fault)", "out of memory".  An exit code is named unless it is 1 and there is an
 * error line.
 */
void failure_add_name(struct buf *out, const struct failure *f);

/* The same for people: numbers and folders stay as they are. */
void failure_add_words(struct buf *out, const struct failure *f);

#endif
