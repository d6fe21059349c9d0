/* SPDX-License-Identifier: MIT */
/* flow_users.c - what follows for a user's attempts from who it is, or is not, on this machine */

#include "worker/flow/flow_users.h"

#include "worker/flow/flow_pack.h"
#include "worker/flow/flow_publish.h"
#include "worker/flow/flow_recover.h"
#include "worker/flow/flow_stage.h"

static void on_known(struct user *u)
{
    struct agent *ag = u->agent;

    service_go_on(&u->stager);
    service_go_on(&u->publisher);
    service_go_on(&u->janitor);
    service_go_on(&u->packer);
    if (!u->is_surveyed && !u->is_surveying && ag->is_resolving)
        flow_recover_survey(u);
    flow_stage_check_all(u);
    ag->is_register_due = true; /* it may have been refused before */
    flow_stage_tell_cached(u);
    user_may_rest(u);
}

/* Nobody can look at what such an attempt left, or publish it. */
static void give_up(struct user *u, const struct attempt *a)
{
    switch (a->phase) {
    case PHASE_MUTE:
    case PHASE_MISSING:
    case PHASE_UNNAMED:
    case PHASE_PUBLISHING: flow_post(u->agent, a, EVENT_LOSE, u->why); break;
    case PHASE_FINISHING: flow_post(u->agent, a, EVENT_FINISHED, NULL); break;
    case PHASE_DISCARDING: flow_post(u->agent, a, EVENT_DISCARDED, NULL); break;
    default: break;
    }
}

static void on_refused(struct user *u)
{
    struct agent *ag = u->agent;
    struct ring *at, *after;

    ag->is_register_due = true;
    flow_pack_refuse(u);
    flow_stage_expect_none(u);
    for (const struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a)) {
        flow_post(ag, a, EVENT_RECALL, u->why);
        if (u->is_gone)
            give_up(u, a);
    }
    for (RING_EACH(&ag->attempts.batches, at, after)) {
        const struct batch *b = RING_ITEM(at, struct batch, ring);

        if (u->is_gone && b->user == u && b->phase == PROCESS_SOUGHT)
            flow_post_process(ag, b, PROCESS_EV_NOTHING);
    }
}

const struct user_events flow_users_events = {
    .made = flow_stage_watch,
    .known = on_known,
    .refused = on_refused,
    .is_busy = flow_pack_is_busy,
    .gone = flow_stage_expect_none,
    .stager = &flow_stage_events,
    .publisher = &flow_publish_events,
    .janitor = &flow_recover_events,
    .packer = &flow_pack_events,
};
