/* SPDX-License-Identifier: MIT */
/* adopt.c - take over what an earlier agent left: runners, and attempts that no runner has */

#include "worker/flow/adopt.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "worker/flow/flow_recover.h"
#include "worker/flow/pilot_end.h"

enum {
    /* A runner that does not say what it runs (stopped, or its disk hangs) is not waited for, */
    MUTE_MAX_MS = 5 * 1000,
    /* and then not for a scratch folder that hangs. */
    LATE_MAX_MS = 1000
};

/* ---- those that no runner has ---- */

/* Processes whose jobs have all ended go as well; what they left goes with the survey. */
static void resolve_all(struct agent *ag)
{
    struct ring *at, *after;

    ag->is_resolving = true;
    for (RING_EACH(&ag->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if ((a->phase == PHASE_LEFT || a->phase == PHASE_MUTE) && a->batch->runner == NULL &&
            a == batch_first(a->batch))
            flow_post_process(ag, a->batch, PROCESS_EV_MISSED);
    }
    for (RING_EACH(&ag->attempts.batches, at, after)) {
        const struct batch *b = RING_ITEM(at, struct batch, ring);

        if (ring_is_empty(&b->members) && b->runner == NULL)
            flow_post_process(ag, b, PROCESS_EV_ENDED);
    }
    for (RING_EACH(&ag->users, at, after))
        if (RING_ITEM(at, struct user, ring)->state == USER_KNOWN)
            flow_recover_survey(RING_ITEM(at, struct user, ring));
}

static void finish_adoption(struct agent *ag)
{
    ag->is_adopted = true;
    uv_timer_stop(&ag->adopt_timer);
    log_event(LOG_INFO, "adopted", "attempts", "%zu", ag->attempts.n, NULL);
    ag->is_register_due = true;
}

void adopt_turn(struct agent *ag)
{
    if (ag->runners.loop == NULL)
        return;
    if (!ag->is_resolving && ag->runners.n_unknown == 0)
        resolve_all(ag);
    if (!ag->is_adopted && (ag->is_resolving || ag->is_late) && ring_is_empty(&ag->events) &&
        flow_recover_n_asked(ag) == 0)
        finish_adoption(ag);
}

/* A mute runner may have what lies in run/, but not what has ended. */
static void on_adopt_timer(uv_timer_t *timer)
{
    struct agent *ag = timer->data;
    struct ring *at, *after;

    if (ag->is_resolving || ag->is_late) {
        finish_adoption(ag);
        return;
    }
    ag->is_late = true;
    uv_timer_start(timer, on_adopt_timer, LATE_MAX_MS, 0);
    for (RING_EACH(&ag->attempts.all, at, after))
        flow_post(ag, RING_ITEM(at, struct attempt, ring), EVENT_SILENT, NULL);
    for (RING_EACH(&ag->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->batch != NULL && a == batch_first(a->batch))
            flow_post_process(ag, a->batch, PROCESS_EV_ASK);
    }
}

void adopt_begin(struct agent *ag)
{
    struct ring *at, *after;
    struct err e = { 0 };

    for (RING_EACH(&ag->users, at, after))
        user_lookup(RING_ITEM(at, struct user, ring));
    if (ag->changes_uid)
        user_recall_all(ag);
    uv_timer_start(&ag->adopt_timer, on_adopt_timer, MUTE_MAX_MS, 0);
    if (runners_adopt(&ag->runners, &e) < 0)
        log_event(LOG_ERROR, "adopt", "why", "%s", e.text, NULL);
}

/* ---- what runners say that were looked for ---- */

/* The agent before us may have died before it told that the attempt runs.  The attempt may have ended
 * while its runner's words were on their way. */
static void name_attempt(struct agent *ag, const struct runner *r, const struct batch *b,
                         const struct token *token, int64_t started_at)
{
    const struct attempt *a = attempts_find(&ag->attempts, token);

    if (a == NULL || a->batch != b || !runner_is_of(r, &a->user->owner))
        return;
    flow_post(ag, a, EVENT_NAMED, NULL);
    if (started_at > 0)
        flow_post(ag, a, EVENT_STARTED, NULL)->at = started_at;
}

static void adopt_process(struct agent *ag, struct runner *r, struct batch *b,
                          const struct note_hello *hello)
{
    const struct token_entry *mates = hello->mates.items;
    struct ring *at, *after;

    runner_assign(r, b);
    flow_post_process(ag, b, PROCESS_EV_NAMED);
    if (!b->is_shared) {
        name_attempt(ag, r, b, &hello->token, hello->started_at);
    } else {
        for (RING_EACH(&b->members, at, after))
            flow_post(ag, RING_ITEM(at, struct attempt, mate), EVENT_UNNAMED, NULL);
        for (size_t i = 0; i < hello->mates.n; i++)
            name_attempt(ag, r, b, &mates[i].token, hello->started_at);
        flow_post_process(ag, b, PROCESS_EV_ASK);
    }
    pilot_end_adopted(ag, b);
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

void adopt_hello(void *context, struct runner *r, const struct note_hello *hello)
{
    struct agent *ag = context;
    struct batch *b = attempts_find_process(&ag->attempts, &hello->token);
    const struct attempt *a = attempts_find(&ag->attempts, &hello->token);

    if (token_is_zero(&hello->token))
        return;
    if (b != NULL && runner_is_of(r, &b->user->owner) && b->runner == NULL &&
        (b->is_shared || attempt_may_run(a)))
        adopt_process(ag, r, b, hello);
    else if (a == NULL || !runner_is_of(r, &a->user->owner))
        end_unknown(r, hello);
}
