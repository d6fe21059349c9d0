/* SPDX-License-Identifier: MIT */
/* flow_publish.c - what the publisher is told, and what it answers */

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/proto/layout.h"
#include "worker/flow/flow.h"

/* Logs are to be on the share within a second. */
enum { YOUNG_MS = 200 };

void flow_watch(const struct attempt *a)
{
    const struct assignment *is = &a->order.assignment;
    struct order_watch order = { .token = a->token, .share = a->order.share };
    struct buf path = { 0 };

    layout_log(&path, a->order.work.project, is->sweep, is->param_name, is->job_name, is->attempt);
    order.log_path = buf_text(&path);
    order.every_ms = a->order.work.work.checkpoint.every_ms;
    order.tells = a->is_followed;
    service_send(&a->user->publisher, ORDER_WATCH, &order);
    buf_free(&path);
}

static void set_followed(struct attempt *a, bool on)
{
    a->is_followed = on;
    if (a->phase == PHASE_GIVEN && a->started_at > 0)
        flow_watch(a);
}

void flow_follow_log(struct agent *ag, const struct msg_follow_log *order)
{
    struct attempt *a = attempts_find(&ag->attempts, &order->token);

    if (a != NULL)
        set_followed(a, order->on);
}

void flow_follow_none(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->is_followed)
            set_followed(a, false);
    }
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
            flow_watch(a);
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

void flow_order_publisher(const struct attempt *a)
{
    struct service *publisher = &a->user->publisher;
    struct order_publish publish = { a->token };
    struct order_withdraw withdraw = { a->token };
    struct order_discard discard = { a->token };

    if (a->phase == PHASE_ENDED)
        service_send(publisher, ORDER_PUBLISH, &publish);
    else if (a->phase == PHASE_WITHDRAWING)
        service_send(publisher, ORDER_WITHDRAW, &withdraw);
    else if (a->phase == PHASE_DISCARDING)
        service_send(publisher, ORDER_DISCARD, &discard);
}

static void discard(struct user *u, const struct token *token)
{
    struct order_discard order = { *token };

    service_send(&u->publisher, ORDER_DISCARD, &order);
}

/* Kept until the publisher says that it is gone: another one may have to be asked. */
static void send_leftovers(struct user *u)
{
    while (u->n_leftovers_sent < u->n_leftovers)
        discard(u, &u->leftovers[u->n_leftovers_sent++]);
}

/* They come back in the order in which they were sent. */
static void forget_leftover(struct user *u, const struct token *token)
{
    struct token *all = u->leftovers;
    size_t i = 0;

    while (i < u->n_leftovers_sent && !token_equal(&all[i], token))
        i++;
    if (i == u->n_leftovers_sent)
        return;
    u->n_leftovers_sent--;
    u->n_leftovers--;
    memmove(&all[i], &all[i + 1], (u->n_leftovers - i) * sizeof *all);
}

void flow_add_leftover(struct user *u, const struct token *token)
{
    mem_grow((void **)&u->leftovers, &u->leftovers_capacity, u->n_leftovers, sizeof *u->leftovers);
    u->leftovers[u->n_leftovers++] = *token;
}

void flow_discard_leftovers(struct user *u)
{
    if (u->n_leftovers == u->n_leftovers_sent)
        return;
    if (u->publisher.chan == NULL)
        service_need(&u->publisher);
    else
        send_leftovers(u);
}

static void on_up(void *context)
{
    struct user *u = context;
    struct ring *at, *after;

    u->n_leftovers_sent = 0;
    send_leftovers(u);
    if (u->n_strangers > 0)
        flow_survey(u);
    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user != u)
            continue;
        if (a->phase == PHASE_GIVEN && a->started_at > 0)
            flow_watch(a);
        else
            flow_order_publisher(a);
    }
}

static void take_grew(struct user *u, const struct note_grew *note)
{
    const struct attempt *a = attempts_find(&u->agent->attempts, &note->token);
    struct msg_log_grew grew = { note->token, note->size_bytes };

    /* Of this connection: that it is registered may be heard only after that it is to tell. */
    if (a != NULL && a->user == u && a->is_followed)
        server_link_send(u->agent->link, MSG_LOG_GREW, 0, &grew);
}

static void take_published(struct user *u, const struct note_published *note)
{
    struct attempt *a = attempts_find(&u->agent->attempts, &note->report.token);

    if (a == NULL && note->error == NULL) /* a stranger's: there is nobody to tell */
        discard(u, &note->report.token);
    if (a == NULL || a->user != u || a->phase != PHASE_ENDED)
        return;
    if (note->error == NULL) {
        flow_published(u->agent, a, &note->report);
        return;
    }
    log_event(LOG_WARN, "not-published-yet", "sweep", "%lld", (long long)a->order.assignment.sweep,
              "job", "%lld", (long long)a->order.assignment.job, "why", "%s", note->error, NULL);
}

static void take_withdrawn(struct user *u, const struct token *token)
{
    struct attempt *a = attempts_find(&u->agent->attempts, token);

    if (a != NULL && a->user == u && a->phase == PHASE_WITHDRAWING)
        flow_decide(u->agent, a, EV_WITHDRAW, NULL);
}

static void take_discarded(struct user *u, const struct token *token)
{
    struct attempt *a = attempts_find(&u->agent->attempts, token);

    forget_leftover(u, token);
    if (a != NULL && a->user == u && a->phase == PHASE_DISCARDING)
        attempts_remove(&u->agent->attempts, a);
    user_may_rest(u);
}

static void on_note(void *context, const struct envelope *m, struct arena *a, struct err *e)
{
    union {
        struct note_grew grew;
        struct note_published published;
        struct note_withdrawn withdrawn;
        struct note_discarded discarded;
    } note;

    if (m->type != NOTE_GREW && m->type != NOTE_PUBLISHED && m->type != NOTE_WITHDRAWN &&
        m->type != NOTE_DISCARDED) {
        err_set(e, ERR_PROTOCOL, "unexpected %s", orders.messages[m->type].name);
        return;
    }
    if (message_body(&orders, m, a, &note, e) < 0)
        return;
    if (m->type == NOTE_GREW)
        take_grew(context, &note.grew);
    else if (m->type == NOTE_PUBLISHED)
        take_published(context, &note.published);
    else if (m->type == NOTE_WITHDRAWN)
        take_withdrawn(context, &note.withdrawn.token);
    else
        take_discarded(context, &note.discarded.token);
}

const struct service_events flow_publisher_events = { on_up, on_note };
