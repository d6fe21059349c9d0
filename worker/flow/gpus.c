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
    LOOK_AGAIN_MS = 60 * 1000, /* next look while a GPU is not offered, */
    LOOK_SOON_MS = 5 * 1000,   /* and if the reason may pass in a moment */
    FIRST_USE_MS = 5 * 1000,   /* first look at GPUs' use after a job with GPUs has started; */
    LAST_USE_MS = 60 * 1000    /* the delay doubles each time, up to this */
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

    ag->gpus_are_seen = found->n > 0;
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

static void on_later(uv_timer_t *timer)
{
    gpus_ask(timer->data);
}

/* Returns what the driver says now about a GPU of the agent; NULL: it does not show it. */
static const struct gpu_info *seen_of(const struct agent *ag, const struct gpu_list *seen,
                                      size_t gpu)
{
    for (size_t k = 0; k < seen->n; k++)
        if (strcmp(seen->gpus[k].uuid, ag->gpus.gpus[gpu].uuid) == 0)
            return &seen->gpus[k];
    return NULL;
}

static void add_trouble(const struct gpu_list *seen, const struct gpu_info *g, struct buf *why)
{
    if (seen->n == 0)
        buf_add_str(why, "its driver does not answer");
    else if (g == NULL)
        buf_add_str(why, "its driver does not show it any more");
    else if (g->trouble != NULL)
        buf_add_str(why, g->trouble);
}

/*
 * Offers each GPU, or sets in its `trouble` why not.  Processes on a GPU that a job uses are taken
 * for that job's; a GPU that fails is given to no further job.  Returns whether any changed.
 */
static bool offer(struct agent *ag, const struct gpu_list *seen)
{
    bool has_changed = false, may_pass = false;
    struct buf why = { 0 };

    for (size_t i = 0; i < ag->gpus.n; i++) {
        const struct gpu_info *g = seen_of(ag, seen, i);
        char **known = &ag->gpus.gpus[i].trouble;

        buf_clear(&why);
        add_trouble(seen, g, &why);
        if (why.n == 0 && !slots_gpu_is_idle(ag->slots, i))
            continue;
        if (why.n == 0 && gpu_add_reason(seen, (size_t)(g - seen->gpus), &why))
            may_pass |= !g->is_busy;
        slots_offer_gpu(ag->slots, i, why.n == 0);
        if (strcmp(*known == NULL ? "" : *known, buf_text(&why)) == 0)
            continue;
        has_changed = true;
        free(*known);
        *known = why.n == 0 ? NULL : mem_strdup(buf_text(&why));
        log_event(LOG_INFO, "gpus", "offered", "%zu", slots_gpus_offered(ag->slots), "gpu", "%s",
                  ag->gpus.gpus[i].id, "why", "%s", buf_text(&why), NULL);
    }
    buf_free(&why);
    if (slots_gpus_offered(ag->slots) < ag->gpus.n && !uv_is_active((uv_handle_t *)&ag->gpu_timer))
        uv_timer_start(&ag->gpu_timer, on_later, may_pass ? LOOK_SOON_MS : LOOK_AGAIN_MS, 0);
    return has_changed;
}

static void make_slots(struct agent *ag)
{
    const struct conf_resources *r = &ag->conf.resources;
    struct slots_size size = {
        .cpus = ag->node.cpus,
        .cpu_nodes = ag->node.cpu_nodes,
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
    if (ag->slots == NULL) {
        choose_gpus(ag, seen);
        make_slots(ag);
        if (ag->gpus_can_be_asked)
            (void)offer(ag, seen);
        ag->on_gpus_known(ag);
        gpus_job_started(ag); /* an earlier agent may have started one */
        return;
    }
    if (!ag->gpus_can_be_asked || !offer(ag, seen))
        return;
    ag->is_register_due = true;
    /* Other workers may have room for attempts that no longer fit here. */
    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring))
        if ((a->phase == PHASE_STAGING || a->phase == PHASE_QUEUED) &&
            !slots_could_fit(ag->slots, &a->batch->slot.need))
            flow_post(ag, a, EVENT_RECALL, "too few GPUs of this node can be used now");
}

/* While a killed child still hangs in the driver, no other is started. */
static void ask(struct agent *ag)
{
    struct child child = { .args = { CHILD_GPUS } };

    ag->gpus_are_wanted = ag->gpu_question.chan == NULL && ag->gpu_question.pid > 0;
    if (!ag->gpus_are_wanted && ag->gpu_question.chan == NULL)
        child_question_ask(&ag->gpu_question, &child);
}

void gpus_ask(struct agent *ag)
{
    ag->is_gpu_look_due = true;
    uv_timer_stop(&ag->gpu_timer);
    ask(ag);
}

/* ---- how busy the machine is ---- */

static int64_t told(int64_t number)
{
    return number < 0 ? SCHEMA_NONE : number;
}

/* Sends the load; seen: with the GPUs' use; NULL: that follows, or is not known. */
static void tell_load(struct agent *ag, const struct gpu_list *seen)
{
    struct msg_load m = { .load_milli = SCHEMA_NONE, .asks_gpus = ag->is_gpu_use_due };
    struct gpu_use *use = NULL;
    double load;

    if (getloadavg(&load, 1) == 1 && load >= 0)
        m.load_milli = (int64_t)(load * 1000);
    if (seen != NULL) {
        use = mem_alloc((ag->gpus.n + 1) * sizeof *use);
        for (size_t i = 0; i < ag->gpus.n; i++) {
            const struct gpu_info *g = seen_of(ag, seen, i);

            if (g != NULL)
                use[i] = (struct gpu_use){ told(g->percent), told(g->used_bytes),
                                           told(g->memory_bytes) };
            else
                use[i] = (struct gpu_use){ SCHEMA_NONE, SCHEMA_NONE, SCHEMA_NONE };
        }
        m.gpu_use = (struct list){ use, ag->gpus.n };
    }
    server_link_send(ag->link, MSG_LOAD, 0, &m);
    free(use);
}

