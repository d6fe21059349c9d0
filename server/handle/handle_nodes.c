/* SPDX-License-Identifier: MIT */
/* handle_nodes.c - lists nodes, drains and undrains them */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/suggest.h"
#include "common/base/units.h"
#include "server/base/identity.h"
#include "server/base/nodes.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/pilot/pilots.h"
#include "server/queue/attempts.h"
#include "server/queue/fit.h"
#include "server/queue/node_guard.h"
#include "server/queue/pilot_rows.h"
#include "server/queue/rows.h"
#include "server/queue/worker_rows.h"

enum {
    LOAD_FRESH_MS = 10 * 1000, /* workers are asked no more often, however often clients look */
    LOAD_ANSWER_MS = 2 * 1000, /* a client waits no longer for a worker's answer */
    LOAD_OLD_MS = 60 * 1000,   /* an older answer is not shown as the load of the last minute */
    JOBS_SHOWN = 32,
    HELD_SHOWN = 32,
    USERS_SHOWN = 32
};

/* Asks a worker how busy it is, unless its last answer or question is fresh.  Returns whether an
 * answer is still to come. */
static bool ask_for_load(struct server *sv, struct conn *c, int64_t now_ms)
{
    struct msg_ask_load order = { .now = true };

    if (c->load_at_ms > 0 && now_ms - c->load_at_ms < LOAD_FRESH_MS)
        return c->asks_gpus && now_ms - c->load_asked_ms < LOAD_ANSWER_MS;
    if (c->load_asked_ms > c->load_at_ms && now_ms - c->load_asked_ms < LOAD_FRESH_MS)
        return now_ms - c->load_asked_ms < LOAD_ANSWER_MS;
    c->load_asked_ms = now_ms;
    conn_send(sv, c->number, MSG_ASK_LOAD, &order);
    return true;
}

/* ---- running jobs ---- */

