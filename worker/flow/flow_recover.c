/* SPDX-License-Identifier: MIT */
/* flow_recover.c - attempts that no runner has, and what else lies on scratch: asked of the clerk */

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "worker/flow/flow.h"

enum {
    ORPHAN_AT_FIRST_MS = 5,
    ORPHAN_AT_MOST_MS = 2000,
    CLERK_IDLE_MS = 200 /* then it leaves */
};

/* ---- asking ---- */

static struct attempt *mate_at(struct ring *at)
{
    return RING_ITEM(at, struct attempt, mate);
}

static void set_asked(struct agent *ag, struct attempt *a, bool is_asked)
{
    ag->n_asked += is_asked - a->is_asked;
    a->is_asked = is_asked;
}

static void send_settle(struct batch *b, bool only_look)
{
    struct order_settle order = { .only_look = only_look };
    struct token_entry *tokens = NULL;
    size_t capacity = 0;
    struct ring *at, *after;

    for (RING_EACH(&b->members, at, after)) {
        const struct attempt *a = mate_at(at);

        if (!a->is_asked || a->only_look != only_look)
            continue;
        mem_grow((void **)&tokens, &capacity, order.tokens.n, sizeof *tokens);
        tokens[order.tokens.n++].token = a->token;
        order.is_stale |= a->is_stale;
    }
    if (b->is_asked && !only_look)
        order.process = b->token;
    order.tokens.items = tokens;
    if (order.tokens.n > 0 || !token_is_zero(&order.process))
        service_send(&b->user->clerk, ORDER_SETTLE, &order);
    free(tokens);
}

static void ask_members(struct agent *ag, struct batch *b, bool only_look, bool has_begun)
{
    struct ring *at, *after;

    for (RING_EACH(&b->members, at, after)) {
        struct attempt *a = mate_at(at);

        if (a->phase != PHASE_GIVEN || a->is_named)
            continue;
        a->only_look = only_look;
        a->has_begun = has_begun;
        set_asked(ag, a, true);
    }
    send_settle(b, only_look);
}

static void forget_names(struct batch *b)
{
    struct ring *at, *after;

    for (RING_EACH(&b->members, at, after))
        mate_at(at)->is_named = false;
}

void flow_recover(struct agent *ag, struct batch *b)
{
    forget_names(b);
    b->is_asked = b->is_shared;
    b->is_given &= b->is_shared;
    slots_release(ag->slots, &b->slot);
    ask_members(ag, b, false, false);
}

void flow_recover_ended(struct agent *ag, struct batch *b)
{
    forget_names(b);
    flow_process_over(ag, b);
    ask_members(ag, b, false, true);
    flow_end_if_over(ag, b);
}

void flow_recover_unnamed(struct agent *ag, struct batch *b)
{
    ask_members(ag, b, false, true);
}

void flow_recover_mute(struct agent *ag, struct batch *b)
{
    ask_members(ag, b, true, true);
}

/* ---- what became of one ---- */

/* Nothing on scratch knows it: it never started, or its files were wiped. */
static void resolve_unseen(struct agent *ag, struct attempt *a, bool has_begun)
{
    struct user *u = a->user;
    bool has_lost_runner = a->batch->has_lost_runner;

    if (a->is_stale) {
        flow_orphaned(ag, a);
    } else if (a->is_stopped) {
        flow_decide(ag, a, EV_CANCEL, NULL);
    } else if (has_begun) {
        flow_decide(ag, a, EV_RECALL, "its process was started without it");
    } else {
        a->batch->has_lost_runner = false;
        flow_admit(ag, a);
        if (has_lost_runner)
            flow_start_failed(u, "its runner ended before it began");
    }
}

static void resolve_published(struct agent *ag, struct attempt *a, const struct list *reports)
{
    a->may_be_on_scratch = true;
    if (reports->n == 1)
        flow_published(ag, a, reports->items);
    else
        flow_decide(ag, a, EV_LOSE, "its report cannot be read");
}

