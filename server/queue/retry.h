/* SPDX-License-Identifier: MIT */
/*
 * retry.h - is a job tried again: a pure function of what became of its attempts
 *
 * A failure whose cause, exit code or signal the sweep's retry: names costs one of
 * its max retries; any other ends the job.  Losses that retry: does not name (a
 * worker gone, a place taken away, a result that another attempt had put there) cost
 * nothing of these, but JOB_LOSSES_MAX of them are enough; of cuts at the end of a pilot's time,
 * JOB_CUTS_MAX, unless the job's time is known or retry: names them.
 */
#ifndef LUDWIG_SERVER_QUEUE_RETRY_H
#define LUDWIG_SERVER_QUEUE_RETRY_H

#include "common/proto/jobspec.h"

/* A job whose attempts were lost more often is taken for the cause, and fails. */
enum { JOB_LOSSES_MAX = 5 };
/* So often one that does not say how long it takes is cut off by the end of its pilot's time. */
enum { JOB_CUTS_MAX = 2 };

/* An attempt that has ended. */
struct tried {
    int64_t attempt; /* its row */
    enum attempt_state state;
    enum cause cause;
    int64_t exit_code; /* SCHEMA_NONE: none, as signal */
    int64_t signal;
    const char *reason; /* NULL: none */
};

/* An attempt that ended so has come to nothing, and its job may be tried again. */
bool attempt_went_wrong(enum attempt_state state);

enum retry_answer {
    RETRY_NOTHING,  /* nothing has gone wrong */
    RETRY_AGAIN,    /* it is tried again */
    RETRY_UNLISTED, /* it failed as retry: does not name */
    RETRY_SPENT,    /* more often than retry: max */
    RETRY_LOST,     /* lost too often */
    RETRY_CUT       /* cut off too often, and it says nowhere how long it takes */
};

struct retry_verdict {
    enum retry_answer answer;
    const struct tried *by; /* the attempt that decided it, or was the last that went wrong */
    int64_t tries;          /* so many went wrong, up to that one */
    int64_t n, max;         /* RETRY_AGAIN: the n-th of at most max */
};

/* tried: in their order, since the job was last forgiven.  policy NULL: none.  has_time: its sweep
 * says how long its jobs take. */
struct retry_verdict retry_judge(const struct retry *policy, bool has_time,
                                 const struct tried *tried, size_t n);

/* What the job says about it: nothing where the attempt's own reason is enough. */
void retry_add_reason(const struct retry_verdict *v, struct buf *out);

#endif
