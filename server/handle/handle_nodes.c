/* SPDX-License-Identifier: MIT */
/* handle_nodes.c - the machines: what they have, how busy they are, what runs there */
#include <inttypes.h>
#include <math.h>

#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/queue/rows.h"

enum {
    LOST_SHOWN_MS = 24 * 3600 * 1000, /* a lost worker that holds nothing is shown so long */
    LOAD_FRESH_MS = 10 * 1000,        /* one who looks again and again asks them no more often */
    LOAD_ANSWER_MS = 2 * 1000,        /* who has not said it by then is not waited for */
    LOAD_OLD_MS = 60 * 1000,          /* what it said then is no load of the last minute */
    JOBS_SHOWN = 32,
    HELD_SHOWN = 32,
    USERS_SHOWN = 32
};

/* ---- how busy ---- */

static void take_load(const struct conn *c, int64_t now_ms, struct node_info *info)
{
    if (c->load_at_ms > 0 && c->load_milli != SCHEMA_NONE && now_ms - c->load_at_ms < LOAD_OLD_MS)
        info->load = (double)c->load_milli / 1000;
}

/* Whether it is about to say how busy it is. */
static bool ask_for_load(struct server *sv, struct conn *c, int64_t now_ms)
{
    struct msg_ask_load order = { .now = true };

    if (c->load_at_ms > 0 && now_ms - c->load_at_ms < LOAD_FRESH_MS)
        return false;
    if (c->load_asked_ms > c->load_at_ms && now_ms - c->load_asked_ms < LOAD_FRESH_MS)
        return now_ms - c->load_asked_ms < LOAD_ANSWER_MS;
    c->load_asked_ms = now_ms;
    conn_send(sv, c->number, MSG_ASK_LOAD, &order);
    return true;
}

/* ---- what runs there ---- */

static int count_live(struct server *sv, int64_t worker, int64_t *live, int64_t *running,
                      struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_WORKER_LIVE, "i", worker);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        *live = stmt_int(s, 0);
        *running = *live == 0 ? 0 : stmt_int(s, 1);
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* The statement's first column, as text; at most max. */
static int list_texts(struct stmt *s, size_t max, struct arena *a, struct list *to, struct err *e)
{
    const char **items = arena_alloc(a, max * sizeof *items);
    int rc = 0;

    to->items = items;
    while (to->n < max && (rc = stmt_step(s, e)) == 1)
        items[to->n++] = arena_strdup(a, stmt_text(s, 0));
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static int used_gpus(struct server *sv, int64_t worker, double *used, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_WHY_LOAD, "i", worker);
    int rc = stmt_step(s, e);

    *used = rc == 1 ? (double)stmt_int(s, 1) / 1000 : 0;
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

static int fill_use(struct server *sv, int64_t worker, struct arena *a, struct node_info *info,
                    struct err *e)
{
    double used = 0;

    info->gpus_free = (double)info->gpus;
    if (info->gpus > 0 && used_gpus(sv, worker, &used, e) < 0)
        return -1;
    info->gpus_free = used < info->gpus_free ? info->gpus_free - used : 0;
    if (info->running == 0)
        return 0;
    if (list_texts(db_ask(sv->db, SQL_NODE_JOBS, "ii", worker, (int64_t)JOBS_SHOWN), JOBS_SHOWN, a,
                   &info->jobs, e) < 0)
        return -1;
    return list_texts(db_ask(sv->db, SQL_NODE_USERS, "ii", worker, (int64_t)USERS_SHOWN),
                      USERS_SHOWN, a, &info->users, e);
}

/* ---- the list ---- */

static void fill_node(struct server *sv, struct stmt *s, const struct conn *c, struct arena *a,
                      struct node_info *info)
{
    bool is_drained = stmt_int(s, 3) != 0;

    info->node = arena_strdup(a, stmt_text(s, 1));
    info->kind = arena_strdup(a, stmt_text(s, 2));
    info->state = c == NULL ? "lost" : is_drained ? "drained" : "up";
    info->cpus = (double)stmt_int(s, 4) / 1000;
    info->gpus = stmt_int(s, 5);
    info->memory = stmt_int(s, 6);
    info->user = arena_strdup(a, stmt_text(s, 7));
    if (c == NULL)
        return;
    info->gpu_models = c->gpu_models;
    info->held = (int64_t)c->holdings.n;
    info->holds = cached_trees_list(&c->holdings, HELD_SHOWN, a, &info->held_bytes);
    take_load(c, turn_now_ms(sv), info);
}

/* 1: it is listed. */
static int node_row(struct server *sv, struct stmt *s, struct arena *a, struct node_info *info,
                    int64_t *asked, struct err *e)
{
    int64_t worker = stmt_int(s, 0), now_ms = turn_now_ms(sv), live = 0;
    struct conn *c = conn_of_worker(sv, worker);

    *info = (struct node_info){ .load = NAN };
    if (count_live(sv, worker, &live, &info->running, e) < 0)
        return -1;
    if (c == NULL && live == 0 && (stmt_int(s, 8) + LOST_SHOWN_MS <= now_ms || !stmt_is_null(s, 9)))
        return 0; /* a pilot's end is nothing to worry about */
    fill_node(sv, s, c, a, info);
    *asked += c != NULL && ask_for_load(sv, c, now_ms);
    return fill_use(sv, worker, a, info, e) < 0 ? -1 : 1;
}

int handle_get_nodes(struct server *sv, struct ask *ask, const void *request, void *reply,
                     struct err *e)
{
    const struct msg_get_nodes *req = request;
    struct msg_node_page *rep = reply;
    size_t limit = req->limit <= 0 || req->limit > PAGE_MAX ? PAGE_MAX : (size_t)req->limit;
    struct node_info *items = arena_alloc(ask->arena, limit * sizeof *items);
    struct stmt *s = db_ask(sv->db, SQL_WORKERS, "");
    size_t n = 0;
    int rc, listed = 0;

    while (listed >= 0 && n < limit && (rc = stmt_step(s, e)) != 0) {
        listed = rc < 0 ? -1 : node_row(sv, s, ask->arena, &items[n], &rep->asked, e);
        n += listed == 1;
    }
    stmt_end(s);
    rep->nodes = (struct list){ items, n };
    return listed < 0 ? -1 : 0;
}
