/* SPDX-License-Identifier: MIT */
/* handle_change.c - cancel, retry, pause and resume jobs, stop ludwigd */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/path.h"
#include "server/base/turn.h"
#include "server/base/user_limit.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/pilot/pilots.h"
#include "server/queue/attempts.h"
#include "server/queue/holds.h"
#include "server/queue/passed_env.h"
#include "server/queue/removal.h"
#include "server/queue/rows.h"
#include "server/queue/subscribe.h"
#include "server/search/advice.h"

/* ---- changes of the jobs of targets, a turn's worth at a time ---- */

/* Indices into ask->progress: how far the request is. */
enum { TARGET, LAST_NO, CHANGED, RANK, HAS_RANK, SEARCHES };

typedef int (*job_change_fn)(struct server *sv, int64_t job, unsigned how, struct tally *tally,
                             struct err *e);
/* Returns how many of the sweep's jobs changed, or -1 with e set. */
typedef int64_t (*sweep_change_fn)(struct server *sv, int64_t sweep, struct err *e);

struct change {
    const char *event;
    job_change_fn change;
    unsigned how;
    enum sql_name next;    /* finds the jobs that may change */
    sweep_change_fn whole; /* called for a target that is a whole sweep, before its jobs; or NULL */
    bool is_whole_all;     /* `whole` changes its jobs, too */
    bool ends_search;      /* `whole` ends the search of the sweep's advisor */
    /* Called for a whole sweep, after its jobs; 1: to be called again; or NULL. */
    int (*last)(struct server *sv, int64_t sweep, struct err *e);
    bool orders, behind; /* `how` is a rank, found for each target: before, or behind all others */
    bool queues;         /* it queues jobs, so that the limit of queued jobs is checked */
    struct tally tally;
};

static int check_target(struct server *sv, struct ask *ask, const struct target *target,
                        struct err *e)
{
    struct owner owner;
    int rc = db_get(sv->db, e, SQL_SWEEP_OWNER, "i>is", target->sweep, &owner.uid, ask->arena,
                    &owner.user);

    if (rc == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, target->sweep);
    return rc < 0 ? -1 : may_change(ask->conn, &owner, target->sweep, e);
}

/* Sets change->how to the rank before, or behind, all jobs that wait now; found once for a target.
 * */
static int find_rank(struct server *sv, struct ask *ask, struct change *change, int64_t sweep,
                     struct err *e)
{
    int64_t *rank = &ask->progress[RANK], first, last;

    if (ask->progress[HAS_RANK] == 0) {
        if (db_get(sv->db, e, SQL_QUEUE_ENDS, "i>ii", sweep, &first, &last) < 0)
            return -1;
        if (change->behind)
            *rank = last > 0 ? -(last / QUEUE_RANK) - 1 : -1;
        else
            *rank = first < 0 ? -first / QUEUE_RANK + 2 : 2; /* 1: the canaries' */
        ask->progress[HAS_RANK] = 1;
    }
    change->how = (unsigned)(int)*rank;
    return 0;
}

/* Changes the jobs of a target: 0 when done, -1 with e set, or 1 when the turn is full: then it is
 * called again in a later turn, with the sweep itself changed already. */
static int change_target(struct server *sv, struct ask *ask, struct change *change,
                         const struct target *target, struct err *e)
{
    bool is_whole = target->first == 0 && target->last == 0;
    int64_t *last_no = &ask->progress[LAST_NO], n, job;
    int rc;

    if (is_whole && change->whole != NULL && *last_no == 0) {
        if (tally_flush(sv, &change->tally, e) < 0)
            return -1;
        n = change->whole(sv, target->sweep, e);
        if (n < 0)
            return n == ADVICE_GOES_ON ? 1 : -1;
        ask->progress[change->ends_search ? SEARCHES : CHANGED] += n;
    }
    if (is_whole && change->is_whole_all)
        return 0;
    if (change->orders && find_rank(sv, ask, change, target->sweep, e) < 0)
        return -1;
    while (!turn_is_full(sv)) {
        rc = db_get(sv->db, e, change->next, "iii>ii", target->sweep,
                    target->first > *last_no + 1 ? target->first : *last_no + 1,
                    target->last == 0 ? INT64_MAX : target->last, &job, last_no);
        if (rc == 0 && is_whole && change->last != NULL)
            return tally_flush(sv, &change->tally, e) < 0 ? -1 : change->last(sv, target->sweep, e);
        if (rc <= 0)
            return rc;
        rc = change->change(sv, job, change->how, &change->tally, e);
        if (rc < 0)
            return err_wrap(e, "job %" PRId64 ".%" PRId64, target->sweep, *last_no);
        ask->progress[CHANGED] += rc;
    }
    return 1;
}

/* Checks the limit of queued jobs after some were queued, n_before of them in earlier turns.
 * Admins have no limit: they may queue other users' jobs. */
