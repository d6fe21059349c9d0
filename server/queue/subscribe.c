/* SPDX-License-Identifier: MIT */
/* subscribe.c - subscriptions to sweeps and jobs, and to the lengths of logs */

#include "server/queue/subscribe.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/permission.h"
#include "server/conn/handler.h"
#include "server/queue/rows.h"
#include "server/share/project.h"

/* The log of a job's newest attempt.  While a subscription follows it, the attempt's worker reports
 * the log's length on the share; none of this is stored. */
struct followed {
    bool is_wanted;     /* the subscription follows the log */
    struct token token; /* of the attempt; zero: the job has had none */
    int64_t worker;     /* the worker that has the attempt */
    bool is_live;       /* the log may still grow */
    int64_t size_bytes; /* length on the share as last reported; 0: not yet */
    int64_t told_bytes; /* length that the subscriber was told */
};

struct subscription {
    struct subscription *next;
    int64_t conn;
    int64_t re; /* number of the request that its messages answer */
    int64_t sweep;
    int64_t job; /* only this job; 0: all jobs of the sweep */
    int64_t cursor;
    bool has_jobs;
    bool is_behind; /* there may be news since the last message */
    int last_state; /* the sweep's state as last told */
    struct followed log;
};

/* Sets sub->log to the job's newest attempt, and *before to what it was: give that to followed_move
 * once the subscription is in its connection's list. */
static int followed_look(struct server *sv, struct subscription *sub, struct followed *before,
                         struct err *e)
{
    struct followed *log = &sub->log;
    struct followed now = { .is_wanted = true };
    struct stmt *s = db_ask(sv->db, SQL_JOB_NEWEST, "ii", sub->sweep, sub->job);
    int rc = stmt_step(s, e);

    *before = *log;
    if (rc == 1) {
        stmt_token(s, 0, &now.token);
        now.worker = stmt_int(s, 1);
        now.is_live = attempt_is_live((enum attempt_state)stmt_enum(s, 2, ATTEMPT_STATE_COUNT));
    }
    stmt_end(s);
    if (rc < 0)
        return -1;
    if (token_equal(&now.token, &log->token)) {
        now.size_bytes = log->size_bytes;
        now.told_bytes = log->told_bytes;
    }
    *log = now;
    return 0;
}

static void followed_order(struct server *sv, const struct followed *log, bool on)
{
    struct msg_follow_log body = { log->token, on };
    struct conn *c = conn_of_worker(sv, log->worker);
    struct err e = { 0 };

    if (c != NULL && chan_send(c->chan, MSG_FOLLOW_LOG, 0, NULL, &body, &e) < 0)
        log_event(LOG_DEBUG, "not-followed", "conn", "%lld", (long long)c->number, "why", "%s",
                  e.text, NULL);
}

/* Finds another subscription that follows the same log. */
static const struct subscription *followed_by_other(struct server *sv, const struct token *token,
                                                    const struct subscription *except)
{
    const struct subscription *sub;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        for (sub = c->subscriptions; sub != NULL; sub = sub->next)
            if (sub != except && sub->log.is_live && token_equal(&sub->log.token, token))
                return sub;
    return NULL;
}

/* Orders workers to start or stop reporting lengths of logs, as the change from *before needs. */
static void followed_move(struct server *sv, struct subscription *sub,
                          const struct followed *before)
{
    bool is_same = token_equal(&before->token, &sub->log.token);
    const struct subscription *other;

    if (before->is_live && !(is_same && sub->log.is_live) &&
        followed_by_other(sv, &before->token, sub) == NULL)
        followed_order(sv, before, false);
    if (!sub->log.is_live || (is_same && before->is_live))
        return;
    other = followed_by_other(sv, &sub->log.token, sub);
    if (other == NULL)
        followed_order(sv, &sub->log, true);
    else if (other->log.size_bytes > sub->log.size_bytes)
        sub->log.size_bytes = other->log.size_bytes; /* the worker does not report it twice */
    sub->is_behind |= sub->log.size_bytes != sub->log.told_bytes;
}

