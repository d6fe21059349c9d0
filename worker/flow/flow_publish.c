/* SPDX-License-Identifier: MIT */
/* flow_publish.c - orders to the publisher, and its answers */

#include "worker/flow/flow_publish.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/proto/layout.h"
#include "worker/flow/flow_recover.h"
#include "worker/flow/gpus.h"

/* Age from which an attempt's log is watched; it has to be on the share within a second. */
enum { YOUNG_MS = 200 };

/* ---- logs ---- */

void flow_publish_watch(const struct attempt *a)
{
    const struct assignment *is = &a->order.assignment;
    struct order_watch order = { .token = a->token, .share = a->order.share };
    struct buf path = { 0 };

    layout_log(&path, a->order.work.project, is->sweep, is->param_name, is->job_name, is->attempt);
    order.log_path = buf_text(&path);
    order.attempt = is->attempt;
    order.every_ms = a->order.work.work.checkpoint.every_ms;
    order.max_bytes = order_log_max_bytes(&a->order);
    order.tells = a->is_followed;
    service_send(&a->user->publisher, ORDER_WATCH, &order);
    buf_free(&path);
}

static void set_followed(struct attempt *a, bool on)
{
    a->is_followed = on;
    if (a->phase == PHASE_RUNNING)
        flow_publish_watch(a);
}

void flow_publish_follow(struct agent *ag, const struct msg_follow_log *order)
{
    struct attempt *a = attempts_find(&ag->attempts, &order->token);

    if (a != NULL)
        set_followed(a, order->on);
}

void flow_publish_follow_none(struct agent *ag)
{
    for (RING_EACH(struct attempt, a, &ag->attempts.all, ring)) {
        if (a->is_followed)
            set_followed(a, false);
    }
}

static void on_young_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;
    uint64_t now = uv_now(&ag->loop);

    while (!ring_is_empty(&ag->young)) {
        struct attempt *a = RING_ITEM(ag->young.next, struct attempt, aside);

        if (a->young_until > now) {
            uv_timer_start(timer, on_young_timer, a->young_until - now, 0);
            return;
        }
        ring_remove(&a->aside);
        if (a->phase == PHASE_RUNNING)
            flow_publish_watch(a);
    }
}

void flow_publish_watch_soon(struct agent *ag, struct attempt *a)
{
    a->young_until = uv_now(&ag->loop) + YOUNG_MS;
    ring_remove(&a->aside);
    ring_add_last(&ag->young, &a->aside);
    if (!uv_is_active((uv_handle_t *)&ag->young_timer))
        uv_timer_start(&ag->young_timer, on_young_timer, YOUNG_MS, 0);
}

/* ---- orders ---- */

/* Publishers that die one after the other may die of what one attempt has left: from then on
 * attempts are published one by one, and one at which they go on dying is given up. */
enum { ALONE_AFTER_DEATHS = 3, GIVE_UP_AFTER_DEATHS = 6 };

static bool is_one_by_one(const struct user *u)
{
    return u->publisher.n_deaths >= ALONE_AFTER_DEATHS;
}

static struct attempt *first_to_publish(const struct user *u)
{
    struct attempt *a = user_next(u, NULL);

    while (a != NULL && (a->phase != PHASE_PUBLISHING || a->is_given_up))
        a = user_next(u, a);
    return a;
}

void flow_publish_order(const struct attempt *a)
{
    struct service *publisher = &a->user->publisher;

    if (a->phase == PHASE_PUBLISHING && is_one_by_one(a->user) && a != first_to_publish(a->user))
        return; /* its turn comes */
    if (a->phase == PHASE_PUBLISHING)
        service_send(publisher, ORDER_PUBLISH, &(struct token_entry){ a->token });
    else if (a->phase == PHASE_WITHDRAWING)
        service_send(publisher, ORDER_WITHDRAW, &(struct token_entry){ a->token });
    else if (a->phase == PHASE_DISCARDING)
        service_send(publisher, ORDER_DISCARD, &(struct token_entry){ a->token });
}

void flow_publish_discard_settled(struct agent *ag)
{
    while (!ring_is_empty(&ag->settled)) {
        struct attempt *a = RING_ITEM(ag->settled.next, struct attempt, aside);

        ring_remove(&a->aside);
        flow_publish_order(a);
    }
}

/* ---- answers ---- */