static void resolve(struct agent *ag, struct attempt *a, const struct note_settled *note)
{
    bool has_begun = a->has_begun || (a->batch->is_shared && note->has_begun);

    switch ((enum place)note->place) {
    case PLACE_RUN: flow_orphaned(ag, a); break;
    case PLACE_ENDED:
        if (a->is_stale)
            flow_orphaned(ag, a);
        else
            flow_ended(ag, a);
        break;
    case PLACE_PUBLISHED: resolve_published(ag, a, &note->reports); break;
    default: resolve_unseen(ag, a, has_begun);
    }
}

/* What a mute runner may have stays with it until it speaks or dies, and so do its processors and
 * GPUs.  What has left run/ is no runner's any more. */
static void take_attempt(struct agent *ag, struct attempt *a, const struct note_settled *note)
{
    if (!a->is_asked)
        return;
    set_asked(ag, a, false);
    if (a->phase != PHASE_GIVEN || a->is_named)
        return;
    if (!a->only_look)
        resolve(ag, a, note);
    else if (note->place == PLACE_RUN)
        adopt_take_slots(ag, a->batch);
    else if (note->place != PLACE_NOWHERE)
        resolve(ag, a, note);
}

static void orphan(struct agent *ag, struct batch *b);

static void take_process(struct agent *ag, struct batch *b, const struct note_settled *note)
{
    b->is_asked = false;
    if (b->runner != NULL)
        return;
    if (note->place != PLACE_NOWHERE)
        orphan(ag, b);
    else
        flow_process_over(ag, b);
    flow_end_if_over(ag, b);
}

static void take_settled(struct user *u, const struct note_settled *note)
{
    struct agent *ag = u->agent;
    struct batch *b = attempts_find_batch(&ag->attempts, &note->token);
    struct attempt *a = attempts_find(&ag->attempts, &note->token);

    if (b != NULL && b->is_asked && b->user == u)
        take_process(ag, b, note);
    else if (a != NULL && a->user == u)
        take_attempt(ag, a, note);
    else if (a == NULL && b == NULL)
        (void)foreign_attempts_settled(u, note);
    adopt_go_on(ag);
    flow_fill(ag);
}

/* ---- orphans: their processes are killed first ---- */

static bool is_stale(const struct batch *b)
{
    const struct attempt *first = batch_first(b);

    return first != NULL && first->is_stale;
}

static void send_finish(const struct attempt *a)
{
    struct order_finish order = { .token = a->token,
                                  .event = (int)a->finish_event,
                                  .reason = a->finish_reason,
                                  .started_at = a->started_at };

    service_send(&a->user->clerk, ORDER_FINISH, &order);
}

/* What it left for its next attempt is kept before it is told. */
static void finish(struct agent *ag, struct attempt *a, enum attempt_event event,
                   const char *reason)
{
    if (a->phase != PHASE_ORPHANED || a->is_finishing)
        return;
    if (event == EV_RECALL) /* its process did, but not it */
        a->started_at = 0;
    if (a->is_stale || a->user->is_gone) {
        flow_decide(ag, a, event, reason);
        return;
    }
    a->is_finishing = true;
    a->finish_event = event;
    a->finish_reason = reason;
    send_finish(a);
}

static void lose(struct agent *ag, struct attempt *a)
{
    finish(ag, a, EV_LOSE, a->is_stale ? "the machine was restarted" : "runner-lost");
}

static void give_back(struct agent *ag, struct attempt *a)
{
    finish(ag, a, EV_RECALL, "its process was lost before it came to this job");
}

static struct attempt *first_orphaned(const struct batch *b)
{
    struct ring *at, *after;

    for (RING_EACH(&b->members, at, after))
        if (mate_at(at)->phase == PHASE_ORPHANED)
            return mate_at(at);
    return NULL;
}

