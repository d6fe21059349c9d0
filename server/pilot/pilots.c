/* SPDX-License-Identifier: MIT */
/* pilots.c - chooses the next step for pilots */

#include "server/pilot/pilots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/pilot/pilots_internal.h"

enum { THINK_EVERY_MS = 200, FORGET_EVERY_MS = 60 * 60 * 1000, CANCEL_MAX_BYTES = 8 * 1024 };

/* ---- waking ---- */

void pilots_wake(struct server *sv)
{
    struct pilots *p = sv->pilots;

    if (p != NULL && p->has_pools && !p->is_busy)
        pilots_think_at(p, p->thought_at_ms + THINK_EVERY_MS);
}

/* Whether to wait, as Slurm does not answer, or was asked too often for n_calls more. */
static bool has_to_wait(struct pilots *p, int64_t n_calls)
{
    int64_t now_ms = units_monotonic_ms();
    int64_t wait_ms = slurm_budget_wait_ms(&p->budget, n_calls, now_ms);

    if (p->away_ends_ms > now_ms)
        pilots_think_at(p, p->away_ends_ms);
    else if (wait_ms > 0)
        pilots_think_at(p, now_ms + wait_ms);
    return p->away_ends_ms > now_ms || wait_ms > 0;
}

/* Runs after the turn.  The answers are needed only once there are jobs, and may have come by then.
 * There must be tokens for all questions: one that is not asked would look as if Slurm were away,
 * or had no accounts.  One call more, as something else may begin after the same turn. */
static void begin_site(struct server *sv, int64_t unused)
{
    struct pilots *p = sv->pilots;

    (void)unused;
    if (site_is_old(p) && !sv->is_leaving && !has_to_wait(p, SITE_QUESTIONS + 1))
        site_ask(p);
}

void pilots_expect(struct server *sv)
{
    if (sv->pilots != NULL)
        turn_after(sv, begin_site, 0);
}

static void begin_with_pools(struct server *sv, int64_t unused)
{
    sv->pilots->has_pools = true;
    begin_site(sv, unused);
}

int pilots_take_pools(struct server *sv, const struct conn *c, int64_t sweep,
                      const struct list *pools, struct err *e)
{
    const struct slurm_pool *items = pools->items;

    for (size_t i = 0; i < pools->n; i++) {
        struct buf bytes = { 0 };
        int64_t id = 0;
        int rc;

        /* The same entry makes the same bytes, by which its pool is found again. */
        schema_encode(&slurm_pool_schema, &items[i], &bytes);
        rc = db_get(sv->db, e, SQL_POOL_TAKE, "isb>i", (int64_t)c->uid, c->user, buf_bytes(&bytes),
                    &id);
        buf_free(&bytes);
        if (rc < 0 || db_run(sv->db, e, SQL_POOL_TRY_AGAIN, "i", id) < 0 ||
            db_run(sv->db, e, SQL_POOL_TRY_GROWN, "i", id) < 0 ||
            db_run(sv->db, e, SQL_SWEEP_POOL_ADD, "ii", sweep, id) < 0)
            return -1;
        pilots_try_anew(sv, id);
    }
    if (pools->n > 0)
        turn_after(sv, begin_with_pools, 0);
    return 0;
}

static void let_go(struct server *sv, int64_t unused)
{
    (void)unused;
    sv->pilots->lets_go = true;
    pilots_wake(sv);
}

void pilots_let_go(struct server *sv)
{
    if (sv->pilots != NULL && sv->pilots->has_pools)
        turn_after(sv, let_go, 0);
}

void pilots_lost_sight(struct server *sv)
{
    if (sv->pilots == NULL || sv->is_leaving)
        return;
    pilots_look_in(sv->pilots, PILOTS_LOOK_FIRST_MS);
    pilots_wake(sv);
}

/* ---- the next look ---- */

static bool has_to_look(struct pilots *p)
{
    int64_t now_ms = units_monotonic_ms();
    bool is_any = false;

    for (size_t i = 0; i < p->rows.n && !is_any; i++)
        is_any = look_is_wanted(p, &p->rows.items[i]);
    if (!is_any) {
        p->look_at_ms = 0;
        return false;
    }
    if (p->look_at_ms == 0) {
        p->look_every_ms = p->look_every_ms == 0 ? PILOTS_LOOK_EVERY_MS : 2 * p->look_every_ms;
        if (p->look_every_ms > PILOTS_LOOK_SELDOM_MS)
            p->look_every_ms = PILOTS_LOOK_SELDOM_MS;
        p->look_at_ms = now_ms + (p->looked_at_ms == 0 ? PILOTS_LOOK_FIRST_MS : p->look_every_ms);
    }
    if (p->look_at_ms > now_ms)
        pilots_think_at(p, p->look_at_ms);
    return p->look_at_ms <= now_ms;
}

