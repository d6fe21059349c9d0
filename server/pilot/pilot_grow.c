/* SPDX-License-Identifier: MIT */
/* pilot_grow.c - reads the demand for each pool, and adds rows for the pilots of its plan */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/pilot/pilots_internal.h"
#include "server/queue/lease.h"
#include "server/queue/rows.h"

enum { ARRAY_MAX = 1000, WORD_MAX_BYTES = 60 };

/* ---- demand ---- */

void demands_free(struct demands *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->items[i].items);
    free(d->items);
}

/* The demand of the row's pool; the pool's rows lie together. */
static struct pool_demand *demand_of_pool(struct demands *to, struct stmt *s, struct arena *a,
                                          struct err *e)
{
    struct pool_demand *d = to->n > 0 ? &to->items[to->n - 1] : NULL;

    if (d != NULL && d->pool == stmt_int(s, 0))
        return d;
    mem_grow((void **)&to->items, &to->capacity, to->n, sizeof *to->items);
    d = &to->items[to->n++];
    *d = (struct pool_demand){ .pool = stmt_int(s, 0),
                               .uid = (uid_t)stmt_int(s, 1),
                               .user = arena_strdup(a, stmt_text(s, 2)),
                               .project = arena_strdup(a, stmt_text(s, 5)) };
    return pool_read(stmt_bytes(s, 3), a, &d->spec, e) < 0 ? NULL : d;
}

/* Counts the jobs of the sweep on pilots that end and give their jobs back.  These jobs come back
 * into the queue one after the other; counted now, one new pilot is made for all of them. */
static int64_t count_returning(struct server *sv, int64_t sweep, struct grown grown, struct err *e)
{
    int64_t n = 0;

    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        int64_t of_one = 0;

        if (!c->gives_back || c->worker == 0)
            continue;
        if (db_get(sv->db, e, SQL_POOL_RETURNING, "iiii>i", c->worker, sweep, grown.memory_bytes,
                   grown.time_ms, &of_one) < 0)
            return -1;
        n += of_one;
    }
    return n;
}

/* Adds a demand.  jobs: how many jobs of the sweep wait and ask for this. */
static struct plan_demand demand_of(struct stmt *s, int64_t jobs, struct grown grown,
                                    int64_t now_ms)
{
    int64_t batch = stmt_int(s, 7) > 1 ? stmt_int(s, 7) : 1, runs_since = stmt_int(s, 14);
    int64_t ran_ms = runs_since > 0 ? now_ms - runs_since : 0;
    const struct grown asks = grown_or(grown, (struct grown){ stmt_int(s, 10), stmt_int(s, 11) });
    struct pilot_need need = { asks.time_ms,
                               batch * row_mean_ms(stmt_int(s, 12), stmt_int(s, 13)) };

    return (struct plan_demand){
        .sweep = stmt_int(s, 4),
        .grown = grown,
        .jobs = (jobs + batch - 1) / batch,
        .size = { stmt_int(s, 8), stmt_int(s, 9), asks.memory_bytes },
        .need_ms = pilot_need_ms(&need),
        /* Before the first job has ended, the oldest one that runs shows whether they are long. */
        .takes_ms = need.mean_ms > 0         ? need.mean_ms
                    : ran_ms >= PLAN_SLOT_MS ? ran_ms
                                             : 0,
    };
}

static int add_demand(struct server *sv, struct pool_demand *to, struct stmt *s, int64_t jobs,
                      struct grown grown, struct err *e)
{
    int64_t returning = jobs > 0 ? count_returning(sv, stmt_int(s, 4), grown, e) : 0;

    if (returning < 0 || jobs == 0)
        return returning < 0 ? -1 : 0;
    mem_grow((void **)&to->items, &to->capacity, to->n, sizeof *to->items);
    to->items[to->n++] = demand_of(s, jobs + returning, grown, turn_now_ms(sv));
    return 0;
}