static void give_up(struct user *u)
{
    struct attempt *a = first_to_publish(u);
    struct report *r;
    char *why;

    u->publisher.n_deaths = ALONE_AFTER_DEATHS; /* the next one is tried as often */
    if (a == NULL)
        return;
    why = mem_printf("its results cannot be published: the process that does so ended %d times at "
                     "it; see the worker's log, and whether it saved very many files, or names",
                     GIVE_UP_AFTER_DEATHS);
    log_event(LOG_ERROR, "not-published", "sweep", "%lld", (long long)a->order.assignment.sweep,
              "job", "%lld", (long long)a->order.assignment.job, "why", "%s", why, NULL);
    a->is_given_up = true;
    r = outbox_report(a, EV_FAIL, why);
    r->cause = CAUSE_FAILED;
    flow_post(u->agent, a, EVENT_PUBLISHED, NULL)->report = r;
    free(why);
}

static void send_all(struct user *u)
{
    for (struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        if (a->phase != PHASE_RUNNING)
            flow_publish_order(a);
        else if (!is_one_by_one(u))
            flow_publish_watch(a);
}

/* The publisher answered for an attempt, so it does not die of it: all others are ordered again. */
static void note_progress(struct user *u, struct attempt *done)
{
    bool was_one_by_one = is_one_by_one(u);

    u->publisher.n_deaths = 0;
    if (!was_one_by_one)
        return;
    for (struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        if (a->phase == PHASE_RUNNING)
            flow_publish_watch(a);
        else if (a->phase == PHASE_PUBLISHING && a != done)
            flow_publish_order(a);
}

static void on_up(struct user *u)
{
    if (u->publisher.n_deaths >= GIVE_UP_AFTER_DEATHS)
        give_up(u);
    u->n_leftovers_sent = 0; /* a new publisher knows no leftovers */
    user_discard_leftovers(u);
    if (u->n_foreign > 0)
        flow_recover_survey(u);
    send_all(u);
}

static void take_grew(struct user *u, const struct note_grew *note)
{
    const struct attempt *a = user_attempt(u, &note->token);
    struct msg_log_grew grew = { note->token, note->size_bytes };

    /* Followed only while a->is_followed, which is cleared when a connection ends, so ludwigd asked
     * over this one; ag->is_registered is not tested, as the answer to our registration may come
     * after follow_log. */
    if (a != NULL && a->is_followed)
        server_link_send(u->agent->link, MSG_LOG_GREW, 0, &grew);
}

static void take_published(struct user *u, const struct note_published *note)
{
    struct attempt *a = attempts_find(&u->agent->attempts, &note->report.token);
    const struct token_entry foreign = { note->report.token };

    if (a == NULL && note->error == NULL) /* an attempt of another server: ludwigd is not told */
        service_send(&u->publisher, ORDER_DISCARD, &foreign);
    note_progress(u, a);
    if (a == NULL || a->user != u || a->phase != PHASE_PUBLISHING)
        return;
    if (note->error == NULL) {
        struct report *report = schema_copy(&report_schema, &note->report, a->arena);

        if (!gpus_weigh_failure(u->agent, a, report))
            flow_post(u->agent, a, EVENT_PUBLISHED, NULL)->report = report;
    } else {
        log_event(LOG_WARN, "not-published-yet", "sweep", "%lld",
                  (long long)a->order.assignment.sweep, "job", "%lld",
                  (long long)a->order.assignment.job, "why", "%s", note->error, NULL);
        outbox_delayed(&u->agent->outbox, a, note->error);
    }
}

static bool take_note(struct user *u, int type, const void *body, int64_t re)
{
    const struct token_entry *entry = body;
    const struct attempt *a;

    (void)re;
    switch (type) {
    case NOTE_GREW: take_grew(u, body); return true;
    case NOTE_PUBLISHED: take_published(u, body); return true;
    case NOTE_WITHDRAWN:
        a = user_attempt(u, &entry->token);
        if (a != NULL)
            flow_post(u->agent, a, EVENT_WITHDRAWN, NULL);
        return true;
    case NOTE_DISCARDED:
        a = user_attempt(u, &entry->token);
        user_forget_leftover(u, &entry->token);
        if (a != NULL)
            flow_post(u->agent, a, EVENT_DISCARDED, NULL);
        user_may_rest(u);
        return true;
    default: return false;
    }
}

const struct service_events flow_publish_events = { on_up, take_note };
