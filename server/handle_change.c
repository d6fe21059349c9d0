/* SPDX-License-Identifier: MIT */
/* handle_change.c - cancel and retry jobs, stop ludwigd */
#include <inttypes.h>

#include "common/log.h"
#include "server/attempts.h"
#include "server/identity.h"

/* ---- jobs of some targets, a turn's worth at a time ---- */

/* Where it stands, in ask->progress. */
enum { TARGET, LAST_NO, CHANGED };

typedef int (*job_change_fn)(struct server *sv, int64_t job, struct tally *tally, struct err *e);

struct change {
    job_change_fn change;
    const char *event;
    struct tally tally;
};

static int check_target(struct server *sv, const struct conn *c, const struct target *target,
                        struct err *e)
{
    int64_t owner;
    int rc = db_get_int(sv->db, e, &owner, SQL_SWEEP_OWNER, "i", target->sweep);

    if (rc < 0)
        return -1;
    if (rc == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, target->sweep);
    return identity_may_change(c, owner, target->sweep, e);
}

/* The next job of the target: 1, 0 when there is none, -1. */
static int next_job(struct server *sv, const struct target *target, int64_t after, int64_t *job,
                    int64_t *no, struct err *e)
{
    int64_t first = target->first > after + 1 ? target->first : after + 1;
    int64_t last = target->last == 0 ? INT64_MAX : target->last;
    struct stmt *s = db_ask(sv->db, SQL_JOB_NEXT, "iii", target->sweep, first, last);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        *job = stmt_int(s, 0);
        *no = stmt_int(s, 1);
    }
    stmt_end(s);
    return rc;
}

static int change_target(struct server *sv, struct ask *ask, struct change *change,
                         const struct target *target, struct err *e)
{
    int64_t job = 0;
    int rc;

    while (!turn_is_full(sv)) {
        rc = next_job(sv, target, ask->progress[LAST_NO], &job, &ask->progress[LAST_NO], e);
        if (rc <= 0)
            return rc;
        rc = change->change(sv, job, &change->tally, e);
        if (rc < 0)
            return err_wrap(e, "job %" PRId64 ".%" PRId64, target->sweep, ask->progress[LAST_NO]);
        ask->progress[CHANGED] += rc;
    }
    return 1;
}

static int change_targets(struct server *sv, struct ask *ask, struct change *change,
                          const struct list *targets, struct err *e)
{
    const struct target *items = targets->items;
    int rc = 0;

    for (; rc == 0 && (size_t)ask->progress[TARGET] < targets->n; ask->progress[TARGET]++) {
        const struct target *target = &items[ask->progress[TARGET]];

        rc = check_target(sv, ask->conn, target, e);
        if (rc == 0)
            rc = change_target(sv, ask, change, target, e);
        if (rc != 0)
            break;
        ask->progress[LAST_NO] = 0;
    }
    if (rc >= 0 && tally_flush(sv, &change->tally, e) < 0)
        rc = -1;
    return rc;
}

/* Nothing is changed if one of the targets may not be. */
static int check_targets(struct server *sv, const struct conn *c, const struct list *targets,
                         struct err *e)
{
    const struct target *items = targets->items;

    for (size_t i = 0; i < targets->n; i++) {
        if (check_target(sv, c, &items[i], e) < 0)
            return -1;
        if (items[i].last != 0 && items[i].last < items[i].first)
            return err_set(e, ERR_USAGE, "jobs %" PRId64 " to %" PRId64, items[i].first,
                           items[i].last);
    }
    return 0;
}

static int change_jobs(struct server *sv, struct ask *ask, struct change change,
                       const struct list *targets, struct msg_changed *rep, struct err *e)
{
    bool is_first = ask->progress[TARGET] == 0 && ask->progress[LAST_NO] == 0;
    int rc;

    if (is_first && check_targets(sv, ask->conn, targets, e) < 0)
        return -1;
    rc = change_targets(sv, ask, &change, targets, e);
    if (rc == 0) {
        rep->jobs = ask->progress[CHANGED];
        log_event(LOG_INFO, change.event, "user", "%s", ask->conn->user, "targets", "%zu",
                  targets->n, "jobs", "%lld", (long long)rep->jobs, NULL);
    }
    return rc;
}

int handle_cancel(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    const struct msg_cancel *req = request;

    return change_jobs(sv, ask, (struct change){ job_cancel, "cancel", { 0 } }, &req->targets,
                       reply, e);
}

int handle_retry(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_retry *req = request;

    return change_jobs(sv, ask, (struct change){ job_retry, "retry", { 0 } }, &req->targets, reply,
                       e);
}

/* ---- shutdown ---- */

static void leave(struct server *sv, int64_t unused)
{
    (void)unused;
    server_leave(sv, "it was asked to");
}

static void send_workers_away(struct server *sv, uid_t uid)
{
    struct msg_leave order = { "ludwigd is being stopped" };
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c->role == FROM_WORKER && c->uid == uid)
            turn_send(sv, c->number, MSG_LEAVE, &order);
}

int handle_shutdown(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_shutdown *req = request;
    struct msg_ok *rep = reply;

    if (!ask->conn->is_admin)
        return err_set(e, ERR_DENIED, "only an admin may stop this ludwigd");
    if (req->workers)
        send_workers_away(sv, ask->conn->uid);
    turn_after(sv, leave, 0);
    rep->well = true;
    return 0;
}
