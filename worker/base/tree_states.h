/* SPDX-License-Identifier: MIT */
/*
 * tree_states.h - which trees lie in the cache, and which are on their way there
 *
 * A table only, for the code that sends orders to the stager.
 */
#ifndef LUDWIG_WORKER_BASE_TREE_STATES_H
#define LUDWIG_WORKER_BASE_TREE_STATES_H

#include "worker/base/child_protocol.h"

enum { TREE_STATES_RETRY_AT_MOST_MS = 30 * 1000 };

enum tree_state { TREE_UNKNOWN, TREE_ASKED, TREE_THERE, TREE_LATER };

struct tree {
    struct dataset set;
    enum tree_state state;
    char *project; /* whose packs hold it */
    char *share;
    uint64_t due_at;   /* LATER: by the loop's clock */
    uint64_t delay_ms; /* LATER */
    bool is_held;      /* the stager takes it for used, until it is released */
    bool is_doubted;   /* something in it may have been changed: the next order says so */
    bool is_guarded;   /* THERE: we are told of what is changed in it */
    uint64_t looked_at;
    int64_t order_seq; /* of the newest order: answers to earlier ones do not count */
};

struct tree_states {
    struct tree *trees;
    size_t n, capacity;
};

void tree_states_free(struct tree_states *s);

/* Calls each for source and data of the work. */
void tree_states_each_tree(const struct jobspec *w,
                           void (*each)(void *context, const struct dataset *set), void *context);

/* Made TREE_UNKNOWN when it is new. */
struct tree *tree_states_find(struct tree_states *s, const struct digest *tree);
/* Everything the work needs is there. */
bool tree_states_has_all(struct tree_states *s, const struct jobspec *w);
/* Of trees that come later, the first that is due; NULL when there is none. */
struct tree *tree_states_next_due(struct tree_states *s);
/* From now on it is brought from these packs: those it was brought from before may be gone. */
void tree_come_from(struct tree *t, const struct dataset *set, const char *project,
                    const char *share);
/* Are it these packs? */
bool tree_comes_from(const struct tree *t, const struct dataset *set, const char *project,
                     const char *share);
/* The tree could not be brought now: doubles its delay. */
void tree_ask_later(struct tree *t, uint64_t now);

#endif