void subscribe_registered(struct server *sv, int64_t worker)
{
    struct subscription *sub;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        for (sub = c->subscriptions; sub != NULL; sub = sub->next)
            if (sub->log.is_live && sub->log.worker == worker)
                followed_order(sv, &sub->log, true);
}

/* A worker reports the length of a log on the share: marks its followers as behind. */
int handle_log_grew(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_log_grew *req = request;
    struct subscription *sub;
    struct conn *c;

    (void)reply;
    if (ask->conn->worker == 0)
        return err_set(e, ERR_PROTOCOL, "register first");
    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        for (sub = c->subscriptions; sub != NULL; sub = sub->next) {
            if (sub->log.worker != ask->conn->worker ||
                !token_equal(&sub->log.token, &req->token) ||
                req->size_bytes <= sub->log.size_bytes)
                continue;
            sub->log.size_bytes = req->size_bytes;
            sub->is_behind = true;
        }
    return 0;
}

/* ---- pages ---- */

/* Fills a page; its cursor is the version of its last job if more follow, else the newest one. */
static int fill_page(struct server *sv, const struct subscription *sub, struct arena *a,
                     struct msg_changes *page, int64_t *owner, struct err *e)
{
    struct job_info *items;
    int64_t cursor = sub->cursor;
    size_t size_bytes = 0, n = 0;
    struct stmt *s;
    int rc;

    page->cursor = turn_version(sv);
    page->log_bytes = sub->log.size_bytes;
    if (row_sweep(sv, sub->sweep, a, &page->sweep, owner, e) < 0)
        return -1;
    if (!sub->has_jobs) {
        const struct conn *c = conn_find(sv, sub->conn);

        if (c == NULL ||
            may_see(c, &(struct owner){ *owner, page->sweep.user }, sub->sweep, NULL) < 0)
            row_sweep_hide(&page->sweep);
        return 0;
    }
    items = arena_alloc(a, SUBSCRIBE_JOBS_MAX * sizeof *items);
    s = sub->job != 0 ? db_ask(sv->db, SQL_CHANGED_JOB, "iii", sub->sweep, sub->job, sub->cursor)
                      : db_ask(sv->db, SQL_CHANGED_JOBS, "iii", sub->sweep, sub->cursor,
                               (int64_t)SUBSCRIBE_JOBS_MAX + 1);
    while ((rc = stmt_step(s, e)) == 1 && n < SUBSCRIBE_JOBS_MAX && size_bytes < ROWS_PAGE_BYTES) {
        cursor = stmt_int(s, 1);
        rc = row_job(sv, page->sweep.project, stmt_int(s, 0), a, &items[n++], &size_bytes, e);
        if (rc < 0)
            break;
    }
    stmt_end(s);
    page->more = rc == 1;
    if (page->more)
        page->cursor = cursor;
    page->jobs = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}

static void advance(struct subscription *sub, const struct msg_changes *page)
{
    sub->cursor = page->cursor;
    sub->is_behind = page->more;
    sub->last_state = page->sweep.state;
    sub->log.told_bytes = page->log_bytes;
}

/* ---- pushing ---- */

/* Sends the next page: 0, or -1 when that failed and the connection was ended. */
static int push(struct server *sv, struct conn *c, struct subscription *sub, struct arena *a)
{
    struct msg_changes page = { 0 };
    struct followed before;
    struct err e = { 0 };
    int64_t owner;
    bool is_news;

    arena_reset(a);
    if (sub->log.is_wanted) { /* another attempt may have begun */
        if (followed_look(sv, sub, &before, &e) < 0)
            goto fail;
        followed_move(sv, sub, &before);
    }
    if (fill_page(sv, sub, a, &page, &owner, &e) < 0 || db_check(sv->db, &e) < 0)
        goto fail;
    /* A subscriber of one job is not told about the other jobs. */
    is_news = sub->job == 0 || page.jobs.n > 0 || page.sweep.state != sub->last_state ||
              page.log_bytes != sub->log.told_bytes;
    if (is_news && chan_send(c->chan, MSG_CHANGES, sub->re, NULL, &page, &e) < 0)
        goto fail;
    advance(sub, &page);
    return 0;
fail:
    /* A subscriber that misses a page would wait for ever; if its connection ends it asks anew. */
    log_event(LOG_ERROR, "push-failed", "conn", "%lld", (long long)c->number, "sweep", "%lld",
              (long long)sub->sweep, "error", "%s", e.text, NULL);
    conn_end(c);
    return -1;
}

