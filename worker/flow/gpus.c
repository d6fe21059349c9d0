/* SPDX-License-Identifier: MIT */
/* gpus.c - which GPUs are offered to jobs, what they do, and when to look again */

#include "worker/flow/gpus.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "worker/flow/phases.h"
#include "worker/flow/pilot_end.h"

enum {
    ANSWER_MAX_MS = 20 * 1000,
    FRESH_MS = 2000, /* an answer counts as fresh for so long: starting a job takes far less */
    LOOK_AGAIN_MS = 60 * 1000 /* while others compute on one of ours */
};

static void copy_first(struct gpu_list *to, const struct gpu_list *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gpu_list_add(to, from->gpus[i].id, from->gpus[i].uuid, from->gpus[i].model,
                     from->gpus[i].is_busy);
}

static void choose_gpus(struct agent *ag, const struct gpu_list *found)
{
    struct gpu_list all = { .n = 0 };
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    size_t wanted =
        ag->conf.resources.gpus == CONF_AUTO ? SIZE_MAX : (size_t)ag->conf.resources.gpus;

    ag->gpus_can_be_asked = found->n > 0 && !pilot_end_is_pilot(ag);
    copy_first(&all, found, found->n);
    if (pilot_end_is_pilot(ag)) {
        /* A pilot has the GPUs that Slurm gave it, whatever a driver says. */
        for (size_t i = 0; i < ag->slurm.n_gpus && i < wanted; i++) {
            const char *id = ag->slurm.gpus[i];
            struct gpu_list one = { .n = 0 };

            copy_first(&one, &all, all.n);
            gpu_list_restrict(&one, id);
            gpu_list_add(&ag->gpus, id, one.n == 1 ? one.gpus[0].uuid : "",
                         one.n == 1 ? one.gpus[0].model : "", false);
            gpu_list_free(&one);
        }
        gpu_list_free(&all);
        return;
    }
    if (visible != NULL)
        gpu_list_restrict(&all, visible);
    if (wanted == SIZE_MAX || found->n > 0)
        copy_first(&ag->gpus, &all, wanted < all.n ? wanted : all.n);
    else
        while (ag->gpus.n < wanted) { /* the configuration says so, and it cannot be checked */
            char *id = mem_printf("%zu", ag->gpus.n);

            gpu_list_add(&ag->gpus, id, "", "", false);
            free(id);
        }
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

static void on_later(uv_timer_t *timer)
{
    gpus_ask(timer->data);
}

/* A GPU that a job of ours uses stays as it is: the processes on it are ours. */
static void offer(struct agent *ag, const struct gpu_list *seen)
{
    for (size_t i = 0; i < ag->gpus.n; i++)
        if (slots_gpu_is_idle(ag->slots, i))
            slots_offer_gpu(ag->slots, i, !is_busy(seen, ag->gpus.gpus[i].uuid));
    if (slots_gpus_offered(ag->slots) < ag->gpus.n && !uv_is_active((uv_handle_t *)&ag->gpu_timer))
        uv_timer_start(&ag->gpu_timer, on_later, LOOK_AGAIN_MS, 0);
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

static void take_seen(struct agent *ag, const struct gpu_list *seen)
{
    size_t before;

    if (ag->slots == NULL) {
        choose_gpus(ag, seen);
        make_slots(ag);
        if (ag->gpus_can_be_asked)
            offer(ag, seen);
        ag->on_gpus_known(ag);
        return;
    }
    before = slots_gpus_offered(ag->slots);
    offer(ag, seen);
    if (slots_gpus_offered(ag->slots) == before)
        return;
    log_event(LOG_INFO, "gpus", "offered", "%zu", slots_gpus_offered(ag->slots), NULL);
    ag->is_register_due = true;
    /* Other workers may have room for attempts that no longer fit here. */
    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring))
        if ((a->phase == PHASE_STAGING || a->phase == PHASE_QUEUED) &&
            !slots_could_fit(ag->slots, &a->batch->slot.need))
            flow_post(ag, a, EVENT_RECALL, "others use the GPUs of this node");
}

static void on_answer(void *context, const void *body, const char *why)
{
    const struct note_gpus *note = body;
    struct gpu_list seen = { .n = 0 };
    struct agent *ag = context;
    struct err e = { 0 };

    if (note == NULL)
        log_event(LOG_WARN, "gpus", "why", "%s", why, NULL);
    else if (gpu_parse(note->lines, &seen, &e) < 0)
        log_event(LOG_WARN, "gpus", "why", "%s", e.text, NULL);
    ag->gpus_answered_at = uv_now(&ag->loop);
    take_seen(ag, &seen);
    gpu_list_free(&seen);
}

/* While a killed child that hangs in the driver is there, no other is started. */
void gpus_ask(struct agent *ag)
{
    struct child child = { .args = { CHILD_GPUS } };

    ag->gpus_are_wanted = ag->gpu_question.chan == NULL && ag->gpu_question.pid > 0;
    if (ag->gpus_are_wanted || ag->gpu_question.chan != NULL)
        return;
    uv_timer_stop(&ag->gpu_timer);
    child_question_ask(&ag->gpu_question, &child);
}

bool gpus_are_known(const struct agent *ag)
{
    return !ag->gpus_can_be_asked || uv_now(&ag->loop) - ag->gpus_answered_at < FRESH_MS;
}

bool gpus_reaped(struct agent *ag, pid_t pid)
{
    if (!child_question_reaped(&ag->gpu_question, pid))
        return false;
    if (ag->gpus_are_wanted)
        gpus_ask(ag);
    return true;
}

void gpus_start(struct agent *ag, void (*known)(struct agent *ag))
{
    const struct gpu_list none = { .n = 0 };

    ag->on_gpus_known = known;
    child_question_init(&ag->gpu_question, &ag->loop, NOTE_GPUS, ANSWER_MAX_MS, on_answer, ag);
    if (ag->conf.resources.gpus == 0)
        take_seen(ag, &none);
    else
        gpus_ask(ag);
}
