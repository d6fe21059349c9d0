/* SPDX-License-Identifier: MIT */
/* flow_stage.c - data into the cache, checkpoints, and a look whether a job was done already */

#include "worker/flow/flow.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/proto/layout.h"

enum { RESTORE_AT_FIRST_MS = 1000 };

/* ---- asking ---- */

void flow_order_tree(struct user *u, struct tree *t)
{
    const struct order_stage order = {
        t->set,       t->project, t->share, u->agent->drive, u->agent->conf.cache_size_bytes,
        t->is_doubted
    };

    t->state = TREE_ASKED;
    if (u->stager.chan == NULL) {
        service_need(&u->stager); /* all that is asked is ordered when it is up */
        return;
    }
    t->is_doubted = false;
    t->is_held = true;
    t->order_seq = service_send(&u->stager, ORDER_STAGE, &order);
}

/* Once for each tree, however many wait for it. */
static void ask_for_tree(void *context, const struct dataset *set)
{
    struct attempt *a = context;
    struct tree *t = tree_states_find(&a->user->staging, &set->tree);

    if (t->state == TREE_THERE)
        return;
    a->is_staging = true;
    if (t->state != TREE_UNKNOWN)
        return;
    tree_come_from(t, set, a->order.work.project, a->order.share);
    flow_order_tree(a->user, t);
}

static void order_look(const struct attempt *a)
{
    const struct assignment *is = &a->order.assignment;
    struct order_look order = { .token = a->token, .share = a->order.share };
    struct buf path = { 0 };

    layout_run(&path, a->order.work.project, is->param_name, is->job_name);
    order.run_path = buf_text(&path);
    service_send(&a->user->stager, ORDER_LOOK, &order);
    buf_free(&path);
}

static void order_restore(struct attempt *a)
{
    const struct assignment *is = &a->order.assignment;
    struct order_restore order = { .token = a->token,
                                   .share = a->order.share,
                                   .project = a->order.work.project,
                                   .param_name = is->param_name,
                                   .job_name = is->job_name,
                                   .attempt = is->attempt };

    a->restore_due_at = 0;
    a->is_staging = true;
    service_send(&a->user->stager, ORDER_RESTORE, &order);
}

/* A first attempt that no agent before us may have run needs no look. */
void flow_stage(struct agent *ag, struct attempt *a)
{
    bool was_staging = a->is_staging;

    if (a->order.assignment.attempt <= 1 && ag->is_adopted)
        a->is_looked_at = true;
    if (!a->is_looked_at)
        order_look(a);
    a->is_restored = a->order.assignment.attempt <= 1;
    if (!a->is_restored)
        order_restore(a);
    tree_states_each_tree(&a->order.work.work, ask_for_tree, a);
    if (a->is_staging && !was_staging)
        outbox_hint(&ag->outbox, a, EV_STAGE, units_now_ms());
}

/* Its members are jobs of one sweep: they need the same. */
bool flow_is_staged(const struct batch *b)
{
    struct ring *at, *after;

    for (RING_EACH(&b->members, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, mate);

        if (!a->is_looked_at || !a->is_restored)
            return false;
    }
    return tree_states_has_all(&b->user->staging, &batch_first(b)->order.work.work);
}

/* ---- answers ---- */

static bool is_waiting(const struct user *u, const struct attempt *a)
{
    return a->user == u && a->phase == PHASE_QUEUED && !a->batch->slot.is_waiting;
}

struct needing {
    const struct digest *tree;
    bool is_found;
};

static void compare_tree(void *context, const struct dataset *set)
{
    struct needing *n = context;

    n->is_found |= digest_equal(n->tree, &set->tree);
}

static bool needs_tree(const struct attempt *a, const struct digest *tree)
{
    struct needing n = { tree, false };

    tree_states_each_tree(&a->order.work.work, compare_tree, &n);
    return n.is_found;
}

bool flow_is_leased(const struct user *u, const struct digest *tree)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user == u && a->batch != NULL && needs_tree(a, tree))
            return true;
    }
    return false;
}

static void go_on(struct user *u)
{
    struct agent *ag = u->agent;
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (is_waiting(u, a) && a == batch_first(a->batch))
            flow_enqueue(ag, a->batch);
    }
    flow_fill(ag);
}

