/* SPDX-License-Identifier: MIT */
/* pilot_grow.c - more pilots, as the plan says: rows that are submitted next */

#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/pilot/pilots_internal.h"

enum { ARRAY_MAX = 1000 };

/* A pilot that there is, or that was planned just now. */
struct entry {
    int64_t pool;
    struct plan_pilot pilot;
};

struct planning {
    struct pilots *p;
    const struct demands *all;
    struct entry *entries;
    size_t n, capacity;
    size_t n_there;     /* the first ones, which are not planned just now */
    int64_t late_at_ms; /* the next one is late by then, of the wall clock; INT64_MAX: none */
};

/* ---- what there is ---- */

static bool is_retiring(struct server *sv, const struct pilot_row *row)
{
    const struct conn *c = row->worker == 0 ? NULL : conn_of_worker(sv, row->worker);

    return c != NULL && c->is_retiring;
}

/* Slurm may start it at any moment. */
static bool may_start(const struct pilot_row *row)
{
    return row->phase == PILOT_UNCLEAR || row->phase == PILOT_WAITS || row->phase == PILOT_STARTS ||
           row->phase == PILOT_RUNS;
}

static bool is_late(struct planning *g, const struct pilot_row *row)
{
    int64_t late_at_ms = row->created_at + PLAN_LATE_MS;

    if (row->worker != 0 || !may_start(row) || late_at_ms <= turn_now_ms(g->p->sv))
        return true;
    if (late_at_ms < g->late_at_ms)
        g->late_at_ms = late_at_ms;
    return false;
}

static void add_entry(struct planning *g, const struct entry *entry)
{
    mem_grow((void **)&g->entries, &g->capacity, g->n, sizeof *g->entries);
    g->entries[g->n++] = *entry;
}

static void gather(struct planning *g)
{
    for (size_t i = 0; i < g->p->rows.n; i++) {
        const struct pilot_row *row = &g->p->rows.items[i];

        if (!is_retiring(g->p->sv, row))
            add_entry(g, &(struct entry){
                             row->pool,
                             { .size = { 1000 * row->cpus, 1000 * row->gpus, row->memory_bytes },
                               .is_waiting = row->worker == 0,
                               .is_late = is_late(g, row),
                               .takes_one = conf_has_one_job_each(&g->p->sv->conf, &row->spec) } });
    }
    g->n_there = g->n;
}

/* ---- what accounts and QOS allow ---- */

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_same_account(const struct pilots *p, const struct slurm_pool *a,
                            const struct slurm_pool *b)
{
    return is_same(site_spec(&p->sv->conf, a).account, site_spec(&p->sv->conf, b).account);
}

static void add_of_user(const struct pilots *p, struct pilots_there *n,
                        const struct slurm_pool *its, const struct slurm_pool *of)
{
    n->of_account += is_same_account(p, its, of);
    n->of_partition += strcmp(its->partition, of->partition) == 0;
}

struct pilots_there pilots_there(const struct pilots *p, const struct pilot_owner *of)
{
    struct pilots_there n = { 0 };

    for (size_t i = 0; i < p->rows.n; i++) {
        const struct pilot_row *row = &p->rows.items[i];

        n.of_pool += row->pool == of->pool;
        if (row->uid == of->uid)
            add_of_user(p, &n, &row->spec, of->spec);
    }
    return n;
}

/* With those that were planned just now. */
static struct pilots_there count_there(const struct planning *g, const struct pool_demand *d)
{
    const struct pilot_owner owner = { d->uid, d->user, d->pool, &d->spec };
    struct pilots_there n = pilots_there(g->p, &owner);

    for (size_t i = g->n_there; i < g->n; i++) {
        const struct pool_demand *its = demand_in(g->all, g->entries[i].pool);

        n.of_pool += its == d;
        if (its->uid == d->uid)
            add_of_user(g->p, &n, &its->spec, &d->spec);
    }
    return n;
}

static bool has_pilots(const struct planning *g, int64_t pool)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->entries[i].pool == pool)
            return true;
    return false;
}

/* The user's other pools that have none yet: one each is left to them. */
static int64_t count_empty(const struct planning *g, const struct pool_demand *d)
{
    int64_t n = 0;

    for (size_t i = 0; i < g->all->n; i++) {
        const struct pool_demand *other = &g->all->items[i];

        n += other != d && other->uid == d->uid && !has_pilots(g, other->pool) &&
             is_same_account(g->p, &other->spec, &d->spec);
    }
    return n;
}

/* More would not be accepted, or would wait for those that run. */
static int64_t most_allowed(const struct planning *g, const struct pool_demand *d,
                            const struct pilots_there *there)
{
    const struct pilot_limits limits = site_limits(g->p, d->user, &d->spec, g->p->arena);
    int64_t left = limits.submit - there->of_account, most = INT32_MAX;

    if (limits.submit != SLURM_NONE)
        most = left - count_empty(g, d);
    if (most < 1 && there->of_pool == 0)
        most = left < 1 ? left : 1;
    if (limits.run != SLURM_NONE && most > limits.run - there->of_pool)
        most = limits.run - there->of_pool;
    return most;
}

/* ---- which pools share ---- */

