/* SPDX-License-Identifier: MIT */
/* flow_prefetch.c - data of jobs that may come next, which are brought while the slots are busy */

#include "worker/flow/flow.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct user *u)
{
    free(u->expected.project);
    free(u->expected.sets);
    u->expected = (struct expected){ .n = 0 };
}

static void order(struct user *u)
{
    const struct expected *x = &u->expected;
    const struct agent *ag = u->agent;
    const struct order_expect m = {
        { x->sets, x->n }, x->project, ag->share, ag->drive, ag->conf.cache_size_bytes
    };

    if (u->stager.chan == NULL)
        service_need(&u->stager); /* it is ordered when it is up */
    else
        u->expected.seq = service_send(&u->stager, ORDER_EXPECT, &m);
}

static void keep(struct user *u, const struct msg_expect *m)
{
    forget(u);
    u->expected = (struct expected){ .project = mem_strdup(m->project),
                                     .sets = mem_alloc(m->sets.n * sizeof(struct dataset)),
                                     .n = m->sets.n };
    memcpy(u->expected.sets, m->sets.items, m->sets.n * sizeof(struct dataset));
}

/* Of one user only, as one job comes next. */
void flow_prefetch(struct agent *ag, const struct msg_expect *m)
{
    struct user *u = user_of(ag, m->user);
    struct ring *at, *after;

    for (RING_EACH(&ag->users, at, after))
        if (RING_ITEM(at, struct user, ring) != u)
            flow_prefetch_none(RING_ITEM(at, struct user, ring));
    user_lookup(u);
    if (u->state == USER_REFUSED || m->sets.n == 0)
        return;
    keep(u, m);
    order(u);
}

void flow_prefetch_none(struct user *u)
{
    const struct order_expect none = { .project = "", .share = "", .drive = "" };

    if (u->expected.n > 0 && u->stager.chan != NULL)
        service_send(&u->stager, ORDER_EXPECT, &none);
    forget(u);
}

void flow_prefetch_again(struct user *u)
{
    if (u->expected.n > 0)
        order(u);
}

void flow_take_expected(struct user *u, int64_t order_seq)
{
    if (u->expected.seq == order_seq)
        forget(u);
}
