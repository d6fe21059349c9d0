/* SPDX-License-Identifier: MIT */
/* adopt.c - take over what an earlier agent left: runners, and attempts that no runner has */

#include "worker/flow/flow.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "worker/agent/pilot_end.h"

enum {
    /* A runner that does not say what it runs (stopped, or its disk hangs) is not waited for, */
    MUTE_MAX_MS = 5 * 1000,
    /* and then not for a scratch folder that hangs. */
    LATE_MAX_MS = 1000
};

/* ---- those that no runner has ---- */

static bool is_unresolved(const struct attempt *a)
{
    return a->phase == PHASE_GIVEN && a->batch->runner == NULL && (!a->is_asked || a->only_look);
}

static struct batch *next_unresolved(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after))
        if (is_unresolved(RING_ITEM(at, struct attempt, ring)))
            return RING_ITEM(at, struct attempt, ring)->batch;
    return NULL;
}

/* Processes whose jobs have all ended: what they left goes with the survey. */
static void end_empty_batches(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.batches, at, after)) {
        struct batch *b = RING_ITEM(at, struct batch, ring);

        if (!ring_is_empty(&b->members) || b->runner != NULL || b->is_asked)
            continue;
        flow_process_over(ag, b);
        flow_end_if_over(ag, b);
    }
}

static void resolve_all(struct agent *ag)
{
    struct ring *at, *after;
    struct batch *b;

    ag->is_resolving = true;
    while ((b = next_unresolved(ag)) != NULL)
        flow_recover(ag, b);
    end_empty_batches(ag);
    for (RING_EACH(&ag->users, at, after))
        if (RING_ITEM(at, struct user, ring)->state == USER_KNOWN)
            flow_survey(RING_ITEM(at, struct user, ring));
}

static void look_for_ended(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (is_unresolved(a) && !a->is_asked)
            flow_recover_mute(ag, a->batch);
    }
}

static void finish(struct agent *ag)
{
    ag->is_adopted = true;
    uv_timer_stop(&ag->adopt_timer);
    log_event(LOG_INFO, "adopted", "attempts", "%zu", ag->attempts.n, NULL);
    agent_register(ag);
    flow_fill(ag);
}

void adopt_go_on(struct agent *ag)
{
    if (!ag->is_resolving && ag->runners.n_unknown == 0)
        resolve_all(ag);
    if (!ag->is_adopted && (ag->is_resolving || ag->is_late) && ag->n_asked == 0)
        finish(ag);
}

void adopt_on_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;

    if (ag->is_resolving || ag->is_late) {
        finish(ag);
        return;
    }
    ag->is_late = true;
    uv_timer_start(timer, adopt_on_timer, LATE_MAX_MS, 0);
    look_for_ended(ag);
    adopt_go_on(ag);
}

void adopt_begin(struct agent *ag)
{
    struct ring *at, *after;
    struct err e = { 0 };

    for (RING_EACH(&ag->attempts.all, at, after))
        RING_ITEM(at, struct attempt, ring)->phase = PHASE_GIVEN;
    for (RING_EACH(&ag->users, at, after))
        user_lookup(RING_ITEM(at, struct user, ring));
    if (ag->changes_uid)
        user_recall_all(ag);
    uv_timer_start(&ag->adopt_timer, adopt_on_timer, MUTE_MAX_MS, 0);
    if (runners_adopt(&ag->runners, &e) < 0)
        log_event(LOG_ERROR, "adopt", "why", "%s", e.text, NULL);
    adopt_go_on(ag);
}

/* ---- what runners say ---- */

void adopt_take_slots(struct agent *ag, struct batch *b)
{
    if (!b->slot.is_running)
        slots_take(ag->slots, &b->slot);
}

static bool is_of(const struct runner *r, const struct user *u)
{
    return owner_is(&u->owner, runner_user(r));
}

/* What it says it has, if that may be so.  It may have ended while its runner's words were on
 * their way. */
static struct attempt *find_running(const struct agent *ag, const struct runner *r,
                                    const struct token *token)
{
    struct attempt *a = attempts_find(&ag->attempts, token);

    return a != NULL && is_of(r, a->user) && a->phase == PHASE_GIVEN ? a : NULL;
}

/* The agent before us may have died before it told that it runs. */
static void take_over(struct agent *ag, struct attempt *a, int64_t started_at)
{
    pilot_end_admitted(ag, a);
    a->started_at = started_at;
    if (started_at > 0)
        outbox_hint(&ag->outbox, a, EV_RUN, started_at);
    a->is_named = a->may_be_on_scratch = true;
    if (a->is_stopped)
        runner_stop(a->batch->runner, &a->token);
    flow_watch(a);
}

