/* SPDX-License-Identifier: MIT */
/* gpus.c - which GPUs are offered to jobs, and when to look again */

#include "worker/loop/gpus.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "worker/flow/phases.h"
#include "worker/flow/pilot_end.h"

/* While others compute on one of our GPUs; a worker that has all of its own never asks. */
enum { LOOK_AGAIN_MS = 60 * 1000 };

/* Numbers nobody could check: the configuration says there are so many. */
static void make_up(struct gpu_list *l, size_t n)
{
    while (l->n < n) {
        char *id = mem_printf("%zu", l->n);

        gpu_list_add(l, id, "", "", false);
        free(id);
    }
}

static void copy_first(struct gpu_list *to, const struct gpu_list *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gpu_list_add(to, from->gpus[i].id, from->gpus[i].uuid, from->gpus[i].model,
                     from->gpus[i].is_busy);
}

/* They are ours alone, whatever else a driver says or does not say. */
static void take_given(struct agent *ag, struct gpu_list *all)
{
    ag->gpus_can_be_asked = false;
    for (size_t i = 0; i < ag->slurm.n_gpus && (int64_t)i < ag->conf.resources.gpus; i++) {
        const char *id = ag->slurm.gpus[i];
        struct gpu_list one = { .n = 0 };

        copy_first(&one, all, all->n);
        gpu_list_restrict(&one, id);
        gpu_list_add(&ag->gpus, id, one.n == 1 ? one.gpus[0].uuid : "",
                     one.n == 1 ? one.gpus[0].model : "", false);
        gpu_list_free(&one);
    }
}

static void choose(struct agent *ag, const struct gpu_list *found)
{
    struct gpu_list all = { .n = 0 };
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    size_t wanted =
        ag->conf.resources.gpus == CONF_AUTO ? SIZE_MAX : (size_t)ag->conf.resources.gpus;

    ag->gpus_can_be_asked = found->n > 0;
    copy_first(&all, found, found->n);
    if (pilot_end_is_pilot(ag)) {
        take_given(ag, &all);
        gpu_list_free(&all);
        return;
    }
    if (visible != NULL)
        gpu_list_restrict(&all, visible);
    if (wanted != SIZE_MAX && found->n == 0)
        make_up(&ag->gpus, wanted);
    else
        copy_first(&ag->gpus, &all, wanted < all.n ? wanted : all.n);
    if (wanted != SIZE_MAX && ag->gpus.n < wanted)
        log_event(LOG_WARN, "gpus", "configured", "%zu", wanted, "found", "%zu", ag->gpus.n, NULL);
    gpu_list_free(&all);
}

static bool is_busy(const struct gpu_list *l, const char *uuid)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->gpus[i].uuid, uuid) == 0)
            return l->gpus[i].is_busy;
    return true;
}

/* Where a job of ours runs, those who compute there are ours. */
static void offer(struct agent *ag, const struct gpu_list *seen)
{
    bool all_offered;

    for (size_t i = 0; i < ag->gpus.n; i++)
        if (slots_gpu_is_idle(ag->slots, i))
            slots_offer_gpu(ag->slots, i, !is_busy(seen, ag->gpus.gpus[i].uuid));
    all_offered = slots_gpus_offered(ag->slots) == ag->gpus.n;
    if (!all_offered)
        gpu_poll_ask_later(&ag->gpuwatch, LOOK_AGAIN_MS);
}

/* Others may have room for what no longer fits here. */
static void recall_what_cannot_start(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        const struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if ((a->phase == PHASE_STAGING || a->phase == PHASE_QUEUED) &&
            !slots_could_fit(ag->slots, &a->batch->slot.need))
            flow_post(ag, a, EVENT_RECALL, "others use the GPUs of this node");
    }
}

static void on_seen_again(struct agent *ag, const struct gpu_list *seen)
{
    size_t before = slots_gpus_offered(ag->slots);

    offer(ag, seen);
    if (slots_gpus_offered(ag->slots) != before) {
        log_event(LOG_INFO, "gpus", "offered", "%zu", slots_gpus_offered(ag->slots), NULL);
        ag->is_register_due = true;
        recall_what_cannot_start(ag);
    }
}

static void make_slots(struct agent *ag)
{
    const struct conf_resources *r = &ag->conf.resources;
    struct slots_size size = {
        .cpus = ag->node.cpus,
        .n_cpus = ag->node.n_cpus,
        .cpus_milli = r->cpus_milli == CONF_AUTO ? ag->node.cpus_milli : r->cpus_milli,
        .n_gpus = ag->gpus.n,
        .memory_bytes = r->memory_bytes == CONF_AUTO ? ag->node.memory_bytes : r->memory_bytes,
    };

    ag->node.cpus_milli = size.cpus_milli;
    ag->node.memory_bytes = size.memory_bytes;
    ag->slots = slots_create(&size);
}

static void on_seen(void *context, const struct gpu_list *seen)
{
    struct agent *ag = context;

    if (ag->slots != NULL) {
        on_seen_again(ag, seen);
        return;
    }
    choose(ag, seen);
    make_slots(ag);
    if (ag->gpus_can_be_asked)
        offer(ag, seen);
    ag->on_gpus_known(ag);
}

void gpus_start(struct agent *ag, void (*known)(struct agent *ag))
{
    const struct gpu_list none = { .n = 0 };

    ag->on_gpus_known = known;
    gpu_poll_init(&ag->gpuwatch, &ag->loop, on_seen, ag);
    if (ag->conf.resources.gpus == 0)
        on_seen(ag, &none);
    else
        gpu_poll_ask(&ag->gpuwatch);
}
