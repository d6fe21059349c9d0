/* SPDX-License-Identifier: MIT */
/* service.c - keeps a child running while there is work for it */

#include "worker/agent/service.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "worker/agent/child_question.h"

enum {
    /* A child that hangs with its share must not stop the agent: messages to it wait in memory. */
    QUEUED_MAX_BYTES = 512 * 1024 * 1024,
    DELAY_AT_FIRST_MS = 100,
    DELAY_AT_MOST_MS = 10 * 1000
};

static void start(struct service *s);

static void on_retry(uv_timer_t *timer)
{
    start(timer->data);
}

static void start_later(struct service *s)
{
    if (s->is_closed)
        return;
    s->delay_ms = s->delay_ms == 0                     ? DELAY_AT_FIRST_MS
                  : s->delay_ms * 2 < DELAY_AT_MOST_MS ? s->delay_ms * 2
                                                       : DELAY_AT_MOST_MS;
    uv_timer_start(&s->retry, on_retry, s->delay_ms, 0);
}

/* Kills the child, which is built for that; another one cannot start before it is gone. */
static void drop(struct service *s, const char *why)
{
    if (why != NULL)
        log_event(LOG_WARN, "child-dropped", "child", "%s", s->name, "why", "%s", why, NULL);
    chan_destroy(s->chan);
    s->chan = NULL;
    if (s->pid > 0)
        kill(s->pid, SIGKILL);
    else
        start_later(s);
}

static void on_readable(void *context, struct chan *c)
{
    struct service *s = context;
    struct err e = { 0 };
    struct envelope m;
    const void *body;
    int rc;

    while (s->chan == c && (rc = chan_next(c, s->arena, &m, &e)) != 0) {
        body = rc == 1 ? message_take_body(&orders, &m, s->arena, &e) : NULL;
        if (body != NULL && !s->events->take(s->user, m.type, body, m.re))
            err_set(&e, ERR_PROTOCOL, "unexpected %s", orders.messages[m.type].name);
        arena_reset(s->arena);
        if (e.kind != ERR_NONE) {
            drop(s, e.text);
            return;
        }
        s->delay_ms = 0;
    }
}

static void on_closed(void *context, struct chan *c, const struct err *why)
{
    struct service *s = context;

    (void)c;
    s->n_deaths++;
    drop(s, why->kind == ERR_NONE ? "it ended" : why->text);
}

static void start(struct service *s)
{
    static const struct chan_events events = { .readable = on_readable, .closed = on_closed };
    struct child child = { .owner = s->owner,
                           .args = { s->mode, s->owner->scratch, s->address },
                           .listen_fd = s->extra_fd };
    struct err e = { 0 };
    char *lock;
    int rc;

    if (s->chan != NULL || s->pid > 0 || !s->is_needed || s->is_closed || s->owner->scratch == NULL)
        return;
    lock = s->owner->name == NULL ? mem_printf("%s.lock", s->name)
                                  : mem_printf("%s.%s.lock", s->name, s->owner->name);
    rc = child_lock(s->dir_fd, lock, &child.lock_fd, &e);
    free(lock);
    if (rc == 0) {
        rc = child_connect(s->loop, &child, &events, s, QUEUED_MAX_BYTES, &s->pid, &s->chan, &e);
        close(child.lock_fd);
    }
    if (rc == 0) {
        s->events->up(s->user);
        return;
    }
    /* The child of an earlier agent may take a moment to leave. */
    if (e.kind != ERR_BUSY || s->delay_ms > DELAY_AT_FIRST_MS)
        log_event(LOG_WARN, "child-start", "child", "%s", s->name, "why", "%s", e.text, NULL);
    drop(s, NULL);
}

void service_init(struct service *s, uv_loop_t *loop)
{
    s->loop = loop;
    s->arena = arena_create();
    uv_timer_init(loop, &s->retry);
    s->retry.data = s;
}

/* The child ends by itself after the order that it is carrying out. */
void service_close(struct service *s)
{
    if (s->loop == NULL || s->is_closed)
        return;
    s->is_closed = true;
    chan_destroy(s->chan);
    s->chan = NULL;
    arena_destroy(s->arena);
    uv_close((uv_handle_t *)&s->retry, NULL);
}

void service_need(struct service *s)
{
    s->is_needed = true;
    if (!uv_is_active((uv_handle_t *)&s->retry))
        start(s);
}

void service_go_on(struct service *s)
{
    if (s->is_needed)
        service_need(s);
}

void service_rest(struct service *s)
{
    s->is_needed = false;
    s->is_resting = s->pid > 0;
    uv_timer_stop(&s->retry);
    chan_destroy(s->chan);
    s->chan = NULL;
}

int64_t service_send(struct service *s, int type, const void *body)
{
    if (s->chan != NULL)
        return chan_send(s->chan, type, 0, NULL, body, NULL);
    service_need(s);
    return -1;
}

bool service_reaped(struct service *s, pid_t pid)
{
    if (s->pid == 0 || s->pid != pid)
        return false;
    s->pid = 0;
    if (s->is_resting)
        start(s);
    else if (s->chan == NULL)
        start_later(s);
    s->is_resting = false;
    return true;
}
