/* SPDX-License-Identifier: MIT */
/* subscribe.c - cursors, and pages of what lies beyond them */
#include "server/queue/subscribe.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/queue/rows.h"
#include "server/queue/subscription.h"
#include "server/share/project.h"

/* ---- pages ---- */

static struct stmt *ask_changed(struct server *sv, const struct subscription *sub)
{
    if (sub->job != 0)
        return db_ask(sv->db, SQL_CHANGED_JOB, "iii", sub->sweep, sub->job, sub->cursor);
    return db_ask(sv->db, SQL_CHANGED_JOBS, "iii", sub->sweep, sub->cursor,
                  (int64_t)SUBSCRIBE_JOBS_MAX + 1);
}

/* The cursor is that of the last job while more follow, else that of everything so far. */
static int add_jobs(struct server *sv, const struct subscription *sub, struct arena *a,
                    struct msg_changes *page, struct err *e)
{
    struct job_info *items = arena_alloc(a, SUBSCRIBE_JOBS_MAX * sizeof *items);
    struct stmt *s = ask_changed(sv, sub);
    int64_t cursor = sub->cursor;
    size_t size_bytes = 0;
    size_t n = 0;
    int rc;

    while ((rc = stmt_step(s, e)) == 1 && n < SUBSCRIBE_JOBS_MAX && size_bytes < ROWS_PAGE_BYTES) {
        cursor = stmt_int(s, 1);
        if (row_job(sv, page->sweep.project, stmt_int(s, 0), a, &items[n++], &size_bytes, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    page->more = rc == 1;
    if (page->more)
        page->cursor = cursor;
    page->jobs = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}

static int fill_page(struct server *sv, const struct subscription *sub, struct arena *a,
                     struct msg_changes *page, int64_t *owner, struct err *e)
{
    page->cursor = turn_version(sv);
    page->log_bytes = sub->log.size_bytes;
    if (row_sweep(sv, sub->sweep, a, &page->sweep, owner, e) < 0)
        return -1;
    return sub->has_jobs ? add_jobs(sv, sub, a, page, e) : 0;
}

static void advance(struct subscription *sub, const struct msg_changes *page)
{
    sub->cursor = page->cursor;
    sub->is_behind = page->more;
    sub->last_state = page->sweep.state;
    sub->log.told_bytes = page->log_bytes;
}

/* ---- pushing ---- */

/* Who follows one job is not told how all the others get on. */
static bool is_news(const struct subscription *sub, const struct msg_changes *page)
{
    return sub->job == 0 || page->jobs.n > 0 || page->sweep.state != sub->last_state ||
           page->log_bytes != sub->log.told_bytes;
}

/* Another attempt may have begun. */
static int look_at_log(struct server *sv, struct subscription *sub, struct err *e)
{
    struct followed before;

    if (!sub->log.is_wanted)
        return 0;
    if (followed_look(sv, sub, &before, e) < 0)
        return -1;
    followed_move(sv, sub, &before);
    return 0;
}

/* A subscriber that misses a page would wait for ever: its connection ends, and it asks anew. */
static void end_subscriber(struct conn *c, const struct subscription *sub, const struct err *why)
{
    log_event(LOG_ERROR, "push-failed", "conn", "%lld", (long long)c->number, "sweep", "%lld",
              (long long)sub->sweep, "error", "%s", why->text, NULL);
    conn_end(c);
}

/* 0, or -1 when the connection was ended. */
static int push(struct server *sv, struct conn *c, struct subscription *sub, struct arena *a)
{
    struct msg_changes page = { 0 };
    struct err e = { 0 };
    int64_t owner;

    arena_reset(a);
    if (look_at_log(sv, sub, &e) < 0 || fill_page(sv, sub, a, &page, &owner, &e) < 0 ||
        (is_news(sub, &page) && chan_send(c->chan, MSG_CHANGES, sub->re, NULL, &page, &e) < 0)) {
        end_subscriber(c, sub, &e);
        return -1;
    }
    advance(sub, &page);
    return 0;
}

static bool is_any_behind(const struct conn *c)
{
    const struct subscription *sub;

    for (sub = c->subscriptions; sub != NULL; sub = sub->next)
        if (sub->is_behind)
            return true;
    return false;
}

static void pump_conn(struct server *sv, struct conn *c, struct arena *a)
{
    struct subscription *sub;

    for (sub = c->subscriptions; sub != NULL && conn_has_room(c); sub = sub->next)
        if (sub->is_behind && push(sv, c, sub, a) < 0)
            return;
    if (is_any_behind(c) && conn_has_room(c))
        turn_wake(sv->turn);
}

void subscribe_pump(struct server *sv)
{
    struct arena *a = NULL;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number)) {
        if (!is_any_behind(c))
            continue;
        if (a == NULL)
            a = arena_create();
        pump_conn(sv, c, a);
    }
    arena_destroy(a);
}

static void touch(struct server *sv, int64_t sweep)
{
    struct subscription *sub;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        for (sub = c->subscriptions; sub != NULL; sub = sub->next)
            sub->is_behind |= sub->sweep == sweep;
}

void subscribe_touch(struct server *sv, int64_t sweep)
{
    turn_after(sv, touch, sweep);
}

/* ---- subscribing ---- */

static void attach(struct server *sv, void *context)
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

static int check_count(const struct conn *c, struct err *e)
{
    const struct subscription *sub;
    int n = 0;

    for (sub = c->subscriptions; sub != NULL; sub = sub->next)
        n++;
    if (n >= SUBSCRIBE_MAX)
        return err_set(e, ERR_BUSY, "%d subscriptions on one connection", SUBSCRIBE_MAX);
    return 0;
}

/* The answer is the first page; the subscription begins behind it, with this turn's commit. */
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
    struct subscription *kept;
    int64_t owner;
    int rc;

    if (req->log && req->job == 0)
        return err_set(e, ERR_USAGE, "the log of one job, not of all");
    if (check_count(ask->conn, e) < 0 || fill_page(sv, &sub, ask->arena, rep, &owner, e) < 0)
        return -1;
    rc = sub.has_jobs ? project_may_see(sv, ask, owner, &rep->sweep, e) : 0;
    if (rc != 0)
        return rc;
    if (req->log && followed_look(sv, &sub, &none, e) < 0)
        return -1;
    advance(&sub, rep);
    kept = mem_copy(&sub, sizeof sub);
    turn_after_with(sv, attach, free, kept);
    return 0;
}

void subscribe_forget(struct conn *c)
{
    while (c->subscriptions != NULL) {
        struct subscription *sub = c->subscriptions;

        c->subscriptions = sub->next;
        followed_end(c->sv, sub);
        free(sub);
    }
}