void gpus_tell_load(struct agent *ag)
{
    ag->is_gpu_use_due = ag->gpus_are_seen && ag->gpus.n > 0;
    tell_load(ag, NULL);
    if (ag->is_gpu_use_due)
        ask(ag);
}

/* ---- what those of a job do ---- */

static void tell_runner(const struct agent *ag, const struct gpu_list *seen, const struct batch *b)
{
    struct gpu_use *gpus = mem_alloc(b->slot.n_gpus * sizeof *gpus);
    struct gpu_user *users = mem_alloc((seen->n_processes + 1) * sizeof *users);
    size_t n = 0, n_users = 0;

    for (size_t i = 0; i < b->slot.n_gpus; i++) {
        const struct gpu_info *g = seen_of(ag, seen, b->slot.gpus[i]);

        if (g == NULL)
            continue;
        gpus[n++] =
            (struct gpu_use){ told(g->percent), told(g->used_bytes), told(g->memory_bytes) };
        for (size_t k = 0; k < seen->n_processes && n_users < GPU_USERS_MAX; k++)
            if (&seen->gpus[seen->processes[k].gpu] == g)
                users[n_users++] =
                    (struct gpu_user){ seen->processes[k].pid, seen->processes[k].used_bytes };
    }
    if (n > 0)
        runner_tell_gpus(b->runner,
                         &(struct order_see_gpus){ b->token, { gpus, n }, { users, n_users } });
    free(gpus);
    free(users);
}

/* Tells each runner of a process with GPUs; seen NULL: none.  Returns whether there is one. */
static bool tell_runners(const struct agent *ag, const struct gpu_list *seen)
{
    bool is_any = false;

    for (RING_EACH(const struct attempt, a, &ag->attempts.all, ring)) {
        const struct batch *b = a->batch;

        if (a->phase != PHASE_RUNNING || b == NULL || b->runner == NULL || b->slot.n_gpus == 0 ||
            batch_first(b) != a)
            continue;
        is_any = true;
        if (seen != NULL)
            tell_runner(ag, seen, b);
    }
    return is_any;
}

static void on_use_due(uv_timer_t *timer)
{
    struct agent *ag = timer->data;

    if (!tell_runners(ag, NULL))
        return;
    ag->are_jobs_due = true;
    ask(ag);
    ag->gpu_use_ms = 2 * ag->gpu_use_ms < LAST_USE_MS ? 2 * ag->gpu_use_ms : LAST_USE_MS;
    uv_timer_start(timer, on_use_due, ag->gpu_use_ms, 0);
}

void gpus_job_started(struct agent *ag)
{
    uv_timer_t *timer = &ag->gpu_use_timer;

    if (!ag->gpus_are_seen ||
        (uv_is_active((uv_handle_t *)timer) && uv_timer_get_due_in(timer) <= FIRST_USE_MS))
        return;
    ag->gpu_use_ms = FIRST_USE_MS;
    uv_timer_start(timer, on_use_due, ag->gpu_use_ms, 0);
}

/* ---- failures ---- */

/* Whether ids, like "0,2", names the GPU. */
static bool is_listed(const char *ids, const char *id)
{
    size_t n = strlen(id);

    for (const char *at = ids; (at = strstr(at, id)) != NULL; at += n)
        if ((at == ids || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

/* Posts the reports that waited; a job that failed on a broken GPU gets CAUSE_GPU. */
static void tell_failures(struct agent *ag, const struct gpu_list *seen)
{
    for (RING_EACH(struct attempt, a, &ag->attempts.all, ring)) {
        struct report *report = a->failed;
        struct buf why = { 0 };

        if (report == NULL)
            continue;
        a->failed = NULL;
        for (size_t i = 0; i < ag->gpus.n && why.n == 0; i++)
            if (is_listed(a->gpu_ids, ag->gpus.gpus[i].id))
                add_trouble(seen, seen_of(ag, seen, i), &why);
        if (why.n > 0) {
            report->cause = CAUSE_GPU;
            report->reason =
                arena_printf(a->arena, "a GPU that it had does not work: %s", buf_text(&why));
        }
        buf_free(&why);
        flow_post(ag, a, EVENT_PUBLISHED, NULL)->report = report;
    }
}

bool gpus_weigh_failure(struct agent *ag, struct attempt *a, struct report *report)
{
    const struct gpu_list none = { .n = 0 };

    if (report->event != EV_FAIL || a->gpu_ids == NULL || !ag->gpus_can_be_asked)
        return false;
    a->failed = report;
    gpus_ask(ag);
    if (ag->gpus_are_wanted) /* the child asked last hangs in the driver */
        tell_failures(ag, &none);
    return true;
}

/* ---- the answer ---- */

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
    /* If only the use was asked for, no answer takes no GPU from jobs. */
    if (seen.n > 0 || ag->is_gpu_look_due) {
        ag->gpus_answered_at = uv_now(&ag->loop);
        ag->is_gpu_look_due = false;
        take_seen(ag, &seen);
    }
    if (ag->is_gpu_use_due) {
        ag->is_gpu_use_due = false;
        if (ag->is_registered)
            tell_load(ag, &seen);
    }
    if (ag->are_jobs_due)
        tell_runners(ag, &seen);
    ag->are_jobs_due = false;
    tell_failures(ag, &seen);
    gpu_list_free(&seen);
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
        ask(ag);
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