/* Slurm takes no pilots for jobs that grew so far, nor for those that grew further. */
static bool is_refused(struct stmt *s, struct grown grown)
{
    return stmt_int(s, 17) != 0 && grown.memory_bytes >= stmt_int(s, 18) &&
           grown.time_ms >= stmt_int(s, 19);
}

/* The jobs of a sweep of which some grew, each kind apart. */
static int add_grown_demands(struct server *sv, struct pool_demand *to, struct stmt *s,
                             struct err *e)
{
    struct stmt *grown = db_ask(sv->db, SQL_GROWN_READY, "i", stmt_int(s, 4));
    int64_t may_begin = stmt_int(s, 6), others = stmt_int(s, 15);
    struct kind {
        struct grown grown;
        int64_t n;
    } *kinds = NULL;
    size_t n = 0, capacity = 0;
    int rc;

    while ((rc = stmt_step(grown, e)) == 1) {
        mem_grow((void **)&kinds, &capacity, n, sizeof *kinds);
        kinds[n] = (struct kind){ { stmt_int(grown, 0), stmt_int(grown, 1) }, stmt_int(grown, 2) };
        others -= kinds[n++].n;
    }
    others = others < may_begin ? others : may_begin;
    may_begin -= others;
    if (rc >= 0)
        rc = add_demand(sv, to, s, others, (struct grown){ 0 }, e);
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        int64_t jobs = kinds[i].n < may_begin ? kinds[i].n : may_begin;

        may_begin -= jobs;
        if (!is_refused(s, kinds[i].grown))
            rc = add_demand(sv, to, s, jobs, kinds[i].grown, e);
    }
    free(kinds);
    return rc;
}

int demands_read(struct server *sv, struct arena *a, struct demands *to, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_POOL_DEMAND, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        struct pool_demand *pool = demand_of_pool(to, s, a, e);

        if (pool == NULL || (stmt_int(s, 16) != 0 ? add_grown_demands(sv, pool, s, e)
                                                  : add_demand(sv, pool, s, stmt_int(s, 6),
                                                               (struct grown){ 0 }, e)) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

const struct pool_demand *demand_in(const struct demands *d, int64_t pool)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].pool == pool)
            return &d->items[i];
    return NULL;
}

/* A pilot that exists, or that was planned just now. */
struct entry {
    int64_t pool;
    struct plan_pilot pilot;
};

struct planning {
    struct pilots *p;
    const struct demands *all;
    struct entry *entries;
    size_t n, capacity;
    size_t n_there;     /* the first n_there exist already */
    int64_t late_at_ms; /* wall clock time when the next one will be late; INT64_MAX: none */
};

/* ---- existing pilots ---- */