static void adopt_single(struct agent *ag, struct runner *r, struct attempt *a, int64_t started_at)
{
    runner_assign(r, a->batch);
    adopt_take_slots(ag, a->batch);
    take_over(ag, a, started_at);
    pilot_end_adopted(ag, a->batch);
}

static void adopt_batch(struct agent *ag, struct runner *r, struct batch *b,
                        const struct note_hello *hello)
{
    const struct token_entry *mates = hello->mates.items;
    struct ring *at, *after;

    runner_assign(r, b);
    for (RING_EACH(&b->members, at, after))
        RING_ITEM(at, struct attempt, mate)->is_named = false;
    for (size_t i = 0; i < hello->mates.n; i++) {
        struct attempt *a = find_running(ag, r, &mates[i].token);

        if (a != NULL && a->batch == b)
            take_over(ag, a, hello->started_at);
    }
    adopt_take_slots(ag, b);
    pilot_end_adopted(ag, b);
    flow_recover_unnamed(ag, b);
}

/* What the registry does not know was never ours, or was settled long ago. */
static void end_unknown(struct runner *r, const struct note_hello *hello)
{
    const struct token_entry *mates = hello->mates.items;

    log_event(LOG_WARN, "unknown-job", "user", "%s", runner_user(r) == NULL ? "" : runner_user(r),
              NULL);
    for (size_t i = 0; i < hello->mates.n; i++)
        runner_stop(r, &mates[i].token);
    runner_stop(r, &hello->token);
}

static void adopt(struct agent *ag, struct runner *r, const struct note_hello *hello)
{
    struct batch *b = attempts_find_batch(&ag->attempts, &hello->token);
    struct attempt *a = attempts_find(&ag->attempts, &hello->token);

    if (b != NULL && is_of(r, b->user) && b->runner == NULL)
        adopt_batch(ag, r, b, hello);
    else if (find_running(ag, r, &hello->token) != NULL && a->batch->runner == NULL)
        adopt_single(ag, r, a, hello->started_at);
    else if (a == NULL || !is_of(r, a->user))
        end_unknown(r, hello);
}

static void on_adopted(void *context, struct runner *r, const struct note_hello *hello)
{
    struct agent *ag = context;

    if (!token_is_zero(&hello->token))
        adopt(ag, r, hello);
    adopt_go_on(ag);
}

static void start_member(struct agent *ag, struct attempt *a, int64_t at)
{
    a->started_at = at;
    flow_watch_soon(ag, a);
    outbox_hint(&ag->outbox, a, EV_RUN, at);
}

static void on_started(void *context, struct runner *r, const struct note_started *note)
{
    struct agent *ag = context;
    struct batch *b = runner_batch(r);
    struct ring *at, *after;

    if (b == NULL || !token_equal(&b->token, &note->token))
        return;
    for (RING_EACH(&b->members, at, after))
        start_member(ag, RING_ITEM(at, struct attempt, mate), note->at);
    flow_start_succeeded(b->user);
}

/* Its members have ended before it; what became of one that has not, the folders tell. */
static void end_process(struct agent *ag, struct batch *b)
{
    struct user *u = b->user;
    struct token token = b->token;

    flow_recover_ended(ag, b);
    flow_add_leftover(u, &token);
    flow_discard_leftovers(u);
    flow_fill(ag);
}

static void on_ended(void *context, struct runner *r, const struct token *token,
                     const char *trouble)
{
    struct agent *ag = context;
    struct attempt *a = attempts_find(&ag->attempts, token);
    struct batch *b = attempts_find_batch(&ag->attempts, token);

    if (b != NULL && is_of(r, b->user) && b->runner == NULL)
        end_process(ag, b);
    if (a == NULL || !is_of(r, a->user) || a->phase != PHASE_GIVEN)
        return;
    /* It has ended without having started: that was this machine's fault. */
    if (a->started_at == 0 && trouble != NULL)
        flow_start_failed(a->user, trouble);
    flow_ended(ag, a);
}

static void on_lost(void *context, struct batch *b)
{
    struct agent *ag = context;

    if (b != NULL && (ag->is_resolving || ag->is_adopted || batch_first(b) == NULL)) {
        b->has_lost_runner = true;
        flow_recover(ag, b);
    }
    adopt_go_on(ag);
    flow_fill(ag);
}

const struct runner_events adopt_runner_events = { on_adopted, on_started, on_ended, on_lost };
