/* SPDX-License-Identifier: MIT */
/* flow_publish.c - what the publisher is told, and what it answers */

#include <stdlib.h>
#include <string.h>

#include "common/layout.h"
#include "common/log.h"
#include "worker/flow.h"

/* Logs are to be on the share within a second. */
enum { YOUNG_MS = 200 };

void flow_watch(struct agent *ag, const struct attempt *a)
{
    const struct assignment *is = &a->order.assignment;
    struct order_watch order = { .token = a->token, .share = a->order.share };
    struct buf path = { 0 };

    layout_log(&path, a->order.work.project, is->sweep, is->param_name, is->job_name, is->attempt);
    order.log_path = buf_text(&path);
    order.every_ms = a->order.work.work.checkpoint.every_ms;
    service_send(&ag->publisher, ORDER_WATCH, &order);
    buf_free(&path);
}

static void on_young_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;
    uint64_t now = uv_now(&ag->loop);

    while (!ring_is_empty(&ag->young)) {
        struct attempt *a = RING_ITEM(ag->young.next, struct attempt, young);

        if (a->young_until > now) {
            uv_timer_start(timer, on_young_timer, a->young_until - now, 0);
            return;
        }
        ring_remove(&a->young);
        if (a->phase == PHASE_GIVEN)
            flow_watch(ag, a);
    }
}

void flow_watch_soon(struct agent *ag, struct attempt *a)
{
    a->young_until = uv_now(&ag->loop) + YOUNG_MS;
    ring_remove(&a->young);
    ring_add_last(&ag->young, &a->young);
    if (!uv_is_active((uv_handle_t *)&ag->young_timer))
        uv_timer_start(&ag->young_timer, on_young_timer, YOUNG_MS, 0);
}

void flow_order_publisher(struct agent *ag, const struct attempt *a)
{
    struct order_publish publish = { a->token };
    struct order_withdraw withdraw = { a->token };
    struct order_discard discard = { a->token };

    if (a->phase == PHASE_ENDED)
        service_send(&ag->publisher, ORDER_PUBLISH, &publish);
    else if (a->phase == PHASE_WITHDRAWING)
        service_send(&ag->publisher, ORDER_WITHDRAW, &withdraw);
    else if (a->phase == PHASE_DISCARDING)
        service_send(&ag->publisher, ORDER_DISCARD, &discard);
}

static void discard(struct agent *ag, const struct token *token)
{
    struct order_discard order = { *token };

    service_send(&ag->publisher, ORDER_DISCARD, &order);
}

/* Kept until the publisher says that it is gone: another one may have to be asked. */
static void send_leftovers(struct agent *ag)
{
    while (ag->n_leftovers_sent < ag->n_leftovers)
        discard(ag, &ag->leftovers[ag->n_leftovers_sent++]);
}

/* They come back in the order in which they were sent. */
static void forget_leftover(struct agent *ag, const struct token *token)
{
    struct token *all = ag->leftovers;
    size_t i = 0;

    while (i < ag->n_leftovers_sent && !token_equal(&all[i], token))
        i++;
    if (i == ag->n_leftovers_sent)
        return;
    ag->n_leftovers_sent--;
    ag->n_leftovers--;
    memmove(&all[i], &all[i + 1], (ag->n_leftovers - i) * sizeof *all);
}

void flow_add_leftover(struct agent *ag, const struct token *token)
{
    mem_grow((void **)&ag->leftovers, &ag->leftovers_capacity, ag->n_leftovers,
             sizeof *ag->leftovers);
    ag->leftovers[ag->n_leftovers++] = *token;
}

void flow_discard_leftovers(struct agent *ag)
{
    if (ag->n_leftovers == ag->n_leftovers_sent)
        return;
    if (ag->publisher.chan == NULL)
        service_need(&ag->publisher);
    else
        send_leftovers(ag);
}

static void on_up(void *context)
{
    struct agent *ag = context;
    struct ring *at, *after;

    ag->n_leftovers_sent = 0;
    send_leftovers(ag);
    if (ag->is_resolved)
        strangers_look(ag);
    for (RING_EACH(&ag->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->phase == PHASE_GIVEN && a->started_at > 0)
            flow_watch(ag, a);
        else
            flow_order_publisher(ag, a);
    }
}

static void take_published(struct agent *ag, const struct note_published *note)
{
    struct attempt *a = attempts_find(&ag->attempts, &note->report.token);

    if (a == NULL && note->error == NULL) /* a stranger's: there is nobody to tell */
        discard(ag, &note->report.token);
    if (a == NULL || a->phase != PHASE_ENDED)
        return;
    if (note->error == NULL) {
        flow_published(ag, a, &note->report);
        return;
    }
    log_event(LOG_WARN, "not-published-yet", "sweep", "%lld", (long long)a->order.assignment.sweep,
              "job", "%lld", (long long)a->order.assignment.job, "why", "%s", note->error, NULL);
}

static void take_withdrawn(struct agent *ag, const struct token *token)
{
    struct attempt *a = attempts_find(&ag->attempts, token);

    if (a != NULL && a->phase == PHASE_WITHDRAWING)
        flow_decide(ag, a, EV_WITHDRAW, NULL);
}

static void take_discarded(struct agent *ag, const struct token *token)
{
    struct attempt *a = attempts_find(&ag->attempts, token);

    forget_leftover(ag, token);
    if (a != NULL && a->phase == PHASE_DISCARDING)
        attempts_remove(&ag->attempts, a);
}

static void on_note(void *context, const struct envelope *m, struct arena *a, struct err *e)
{
    union {
        struct note_published published;
        struct note_withdrawn withdrawn;
        struct note_discarded discarded;
    } note;

    if (m->type != NOTE_PUBLISHED && m->type != NOTE_WITHDRAWN && m->type != NOTE_DISCARDED) {
        err_set(e, ERR_PROTOCOL, "unexpected %s", orders.messages[m->type].name);
        return;
    }
    if (message_body(&orders, m, a, &note, e) < 0)
        return;
    if (m->type == NOTE_PUBLISHED)
        take_published(context, &note.published);
    else if (m->type == NOTE_WITHDRAWN)
        take_withdrawn(context, &note.withdrawn.token);
    else
        take_discarded(context, &note.discarded.token);
}

const struct service_events flow_publisher_events = { on_up, on_note };
