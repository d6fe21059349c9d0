/* SPDX-License-Identifier: MIT */
/* turn_run.c - handles the messages that came, in one transaction, and runs its effects */
#include "server/loop/turn_run.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "server/base/server.h"
#include "server/base/turn_internal.h"
#include "server/conn/conn.h"
#include "server/loop/dispatch.h"
#include "server/pilot/pilots.h"
#include "server/queue/assign.h"
#include "server/queue/subscribe.h"
#include "server/queue/worker_rows.h"

enum {
    LONG_TURN_MS = 100, /* a turn of this length is logged */
    FORGET_EVERY_MS = 3600 * 1000
};

/* A message of this turn: if the commit fails, its connection is told. */
struct asker {
    int64_t conn;
    int64_t seq;
};

/* ---- ludwigd's own work ---- */

static int run_chore(struct server *sv, void *context, struct err *e)
{
    const struct chore *chore = context;

    return chore->run(sv, chore->key, e);
}

static bool is_paused(const struct turn *t)
{
    return uv_is_active((const uv_handle_t *)&t->pause);
}

/* Runs one piece of turn work at least, so that messages cannot keep it from being done. */
static void do_work(struct turn *t)
{
    size_t n = is_paused(t) ? 0 : t->n_chores;

    for (size_t i = 0; i < n && !t->is_lost && (i == 0 || !turn_is_full(t->sv)); i++) {
        struct chore chore = t->chores[i]; /* the array may move */
        struct err e = { 0 };
        int rc = turn_step(t->sv, run_chore, &chore, &e);

        if (rc < 0)
            log_event(LOG_ERROR, "work-failed", "error", "%s", e.text, NULL);
        t->chores[i].has_run = true;
        t->chores[i].is_done = rc != 1;
    }
}

/* Chores that have not run come first in the next turn; if the commit failed, all are kept. */
static void settle_chores(struct turn *t, bool is_committed)
{
    struct chore *old = t->chores;
    size_t n = t->n_chores;

    t->chores = mem_resize(NULL, n + 1, sizeof *t->chores);
    t->chores_capacity = n + 1;
    t->n_chores = 0;
    for (int has_run = 0; has_run <= 1; has_run++)
        for (size_t i = 0; i < n; i++)
            if (old[i].has_run == (bool)has_run && !(old[i].is_done && is_committed))
                t->chores[t->n_chores++] = (struct chore){ .run = old[i].run, .key = old[i].key };
    free(old);
}

static int run_schedule(struct server *sv, void *context, struct err *e)
{
    (void)context;
    return assign_run(sv, e);
}

static void schedule(struct turn *t)
{
    struct err e = { 0 };
    int rc;

    t->had_schedule = t->wants_schedule && !is_paused(t) && !t->is_lost && !t->sv->is_leaving;
    if (!t->had_schedule)
        return;
    t->wants_schedule = false;
    rc = turn_step(t->sv, run_schedule, NULL, &e);
    if (rc < 0)
        log_event(LOG_ERROR, "schedule-failed", "error", "%s", e.text, NULL);
    t->wants_schedule |= rc == 1;
}

/* ---- messages ---- */

static void add_asker(struct turn *t, const struct conn *c, int64_t seq)
{
    mem_grow((void **)&t->askers, &t->askers_capacity, t->n_askers, sizeof *t->askers);
    t->askers[t->n_askers++] = (struct asker){ c->number, seq };
}

/* Handles one message of each user, round and round, until the turn is full. */
static void take_messages(struct turn *t)
{
    struct conn *c;

    while (!turn_is_full(t->sv) && (c = conn_next(t->sv)) != NULL) {
        struct envelope m = { .type = -1 };
        struct err e = { 0 };

        if (c->unfinished != NULL) {
            add_asker(t, c, dispatch_go_on(t->sv, c));
            continue;
        }
        if (chan_next(c->chan, t->arena, &m, &e) < 0)
            dispatch_refused(c, &m, &e);
        else
            dispatch_message(t->sv, c, &m, &t->arena);
        add_asker(t, c, m.seq);
        arena_reset(t->arena);
    }
}

/* ---- the end of a turn ---- */

static void on_paused(uv_timer_t *timer)
{
    turn_wake(timer->data);
}

/* The commit failed: drops the turn's effects and answers every message of the turn with the error.
 * The versions that were given out are not given out again: gaps do no harm. */
