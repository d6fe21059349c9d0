/* SPDX-License-Identifier: MIT */
/* dispatch.c - the table of handlers, and the way through it */
#include "server/loop/dispatch.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/conn/request_task.h"

enum { ANSWER_MAX_BYTES = FRAME_MAX_BYTES - 1024, FORGET_AT_ONCE = 1000 };

static const handler_fn handlers[MSG_COUNT] = {
#define X(constant, number, name, ...) [constant] = handle_##name,
    MESSAGES_TO_SERVER(X)
#undef X
};

/* A request, for as long as it takes. */
struct call {
    struct conn *conn;
    struct envelope envelope;
    struct ask ask;
    void *request;
};

struct unfinished {
    struct call call;
    struct arena *arena;
};

static const struct message *message_of(const struct call *call)
{
    return &proto.messages[call->envelope.type];
}

/* Once for each submit: only as long as the connection does an opened sweep live, and so its answer. */
static bool is_answer_kept(const struct call *call)
{
    return message_of(call)->flags & CHANGES && call->envelope.type != MSG_SUBMIT_BEGIN;
}

/* ---- errors ---- */

static void answer_error(struct conn *c, int64_t re, const struct err *why)
{
    struct msg_error body = { (int)why->kind, why->text };
    struct buf encoded = { 0 };

    schema_encode(proto.messages[MSG_ERROR].schema, &body, &encoded);
    conn_answer(c, MSG_ERROR, re, &encoded);
}

static void cut_off(struct conn *c, int64_t re, const struct err *why)
{
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

/* ---- the rules ---- */

static int check_allowed(const struct call *call, struct err *e)
{
    const struct message *m = message_of(call);
    const struct conn *c = call->conn;

    if (!c->greeted && call->envelope.type != MSG_HELLO)
        return err_set(e, ERR_PROTOCOL, "say hello before %s", m->name);
    if (c->greeted && call->envelope.type == MSG_HELLO)
        return err_set(e, ERR_PROTOCOL, "hello was said already");
    if (handlers[call->envelope.type] == NULL || (c->greeted && (m->flags & c->role) == 0))
        return err_set(e, ERR_PROTOCOL, "%s is not yours to send", m->name);
    if (m->flags & CHANGES && token_is_zero(&call->envelope.id))
        return err_set(e, ERR_PROTOCOL, "%s needs a request id", m->name);
    return 0;
}

/* ---- kept answers ---- */

/* 1 when the request was answered before, and now again; 0, -1. */
static int answer_again(struct server *sv, const struct call *call, struct err *e)
{
    const struct envelope *m = &call->envelope;
    struct stmt *s = db_ask(sv->db, SQL_REQUEST_GET, "ti", &m->id, (int64_t)call->conn->uid);
    int rc = stmt_step(s, e);

    if (rc == 1 && stmt_int(s, 0) != m->type) {
        int64_t type = stmt_int(s, 0); /* a newer ludwigd knows more types */

        rc = err_set(e, ERR_PROTOCOL, "this request id was used for a %s",
                     type >= 0 && type < MSG_COUNT ? proto.messages[type].name
                                                   : "message of a newer ludwigd");
    } else if (rc == 1) {
        struct bytes kept = stmt_bytes(s, 1);
        struct buf answer = { 0 };

        buf_add(&answer, kept.data, kept.n);
        conn_answer(call->conn, message_of(call)->reply, m->seq, &answer);
    }
    stmt_end(s);
    return rc;
}

static int keep_answer(struct server *sv, const struct call *call, const struct buf *answer,
                       struct err *e)
{
    return db_run(sv->db, e, SQL_REQUEST_KEEP, "tiiib", &call->envelope.id,
                  (int64_t)call->conn->uid, turn_now_ms(sv), (int64_t)call->envelope.type,
                  buf_bytes(answer)) < 0
               ? -1
               : 0;
}

int dispatch_forget_requests(struct server *sv, int64_t unused, struct err *e)
{
    int64_t before_ms = turn_now_ms(sv) - REQUESTS_KEPT_MS;
    int n = db_run(sv->db, e, SQL_REQUESTS_FORGET, "ii", before_ms, (int64_t)FORGET_AT_ONCE);

    (void)unused;
    return n < 0 ? -1 : n == FORGET_AT_ONCE;
}

/* ---- calling ---- */

static int encode_answer(struct server *sv, const struct call *call, const void *reply,
                         struct err *e)
{
    const struct message *answer = &proto.messages[message_of(call)->reply];
    struct buf encoded = { 0 };

    schema_encode(answer->schema, reply, &encoded);
    if (encoded.n > ANSWER_MAX_BYTES)
        err_set(e, ERR_INTERNAL, "the answer would be larger than a frame; ask for less");
    else if (!is_answer_kept(call) || keep_answer(sv, call, &encoded, e) == 0) {
        conn_answer(call->conn, message_of(call)->reply, call->envelope.seq, &encoded);
        return 0;
    }
    buf_free(&encoded);
    return -1;
}

static int call_handler(struct server *sv, void *context, struct err *e)
{
    struct call *call = context;
    int type = message_of(call)->reply;
    void *reply = type < 0 ? NULL : arena_alloc(call->ask.arena, proto.messages[type].schema->size);
    int rc = is_answer_kept(call) ? answer_again(sv, call, e) : 0;

    if (rc != 0)
        return rc < 0 ? -1 : 0;
    rc = handlers[call->envelope.type](sv, &call->ask, call->request, reply, e);
    if (rc == 0 && reply != NULL)
        return encode_answer(sv, call, reply, e);
    return rc;
}

static int step(struct server *sv, struct call *call)
{
    struct err e = { 0 };
    int rc;

    call->ask.conn = call->conn;
    call->ask.envelope = &call->envelope;
    rc = turn_step(sv, call_handler, call, &e);
    if (rc < 0 && call->envelope.type == MSG_HELLO)
        cut_off(call->conn, call->envelope.seq, &e);
    else if (rc < 0)
        answer_error(call->conn, call->envelope.seq, &e);
    return rc;
}

static int read_request(struct call *call, const struct envelope *m, struct arena *a, struct err *e)
{
    if (check_allowed(call, e) < 0)
        return -1;
    call->request = arena_alloc(a, proto.messages[m->type].schema->size);
    return message_body(&proto, m, a, call->request, e);
}

static void give_up(struct call *call)
{
    request_task_drop(call->ask.errand);
    call->ask.errand = NULL;
    call->conn->is_waiting = false;
}

void dispatch_message(struct server *sv, struct conn *c, const struct envelope *m,
                      struct arena **arena)
{
    struct call call = { .conn = c, .envelope = *m, .ask = { .arena = *arena } };
    struct err e = { 0 };

    c->heard_ms = uv_now(&sv->loop);
    if (read_request(&call, m, *arena, &e) < 0) {
        cut_off(c, m->seq, &e);
        return;
    }
    if (step(sv, &call) <= 0) {
        give_up(&call);
        return;
    }
    c->unfinished = mem_alloc(sizeof *c->unfinished);
    *c->unfinished = (struct unfinished){ call, *arena };
    *arena = arena_create();
}

int64_t dispatch_go_on(struct server *sv, struct conn *c)
{
    struct unfinished *u = c->unfinished;
    int64_t seq = u->call.envelope.seq;

    if (step(sv, &u->call) <= 0)
        dispatch_forget(c);
    return seq;
}

void dispatch_forget(struct conn *c)
{
    if (c->unfinished == NULL)
        return;
    give_up(&c->unfinished->call);
    arena_destroy(c->unfinished->arena);
    free(c->unfinished);
    c->unfinished = NULL;
}
