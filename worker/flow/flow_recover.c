/* SPDX-License-Identifier: MIT */
/* flow_recover.c - attempts that no runner has, and what else lies on scratch: asked of the janitor */

#include "worker/flow/flow_recover.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "worker/agent/runtime_dir.h"
#include "worker/flow/flow_pause.h"

enum {
    ORPHAN_AT_FIRST_MS = 5,
    ORPHAN_AT_MOST_MS = 2000,
    JANITOR_IDLE_MS = 200, /* then it leaves */
    /* While a job of a server that is gone runs, or a result of it is not published yet. */
    SURVEY_AGAIN_MS = 10 * 1000
};

/* ---- asking ---- */

static struct attempt *mate_at(struct ring *at)
{
    return RING_ITEM(at, struct attempt, mate);
}

static bool is_asked(const struct attempt *a)
{
    return a->phase == PHASE_MUTE || a->phase == PHASE_MISSING || a->phase == PHASE_UNNAMED;
}

size_t flow_recover_n_asked(const struct agent *ag)
{
    const size_t *n_in = ag->attempts.n_in;

    return n_in[PHASE_MUTE] + n_in[PHASE_MISSING] + n_in[PHASE_UNNAMED];
}

/* Of those that are mute nothing is moved: a runner may have them after all. */
static void send_settle(const struct batch *b, bool only_look)
{
    struct order_settle order = { .only_look = only_look };
    struct token_entry *tokens = NULL;
    size_t capacity = 0;
    struct ring *at, *after;

    for (RING_EACH(&b->members, at, after)) {
        const struct attempt *a = mate_at(at);

        if (!is_asked(a) || (a->phase == PHASE_MUTE) != only_look)
            continue;
        mem_grow((void **)&tokens, &capacity, order.tokens.n, sizeof *tokens);
        tokens[order.tokens.n++].token = a->token;
        order.is_stale |= a->is_stale;
    }
    if (b->phase == PROCESS_SOUGHT && b->is_shared && !only_look)
        order.process = b->token;
    order.tokens.items = tokens;
    if (order.tokens.n > 0 || !token_is_zero(&order.process))
        service_send(&b->user->janitor, ORDER_SETTLE, &order);
    free(tokens);
}

void flow_recover_ask(struct agent *ag, struct batch *b)
{
    (void)ag;
    send_settle(b, false);
    send_settle(b, true);
}

static void post_to_members(struct agent *ag, const struct batch *b, enum event event)
{
    struct ring *at, *after;

    for (RING_EACH(&b->members, at, after))
        if (attempt_may_run(mate_at(at)))
            flow_post(ag, mate_at(at), event, NULL);
}

/* A process of one attempt leaves nothing but the attempt itself. */
void flow_recover_seek(struct agent *ag, struct batch *b)
{
    slots_release(ag->slots, &b->slot);
    post_to_members(ag, b, EVENT_MISSED);
    flow_post_process(ag, b, PROCESS_EV_ASK);
    if (!b->is_shared)
        flow_post_process(ag, b, PROCESS_EV_NOTHING);
}

void flow_recover_release(struct agent *ag, struct batch *b)
{
    slots_release(ag->slots, &b->slot);
    if (b->is_shared)
        registry_gone(ag->registry, &b->token, NULL);
}

/* Its members have ended before it; what became of one that has not, the folders tell. */
void flow_recover_end(struct agent *ag, struct batch *b)
{
    flow_recover_release(ag, b);
    if (!b->is_shared)
        return;
    post_to_members(ag, b, EVENT_UNNAMED);
    flow_post_process(ag, b, PROCESS_EV_ASK);
    user_add_leftover(b->user, &b->token);
    user_discard_leftovers(b->user);
}

/* ---- what became of one ---- */

/* Nothing on scratch knows it: it never started, or its files were wiped. */
static void resolve_unseen(struct agent *ag, struct attempt *a, bool has_begun)
{
    struct batch *b = a->batch;
    bool has_lost_runner = b->has_lost_runner;

    if (a->is_stale) {
        flow_post(ag, a, EVENT_IN_RUN, NULL);
    } else if (a->is_unwanted) {
        flow_post(ag, a, EVENT_STOPPED, NULL);
    } else if (has_begun) {
        flow_post(ag, a, EVENT_LEFT_OUT, "its process was started without it");
    } else {
        b->has_lost_runner = false;
        flow_post(ag, a, EVENT_NEVER, NULL);
        if (has_lost_runner)
            flow_pause_failed(a->user, "its runner ended before it began");
    }
}

