/* SPDX-License-Identifier: MIT */
/* pilot_calls.c - runs Slurm commands about pilots, backs off when they fail, wakes pilots.c */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/pilot/pilots_internal.h"

enum {
    AWAY_FIRST_MS = 5 * 1000,
    AWAY_MAX_MS = 5 * 60 * 1000,
    BACKOFF_FIRST_MS = 15 * 1000,
    BACKOFF_MAX_MS = 30 * 60 * 1000
};

/* ---- calls ---- */

struct slurm_call *pilots_run(struct pilots *p, const struct slurm_command *command,
                              slurm_done_fn done, void *context, struct err *e)
{
    struct slurm_call *call = slurm_call_begin(&p->sv->loop, command, done, context, e);

    if (call == NULL && e->kind == ERR_NOT_FOUND)
        err_set(e, ERR_NOT_FOUND,
                "there is no %s in ludwigd's PATH, which has to have Slurm's commands",
                command->args[0]);
    return call;
}

struct slurm_call *pilots_begin(struct pilots *p, const struct slurm_command *command,
                                slurm_done_fn done, void *context, struct err *e)
{
    if (slurm_budget_take(&p->budget, units_monotonic_ms()))
        return pilots_run(p, command, done, context, e);
    err_set(e, ERR_BUSY, "no more commands of Slurm's for now");
    return NULL;
}

int pilots_call(struct pilots *p, const struct slurm_command *command, slurm_done_fn done,
                void *context, struct err *e)
{
    p->call = pilots_begin(p, command, done, context, e);
    return p->call == NULL ? -1 : 0;
}

static const char *or_else(const char *text, const char *other)
{
    return text != NULL && text[0] != '\0' ? text : other;
}

char **pilots_env(const struct slurm_user *user, struct arena *a)
{
    const struct slurm_user own = { or_else(getenv("USER"), "ludwig"), or_else(getenv("HOME"), "/"),
                                    "/bin/sh" };
    const char *path = or_else(getenv("PATH"), "/usr/bin:/bin"), *conf = getenv("SLURM_CONF");

    return slurm_env(user != NULL ? user : &own, path, conf, user == NULL, a);
}

static void look_at(struct pilots *p, int64_t at_ms, int64_t apart_ms)
{
    int64_t soonest_ms = p->looked_at_ms + apart_ms;

    if (p->looked_at_ms > 0 && at_ms < soonest_ms)
        at_ms = soonest_ms;
    if (p->look_at_ms == 0 || at_ms < p->look_at_ms)
        p->look_at_ms = at_ms;
    p->look_every_ms = 0;
}

void pilots_look_in(struct pilots *p, int64_t ms)
{
    look_at(p, units_monotonic_ms() + ms, PILOTS_LOOK_EVERY_MS);
}

void pilots_look_soon(struct pilots *p)
{
    look_at(p, units_monotonic_ms() + PILOTS_LOOK_FIRST_MS, PILOTS_LOOK_FIRST_MS);
}

/* ---- when ---- */

void pilots_think(struct pilots *p)
{
    turn_add_work(p->sv->turn, p->think, 0);
}

static void on_timer(uv_timer_t *timer)
{
    pilots_think(timer->data);
}

void pilots_think_at(struct pilots *p, int64_t at_ms)
{
    int64_t in_ms = at_ms - units_monotonic_ms();
    uint64_t wait_ms = in_ms > 0 ? (uint64_t)in_ms : 0;

    if (!uv_is_active((uv_handle_t *)p->timer) || uv_timer_get_due_in(p->timer) > wait_ms)
        uv_timer_start(p->timer, on_timer, wait_ms, 0);
}

void pilots_next(struct pilots *p)
{
    p->is_busy = false;
    pilots_think(p);
}

void pilots_cancel(struct pilots *p, const struct pilot_row *row, const char *job)
{
    const char *user = row->uid == geteuid() ? "" : row->user;

    buf_add(&p->cancel, user, strlen(user) + 1);
    buf_add(&p->cancel, job, strlen(job) + 1);
}