struct coming {
    const struct attempt *attempt;
    const struct tree *tree;
    bool is_found;
};

static void compare_packs(void *context, const struct dataset *set)
{
    struct coming *c = context;

    c->is_found |=
        tree_comes_from(c->tree, set, c->attempt->order.work.project, c->attempt->order.share);
}

static bool needs_packs(const struct attempt *a, const struct tree *t)
{
    struct coming c = { a, t, false };

    tree_states_each_tree(&a->order.work.work, compare_packs, &c);
    return c.is_found;
}

/* It cannot be had now. */
static void recall_all(struct user *u, const struct tree *t, const char *why)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (is_waiting(u, a) && needs_tree(a, &t->set.tree))
            flow_decide(u->agent, a, EV_RECALL, why);
    }
}

/* These packs will never do; others who need the same tree may have named others. */
static void lose_all(struct user *u, struct tree *t, const char *why)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (is_waiting(u, a) && needs_packs(a, t))
            flow_decide(u->agent, a, EV_LOSE, why);
    }
    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (!is_waiting(u, a) || !needs_tree(a, &t->set.tree))
            continue;
        t->state = TREE_UNKNOWN;
        tree_states_each_tree(&a->order.work.work, ask_for_tree, a);
        return;
    }
}

static uint64_t first_due(struct user *u)
{
    const struct tree *t = tree_states_next_due(&u->staging);
    uint64_t first = t == NULL ? UINT64_MAX : t->due_at;
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user == u && a->restore_due_at > 0 && a->restore_due_at < first)
            first = a->restore_due_at;
    }
    return first;
}

static void on_timer(uv_timer_t *timer);

static void wait_for_due(struct user *u)
{
    uint64_t first = first_due(u);
    uint64_t now = uv_now(&u->agent->loop);

    if (first != UINT64_MAX)
        uv_timer_start(&u->staging_timer, on_timer, first > now ? first - now : 0, 0);
}

static void restore_due(struct user *u)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user != u || a->restore_due_at == 0 || a->restore_due_at > uv_now(&u->agent->loop))
            continue;
        a->restore_due_at = 0;
        if (is_waiting(u, a))
            order_restore(a);
    }
}

static bool is_needed(const struct user *u, const struct digest *tree)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (is_waiting(u, a) && needs_tree(a, tree))
            return true;
    }
    return false;
}

static void on_timer(uv_timer_t *timer)
{
    struct user *u = timer->data;
    struct tree *t;

    while ((t = tree_states_next_due(&u->staging)) != NULL &&
           t->due_at <= uv_now(&u->agent->loop)) {
        if (!is_needed(u, &t->set.tree)) {
            t->state = TREE_UNKNOWN;
            continue;
        }
        flow_order_tree(u, t);
    }
    restore_due(u);
    wait_for_due(u);
}

/* One that was not asked for cannot have been brought, and what was found before it was released and
 * asked for again says nothing. */
static void take_staged(struct user *u, const struct note_staged *note, int64_t order_seq)
{
    struct tree *t = tree_states_find(&u->staging, &note->tree);

    if (t->state != TREE_ASKED || t->order_seq != order_seq)
        return;

    if (note->error == NULL && t->is_doubted) {
        flow_order_tree(u, t); /* again: that is what is known by now */
        return;
    }
    if (note->error == NULL) {
        t->state = TREE_THERE;
        t->is_guarded = note->is_guarded;
        t->looked_at = uv_now(&u->agent->loop);
        t->delay_ms = 0;
        go_on(u);
        return;
    }
    log_event(LOG_WARN, "stage", "project", "%s", t->project, "why", "%s", note->error, NULL);
    tree_ask_later(t, uv_now(&u->agent->loop));
    if (!note->retry)
        lose_all(u, t, note->error);
    else if (t->delay_ms > FLOW_PATIENCE_MS && t->delay_ms / 2 <= FLOW_PATIENCE_MS)
        recall_all(u, t, note->error);
    wait_for_due(u);
}