static void resolve_published(struct agent *ag, struct attempt *a, const struct list *reports)
{
    a->may_be_on_scratch = true;
    if (reports->n == 1)
        flow_post(ag, a, EVENT_PUBLISHED, NULL)->report =
            schema_copy(&report_schema, reports->items, a->arena);
    else
        flow_post(ag, a, EVENT_LOSE, "its report cannot be read");
}

/* What a mute runner may have stays with it until it speaks or dies, and so do its processors and
 * GPUs.  What has left run/ is no runner's any more. */
static void resolve(struct agent *ag, struct attempt *a, const struct note_settled *note)
{
    bool has_begun = a->phase == PHASE_UNNAMED || (a->batch->is_shared && note->has_begun);

    switch ((enum place)note->place) {
    case PLACE_RUN: flow_post(ag, a, EVENT_IN_RUN, NULL); break;
    case PLACE_ENDED: flow_post(ag, a, a->is_stale ? EVENT_IN_RUN : EVENT_ENDED, NULL); break;
    case PLACE_PUBLISHED: resolve_published(ag, a, &note->reports); break;
    default:
        if (a->phase == PHASE_MUTE)
            flow_post(ag, a, EVENT_NOWHERE, NULL);
        else
            resolve_unseen(ag, a, has_begun);
    }
}

/* ---- orphans: their processes are killed first ---- */

void flow_recover_finish(struct agent *ag, struct attempt *a, const struct flow_event *ev)
{
    (void)ag;
    if (ev != NULL) {
        a->finish_event = ev->outcome;
        if (ev->outcome == EV_RECALL) /* its process did start, but not it */
            a->started_at = 0;
    }
    service_send(&a->user->janitor, ORDER_FINISH,
                 &(struct order_finish){ .token = a->token,
                                         .event = (int)a->finish_event,
                                         .reason = a->finish_reason,
                                         .started_at = a->started_at });
}

/* The process was at the first one of those that had not ended; it had not come to the others.  What they left
 * for their next attempts is kept before they are told, where somebody can. */
static void bury_member(struct agent *ag, struct attempt *a, bool is_first)
{
    bool is_kept = !a->is_stale && !a->user->is_gone;

    a->finish_reason = !is_first     ? "its process was lost before it came to this job"
                       : a->is_stale ? "the machine was restarted"
                                     : "runner-lost";
    if (!is_first)
        a->started_at = 0;
    if (is_kept)
        flow_post(ag, a, EVENT_KILLED, NULL)->outcome = is_first ? EV_LOSE : EV_RECALL;
    else
        flow_post(ag, a, is_first ? EVENT_LOSE : EVENT_LEFT_OUT, a->finish_reason);
}

void flow_recover_bury(struct agent *ag, struct batch *b)
{
    struct ring *at, *after;
    bool is_first = true;

    ring_remove(&b->orphan);
    flow_recover_release(ag, b);
    for (RING_EACH(&b->members, at, after)) {
        if (mate_at(at)->phase != PHASE_ORPHANED)
            continue;
        bury_member(ag, mate_at(at), is_first);
        is_first = false;
    }
    if (b->is_shared)
        user_add_leftover(b->user, &b->token);
    user_discard_leftovers(b->user);
}

void flow_recover_kill(struct agent *ag, struct batch *b)
{
    (void)ag;
    service_send(&b->user->janitor, ORDER_REAP, &(struct order_reap){ b->token });
}

static void on_orphan_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;
    struct ring *at, *after;

    for (RING_EACH(&ag->orphans, at, after)) {
        const struct batch *b = RING_ITEM(at, struct batch, orphan);
        const struct attempt *first = batch_first(b);
        bool is_dead = (first != NULL && first->is_stale) || b->user->is_gone;

        flow_post_process(ag, b, is_dead ? PROCESS_EV_DEAD : PROCESS_EV_KILL);
    }
    if (ring_is_empty(&ag->orphans))
        return;
    ag->orphan_ms = ag->orphan_ms * 2 < ORPHAN_AT_MOST_MS ? ag->orphan_ms * 2 : ORPHAN_AT_MOST_MS;
    uv_timer_start(timer, on_orphan_timer, ag->orphan_ms, 0);
}

void flow_recover_kill_soon(struct agent *ag, struct batch *b)
{
    ring_add_last(&ag->orphans, &b->orphan);
    ag->orphan_ms = ORPHAN_AT_FIRST_MS;
    uv_timer_start(&ag->orphan_timer, on_orphan_timer, 0, 0);
}

/* ---- attempts of agents that worked for a ludwigd that is gone ---- */

