/* SPDX-License-Identifier: MIT */
/* pilots.c - what is to be done next about pilots */

#include "server/pilot/pilots.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/pilot/pilots_internal.h"

enum { THINK_EVERY_MS = 200, FORGET_EVERY_MS = 60 * 60 * 1000 };

/* ---- when ---- */

void pilots_wake(struct server *sv)
{
    struct pilots *p = sv->pilots;

    if (p != NULL && p->has_pools && !p->is_busy)
        pilots_think_at(p, p->thought_at_ms + THINK_EVERY_MS);
}

static bool has_to_wait(struct pilots *p);

/* That there is too little for half of the questions does not mean that Slurm is away, nor that there
 * are no accounts: later.  One more, as something else may begin after the same turn. */
static bool can_ask_all(struct pilots *p)
{
    int64_t now_ms = units_monotonic_ms();
    int64_t wait_ms = slurm_budget_wait_for_ms(&p->budget, SITE_QUESTIONS + 1, now_ms);

    if (wait_ms > 0)
        pilots_think_at(p, now_ms + wait_ms);
    return wait_ms == 0;
}

/* What runs after the turn.  Nobody needs it before there are jobs: by then it may have come. */
static void begin_site(struct server *sv, int64_t unused)
{
    struct pilots *p = sv->pilots;

    (void)unused;
    if (site_is_old(p) && !sv->is_leaving && !has_to_wait(p) && can_ask_all(p))
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

/* The same entry makes the same bytes, which is how it is known again. */
static int pool_take(struct server *sv, const struct conn *c, const struct slurm_pool *pool,
                     int64_t *id, struct err *e)
{
    struct buf bytes = { 0 };
    int rc;

    schema_encode(&slurm_pool_schema, pool, &bytes);
    rc = db_get(sv->db, e, SQL_POOL_TAKE, "isb>i", (int64_t)c->uid, c->user, buf_bytes(&bytes), id);
    buf_free(&bytes);
    return rc < 0 ? -1 : 0;
}

int pilots_take_pools(struct server *sv, const struct conn *c, int64_t sweep,
                      const struct list *pools, struct err *e)
{
    const struct slurm_pool *items = pools->items;

    for (size_t i = 0; i < pools->n; i++) {
        int64_t id = 0;

        if (pool_take(sv, c, &items[i], &id, e) < 0 ||
            db_run(sv->db, e, SQL_POOL_TRY_AGAIN, "i", id) < 0 ||
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

/* ---- what is next ---- */

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

static const struct pilot_row *unsubmitted(const struct pilots *p)
{
    for (size_t i = 0; i < p->rows.n; i++)
        if (!p->rows.items[i].was_asked && p->rows.items[i].worker == 0)
            return &p->rows.items[i];
    return NULL;
}

/* What runs after the turn, with p->rows as they are. */
static void begin_cancel(struct server *sv, int64_t unused)
{
    (void)unused;
    sv->pilots->is_busy = true;
    cancel_begin(sv->pilots);
}

static void begin_submission(struct server *sv, int64_t unused)
{
    const struct pilot_row *row = unsubmitted(sv->pilots);

    (void)unused;
    sv->pilots->is_busy = true;
    submission_begin(sv->pilots, row);
}

static void begin_look(struct server *sv, int64_t unused)
{
    (void)unused;
    sv->pilots->is_busy = true;
    look_begin(sv->pilots);
}

/* The rows of those that have ended long ago. */
static int forget_old(struct pilots *p, struct err *e)
{
    int64_t now_ms = units_monotonic_ms();

    if (p->forgotten_at_ms > 0 && now_ms - p->forgotten_at_ms < (int64_t)FORGET_EVERY_MS)
        return 0;
    p->forgotten_at_ms = now_ms;
    return db_run(p->sv->db, e, SQL_PILOTS_FORGET, "i",
                  turn_now_ms(p->sv) - (int64_t)PILOTS_KEPT_MS);
}

/* The plan of one that is not root submits its own user's pilots alone, and so on: pilot_submit.c. */
static int submit(struct pilots *p, const struct pilot_row *row, struct err *e)
{
    if (db_run(p->sv->db, e, SQL_PILOTS_ASKED, "t", &row->token) < 0)
        return -1;
    turn_after(p->sv, begin_submission, 0);
    return 0;
}

/* One thing at most is begun; 1: it is to be called again. */
static int choose(struct pilots *p, const struct demands *all, struct err *e)
{
    const struct pilot_row *row;

    if (all->n == 0 && p->rows.n == 0 && p->cancel.n == 0)
        return 0;
    if (site_is_old(p))
        turn_after(p->sv, begin_site, 0);
    if (!site_is_known(p))
        return 0;
    if (forget_old(p, e) < 0)
        return -1;
    if (cancel_unneeded(p, all, e) < 0 || retire_unneeded(p, e) < 0)
        return -1;
    if (p->cancel.n > 0) {
        turn_after(p->sv, begin_cancel, 0);
        return 0;
    }
    row = unsubmitted(p);
    if (row != NULL)
        return submit(p, row, e);
    if (has_to_look(p)) {
        turn_after(p->sv, begin_look, 0);
        return 0;
    }
    return plan_more(p, all, e);
}

/* Slurm does not answer, or was asked too often: later. */
static bool has_to_wait(struct pilots *p)
{
    int64_t now_ms = units_monotonic_ms();
    int64_t wait_ms = slurm_budget_wait_ms(&p->budget, now_ms);

    if (p->away_ends_ms > now_ms)
        pilots_think_at(p, p->away_ends_ms);
    else if (wait_ms > 0)
        pilots_think_at(p, now_ms + wait_ms);
    return p->away_ends_ms > now_ms || wait_ms > 0;
}

static int think(struct server *sv, int64_t unused, struct err *e)
{
    struct pilots *p = sv->pilots;
    struct demands all = { 0 };
    int rc = -1;

    (void)unused;
    if (p->is_busy || sv->is_leaving || has_to_wait(p))
        return 0;
    if (p->thought_at_ms == 0) /* one that had pilots before it was started anew will have some */
        turn_after(sv, begin_site, 0);
    p->thought_at_ms = units_monotonic_ms();
    arena_reset(p->arena);
    if (pilot_rows_live(sv, p->arena, &p->rows, e) == 0 && demands_read(sv, p->arena, &all, e) == 0)
        rc = choose(p, &all, e);
    demands_free(&all);
    return rc;
}

/* ---- beginning and end ---- */

static const char *when(int64_t in_ms, struct arena *a)
{
    return in_ms <= 0 ? "now" : arena_printf(a, "in %" PRId64 " s", (in_ms + 999) / 1000);
}

/* What the site's own configuration allows; NULL: more. */
static const char *site_limit(const struct pilots *p, const struct pilot_owner *of, int64_t n,
                              struct arena *a)
{
    const struct slurm_site *site = conf_slurm_site(&p->sv->conf, of->spec->partition);

    if (site == NULL || site->max_pilots == 0 || n < site->max_pilots)
        return NULL;
    return arena_printf(a,
                        "%s has %" PRId64
                        " pilot%s there, and may have no more (max_pilots: %" PRId64
                        "): others come when these have ended",
                        of->user, n, n == 1 ? "" : "s", site->max_pilots);
}

const char *pilots_limit(struct server *sv, const struct pilot_owner *of, struct arena *a)
{
    const struct pilots *p = sv->pilots;
    const struct pilots_there n = pilots_there(p, of);
    const char *own = site_limit(p, of, n.of_partition, a);
    const struct pilot_limits limits = site_limits(p, of->user, of->spec, a);

    if (own != NULL)
        return own;
    if (limits.submit != SLURM_NONE && n.of_account >= limits.submit)
        return arena_printf(a,
                            "%s has %" PRId64 " pilot%s, and may have no more (%s=%" PRId64
                            "): others come when these have ended",
                            of->user, n.of_account, n.of_account == 1 ? "" : "s",
                            limits.submit_what, limits.submit);
    if (limits.run != SLURM_NONE && n.of_pool >= limits.run)
        return arena_printf(a,
                            "no more than %" PRId64 " pilot%s of %s can run at once (%s): others "
                            "come when these have ended",
                            limits.run, limits.run == 1 ? "" : "s", of->user, limits.run_what);
    return NULL;
}

const char *pilots_trouble(struct server *sv, int64_t pool, struct arena *a)
{
    int64_t now_ms = units_monotonic_ms();
    const struct rest *rest = pilots_resting(sv->pilots, pool);

    if (sv->pilots->away_why != NULL)
        return arena_printf(a, "Slurm cannot be asked, which is tried again %s: %s",
                            when(sv->pilots->away_ends_ms - now_ms, a), sv->pilots->away_why);
    if (!site_is_known(sv->pilots))
        return "Slurm is being asked what there is";
    if (rest != NULL && rest->ends_ms > now_ms)
        return arena_printf(a, "the last one %s; the next is submitted %s", rest->why,
                            when(rest->ends_ms - now_ms, a));
    return rest == NULL ? NULL : arena_printf(a, "the last one %s", rest->why);
}

int64_t pilots_default_time_ms(const struct server *sv, const char *user,
                               const struct slurm_pool *pool)
{
    struct plan_partition partition = site_partition(sv->pilots, user, pool);

    return partition.default_time_ms > 0 ? partition.default_time_ms : partition.max_time_ms;
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
    p->think = think;
    p->has_pools = rc == 1;
    p->arena = arena_create();
    slurm_budget_begin(&p->budget, units_monotonic_ms());
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
    if (p->aside != NULL)
        thread_task_drop(p->aside);
    submission_drop(p);
    look_drop(p);
    reach_forget(p);
    site_forget(&p->site);
    site_forget(&p->coming);
    for (size_t i = 0; i < p->n_rests; i++)
        free(p->rests[i].why);
    free(p->rests);
    free(p->away_why);
    buf_free(&p->cancel);
    arena_destroy(p->arena);
    uv_close((uv_handle_t *)p->timer, on_closed);
    free(p);
}