/* Lists at most max texts of the statement's first column, and ends the statement. */
static int list_texts(struct stmt *s, size_t max, struct arena *a, struct list *to, struct err *e)
{
    const char **items = arena_alloc(a, max * sizeof *items);
    int rc = 0;

    to->items = items;
    while (to->n < max && (rc = stmt_step(s, e)) == 1)
        items[to->n++] = stmt_copy(s, 0, a);
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* Says why none of the asker's jobs can start on the worker now; an admin is told of another user's
 * jobs if there is no such reason.  NULL: nothing is refused. */
static const char *find_refusal(const struct conn *c, const struct conn *asker, struct arena *a)
{
    const struct refusal *all = c->refused.items;
    const char *own = conn_refusal(c, asker->user);

    if (own != NULL || !asker->is_admin || c->refused.n == 0)
        return own;
    return arena_printf(a, "of %s: %s", all[0].user, all[0].reason);
}

/* Says why the jobs of the user avoid the node, and until when; NULL if they do not. */
static const char *find_avoided(struct server *sv, const char *node, int64_t uid, struct arena *a)
{
    int64_t until_ms = 0;
    const char *why = fit_avoided(sv, node, uid, &until_ms);
    struct buf text = { 0 };

    if (why == NULL)
        return NULL;
    buf_printf(&text, "your jobs avoid it, as %s; it is tried again in ", why);
    units_add_duration(&text, until_ms - turn_now_ms(sv));
    buf_printf(&text, " (ludwig undrain %s: now)", node);
    return buf_to_arena(&text, a);
}

/* Everybody may bring a worker for their own jobs, under any name: only its owner and admins are
 * shown it.  Pilots and the workers of trusted accounts are shown to all. */
static bool may_see_worker(const struct server *sv, const struct conn *asker, struct stmt *s)
{
    bool is_pilot = !stmt_is_null(s, 9);

    return asker->is_admin || is_pilot || strcmp(asker->user, stmt_text(s, 7)) == 0 ||
           identity_is_worker_user(&sv->conf, stmt_text(s, 7));
}

/* Fills info for the worker of the statement's row and adds to *asked if its load is still to come.
 * Returns 1 when the asker is shown it, 0 when not, -1 on error. */
static int node_row(struct server *sv, struct stmt *s, const struct conn *asker, struct arena *a,
                    struct node_info *info, int64_t *asked, struct err *e)
{
    int64_t worker = stmt_int(s, 0), now_ms = turn_now_ms(sv), live = 0, used_milli = 0, unused;
    bool is_drained = stmt_int(s, 3) != 0;
    struct conn *c = conn_of_worker(sv, worker);

    *info = (struct node_info){ .load = NAN };
    if (!may_see_worker(sv, asker, s))
        return 0;
    if (db_get(sv->db, e, SQL_WORKER_LIVE, "i>ii", worker, &live, &info->running) < 0)
        return -1;
    if (c == NULL && live == 0 &&
        (stmt_int(s, 8) + WORKER_SHOWN_MS <= now_ms || !stmt_is_null(s, 9)))
        return 0; /* a pilot that has ended is no lost worker */
    info->node = stmt_copy(s, 1, a);
    info->kind = stmt_copy(s, 2, a);
    info->state = c == NULL ? "lost" : is_drained ? "drained" : "up";
    info->cpus = (double)stmt_int(s, 4) / 1000;
    info->gpus = stmt_int(s, 5);
    info->memory = stmt_int(s, 6);
    info->user = stmt_copy(s, 7, a);
    if (c != NULL) {
        info->disk = c->disk_bytes;
        info->lacks_groups = c->lacks_groups;
        info->is_one_account = c->is_one_account;
        info->gpu_models = c->gpu_models;
        info->gpus_unused = c->gpus_unused;
        info->held = (int64_t)c->holdings.n;
        info->holds = cached_trees_list(&c->holdings, asker->is_admin ? NULL : asker->user,
                                        HELD_SHOWN, a, &info->held_bytes);
        if (c->load_at_ms > 0 && c->load_milli != SCHEMA_NONE &&
            now_ms - c->load_at_ms < LOAD_OLD_MS)
            info->load = (double)c->load_milli / 1000;
        if (c->gpu_use_at_ms > 0 && now_ms - c->gpu_use_at_ms < LOAD_OLD_MS)
            info->gpu_use = (struct list){ c->gpu_use, c->n_gpu_use };
        info->refused = find_refusal(c, asker, a);
        if (info->refused == NULL)
            info->refused = find_avoided(sv, info->node, (int64_t)asker->uid, a);
        *asked += ask_for_load(sv, c, now_ms);
    }
    if (info->gpus > 0 && db_get(sv->db, e, SQL_WHY_LOAD, "i>ii", worker, &unused, &used_milli) < 0)
        return -1;
    info->gpus_free = (double)info->gpus - (double)used_milli / 1000;
    if (info->gpus_free < 0)
        info->gpus_free = 0;
    if (info->running > 0 &&
        (list_texts(db_ask(sv->db, SQL_NODE_JOBS, "ii", worker, (int64_t)JOBS_SHOWN), JOBS_SHOWN, a,
                    &info->jobs, e) < 0 ||
         list_texts(db_ask(sv->db, SQL_NODE_USERS, "ii", worker, (int64_t)USERS_SHOWN), USERS_SHOWN,
                    a, &info->users, e) < 0))
        return -1;
    return 1;
}

/* Lists the Slurm pools that the user's sweeps name and that have no pilots; uid SCHEMA_NONE: those
 * of all users. */
static int list_pools(struct server *sv, int64_t uid, struct arena *a, struct list *to,
                      struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_POOLS_WITHOUT, "I", uid);
    struct pool_trouble *items = arena_alloc(a, NODE_POOLS_MAX * sizeof *items);
    struct slurm_pool spec;
    size_t n = 0;
    int rc = 0;

    while (n < NODE_POOLS_MAX && (rc = stmt_step(s, e)) == 1) {
        if (pool_read(stmt_bytes(s, 0), a, &spec, e) < 0) {
            rc = -1;
            break;
        }
        items[n++] =
            (struct pool_trouble){ spec.partition, stmt_copy(s, 2, a), stmt_copy(s, 1, a) };
    }
    stmt_end(s);
    *to = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}

