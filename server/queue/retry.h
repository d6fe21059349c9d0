/* SPDX-License-Identifier: MIT */
/*
 * retry.h - whether a job is tried again: a pure function of how its attempts ended
 *
 * A failure whose cause, exit code or signal the sweep's retry: names costs one of its max retries.
 * Any other failure ends the job, unless the attempt did not begin because its node lacks the
 * environment or a module that another node may have.  Losses that retry: does not name (a worker
 * gone, a place taken away, a result that another attempt had published) cost no retry, but more
 * than JOB_LOSSES_MAX of them end the job; so do JOB_CUTS_MAX cuts at the end of a pilot's time,
 * unless the job's time is known or retry: names such cuts.
 *
 * Where retry: grow says so, a job whose attempt ran out of memory or time asks for more: a
 * multiple of what the attempt had, up to up_to: and to what the largest machine has that may run
 * it.  A job whose attempt had as much fails.
 */
#ifndef LUDWIG_SERVER_QUEUE_RETRY_H
#define LUDWIG_SERVER_QUEUE_RETRY_H

#include "common/proto/jobspec.h"

/* A job whose attempts were lost more often is taken for the cause, and fails. */
enum { JOB_LOSSES_MAX = 5 };
/* A job of unknown run time fails when it was cut off this often by the end of its pilot's time. */
enum { JOB_CUTS_MAX = 2 };

/* An attempt that has ended. */
struct tried {
    int64_t attempt; /* the attempt's row */
    enum attempt_state state;
    enum cause cause;
    int64_t exit_code; /* SCHEMA_NONE: none; the same for signal */
    int64_t signal;
    const char *reason;  /* NULL: none */
    bool goes_elsewhere; /* it did not begin: its node lacks something that others may have */
};

/* Whether the state is failed, lost or superseded, so that the job may be tried again. */
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

/* tried: the ended attempts since the job was last forgiven, in their order; v.by points into them.
 * policy NULL: no retry:.  has_time: the sweep declares how long its jobs take. */
struct retry_verdict retry_judge(const struct retry *policy, bool has_time,
                                 const struct tried *tried, size_t n);

/* Appends the job's reason; nothing where the attempt's own reason is enough. */
void retry_add_reason(const struct retry_verdict *v, struct buf *out);

#endif