/* One that was settled meanwhile has nobody else who removes it. */
static void take_restored(struct user *u, const struct note_restored *note)
{
    struct agent *ag = u->agent;
    struct attempt *a = attempts_find(&ag->attempts, &note->token);

    if (a == NULL) {
        flow_add_leftover(u, &note->token);
        flow_discard_leftovers(u);
    }
    if (a == NULL || !is_waiting(u, a) || a->is_restored)
        return;
    if (note->error == NULL) {
        a->is_restored = true;
        flow_enqueue(ag, a->batch);
        flow_fill(ag);
        return;
    }
    log_event(LOG_WARN, "restore", "project", "%s", a->order.work.project, "why", "%s", note->error,
              NULL);
    a->restore_delay_ms = a->restore_delay_ms == 0 ? RESTORE_AT_FIRST_MS : 2 * a->restore_delay_ms;
    a->restore_due_at = uv_now(&ag->loop) + a->restore_delay_ms;
    if (a->restore_delay_ms > FLOW_PATIENCE_MS)
        flow_recall(ag, a, note->error);
    wait_for_due(u);
}

static void take_found(struct user *u, const struct note_found *note)
{
    struct agent *ag = u->agent;
    struct attempt *a = attempts_find(&ag->attempts, &note->token);

    if (a == NULL || !is_waiting(u, a) || a->is_looked_at)
        return;
    a->is_looked_at = true;
    if (note->found)
        flow_found(ag, a, &note->winner);
    else
        flow_enqueue(ag, a->batch);
    flow_fill(ag);
}

static void take_cached(struct user *u, const struct note_cached *note)
{
    if (cache_trees_take(&u->cached, note))
        cache_news_add(&u->holds, note);
}

static void on_note(void *context, const struct envelope *m, struct arena *a, struct err *e)
{
    struct user *u = context;
    struct note_staged staged;
    struct note_cached cached;
    struct note_restored restored;
    struct note_found found;
    struct note_expected expected;

    if (m->type == NOTE_STAGED) {
        if (message_body(&orders, m, a, &staged, e) == 0)
            take_staged(u, &staged, m->re);
    } else if (m->type == NOTE_CACHED) {
        if (message_body(&orders, m, a, &cached, e) == 0)
            take_cached(u, &cached);
    } else if (m->type == NOTE_EXPECTED) {
        if (message_body(&orders, m, a, &expected, e) == 0)
            flow_take_expected(u, m->re);
    } else if (m->type == NOTE_RESTORED) {
        if (message_body(&orders, m, a, &restored, e) == 0)
            take_restored(context, &restored);
    } else if (m->type == NOTE_FOUND) {
        if (message_body(&orders, m, a, &found, e) == 0)
            take_found(context, &found);
    } else {
        err_set(e, ERR_PROTOCOL, "unexpected %s", orders.messages[m->type].name);
    }
}

/* ---- what ludwigd is told of the cache ---- */

/* By it workers are chosen: so it is looked at although nothing is to be staged. */
void flow_tell_cached(struct user *u)
{
    if (u->state == USER_KNOWN && u->stager.chan == NULL && u->cached.n == 0)
        service_need(&u->stager);
    cache_news_begin(&u->holds, &u->cached);
}

void flow_tell_all_cached(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->users, at, after))
        flow_tell_cached(RING_ITEM(at, struct user, ring));
}

static void send_news(struct agent *ag, struct user *u)
{
    struct msg_holds m;

    while (cache_news_next(&u->holds, &m)) {
        m.user = u->name;
        server_link_send(ag->link, MSG_HOLDS, 0, &m);
    }
}

void flow_send_news(struct agent *ag)
{
    struct ring *at, *after;

    if (!ag->is_registered)
        return;
    for (RING_EACH(&ag->users, at, after))
        send_news(ag, RING_ITEM(at, struct user, ring));
}

/* A new stager knows nothing of what is in use. */
static void on_up(void *context)
{
    struct user *u = context;
    struct ring *at, *after;

    cache_trees_free(&u->cached);
    cache_news_begin(&u->holds, &u->cached);
    for (size_t i = 0; i < u->staging.n; i++) {
        struct tree *t = &u->staging.trees[i];

        t->is_held = false;
        if (t->state == TREE_ASKED || t->state == TREE_THERE)
            flow_order_tree(u, t);
    }
    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (is_waiting(u, a) && !a->is_looked_at)
            order_look(a);
        if (is_waiting(u, a) && !a->is_restored)
            order_restore(a);
    }
    flow_prefetch_again(u);
}

const struct service_events flow_stager_events = { on_up, on_note };
