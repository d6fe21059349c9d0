/* SPDX-License-Identifier: MIT */
/* pilots.c - what is to be done next about pilots */

#include "server/pilots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "server/info.h"
#include "server/pilot.h"
#include "server/pilot_parts.h"

enum {
    THINK_EVERY_MS = 200,
    SITE_KEPT_MS = 60 * 60 * 1000,
    AWAY_FIRST_MS = 5 * 1000,
    AWAY_MAX_MS = 5 * 60 * 1000,
    REST_FIRST_MS = 15 * 1000,
    REST_MAX_MS = 30 * 60 * 1000,
    ARRAY_MAX = 1000,
    CANCEL_MAX_BYTES = 8 * 1024
};

/* ---- calls ---- */

int pilots_call(struct pilots *p, const struct pilots_command *c, slurm_done_fn done, void *context,
                struct err *e)
{
    const struct slurm_command command = { .args = c->args,
                                           .env = c->env,
                                           .rights = c->rights,
                                           .input = c->input,
                                           .input_n = c->input == NULL ? 0 : strlen(c->input),
                                           .timeout_ms = PILOTS_CALL_MS,
                                           .output_max_bytes = SLURM_OUTPUT_MAX_BYTES };

    if (!slurm_budget_take(&p->budget, units_monotonic_ms()))
        return err_set(e, ERR_BUSY, "no more commands of Slurm's for now");
    p->call = slurm_call_begin(&p->sv->loop, &command, done, context, e);
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

    return user != NULL ? slurm_env(user, path, conf, a) : slurm_reader_env(&own, path, conf, a);
}

/* ---- back-off ---- */

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

static struct rest *find_rest(struct pilots *p, int64_t pool)
{
    for (size_t i = 0; i < p->n_rests; i++)
        if (p->rests[i].pool == pool)
            return &p->rests[i];
    return NULL;
}

void pilots_rest(struct pilots *p, int64_t pool, const char *why)
{
    struct rest *r = find_rest(p, pool);

    if (r == NULL) {
        mem_grow((void **)&p->rests, &p->rests_capacity, p->n_rests, sizeof *p->rests);
        r = &p->rests[p->n_rests++];
        *r = (struct rest){ .pool = pool };
    }
    free(r->why);
    r->why = mem_strdup(why);
    r->ends_ms = units_monotonic_ms() + longer(REST_FIRST_MS, r->failures++, REST_MAX_MS);
}

void pilots_rested(struct pilots *p, int64_t pool)
{
    struct rest *r = find_rest(p, pool);

    if (r == NULL)
        return;
    free(r->why);
    *r = p->rests[--p->n_rests];
}

void pilots_cancel(struct pilots *p, const char *job)
{
    if (p->cancel.n < CANCEL_MAX_BYTES)
        buf_add(&p->cancel, job, strlen(job) + 1);
}

void pilots_look_in(struct pilots *p, int64_t ms)
{
    int64_t at_ms = units_monotonic_ms() + ms, soonest_ms = p->looked_at_ms + PILOTS_LOOK_EVERY_MS;

    if (p->looked_at_ms > 0 && at_ms < soonest_ms)
        at_ms = soonest_ms;
    if (p->look_at_ms == 0 || at_ms < p->look_at_ms)
        p->look_at_ms = at_ms;
    p->look_every_ms = 0;
}

/* ---- when ---- */

static int think(struct server *sv, int64_t unused, struct err *e);

static void on_timer(uv_timer_t *timer)
{
    struct pilots *p = timer->data;

    turn_add_work(p->sv->turn, think, 0);
}

/* At that time, if not sooner. */
static void think_at(struct pilots *p, int64_t at_ms)
{
    int64_t in_ms = at_ms - units_monotonic_ms();
    uint64_t wait_ms = in_ms > 0 ? (uint64_t)in_ms : 0;

    if (!uv_is_active((uv_handle_t *)p->timer) || uv_timer_get_due_in(p->timer) > wait_ms)
        uv_timer_start(p->timer, on_timer, wait_ms, 0);
}

