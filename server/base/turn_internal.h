/* SPDX-License-Identifier: MIT */
/*
 * turn_internal.h - the turn, between turn.c and turn_run.c alone
 */
#ifndef LUDWIG_SERVER_BASE_TURN_INTERNAL_H
#define LUDWIG_SERVER_BASE_TURN_INTERNAL_H

#include <stdint.h>
#include <stddef.h>
#include <uv.h>

#include "server/base/turn.h"

enum { TURN_NS_PER_MS = 1000000 };

/*
 * The effects of a turn, which run once its transaction is committed: a list that grows while
 * handlers run, is cut back to a mark when one fails, and is either run in order or dropped whole.
 */

struct server;
struct effect;

struct effects {
    struct effect *items;
    size_t n;
    size_t n_begun; /* how many have begun to run; such an effect, added again, runs again */
    size_t capacity;
};

/* Drops the effects from mark on. */
void effects_drop(struct effects *l, size_t mark);
/* Runs all effects, also those added meanwhile. */
void effects_run(struct effects *l, struct server *sv);
void effects_free(struct effects *l);

struct chore {
    turn_work_fn run;
    int64_t key;
    bool has_run; /* in this turn */
    bool is_done;
};

struct turn {
    struct server *sv;
    uv_idle_t idle;   /* keeps the loop from sleeping while there is something to do */
    uv_check_t check; /* runs the turn once all input was read */
    uv_timer_t pause;
    uv_timer_t hourly;
    uv_timer_t later; /* runs the scheduler at a time it named */
    int n_handles;
    struct arena *arena; /* of the message being handled */
    struct effects effects;
    struct asker *askers;
    size_t n_askers, askers_capacity;
    struct chore *chores;
    size_t n_chores, chores_capacity;
    int64_t version, saved_version;
    int64_t now_ms;
    uint64_t began_ns;
    uint64_t ns_max; /* a turn that has lasted so long is full */
    int64_t changes_before;
    int64_t turns, longest_ns; /* as in struct turn_stats */
    bool is_awake;
    bool is_running; /* effects wait for the commit */
    bool is_lost;    /* the transaction was undone under a handler */
    bool wants_schedule;
    bool had_schedule; /* in this turn */
    bool wants_pilots;
    struct err why_lost;
};

#endif
