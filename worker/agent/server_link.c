/* SPDX-License-Identifier: MIT */
/* server_link.c - connects without blocking, says hello, passes messages on, connects again */

#include "worker/agent/server_link.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/connect/mux.h"
#include "common/proto/unixsocket.h"
#include "worker/base/child_start.h"
#include "worker/node/unix_socket.h"

enum {
    QUEUED_MAX_BYTES = 64 * 1024 * 1024,
    DELAY_AT_FIRST_MS = 100,
    DELAY_AT_MOST_MS = 30 * 1000,
    DELAY_AT_MOST_QUICK_MS = 2 * 1000,
    DELAY_REFUSED_MS = 60 * 1000 /* sshd shuts out a machine that often comes with a wrong key */
};

/* An SSH session, which a child keeps (see common/connect/mux.h); freed when libuv has let go of
 * its descriptor. */
struct session {
    uv_poll_t poll;
    struct mux *mux;
    struct server_link *link; /* NULL: the session is not wanted any more */
};

struct server_link {
    uv_loop_t *loop;
    const struct endpoint *servers;
    size_t n_servers;
    size_t at;           /* index of the server that is tried, or connected */
    uint64_t *rest_ends; /* per server: not tried before this time, by the loop's clock */
    struct server_link_self self;
    struct session *session; /* NULL: there is none */
    size_t session_at;       /* index of the server that it leads to */
    struct server_link_events events;
    struct agent *ag;
    struct chan *chan; /* NULL: not connected */
    struct arena *arena;
    uv_timer_t retry;
    uv_timer_t alive;
    int n_timers; /* timers that are not closed yet */
    unsigned failures;
    uint64_t welcome_at; /* by the loop's clock */
    bool is_welcome;
    bool is_connecting;
    bool is_missing; /* the last try got no connection, which costs nothing for a local socket */
    bool is_refused; /* SSH was denied: this server rests for a minute or two */
    char *last_why;  /* the reason logged last, so that it is not repeated */
};

uint64_t server_link_delay_ms(unsigned failures, bool is_quick, double random)
{
    uint64_t most = is_quick ? DELAY_AT_MOST_QUICK_MS : DELAY_AT_MOST_MS;
    uint64_t delay = failures < 20 ? (uint64_t)DELAY_AT_FIRST_MS << failures : most;

    if (delay > most)
        delay = most;
    return (uint64_t)((double)delay * (0.5 + random / 2));
}

static bool is_local(const struct server_link *l)
{
    return l->servers[l->at].kind == ENDPOINT_UNIX;
}

static void on_retry(uv_timer_t *timer)
{
    server_link_start(timer->data);
}

void server_link_settled(struct server_link *l)
{
    l->failures = 0;
    free(l->last_why);
    l->last_why = NULL;
}

static void on_alive(uv_timer_t *timer)
{
    struct msg_alive alive = { true };

    server_link_send(timer->data, MSG_ALIVE, 0, &alive);
}

void server_link_keep_alive(struct server_link *l, uint64_t every_ms)
{
    uv_timer_start(&l->alive, on_alive, every_ms, every_ms);
}

const struct endpoint *server_link_server(const struct server_link *l)
{
    return &l->servers[l->at];
}

static uint64_t rest_left_ms(const struct server_link *l, size_t i)
{
    uint64_t now = uv_now(l->loop);

    return l->rest_ends[i] > now ? l->rest_ends[i] - now : 0;
}

/* Turns to the next server that does not rest, in a circle; if all do, to the one whose rest ends
 * first.  true: the circle was completed. */
static bool turn_to_next(struct server_link *l)
{
    size_t next = l->at + 1, first = 0;

    while (next < l->n_servers && rest_left_ms(l, next) > 0)
        next++;
    for (size_t i = 1; i < l->n_servers && rest_left_ms(l, first) > 0; i++)
        if (rest_left_ms(l, i) < rest_left_ms(l, first))
            first = i;
    l->at = next < l->n_servers ? next : first;
    return next == l->n_servers;
}