/* False while Slurm may start the pilot at any moment and it has not waited long. */
static bool is_late(struct planning *g, const struct pilot_row *row)
{
    int64_t late_at_ms = row->created_at + PLAN_LATE_MS;
    bool may_start = row->phase == PILOT_UNCLEAR || row->phase == PILOT_WAITS ||
                     row->phase == PILOT_STARTS || row->phase == PILOT_RUNS;

    if (row->worker != 0 || !may_start || late_at_ms <= turn_now_ms(g->p->sv))
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

/* ---- limits of accounts and QOS ---- */

static bool is_same_account(const struct pilots *p, const struct slurm_pool *x,
                            const struct slurm_pool *y)
{
    const char *a = site_spec(&p->sv->conf, x).account, *b = site_spec(&p->sv->conf, y).account;

    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
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

/* Counts existing pilots and those that were planned just now. */
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

/* Counts the user's other pools that have no pilot yet: one each is left to them. */
static int64_t count_empty(const struct planning *g, const struct pool_demand *d)
{
    int64_t n = 0;

    for (size_t i = 0; i < g->all->n; i++) {
        const struct pool_demand *other = &g->all->items[i];
        bool has_pilots = false;

        for (size_t k = 0; k < g->n; k++)
            has_pilots |= g->entries[k].pool == other->pool;
        n += other != d && other->uid == d->uid && !has_pilots &&
             is_same_account(g->p, &other->spec, &d->spec);
    }
    return n;
}

/* ---- sharing ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many more pilots that user may have in that pool: more would not be accepted, or would wait
 * for those that run. */
static int64_t most_more(const struct planning *g, const struct pool_demand *d)
{
    struct pilots *p = g->p;
    const struct slurm_site *site = conf_slurm_site(&p->sv->conf, d->spec.partition);
    const struct backoff *backoff = pilots_find_backoff(p, d->pool);
    const struct pilots_there there = count_there(g, d);
    const struct pilot_limits limits = site_limits(p, d->user, &d->spec, p->arena);
    int64_t most = ARRAY_MAX;

    if (limits.submit != SLURM_NONE) {
        int64_t left = limits.submit - there.of_account;

        most = smaller(most, left - count_empty(g, d));
        if (most < 1 && there.of_pool == 0)
            most = smaller(left, 1);
    }
    if (limits.run != SLURM_NONE)
        most = smaller(most, limits.run - there.of_pool);
    if (p->site.config.max_array_size > 1)
        most = smaller(most, p->site.config.max_array_size);
    if (backoff != NULL && backoff->most > 0)
        most = smaller(most, backoff->most);
    if (site != NULL && site->max_pilots > 0)
        most = smaller(most, site->max_pilots - there.of_partition);
    return most > 0 ? most : 0;
}

static bool names(const struct pool_demand *d, int64_t sweep)
{
    for (size_t i = 0; d != NULL && i < d->n; i++)
        if (d->items[i].sweep == sweep)
            return true;
    return false;
}

/* Counts this pool, and those after it that the sweep names as well, and that may get more. */
static int64_t count_sharing(const struct planning *g, size_t pool, int64_t sweep)
{
    int64_t n = 1;

    for (size_t i = pool + 1; i < g->all->n; i++) {
        const struct pool_demand *d = &g->all->items[i];
        int64_t total_milli, milli = 0;

        if (!names(d, sweep) || pilots_is_backing_off(g->p, d->pool, d->uid))
            continue;
        total_milli = 1000 * site_partition(g->p, d->user, &d->spec).total_cpus;
        for (size_t k = 0; k < g->n; k++)
            milli += g->entries[k].pool == d->pool ? g->entries[k].pilot.size.cpus_milli : 0;
        /* An estimate: the partition may hold one more. */
        n += (total_milli == 0 || milli < total_milli) && most_more(g, d) > 0;
    }
    return n;
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
        int64_t sweep = d->items[k].sweep;
        bool *may_use = arena_alloc(a, (g->n + 1) * sizeof *may_use);

        for (size_t m = 0; m < g->n; m++)
            may_use[m] = m > 0 && g->entries[m].pool == g->entries[m - 1].pool
                             ? may_use[m - 1]
                             : names(demand_in(g->all, g->entries[m].pool), sweep);
        demands[k] = d->items[k];
        demands[k].n_sharing = count_sharing(g, i, sweep);
        demands[k].may_use = may_use;
    }
    for (size_t k = 0; k < g->n; k++) {
        pilots[k] = g->entries[k].pilot;
        pilots[k].is_elsewhere = g->entries[k].pool != d->pool;
    }
    return pilot_plan(&pool);
}

/* ---- new rows ---- */

static int64_t whole(int64_t milli)
{
    return (milli + 999) / 1000;
}

/* "ludwig 5f3c sweep 7: lr of mnist", as people see it in squeue.  What a site's plugins might take
 * for something of theirs is left out. */
static char *comment_of(struct pilots *p, const struct plan_order *o, const char *project,
                        struct err *e)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._-+:/";
    const char *name = NULL;
    struct buf text = { 0 };
    char *comment;

    if (db_get(p->sv->db, e, SQL_SWEEP_NAME, "i>s", o->sweep, p->arena, &name) < 0)
        return NULL;
    buf_printf(&text, "ludwig %s sweep %" PRId64 ": ", p->sv->server_id, o->sweep);
    if (name != NULL && name[0] != '\0')
        buf_printf(&text, "%.*s of ", WORD_MAX_BYTES, name);
    buf_add_str(&text, project);
    comment = buf_to_arena(&text, p->arena);
    for (char *at = comment; at[strspn(at, plain)] != '\0';) {
        at += strspn(at, plain);
        *at++ = '_';
    }
    return comment;
}