/* It was at the first one of those that had not ended. */
static void lose_members(struct agent *ag, struct batch *b)
{
    struct attempt *first = first_orphaned(b);

    b->is_held = true;
    if (first != NULL)
        lose(ag, first);
    flow_each_member(ag, b, give_back);
}

static void end_orphan(struct agent *ag, struct batch *b)
{
    struct user *u = b->user;
    struct token token = b->token;
    bool is_shared = b->is_shared;

    ring_remove(&b->orphan);
    flow_process_over(ag, b);
    lose_members(ag, b);
    if (is_shared)
        flow_add_leftover(u, &token);
    flow_discard_leftovers(u);
}

static void reap(struct batch *b)
{
    struct order_reap order = { b->token };

    if (b->is_reaping)
        return;
    b->is_reaping = true;
    service_send(&b->user->clerk, ORDER_REAP, &order);
}

void flow_on_orphan_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;
    struct ring *at, *after;

    for (RING_EACH(&ag->orphans, at, after)) {
        struct batch *b = RING_ITEM(at, struct batch, orphan);

        if (is_stale(b) || b->user->is_gone)
            end_orphan(ag, b);
        else
            reap(b);
    }
    flow_fill(ag);
    if (ring_is_empty(&ag->orphans))
        return;
    ag->orphan_ms = ag->orphan_ms * 2 < ORPHAN_AT_MOST_MS ? ag->orphan_ms * 2 : ORPHAN_AT_MOST_MS;
    uv_timer_start(timer, flow_on_orphan_timer, ag->orphan_ms, 0);
}

static void orphan(struct agent *ag, struct batch *b)
{
    if (ring_is_empty(&b->orphan))
        ring_add_last(&ag->orphans, &b->orphan);
    ag->orphan_ms = ORPHAN_AT_FIRST_MS;
    uv_timer_start(&ag->orphan_timer, flow_on_orphan_timer, 0, 0);
}

void flow_orphaned(struct agent *ag, struct attempt *a)
{
    if (a->phase == PHASE_ORPHANED)
        return;
    log_event(LOG_WARN, "runner-lost", "sweep", "%lld", (long long)a->order.assignment.sweep, "job",
              "%lld", (long long)a->order.assignment.job, NULL);
    a->phase = PHASE_ORPHANED;
    a->may_be_on_scratch = true;
    orphan(ag, a->batch);
}

static void take_reaped(struct user *u, const struct note_reaped *note)
{
    struct agent *ag = u->agent;
    struct batch *b = attempts_find_process(&ag->attempts, &note->token);

    if (b == NULL || b->user != u || !b->is_reaping)
        return;
    b->is_reaping = false;
    if (note->left == 0 && !ring_is_empty(&b->orphan))
        end_orphan(ag, b);
    flow_fill(ag);
}

static void take_finished(struct user *u, const struct note_finished *note)
{
    struct agent *ag = u->agent;
    struct attempt *a = attempts_find(&ag->attempts, &note->token);

    if (a == NULL || a->user != u || !a->is_finishing)
        return;
    a->is_finishing = false;
    if (note->has_ended)
        flow_ended(ag, a);
    else
        flow_decide(ag, a, a->finish_event, a->finish_reason);
    flow_fill(ag);
}

/* ---- what lies on scratch ---- */

static void send_survey(struct user *u)
{
    struct order_survey order = { .all = true };

    service_send(&u->clerk, ORDER_SURVEY, &order);
}

void flow_survey(struct user *u)
{
    foreign_attempts_begin(u);
    u->is_surveying = true;
    send_survey(u);
}

static bool is_held(const struct agent *ag, const struct token *token)
{
    return attempts_find(&ag->attempts, token) != NULL ||
           attempts_find_batch(&ag->attempts, token) != NULL;
}

/* Settled, but not all removed.  Scratch may be shared with an agent of another server. */
static void take_leftover(struct user *u, const struct note_remains *note)
{
    struct order_reap order = { note->token };

    if (note->place == PLACE_RUN)
        service_send(&u->clerk, ORDER_REAP, &order);
    flow_add_leftover(u, &note->token);
}

