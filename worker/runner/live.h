/* SPDX-License-Identifier: MIT */
/*
 * live.h - the values of one metric that a job reports, while it runs
 *
 * Only where the sweep asks for it (struct live_policy).  The file of reports ($LUDWIG_METRICS) is
 * followed as that of a batch (batch_jobs.h); its folder is watched, so that a job that reports
 * nothing costs nothing.  A line counts when it has the metric as a number; its step is the member
 * that the policy names, and where there is none, the number of the line among those that count.
 *
 * Values that were not taken yet are kept, LIVE_VALUES_MAX at most: of more, every other one goes.
 */
#ifndef LUDWIG_WORKER_RUNNER_LIVE_H
#define LUDWIG_WORKER_RUNNER_LIVE_H

#include "worker/runner/batch_jobs.h"

/* As many as a note to the agent holds. */
enum { LIVE_VALUES_MAX = MEASURED_MAX };

struct live {
    char *metric; /* NULL: the sweep does not ask for values */
    char *step;
    bool tells, ends_nan;
    struct follow follow;
    struct token token;
    int64_t n_lines; /* how many lines counted */
    struct measured *values;
    size_t n;
    bool has_more;       /* there are lines to be read at once */
    bool rests;          /* until rest_ms nothing is read, however often the job writes */
    int64_t rest_ms;     /* monotonic */
    bool has_nan;        /* a value was nan or infinite: */
    struct measured nan; /* the first such value */
};

/* Follows a job just started, if its sweep asks for values.  Owns dir_fd, the job's folder. */
void live_begin(struct live *l, const struct live_policy *policy, const struct token *token,
                int dir_fd);
void live_end(struct live *l); /* also of one that is all zeroes */
/* Reads all that was reported again, for a new agent. */
void live_again(struct live *l);

/* For poll(2), -1: none now. */
int live_fd(const struct live *l);
/* How long until live_look is to be called; -1: not before live_fd is readable. */
int live_wait_ms(const struct live *l);
/* Reads what is new, not more often than every LIVE_REST_MS. */
void live_look(struct live *l);
/* Reads all that is left when the job has ended. */
void live_finish(struct live *l);

#endif