static int check_queued(struct server *sv, const struct conn *c, int64_t n_before, struct err *e)
{
    const struct user_limit queued = user_limit_queued(sv);

    if (c->is_admin || user_limit_check(sv, c->uid, &queued, 0, e) == 0)
        return 0;
    return n_before == 0 ? -1 : err_wrap(e, "%" PRId64 " jobs are queued again; then", n_before);
}

/* Changes the jobs of all targets; none if the asker may not change one of the targets. */
static int change_jobs(struct server *sv, struct ask *ask, struct change change,
                       const struct list *targets, struct msg_changed *rep, struct err *e)
{
    const struct target *items = targets->items;
    int64_t *at = &ask->progress[TARGET], changed_before;
    int rc = 0;

    for (size_t i = 0; *at == 0 && ask->progress[LAST_NO] == 0 && i < targets->n; i++) {
        if (check_target(sv, ask, &items[i], e) < 0)
            return -1;
        if (items[i].last != 0 && items[i].last < items[i].first)
            return err_set(e, ERR_USAGE, "jobs %" PRId64 " to %" PRId64, items[i].first,
                           items[i].last);
    }
    changed_before = ask->progress[CHANGED];
    for (; (size_t)*at < targets->n; ++*at) {
        rc = check_target(sv, ask, &items[*at], e);
        if (rc == 0)
            rc = change_target(sv, ask, &change, &items[*at], e);
        if (rc != 0)
            break;
        ask->progress[LAST_NO] = ask->progress[HAS_RANK] = 0;
    }
    if (rc >= 0 && tally_flush(sv, &change.tally, e) < 0)
        rc = -1;
    if (rc >= 0 && change.queues && ask->progress[CHANGED] > changed_before &&
        check_queued(sv, ask->conn, changed_before, e) < 0)
        rc = -1;
    if (rc == 0) {
        rep->jobs = ask->progress[CHANGED];
        rep->searches = ask->progress[SEARCHES];
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
                             .whole = advice_cancel,
                             .ends_search = true,
                             .next = SQL_JOB_NEXT };

    int rc = change_jobs(sv, ask, change, &req->targets, reply, e);

    if (rc == 0)
        pilots_let_go(sv);
    return rc;
}

/* With the variables that the sweeps had from a shell.  A request that fails changes nothing. */
static int retry_jobs(struct server *sv, struct ask *ask, struct change change,
                      const struct msg_retry *req, struct msg_changed *rep, struct err *e)
{
    const struct target *items = req->targets.items;
    int rc;

    for (size_t i = 0; i < req->targets.n; i++)
        if (check_target(sv, ask, &items[i], e) < 0 ||
            passed_env_renew(sv, items[i].sweep, &req->passed, e) < 0)
            return -1;
    rc = change_jobs(sv, ask, change, &req->targets, rep, e);
    for (size_t i = 0; rc == 0 && i < req->targets.n; i++)
        rc = passed_env_tidy(sv, items[i].sweep, e);
    return rc;
}

int handle_retry(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_retry *req = request;
    struct change change = {
        .event = "retry", .change = job_retry, .next = SQL_JOB_NEXT, .queues = true
    };
    const char *const *name = req->states.items;

    /* The states named, as bits; none named: all states of jobs that run again, but not of those
     * that were stopped early. */
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        if (req->states.n == 0 && job_runs_again((enum job_state)s) &&
            !job_ended_early((enum job_state)s))
            change.how |= 1u << s;
    for (size_t i = 0; i < req->states.n; i++) {
        int s = JOB_STATE_COUNT - 1;

        while (s >= 0 &&
               (!job_runs_again((enum job_state)s) || strcmp(name[i], job_state_names[s]) != 0))
            s--;
        if (s < 0)
            return err_set(
                e, ERR_USAGE,
                "jobs that are '%s' cannot be retried: only failed, cancelled and stopped ones",
                name[i]);
        change.how |= 1u << s;
    }
    return retry_jobs(sv, ask, change, req, reply, e);
}

int handle_pause(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_pause *req = request;
    struct change change = { .event = "pause",
                             .change = job_pause,
                             .how = 1,
                             .next = SQL_JOB_NEXT,
                             .whole = sweep_pause,
                             .is_whole_all = true };

    return change_jobs(sv, ask, change, &req->targets, reply, e);
}

/* Resumes a sweep itself; its jobs are resumed one by one afterwards. */
static int64_t resume_whole(struct server *sv, int64_t sweep, struct err *e)
{
    return holds_end_all(sv, sweep, e) < 0 ? -1 : sweep_resume(sv, sweep, e);
}

int handle_resume(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    const struct msg_resume *req = request;
    struct change change = { .event = "resume",
                             .change = job_pause,
                             .how = 0,
                             .next = SQL_KEPT_NEXT,
                             .whole = resume_whole };

    return change_jobs(sv, ask, change, &req->targets, reply, e);
}