void pilots_next(struct pilots *p)
{
    p->is_busy = false;
    turn_add_work(p->sv->turn, think, 0);
}

void pilots_wake(struct server *sv)
{
    struct pilots *p = sv->pilots;

    if (p != NULL && p->has_pools && !p->is_busy)
        think_at(p, p->thought_at_ms + THINK_EVERY_MS);
}

static void begin_with_pools(struct server *sv, int64_t unused)
{
    (void)unused;
    sv->pilots->has_pools = true;
    pilots_wake(sv);
}

void pilots_have_pools(struct server *sv)
{
    turn_after(sv, begin_with_pools, 0);
}

void pilots_lost_sight(struct server *sv)
{
    if (sv->pilots == NULL || sv->is_leaving)
        return;
    pilots_look_in(sv->pilots, PILOTS_LOOK_FIRST_MS);
    pilots_wake(sv);
}

/* ---- what waits ---- */

struct pool_demand {
    int64_t pool;
    uid_t uid;
    const char *user, *project;
    struct slurm_pool spec;
    struct plan_demand *items;
    size_t n, capacity;
};

struct demands {
    struct pool_demand *items;
    size_t n, capacity;
};

static void demands_free(struct demands *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->items[i].items);
    free(d->items);
}

static int demand_pool(struct demands *to, struct stmt *s, struct arena *a,
                       struct pool_demand **pool, struct err *e)
{
    if (to->n > 0 && to->items[to->n - 1].pool == stmt_int(s, 0)) {
        *pool = &to->items[to->n - 1];
        return 0;
    }
    mem_grow((void **)&to->items, &to->capacity, to->n, sizeof *to->items);
    *pool = &to->items[to->n++];
    **pool = (struct pool_demand){ .pool = stmt_int(s, 0),
                                   .uid = (uid_t)stmt_int(s, 1),
                                   .user = arena_strdup(a, stmt_text(s, 2)),
                                   .project = arena_strdup(a, stmt_text(s, 5)) };
    return pool_read(stmt_bytes(s, 3), a, &(*pool)->spec, e);
}

static int64_t at_least(int64_t number, int64_t least)
{
    return number > least ? number : least;
}

/* None has ended: that they are long is known once they are; 0: it is not. */
static int64_t known_by_now_ms(int64_t runs_since, int64_t now_ms)
{
    int64_t ran_ms = runs_since > 0 ? now_ms - runs_since : 0;

    return ran_ms >= PLAN_SLOT_MS ? ran_ms : 0;
}

static struct plan_demand demand_of(struct stmt *s, int64_t now_ms)
{
    int64_t batch = at_least(stmt_int(s, 7), 1), runs_since = stmt_int(s, 14);
    struct pilot_need need = { stmt_int(s, 11),
                               batch * info_mean_ms(stmt_int(s, 12), stmt_int(s, 13)) };

    return (struct plan_demand){
        .jobs = (stmt_int(s, 6) + batch - 1) / batch,
        .size = { stmt_int(s, 8), stmt_int(s, 9), stmt_int(s, 10) },
        .need_ms = pilot_need_ms(&need),
        .takes_ms = need.mean_ms > 0 ? need.mean_ms : known_by_now_ms(runs_since, now_ms),
    };
}

static int demands_read(struct server *sv, struct arena *a, struct demands *to, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_POOL_DEMAND, "");
    struct pool_demand *pool;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        rc = demand_pool(to, s, a, &pool, e);
        if (rc < 0)
            break;
        mem_grow((void **)&pool->items, &pool->capacity, pool->n, sizeof *pool->items);
        pool->items[pool->n++] = demand_of(s, turn_now_ms(sv));
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static const struct pool_demand *demand_in(const struct demands *d, int64_t pool)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].pool == pool)
            return &d->items[i];
    return NULL;
}

/* ---- more pilots ---- */

