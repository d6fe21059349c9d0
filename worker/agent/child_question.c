/* SPDX-License-Identifier: MIT */
/* child_question.c - a question that a child process answers, as the answer may never come */

#include "worker/agent/child_question.h"

#include <signal.h>
#include <unistd.h>

#include "worker/base/child_protocol.h"
#include "worker/node/unix_socket.h"

enum { QUEUED_MAX_BYTES = 16 * 1024 }; /* one message at most goes to the child */

int child_connect(uv_loop_t *loop, struct child *child, const struct chan_events *events,
                  void *context, size_t queued_max_bytes, pid_t *pid, struct chan **chan,
                  struct err *e)
{
    int ours, rc;

    if (unix_socket_pair(&ours, &child->channel_fd, e) < 0)
        return -1;
    rc = child_start(child, pid, e);
    close(child->channel_fd);
    if (rc < 0) {
        close(ours);
        return -1;
    }
    *chan = chan_create(loop, ours, &orders, events, context, queued_max_bytes, e);
    return *chan == NULL ? -1 : 0;
}

/* Passes the answer on and kills the child with all that it started; that is not waited for. */
static void end_question(struct child_question *q, const void *body, const char *why)
{
    uv_timer_stop(&q->timer);
    chan_destroy(q->chan);
    q->chan = NULL;
    if (q->pid > 0)
        kill(-q->pid, SIGKILL);
    q->answered(q->context, body, why);
}

static void on_readable(void *context, struct chan *c)
{
    struct child_question *q = context;
    const void *body = NULL;
    struct err e = { 0 };
    struct envelope m;
    int rc = chan_next(c, q->arena, &m, &e);

    if (rc == 0)
        return;
    if (rc == 1 && m.type == q->note_type)
        body = message_take_body(&orders, &m, q->arena, &e);
    else if (rc == 1)
        err_set(&e, ERR_PROTOCOL, "unexpected %s", orders.messages[m.type].name);
    end_question(q, body, e.text);
    arena_reset(q->arena);
}

static void on_closed(void *context, struct chan *c, const struct err *why)
{
    (void)c;
    end_question(context, NULL, why->kind == ERR_NONE ? "the one who was asked ended" : why->text);
}

static void on_too_late(uv_timer_t *timer)
{
    end_question(timer->data, NULL, "no answer came in time");
}

void child_question_init(struct child_question *q, uv_loop_t *loop, int note_type,
                         uint64_t limit_ms, child_answer_fn *answered, void *context)
{
    *q = (struct child_question){ .loop = loop,
                                  .note_type = note_type,
                                  .limit_ms = limit_ms,
                                  .answered = answered,
                                  .context = context,
                                  .arena = arena_create() };
    uv_timer_init(loop, &q->timer);
    q->timer.data = q;
}

void child_question_close(struct child_question *q)
{
    if (q->loop == NULL)
        return;
    uv_timer_stop(&q->timer);
    chan_destroy(q->chan);
    q->chan = NULL;
    if (q->pid > 0)
        kill(-q->pid, SIGKILL);
    arena_destroy(q->arena);
    q->loop = NULL;
}

void child_question_ask(struct child_question *q, struct child *child)
{
    static const struct chan_events events = { .readable = on_readable, .closed = on_closed };
    struct err e = { 0 };

    chan_destroy(q->chan);
    q->chan = NULL;
    if (q->pid > 0)
        kill(-q->pid, SIGKILL);
    if (child_connect(q->loop, child, &events, q, QUEUED_MAX_BYTES, &q->pid, &q->chan, &e) < 0)
        end_question(q, NULL, e.text);
    else
        uv_timer_start(&q->timer, on_too_late, q->limit_ms, 0);
}

void child_question_tell(struct child_question *q, int type, const void *body)
{
    struct err e = { 0 };

    if (q->chan != NULL && chan_send(q->chan, type, 0, NULL, body, &e) < 0)
        end_question(q, NULL, e.text);
}

bool child_question_reaped(struct child_question *q, pid_t pid)
{
    if (q->pid == 0 || q->pid != pid)
        return false;
    q->pid = 0;
    return true;
}