static uint64_t next_delay_ms(struct server_link *l)
{
    bool has_failed = !l->is_welcome;
    /* A server that had registered this worker was stopped, and is likely to be back soon. */
    bool is_quick = is_local(l) && (l->is_missing || uv_is_active((const uv_handle_t *)&l->alive));
    uint64_t delay, rest;
    struct token t;
    uint32_t bits;
    double random;

    token_make(&t);
    memcpy(&bits, t.bytes, sizeof bits);
    random = (double)bits / (double)UINT32_MAX;
    delay = server_link_delay_ms(l->failures, is_quick, random);
    if (l->is_refused)
        l->rest_ends[l->at] = uv_now(l->loop) + (uint64_t)(DELAY_REFUSED_MS * (1 + random));
    if (has_failed && !turn_to_next(l))
        return 0;
    l->failures++;
    rest = rest_left_ms(l, l->at);
    return rest > delay ? rest : delay;
}

void server_link_drop(struct server_link *l, const char *why)
{
    if (l->is_welcome && uv_now(l->loop) - l->welcome_at > DELAY_AT_MOST_MS) /* it has lasted */
        server_link_settled(l);
    if (l->last_why == NULL || strcmp(l->last_why, why) != 0) {
        free(l->last_why);
        l->last_why = mem_strdup(why);
        log_event(LOG_WARN, "disconnected", "server", "%s", server_link_server(l)->text, "why",
                  "%s", why, NULL);
    }
    chan_destroy(l->chan);
    l->chan = NULL;
    uv_timer_start(&l->retry, on_retry, next_delay_ms(l), 0);
    uv_timer_stop(&l->alive);
    l->is_welcome = false;
    l->events.down(l->ag);
}

static void take_message(struct server_link *l, const struct envelope *m, struct err *e)
{
    struct msg_welcome welcome;
    struct msg_error error;

    if (m->type == MSG_WELCOME && !l->is_welcome) {
        if (message_body(&proto, m, l->arena, &welcome, e) < 0)
            return;
        l->is_welcome = true;
        l->welcome_at = uv_now(l->loop);
        l->events.welcome(l->ag, &welcome);
        return;
    }
    if (m->type == MSG_ERROR) {
        if (message_body(&proto, m, l->arena, &error, e) < 0)
            return;
        if (l->is_welcome) {
            log_event(LOG_WARN, "refused", "why", "%s", error.text, NULL);
        } else {
            err_set(e, ERR_DENIED, "refused: %s", error.text);
            if (error.kind == ERR_DENIED)
                l->events.denied(l->ag, e);
        }
    }
    if (e->kind == ERR_NONE)
        l->events.message(l->ag, m, l->arena, e);
}

static void on_readable(void *context, struct chan *c)
{
    struct server_link *l = context;
    struct err e = { 0 };
    struct envelope m;
    int rc;

    while (l->chan == c && (rc = chan_next(c, l->arena, &m, &e)) != 0) {
        if (rc == 1)
            take_message(l, &m, &e);
        arena_reset(l->arena);
        if (e.kind != ERR_NONE) {
            if (l->chan == c)
                server_link_drop(l, e.text);
            return;
        }
    }
}

/* The session says why it ends before it closes the connections that it made. */
static void on_closed(void *context, struct chan *c, const struct err *why)
{
    struct server_link *l = context;
    struct err lost = { 0 };
    int fd = -1, rc = 0;

    (void)c;
    while (l->session != NULL && (rc = mux_take(l->session->mux, &fd, NULL, &lost)) > 0)
        close(fd);
    if (rc < 0 && !mux_is_alive(l->session->mux))
        server_link_drop(l, lost.text);
    else
        server_link_drop(l, why->kind == ERR_NONE ? "ludwigd closed the connection" : why->text);
}

/* ---- connecting: at once to a socket of this machine, by a session over SSH ---- */

static void on_poll_closed(uv_handle_t *handle)
{
    struct session *s = handle->data;

    mux_close(s->mux);
    free(s);
}

static void drop_session(struct server_link *l)
{
    struct session *s = l->session;

    if (s == NULL)
        return;
    s->link = NULL;
    l->session = NULL;
    uv_close((uv_handle_t *)&s->poll, on_poll_closed);
}

