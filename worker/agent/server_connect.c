/* SPDX-License-Identifier: MIT */
/* server_connect.c - a connected descriptor to ludwigd, got without waiting */

#include "worker/agent/server_connect.h"

#include <stdlib.h>
#include <unistd.h>

#include "worker/base/child_start.h"
#include "worker/node/unix_socket.h"

/* It lasts until libuv has let go of its descriptor. */
struct session {
    uv_poll_t poll;
    struct mux *mux;
    struct server_connect *reach; /* NULL: nobody wants it any more */
};

struct server_connect {
    uv_loop_t *loop;
    struct arena *arena;
    struct endpoint to;
    server_connect_fn done;
    void *context;
    struct session *session; /* NULL: there is none */
    bool is_busy;
};

struct server_connect *server_connect_create(uv_loop_t *loop, const struct endpoint *to,
                                             server_connect_fn done, void *context)
{
    struct server_connect *r = mem_alloc(sizeof *r);

    r->loop = loop;
    r->arena = arena_create();
    r->done = done;
    r->context = context;
    /* It was read once, so it can be read again. */
    (void)endpoint_parse(&r->to, to->text, r->arena, NULL);
    return r;
}

/* ---- the session ---- */

static void on_poll_closed(uv_handle_t *handle)
{
    struct session *s = handle->data;

    mux_close(s->mux);
    free(s);
}

static void drop_session(struct server_connect *r)
{
    struct session *s = r->session;

    if (s == NULL)
        return;
    s->reach = NULL;
    r->session = NULL;
    uv_close((uv_handle_t *)&s->poll, on_poll_closed);
}

void server_connect_destroy(struct server_connect *r)
{
    if (r == NULL)
        return;
    drop_session(r);
    arena_destroy(r->arena);
    free(r);
}

static void finish(struct server_connect *r, int fd, enum way way, const struct err *why)
{
    if (r->session != NULL && !mux_is_alive(r->session->mux))
        drop_session(r);
    r->is_busy = false;
    r->done(r->context, fd, way, why);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
    struct session *s = poll->data;
    struct err e = { 0 };
    enum way way = WAY_UNIX;
    int fd = -1, rc;

    (void)status, (void)events;
    if (s->reach == NULL)
        return;
    rc = mux_take(s->mux, &fd, &way, &e);
    if (rc == 0)
        return;
    if (s->reach->is_busy)
        finish(s->reach, rc > 0 ? fd : -1, way, &e);
    else if (rc > 0)
        close(fd);
    else
        uv_poll_stop(poll); /* whoever has a descriptor of it hears of it there */
}

static int start_child(struct server_connect *r, int *control_fd, struct err *e)
{
    struct child child = {
        .args = { CHILD_MUX, r->to.text }, .stdout_fd = -1, .lock_fd = -1, .listen_fd = -1
    };
    pid_t pid;
    int rc;

    if (unix_socket_pair(control_fd, &child.channel_fd, e) < 0)
        return -1;
    rc = child_start(&child, &pid, e);
    close(child.channel_fd);
    if (rc < 0)
        close(*control_fd);
    return rc;
}

static int start_session(struct server_connect *r, struct err *e)
{
    struct session *s;
    int control_fd, rc;

    if (start_child(r, &control_fd, e) < 0)
        return -1;
    s = mem_alloc(sizeof *s);
    s->mux = mux_attach(control_fd);
    s->poll.data = s;
    rc = uv_poll_init(r->loop, &s->poll, control_fd);
    if (rc < 0) {
        mux_close(s->mux);
        free(s);
        return err_set(e, ERR_FAILED, "event loop: %s", uv_strerror(rc));
    }
    s->reach = r;
    r->session = s;
    return 0;
}

static int ask_session(struct server_connect *r, struct err *e)
{
    if (r->session != NULL && !mux_is_alive(r->session->mux))
        drop_session(r);
    if (r->session == NULL && start_session(r, e) < 0)
        return -1;
    if (mux_ask_server(r->session->mux, e) < 0)
        return -1;
    uv_poll_start(&r->session->poll, UV_READABLE, on_control);
    return 0;
}

void server_connect_begin(struct server_connect *r)
{
    struct err e = { 0 };
    int fd;

    if (r->is_busy)
        return;
    r->is_busy = true;
    if (r->to.kind == ENDPOINT_UNIX) {
        fd = unix_socket_connect(r->to.path, &e);
        finish(r, fd, WAY_UNIX, &e);
    } else if (ask_session(r, &e) < 0) {
        finish(r, -1, WAY_UNIX, &e);
    }
}

bool server_connect_is_busy(const struct server_connect *r)
{
    return r->is_busy;
}

/* The session says why it ends before it closes what came of it. */
int server_connect_why_lost(struct server_connect *r, struct err *e)
{
    int fd = -1, rc;

    if (r->session == NULL)
        return -1;
    while ((rc = mux_take(r->session->mux, &fd, NULL, e)) > 0)
        close(fd);
    return rc < 0 && !mux_is_alive(r->session->mux) ? 0 : -1;
}
