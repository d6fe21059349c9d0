/* SPDX-License-Identifier: MIT */
/* rpc.c - questions to ludwigd, and its answers */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/session/rpc.h"
#include "common/base/units.h"
#include "common/proto/unixsocket.h"
#include "common/ssh/prompt.h"

enum { FIRST_PAUSE_MS = 20, LONGEST_PAUSE_MS = 1000 };

bool rpc_is_as(const struct rpc *r, const char *user)
{
    const char *me = r->welcome.user;
    size_t n = me == NULL ? 0 : strcspn(me, "/");

    return n > 0 && user != NULL && strcspn(user, "/") == n && memcmp(user, me, n) == 0;
}

bool rpc_is_answered(const char *socket_path)
{
    const struct endpoint to = { .kind = ENDPOINT_UNIX, .path = socket_path };
    int fd = unixsocket_connect_server(&to, true, NULL);

    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* ---- opening ---- */

static int begin_ssh(struct rpc *r, struct err *e)
{
    struct mux_options o = { .may_prompt = !r->is_silent && prompt_is_welcome(),
                             .interrupt_fd = r->interrupt_fd };

    r->mux = mux_begin(&r->to, &o, e);
    return r->mux == NULL ? -1 : 0;
}

static void drop_ssh(struct rpc *r)
{
    mux_close(r->mux);
    r->mux = NULL;
}

/* Waits until the present SSH child, or a new one, has connected. */
static int wait_for_ssh(struct rpc *r, struct err *e)
{
    if (r->mux == NULL && begin_ssh(r, e) < 0)
        return -1;
    if (mux_wait(r->mux, e) == 0)
        return 0;
    drop_ssh(r);
    return -1;
}

/* Connects to ludwigd over the present SSH connection, or a new one if that is gone. */
static int connect_to(struct rpc *r, bool with_sftp, struct err *e)
{
    if (r->to.kind != ENDPOINT_SSH)
        return unixsocket_connect_server(&r->to, true, e);
    if (r->beside != NULL)
        return connect_to(r->beside, false, e);
    if (r->mux != NULL && !mux_is_alive(r->mux))
        drop_ssh(r);
    if (wait_for_ssh(r, e) < 0)
        return -1;
    return with_sftp ? mux_server_and_sftp(r->mux, &r->way, e) : mux_server(r->mux, &r->way, e);
}

/* Tries once to connect and to send hello.  *lost: another try may succeed (a refused key: no). */
static int send_hello(struct rpc *r, bool with_sftp, bool *lost, struct err *e)
{
    char *host = unixsocket_host();
    struct msg_hello hello = {
        .version = PROTO_VERSION, .program = "ludwig", .host = host, .user_label = r->user_label
    };
    struct err why = { 0 };
    int fd = connect_to(r, with_sftp, &why), result = 0;

    *lost = r->to.kind == ENDPOINT_UNIX || why.kind == ERR_UNREACHABLE;
    if (fd < 0) {
        result = err_set(e, why.kind, "%s", why.text);
    } else {
        wire_init(&r->wire, fd, &proto);
        r->hello_at_ms = units_monotonic_ms();
        /* A server that refuses us may have closed already; its answer, read later, says why. */
        if (rpc_send(r, MSG_HELLO, NULL, &hello, lost, e) < 0 && !*lost) {
            wire_close(&r->wire);
            result = -1;
        }
    }
    free(host);
    return result;
}

static int receive_welcome(struct rpc *r, bool *lost, struct err *e)
{
    const char **const texts[] = { &r->welcome.server_id, &r->welcome.server_version,
                                   &r->welcome.user, &r->welcome.share, &r->welcome.projects };
    struct msg_welcome welcome = { 0 };

    if (rpc_receive(r, MSG_WELCOME, &welcome, lost, e) < 0) {
        wire_close(&r->wire);
        return -1;
    }
    arena_reset(r->arena);
    r->welcome = welcome;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = arena_strdup(r->arena, *texts[i] != NULL ? *texts[i] : "");
    r->round_trip_ms = units_monotonic_ms() - r->hello_at_ms;
    r->n_opened++;
    return 0;
}

static void rpc_begin_at(struct rpc *r, const struct endpoint *to, const char *user_label)
{
    const char **const texts[] = { &r->to.text, &r->to.user, &r->to.host, &r->to.path };

    *r = (struct rpc){ .wire = { .fd = -1 },
                       .user_label = user_label != NULL ? mem_strdup(user_label) : NULL,
                       .arena = arena_create(),
                       .patience_ms = RPC_PATIENCE_MS,
                       .interrupt_fd = -1 };
    r->place = arena_create();
    r->to = *to;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = *texts[i] != NULL ? arena_strdup(r->place, *texts[i]) : NULL;
}

void rpc_begin(struct rpc *r, const struct endpoint *to, const char *user_label)
{
    rpc_begin_at(r, to, user_label);
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

int rpc_hello(struct rpc *r, bool with_sftp, struct err *e)
{
    bool lost;

    if (send_hello(r, with_sftp, &lost, e) == 0)
        return 0;
    rpc_close(r);
    return -1;
}

int rpc_welcome(struct rpc *r, struct err *e)
{
    bool lost;

    if (receive_welcome(r, &lost, e) == 0)
        return 0;
    rpc_close(r);
    return -1;
}

int rpc_open(struct rpc *r, const struct endpoint *to, const char *user_label, struct err *e)
{
    rpc_begin(r, to, user_label);
    return rpc_hello(r, false, e) < 0 ? -1 : rpc_welcome(r, e);
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

int rpc_open_beside(struct rpc *r, struct rpc *other, struct err *e)
{
    rpc_begin_at(r, &other->to, other->user_label);
    r->beside = other->mux != NULL ? other : NULL;
    r->interrupt_fd = other->interrupt_fd;
    if (rpc_hello(r, false, NULL) == 0 && rpc_welcome(r, NULL) == 0)
        return 0;
    /* sshd may allow one channel only. */
    return rpc_open(r, &other->to, other->user_label, e);
}

static int64_t longer(int64_t pause_ms)
{
    return pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
}

/* Sleeps; false when the user interrupts.  The time is partly random, so that clients that lost the
 * same server do not all come back at once. */
static bool rest_for(const struct rpc *r, int64_t pause_ms)
{
    struct pollfd fd = { .fd = r->interrupt_fd, .events = POLLIN };
    struct token random;

    token_make(&random);
    return poll(&fd, 1, (int)(pause_ms / 2 + random.bytes[0] * pause_ms / 512)) <= 0;
}

int rpc_reopen(struct rpc *r, struct err *e)
{
    int64_t deadline_ms = units_monotonic_ms() + r->patience_ms;
    bool lost = true;

    wire_close(&r->wire);
    for (int64_t pause_ms = FIRST_PAUSE_MS;; pause_ms = longer(pause_ms)) {
        if (send_hello(r, false, &lost, e) == 0 && receive_welcome(r, &lost, e) == 0)
            return 0;
        if (!lost || units_monotonic_ms() >= deadline_ms)
            return err_wrap(e, "the connection to the server was lost");
        if (!rest_for(r, pause_ms))
            return err_set(e, ERR_UNREACHABLE, "interrupted while the server was away");
    }
}

/* ---- asking ---- */

int64_t rpc_send(struct rpc *r, enum msg_type type, const struct token *id, const void *body,
                 bool *lost, struct err *e)
{
    struct err why = { 0 };
    int64_t seq;

    *lost = true;
    if (r->wire.fd < 0) /* an earlier try to connect anew has failed */
        return err_set(e, ERR_UNREACHABLE, "the connection to the server was lost");
    seq = wire_send(&r->wire, (int)type, 0, id, body, &why);
    *lost = seq < 0 && why.kind == ERR_UNREACHABLE;
    if (seq < 0)
        err_set(e, why.kind, "%s", why.text);
    return seq;
}

int rpc_read(struct rpc *r, const struct envelope *m, enum msg_type type, void *reply,
             struct err *e)
{
    if (m->type == MSG_ERROR) {
        struct msg_error error;

        if (message_body(&proto, m, r->wire.arena, &error, e) < 0)
            return err_wrap(e, "the server's answer");
        err_set(e, (enum err_kind)error.kind, "%s", error.text);
        if (error.kind != ERR_PROTOCOL || strstr(error.text, "unknown message type") == NULL)
            return -1;
        return err_wrap(e, "the server is older than this program (ludwig down, then ludwig up)");
    }
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

static void send_question(struct rpc *r, struct rpc_question *q)
{
    bool changes = (proto.messages[q->type].flags & CHANGES) != 0;

    err_clear(&q->why);
    q->n_opened = r->n_opened;
    if (r->wire.fd < 0) { /* the server did not come back within an earlier call's patience */
        q->is_sent = false;
        q->is_lost = true;
        err_set(&q->why, ERR_UNREACHABLE, "the connection to the server was lost");
        return;
    }
    q->is_sent =
        rpc_send(r, q->type, changes ? &q->id : NULL, q->request, &q->is_lost, &q->why) >= 0;
}

void rpc_ask(struct rpc *r, struct rpc_question *q, enum msg_type type, const void *request)
{
    *q = (struct rpc_question){ .type = type, .request = request };
    token_make(&q->id);
    send_question(r, q);
}

int rpc_answer(struct rpc *r, struct rpc_question *q, void *reply, struct err *e)
{
    int64_t deadline_ms = units_monotonic_ms() + r->patience_ms;
    bool lost;

    /* Pauses grow, as a server may greet and then drop the request each time. */
    for (int64_t pause_ms = FIRST_PAUSE_MS;; pause_ms = longer(pause_ms)) {
        if (q->n_opened != r->n_opened) /* the question went over an earlier connection */
            send_question(r, q);
        lost = q->is_lost;
        if (!q->is_sent)
            err_set(e, q->why.kind, "%s", q->why.text);
        else if (rpc_receive(r, (enum msg_type)proto.messages[q->type].reply, reply, &lost, e) == 0)
            return 0;
        if (!lost || rpc_reopen(r, e) < 0)
            return -1;
        if (pause_ms == FIRST_PAUSE_MS)
            continue;
        if (units_monotonic_ms() >= deadline_ms)
            return err_set(e, ERR_UNREACHABLE, "the server closes the connection at each '%s'",
                           proto.messages[q->type].name);
        if (!rest_for(r, pause_ms))
            return err_set(e, ERR_UNREACHABLE, "interrupted while the server was away");
    }
}

int rpc_call(struct rpc *r, enum msg_type type, const void *request, void *reply, struct err *e)
{
    struct rpc_question q;

    rpc_ask(r, &q, type, request);
    return rpc_answer(r, &q, reply, e);
}