/* ---- what failed is tried again, later each time ---- */

static int64_t longer(int64_t first_ms, int64_t failures, int64_t max_ms)
{
    int64_t ms = failures < 16 ? first_ms << failures : max_ms;

    return ms < max_ms ? ms : max_ms;
}

void pilots_away(struct pilots *p, const char *why)
{
    free(p->away_why);
    p->away_why = NULL;
    if (why == NULL) {
        p->away_failures = p->away_ends_ms = 0;
        return;
    }
    p->away_why = mem_strdup(why);
    p->away_ends_ms = units_monotonic_ms() + longer(AWAY_FIRST_MS, p->away_failures++, AWAY_MAX_MS);
    log_event(LOG_WARN, "slurm-away", "why", "%s", why, NULL);
}

bool pilots_are_all_away(enum slurm_failure failure, bool was_run, bool is_own)
{
    return was_run && is_own && (failure == SLURM_AWAY || failure == SLURM_NOT_HERE);
}

struct backoff *pilots_find_backoff(struct pilots *p, int64_t pool)
{
    for (size_t i = 0; i < p->n_backoffs; i++)
        if (p->backoffs[i].pool == pool)
            return &p->backoffs[i];
    return NULL;
}

void pilots_back_off(struct pilots *p, int64_t pool, bool has_died, const char *why)
{
    int64_t now_ms = units_monotonic_ms();
    struct backoff *r = pilots_find_backoff(p, pool);

    if (r == NULL) {
        mem_grow((void **)&p->backoffs, &p->backoffs_capacity, p->n_backoffs, sizeof *p->backoffs);
        r = &p->backoffs[p->n_backoffs++];
        *r = (struct backoff){ .pool = pool };
    }
    free(r->why);
    r->why = mem_strdup(why);
    r->has_died = has_died;
    r->most = 0;
    if (r->ends_ms <= now_ms) /* the other pilots of its array count as the same failure */
        r->ends_ms = now_ms + longer(BACKOFF_FIRST_MS, r->failures++, BACKOFF_MAX_MS);
}

/* Counts the user's pilots, except those with the token `but` (NULL: no exception). */
static int64_t count_of(const struct pilots *p, uid_t uid, const struct token *but)
{
    int64_t n = 0;

    for (size_t i = 0; i < p->rows.n; i++)
        n += p->rows.items[i].uid == uid &&
             (but == NULL || !token_equal(&p->rows.items[i].token, but));
    return n;
}

void pilots_full(struct pilots *p, const struct pilot_row *row, const char *why)
{
    struct backoff *r;

    pilots_back_off(p, row->pool, false, why);
    r = pilots_find_backoff(p, row->pool);
    r->most = row->tasks > 1 ? row->tasks / 2 : 1;
    r->n_there = count_of(p, row->uid, &row->token);
}

bool pilots_is_backing_off(struct pilots *p, int64_t pool, uid_t uid)
{
    struct backoff *r = pilots_find_backoff(p, pool);

    if (r == NULL)
        return false;
    if (r->most > 0 && count_of(p, uid, NULL) < r->n_there)
        r->ends_ms = r->failures = 0;
    if (r->ends_ms <= units_monotonic_ms())
        return false;
    pilots_think_at(p, r->ends_ms);
    return true;
}

static void forget(struct pilots *p, struct backoff *r)
{
    free(r->why);
    *r = p->backoffs[--p->n_backoffs];
}

/* If accepted pilots died before, this one may die, too: the back-off stays. */
void pilots_submitted(struct pilots *p, int64_t pool)
{
    struct backoff *r = pilots_find_backoff(p, pool);

    if (r != NULL && !r->has_died)
        forget(p, r);
}

void pilots_try_anew(struct server *sv, int64_t pool)
{
    struct backoff *r = sv->pilots == NULL ? NULL : pilots_find_backoff(sv->pilots, pool);

    if (r != NULL)
        forget(sv->pilots, r);
}
