/* SPDX-License-Identifier: MIT */
/*
 * selector.h - words on the command line that name sweeps and jobs
 *
 *     7   7.13   7.1-40   7.1,5,9-12   a sweep, and jobs of it
 *     last   last.13                   the newest of one's own sweeps
 *     all                              all of one's own sweeps that are not over
 */
#ifndef LUDWIG_CLIENT_QUERY_SELECTOR_H
#define LUDWIG_CLIENT_QUERY_SELECTOR_H

#include "client/session/rpc.h"
#include "client/term/opt.h"
#include "common/proto/proto.h"

/* Jobs of sweeps, each job once. */
struct targets {
    struct arena *arena; /* of items */
    struct target *items;
    size_t n, capacity;
};

static inline bool target_is_whole(const struct target *t)
{
    return t->first == 0;
}

/* Adds a target; one that continues the last target of the same sweep is joined with it. */
void targets_add(struct targets *t, const struct target *more);
/* Sorts; targets that overlap or touch become one, and a whole sweep takes in its jobs. */
void targets_merge(struct targets *t);

/* Stand in for a sweep's number until the server is asked. */
enum { SELECTOR_LAST = 0, SELECTOR_ALL = -1 };

/* For usage lines and --help. */
#define SELECTOR_HELP                                                               \
    "Name sweeps (7, last), jobs (7.13, 7.1-40, 7.1,5,9), or all your unfinished\n" \
    "sweeps (all).\n"

/* Parses a word into struct target, at least one; they live in a. */
int selector_parse(const char *text, struct arena *a, struct list *targets, struct err *e);

/* Returns words, or "last" if there are none. */
struct opt_words selector_words_or_last(const struct opt_words *words);

/* Checks the spelling of all words, so that mistakes show before the server is asked. */
int selector_check(const struct opt_words *words, struct err *e);

/* The following functions parse and, for last and all, ask the server. */
int selector_sweep(struct rpc *rpc, const char *text, int64_t *sweep, struct err *e);
int selector_job(struct rpc *rpc, const char *text, struct target *t, struct err *e);
int selector_sweep_or_job(struct rpc *rpc, const char *text, struct target *t, struct err *e);
/* Takes any words; targets are in order, each job once, and empty if "all" finds no unfinished
 * sweep. user: the user whose sweeps "last" and "all" mean; NULL: one's own. */
int selector_targets(struct rpc *rpc, const char *user, const struct opt_words *words,
                     struct arena *a, struct list *targets, struct err *e);
/* Takes words that name whole sweeps; "last" and "all" mean one's own. */
int selector_sweeps(struct rpc *rpc, const struct opt_words *words, struct arena *a,
                    struct list *targets, struct err *e);

/* ERR_NOT_FOUND when a target that names jobs begins behind the last job of its sweep. */
int selector_check_jobs(struct rpc *rpc, const struct list *targets, struct err *e);

#endif