/* One that is needed, or was not ended just now. */
static const struct pilot_row *unsubmitted(const struct pilots *p, const struct demands *all)
{
    for (size_t i = 0; i < p->rows.n; i++) {
        const struct pilot_row *row = &p->rows.items[i];

        if (!row->was_asked && row->worker == 0 && submission_may_begin(p, row->uid) &&
            demand_in(all, row->pool) != NULL)
            return row;
    }
    return NULL;
}

/* ---- pilots without work ---- */

int cancel_unneeded(struct pilots *p, const struct demands *all, struct err *e)
{
    for (size_t i = 0; i < p->rows.n && p->cancel.n < CANCEL_MAX_BYTES; i++) {
        const struct pilot_row *row = &p->rows.items[i];
        bool is_first = i == 0 || !token_equal(&row[-1].token, &row->token), has_begun = false;

        if (row->worker != 0 || demand_in(all, row->pool) != NULL ||
            (row->was_asked && row->slurm_id == 0))
            continue;
        /* An array of which no task has begun is cancelled as a whole.  Its rows lie together. */
        for (size_t k = 0; k < p->rows.n; k++)
            has_begun |=
                p->rows.items[k].worker != 0 && token_equal(&p->rows.items[k].token, &row->token);
        if (row->slurm_id != 0 && has_begun)
            pilots_cancel(p, row, pilot_row_job(row, p->arena));
        else if (row->slurm_id != 0 && is_first)
            pilots_cancel(p, row, arena_printf(p->arena, "%" PRId64, row->slurm_id));
        if (pilot_row_end(p->sv, row->id, "there was nothing left for it to do", e) < 0)
            return -1;
    }
    return 0;
}

/* After a cancel: ends pilots that have begun and whose pools have no jobs left.  Otherwise such
 * pilots wait for more jobs as long as they may. */
static int retire_unneeded(struct pilots *p, struct err *e)
{
    for (size_t i = 0; i < p->rows.n && p->lets_go; i++) {
        const struct pilot_row *row = &p->rows.items[i];
        struct conn *c = row->worker == 0 ? NULL : conn_of_worker(p->sv, row->worker);
        int64_t one = 0;
        int rc = c == NULL ? 1 : db_get(p->sv->db, e, SQL_POOL_OPEN, "i>i", row->pool, &one);

        if (rc < 0)
            return -1;
        if (rc == 0)
            conn_retire(p->sv, c, "what it worked for was cancelled");
    }
    p->lets_go = false;
    return 0;
}

/* Removes from p->cancel the pilots of the first one's owner that the scancel named. */
static void forget_cancelled(struct pilots *p)
{
    const char *user = buf_text(&p->cancel), *at = user, *end = at + p->cancel.n;
    const char *asked_end = at + p->cancelling_bytes;
    struct buf left = { 0 };

    while (at < end) {
        const char *job = at + strlen(at) + 1, *next = job + strlen(job) + 1;

        if (at >= asked_end || strcmp(at, user) != 0)
            buf_add(&left, at, (size_t)(next - at));
        at = next;
    }
    buf_free(&p->cancel);
    p->cancel = left;
}

static void on_cancelled(void *context, struct slurm_result *result)
{
    struct pilots *p = context;

    p->call = NULL;
    if (slurm_failure_of(result) == SLURM_AWAY) {
        struct arena *a = arena_create();

        pilots_away(p, slurm_failure_words(result, a));
        arena_destroy(a);
    } else {
        forget_cancelled(p);
    }
    pilots_next(p);
}

/* Cancels the pilots in p->cancel that belong to the first one's owner, as that user alone: the ids
 * come from the owner's sbatch and pilots, which may have claimed the id of another user's job. */
static void cancel_begin(struct pilots *p)
{
    const char **jobs = arena_alloc(p->arena, (p->cancel.n + 1) * sizeof *jobs);
    const char *user = buf_text(&p->cancel), *at = user;
    struct slurm_command c = { .env = pilots_env(NULL, p->arena) };
    struct err e = { 0 };
    size_t n = 0;

    for (const char *end = at + p->cancel.n; at < end;) {
        const char *job = at + strlen(at) + 1;

        if (strcmp(at, user) == 0)
            jobs[n++] = arena_strdup(p->arena, job);
        at = job + strlen(job) + 1;
    }
    p->cancelling_bytes = p->cancel.n;
    c.args = slurm_scancel_args(user[0] != '\0' ? user : NULL, jobs, n, p->arena);
    if (pilots_call(p, &c, on_cancelled, p, &e) < 0) {
        pilots_away(p, e.text);
        pilots_next(p);
    }
}

/* ---- steps ---- */

enum { BEGIN_CANCEL, BEGIN_LOOK };

/* Runs after the turn, with p->rows as they are. */
static void begin_chosen(struct server *sv, int64_t what)
{
    struct pilots *p = sv->pilots;

    p->is_busy = true;
    if (what == BEGIN_CANCEL)
        cancel_begin(p);
    else
        look_begin(p);
}

