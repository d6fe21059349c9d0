/* SPDX-License-Identifier: MIT */
/* gpu_poll.c - asks a child for the GPUs, now and then */

#include "worker/agent/gpu_poll.h"

#include "common/base/log.h"
#include "common/proto/message.h"
#include "worker/base/child_protocol.h"

enum { ANSWER_MAX_MS = 20 * 1000 };

static void on_answer(void *context, const void *body, const char *why)
{
    const struct note_gpus *note = body;
    struct gpu_list l = { .n = 0 };
    struct gpu_poll *w = context;
    struct err e = { 0 };

    if (note == NULL)
        log_event(LOG_WARN, "gpus", "why", "%s", why, NULL);
    else if (gpu_parse(note->lines, &l, &e) < 0)
        log_event(LOG_WARN, "gpus", "why", "%s", e.text, NULL);
    w->answered_at = uv_now(w->question.loop);
    w->seen(w->context, &l);
    gpu_list_free(&l);
}

static void on_later(uv_timer_t *timer)
{
    gpu_poll_ask(timer->data);
}

void gpu_poll_init(struct gpu_poll *w, uv_loop_t *loop,
                   void (*seen)(void *context, const struct gpu_list *l), void *context)
{
    *w = (struct gpu_poll){ .seen = seen, .context = context };
    child_question_init(&w->question, loop, NOTE_GPUS, ANSWER_MAX_MS, on_answer, w);
    uv_timer_init(loop, &w->later);
    w->later.data = w;
}

void gpu_poll_close(struct gpu_poll *w)
{
    if (w->question.loop == NULL)
        return;
    child_question_close(&w->question);
    uv_timer_stop(&w->later);
}

/* While a killed child that hangs in the driver is there, no other is started. */
void gpu_poll_ask(struct gpu_poll *w)
{
    struct child child = {
        .args = { CHILD_GPUS }, .stdout_fd = -1, .lock_fd = -1, .listen_fd = -1
    };

    w->is_wanted = gpu_poll_is_asking(w) || w->question.pid > 0;
    if (w->is_wanted || w->question.loop == NULL)
        return;
    uv_timer_stop(&w->later);
    child_question_ask(&w->question, &child);
}

void gpu_poll_ask_later(struct gpu_poll *w, uint64_t ms)
{
    if (!gpu_poll_is_asking(w) && !uv_is_active((uv_handle_t *)&w->later))
        uv_timer_start(&w->later, on_later, ms, 0);
}

bool gpu_poll_is_asking(const struct gpu_poll *w)
{
    return w->question.chan != NULL;
}

bool gpu_poll_is_fresh(const struct gpu_poll *w)
{
    return w->answered_at > 0 && uv_now(w->question.loop) - w->answered_at < GPU_POLL_FRESH_MS;
}

bool gpu_poll_reaped(struct gpu_poll *w, pid_t pid)
{
    if (!child_question_reaped(&w->question, pid))
        return false;
    if (w->is_wanted && !gpu_poll_is_asking(w))
        gpu_poll_ask(w);
    return true;
}

/* ---- the child ---- */

int gpu_poll_main(int argc, char **argv)
{
    struct buf lines = { 0 };
    struct note_gpus note;
    struct err e = { 0 };
    struct wire wire;
    int rc;

    (void)argc, (void)argv;
    if (child_begin(&e) < 0)
        return child_fail("gpus", &e);
    gpu_ask(&lines);
    note.lines = buf_text(&lines);
    wire_init(&wire, CHILD_CHANNEL_FD, &orders);
    rc = wire_send(&wire, NOTE_GPUS, 0, NULL, &note, &e) < 0;
    wire_close(&wire);
    buf_free(&lines);
    return rc;
}