static bool is_any_behind(const struct conn *c)
{
    const struct subscription *sub;

    for (sub = c->subscriptions; sub != NULL; sub = sub->next)
        if (sub->is_behind)
            return true;
    return false;
}

void subscribe_pump(struct server *sv)
{
    struct arena *a = NULL;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        struct subscription *sub = is_any_behind(c) ? c->subscriptions : NULL;
        int rc = 0;

        if (a == NULL && sub != NULL)
            a = arena_create();
        for (; sub != NULL && conn_has_room(c) && rc == 0; sub = sub->next)
            if (sub->is_behind)
                rc = push(sv, c, sub, a);
        if (rc == 0 && is_any_behind(c) && conn_has_room(c))
            turn_wake(sv->turn);
    }
    arena_destroy(a);
}

static void mark_behind(struct server *sv, int64_t sweep)
{
    struct subscription *sub;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        for (sub = c->subscriptions; sub != NULL; sub = sub->next)
            sub->is_behind |= sub->sweep == sweep;
}

void subscribe_touch(struct server *sv, int64_t sweep)
{
    turn_after(sv, mark_behind, sweep);
}

/* ---- subscribing ---- */

static void subscription_add(struct server *sv, void *context)
{
    struct subscription *sub = context;
    struct conn *c = conn_find(sv, sub->conn);

    if (c == NULL) {
        free(sub);
        return;
    }
    sub->next = c->subscriptions;
    c->subscriptions = sub;
    followed_move(sv, sub, &(struct followed){ 0 });
}

/* Answers with the first page; the subscription begins after that page, with this turn's commit. */
int handle_subscribe(struct server *sv, struct ask *ask, const void *request, void *reply,
                     struct err *e)
{
    const struct msg_subscribe *req = request;
    struct msg_changes *rep = reply;
    struct subscription sub = { .conn = ask->conn->number,
                                .re = ask->envelope->seq,
                                .sweep = req->sweep,
                                .job = req->job,
                                .cursor = req->cursor < 0 ? turn_version(sv) : req->cursor,
                                .has_jobs = req->jobs || req->job != 0,
                                .log = { .is_wanted = req->log } };
    struct followed none;
    int64_t owner;
    int rc, n = 0;

    if (req->log && req->job == 0)
        return err_set(e, ERR_USAGE, "the log of one job, not of all");
    for (const struct subscription *other = ask->conn->subscriptions; other != NULL;
         other = other->next)
        n++;
    if (n >= SUBSCRIBE_MAX)
        return err_set(e, ERR_BUSY, "%d subscriptions on one connection", SUBSCRIBE_MAX);
    if (fill_page(sv, &sub, ask->arena, rep, &owner, e) < 0)
        return -1;
    rc = sub.has_jobs ? project_may_see(sv, ask, owner, &rep->sweep, e) : 0;
    if (rc != 0)
        return rc;
    if (req->log && followed_look(sv, &sub, &none, e) < 0)
        return -1;
    advance(&sub, rep);
    turn_after_with(sv, subscription_add, free, mem_copy(&sub, sizeof sub));
    return 0;
}

void subscribe_forget(struct conn *c)
{
    while (c->subscriptions != NULL) {
        struct subscription *sub = c->subscriptions;
        struct followed before = sub->log;

        c->subscriptions = sub->next;
        sub->log = (struct followed){ 0 };
        followed_move(c->sv, sub, &before);
        free(sub);
    }
}