/* Begins one step at most; returns 1 to be called again. */
static int choose_step(struct pilots *p, const struct demands *all, struct err *e)
{
    int64_t now_ms = units_monotonic_ms();
    const struct pilot_row *row;

    if (all->n == 0 && p->rows.n == 0 && p->cancel.n == 0)
        return 0;
    if (site_is_old(p))
        turn_after(p->sv, begin_site, 0);
    if (!site_is_known(p))
        return 0;
    if (p->forgotten_at_ms == 0 || now_ms - p->forgotten_at_ms >= (int64_t)FORGET_EVERY_MS) {
        p->forgotten_at_ms = now_ms;
        if (db_run(p->sv->db, e, SQL_PILOTS_FORGET, "i",
                   turn_now_ms(p->sv) - (int64_t)PILOTS_KEPT_MS) < 0)
            return -1;
    }
    if (cancel_unneeded(p, all, e) < 0 || retire_unneeded(p, e) < 0)
        return -1;
    row = unsubmitted(p, all);
    if (p->cancel.n > 0)
        turn_after(p->sv, begin_chosen, BEGIN_CANCEL);
    else if (row != NULL)
        return submission_begin(p, row, e) < 0 ? -1 : 1;
    else if (has_to_look(p))
        turn_after(p->sv, begin_chosen, BEGIN_LOOK);
    else
        return plan_more(p, all, e);
    return 0;
}

static int think(struct server *sv, int64_t unused, struct err *e)
{
    struct pilots *p = sv->pilots;
    struct demands all = { 0 };
    bool is_first = p->thought_at_ms == 0;
    int rc = -1;

    (void)unused;
    if (p->is_busy || sv->is_leaving)
        return 0;
    p->thought_at_ms = units_monotonic_ms();
    arena_reset(p->arena);
    if (pilot_rows_live(sv, p->arena, &p->rows, e) < 0 || pool_troubles_write(p, e) < 0)
        return -1;
    if (has_to_wait(p, 1))
        return 0;
    if (is_first) /* one that had pilots before it was started anew will have some */
        turn_after(sv, begin_site, 0);
    if (demands_read(sv, p->arena, &all, e) == 0)
        rc = choose_step(p, &all, e);
    demands_free(&all);
    return rc;
}

/* ---- beginning and end ---- */

/* most_of_pool of struct server. */
static int most_of_pool(struct server *sv, int64_t pool, int64_t *memory_bytes, int64_t *time_ms,
                        struct err *e)
{
    struct arena *a = arena_create();
    struct stmt *s = db_ask(sv->db, SQL_POOL_GET, "i", pool);
    struct slurm_pool spec = { 0 };
    int rc = stmt_step(s, e);

    if (rc == 1 && sv->pilots != NULL && site_is_known(sv->pilots) &&
        (rc = pool_read(stmt_bytes(s, 1), a, &spec, e)) == 0) {
        struct plan_partition there = site_partition(sv->pilots, stmt_text(s, 0), &spec);

        *memory_bytes = there.node.memory_bytes;
        if (there.max_time_ms > PILOT_MARGIN_MS + PLAN_START_MS)
            *time_ms = there.max_time_ms - PILOT_MARGIN_MS - PLAN_START_MS;
    }
    stmt_end(s);
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}

int64_t pilots_calls(struct server *sv)
{
    struct pilots *p = sv->pilots;

    return p == NULL || !p->has_pools ? SCHEMA_NONE
                                      : slurm_budget_last_hour(&p->budget, units_monotonic_ms());
}

struct pilots *pilots_create(struct server *sv, struct err *e)
{
    int64_t one = 0;
    int rc = db_get(sv->db, e, SQL_POOL_ANY, ">i", &one);
    struct pilots *p;

    if (rc < 0)
        return NULL;
    p = mem_alloc(sizeof *p);
    p->sv = sv;
    sv->most_of_pool = most_of_pool;
    p->think = think;
    p->has_pools = rc == 1;
    p->arena = arena_create();
    p->begun_at_ms = units_monotonic_ms();
    slurm_budget_begin(&p->budget, p->begun_at_ms);
    p->timer = mem_alloc(sizeof *p->timer);
    uv_timer_init(&sv->loop, p->timer);
    uv_unref((uv_handle_t *)p->timer);
    p->timer->data = p;
    if (p->has_pools)
        pilots_think_at(p, units_monotonic_ms());
    return p;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

void pilots_destroy(struct pilots *p)
{
    if (p == NULL)
        return;
    if (p->call != NULL)
        slurm_call_drop(p->call);
    submissions_drop(p);
    look_drop(p);
    reach_forget(p);
    site_forget(&p->site);
    site_forget(&p->coming);
    for (size_t i = 0; i < p->n_backoffs; i++)
        free(p->backoffs[i].why);
    free(p->backoffs);
    free(p->away_why);
    buf_free(&p->cancel);
    arena_destroy(p->arena);
    uv_close((uv_handle_t *)p->timer, on_closed);
    free(p);
}
