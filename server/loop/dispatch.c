/* SPDX-License-Identifier: MIT */
/* dispatch.c - the table of handlers, and how a message gets to its handler */
#include "server/loop/dispatch.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/conn_user.h"

enum {
    ANSWER_MAX_BYTES = FRAME_MAX_BYTES - 1024,
    FORGET_AT_ONCE = 1000,
    LOOK_FOR_MORE_EVERY = 1000 /* kept answers of a user between two looks for too many of them */
};

static const handler_fn handlers[MSG_COUNT] = {
#define X(constant, number, name, ...) [constant] = handle_##name,
    MESSAGES_TO_SERVER(X)
#undef X
};

/* A request; kept with its arena when the handler has more to do. */
struct unfinished {
    struct envelope envelope;
    struct ask ask;
    void *request;
};

/* ---- errors ---- */

static void answer_error(struct conn *c, int64_t re, const struct err *why)
{
    struct msg_error body = { (int)why->kind, why->text };
    struct buf encoded = { 0 };

    schema_encode(proto.messages[MSG_ERROR].schema, &body, &encoded);
    conn_answer(c, MSG_ERROR, re, &encoded);
}

/* Tells a peer why, and cuts it off. */
static void cut_off(struct conn *c, int64_t re, const struct err *why)
{
    static struct log_brake limit;

    if (log_may(&limit, "cut-off"))
        log_event(LOG_WARN, "cut-off", "conn", "%lld", (long long)c->number, "user", "%s", c->user,
                  "why", "%s", why->text, NULL);
    answer_error(c, re, why);
    conn_end(c);
}

void dispatch_refused(struct conn *c, const struct envelope *m, const struct err *why)
{
    bool is_unknown_type = m->seq > 0 && m->type < 0;

    if (is_unknown_type && c->greeted)
        answer_error(c, m->seq, why);
    else
        cut_off(c, m->seq, why);
}

int dispatch_forget_requests(struct server *sv, int64_t unused, struct err *e)
{
    int64_t before_ms = turn_now_ms(sv) - REQUESTS_KEPT_MS;
    int n = db_run(sv->db, e, SQL_REQUESTS_FORGET, "ii", before_ms, (int64_t)FORGET_AT_ONCE);

    (void)unused;
    return n < 0 ? -1 : n == FORGET_AT_ONCE;
}

int dispatch_forget_more(struct server *sv, int64_t uid, struct err *e)
{
    int n = db_run(sv->db, e, SQL_REQUESTS_FORGET_MORE, "iii", uid, (int64_t)REQUESTS_KEPT,
                   (int64_t)FORGET_AT_ONCE);

    return n < 0 ? -1 : n == FORGET_AT_ONCE;
}

/* ---- calling ---- */

static int keep_answer(struct server *sv, const struct unfinished *u, const struct buf *answer,
                       struct err *e)
{
    const struct envelope *m = &u->envelope;
    struct conn_user *user = u->ask.conn->shared;

    if (++user->kept_answers % LOOK_FOR_MORE_EVERY == 0)
        turn_add_work(sv->turn, dispatch_forget_more, (int64_t)user->uid);
    return db_run(sv->db, e, SQL_REQUEST_KEEP, "tiiib", &m->id, (int64_t)user->uid, turn_now_ms(sv),
                  (int64_t)m->type, buf_bytes(answer));
}

/* Runs the handler, unless the request was answered before and that answer was kept.  Answers to
 * submit_begin are not kept: an opened sweep, and so its answer, lives only as long as the
 * connection. */
