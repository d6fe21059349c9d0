/* SPDX-License-Identifier: MIT */
/*
 * guard.h - which jobs of a sweep to hold because all configurations like theirs failed
 *
 * A pure function of recorded outcomes: the caller adds outcomes in their order, and the same
 * outcomes lead to the same decisions.  server/queue/holds.h carries the decisions out.  A failure
 * here is the final one of a job, caused by its own program (common/proto/failure.h).
 *
 * (a) The first N configurations all failed of one cause, and none ended well: the guard holds the
 *     whole sweep.
 * (b) N configurations with one value of a parameter failed of one cause, none with that value
 *     ended well, and GUARD_OTHERS_MIN with other values did: the guard holds the jobs with that
 *     value.  For numbers, "all up to x" and "all from x on" count as a value, too.  If the cause
 *     also struck other values, the failures must be more than chance explains (Fisher's exact
 *     test).
 *
 * The guard lifts a hold when a held kind of job succeeds, when failures elsewhere make the hold
 * look like chance, or when jobs of the held kind run on for much longer than the failed ones took:
 * of twenty that begin together a few may fail at once while the others are busy.
 *
 * When all else of the sweep has ended, the guard tries a weak hold with one job.  A hold is weak
 * if its failures are few for the number of values that were compared, or if all failures also
 * share a value of a second parameter, which may be the reason, alone or together with the first.
 */
#ifndef LUDWIG_SERVER_QUEUE_GUARD_H
#define LUDWIG_SERVER_QUEUE_GUARD_H

#include "common/proto/param_test.h"

enum { GUARD_FAILURES = 3 /* N, unless the sweep's guard: sets it */, GUARD_OTHERS_MIN = 3 };
enum { GUARD_TRY_AFTER_MS = 3600 * 1000 };

struct guard;
struct guard *guard_create(int64_t failures);
void guard_destroy(struct guard *g); /* NULL is fine */

/* How a job ended. */
struct guard_outcome {
    int64_t config; /* not 0 */
    const struct value *params;
    const char *cause; /* normalised; NULL: it ended well */
    const char *words; /* the cause, for people */
    int64_t ran_ms;
};
void guard_add(struct guard *g, const struct guard_outcome *x);
/* Forgets all failures added so far, as a user has resumed held jobs; successes stay. */
void guard_forget_failures(struct guard *g);

/* A hold.  Its texts and values live as long as the arena that it was made with. */
struct guard_hold {
    bool is_whole;          /* it holds the whole sweep; else */
    struct param_test test; /* it holds the jobs whose parameters pass this test */
    const char *cause, *words;
    int64_t failed, ended; /* configurations of the kind: failed of this cause, failed at all */
};
bool guard_holds(const struct guard_hold *h, const struct value *params);

/* A job that runs. */
struct guard_running {
    const struct value *params;
    int64_t for_ms; /* how long it has run */
};

/* Looks at the failures added since the last call.  Returns true with *found, in the arena, when
 * they ask for a hold beside the n existing ones; call it again until it returns false. */
bool guard_judge(struct guard *g, const struct guard_hold *holds, size_t n, struct arena *a,
                 struct guard_hold *found);
/* Whether enough running jobs of the held kind outlast the failed ones; after what run time. */
bool guard_is_outlived(const struct guard *g, const struct guard_hold *h,
                       const struct guard_running *running, size_t n);
int64_t guard_outlived_after_ms(const struct guard *g, const struct guard_hold *h);

enum guard_answer {
    GUARD_STAYS,        /* the hold stays */
    GUARD_LIFTS,        /* all held jobs may run */
    GUARD_TRIES_ANY,    /* one held job may run */
    GUARD_TRIES_TELLING /* one for which guard_is_telling() may run; if there is none any may,
                           unless is_sure is set: then the hold stays */
};
struct guard_review {
    enum guard_answer answer;
    const char *why; /* GUARD_LIFTS: the reason, in words */
    bool is_sure;    /* GUARD_TRIES_TELLING: only a telling job may be tried */
};
/* How the sweep stands at a review. */
struct guard_now {
    const struct guard_running *running;
    size_t n_running;
    bool is_rest; /* only held jobs are left of the sweep */
    bool is_due;  /* the hold was made or last tried GUARD_TRY_AFTER_MS ago, and others succeeded */
};
/* Decides what becomes of the hold; updates h->failed and h->ended. */
struct guard_review guard_review(const struct guard *g, struct guard_hold *h,
                                 const struct guard_now *now);
/* Whether a job with these parameters differs from the hold's failures in a value that they all
 * share, of a parameter other than the one that the hold tests. */
bool guard_is_telling(const struct guard *g, const struct guard_hold *h,
                      const struct value *params);

/* Appends a sentence: why the jobs are held, and which command runs them all the same. */
void guard_add_sentence(struct buf *out, const struct guard_hold *h, int64_t sweep);

#endif
