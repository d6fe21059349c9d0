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

/* What a job asks for.  Zeros, also in the rows of jobs and attempts: as much as its sweep, which
 * most jobs do.  For a job that grew, both members are set.  Jobs of a sweep that ask for the same
 * are scheduled together, as if they were a sweep of their own. */
struct grown {
    int64_t memory_bytes, time_ms;
};

static inline bool grown_is(struct grown g)
{
    return g.memory_bytes > 0 || g.time_ms > 0;
}

static inline bool grown_equal(struct grown a, struct grown b)
{
    return a.memory_bytes == b.memory_bytes && a.time_ms == b.time_ms;
}

/* What a job with g asks for if its sweep asks for `sweep`. */
static inline struct grown grown_or(struct grown g, struct grown sweep)
{
    return grown_is(g) ? g : sweep;
}

/* A job whose attempts were lost more often fails: it is taken for the cause of the losses. */
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
    RETRY_NOTHING,   /* no attempt went wrong */
    RETRY_ELSEWHERE, /* the job is tried on another node */
    RETRY_AGAIN,     /* the job is tried again; from here on it fails: */
    RETRY_UNLISTED,  /* an attempt failed for a cause that retry: does not name */
    RETRY_SPENT,     /* attempts failed more often than retry: max allows */
    RETRY_LOST,      /* attempts were lost more than JOB_LOSSES_MAX times */
    RETRY_CUT,       /* attempts were cut off JOB_CUTS_MAX times, and its run time is not known */
    RETRY_AT_MOST    /* the most that the job may ask for was too little */
};

/* What the next attempt asks for. */
struct growth {
    struct grown asks;
    bool has_more_memory, has_more_time; /* than the last attempt had */
    bool is_at_most;                     /* the last attempt ran out of the most it may have, */
    bool by_up_to;                       /* a bound set by up_to:; false: by the machines */
};

struct retry_verdict {
    enum retry_answer answer;
    const struct tried *by; /* the attempt that decided the answer, or the last that went wrong */
    int64_t tries;          /* attempts that went wrong, up to that one */
    int64_t n, max;         /* RETRY_AGAIN: this is retry n of at most max */
    struct growth growth;   /* RETRY_AGAIN, RETRY_AT_MOST; zeros: nothing grows */
};

/* tried: the ended attempts since the job was last forgiven, in their order; v.by points into them.
 * policy NULL: no retry:.  has_time: the sweep declares how long its jobs take. */
struct retry_verdict retry_judge(const struct retry *policy, bool has_time,
                                 const struct tried *tried, size_t n);

/* For RETRY_AGAIN: sets v->growth.  had: what each of tried asked for.  now: what the job asks for,
 * which never becomes less.  most: the most there is on any machine; 0: no limit, or not known.
 * Where the attempt v->by had the most already, the answer becomes RETRY_AT_MOST. */
void retry_grow(struct retry_verdict *v, const struct retry *policy, const struct tried *tried,
                const struct grown *had, size_t n, struct grown now, struct grown most);

/* Appends the job's reason for people; nothing where the attempt's own reason is enough. */
void retry_add_reason(const struct retry_verdict *v, struct buf *out);

#endif