static int call_handler(struct server *sv, void *context, struct err *e)
{
    struct unfinished *u = context;
    const struct envelope *m = &u->envelope;
    struct conn *c = u->ask.conn;
    int64_t uid = (int64_t)c->uid;
    int type = proto.messages[m->type].reply;
    const struct schema *schema = type < 0 ? NULL : proto.messages[type].schema;
    void *reply = type < 0 ? NULL : arena_alloc(u->ask.arena, schema->size);
    bool is_kept = proto.messages[m->type].flags & CHANGES && m->type != MSG_SUBMIT_BEGIN;
    struct buf answer = { 0 };
    int rc;

    if (is_kept) {
        struct stmt *s = db_ask(sv->db, SQL_REQUEST_GET, "ti", &m->id, uid);
        int64_t before = -1; /* the type of the message that got the kept answer */

        rc = stmt_step(s, e);
        if (rc == 1) {
            struct bytes kept = stmt_bytes(s, 1);

            before = stmt_int(s, 0);
            buf_add(&answer, kept.data, kept.n);
        }
        stmt_end(s);
        if (rc < 0)
            return -1;
        if (rc == 1 && before == m->type) {
            conn_answer(c, type, m->seq, &answer);
            return 0;
        }
        buf_free(&answer);
        if (rc == 1) /* a newer ludwigd knows more types */
            return err_set(e, ERR_PROTOCOL, "this request id was used for a %s",
                           before >= 0 && before < MSG_COUNT ? proto.messages[before].name
                                                             : "message of a newer ludwigd");
    }
    rc = handlers[m->type](sv, &u->ask, u->request, reply, e);
    if (rc != 0 || reply == NULL)
        return rc;
    schema_encode(schema, reply, &answer);
    if (answer.n > ANSWER_MAX_BYTES)
        rc = err_set(e, ERR_INTERNAL, "the answer would be larger than a frame; ask for less");
    else if (is_kept)
        rc = keep_answer(sv, u, &answer, e);
    if (rc >= 0)
        conn_answer(c, type, m->seq, &answer);
    else
        buf_free(&answer);
    return rc < 0 ? -1 : 0;
}

/* Calls the request's handler and returns its answer: -1 (the peer was told why), 0, or more when
 * the handler is to be called again. */
static int step(struct server *sv, struct unfinished *u)
{
    struct conn *c = u->ask.conn;
    struct err e = { 0 };
    int rc;

    u->ask.envelope = &u->envelope;
    rc = turn_step(sv, call_handler, u, &e);
    if (rc < 0 && u->envelope.type == MSG_HELLO)
        cut_off(c, u->envelope.seq, &e);
    else if (rc < 0)
        answer_error(c, u->envelope.seq, &e);
    if (rc <= 0) {
        request_task_drop(u->ask.errand);
        c->is_waiting = false;
    }
    return rc;
}

void dispatch_message(struct server *sv, struct conn *c, const struct envelope *m,
                      struct arena **arena)
{
    struct unfinished u = { .envelope = *m, .ask = { .conn = c, .arena = *arena } };
    const struct message *kind = &proto.messages[m->type];
    struct err e = { 0 };

    c->heard_ms = uv_now(&sv->loop);
    if (!c->greeted && m->type != MSG_HELLO)
        err_set(&e, ERR_PROTOCOL, "say hello before %s", kind->name);
    else if (c->greeted && m->type == MSG_HELLO)
        err_set(&e, ERR_PROTOCOL, "hello was said already");
    else if (handlers[m->type] == NULL || (c->greeted && (kind->flags & c->role) == 0))
        err_set(&e, ERR_PROTOCOL, "%s is not yours to send", kind->name);
    else if (kind->flags & CHANGES && token_is_zero(&m->id))
        err_set(&e, ERR_PROTOCOL, "%s needs a request id", kind->name);
    else {
        u.request = arena_alloc(*arena, kind->schema->size);
        (void)message_body(&proto, m, *arena, u.request, &e);
    }
    if (e.kind != ERR_NONE) {
        cut_off(c, m->seq, &e);
        return;
    }
    if (kind->flags & CHANGES || m->type == MSG_REGISTER)
        conn_changes(c);
    if (step(sv, &u) <= 0)
        return;
    c->unfinished = mem_copy(&u, sizeof u);
    c->unfinished_bytes = arena_bytes(*arena);
    *arena = arena_create();
}

int64_t dispatch_go_on(struct server *sv, struct conn *c)
{
    struct unfinished *u = c->unfinished;
    int64_t seq = u->envelope.seq;

    if (step(sv, u) <= 0) {
        u->ask.errand = NULL;
        dispatch_forget(c);
    }
    return seq;
}

void dispatch_forget(struct conn *c)
{
    if (c->unfinished == NULL)
        return;
    request_task_drop(c->unfinished->ask.errand);
    c->is_waiting = false;
    arena_destroy(c->unfinished->ask.arena);
    free(c->unfinished);
    c->unfinished = NULL;
    c->unfinished_bytes = 0;
}
