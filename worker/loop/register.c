/* SPDX-License-Identifier: MIT */
/* register.c - what ludwigd is told of this worker, and of the attempts it holds */

#include "worker/loop/register.h"

#include <stdlib.h>

#include "common/base/units.h"
#include "worker/flow/flow_pause.h"
#include "common/share/share.h"

static size_t list_held(const struct agent *ag, struct held *held)
{
    struct ring *at, *after;
    size_t n = 0;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);
        enum attempt_state state = attempt_state_of(a);

        if (state != ATTEMPT_NO)
            held[n++] = (struct held){ a->token, (int)state, a->started_at };
    }
    return n;
}

/* Nothing can be started here, for nobody. */
static bool is_closed_for_all(const struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->users, at, after)) {
        const struct user *u = RING_ITEM(at, struct user, ring);

        if (u->name == NULL && flow_pause_is_long(u))
            return true;
    }
    return false;
}

/* Whose jobs cannot run here, for now; the list is the caller's to free. */
static struct list list_refused(const struct agent *ag)
{
    struct refusal *all = NULL;
    size_t n = 0, capacity = 0;
    struct ring *at, *after;

    for (RING_EACH(&ag->users, at, after)) {
        const struct user *u = RING_ITEM(at, struct user, ring);
        const char *why = u->state == USER_REFUSED ? u->why : u->pause_why;

        if (u->name == NULL || n == REFUSED_MAX ||
            (u->state != USER_REFUSED && !flow_pause_is_long(u)))
            continue;
        mem_grow((void **)&all, &capacity, n, sizeof *all);
        all[n++] = (struct refusal){ u->name, why };
    }
    return (struct list){ all, n };
}

static struct list list_models(const struct gpu_list *l)
{
    const char **models = mem_alloc(l->n * sizeof *models);

    for (size_t i = 0; i < l->n; i++)
        models[i] = l->gpus[i].model;
    return (struct list){ models, l->n };
}

void register_if_due(struct agent *ag)
{
    struct msg_register m = { .worker = ag->worker, .incarnation = ag->incarnation };
    struct held *held;

    if (!ag->is_register_due || !ag->is_welcome || !ag->is_adopted)
        return;
    ag->is_register_due = false;
    held = mem_alloc(ag->attempts.n * sizeof *held);
    m.boot_id = ag->node.boot_id;
    m.node = ag->conf.name != NULL    ? ag->conf.name
             : ag->slurm.node != NULL ? ag->slurm.node
                                      : ag->node.host;
    m.kind = ag->conf.kind;
    m.cpus_milli = is_closed_for_all(ag) ? 0 : ag->node.cpus_milli;
    m.gpus = is_closed_for_all(ag) ? 0 : (int64_t)slots_gpus_offered(ag->slots);
    m.memory_bytes = ag->node.memory_bytes;
    m.own_jobs_only = !share_is_mounted(ag->share);
    m.attempts = (struct list){ held, list_held(ag, held) };
    m.refused = list_refused(ag);
    m.said_at = units_now_ms();
    m.gpu_models = list_models(&ag->gpus);
    server_link_send(ag->link, MSG_REGISTER, 0, &m);
    free(m.gpu_models.items);
    free(m.refused.items);
    free(held);
}
