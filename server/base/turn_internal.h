/* SPDX-License-Identifier: MIT */
/* turn_internal.h - the struct of the turn, for turn.c, turn_run.c and tests alone */
#ifndef LUDWIG_SERVER_BASE_TURN_INTERNAL_H
#define LUDWIG_SERVER_BASE_TURN_INTERNAL_H

#include <stdint.h>
#include <stddef.h>
#include <uv.h>

#include "server/base/turn.h"

enum { TURN_NS_PER_MS = 1000000 };

/* The effects of a turn: a list that grows while handlers run, is cut back to a mark when a handler
 * fails, and is run in order once the turn is committed, or dropped whole. */

struct server;
struct effect;

struct effects {
    struct effect *items;
    size_t n;
    size_t n_begun; /* how many have begun to run; one of these, if added again, runs again */
    size_t capacity;
};

/* Drops the effects from mark on. */
void effects_drop(struct effects *l, size_t mark);
/* Runs all effects, also those added meanwhile. */
void effects_run(struct effects *l, struct server *sv);
void effects_free(struct effects *l);

/* A piece of turn work, see turn_add_work. */
struct chore {
    turn_work_fn run;
    int64_t key;
    bool has_run; /* in this turn */
    bool is_done; /* dropped once the turn is committed */
};

struct turn {
    struct server *sv;
    uv_idle_t idle;      /* active while a turn is wanted: keeps the loop from sleeping */
    uv_check_t check;    /* runs the turn once the loop has read all input */
    uv_timer_t pause;    /* active: no turn work after a failed commit */
    uv_timer_t hourly;   /* clears old rows away */
    uv_timer_t later;    /* runs the scheduler at the time that turn_want_schedule_in gave */
    int n_handles;       /* how many of these five are not closed yet */
    struct arena *arena; /* of the message being handled */
    struct effects effects;
    struct asker *askers; /* connections whose messages this turn has handled */
    size_t n_askers, askers_capacity;
    struct chore *chores;
    size_t n_chores, chores_capacity;
    int64_t version, saved_version; /* the last one given out; the last one in the database */
    int64_t now_ms;                 /* the wall clock when the turn began */
    uint64_t began_ns;              /* the same by uv_hrtime() */
    uint64_t ns_max;                /* a turn that has lasted so long is full */
    int64_t changes_before;         /* db_changes() when the turn began */
    int64_t turns, longest_ns;      /* as in struct turn_stats */
    bool is_awake;                  /* a turn is wanted */
    bool is_running;                /* inside a turn: effects wait for the commit */
    bool is_lost;                   /* the transaction was undone under a handler */
    bool wants_schedule;
    bool had_schedule; /* in this turn */
    bool wants_pilots;
    struct err why_lost;
};

#endif