static void undo(struct turn *t, struct err *why)
{
    struct msg_error body = { (int)why->kind, why->text };

    db_rollback(t->sv->db);
    effects_drop(&t->effects, 0);
    err_wrap(why, "nothing was saved");
    log_event(LOG_ERROR, "turn-failed", "error", "%s", why->text, "askers", "%zu", t->n_askers,
              NULL);
    for (size_t i = 0; i < t->n_askers; i++) {
        struct conn *c = conn_find(t->sv, t->askers[i].conn);

        if (c == NULL)
            continue;
        dispatch_forget(c);
        c->pending_bytes = 0;
        if (chan_send(c->chan, MSG_ERROR, t->askers[i].seq, NULL, &body, NULL) < 0)
            conn_end(c);
    }
    t->wants_schedule |= t->had_schedule;
    uv_timer_start(&t->pause, on_paused, TURN_PAUSE_MS, 0);
}

static void run_turn(struct turn *t)
{
    struct server *sv = t->sv;
    struct err e = { 0 };
    bool is_committed = false;
    int64_t took_ns;

    t->now_ms = units_now_ms();
    t->began_ns = uv_hrtime();
    t->changes_before = db_changes(sv->db);
    t->is_lost = t->had_schedule = false;
    t->n_askers = 0;
    t->is_running = true;
    conns_bury(sv);
    if (db_begin(sv->db, &e) == 0) {
        take_messages(t);
        do_work(t);
        schedule(t);
        if (t->wants_pilots)
            pilots_wake(sv);
        t->wants_pilots = false;
        if (t->is_lost)
            e = t->why_lost;
        else
            is_committed = (t->version == t->saved_version ||
                            db_run(sv->db, &e, SQL_META_SET, "si", "version", t->version) >= 0) &&
                           db_commit(sv->db, &e) == 0;
    }
    settle_chores(t, is_committed);
    if (is_committed) {
        t->saved_version = t->version;
        effects_run(&t->effects, sv);
    } else {
        undo(t, &e);
    }
    t->is_running = false;
    subscribe_pump(sv);
    conns_settle(sv);
    took_ns = (int64_t)(uv_hrtime() - t->began_ns);
    t->turns++;
    if (took_ns > t->longest_ns)
        t->longest_ns = took_ns;
    if (took_ns >= (int64_t)LONG_TURN_MS * TURN_NS_PER_MS)
        log_event(LOG_DEBUG, "long-turn", "ms", "%lld", (long long)(took_ns / TURN_NS_PER_MS),
                  NULL);
}

static void on_check(uv_check_t *check)
{
    struct turn *t = check->data;
    struct conn *c;

    if (!t->is_awake)
        return;
    t->is_awake = false;
    run_turn(t);
    t->is_awake |= !is_paused(t) && (t->n_chores > 0 || (t->wants_schedule && !t->sv->is_leaving));
    for (c = conn_after(t->sv, 0); c != NULL && !t->is_awake; c = conn_after(t->sv, c->number))
        t->is_awake = conn_is_ready(c);
    if (!t->is_awake)
        uv_idle_stop(&t->idle);
}

/* ---- beginning and end ---- */

static void on_hour(uv_timer_t *timer)
{
    turn_add_work(timer->data, dispatch_forget_requests, 0);
    turn_add_work(timer->data, worker_rows_forget, 0);
}

struct turn *turn_create(struct server *sv, struct err *e)
{
    uv_loop_t *loop = &sv->loop;
    int64_t version = 0;
    struct turn *t;

    if (db_get(sv->db, e, SQL_META_GET, "s>i", "version", &version) < 0 || db_check(sv->db, e) < 0)
        return NULL;
    t = mem_alloc(sizeof *t);
    t->sv = sv;
    t->version = t->saved_version = version;
    t->now_ms = units_now_ms();
    t->ns_max = (uint64_t)TURN_MS_MAX * TURN_NS_PER_MS;
    t->arena = arena_create();
    t->n_handles = 5;
    t->idle.data = t->check.data = t->pause.data = t->hourly.data = t->later.data = t;
    uv_idle_init(loop, &t->idle);
    uv_check_init(loop, &t->check);
    uv_timer_init(loop, &t->pause);
    uv_timer_init(loop, &t->hourly);
    uv_timer_init(loop, &t->later);
    uv_check_start(&t->check, on_check);
    uv_timer_start(&t->hourly, on_hour, 0, FORGET_EVERY_MS);
    return t;
}

static void on_closed(uv_handle_t *handle)
{
    struct turn *t = handle->data;

    if (--t->n_handles == 0)
        free(t);
}

void turn_destroy(struct turn *t)
{
    if (t == NULL)
        return;
    effects_free(&t->effects);
    arena_destroy(t->arena);
    free(t->askers);
    free(t->chores);
    uv_close((uv_handle_t *)&t->idle, on_closed);
    uv_close((uv_handle_t *)&t->check, on_closed);
    uv_close((uv_handle_t *)&t->pause, on_closed);
    uv_close((uv_handle_t *)&t->hourly, on_closed);
    uv_close((uv_handle_t *)&t->later, on_closed);
}

struct turn_stats turn_stats(const struct turn *t)
{
    return (struct turn_stats){ t->turns, t->longest_ns };
}
