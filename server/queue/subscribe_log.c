/* SPDX-License-Identifier: MIT */
/* subscribe_log.c - workers tell how far logs have grown, while somebody follows them */
#include "common/base/log.h"
#include "server/conn/conn.h"
#include "server/conn/handler.h"
#include "server/queue/subscribe.h"
#include "server/queue/subscription.h"

int followed_look(struct server *sv, struct subscription *sub, struct followed *before,
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

static void order(struct server *sv, const struct followed *log, bool on)
{
    struct msg_follow_log body = { log->token, on };
    struct conn *c = conn_of_worker(sv, log->worker);
    struct err e = { 0 };

    if (c != NULL && chan_send(c->chan, MSG_FOLLOW_LOG, 0, NULL, &body, &e) < 0)
        log_event(LOG_DEBUG, "not-followed", "conn", "%lld", (long long)c->number, "why", "%s",
                  e.text, NULL);
}

/* Another subscription that follows the same log. */
static struct subscription *find_other(struct server *sv, const struct token *token,
                                       const struct subscription *except)
{
    struct subscription *sub;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        for (sub = c->subscriptions; sub != NULL; sub = sub->next)
            if (sub != except && sub->log.is_live && token_equal(&sub->log.token, token))
                return sub;
    return NULL;
}

static void begin(struct server *sv, struct subscription *sub)
{
    const struct subscription *other = find_other(sv, &sub->log.token, sub);

    if (other == NULL)
        order(sv, &sub->log, true);
    else if (other->log.size_bytes > sub->log.size_bytes)
        sub->log.size_bytes = other->log.size_bytes; /* it is not told twice */
    sub->is_behind |= sub->log.size_bytes != sub->log.told_bytes;
}

static void end(struct server *sv, const struct subscription *sub, const struct followed *log)
{
    if (find_other(sv, &log->token, sub) == NULL)
        order(sv, log, false);
}

void followed_move(struct server *sv, struct subscription *sub, const struct followed *before)
{
    bool is_same = token_equal(&before->token, &sub->log.token);

    if (before->is_live && !(is_same && sub->log.is_live))
        end(sv, sub, before);
    if (sub->log.is_live && !(is_same && before->is_live))
        begin(sv, sub);
}

void followed_end(struct server *sv, struct subscription *sub)
{
    if (sub->log.is_live)
        end(sv, sub, &sub->log);
}

void subscribe_registered(struct server *sv, int64_t worker)
{
    struct subscription *sub;
    struct conn *c;

    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        for (sub = c->subscriptions; sub != NULL; sub = sub->next)
            if (sub->log.is_live && sub->log.worker == worker)
                order(sv, &sub->log, true);
}

/* In memory alone, and only for who is told of it. */
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