static bool is_retiring(struct server *sv, const struct pilot_row *row)
{
    const struct conn *c = row->worker == 0 ? NULL : conn_of_worker(sv, row->worker);

    return c != NULL && c->is_retiring;
}

/* How many more that user may have in that partition. */
static int64_t most_more(const struct pilots *p, const struct pool_demand *d)
{
    const struct slurm_site *site = conf_slurm_site(&p->sv->conf, d->spec.partition);
    int64_t most = p->site.config.max_array_size > 1 ? p->site.config.max_array_size : ARRAY_MAX;
    int64_t n = 0;

    most = most < ARRAY_MAX ? most : ARRAY_MAX;
    for (size_t i = 0; i < p->rows.n; i++)
        n += p->rows.items[i].uid == d->uid &&
             strcmp(p->rows.items[i].spec.partition, d->spec.partition) == 0;
    if (site != NULL && site->max_pilots > 0 && most > site->max_pilots - n)
        most = site->max_pilots - n;
    return most > 0 ? most : 0;
}

static struct plan_order plan_for(struct pilots *p, const struct pool_demand *d)
{
    struct plan_pilot *pilots = arena_alloc(p->arena, (p->rows.n + 1) * sizeof *pilots);
    struct plan_pool pool = { .demands = d->items,
                              .n_demands = d->n,
                              .pilots = pilots,
                              .partition = site_partition(&p->site, &d->spec),
                              .most = most_more(p, d) };

    for (size_t i = 0; i < p->rows.n; i++) {
        const struct pilot_row *row = &p->rows.items[i];

        if (row->pool == d->pool && !is_retiring(p->sv, row))
            pilots[pool.n_pilots++] =
                (struct plan_pilot){ { 1000 * row->cpus, 1000 * row->gpus, row->memory_bytes },
                                     row->worker == 0 };
    }
    return pilot_plan(&pool);
}

static int64_t whole(int64_t milli)
{
    return (milli + 999) / 1000;
}

static int add_pilots(struct pilots *p, const struct pool_demand *d, const struct plan_order *o,
                      struct err *e)
{
    char token_text[TOKEN_HEX];
    struct token token;
    const char *name, *comment;

    token_make(&token);
    token_hex(&token, token_text);
    name = arena_printf(p->arena, "ludwig-%.8s", token_text);
    comment = arena_printf(p->arena, "ludwig %s", p->sv->server_id);
    for (int64_t i = 0; i < o->n; i++)
        if (db_run(p->sv->db, e, SQL_PILOT_ADD, "itiisssiiiiii", d->pool, &token, i, o->n, name,
                   comment, d->project, at_least(whole(o->size.cpus_milli), 1),
                   whole(o->size.gpus_milli), o->size.memory_bytes, o->time_ms,
                   (int64_t)PILOT_UNCLEAR, turn_now_ms(p->sv)) < 0)
            return -1;
    return 0;
}

/* 1 when some were added: think again, and submit them. */
static int plan_more(struct pilots *p, const struct demands *all, struct err *e)
{
    int n = 0;

    for (size_t i = 0; i < all->n; i++) {
        const struct pool_demand *d = &all->items[i];
        const struct rest *rest = find_rest(p, d->pool);
        struct plan_order order;

        if (rest != NULL && rest->ends_ms > units_monotonic_ms()) {
            think_at(p, rest->ends_ms);
            continue;
        }
        order = plan_for(p, d);
        if (order.n > 0 && add_pilots(p, d, &order, e) < 0)
            return -1;
        n += order.n > 0;
    }
    return n > 0;
}

/* ---- those that nobody needs ---- */

/* It has not begun, and there is nothing left for it. */
static int drop_unneeded(struct pilots *p, const struct demands *all, struct err *e)
{
    for (size_t i = 0; i < p->rows.n; i++) {
        const struct pilot_row *row = &p->rows.items[i];

        if (row->worker != 0 || demand_in(all, row->pool) != NULL ||
            (row->was_asked && row->slurm_id == 0))
            continue;
        if (row->slurm_id != 0)
            pilots_cancel(p, pilot_row_job(row, p->arena));
        if (pilot_row_end(p->sv, row->id, "there was nothing left for it to do", e) < 0)
            return -1;
    }
    return 0;
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
        buf_clear(&p->cancel);
    }
    pilots_next(p);
}