static int add_pilots(struct planning *g, const struct pool_demand *d, const struct plan_order *o,
                      struct err *e)
{
    struct pilots *p = g->p;
    const struct entry entry = { d->pool,
                                 { .size = o->size,
                                   .is_waiting = true,
                                   .time_ms = o->time_ms,
                                   .takes_one = conf_has_one_job_each(&p->sv->conf, &d->spec) } };
    char token_text[TOKEN_HEX];
    struct token token;
    const char *name, *comment;

    token_make(&token);
    token_hex(&token, token_text);
    name = arena_printf(p->arena, "ludwig-%" PRId64 "-%.8s", o->sweep, token_text);
    comment = comment_of(p, o, d->project, e);
    if (comment == NULL)
        return -1;
    for (int64_t i = 0; i < o->n; i++) {
        add_entry(g, &entry);
        if (db_run(p->sv->db, e, SQL_PILOT_ADD, "iitiisssiiiiiiii", d->pool, o->sweep, &token, i,
                   o->n, name, comment, d->project,
                   o->size.cpus_milli > 1000 ? whole(o->size.cpus_milli) : 1,
                   whole(o->size.gpus_milli), o->size.memory_bytes, o->time_ms,
                   (int64_t)PILOT_UNCLEAR, turn_now_ms(p->sv), o->grown.memory_bytes,
                   o->grown.time_ms) < 0)
            return -1;
    }
    return 0;
}

/* One that is suspended for longer than its lease, or whose node is away, takes no jobs, whatever
 * Slurm says of it.  After a restart of ludwigd's each has the time of a lease to come back. */
static bool is_gone(const struct pilots *p, const struct pilot_row *row, const struct conn *c)
{
    return row->worker != 0 && c == NULL && !lease_is_running(p->sv, row->worker) &&
           units_monotonic_ms() - p->begun_at_ms > p->sv->conf.lease_ms;
}

int plan_more(struct pilots *p, const struct demands *all, struct err *e)
{
    struct planning g = { .p = p, .all = all, .late_at_ms = INT64_MAX };
    int n = 0, rc = 0;

    for (size_t i = 0; i < p->rows.n; i++) {
        const struct pilot_row *row = &p->rows.items[i];
        const struct conn *c = row->worker == 0 ? NULL : conn_of_worker(p->sv, row->worker);
        if (!is_gone(p, row, c) && (c == NULL || !c->is_retiring))
            add_entry(&g, &(struct entry){
                              row->pool,
                              { .size = { 1000 * row->cpus, 1000 * row->gpus, row->memory_bytes },
                                .is_waiting = row->worker == 0,
                                .time_ms = row->time_ms,
                                .is_late = is_late(&g, row),
                                .takes_one = conf_has_one_job_each(&p->sv->conf, &row->spec) } });
    }
    g.n_there = g.n;
    for (size_t i = 0; i < all->n && rc == 0; i++) {
        const struct pool_demand *d = &all->items[i];
        struct plan_order order;

        /* The result of a submission decides how many more pilots there may be. */
        if (!submission_may_begin(p, d->uid) || pilots_is_backing_off(p, d->pool, d->uid))
            continue;
        order = plan_for(&g, i);
        if (order.n > 0)
            rc = add_pilots(&g, d, &order, e);
        n += order.n > 0;
    }
    if (all->n > 1 && g.late_at_ms < INT64_MAX)
        pilots_think_at(p, units_monotonic_ms() + g.late_at_ms - turn_now_ms(p->sv));
    free(g.entries);
    return rc < 0 ? -1 : n > 0;
}