static bool rests(struct pilots *p, const struct pool_demand *d)
{
    return pilots_rests(p, d->pool, d->uid);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many more that user may have in that partition. */
static int64_t most_more(const struct planning *g, const struct pool_demand *d)
{
    struct pilots *p = g->p;
    const struct slurm_site *site = conf_slurm_site(&p->sv->conf, d->spec.partition);
    const struct rest *rest = pilots_resting(p, d->pool);
    const struct pilots_there there = count_there(g, d);
    int64_t most = smaller(ARRAY_MAX, most_allowed(g, d, &there));

    if (p->site.config.max_array_size > 1)
        most = smaller(most, p->site.config.max_array_size);
    if (rest != NULL && rest->most > 0)
        most = smaller(most, rest->most);
    if (site != NULL && site->max_pilots > 0)
        most = smaller(most, site->max_pilots - there.of_partition);
    return most > 0 ? most : 0;
}

/* About: the partition may hold one more. */
static bool has_room(const struct planning *g, const struct pool_demand *d)
{
    int64_t total_milli = 1000 * site_partition(g->p, d->user, &d->spec).total_cpus, milli = 0;

    for (size_t i = 0; i < g->n; i++)
        milli += g->entries[i].pool == d->pool ? g->entries[i].pilot.size.cpus_milli : 0;
    return (total_milli == 0 || milli < total_milli) && most_more(g, d) > 0;
}

static bool names(const struct pool_demand *d, int64_t sweep)
{
    for (size_t i = 0; d != NULL && i < d->n; i++)
        if (d->items[i].sweep == sweep)
            return true;
    return false;
}

/* This one, and those after it that the sweep names as well, and that may get more. */
static int64_t count_sharing(const struct planning *g, size_t pool, int64_t sweep)
{
    int64_t n = 1;

    for (size_t i = pool + 1; i < g->all->n; i++) {
        const struct pool_demand *d = &g->all->items[i];

        n += names(d, sweep) && !rests(g->p, d) && has_room(g, d);
    }
    return n;
}

/* Of each entry: is it for that sweep? */
static const bool *who_may(const struct planning *g, int64_t sweep)
{
    bool *may_use = arena_alloc(g->p->arena, (g->n + 1) * sizeof *may_use);

    for (size_t i = 0; i < g->n; i++)
        may_use[i] = i > 0 && g->entries[i].pool == g->entries[i - 1].pool
                         ? may_use[i - 1]
                         : names(demand_in(g->all, g->entries[i].pool), sweep);
    return may_use;
}

static struct plan_order plan_for(const struct planning *g, size_t i)
{
    struct arena *a = g->p->arena;
    const struct pool_demand *d = &g->all->items[i];
    struct plan_demand *demands = arena_alloc(a, (d->n + 1) * sizeof *demands);
    struct plan_pilot *pilots = arena_alloc(a, (g->n + 1) * sizeof *pilots);
    struct plan_pool pool = { .demands = demands,
                              .n_demands = d->n,
                              .pilots = pilots,
                              .n_pilots = g->n,
                              .partition = site_partition(g->p, d->user, &d->spec),
                              .has_one_job_each = conf_has_one_job_each(&g->p->sv->conf, &d->spec),
                              .most = most_more(g, d) };

    for (size_t k = 0; k < d->n; k++) {
        demands[k] = d->items[k];
        demands[k].n_sharing = count_sharing(g, i, d->items[k].sweep);
        demands[k].may_use = who_may(g, d->items[k].sweep);
    }
    for (size_t k = 0; k < g->n; k++) {
        pilots[k] = g->entries[k].pilot;
        pilots[k].is_elsewhere = g->entries[k].pool != d->pool;
    }
    return pilot_plan(&pool);
}

/* ---- more ---- */

static int64_t whole(int64_t milli)
{
    return (milli + 999) / 1000;
}

static int add_rows(struct pilots *p, const struct pool_demand *d, const struct plan_order *o,
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
        if (db_run(p->sv->db, e, SQL_PILOT_ADD, "iitiisssiiiiii", d->pool, o->sweep, &token, i,
                   o->n, name, comment, d->project,
                   o->size.cpus_milli > 1000 ? whole(o->size.cpus_milli) : 1,
                   whole(o->size.gpus_milli), o->size.memory_bytes, o->time_ms,
                   (int64_t)PILOT_UNCLEAR, turn_now_ms(p->sv)) < 0)
            return -1;
    return 0;
}

static int add_pilots(struct planning *g, const struct pool_demand *d, const struct plan_order *o,
                      struct err *e)
{
    const struct entry entry = { d->pool,
                                 { .size = o->size,
                                   .is_waiting = true,
                                   .takes_one =
                                       conf_has_one_job_each(&g->p->sv->conf, &d->spec) } };

    for (int64_t i = 0; i < o->n; i++)
        add_entry(g, &entry);
    return add_rows(g->p, d, o, e);
}

/* How many pools get more, -1. */
static int plan_all(struct planning *g, struct err *e)
{
    int n = 0;

    for (size_t i = 0; i < g->all->n; i++) {
        const struct pool_demand *d = &g->all->items[i];
        struct plan_order order;

        if (rests(g->p, d))
            continue;
        order = plan_for(g, i);
        if (order.n > 0 && add_pilots(g, d, &order, e) < 0)
            return -1;
        n += order.n > 0;
    }
    return n;
}

int plan_more(struct pilots *p, const struct demands *all, struct err *e)
{
    struct planning g = { .p = p, .all = all, .late_at_ms = INT64_MAX };
    int n;

    gather(&g);
    n = plan_all(&g, e);
    if (all->n > 1 && g.late_at_ms < INT64_MAX)
        pilots_think_at(p, units_monotonic_ms() + g.late_at_ms - turn_now_ms(p->sv));
    free(g.entries);
    return n < 0 ? -1 : n > 0;
}