static void take_remains(struct user *u, const struct note_remains *note)
{
    struct agent *ag = u->agent;

    if (is_held(ag, &note->token))
        return;
    if (note->server_id == NULL ? note->is_old : strcmp(note->server_id, ag->server_id) == 0)
        take_leftover(u, note);
    else if (note->server_id != NULL)
        foreign_attempts_take(u, note);
}

static void take_surveyed(struct user *u)
{
    u->is_surveying = false;
    u->is_surveyed = true;
    flow_discard_leftovers(u);
    foreign_attempts_end(u);
    flow_fill(u->agent);
}

/* ---- the clerk ---- */

static bool is_first_asked(const struct attempt *a)
{
    struct ring *at, *after;

    if (a->is_asked && a->batch != NULL)
        for (RING_EACH(&a->batch->members, at, after))
            if (mate_at(at)->is_asked)
                return mate_at(at) == a;
    return false;
}

static void ask_again(struct attempt *a)
{
    if (is_first_asked(a)) {
        send_settle(a->batch, false);
        send_settle(a->batch, true);
    }
    if (a->is_finishing)
        send_finish(a);
}

static void on_up(void *context)
{
    struct user *u = context;
    struct agent *ag = u->agent;
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after))
        if (RING_ITEM(at, struct attempt, ring)->user == u)
            ask_again(RING_ITEM(at, struct attempt, ring));
    for (RING_EACH(&ag->attempts.batches, at, after)) {
        struct batch *b = RING_ITEM(at, struct batch, ring);

        if (b->user == u && b->is_asked && ring_is_empty(&b->members))
            send_settle(b, false);
    }
    for (RING_EACH(&ag->orphans, at, after))
        if (RING_ITEM(at, struct batch, orphan)->user == u)
            RING_ITEM(at, struct batch, orphan)->is_reaping = false;
    if (u->is_surveying)
        send_survey(u);
}

static bool has_questions(const struct user *u)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user == u && (a->is_asked || a->phase == PHASE_ORPHANED))
            return true;
    }
    for (RING_EACH(&u->agent->attempts.batches, at, after))
        if (RING_ITEM(at, struct batch, ring)->user == u &&
            RING_ITEM(at, struct batch, ring)->is_asked)
            return true;
    return u->is_surveying;
}

static void on_clerk_timer(uv_timer_t *timer)
{
    struct user *u = timer->data;

    if (has_questions(u))
        uv_timer_start(timer, on_clerk_timer, CLERK_IDLE_MS, 0);
    else
        service_rest(&u->clerk);
}

union note {
    struct note_settled settled;
    struct note_reaped reaped;
    struct note_finished finished;
    struct note_remains remains;
    struct note_surveyed surveyed;
};

static void take_note(struct user *u, int type, const union note *note)
{
    switch (type) {
    case NOTE_SETTLED: take_settled(u, &note->settled); break;
    case NOTE_REAPED: take_reaped(u, &note->reaped); break;
    case NOTE_FINISHED: take_finished(u, &note->finished); break;
    case NOTE_REMAINS: take_remains(u, &note->remains); break;
    default: take_surveyed(u);
    }
}

static void on_note(void *context, const struct envelope *m, struct arena *a, struct err *e)
{
    struct user *u = context;
    union note note;

    if (m->type < NOTE_SETTLED || m->type > NOTE_SURVEYED ||
        orders.messages[m->type].flags != orders.messages[NOTE_SETTLED].flags) {
        err_set(e, ERR_PROTOCOL, "unexpected %s", orders.messages[m->type].name);
        return;
    }
    if (message_body(&orders, m, a, &note, e) < 0)
        return;
    take_note(u, m->type, &note);
    uv_timer_start(&u->clerk_timer, on_clerk_timer, CLERK_IDLE_MS, 0);
}

const struct service_events flow_clerk_events = { on_up, on_note };