/* An attempt in run/.  What it was given counts against our slots while its runner may live. */
struct foreign {
    struct ring ring;
    struct user *user;
    struct token token;
    struct slot_item slot;
    bool is_seen;
    bool is_asked; /* what became of it */
};

static struct foreign *foreign_at(struct ring *at)
{
    return RING_ITEM(at, struct foreign, ring);
}

static void forget_foreign(struct agent *ag, struct foreign *f)
{
    slots_release(ag->slots, &f->slot);
    ring_remove(&f->ring);
    free(f);
}

void flow_recover_free(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->strangers, at, after))
        forget_foreign(ag, foreign_at(at));
}

static struct foreign *find_foreign(const struct user *u, const struct token *token)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->strangers, at, after))
        if (foreign_at(at)->user == u && token_equal(&foreign_at(at)->token, token))
            return foreign_at(at);
    return NULL;
}

static struct foreign *add_foreign(struct user *u, const struct token *token)
{
    struct foreign *f = mem_alloc(sizeof *f);

    f->user = u;
    f->token = *token;
    slot_item_init(&f->slot);
    ring_add_last(&u->agent->strangers, &f->ring);
    return f;
}

static void publish_foreign(struct user *u, const struct token *token)
{
    service_send(&u->publisher, ORDER_PUBLISH, &(struct order_publish){ *token });
}

static void discard_foreign(struct user *u, const struct token *token)
{
    service_send(&u->publisher, ORDER_DISCARD, &(struct order_discard){ *token });
}

/* The jobs of a batch run in its process, and only that was given something. */
static void take_foreign_run(struct user *u, const struct token *token, const char *server_id)
{
    struct agent *ag = u->agent;
    struct foreign *f = find_foreign(u, token);
    struct token_entry entry = { *token };
    struct order_settle order = { .tokens = { &entry, 1 } };

    if (f == NULL)
        f = add_foreign(u, token);
    f->is_seen = true;
    if (runtime_dir_has_runner(ag, server_id)) {
        if (!f->slot.is_running && runtime_dir_find_given(ag, server_id, token, &f->slot))
            slots_take(ag->slots, &f->slot);
    } else if (!f->is_asked) {
        f->is_asked = true;
        service_send(&u->janitor, ORDER_SETTLE, &order);
    }
}

static void take_foreign(struct user *u, const struct note_remains *note)
{
    if (!runtime_dir_is_abandoned(u->agent, note->server_id))
        return;
    u->n_strangers++;
    if (note->place == PLACE_RUN)
        take_foreign_run(u, &note->token, note->server_id);
    else if (note->place == PLACE_ENDED)
        publish_foreign(u, &note->token);
    else
        discard_foreign(u, &note->token);
}

static void foreign_settled(struct user *u, const struct note_settled *note)
{
    struct foreign *f = find_foreign(u, &note->token);

    if (f == NULL || !f->is_asked)
        return;
    f->is_asked = false;
    if (note->place == PLACE_ENDED) {
        publish_foreign(u, &note->token);
    } else if (note->place == PLACE_RUN) {
        service_send(&u->janitor, ORDER_REAP, &(struct order_reap){ note->token });
        discard_foreign(u, &note->token);
    }
}

/* ---- what lies on scratch ---- */

static void send_survey(struct user *u)
{
    service_send(&u->janitor, ORDER_SURVEY, &(struct order_survey){ .all = true });
}

void flow_recover_survey(struct user *u)
{
    struct ring *at, *after;

    u->n_strangers = 0;
    for (RING_EACH(&u->agent->strangers, at, after))
        if (foreign_at(at)->user == u)
            foreign_at(at)->is_seen = foreign_at(at)->is_asked = false;
    u->is_surveying = true;
    send_survey(u);
}

static void on_survey_timer(uv_timer_t *timer)
{
    flow_recover_survey(timer->data);
}

/* Ours are settled, but not all removed.  Scratch may be shared with an agent of another server. */
static void take_remains(void *context, const void *body, int64_t re)
{
    const struct note_remains *note = body;
    struct user *u = context;
    struct agent *ag = u->agent;

    (void)re;
    if (attempts_find(&ag->attempts, &note->token) != NULL ||
        attempts_find_batch(&ag->attempts, &note->token) != NULL)
        return;
    if (note->server_id == NULL ? note->is_old : strcmp(note->server_id, ag->server_id) == 0) {
        if (note->place == PLACE_RUN)
            service_send(&u->janitor, ORDER_REAP, &(struct order_reap){ note->token });
        user_add_leftover(u, &note->token);
    } else if (note->server_id != NULL) {
        take_foreign(u, note);
    }
}

