/* SPDX-License-Identifier: MIT */
/* handle_drain.c - nodes get no more jobs, and get them again */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/suggest.h"
#include "server/base/nodes.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/pilot/pilots.h"
#include "server/queue/recall.h"

/* A worker that there is, connected or not. */
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
    struct known *workers; /* by node */
    size_t n;
    const char **names; /* in order, each once */
    size_t n_names;
    bool undo;
    const char *last_changed; /* node */
    struct msg_drained *answer;
};

static int workers_load(struct draining *d, struct arena *a, struct err *e)
{
    struct stmt *s = db_ask(d->sv->db, SQL_DRAINABLE, "");
    size_t capacity = 0;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        mem_grow((void **)&d->workers, &capacity, d->n, sizeof *d->workers);
        d->workers[d->n++] = (struct known){ .id = stmt_int(s, 0),
                                             .node = arena_strdup(a, stmt_text(s, 1)),
                                             .uid = stmt_int(s, 2),
                                             .user = arena_strdup(a, stmt_text(s, 3)),
                                             .is_drained = stmt_int(s, 4) != 0 };
    }
    return rc;
}

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void names_load(struct draining *d, struct arena *a, const struct list *names)
{
    size_t n = names->n;

    d->names = arena_alloc(a, n * sizeof *d->names);
    if (n > 0)
        memcpy(d->names, names->items, n * sizeof *d->names);
    qsort(d->names, n, sizeof *d->names, compare_names);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(d->names[i], d->names[d->n_names - 1]) != 0)
            d->names[d->n_names++] = d->names[i];
}

/* The workers stand by node: a node's next one needs no new look. */
static bool is_same_node(const struct draining *d, size_t i)
{
    return i > 0 && strcmp(d->workers[i].node, d->workers[i - 1].node) == 0;
}

/* ---- may they? ---- */

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

/* Whoever has a worker of their own there means that one. */
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

static bool is_named(const struct draining *d, const char *node)
{
    for (size_t i = 0; i < d->n_names; i++)
        if (nodes_name_matches(&d->sv->conf, d->names[i], node))
            return true;
    return false;
}

/* ---- doing it ---- */

/* It would wait for nothing, and be paid for. */
static void retire_if_pilot(struct server *sv, int64_t worker)
{
    struct conn *c = conn_of_worker(sv, worker);

    if (c != NULL && c->pilot != 0)
        pilots_retire(sv, c, "its node was drained");
}

static int drain_worker(struct draining *d, const struct known *w, struct err *e)
{
    struct db *db = d->sv->db;

    if (db_run(db, e, SQL_WORKER_DRAIN, "ii", w->id, (int64_t)!d->undo) < 0)
        return -1;
    if (d->last_changed == NULL || strcmp(d->last_changed, w->node) != 0)
        d->answer->nodes++;
    d->last_changed = w->node;
    if (d->undo)
        return 0;
    retire_if_pilot(d->sv, w->id);
    return recall_of_worker(d->sv, w->id, e);
}

static int drain_named(struct draining *d, struct err *e)
{
    bool is_it = false;

    for (size_t i = 0; i < d->n; i++) {
        const struct known *w = &d->workers[i];
        int64_t running = 0;

        if (!is_same_node(d, i))
            is_it = is_named(d, w->node);
        if (!is_own(d, w) || !is_it)
            continue;
        if (w->is_drained == d->undo && drain_worker(d, w, e) < 0)
            return -1;
        if (db_get_int(d->sv->db, e, &running, SQL_WORKER_RUNNING, "i", w->id) < 0)
            return -1;
        d->answer->running += running;
    }
    return 0;
}

static int drain_all(struct draining *d, struct err *e)
{
    for (size_t i = 0; i < d->n_names; i++)
        if (check_name(d, d->names[i], e) < 0)
            return -1;
    return drain_named(d, e);
}

int handle_drain(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_drain *req = request;
    struct draining d = { .sv = sv, .conn = ask->conn, .undo = req->undo, .answer = reply };
    int rc = workers_load(&d, ask->arena, e);

    names_load(&d, ask->arena, &req->nodes);
    if (rc == 0)
        rc = drain_all(&d, e);
    if (rc == 0 && d.answer->nodes > 0) {
        turn_want_schedule(sv);
        log_event(LOG_INFO, req->undo ? "undrain" : "drain", "user", "%s", ask->conn->user, "nodes",
                  "%lld", (long long)d.answer->nodes, NULL);
    }
    free(d.workers);
    return rc;
}
