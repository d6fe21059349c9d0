/* SPDX-License-Identifier: MIT */
/* rpc.c - questions to ludwigd, and its answers */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/session/rpc.h"
#include "client/util/unixsocket.h"
#include "common/base/units.h"
#include "common/ssh/prompt.h"

enum { FIRST_PAUSE_MS = 20, LONGEST_PAUSE_MS = 1000 };

bool rpc_is_answered(const char *socket_path)
{
    int fd = unixsocket_connect(socket_path, NULL);

    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* ---- opening ---- */

static void keep_welcome(struct rpc *r, const struct msg_welcome *w)
{
    arena_reset(r->arena);
    r->welcome = *w;
    r->welcome.server_id = arena_strdup(r->arena, w->server_id);
    r->welcome.server_version =
        arena_strdup(r->arena, w->server_version != NULL ? w->server_version : "");
    r->welcome.user = arena_strdup(r->arena, w->user != NULL ? w->user : "");
    r->welcome.share = arena_strdup(r->arena, w->share != NULL ? w->share : "");
    r->welcome.projects = arena_strdup(r->arena, w->projects != NULL ? w->projects : "");
}

static bool ask_ahead(struct rpc *r)
{
    const struct rpc_ahead *a = r->ahead;
    struct token id;
    bool lost;

    if (a == NULL || a->is_answered)
        return false;
    token_make(&id);
    return rpc_send(r, a->type, &id, a->request, &lost, NULL) >= 0;
}

/* Where the connection breaks it is asked again, with the next greeting or without. */
static void take_ahead(struct rpc *r)
{
    struct rpc_ahead *a = r->ahead;
    bool lost;

    (void)rpc_receive(r, (enum msg_type)proto.messages[a->type].reply, a->reply, &lost, &a->why);
    a->is_answered = !lost;
    if (lost)
        a->why = (struct err){ 0 };
}

static int greet(struct rpc *r, bool *lost, struct err *e)
{
    char *host = unixsocket_host();
    struct msg_hello hello = {
        .version = PROTO_VERSION, .program = "ludwig", .host = host, .user_label = r->user_label
    };
    struct msg_welcome welcome = { 0 };
    int64_t began_ms = units_monotonic_ms();
    int64_t seq = rpc_send(r, MSG_HELLO, NULL, &hello, lost, e);

    r->is_asked_ahead = seq >= 0 && ask_ahead(r);
    free(host);
    if (seq >= 0 && r->greeting != NULL)
        r->greeting(r->context);
    /* Who is turned away at once may be too late to ask, but not to read why. */
    if ((seq < 0 && !*lost) || rpc_receive(r, MSG_WELCOME, &welcome, lost, e) < 0)
        return -1;
    keep_welcome(r, &welcome);
    r->round_trip_ms = units_monotonic_ms() - began_ms;
    r->n_opened++;
    if (r->is_asked_ahead)
        take_ahead(r);
    return 0;
}

static int begin_ssh(struct rpc *r, struct err *e)
{
    struct mux_options o = { .may_prompt = prompt_is_welcome(),
                             .interrupt_fd = r->interrupt_fd,
                             .idle = r->idle,
                             .events = r->events,
                             .context = r->context };

    r->mux = mux_begin(&r->to, &o, e);
    return r->mux == NULL ? -1 : 0;
}

static void drop_ssh(struct rpc *r)
{
    mux_close(r->mux);
    r->mux = NULL;
}

/* The one there is, or a new one. */
static int wait_for_ssh(struct rpc *r, struct err *e)
{
    if (r->mux == NULL && begin_ssh(r, e) < 0)
        return -1;
    if (mux_wait(r->mux, e) == 0)
        return 0;
    drop_ssh(r);
    return -1;
}

/* A new connection, if the last one is gone; else another channel of it. */
static int connect_ssh(struct rpc *r, struct err *e)
{
    if (r->mux != NULL && !mux_is_alive(r->mux))
        drop_ssh(r);
    if (wait_for_ssh(r, e) < 0)
        return -1;
    if (!r->wants_sftp)
        return mux_server(r->mux, &r->way, e);
    r->wants_sftp = false;
    return mux_server_and_sftp(r->mux, &r->way, e);
}

/* What may be otherwise the next time; a key that was refused is not. */
static bool is_passing(const struct rpc *r, const struct err *why)
{
    return r->to.kind == ENDPOINT_UNIX || why->kind == ERR_UNREACHABLE;
}

/* One try. */
static int connect_once(struct rpc *r, bool *lost, struct err *e)
{
    struct err why = { 0 };
    int fd =
        r->to.kind == ENDPOINT_SSH ? connect_ssh(r, &why) : unixsocket_connect(r->to.path, &why);

    *lost = is_passing(r, &why);
    r->is_asked_ahead = false;
    if (fd < 0)
        return err_set(e, why.kind, "%s", why.text);
    wire_init(&r->wire, fd, &proto);
    r->wire.idle = r->idle;
    *lost = false;
    if (greet(r, lost, e) == 0)
        return 0;
    wire_close(&r->wire);
    return -1;
}

static void keep_endpoint(struct rpc *r, const struct endpoint *to)
{
    r->place = arena_create();
    r->to = *to;
    r->to.text = arena_strdup(r->place, to->text);
    r->to.user = to->user != NULL ? arena_strdup(r->place, to->user) : NULL;
    r->to.host = to->host != NULL ? arena_strdup(r->place, to->host) : NULL;
    r->to.path = to->path != NULL ? arena_strdup(r->place, to->path) : NULL;
}

void rpc_begin(struct rpc *r, const struct endpoint *to, const char *user_label,
               const struct rpc_company *company)
{
    *r = (struct rpc){ .wire = { .fd = -1 },
                       .user_label = user_label != NULL ? mem_strdup(user_label) : NULL,
                       .arena = arena_create(),
                       .patience_ms = RPC_PATIENCE_MS,
                       .interrupt_fd = -1,
                       .idle = company->idle,
                       .events = company->events,
                       .context = company->context };
    keep_endpoint(r, to);
    if (to->kind == ENDPOINT_SSH)
        (void)begin_ssh(r, NULL);
}

int rpc_wait(struct rpc *r, struct err *e)
{
    if (r->to.kind != ENDPOINT_SSH || wait_for_ssh(r, e) == 0)
        return 0;
    rpc_close(r);
    return -1;
}

/* The greeting alone, where the connection broke before the answer to it: what was asked along with
 * it may be to blame. */
static int greet_alone(struct rpc *r, struct err *e)
{
    struct rpc_ahead *ahead = r->ahead;
    bool lost;
    int result;

    r->ahead = NULL;
    result = connect_once(r, &lost, e);
    r->ahead = ahead;
    return result;
}

int rpc_greet(struct rpc *r, struct err *e)
{
    bool lost;

    if (connect_once(r, &lost, e) == 0 || (lost && r->is_asked_ahead && greet_alone(r, e) == 0))
        return 0;
    rpc_close(r);
    return -1;
}

int rpc_open(struct rpc *r, const struct endpoint *to, const char *user_label, struct err *e)
{
    rpc_begin(r, to, user_label, &(struct rpc_company){ 0 });
    return rpc_greet(r, e);
}

int rpc_open_path(struct rpc *r, const char *socket_path, const char *user_label, struct err *e)
{
    const struct endpoint here = { .kind = ENDPOINT_UNIX,
                                   .text = socket_path,
                                   .path = socket_path };

    return rpc_open(r, &here, user_label, e);
}

void rpc_close(struct rpc *r)
{
    if (r->arena == NULL)
        return;
    wire_close(&r->wire);
    mux_close(r->mux);
    arena_destroy(r->arena);
    arena_destroy(r->place);
    free(r->user_label);
    *r = (struct rpc){ .wire = { .fd = -1 } };
}

/* Clients that lost the same server do not all come back in the same moment. */
static int jittered(int64_t pause_ms)
{
    struct token random;

    token_make(&random);
    return (int)(pause_ms / 2 + random.bytes[0] * pause_ms / 512);
}

static int64_t longer(int64_t pause_ms)
{
    return pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
}

/* Sleeps; false when the user interrupts. */
static bool rest(const struct rpc *r, int64_t pause_ms)
{
    struct pollfd fd = { .fd = r->interrupt_fd, .events = POLLIN };

    return poll(&fd, 1, jittered(pause_ms)) <= 0;
}

int rpc_reopen(struct rpc *r, struct err *e)
{
    int64_t deadline_ms = units_monotonic_ms() + r->patience_ms;
    bool lost = true;

    wire_close(&r->wire);
    for (int64_t pause_ms = FIRST_PAUSE_MS;; pause_ms = longer(pause_ms)) {
        if (connect_once(r, &lost, e) == 0)
            return 0;
        if (!lost || units_monotonic_ms() >= deadline_ms)
            return err_wrap(e, "the connection to the server was lost");
        if (!rest(r, pause_ms))
            return err_set(e, ERR_UNREACHABLE, "interrupted while the server was away");
    }
}

/* ---- asking ---- */

int64_t rpc_send(struct rpc *r, enum msg_type type, const struct token *id, const void *body,
                 bool *lost, struct err *e)
{
    struct err why = { 0 };
    int64_t seq = wire_send(&r->wire, (int)type, 0, id, body, &why);

    *lost = seq < 0 && why.kind == ERR_UNREACHABLE;
    if (seq < 0)
        err_set(e, why.kind, "%s", why.text);
    return seq;
}

static int take_error(struct rpc *r, const struct envelope *m, struct err *e)
{
    struct msg_error error;

    if (message_body(&proto, m, r->wire.arena, &error, e) < 0)
        return err_wrap(e, "the server's answer");
    err_set(e, (enum err_kind)error.kind, "%s", error.text);
    if (error.kind == ERR_PROTOCOL && strstr(error.text, "unknown message type") != NULL)
        return err_wrap(e, "the server is older than this program (ludwig down, then ludwig up)");
    return -1;
}

int rpc_read(struct rpc *r, const struct envelope *m, enum msg_type type, void *reply,
             struct err *e)
{
    if (m->type == MSG_ERROR)
        return take_error(r, m, e);
    if (m->type != (int)type)
        return err_set(e, ERR_PROTOCOL, "the server answered '%s' instead of '%s'",
                       proto.messages[m->type].name, proto.messages[type].name);
    if (message_body(&proto, m, r->wire.arena, reply, e) < 0)
        return err_wrap(e, "the server's answer '%s'", proto.messages[type].name);
    return 0;
}

int rpc_receive(struct rpc *r, enum msg_type type, void *reply, bool *lost, struct err *e)
{
    struct err why = { 0 };
    struct envelope m;
    int got = wire_receive(&r->wire, &m, &why);

    *lost = got == 0 || (got < 0 && why.kind == ERR_UNREACHABLE);
    if (got == 1)
        return rpc_read(r, &m, type, reply, e);
    if (got == 0)
        return err_set(e, ERR_UNREACHABLE, "the server closed the connection");
    return err_set(e, why.kind, "%s", why.text);
}

int rpc_call(struct rpc *r, enum msg_type type, const void *request, void *reply, struct err *e)
{
    int64_t deadline_ms = units_monotonic_ms() + r->patience_ms;
    const struct message *m = &proto.messages[type];
    struct token id;
    bool lost;

    token_make(&id);
    /* A server that greets and then drops the request each time gets no rush of requests. */
    for (int64_t pause_ms = FIRST_PAUSE_MS;; pause_ms = longer(pause_ms)) {
        if (rpc_send(r, type, (m->flags & CHANGES) != 0 ? &id : NULL, request, &lost, e) >= 0 &&
            rpc_receive(r, (enum msg_type)m->reply, reply, &lost, e) == 0)
            return 0;
        if (!lost || rpc_reopen(r, e) < 0)
            return -1;
        if (pause_ms == FIRST_PAUSE_MS)
            continue;
        if (units_monotonic_ms() >= deadline_ms)
            return err_set(e, ERR_UNREACHABLE, "the server closes the connection at each '%s'",
                           m->name);
        if (!rest(r, pause_ms))
            return err_set(e, ERR_UNREACHABLE, "interrupted while the server was away");
    }
}
