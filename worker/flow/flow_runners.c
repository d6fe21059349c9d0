/* SPDX-License-Identifier: MIT */
/* flow_runners.c - what runners say of attempts and their processes */

#include "worker/flow/flow_runners.h"

#include "worker/flow/adopt.h"
#include "worker/flow/flow_pause.h"

static void on_started(void *context, struct runner *r, const struct note_started *note)
{
    struct agent *ag = context;
    struct batch *b = runner_batch(r);
    struct ring *at, *after;

    if (b == NULL || !token_equal(&b->token, &note->token))
        return;
    for (RING_EACH(&b->members, at, after))
        flow_post(ag, RING_ITEM(at, struct attempt, mate), EVENT_STARTED, NULL)->at = note->at;
    flow_pause_succeeded(b->user);
}

/* The process of a batch ends after its attempts; that of a single attempt with it. */
static void on_ended(void *context, struct runner *r, const struct token *token,
                     const char *trouble)
{
    struct agent *ag = context;
    const struct attempt *a = attempts_find(&ag->attempts, token);
    const struct batch *b = attempts_find_process(&ag->attempts, token);

    if (b != NULL && runner_is_of(r, &b->user->owner) && b->runner == NULL)
        flow_post_process(ag, b, PROCESS_EV_ENDED);
    if (a != NULL && runner_is_of(r, &a->user->owner))
        flow_post(ag, a, EVENT_ENDED, trouble);
}

/* Before all runners of an earlier agent have said what they run, nothing is asked. */
static void on_lost(void *context, struct batch *b)
{
    struct agent *ag = context;
    struct ring *at, *after;

    if (b == NULL)
        return;
    if (ag->is_resolving || ag->is_adopted || batch_first(b) == NULL) {
        b->has_lost_runner = true;
        flow_post_process(ag, b, PROCESS_EV_MISSED);
        return;
    }
    for (RING_EACH(&b->members, at, after))
        flow_post(ag, RING_ITEM(at, struct attempt, mate), EVENT_LEFT, NULL);
}

const struct runner_events flow_runners_events = { adopt_hello, on_started, on_ended, on_lost };