static void cancel_begin(struct pilots *p)
{
    const char **jobs = arena_alloc(p->arena, (p->cancel.n + 1) * sizeof *jobs);
    const char *at = buf_text(&p->cancel);
    struct pilots_command c = { .env = pilots_env(NULL, p->arena) };
    struct err e = { 0 };
    size_t n = 0;

    for (const char *end = at + p->cancel.n; at < end; at += strlen(at) + 1)
        jobs[n++] = arena_strdup(p->arena, at);
    c.args = slurm_scancel_args(jobs, n, p->arena);
    if (pilots_call(p, &c, on_cancelled, p, &e) < 0) {
        pilots_away(p, e.text);
        pilots_next(p);
    }
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
        think_at(p, p->look_at_ms);
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
static void begin_site(struct server *sv, int64_t unused)
{
    (void)unused;
    sv->pilots->is_busy = true;
    site_ask(sv->pilots);
}

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

static bool is_site_old(const struct pilots *p)
{
    return p->site.arena == NULL ||
           units_monotonic_ms() - p->site.asked_at_ms > (int64_t)SITE_KEPT_MS;
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
    if (is_site_old(p)) {
        turn_after(p->sv, begin_site, 0);
        return 0;
    }
    if (drop_unneeded(p, all, e) < 0)
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
        think_at(p, p->away_ends_ms);
    else if (wait_ms > 0)
        think_at(p, now_ms + wait_ms);
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
    p->thought_at_ms = units_monotonic_ms();
    arena_reset(p->arena);
    if (pilot_rows_live(sv, p->arena, &p->rows, e) == 0 && demands_read(sv, p->arena, &all, e) == 0)
        rc = choose(p, &all, e);
    demands_free(&all);
    return rc;
}

/* ---- beginning and end ---- */

const char *pilots_trouble(struct server *sv, int64_t pool, struct arena *a)
{
    int64_t now_ms = units_monotonic_ms();
    const struct rest *rest = find_rest(sv->pilots, pool);

    if (sv->pilots->away_why != NULL)
        return arena_printf(a, "Slurm does not answer, and is asked again: %s",
                            sv->pilots->away_why);
    if (rest != NULL && rest->ends_ms > now_ms)
        return arena_printf(a, "the last one %s; the next is submitted in %" PRId64 " s", rest->why,
                            (rest->ends_ms - now_ms + 999) / 1000);
    return NULL;
}

int64_t pilots_default_time_ms(const struct server *sv, const struct slurm_pool *pool)
{
    struct plan_partition partition = site_partition(&sv->pilots->site, pool);

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
    int rc = db_get_int(sv->db, e, &one, SQL_POOL_ANY, "");
    struct pilots *p;

    if (rc < 0)
        return NULL;
    p = mem_alloc(sizeof *p);
    p->sv = sv;
    p->has_pools = rc == 1;
    p->arena = arena_create();
    slurm_budget_begin(&p->budget, units_monotonic_ms());
    p->timer = mem_alloc(sizeof *p->timer);
    uv_timer_init(&sv->loop, p->timer);
    uv_unref((uv_handle_t *)p->timer);
    p->timer->data = p;
    if (p->has_pools)
        think_at(p, units_monotonic_ms());
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
        aside_drop(p->aside);
    submission_drop(p);
    look_drop(p);
    site_forget(&p->site);
    for (size_t i = 0; i < p->n_rests; i++)
        free(p->rests[i].why);
    free(p->rests);
    free(p->away_why);
    buf_free(&p->cancel);
    arena_destroy(p->arena);
    uv_close((uv_handle_t *)p->timer, on_closed);
    free(p);
}
