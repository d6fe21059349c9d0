/* SPDX-License-Identifier: MIT */
/* fit.c - which workers may run a sweep's jobs, and which of them lack what the sweep needs */

#include "server/queue/fit.h"

#include <stdlib.h>
#include <string.h>

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

    return is_meant && !(w->is_secret && c->is_open) && conn_refusal(c, w->user) == NULL &&
           (c->disk_bytes == 0 || w->disk_bytes <= c->disk_bytes);
}

void fit_take_grown(struct fit_wanted *w, struct grown grown)
{
    if (!grown_is(grown))
        return;
    w->memory_bytes = grown.memory_bytes;
    w->need.time_ms = grown.time_ms;
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

bool fit_is_unwanted(struct server *sv, const struct conn *c, const char *node,
                     const struct fit_wanted *w)
{
    return fit_lack(c, w->sweep) != NULL || fit_avoided(sv, node, (int64_t)w->uid, NULL) != NULL;
}

void fit_forget_lacks(struct server *sv, int64_t sweep)
{
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        size_t i = find_lack(c, sweep);

        if (i < c->n_lacks)
            drop_lack(c, i);
    }
}

/* ---- what is avoided ---- */

struct avoided {
    char *node;
    int64_t uid;
    char *why;
    int64_t until_ms;
    int64_t tried_ms; /* when it was last given a trial job; 0: never */
};

struct avoided_nodes {
    struct avoided *items; /* few */
    size_t n, capacity;
};

static struct avoided *find_avoided(const struct server *sv, const char *node, int64_t uid)
{
    for (size_t i = 0; sv->avoided != NULL && i < sv->avoided->n; i++)
        if (sv->avoided->items[i].uid == uid && strcmp(sv->avoided->items[i].node, node) == 0)
            return &sv->avoided->items[i];
    return NULL;
}

void fit_trust(struct server *sv, const char *node, int64_t uid)
{
    struct avoided *x = find_avoided(sv, node, uid);

    if (x == NULL)
        return;
    free(x->node);
    free(x->why);
    *x = sv->avoided->items[--sv->avoided->n];
}

void fit_avoid(struct server *sv, const char *node, int64_t uid, const char *why, int64_t until_ms)
{
    struct avoided_nodes *all = sv->avoided;

    if (all == NULL)
        all = sv->avoided = mem_alloc(sizeof *all);
    fit_trust(sv, node, uid);
    mem_grow((void **)&all->items, &all->capacity, all->n, sizeof *all->items);
    all->items[all->n++] = (struct avoided){ mem_strdup(node), uid, mem_strdup(why), until_ms, 0 };
}

const char *fit_avoided(struct server *sv, const char *node, int64_t uid, int64_t *until_ms)
{
    const struct avoided *x = find_avoided(sv, node, uid);

    if (x == NULL || x->until_ms <= turn_now_ms(sv))
        return NULL;
    if (until_ms != NULL)
        *until_ms = x->until_ms;
    return x->why;
}

int64_t fit_take_trial(struct server *sv, const char *node, int64_t uid, int64_t trial_ms)
{
    struct avoided *x = find_avoided(sv, node, uid);
    int64_t now_ms = turn_now_ms(sv);

    if (x == NULL || (x->until_ms > now_ms && x->tried_ms != now_ms))
        return INT64_MAX;
    if (x->tried_ms == now_ms)
        return 0;
    x->tried_ms = now_ms;
    x->until_ms = now_ms + trial_ms;
    return 1;
}

int64_t fit_next_trial_ms(const struct server *sv)
{
    int64_t in_ms = 0;

    for (size_t i = 0; sv->avoided != NULL && i < sv->avoided->n; i++) {
        int64_t left_ms = sv->avoided->items[i].until_ms - turn_now_ms(sv);

        if (left_ms > 0 && (in_ms == 0 || left_ms < in_ms))
            in_ms = left_ms;
    }
    return in_ms;
}

struct list fit_avoided_nodes(struct server *sv, int64_t uid, struct arena *a)
{
    size_t most = sv->avoided != NULL ? sv->avoided->n : 0, n = 0;
    const char **names = arena_alloc(a, most * sizeof *names);

    for (size_t i = 0; i < most; i++)
        if (sv->avoided->items[i].uid == uid && sv->avoided->items[i].until_ms > turn_now_ms(sv))
            names[n++] = arena_strdup(a, sv->avoided->items[i].node);
    return (struct list){ names, n };
}

