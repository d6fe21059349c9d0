/* SPDX-License-Identifier: MIT */
/* handle_change.c - cancel, retry, pause and resume jobs, stop ludwigd */
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/pilot/pilots.h"
#include "server/queue/attempts.h"

/* ---- jobs of some targets, a turn's worth at a time ---- */

/* Where it stands, in ask->progress. */
enum { TARGET, LAST_NO, CHANGED };

typedef int (*job_change_fn)(struct server *sv, int64_t job, unsigned how, struct tally *tally,
                             struct err *e);
/* How many of its jobs that changed, -1. */
typedef int64_t (*sweep_change_fn)(struct server *sv, int64_t sweep, struct err *e);

struct change {
    const char *event;
    job_change_fn change;
    unsigned how;
    enum sql_name next;    /* finds the jobs that it may concern */
    sweep_change_fn whole; /* for a target that is a whole sweep, before its jobs; NULL: nothing */
    bool is_whole_all;     /* its jobs are not changed one by one then */
    struct tally tally;
};

static int check_target(struct server *sv, const struct conn *c, const struct target *target,
                        struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_OWNER, "i", target->sweep);
    int rc = stmt_step(s, e);
    struct owner owner;

    if (rc == 1) {
        owner = (struct owner){ stmt_int(s, 0), stmt_text(s, 1) };
        rc = may_change(c, &owner, target->sweep, e);
    } else if (rc == 0) {
        rc = err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, target->sweep);
    }
    stmt_end(s);
    return rc;
}

/* The next job of the target: 1, 0 when there is none, -1. */
static int next_job(struct server *sv, enum sql_name next, const struct target *target,
                    int64_t after, int64_t *job, int64_t *no, struct err *e)
{
    int64_t first = target->first > after + 1 ? target->first : after + 1;
    int64_t last = target->last == 0 ? INT64_MAX : target->last;
    struct stmt *s = db_ask(sv->db, next, "iii", target->sweep, first, last);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        *job = stmt_int(s, 0);
        *no = stmt_int(s, 1);
    }
    stmt_end(s);
    return rc;
}

static int change_jobs_of(struct server *sv, struct ask *ask, struct change *change,
                          const struct target *target, struct err *e)
{
    int64_t job = 0;
    int rc;

    while (!turn_is_full(sv)) {
        rc = next_job(sv, change->next, target, ask->progress[LAST_NO], &job,
                      &ask->progress[LAST_NO], e);
        if (rc <= 0)
            return rc;
        rc = change->change(sv, job, change->how, &change->tally, e);
        if (rc < 0)
            return err_wrap(e, "job %" PRId64 ".%" PRId64, target->sweep, ask->progress[LAST_NO]);
        ask->progress[CHANGED] += rc;
    }
    return 1;
}

/* A second time, in a later turn, the sweep is changed already. */
static int change_target(struct server *sv, struct ask *ask, struct change *change,
                         const struct target *target, struct err *e)
{
    bool is_whole = target->first == 0 && target->last == 0;
    int64_t n = 0;

    if (is_whole && change->whole != NULL && ask->progress[LAST_NO] == 0) {
        if (tally_flush(sv, &change->tally, e) < 0)
            return -1;
        n = change->whole(sv, target->sweep, e);
    }
    if (n < 0)
        return -1;
    ask->progress[CHANGED] += n;
    if (is_whole && change->is_whole_all)
        return 0;
    return change_jobs_of(sv, ask, change, target, e);
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
    struct change change = { .event = req->drain ? "cancel-drain" : "cancel",
                             .change = job_cancel,
                             .how = req->drain ? CANCEL_DRAIN : CANCEL_NOW,
                             .next = SQL_JOB_NEXT };

    int rc = change_jobs(sv, ask, change, &req->targets, reply, e);

    if (rc == 0)
        pilots_let_go(sv);
    return rc;
}

/* Which states are meant, as bits; none named: all that run again. */
static int retry_states(const struct list *names, unsigned *states, struct err *e)
{
    const char *const *name = names->items;

    *states = 0;
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        if (names->n == 0 && job_runs_again((enum job_state)s))
            *states |= 1u << s;
    for (size_t i = 0; i < names->n; i++) {
        int s = JOB_STATE_COUNT - 1;

        while (s >= 0 &&
               (!job_runs_again((enum job_state)s) || strcmp(name[i], job_state_names[s]) != 0))
            s--;
        if (s < 0)
            return err_set(e, ERR_USAGE,
                           "jobs that are '%s' cannot be retried: only failed and cancelled ones",
                           name[i]);
        *states |= 1u << s;
    }
    return 0;
}

int handle_retry(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_retry *req = request;
    struct change change = { .event = "retry", .change = job_retry, .next = SQL_JOB_NEXT };

    if (retry_states(&req->states, &change.how, e) < 0)
        return -1;
    return change_jobs(sv, ask, change, &req->targets, reply, e);
}

int handle_pause(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_pause *req = request;
    struct change change = { .event = "pause",
                             .change = job_hold,
                             .how = 1,
                             .next = SQL_JOB_NEXT,
                             .whole = sweep_pause,
                             .is_whole_all = true };

    return change_jobs(sv, ask, change, &req->targets, reply, e);
}

int handle_resume(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    const struct msg_resume *req = request;
    struct change change = { .event = "resume",
                             .change = job_hold,
                             .how = 0,
                             .next = SQL_HELD_NEXT,
                             .whole = sweep_resume };

    return change_jobs(sv, ask, change, &req->targets, reply, e);
}

/* ---- shutdown ---- */

static void leave(struct server *sv, int64_t unused)
{
    (void)unused;
    sv->leave(sv, "it was asked to");
}

static void send_workers_away(struct server *sv, uid_t uid)
{
    struct msg_leave order = { "ludwigd is being stopped" };
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c->role == FROM_WORKER && c->uid == uid)
            conn_send(sv, c->number, MSG_LEAVE, &order);
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