/* Lists the user's pilots that have not begun, with Slurm's reason; uid SCHEMA_NONE: all users'. */
static int list_waiting(struct server *sv, int64_t uid, struct arena *a, struct list *to,
                        struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_PILOTS_WAITING, "Ii", uid, (int64_t)NODE_POOLS_MAX);
    struct pilots_waiting *items = arena_alloc(a, NODE_POOLS_MAX * sizeof *items);
    struct slurm_pool spec;
    size_t n = 0;
    int rc = 0;

    while (n < NODE_POOLS_MAX && (rc = stmt_step(s, e)) == 1) {
        if (pool_read(stmt_bytes(s, 0), a, &spec, e) < 0) {
            rc = -1;
            break;
        }
        items[n++] = (struct pilots_waiting){ spec.partition, stmt_copy(s, 1, a), stmt_int(s, 2),
                                              stmt_int(s, 4), stmt_copy(s, 3, a) };
    }
    stmt_end(s);
    *to = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}

int handle_get_nodes(struct server *sv, struct ask *ask, const void *request, void *reply,
                     struct err *e)
{
    const struct msg_get_nodes *req = request;
    struct msg_node_page *rep = reply;
    size_t limit = req->limit <= 0 || req->limit > PAGE_MAX ? PAGE_MAX : (size_t)req->limit;
    struct node_info *items = arena_alloc(ask->arena, limit * sizeof *items);
    struct stmt *s = db_ask(sv->db, SQL_WORKERS, "");
    int64_t uid = ask->conn->is_admin ? SCHEMA_NONE : (int64_t)ask->conn->uid;
    size_t n = 0;
    int rc, listed = 0;

    while (listed >= 0 && n < limit && (rc = stmt_step(s, e)) != 0) {
        listed = rc < 0 ? -1 : node_row(sv, s, ask->conn, ask->arena, &items[n], &rep->asked, e);
        n += listed == 1;
    }
    stmt_end(s);
    rep->nodes = (struct list){ items, n };
    return listed < 0 || list_pools(sv, uid, ask->arena, &rep->pools, e) < 0
               ? -1
               : list_waiting(sv, uid, ask->arena, &rep->pilots, e);
}

/* ---- draining ---- */

/* A worker in the database, connected or not. */
struct known {
    int64_t id;
    const char *node;
    int64_t uid;
    const char *user;
    bool is_drained;
};

struct draining {
    struct server *sv;
    const struct conn *conn;
    struct known *workers; /* sorted by node */
    size_t n;
    const char **names; /* sorted, each once */
    size_t n_names;
    bool undo;
    const char *last_changed; /* the node that was counted last in answer->nodes */
    struct msg_drained *answer;
};

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Whether worker i is on the node of the worker before, which was looked up already. */
static bool is_same_node(const struct draining *d, size_t i)
{
    return i > 0 && strcmp(d->workers[i].node, d->workers[i - 1].node) == 0;
}

static bool is_own(const struct draining *d, const struct known *w)
{
    return d->conn->is_admin || w->uid == (int64_t)d->conn->uid;
}

static int refuse_unknown(const struct draining *d, const char *name, struct err *e)
{
    const struct node_group *groups = d->sv->conf.groups.items;
    struct suggest near = { .word = name };

    if (name[0] == '@')
        near.word = name + 1;
    for (size_t i = 0; name[0] == '@' && i < d->sv->conf.groups.n; i++)
        suggest_try(&near, groups[i].name);
    for (size_t i = 0; name[0] != '@' && i < d->n; i++)
        suggest_try(&near, d->workers[i].node);
    if (near.best == NULL)
        return err_set(e, ERR_NOT_FOUND, "no worker was ever seen on '%s'", name);
    if (strcmp(near.best, near.word) == 0)
        return err_set(e, ERR_NOT_FOUND, "no worker was ever seen on a node of '%s'", name);
    return err_set(e, ERR_NOT_FOUND, "no worker was ever seen on '%s' (did you mean '%s%s'?)", name,
                   name[0] == '@' ? "@" : "", near.best);
}

