/* SPDX-License-Identifier: MIT */
/* outbox.c - keeps reports for ludwigd until they are acknowledged, and sends them in batches */

#include "worker/agent/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/utf8.h"

enum { REFUSED_DELAY_MS = 1000 };

static void on_timer(uv_timer_t *timer)
{
    struct outbox *o = timer->data;

    o->is_paused = false;
    outbox_pump(o);
}

void outbox_init(struct outbox *o, uv_loop_t *loop, const struct outbox_events *events,
                 void *context)
{
    *o = (struct outbox){ .loop = loop, .events = *events, .context = context };
    ring_init(&o->hints);
    ring_init(&o->outcomes);
    ring_init(&o->sent);
    o->batch = mem_alloc(REPORTS_MAX * sizeof *o->batch);
    uv_timer_init(loop, &o->timer);
    o->timer.data = o;
}

void outbox_close(struct outbox *o)
{
    if (o->loop == NULL)
        return;
    uv_close((uv_handle_t *)&o->timer, NULL);
    free(o->batch);
    o->loop = NULL;
}

/* ---- news ---- */

static void queue(struct outbox *o, struct telling *t)
{
    ring_remove(&t->ring);
    t->where = t->outcome != NULL ? OUTCOME : HINT;
    ring_add_last(t->outcome != NULL ? &o->outcomes : &o->hints, &t->ring);
}

/* Sets the newest event.  Its seq grows, also across restarts, as it is at least the time in ms. */
static void tell_event(struct outbox *o, struct attempt *a, enum attempt_event event, int64_t at)
{
    struct telling *t = &a->telling;
    int64_t now = units_now_ms();

    t->seq = t->seq < now ? now : t->seq + 1;
    t->event = (int)event;
    t->at = at;
    if (t->where == TOLD)
        t->due_at = uv_now(o->loop) + OUTBOX_HINT_DELAY_MS;
    if (t->where == TOLD || (t->where == HINT && t->outcome != NULL))
        queue(o, t);
}

void outbox_hint(struct outbox *o, struct attempt *a, enum attempt_event event, int64_t at)
{
    if (a->telling.outcome == NULL)
        tell_event(o, a, event, at);
}

void outbox_delayed(struct outbox *o, struct attempt *a, const char *reason)
{
    size_t n = strnlen(reason, REASON_MAX_BYTES + 1);

    if (n > REASON_MAX_BYTES)
        n = utf8_cut(reason, REASON_MAX_BYTES);
    /* The publisher gives the same reason at each try. */
    if (a->telling.reason != NULL && strncmp(a->telling.reason, reason, n) == 0 &&
        a->telling.reason[n] == '\0')
        return;
    a->telling.reason = arena_strndup(a->arena, reason, n);
    outbox_hint(o, a, EV_END, units_now_ms());
}

struct report *outbox_report(struct attempt *a, enum attempt_event event, const char *reason)
{
    struct report *r = arena_alloc(a->arena, sizeof *r);
    size_t n = reason == NULL ? 0 : strnlen(reason, REASON_MAX_BYTES + 1);

    if (n > REASON_MAX_BYTES) /* between two characters, should it be UTF-8 */
        n = utf8_cut(reason, REASON_MAX_BYTES);
    r->exit_code = r->signal = SCHEMA_NONE;
    r->event = (int)event;
    r->at = units_now_ms();
    r->started_at = a->started_at;
    r->ended_at = a->started_at > 0 ? r->at : 0;
    r->reason = reason == NULL ? NULL : arena_strndup(a->arena, reason, n);
    return r;
}

void outbox_outcome(struct outbox *o, struct attempt *a, const struct report *report)
{
    a->telling.outcome = report;
    tell_event(o, a, (enum attempt_event)report->event, report->at);
}

void outbox_forget(struct attempt *a)
{
    ring_remove(&a->telling.ring);
    a->telling.where = TOLD;
}

/* ---- sending ---- */

/* Estimates the encoded size, rather too high. */
static size_t report_bytes(const struct report *r)
{
    const struct metric *metrics = r->metrics.items;
    size_t n = 400;

    n += r->reason == NULL ? 0 : strlen(r->reason);
    n += r->run_path == NULL ? 0 : strlen(r->run_path);
    n += r->gpu_ids == NULL ? 0 : strlen(r->gpu_ids);
    for (size_t i = 0; i < r->metrics.n; i++)
        n += 100 + strlen(metrics[i].name);
    return n;
}

