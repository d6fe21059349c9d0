/* SPDX-License-Identifier: MIT */
/* pilot_more.c - more pilots, as the plan says: rows that are submitted next */

#include <string.h>

#include "common/units.h"
#include "server/pilot_parts.h"

enum { ARRAY_MAX = 1000 };

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
        if (db_run(p->sv->db, e, SQL_PILOT_ADD, "iitiisssiiiiii", d->pool, o->sweep, &token, i,
                   o->n, name, comment, d->project,
                   o->size.cpus_milli > 1000 ? whole(o->size.cpus_milli) : 1,
                   whole(o->size.gpus_milli), o->size.memory_bytes, o->time_ms,
                   (int64_t)PILOT_UNCLEAR, turn_now_ms(p->sv)) < 0)
            return -1;
    return 0;
}

/* 1 when some were added: think again, and submit them. */
int plan_more(struct pilots *p, const struct demands *all, struct err *e)
{
    int n = 0;

    for (size_t i = 0; i < all->n; i++) {
        const struct pool_demand *d = &all->items[i];
        const struct rest *rest = pilots_resting(p, d->pool);
        struct plan_order order;

        if (rest != NULL && rest->ends_ms > units_monotonic_ms()) {
            pilots_think_at(p, rest->ends_ms);
            continue;
        }
        order = plan_for(p, d);
        if (order.n > 0 && add_pilots(p, d, &order, e) < 0)
            return -1;
        n += order.n > 0;
    }
    return n > 0;
}