/* Refuses a name of no node, or of nodes where the asker has no worker and is no admin.  A user who
 * has a worker on the node means that worker. */
static int check_name(const struct draining *d, const char *name, struct err *e)
{
    const struct known *others = NULL;
    bool is_it = false;

    for (size_t i = 0; i < d->n; i++) {
        if (!is_same_node(d, i))
            is_it = nodes_name_matches(&d->sv->conf, name, d->workers[i].node);
        if (!is_it)
            continue;
        if (is_own(d, &d->workers[i]))
            return 0;
        others = &d->workers[i];
    }
    if (others == NULL)
        return refuse_unknown(d, name, e);
    return err_set(e, ERR_DENIED,
                   "the worker on %s is %s's: only they and admins may drain or undrain it",
                   others->node, others->user);
}

static int drain_worker(struct draining *d, const struct known *w, struct err *e)
{
    struct conn *c = conn_of_worker(d->sv, w->id);

    if (db_run(d->sv->db, e, SQL_WORKER_DRAIN, "ii", w->id, (int64_t)!d->undo) < 0)
        return -1;
    if (d->last_changed == NULL || strcmp(d->last_changed, w->node) != 0)
        d->answer->nodes++;
    d->last_changed = w->node;
    if (d->undo)
        return 0;
    if (c != NULL && c->pilot != 0) /* the pilot would get no jobs, and still occupy its node */
        conn_retire(d->sv, c, "its node was drained");
    return recall_of_worker(d->sv, w->id, e);
}

static int drain_named(struct draining *d, struct err *e)
{
    bool is_it = false;

    for (size_t i = 0; i < d->n; i++) {
        const struct known *w = &d->workers[i];
        int64_t running = 0;

        if (!is_same_node(d, i)) {
            is_it = false;
            for (size_t k = 0; k < d->n_names && !is_it; k++)
                is_it = nodes_name_matches(&d->sv->conf, d->names[k], w->node);
        }
        if (!is_own(d, w) || !is_it)
            continue;
        if (w->is_drained == d->undo && drain_worker(d, w, e) < 0)
            return -1;
        if (d->undo && node_guard_trust(d->sv, w->node, d->conn->is_admin ? -1 : w->uid) &&
            !w->is_drained) {
            d->answer->nodes += d->last_changed == NULL || strcmp(d->last_changed, w->node) != 0;
            d->last_changed = w->node;
        }
        if (db_get(d->sv->db, e, SQL_WORKER_RUNNING, "i>i", w->id, &running) < 0)
            return -1;
        d->answer->running += running;
    }
    return 0;
}

int handle_drain(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_drain *req = request;
    struct draining d = { .sv = sv, .conn = ask->conn, .undo = req->undo, .answer = reply };
    struct stmt *s = db_ask(sv->db, SQL_DRAINABLE, "");
    size_t n = req->nodes.n, capacity = 0;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        mem_grow((void **)&d.workers, &capacity, d.n, sizeof *d.workers);
        d.workers[d.n++] = (struct known){ .id = stmt_int(s, 0),
                                           .node = stmt_copy(s, 1, ask->arena),
                                           .uid = stmt_int(s, 2),
                                           .user = stmt_copy(s, 3, ask->arena),
                                           .is_drained = stmt_int(s, 4) != 0 };
    }
    d.names = arena_alloc(ask->arena, n * sizeof *d.names);
    if (n > 0)
        memcpy(d.names, req->nodes.items, n * sizeof *d.names);
    qsort(d.names, n, sizeof *d.names, compare_names);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(d.names[i], d.names[d.n_names - 1]) != 0)
            d.names[d.n_names++] = d.names[i];
    for (size_t i = 0; i < d.n_names && rc == 0; i++)
        rc = check_name(&d, d.names[i], e);
    if (rc == 0)
        rc = drain_named(&d, e);
    if (rc == 0 && d.answer->nodes > 0) {
        turn_want_schedule(sv);
        log_event(LOG_INFO, req->undo ? "undrain" : "drain", "user", "%s", ask->conn->user, "nodes",
                  "%lld", (long long)d.answer->nodes, NULL);
    }
    free(d.workers);
    return rc;
}