/* Takes the result of a try: fd is connected and does not block, or -1 with e set. */
static void take_connection(struct server_link *l, int fd, enum way way, struct err *e)
{
    static const struct chan_events events = { .readable = on_readable, .closed = on_closed };
    struct msg_hello hello = { .version = PROTO_VERSION,
                               .program = "ludwig-worker",
                               .host = l->self.host,
                               .pilot = l->self.pilot };

    if (l->session != NULL && !mux_is_alive(l->session->mux))
        drop_session(l);
    l->is_connecting = false;
    l->is_missing = fd < 0;
    l->is_refused = fd < 0 && e->kind == ERR_DENIED && !is_local(l);
    if (fd >= 0)
        l->chan = chan_create(l->loop, fd, &proto, &events, l, QUEUED_MAX_BYTES, e);
    if (l->chan == NULL) {
        server_link_drop(l, e->text);
        return;
    }
    if (!is_local(l))
        log_event(LOG_INFO, "connected", "server", "%s", server_link_server(l)->text, "way", "%s",
                  way_names[way], NULL);
    server_link_send(l, MSG_HELLO, 0, &hello);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
    struct session *s = poll->data;
    struct err e = { 0 };
    enum way way = WAY_UNIX;
    int fd = -1, rc;

    (void)status, (void)events;
    if (s->link == NULL)
        return;
    rc = mux_take(s->mux, &fd, &way, &e);
    if (rc == 0)
        return;
    if (s->link->is_connecting)
        take_connection(s->link, rc > 0 ? fd : -1, way, &e);
    else if (rc > 0)
        close(fd);
    else
        uv_poll_stop(poll); /* the connection that was made notices the end itself */
}

static int start_session(struct server_link *l, struct err *e)
{
    struct child child = { .args = { CHILD_MUX, server_link_server(l)->text } };
    struct session *s;
    int control_fd, rc;
    pid_t pid;

    if (unix_socket_pair(&control_fd, &child.channel_fd, e) < 0)
        return -1;
    rc = child_start(&child, &pid, e);
    close(child.channel_fd);
    if (rc < 0) {
        close(control_fd);
        return -1;
    }
    s = mem_alloc(sizeof *s);
    s->mux = mux_attach(control_fd);
    s->poll.data = s;
    rc = uv_poll_init(l->loop, &s->poll, control_fd);
    if (rc < 0) {
        mux_close(s->mux);
        free(s);
        return err_set(e, ERR_FAILED, "event loop: %s", uv_strerror(rc));
    }
    s->link = l;
    l->session = s;
    l->session_at = l->at;
    return 0;
}

void server_link_start(struct server_link *l)
{
    struct err e = { 0 };

    if (l->chan != NULL || l->is_connecting)
        return;
    if (l->session != NULL && (l->session_at != l->at || !mux_is_alive(l->session->mux)))
        drop_session(l);
    l->is_connecting = true;
    if (is_local(l)) {
        int fd = unixsocket_connect_server(server_link_server(l), false, &e);

        take_connection(l, fd, WAY_UNIX, &e);
    } else if ((l->session == NULL && start_session(l, &e) < 0) ||
               mux_ask_server(l->session->mux, &e) < 0) {
        take_connection(l, -1, WAY_UNIX, &e);
    } else {
        uv_poll_start(&l->session->poll, UV_READABLE, on_control);
    }
}

int64_t server_link_send(struct server_link *l, int type, int64_t re, const void *body)
{
    struct err e = { 0 };
    int64_t seq;

    if (l->chan == NULL)
        return -1;
    seq = chan_send(l->chan, type, re, NULL, body, &e);
    if (seq < 0)
        log_event(LOG_ERROR, "not-sent", "message", "%s", proto.messages[type].name, "why", "%s",
                  e.text, NULL);
    return seq;
}

struct server_link *server_link_create(uv_loop_t *loop, const struct endpoint *servers,
                                       size_t n_servers, const struct server_link_self *self,
                                       const struct server_link_events *events, struct agent *ag)
{
    struct server_link *l = mem_alloc(sizeof *l);

    l->loop = loop;
    l->servers = servers;
    l->n_servers = n_servers;
    l->rest_ends = mem_alloc(n_servers * sizeof *l->rest_ends);
    l->self = *self;
    l->events = *events;
    l->ag = ag;
    l->arena = arena_create();
    uv_timer_init(loop, &l->retry);
    uv_timer_init(loop, &l->alive);
    l->retry.data = l->alive.data = l;
    l->n_timers = 2;
    return l;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct server_link *l = handle->data;

    if (--l->n_timers > 0)
        return;
    arena_destroy(l->arena);
    free(l->rest_ends);
    free(l->last_why);
    free(l);
}

void server_link_destroy(struct server_link *l)
{
    if (l == NULL)
        return;
    chan_destroy(l->chan);
    l->chan = NULL;
    drop_session(l);
    uv_close((uv_handle_t *)&l->retry, on_timer_closed);
    uv_close((uv_handle_t *)&l->alive, on_timer_closed);
}
