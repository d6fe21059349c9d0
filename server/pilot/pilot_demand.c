/* SPDX-License-Identifier: MIT */
/* pilot_demand.c - what waits for each pool */

#include <stdlib.h>

#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/pilot/pilots_internal.h"
#include "server/queue/pilot_rows.h"
#include "server/queue/rows.h"

void demands_free(struct demands *d)
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

/* Jobs of that sweep that pilots have which are about to end, and end them: they come back one after
 * the other, and one pilot will do for all of them. */
static int64_t count_returning(struct server *sv, int64_t sweep, struct err *e)
{
    int64_t n = 0;

    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        int64_t of_one = 0;

        if (!c->gives_back || c->worker == 0)
            continue;
        if (db_get(sv->db, e, SQL_POOL_RETURNING, "ii>i", c->worker, sweep, &of_one) < 0)
            return -1;
        n += of_one;
    }
    return n;
}

static struct plan_demand demand_of(struct stmt *s, int64_t returning, int64_t now_ms)
{
    int64_t batch = at_least(stmt_int(s, 7), 1), runs_since = stmt_int(s, 14);
    struct pilot_need need = { stmt_int(s, 11),
                               batch * row_mean_ms(stmt_int(s, 12), stmt_int(s, 13)) };

    return (struct plan_demand){
        .sweep = stmt_int(s, 4),
        .jobs = (stmt_int(s, 6) + returning + batch - 1) / batch,
        .size = { stmt_int(s, 8), stmt_int(s, 9), stmt_int(s, 10) },
        .need_ms = pilot_need_ms(&need),
        .takes_ms = need.mean_ms > 0 ? need.mean_ms : known_by_now_ms(runs_since, now_ms),
    };
}

int demands_read(struct server *sv, struct arena *a, struct demands *to, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_POOL_DEMAND, "");
    struct pool_demand *pool;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        int64_t returning = count_returning(sv, stmt_int(s, 4), e);

        rc = returning < 0 ? -1 : demand_pool(to, s, a, &pool, e);
        if (rc < 0)
            break;
        mem_grow((void **)&pool->items, &pool->capacity, pool->n, sizeof *pool->items);
        pool->items[pool->n++] = demand_of(s, returning, turn_now_ms(sv));
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