static void take_surveyed(void *context, const void *body, int64_t re)
{
    struct user *u = context;
    struct ring *at, *after;

    (void)body, (void)re;
    u->is_surveying = false;
    u->is_surveyed = true;
    user_discard_leftovers(u);
    for (RING_EACH(&u->agent->strangers, at, after))
        if (foreign_at(at)->user == u && !foreign_at(at)->is_seen)
            forget_foreign(u->agent, foreign_at(at));
    if (u->n_strangers > 0)
        uv_timer_start(&u->survey_timer, on_survey_timer, SURVEY_AGAIN_MS, 0);
}

/* ---- the janitor ---- */

static void take_settled(void *context, const void *body, int64_t re)
{
    const struct note_settled *note = body;
    struct user *u = context;
    struct agent *ag = u->agent;
    const struct batch *b = attempts_find_batch(&ag->attempts, &note->token);
    struct attempt *a = attempts_find(&ag->attempts, &note->token);

    (void)re;
    if (b != NULL && b->phase == PROCESS_SOUGHT && b->user == u)
        flow_post_process(ag, b,
                          note->place == PLACE_NOWHERE ? PROCESS_EV_NOTHING : PROCESS_EV_ORPHANED);
    else if (a != NULL && a->user == u && is_asked(a))
        resolve(ag, a, note);
    else if (a == NULL && b == NULL)
        foreign_settled(u, note);
}

static void take_reaped(void *context, const void *body, int64_t re)
{
    const struct note_reaped *note = body;
    struct user *u = context;
    const struct batch *b = attempts_find_process(&u->agent->attempts, &note->token);

    (void)re;
    if (b != NULL && b->user == u && b->phase == PROCESS_KILLING)
        flow_post_process(u->agent, b, note->left == 0 ? PROCESS_EV_DEAD : PROCESS_EV_ALIVE);
}

static void take_finished(void *context, const void *body, int64_t re)
{
    const struct note_finished *note = body;
    struct user *u = context;
    const struct attempt *a = attempts_find(&u->agent->attempts, &note->token);

    (void)re;
    if (a != NULL && a->user == u && a->phase == PHASE_FINISHING)
        flow_post(u->agent, a, note->has_ended ? EVENT_ENDED : EVENT_FINISHED, NULL);
}

static bool has_questions(const struct user *u)
{
    struct ring *at, *after;

    for (const struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        if (is_asked(a) || a->phase == PHASE_ORPHANED || a->phase == PHASE_FINISHING)
            return true;
    for (RING_EACH(&u->agent->attempts.batches, at, after))
        if (RING_ITEM(at, struct batch, ring)->user == u &&
            RING_ITEM(at, struct batch, ring)->phase >= PROCESS_SOUGHT)
            return true;
    return u->is_surveying;
}

static void on_janitor_timer(uv_timer_t *timer)
{
    struct user *u = timer->data;

    if (has_questions(u))
        uv_timer_start(timer, on_janitor_timer, JANITOR_IDLE_MS, 0);
    else
        service_rest(&u->janitor);
}

/* A new janitor has been asked nothing. */
static void on_up(void *context)
{
    struct user *u = context;
    struct agent *ag = u->agent;
    struct ring *at, *after;

    for (struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a)) {
        if (a->batch != NULL && a == batch_first(a->batch))
            flow_recover_ask(ag, a->batch);
        if (a->phase == PHASE_FINISHING)
            flow_recover_finish(ag, a, NULL);
    }
    for (RING_EACH(&ag->attempts.batches, at, after)) {
        struct batch *b = RING_ITEM(at, struct batch, ring);

        if (b->user == u && ring_is_empty(&b->members))
            flow_recover_ask(ag, b);
    }
    for (RING_EACH(&ag->orphans, at, after))
        if (RING_ITEM(at, struct batch, orphan)->user == u)
            flow_post_process(ag, RING_ITEM(at, struct batch, orphan), PROCESS_EV_ALIVE);
    if (u->is_surveying)
        send_survey(u);
    uv_timer_start(&u->janitor_timer, on_janitor_timer, JANITOR_IDLE_MS, 0);
}

const struct service_events flow_recover_events = {
    .up = on_up,
    .notes = { [NOTE_SETTLED] = take_settled,
               [NOTE_REAPED] = take_reaped,
               [NOTE_FINISHED] = take_finished,
               [NOTE_REMAINS] = take_remains,
               [NOTE_SURVEYED] = take_surveyed },
};