static size_t fill_batch(struct outbox *o)
{
    const struct ring *const rings[] = { &o->outcomes, &o->hints };
    size_t n = 0, n_bytes = 0;

    for (size_t i = 0; i < 2; i++)
        for (RING_EACH(struct telling, t, rings[i], ring)) {
            const struct attempt *a = RING_ITEM(t, struct attempt, telling);
            struct report *r = &o->batch[n];

            if (n == REPORTS_MAX || n_bytes >= REPORTS_ABOUT_MAX_BYTES ||
                (t->outcome == NULL && t->due_at > uv_now(o->loop)))
                break;
            *r = t->outcome != NULL
                     ? *t->outcome
                     : (struct report){ .exit_code = SCHEMA_NONE,
                                        .signal = SCHEMA_NONE,
                                        .reason = t->event == EV_END ? t->reason : NULL };
            r->token = a->token;
            r->seq = t->sent_seq = t->seq;
            r->event = t->event;
            r->at = t->at;
            if (r->started_at == 0)
                r->started_at = a->started_at;
            r->gpu_ids = a->gpu_ids;
            n_bytes += report_bytes(r);
            t->where = SENT;
            ring_remove(&t->ring);
            ring_add_last(&o->sent, &t->ring);
            n++;
        }
    return n;
}

/* Queues the reports that were sent but not acknowledged again; the newest event is told then. */
static void take_back(struct outbox *o)
{
    for (RING_EACH(struct telling, t, &o->sent, ring))
        queue(o, t);
    o->batch_seq = 0;
}

void outbox_pump(struct outbox *o)
{
    struct msg_report m = { .reports = { o->batch, 0 } };
    const struct telling *first;
    uint64_t now = uv_now(o->loop);

    if (!o->is_open || o->is_paused || o->batch_seq != 0)
        return;
    m.reports.n = fill_batch(o);
    if (m.reports.n > 0) {
        o->batch_seq = o->events.send(o->context, &m);
        if (o->batch_seq < 0)
            take_back(o);
    } else if (!ring_is_empty(&o->hints) && !uv_is_active((uv_handle_t *)&o->timer)) {
        first = RING_ITEM(o->hints.next, struct telling, ring);
        uv_timer_start(&o->timer, on_timer, first->due_at > now ? first->due_at - now : 0, 0);
    }
}

void outbox_connected(struct outbox *o)
{
    o->is_open = true;
    o->is_paused = false;
    o->batch_seq = 0;
}

void outbox_disconnected(struct outbox *o)
{
    o->is_open = false;
    take_back(o);
    uv_timer_stop(&o->timer);
}

/* ---- answers ---- */

static void take_verdict(struct outbox *o, struct attempt *a, enum verdict verdict)
{
    struct telling *t = &a->telling;
    bool was_newest = t->seq == t->sent_seq;
    bool is_unwanted = verdict == VERDICT_SUPERSEDED || verdict == VERDICT_WITHDRAW;

    outbox_forget(a);
    if (t->outcome != NULL && was_newest) {
        t->outcome = NULL;
        o->events.settled(o->context, a, verdict);
        return;
    }
    if (!was_newest) {
        t->due_at = uv_now(o->loop);
        queue(o, t);
    }
    if (t->outcome == NULL && is_unwanted)
        o->events.unwanted(o->context, a);
}

void outbox_answered(struct outbox *o, int64_t re, const struct msg_verdicts *verdicts,
                     const struct attempts *attempts)
{
    const struct verdict_entry *entries = verdicts->verdicts.items;

    if (re != o->batch_seq || o->batch_seq == 0)
        return;
    for (size_t i = 0; i < verdicts->verdicts.n; i++) {
        struct attempt *a = attempts_find(attempts, &entries[i].token);

        if (a != NULL && a->telling.where == SENT && a->telling.sent_seq == entries[i].seq)
            take_verdict(o, a, (enum verdict)entries[i].verdict);
    }
    if (ring_is_empty(&o->sent))
        o->batch_seq = 0;
    else
        outbox_refused(o, re);
}

void outbox_refused(struct outbox *o, int64_t re)
{
    if (re != o->batch_seq || o->batch_seq == 0)
        return;
    take_back(o);
    o->is_paused = true;
    uv_timer_start(&o->timer, on_timer, REFUSED_DELAY_MS, 0);
}