void fit_forget_avoided(struct server *sv)
{
    while (sv->avoided != NULL && sv->avoided->n > 0)
        fit_trust(sv, sv->avoided->items[0].node, sv->avoided->items[0].uid);
    if (sv->avoided != NULL)
        free(sv->avoided->items);
    free(sv->avoided);
    sv->avoided = NULL;
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

        if (c->worker == 0 || c->is_retiring)
            continue;
        s = db_ask(sv->db, SQL_SCHED_WORKER, "i", c->worker);
        rc = stmt_step(s, e);
        if (rc == 1) /* a drained worker has no room in this row */
            *is_there = fit_has_room(w, stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2)) &&
                        fit_may_run(sv, c, stmt_text(s, 3), w, pools) &&
                        !fit_is_unwanted(sv, c, stmt_text(s, 3), w);
        stmt_end(s);
    }
    return rc < 0 ? -1 : 0;
}

int fit_wanted_read(struct server *sv, int64_t sweep, struct arena *a, struct fit_wanted *w,
                    struct sweep_pools *pools, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_NEEDS, "i", sweep);
    int is_secret, rc = stmt_step(s, e);

    if (rc == 1) {
        struct bytes nodes = stmt_bytes(s, 6);

        nodes.data = (const uint8_t *)arena_strndup(a, (const char *)nodes.data, nodes.n);
        *w = (struct fit_wanted){
            .sweep = sweep,
            .uid = (uid_t)stmt_int(s, 0),
            .user = stmt_copy(s, 8, a),
            .nodes = nodes,
            .need = { stmt_int(s, 9),
                      stmt_int(s, 7) * row_mean_ms(stmt_int(s, 4), stmt_int(s, 5)) },
            .cpus_milli = stmt_int(s, 1),
            .gpus_milli = stmt_int(s, 2),
            .memory_bytes = stmt_int(s, 3),
            .disk_bytes = stmt_int(s, 11),
        };
    }
    stmt_end(s);
    if (rc != 1)
        return rc;
    is_secret = passed_env_is_there(sv, sweep, e);
    w->is_secret = is_secret == 1;
    return is_secret < 0 || sweep_pools_read(sv, sweep, a, pools, e) < 0 ? -1 : 1;
}

int fit_is_there(struct server *sv, int64_t sweep, struct grown grown, bool *is_there,
                 struct err *e)
{
    struct arena *a = arena_create();
    struct sweep_pools pools = { 0 };
    struct fit_wanted w;
    int rc = fit_wanted_read(sv, sweep, a, &w, &pools, e);

    *is_there = false;
    if (rc == 1) {
        fit_take_grown(&w, grown);
        rc = look_at_all(sv, &w, &pools, is_there, e);
    }
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}

/* ---- the most that there is ---- */

enum { AWAY_MAX_MS = 24 * 3600 * 1000 };
#define NO_LIMIT INT64_MAX

static void raise_to(int64_t *most, int64_t limit)
{
    if (limit == 0)
        *most = NO_LIMIT;
    else if (limit > *most)
        *most = limit;
}

/* Raises *most to what the best node has; time has no limit on nodes. */
static int most_of_nodes(struct server *sv, const struct fit_wanted *w,
                         const struct sweep_pools *pools, struct grown *most, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_FIT_WORKERS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        const struct conn *c = conn_of_worker(sv, stmt_int(s, 0));
        const char *node = stmt_text(s, 1);

        if ((c == NULL && stmt_int(s, 5) < turn_now_ms(sv) - AWAY_MAX_MS) ||
            stmt_int(s, 2) < w->cpus_milli || stmt_int(s, 3) < w->gpus_milli ||
            (c != NULL ? !fit_may_run(sv, c, node, w, pools)
                       : !nodes_match(&sv->conf, w->nodes, node)))
            continue;
        raise_to(&most->memory_bytes, stmt_int(s, 4));
        raise_to(&most->time_ms, 0);
    }
    stmt_end(s);
    return rc;
}

int fit_most(struct server *sv, int64_t sweep, struct grown *most, struct err *e)
{
    struct arena *a = arena_create();
    struct sweep_pools pools = { 0 };
    struct fit_wanted w;
    int rc = fit_wanted_read(sv, sweep, a, &w, &pools, e);

    *most = (struct grown){ 0 };
    if (rc == 1)
        rc = most_of_nodes(sv, &w, &pools, most, e);
    for (size_t i = 0; rc >= 0 && i < pools.n; i++) {
        int64_t memory_bytes = 0, time_ms = 0;

        if (sv->most_of_pool != NULL &&
            sv->most_of_pool(sv, pools.items[i], &memory_bytes, &time_ms, e) < 0)
            rc = -1;
        raise_to(&most->memory_bytes, memory_bytes);
        raise_to(&most->time_ms, time_ms);
    }
    if (most->memory_bytes == NO_LIMIT)
        most->memory_bytes = 0;
    if (most->time_ms == NO_LIMIT)
        most->time_ms = 0;
    arena_destroy(a);
    return rc < 0 ? -1 : 0;
}