int handle_remove(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    const struct msg_remove *req = request;
    struct msg_removed *rep = reply;
    struct msg_changed changed = { 0 };
    struct change change = { .event = "remove",
                             .change = job_remove,
                             .how = (unsigned)req->step,
                             .next = SQL_JOB_NEXT,
                             .last = req->step == REMOVE_END ? sweep_remove : NULL };
    int rc = change_jobs(sv, ask, change, &req->targets, &changed, e);

    rep->jobs = changed.jobs;
    if (rc == 0 && req->step == REMOVE_END)
        turn_add_work(sv->turn, removal_shrink, 0);
    return rc;
}

int handle_order(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_order *req = request;
    struct change change = { .event = "order",
                             .change = job_order,
                             .next = SQL_JOB_NEXT,
                             .orders = true,
                             .behind = req->behind };

    return change_jobs(sv, ask, change, &req->targets, reply, e);
}

int handle_shrink(struct server *sv, struct ask *ask, const void *request, void *reply,
                  struct err *e)
{
    const struct msg_shrink *req = request;
    const struct target target = { .sweep = req->sweep };

    (void)reply;
    if (check_target(sv, ask, &target, e) < 0 ||
        db_run(sv->db, e, SQL_SWEEP_SHRINK, "iii", req->sweep, req->slots, turn_next_version(sv)) <
            0 ||
        (req->slots > 0 && recall_of_sweep(sv, req->sweep, e) < 0))
        return -1;
    turn_want_schedule(sv);
    turn_want_pilots(sv);
    subscribe_touch(sv, req->sweep);
    log_event(LOG_INFO, "shrink", "user", "%s", ask->conn->user, "sweep", "%lld",
              (long long)req->sweep, "slots", "%lld", (long long)req->slots, NULL);
    return 0;
}

/* ---- labels ---- */

static bool is_tagged(const struct list *tags, const char *tag, size_t n)
{
    const char *const *items = tags->items;

    for (size_t i = 0; i < tags->n; i++)
        if (strlen(items[i]) == n && memcmp(items[i], tag, n) == 0)
            return true;
    return false;
}

static int check_label(const struct msg_label *req, struct err *e)
{
    const char *const *tags = req->tags.items;

    for (size_t i = 0; i < req->tags.n; i++)
        if (!path_is_portable_name(tags[i]) || strpbrk(tags[i], ", #") != NULL)
            return err_set(e, ERR_USAGE, "'%s' is no tag: letters, digits, . _ and -", tags[i]);
    for (const char *at = req->name; at != NULL && *at != '\0'; at++)
        if (iscntrl((unsigned char)*at))
            return err_set(e, ERR_USAGE, "name: a control character");
    return 0;
}

int handle_label(struct server *sv, struct ask *ask, const void *request, void *reply,
                 struct err *e)
{
    const struct msg_label *req = request;
    const struct target target = { .sweep = req->sweep };
    const char *const *more = req->tags.items, *had = NULL;
    struct msg_ok *rep = reply;
    struct buf tags = { 0 };
    size_t n_tags = 0;
    int rc = check_target(sv, ask, &target, e);

    if (rc < 0 || check_label(req, e) < 0 ||
        db_get(sv->db, e, SQL_LABEL_GET, "i>s", req->sweep, ask->arena, &had) < 0)
        return -1;
    for (const char *at = had; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, ",");

        if (!is_tagged(&req->untags, at, n) && !is_tagged(&req->tags, at, n) && ++n_tags > 0)
            buf_printf(&tags, "%s%.*s", tags.n > 0 ? "," : "", (int)n, at);
        at += n + (at[n] == ',');
    }
    for (size_t i = 0; i < req->tags.n; i++)
        if (!is_tagged(&req->untags, more[i], strlen(more[i])) && ++n_tags > 0)
            buf_printf(&tags, "%s%s", tags.n > 0 ? "," : "", more[i]);
    if (n_tags > TAGS_MAX)
        rc = err_set(e, ERR_USAGE, "more than %d tags", TAGS_MAX);
    else
        rc = db_run(sv->db, e, SQL_LABEL_SET, "isssi", req->sweep, req->name, req->note,
                    buf_text(&tags), turn_next_version(sv));
    buf_free(&tags);
    rep->well = true;
    return rc < 0 ? -1 : 0;
}

/* ---- shutdown ---- */

static void leave_now(struct server *sv, int64_t unused)
{
    (void)unused;
    sv->leave(sv, "it was asked to");
}

int handle_shutdown(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_shutdown *req = request;
    struct msg_leave order = { "ludwigd is being stopped" };
    struct msg_ok *rep = reply;

    if (!ask->conn->is_admin)
        return err_set(e, ERR_DENIED, "only an admin may stop this ludwigd");
    for (struct conn *c = req->workers ? conn_after(sv, 0) : NULL; c != NULL;
         c = conn_after(sv, c->number))
        if (c->role == FROM_WORKER && c->uid == ask->conn->uid)
            conn_send(sv, c->number, MSG_LEAVE, &order);
    turn_after(sv, leave_now, 0);
    rep->well = true;
    return 0;
}
