/* SPDX-License-Identifier: MIT */
/* flow_user.c - what follows for a user's attempts from who it is, or is not, on this machine */

#include "worker/flow/flow.h"

static void enqueue_waiting(struct user *u)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user == u && a->phase == PHASE_QUEUED && a == batch_first(a->batch))
            flow_enqueue(u->agent, a->batch);
    }
}

static void on_known(struct user *u)
{
    struct agent *ag = u->agent;

    service_go_on(&u->stager);
    service_go_on(&u->publisher);
    service_go_on(&u->clerk);
    service_go_on(&u->packer);
    if (!u->is_surveyed && !u->is_surveying && ag->is_resolving)
        flow_survey(u);
    enqueue_waiting(u);
    agent_register(ag); /* it may have been refused before */
    flow_tell_cached(u);
    user_may_rest(u);
    flow_fill(ag);
}

/* Nobody can look at what it left, or publish it. */
static void give_up(struct user *u, struct attempt *a)
{
    if (a->phase == PHASE_DISCARDING)
        attempts_remove(&u->agent->attempts, a);
    else if (a->is_finishing)
        flow_decide(u->agent, a, a->finish_event, a->finish_reason);
    else if (a->phase == PHASE_ENDED || (a->phase == PHASE_GIVEN && a->is_asked))
        flow_decide(u->agent, a, EV_LOSE, u->why);
}

static void give_up_processes(struct user *u)
{
    struct ring *at, *after;

    for (RING_EACH(&u->agent->attempts.batches, at, after)) {
        struct batch *b = RING_ITEM(at, struct batch, ring);

        if (b->user != u || !b->is_asked)
            continue;
        b->is_asked = false;
        flow_process_over(u->agent, b);
        flow_end_if_over(u->agent, b);
    }
}

static void on_refused(struct user *u)
{
    struct agent *ag = u->agent;
    struct ring *at, *after;

    agent_register(ag); /* first, so that it is given no more */
    flow_refuse_passes(u);
    flow_prefetch_none(u);
    for (RING_EACH(&ag->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user != u)
            continue;
        if (a->phase == PHASE_QUEUED)
            flow_recall(ag, a, u->why);
        else if (u->is_gone)
            give_up(u, a);
    }
    if (u->is_gone)
        give_up_processes(u);
    adopt_go_on(ag);
    flow_fill(ag);
}

const struct user_events flow_user_events = {
    .made = flow_begin_guard,
    .known = on_known,
    .refused = on_refused,
    .is_busy = flow_has_passes,
    .gone = flow_prefetch_none,
    .stager = &flow_stager_events,
    .publisher = &flow_publisher_events,
    .clerk = &flow_clerk_events,
    .packer = &flow_packer_events,
};
