/* SPDX-License-Identifier: MIT */
/* fit.c - which workers may run a sweep's jobs, and which of them lack what the sweep needs */

#include "server/queue/fit.h"

#include <stdlib.h>

#include "server/base/nodes.h"
#include "server/base/turn.h"
#include "server/conn/permission.h"
#include "server/queue/passed_env.h"
#include "server/queue/rows.h"

/* How many lacks are kept for a worker; beyond that the oldest is forgotten, and tried again. */
enum { LACKS_MAX = 1000 };

bool fit_may_run(struct server *sv, const struct conn *c, const char *node,
                 const struct fit_wanted *w, const struct sweep_pools *pools)
{
    bool is_meant = c->pilot != 0
                        ? c->uid == w->uid && sweep_pools_have(pools, c->pool) &&
                              pilot_has_time(c, &w->need, turn_now_ms(sv))
                        : may_run(sv, c, w->uid) && nodes_match(&sv->conf, w->nodes, node);

    return is_meant && !(w->is_secret && c->is_open) && conn_refusal(c, w->user) == NULL;
}

bool fit_is_private(const struct server *sv, const struct conn *c)
{
    return c->pilot == 0 && !serves_all(sv, c);
}

bool fit_has_room(const struct fit_wanted *w, int64_t cpus_milli, int64_t gpus_milli,
                  int64_t memory_bytes)
{
    return cpus_milli >= w->cpus_milli && gpus_milli >= w->gpus_milli &&
           (memory_bytes == 0 || memory_bytes >= w->memory_bytes);
}

/* ---- what is lacking ---- */

static size_t find_lack(const struct conn *c, int64_t sweep)
{
    size_t i = 0;

    while (i < c->n_lacks && c->lacks[i].sweep != sweep)
        i++;
    return i;
}

static void drop_lack(struct conn *c, size_t i)
{
    free(c->lacks[i].what);
    for (c->n_lacks--; i < c->n_lacks; i++)
        c->lacks[i] = c->lacks[i + 1];
}

void fit_note_lack(struct conn *c, int64_t sweep, const char *lack)
{
    size_t i = find_lack(c, sweep);

    if (i < c->n_lacks)
        drop_lack(c, i);
    else if (c->n_lacks == LACKS_MAX)
        drop_lack(c, 0);
    mem_grow((void **)&c->lacks, &c->lacks_capacity, c->n_lacks, sizeof *c->lacks);
    c->lacks[c->n_lacks++] = (struct lack){ sweep, mem_strdup(lack) };
}

const char *fit_lack(const struct conn *c, int64_t sweep)
{
    size_t i = find_lack(c, sweep);

    return i < c->n_lacks ? c->lacks[i].what : NULL;
}

void fit_forget_lacks(struct server *sv, int64_t sweep)
{
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        size_t i = find_lack(c, sweep);

        if (i < c->n_lacks)
            drop_lack(c, i);
    }
}

/* ---- is there another ---- */

static int look_at_all(struct server *sv, const struct fit_wanted *w,
                       const struct sweep_pools *pools, bool *is_there, struct err *e)
{
    int rc = 0;

    *is_there = false;
    for (struct conn *c = conn_after(sv, 0); c != NULL && rc >= 0 && !*is_there;
         c = conn_after(sv, c->number)) {
        struct stmt *s;

        if (c->worker == 0 || c->is_retiring || fit_lack(c, w->sweep) != NULL)
            continue;
        s = db_ask(sv->db, SQL_SCHED_WORKER, "i", c->worker);
        rc = stmt_step(s, e);
        if (rc == 1) /* of one that is drained it has nothing */
            *is_there = fit_has_room(w, stmt_int(s, 0), 1000 * stmt_int(s, 1), stmt_int(s, 2)) &&
                        fit_may_run(sv, c, stmt_text(s, 3), w, pools);
        stmt_end(s);
    }
    return rc < 0 ? -1 : 0;
}

int fit_is_there(struct server *sv, int64_t sweep, bool *is_there, struct err *e)
{
    struct arena *a = arena_create();
    struct sweep_pools pools = { 0 };
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_NEEDS, "i", sweep);
    struct fit_wanted w;
    int rc = stmt_step(s, e);

    *is_there = false;
    if (rc == 1) {
        struct bytes nodes = stmt_bytes(s, 6);

        nodes.data = (const uint8_t *)arena_strndup(a, (const char *)nodes.data, nodes.n);
        w = (struct fit_wanted){
            .sweep = sweep,
            .uid = (uid_t)stmt_int(s, 0),
            .user = stmt_copy(s, 8, a),
            .nodes = nodes,
            .need = { stmt_int(s, 9),
                      stmt_int(s, 7) * row_mean_ms(stmt_int(s, 4), stmt_int(s, 5)) },
            .cpus_milli = stmt_int(s, 1),
            .gpus_milli = stmt_int(s, 2),
            .memory_bytes = stmt_int(s, 3),
        };
    }
    stmt_end(s);
    if (rc == 1) {
        int is_secret = passed_env_is_there(sv, sweep, e);

        w.is_secret = is_secret == 1;
        rc = is_secret < 0 ? -1 : 1;
    }
    if (rc == 1)
        rc = sweep_pools_read(sv, sweep, a, &pools, e) < 0 ||
                     look_at_all(sv, &w, &pools, is_there, e) < 0
                 ? -1
                 : 0;
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}
