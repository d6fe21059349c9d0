/* SPDX-License-Identifier: MIT */
/* turn.c - the effects and the work of a turn, its clock and its counter */

#include "server/base/turn.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "server/base/server.h"
#include "server/base/turn_internal.h"

/* Either run is set (with argument), or give and drop (with context). */
struct effect {
    void (*run)(struct server *sv, int64_t argument);
    int64_t argument;
    void (*give)(struct server *sv, void *context);
    void (*drop)(void *context);
    void *context;
};

static void add_effect(struct server *sv, struct effect effect)
{
    struct turn *t = sv->turn;
    struct effects *l = &t->effects;

    mem_grow((void **)&l->items, &l->capacity, l->n, sizeof *l->items);
    l->items[l->n++] = effect;
    if (t->is_running)
        return;
    t->is_running = true;
    effects_run(l, sv);
    t->is_running = false;
}

void effects_drop(struct effects *l, size_t mark)
{
    while (l->n > mark) {
        struct effect *effect = &l->items[--l->n];

        if (effect->give != NULL)
            effect->drop(effect->context);
    }
}

/* Effects are taken by index and copied, as an effect that runs may add others to the list. */
void effects_run(struct effects *l, struct server *sv)
{
    while (l->n_begun < l->n) {
        struct effect effect = l->items[l->n_begun++];

        if (effect.give != NULL)
            effect.give(sv, effect.context);
        else
            effect.run(sv, effect.argument);
    }
    l->n = l->n_begun = 0;
}

void effects_free(struct effects *l)
{
    effects_drop(l, 0);
    free(l->items);
    *l = (struct effects){ 0 };
}

/* ---- waking ---- */

static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

void turn_wake(struct turn *t)
{
    t->is_awake = true;
    uv_idle_start(&t->idle, on_idle);
}

/* ---- functions for handlers ---- */

void turn_after(struct server *sv, void (*run)(struct server *sv, int64_t argument),
                int64_t argument)
{
    const struct effects *l = &sv->turn->effects;
    const struct effect *last = l->n > l->n_begun ? &l->items[l->n - 1] : NULL;

    if (last == NULL || last->run != run || last->argument != argument)
        add_effect(sv, (struct effect){ .run = run, .argument = argument });
}

void turn_after_with(struct server *sv, void (*run)(struct server *sv, void *context),
                     void (*drop)(void *context), void *context)
{
    add_effect(sv, (struct effect){ .give = run, .drop = drop, .context = context });
}

void turn_want_schedule(struct server *sv)
{
    sv->turn->wants_schedule = true;
    turn_wake(sv->turn);
}

static void on_later(uv_timer_t *timer)
{
    struct turn *t = timer->data;

    turn_want_schedule(t->sv);
}

void turn_want_schedule_in(struct server *sv, int64_t ms)
{
    uv_timer_t *timer = &sv->turn->later;
    uint64_t in_ms = ms > 0 ? (uint64_t)ms : 0;

    /* The loop's clock stands still while a turn runs; without this the timer would fire early. */
    uv_update_time(timer->loop);
    if (!uv_is_active((const uv_handle_t *)timer) || uv_timer_get_due_in(timer) > in_ms)
        uv_timer_start(timer, on_later, in_ms, 0);
}

void turn_want_pilots(struct server *sv)
{
    sv->turn->wants_pilots = true;
}

int64_t turn_next_version(struct server *sv)
{
    return ++sv->turn->version;
}

int64_t turn_version(const struct server *sv)
{
    return sv->turn->version;
}

int64_t turn_now_ms(const struct server *sv)
{
    return sv->turn->now_ms;
}

bool turn_is_full(const struct server *sv)
{
    const struct turn *t = sv->turn;

    return t->is_lost || db_changes(sv->db) - t->changes_before >= TURN_ROWS_MAX ||
           uv_hrtime() - t->began_ns >= t->ns_max;
}

int turn_step(struct server *sv, turn_step_fn run, void *context, struct err *e)
{
    struct turn *t = sv->turn;
    size_t mark = t->effects.n;
    int rc;

    if (db_savepoint(sv->db, e) < 0)
        return -1;
    rc = run(sv, context, e);
    if (rc >= 0 && db_release(sv->db, e) < 0)
        rc = -1;
    if (rc >= 0)
        return rc;
    db_rollback_to(sv->db);
    effects_drop(&t->effects, mark);
    if (!db_is_in_transaction(sv->db) && !t->is_lost) {
        t->is_lost = true;
        t->why_lost = *e;
    }
    return -1;
}

/* ---- ludwigd's own work ---- */

void turn_add_work(struct turn *t, turn_work_fn run, int64_t key)
{
    turn_wake(t);
    for (size_t i = 0; i < t->n_chores; i++)
        if (t->chores[i].run == run && t->chores[i].key == key) {
            t->chores[i].is_done = false;
            return;
        }
    mem_grow((void **)&t->chores, &t->chores_capacity, t->n_chores, sizeof *t->chores);
    t->chores[t->n_chores++] = (struct chore){ .run = run, .key = key };
}

bool turn_has_work(const struct turn *t, turn_work_fn run, int64_t key)
{
    for (size_t i = 0; i < t->n_chores; i++)
        if (t->chores[i].run == run && t->chores[i].key == key && !t->chores[i].is_done)
            return true;
    return false;
}
