/* SPDX-License-Identifier: MIT */
/*
 * guard.h - which jobs of a sweep to hold, as all that was like them failed
 *
 * A pure function of what was recorded: outcomes are added in their order, and the same outcomes
 * lead to the same decisions.  server/queue/holds.h carries them out.  What counts as a failure is
 * a job's final one, by its program's own doing (common/proto/failure.h).
 *
 * (a) The first N configurations all failed of one cause, and nothing ended well yet: all of the
 *     sweep is held.
 * (b) N configurations with one value of a parameter failed of one cause, none with that value
 *     ended well, and OTHERS_MIN with other values of it did: what has that value is held.  Of
 *     numbers a prefix or a suffix counts as a value.  Where the cause strikes other values, too,
 *     the failures must be more than chance makes of that.
 *
 * A hold is lifted by a success of what is held, by failures elsewhere that make it look like
 * chance, and by jobs of its kind that run on for much longer than the failed ones took: of twenty
 * that begin together a few may fail at once while the others are busy.
 *
 * When all else of the sweep has ended, a hold that rests on too little is tried with one job: if
 * the failures are too few for the number of values that might have looked like this, or all share
 * a value of a second parameter, which alone, or with the first, may be the reason.
 */
#ifndef LUDWIG_SERVER_QUEUE_GUARD_H
#define LUDWIG_SERVER_QUEUE_GUARD_H

#include "common/proto/param_test.h"

enum { GUARD_FAILURES = 3 /* N, unless guard: says another */, GUARD_OTHERS_MIN = 3 };
enum { GUARD_TRY_AFTER_MS = 3600 * 1000 };

struct guard;
struct guard *guard_create(int64_t failures);
void guard_destroy(struct guard *g); /* NULL is fine */

/* An end of a job. */
struct guard_outcome {
    int64_t config; /* not 0 */
    const struct value *params;
    const char *cause; /* normalised; NULL: it ended well */
    const char *words; /* the same for people */
    int64_t ran_ms;
};
void guard_add(struct guard *g, const struct guard_outcome *x);
/* The failures so far do not count any more: a user has resumed what was held. */
void guard_forget_failures(struct guard *g);

/* What is held.  Its texts and values live as long as the arena that it was made with. */
struct guard_hold {
    bool is_whole;          /* all of the sweep; else */
    struct param_test test; /* the jobs for which this holds */
    const char *cause, *words;
    int64_t failed, ended; /* configurations that failed of the cause, of those that ended */
};
bool guard_holds(const struct guard_hold *h, const struct value *params);

/* A configuration that runs. */
struct guard_running {
    const struct value *params;
    int64_t for_ms;
};

/* Whether failures that were added since the last call ask for a hold, beside those that there are.
 * Call it until it is false. */
bool guard_judge(struct guard *g, const struct guard_hold *holds, size_t n, struct arena *a,
                 struct guard_hold *found);
/* Whether configurations of its kind that run outlast the failed ones; and how long each has to run
 * for that. */
bool guard_is_outlived(const struct guard *g, const struct guard_hold *h,
                       const struct guard_running *running, size_t n);
int64_t guard_outlived_after_ms(const struct guard *g, const struct guard_hold *h);

enum guard_answer {
    GUARD_STAYS,
    GUARD_LIFTS,        /* its jobs may run */
    GUARD_TRIES_ANY,    /* one of its jobs may run, */
    GUARD_TRIES_TELLING /* best one that guard_is_telling() of; if there is none, and it is sure
                           apart from that, it stays */
};
struct guard_review {
    enum guard_answer answer;
    const char *why; /* LIFTS: in words */
    bool is_sure;    /* TRIES_TELLING */
};
/* How the sweep stands. */
struct guard_now {
    const struct guard_running *running;
    size_t n_running;
    bool is_rest; /* nothing else of the sweep waits or runs */
    bool is_due;  /* others ended well since the hold was made or tried, GUARD_TRY_AFTER_MS ago */
};
/* Updates h->failed and h->ended. */
struct guard_review guard_review(const struct guard *g, struct guard_hold *h,
                                 const struct guard_now *now);
/* Whether a job differs from the failed ones in what they all share beside what the hold tests. */
bool guard_is_telling(const struct guard *g, const struct guard_hold *h,
                      const struct value *params);

/* Appends why jobs are held, and how they run all the same. */
void guard_add_sentence(struct buf *out, const struct guard_hold *h, int64_t sweep);

#endif
