/* SPDX-License-Identifier: MIT */
/* gpu_poll.c - run the question for GPUs as a child and read its answer */

#include "worker/agent/gpu_poll.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "worker/base/child_start.h"

enum { ANSWER_MAX_BYTES = 1024 * 1024, ANSWER_MAX_MS = 20 * 1000 };

void gpu_poll_init(struct gpu_poll *w, uv_loop_t *loop,
                   void (*seen)(void *context, const struct gpu_list *l), void *context)
{
    *w = (struct gpu_poll){ .loop = loop, .seen = seen, .context = context };
    uv_timer_init(loop, &w->timer);
    w->timer.data = w;
}

static void take_answer(struct gpu_poll *w)
{
    struct gpu_list l = { .n = 0 };
    struct err e = { 0 };

    if (gpu_parse(buf_text(&w->text), &l, &e) < 0)
        log_event(LOG_WARN, "gpus", "why", "%s", e.text, NULL);
    w->answered_at = uv_now(w->loop);
    w->seen(w->context, &l);
    gpu_list_free(&l);
}

static void ask_if_wanted(struct gpu_poll *w)
{
    if (w->is_wanted)
        gpu_poll_ask(w);
}

static void on_pipe_closed(uv_handle_t *handle)
{
    struct gpu_poll *w = handle->data;

    w->is_asking = false;
    if (!w->is_closed)
        take_answer(w);
    ask_if_wanted(w);
}

static void end_question(struct gpu_poll *w)
{
    uv_timer_stop(&w->timer);
    uv_close((uv_handle_t *)&w->pipe, on_pipe_closed);
}

static void give_up(struct gpu_poll *w, const char *why)
{
    log_event(LOG_WARN, "gpus", "why", "%s", why, NULL);
    if (w->pid > 0)
        kill(-w->pid, SIGKILL);
    buf_clear(&w->text);
    end_question(w);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *b)
{
    struct gpu_poll *w = handle->data;

    (void)suggested;
    *b = uv_buf_init((char *)buf_reserve(&w->text, 4096), 4096);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct gpu_poll *w = stream->data;

    (void)b;
    if (n >= 0) {
        buf_added(&w->text, (size_t)n);
        if (w->text.n <= ANSWER_MAX_BYTES)
            return;
    }
    if (n == UV_EOF)
        end_question(w);
    else
        give_up(w, "the answer cannot be read");
}

static void on_too_late(uv_timer_t *timer)
{
    struct gpu_poll *w = timer->data;

    give_up(w, "the driver does not answer");
}

static int start_child(struct gpu_poll *w, int stdout_fd, struct err *e)
{
    struct child child = { .args = { CHILD_GPUS },
                           .stdout_fd = stdout_fd,
                           .channel_fd = -1,
                           .lock_fd = -1,
                           .listen_fd = -1 };

    return child_start(&child, &w->pid, e);
}

/* The pipe is w's, also when it fails. */
static int ask(struct gpu_poll *w, struct err *e)
{
    int ends[2];
    int rc;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(e, "pipe");
    rc = uv_pipe_open(&w->pipe, ends[0]);
    if (rc < 0)
        close(ends[0]);
    else
        rc = uv_read_start((uv_stream_t *)&w->pipe, on_alloc, on_read);
    if (rc < 0)
        rc = err_set(e, ERR_FAILED, "%s", uv_strerror(rc));
    else
        rc = start_child(w, ends[1], e);
    close(ends[1]);
    return rc;
}

void gpu_poll_ask(struct gpu_poll *w)
{
    struct err e = { 0 };

    w->is_wanted = w->is_asking || w->pid > 0;
    if (w->is_wanted || w->is_closed)
        return;
    w->is_asking = true;
    buf_clear(&w->text);
    uv_pipe_init(w->loop, &w->pipe, 0);
    w->pipe.data = w;
    uv_timer_start(&w->timer, on_too_late, ANSWER_MAX_MS, 0);
    if (ask(w, &e) < 0)
        give_up(w, e.text);
}

static void on_due(uv_timer_t *timer)
{
    gpu_poll_ask(timer->data);
}

void gpu_poll_ask_later(struct gpu_poll *w, uint64_t ms)
{
    if (!w->is_asking && !w->is_closed && !uv_is_active((uv_handle_t *)&w->timer))
        uv_timer_start(&w->timer, on_due, ms, 0);
}

bool gpu_poll_is_fresh(const struct gpu_poll *w)
{
    return w->answered_at > 0 && uv_now(w->loop) - w->answered_at < GPU_POLL_FRESH_MS;
}

/* While a killed child that hangs in the driver is there, no other is started. */
bool gpu_poll_reaped(struct gpu_poll *w, pid_t pid)
{
    if (w->pid == 0 || w->pid != pid)
        return false;
    w->pid = 0;
    if (!w->is_asking)
        ask_if_wanted(w);
    return true;
}

void gpu_poll_close(struct gpu_poll *w)
{
    if (w->loop == NULL || w->is_closed)
        return;
    w->is_closed = true;
    if (w->is_asking && !uv_is_closing((uv_handle_t *)&w->pipe))
        end_question(w);
    uv_close((uv_handle_t *)&w->timer, NULL);
    buf_free(&w->text);
}
