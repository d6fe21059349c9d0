/* SPDX-License-Identifier: MIT */
/*
 * retry.h - whether a job is tried again: a pure function of the ends of its attempts
 *
 * A failure whose cause, exit code or signal the sweep's retry: names costs one of
 * its max retries; any other ends the job, unless it was not begun, as its node lacks the
 * environment or a module, and another one may have that.  Losses that retry: does not name (a
 * worker gone, a place taken away, a result that another attempt had put there) cost
 * none of these, but more than JOB_LOSSES_MAX of them end the job; so do JOB_CUTS_MAX cuts at the
 * end of a pilot's time, unless the job's time is known or retry: names them.
 */
#ifndef LUDWIG_SERVER_QUEUE_RETRY_H
#define LUDWIG_SERVER_QUEUE_RETRY_H

#include "common/proto/jobspec.h"

/* A job whose attempts were lost more often is taken for the cause, and fails. */
enum { JOB_LOSSES_MAX = 5 };
/* How often a job of unknown run time may be cut off by the end of its pilot's time. */
enum { JOB_CUTS_MAX = 2 };

/* An attempt that has ended. */
struct tried {
    int64_t attempt; /* its row */
    enum attempt_state state;
    enum cause cause;
    int64_t exit_code; /* SCHEMA_NONE: none, as signal */
    int64_t signal;
    const char *reason;  /* NULL: none */
    bool goes_elsewhere; /* it was not begun, as its node lacks something that others may have */
};

/* Whether an attempt in this state came to nothing, so that its job may be tried again. */
bool attempt_went_wrong(enum attempt_state state);

enum retry_answer {
    RETRY_NOTHING,   /* nothing has gone wrong */
    RETRY_ELSEWHERE, /* another node is tried */
    RETRY_AGAIN,     /* it is tried again */
    RETRY_UNLISTED,  /* it failed for a cause that retry: does not name */
    RETRY_SPENT,     /* it failed more often than retry: max */
    RETRY_LOST,      /* lost too often */
    RETRY_CUT        /* cut off too often, and its run time is not known */
};

struct retry_verdict {
    enum retry_answer answer;
    const struct tried *by; /* the attempt that decided the answer, or the last that went wrong */
    int64_t tries;          /* how many went wrong, up to that one */
    int64_t n, max;         /* RETRY_AGAIN: the n-th of at most max */
};

/* tried: in their order, since the job was last forgiven.  policy NULL: none.  has_time: the sweep
 * says how long its jobs take. */
struct retry_verdict retry_judge(const struct retry *policy, bool has_time,
                                 const struct tried *tried, size_t n);

/* Appends the job's reason; nothing where the attempt's own reason is enough. */
void retry_add_reason(const struct retry_verdict *v, struct buf *out);

#endif
