/* SPDX-License-Identifier: MIT */
/* outbox.c - reports in batches, each kept until it is acknowledged */

#include "worker/agent/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/utf8.h"

enum { REFUSED_DELAY_MS = 1000 };

static struct telling *telling_at(struct ring *at)
{
    return RING_ITEM(at, struct telling, ring);
}

static struct attempt *attempt_at(struct ring *at)
{
    return RING_ITEM(telling_at(at), struct attempt, telling);
}

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

/* ---- what there is to tell ---- */

/* Beyond what it was before, and before an earlier process of ours was killed. */
static int64_t next_seq(const struct telling *t)
{
    int64_t now = units_now_ms();

    return t->seq < now ? now : t->seq + 1;
}

static void queue(struct outbox *o, struct telling *t)
{
    ring_remove(&t->ring);
    t->where = t->outcome != NULL ? OUTCOME : HINT;
    ring_add_last(t->outcome != NULL ? &o->outcomes : &o->hints, &t->ring);
}

static void tell(struct outbox *o, struct attempt *a, enum attempt_event event, int64_t at)
{
    struct telling *t = &a->telling;

    t->seq = next_seq(t);
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
        tell(o, a, event, at);
}

/* Between two characters, should it be UTF-8. */
static const char *cut(struct arena *a, const char *text)
{
    size_t n = strnlen(text, REASON_MAX_BYTES + 1);

    if (n > REASON_MAX_BYTES)
        n = utf8_cut(text, REASON_MAX_BYTES);
    return arena_strndup(a, text, n);
}

struct report *outbox_report(struct attempt *a, enum attempt_event event, const char *reason)
{
    struct report *r = arena_alloc(a->arena, sizeof *r);

    r->exit_code = r->signal = SCHEMA_NONE;
    r->event = (int)event;
    r->at = units_now_ms();
    r->started_at = a->started_at;
    r->ended_at = a->started_at > 0 ? r->at : 0;
    r->reason = reason == NULL ? NULL : cut(a->arena, reason);
    return r;
}

void outbox_outcome(struct outbox *o, struct attempt *a, const struct report *report)
{
    a->telling.outcome = report;
    tell(o, a, (enum attempt_event)report->event, report->at);
}

void outbox_forget(struct attempt *a)
{
    ring_remove(&a->telling.ring);
    a->telling.where = TOLD;
}

/* ---- sending ---- */

static struct report make_report(const struct attempt *a)
{
    const struct telling *t = &a->telling;
    struct report r = { .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE };

    if (t->outcome != NULL)
        r = *t->outcome;
    r.token = a->token;
    r.seq = t->seq;
    r.event = t->event;
    r.at = t->at;
    if (r.started_at == 0)
        r.started_at = a->started_at;
    return r;
}

static void put_in_batch(struct outbox *o, struct ring *at, size_t *n)
{
    struct telling *t = telling_at(at);

    o->batch[(*n)++] = make_report(attempt_at(at));
    t->sent_seq = t->seq;
    t->where = SENT;
    ring_remove(&t->ring);
    ring_add_last(&o->sent, &t->ring);
}

static size_t fill_batch(struct outbox *o)
{
    struct ring *at, *after;
    size_t n = 0;

    for (RING_EACH(&o->outcomes, at, after)) {
        if (n == REPORTS_MAX)
            return n;
        put_in_batch(o, at, &n);
    }
    for (RING_EACH(&o->hints, at, after)) {
        if (n == REPORTS_MAX || telling_at(at)->due_at > uv_now(o->loop))
            return n;
        put_in_batch(o, at, &n);
    }
    return n;
}

static void wait_for_hints(struct outbox *o)
{
    uint64_t due_at;

    if (ring_is_empty(&o->hints) || uv_is_active((uv_handle_t *)&o->timer))
        return;
    due_at = telling_at(o->hints.next)->due_at;
    uv_timer_start(&o->timer, on_timer, due_at > uv_now(o->loop) ? due_at - uv_now(o->loop) : 0, 0);
}

/* Sent once, but not acknowledged: it waits again, and what is newer of it instead. */
static void take_back(struct outbox *o)
{
    struct ring *at, *after;

    for (RING_EACH(&o->sent, at, after))
        queue(o, telling_at(at));
    o->batch_seq = 0;
}

void outbox_pump(struct outbox *o)
{
    struct msg_report m = { .reports = { o->batch, 0 } };

    if (!o->is_open || o->is_paused || o->batch_seq != 0)
        return;
    m.reports.n = fill_batch(o);
    if (m.reports.n == 0) {
        wait_for_hints(o);
        return;
    }
    o->batch_seq = o->events.send(o->context, &m);
    if (o->batch_seq < 0)
        take_back(o);
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

static void answer(struct outbox *o, struct attempt *a, enum verdict verdict)
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
            answer(o, a, (enum verdict)entries[i].verdict);
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
