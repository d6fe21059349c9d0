/* SPDX-License-Identifier: MIT */
/*
 * advisor_pipes.h - standard input and output of a sweep's advisor, line by line
 *
 * No function blocks.  A line of more than ADVICE_LINE_MAX_BYTES, or with a NUL byte in it, is
 * replaced by "", which is no JSON and is refused where lines are parsed.
 */
#ifndef LUDWIG_WORKER_RUNNER_ADVISOR_PIPES_H
#define LUDWIG_WORKER_RUNNER_ADVISOR_PIPES_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"

struct advisor_pipes {
    int to_fd, from_fd; /* our ends; -1: there is no advisor, or it has closed its end */
    struct buf to;      /* text that the advisor has not taken yet */
    struct buf from;    /* the beginning of a line that is not whole yet */
    bool is_skipping;   /* the rest of a line that is too long is skipped */
};

/* Makes the pipes; *in_fd and *out_fd are the advisor's ends, which the caller closes once it has
 * them. */
int advisor_pipes_open(struct advisor_pipes *p, int *in_fd, int *out_fd, struct err *e);
/* Closes our ends; text that was not passed yet is dropped. */
void advisor_pipes_close(struct advisor_pipes *p);

/* Queues text for the advisor. */
void advisor_pipes_pass(struct advisor_pipes *p, const char *text);
/* Writes as much of the queue as the pipe takes now; true when that emptied the queue. */
bool advisor_pipes_write(struct advisor_pipes *p);
/* Reads what the advisor has written so far; calls take for each whole line, without newline. */
void advisor_pipes_read(struct advisor_pipes *p, void (*take)(void *context, const char *line),
                        void *context);

#endif
