/* SPDX-License-Identifier: MIT */
/* worker_rows.c - the table of workers: rows are made at registration, and unused ones forgotten */
#include "server/queue/worker_rows.h"

#include "common/base/log.h"
#include "server/base/turn.h"

enum { FORGET_AT_ONCE = 500 };

static bool is_here(struct server *sv, int64_t worker)
{
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c->worker == worker || c->registering == worker)
            return true;
    return false;
}

/* Forgets at most `most` workers that are not here.  found: a statement that returns their ids.
 * Returns how many, -1. */
static int forget_found(struct server *sv, struct stmt *found, int most, struct err *e)
{
    int64_t ids[FORGET_AT_ONCE];
    int n = 0, rc = 0;

    while (n < most && (rc = stmt_step(found, e)) == 1)
        if (!is_here(sv, stmt_int(found, 0)))
            ids[n++] = stmt_int(found, 0);
    stmt_end(found);
    for (int i = 0; i < n && rc >= 0; i++)
        rc = db_run(sv->db, e, SQL_WORKER_FORGET, "i", ids[i]);
    return rc < 0 ? -1 : n;
}

int worker_rows_forget(struct server *sv, int64_t unused, struct err *e)
{
    struct stmt *found =
        db_ask(sv->db, SQL_WORKERS_UNUSED_SINCE, "i", turn_now_ms(sv) - WORKER_SHOWN_MS);
    int n = forget_found(sv, found, FORGET_AT_ONCE, e);

    (void)unused;
    if (n > 0)
        log_event(LOG_INFO, "workers-forgotten", "n", "%d", n, NULL);
    return n < 0 ? -1 : n == FORGET_AT_ONCE;
}

/* Makes room for one more row of the user's, if there are WORKERS_UNUSED_MAX unused ones. */
static int make_room(struct server *sv, uid_t uid, struct err *e)
{
    int64_t n = 0;

    if (db_get(sv->db, e, SQL_WORKERS_UNUSED_COUNT, "i>i", (int64_t)uid, &n) < 0)
        return -1;
    if (n < WORKERS_UNUSED_MAX)
        return 0;
    return forget_found(sv, db_ask(sv->db, SQL_WORKERS_UNUSED_OF, "i", (int64_t)uid), 1, e);
}

int64_t worker_row_save(struct server *sv, const struct conn *c, const struct msg_register *r,
                        struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_WORKER_BY_TOKEN, "t", &r->worker);
    int rc = stmt_step(s, e);
    int64_t id = rc == 1 ? stmt_int(s, 0) : 0;
    int64_t uid = rc == 1 ? stmt_int(s, 1) : (int64_t)c->uid;
    int64_t now_ms = turn_now_ms(sv);

    stmt_end(s);
    if (rc < 0)
        return -1;
    if (uid != (int64_t)c->uid)
        return err_set(e, ERR_DENIED, "worker %s on %s belongs to another account", r->kind,
                       r->node);
    if (rc == 1)
        return db_run(sv->db, e, SQL_WORKER_UPDATE, "isssstiiii", id, c->user, r->node, r->kind,
                      r->boot_id, &r->incarnation, r->cpus_milli, r->gpus, r->memory_bytes,
                      now_ms) < 0
                   ? -1
                   : id;
    if ((!c->is_preferred && make_room(sv, c->uid, e) < 0) ||
        db_run(sv->db, e, SQL_WORKER_INSERT, "tisssstiiii", &r->worker, (int64_t)c->uid, c->user,
               r->node, r->kind, r->boot_id, &r->incarnation, r->cpus_milli, r->gpus,
               r->memory_bytes, now_ms) < 0)
        return -1;
    return db_last_id(sv->db);
}

int worker_row_used(struct server *sv, int64_t worker, struct err *e)
{
    return db_run(sv->db, e, SQL_WORKER_USED, "i", worker) < 0 ? -1 : 0;
}
