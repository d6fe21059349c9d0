/* SPDX-License-Identifier: MIT */
/* adopt.c - take over what an earlier agent left: runners, and folders on scratch */

#include "worker/flow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/io.h"
#include "common/log.h"
#include "common/units.h"
#include "worker/reap.h"

enum {
    /* A runner that does not say what it runs (stopped, or its disk hangs) is not waited for. */
    MUTE_MAX_MS = 5 * 1000,
    /* A folder that does not say whose it is: by now, nobody's. */
    NAMELESS_MAX_S = 60 * 60
};

static bool is_in(int dir_fd, const char *name)
{
    return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- one attempt that no runner has ---- */

static void resolve_published(struct agent *ag, struct attempt *a, const char *hex)
{
    char *path = mem_printf("%s/" JOB_REPORT, hex);
    struct report report;
    struct err e = { 0 };

    a->may_be_on_scratch = true;
    if (scratch_read(ag->scratch.published_fd, path, &report_schema, a->arena, &report, &e) == 0) {
        flow_published(ag, a, &report);
    } else {
        log_event(LOG_ERROR, "adopt", "why", "%s", e.text, NULL);
        flow_decide(ag, a, EV_LOSE, "its report cannot be read");
    }
    free(path);
}

bool adopt_move_to_ended(struct agent *ag, const char *hex)
{
    char *path = mem_printf("%s/" JOB_OUTCOME, hex);
    bool is_there = is_in(ag->scratch.run_fd, path);

    free(path);
    return is_there && renameat(ag->scratch.run_fd, hex, ag->scratch.ended_fd, hex) == 0;
}

static void resolve_run(struct agent *ag, struct attempt *a, const char *hex)
{
    if (!a->is_stale && adopt_move_to_ended(ag, hex))
        flow_ended(ag, a);
    else
        flow_orphaned(ag, a);
}

/* In the direction in which folders move: the publisher of the agent before us may still be at
 * work, and what it moves meanwhile must be seen somewhere. */
void adopt_resolve(struct agent *ag, struct attempt *a)
{
    char hex[TOKEN_HEX];

    token_hex(&a->token, hex);
    if (is_in(ag->scratch.run_fd, hex))
        resolve_run(ag, a, hex);
    else if (!a->is_stale && is_in(ag->scratch.ended_fd, hex))
        flow_ended(ag, a);
    else if (is_in(ag->scratch.published_fd, hex))
        resolve_published(ag, a, hex);
    else if (a->is_stale)
        flow_orphaned(ag, a);
    else if (a->is_stopped)
        flow_decide(ag, a, EV_CANCEL, NULL);
    else
        flow_admit(ag, a);
}

/* Without its outcome it is one of which nothing is known, to whatever agent comes. */
void adopt_spoil(struct agent *ag, const struct attempt *a)
{
    char hex[TOKEN_HEX];
    char *path;

    token_hex(&a->token, hex);
    path = mem_printf("%s/" JOB_OUTCOME, hex);
    if (is_in(ag->scratch.ended_fd, hex)) {
        if ((unlinkat(ag->scratch.ended_fd, path, 0) < 0 && errno != ENOENT) ||
            renameat(ag->scratch.ended_fd, hex, ag->scratch.run_fd, hex) < 0)
            log_event(LOG_ERROR, "adopt", "attempt", "%s", hex, "why", "%s", strerror(errno), NULL);
    } else if (unlinkat(ag->scratch.run_fd, path, 0) < 0 && errno != ENOENT) {
        log_event(LOG_ERROR, "adopt", "attempt", "%s", hex, "why", "%s", strerror(errno), NULL);
    }
    free(path);
}

/* ---- folders that the registry does not know: settled, but not all removed ---- */

int adopt_read_order(int dir_fd, const char *hex, struct arena *a, struct order *order)
{
    char *path = mem_printf("%s/" JOB_ORDER, hex);
    int rc = scratch_read(dir_fd, path, &order_schema, a, order, NULL);

    free(path);
    return rc;
}

static bool is_old(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtime + NAMELESS_MAX_S < time(NULL);
}

/* Scratch may be shared with an agent of another server. */
static bool is_of_ours(const struct agent *ag, int dir_fd, const char *hex)
{
    struct arena *a = arena_create();
    struct order order;
    bool ours = adopt_read_order(dir_fd, hex, a, &order) == 0
                    ? strcmp(order.server_id, ag->server_id) == 0
                    : is_old(dir_fd, hex);

    arena_destroy(a);
    return ours;
}

static bool is_known_elsewhere(const struct agent *ag, int dir_fd, const char *hex)
{
    const int fds[] = { ag->scratch.run_fd, ag->scratch.ended_fd, ag->scratch.published_fd };

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] != dir_fd && is_in(fds[i], hex))
            return true;
    return false;
}

static void clear_folder(struct agent *ag, int dir_fd, const char *hex)
{
    struct token token;

    if (token_parse(hex, &token) < 0 || attempts_find(&ag->attempts, &token) != NULL ||
        is_known_elsewhere(ag, dir_fd, hex) || !is_of_ours(ag, dir_fd, hex))
        return;
    if (dir_fd == ag->scratch.run_fd)
        reap_kill(&token);
    mem_grow((void **)&ag->leftovers, &ag->leftovers_capacity, ag->n_leftovers,
             sizeof *ag->leftovers);
    ag->leftovers[ag->n_leftovers++] = token;
}

static void clear_folders(struct agent *ag, int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(d)) != NULL)
        clear_folder(ag, dir_fd, entry->d_name);
    closedir(d);
}

static void clear_all(struct agent *ag)
{
    clear_folders(ag, ag->scratch.run_fd);
    clear_folders(ag, ag->scratch.ended_fd);
    clear_folders(ag, ag->scratch.published_fd);
    clear_folders(ag, ag->scratch.log_fd);
    strangers_look(ag);
    flow_discard_leftovers(ag);
}

/* ---- all of them ---- */

static bool is_unresolved(const struct attempt *a)
{
    return a->phase == PHASE_GIVEN && a->runner == NULL;
}

void adopt_take_slots(struct agent *ag, struct slot_item *s, const struct order *order)
{
    const struct number *cpus = order->cpus.items;
    const struct gpu_entry *gpus = order->gpus.items;

    s->cpus = mem_alloc(order->cpus.n * sizeof *s->cpus);
    for (size_t i = 0; i < order->cpus.n; i++)
        s->cpus[s->n_cpus++] = (unsigned)cpus[i].number;
    s->gpus = mem_alloc(order->gpus.n * sizeof *s->gpus);
    for (size_t i = 0; i < order->gpus.n; i++)
        for (size_t k = 0; k < ag->gpus.n; k++)
            if (strcmp(ag->gpus.gpus[k].id, gpus[i].id) == 0)
                s->gpus[s->n_gpus++] = (unsigned)k;
    if (order->in_slurm && order->gpus.n == 0) /* it has all that Slurm gave, see flow.c */
        slots_list_gpus(ag->slots, s);
    slots_take(ag->slots, s);
}

static void hold_slots(struct agent *ag, struct attempt *a, const char *hex)
{
    struct arena *arena = arena_create();
    struct order order;

    if (!a->slot.is_running && adopt_read_order(ag->scratch.run_fd, hex, arena, &order) == 0)
        adopt_take_slots(ag, &a->slot, &order);
    arena_destroy(arena);
}

static void resolve_all(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (is_unresolved(a)) {
            slots_release(ag->slots, &a->slot);
            adopt_resolve(ag, a);
        }
    }
    clear_all(ag);
}

/* What a mute runner may have stays with it until it speaks or dies, and so do its processors and
 * GPUs.  What has left run/ is no runner's any more. */
static void resolve_ended(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);
        char hex[TOKEN_HEX];

        token_hex(&a->token, hex);
        if (!is_unresolved(a))
            continue;
        if (is_in(ag->scratch.run_fd, hex))
            hold_slots(ag, a, hex);
        else if (is_in(ag->scratch.ended_fd, hex) || is_in(ag->scratch.published_fd, hex))
            adopt_resolve(ag, a);
    }
}

static void go_on(struct agent *ag)
{
    bool is_late = !uv_is_active((uv_handle_t *)&ag->adopt_timer);

    if (ag->is_resolved || (ag->runners.n_unknown > 0 && (ag->is_adopted || !is_late)))
        return;
    if (ag->runners.n_unknown == 0) {
        ag->is_resolved = true;
        uv_timer_stop(&ag->adopt_timer);
        resolve_all(ag);
    } else {
        resolve_ended(ag);
    }
    if (!ag->is_adopted) {
        ag->is_adopted = true;
        log_event(LOG_INFO, "adopted", "attempts", "%zu", ag->attempts.n, NULL);
        agent_register(ag);
    }
    flow_fill(ag);
}

void adopt_on_timer(uv_timer_t *timer)
{
    go_on(timer->data);
}

void adopt_begin(struct agent *ag)
{
    struct ring *at, *after;
    struct err e = { 0 };

    for (RING_EACH(&ag->attempts.all, at, after))
        RING_ITEM(at, struct attempt, ring)->phase = PHASE_GIVEN;
    uv_timer_start(&ag->adopt_timer, adopt_on_timer, MUTE_MAX_MS, 0);
    if (runners_adopt(&ag->runners, &e) < 0)
        log_event(LOG_ERROR, "adopt", "why", "%s", e.text, NULL);
    go_on(ag);
}

/* ---- what runners say ---- */

/* Also one that the registry does not know: it lives, so it counts. */
static struct attempt *find_running(struct agent *ag, const struct token *token)
{
    struct attempt *a = attempts_find(&ag->attempts, token);
    struct arena *arena = arena_create();
    struct order order;
    char hex[TOKEN_HEX];
    bool is_read;

    token_hex(token, hex);
    is_read = adopt_read_order(ag->scratch.run_fd, hex, arena, &order) == 0;
    if (a != NULL && !a->slot.is_running)
        adopt_take_slots(ag, &a->slot, is_read ? &order : &a->order);
    if (!is_read || a != NULL) {
        arena_destroy(arena);
        return a;
    }
    a = attempts_add(&ag->attempts, arena, &order);
    registry_assigned(ag->registry, &a->order, NULL);
    adopt_take_slots(ag, &a->slot, &order);
    return a;
}

/* It ended while its runner's words were on their way. */
static bool is_over(const struct agent *ag, const struct token *token)
{
    const struct attempt *a = attempts_find(&ag->attempts, token);

    return a != NULL && a->phase != PHASE_GIVEN;
}

static void on_adopted(void *context, struct runner *r, const struct note_hello *hello)
{
    struct agent *ag = context;
    struct attempt *a;

    if (!token_is_zero(&hello->token) && !is_over(ag, &hello->token) &&
        (a = find_running(ag, &hello->token)) != NULL) {
        runner_assign(r, a);
        a->phase = PHASE_GIVEN;
        a->started_at = hello->started_at;
        a->may_be_on_scratch = true;
        if (a->is_stopped)
            runner_stop(r);
        flow_watch(ag, a);
    }
    go_on(ag);
}

static void on_started(void *context, struct runner *r, const struct note_started *note)
{
    struct agent *ag = context;
    struct attempt *a = attempts_find(&ag->attempts, &note->token);

    (void)r;
    if (a == NULL || a->phase != PHASE_GIVEN)
        return;
    a->started_at = note->at;
    flow_start_succeeded(ag);
    flow_watch_soon(ag, a);
    outbox_hint(&ag->outbox, a, EV_RUN, note->at);
}

/* It has ended without having started: was that its own fault, or this machine's? */
static void look_why(struct agent *ag, const struct attempt *a)
{
    struct arena *arena = arena_create();
    struct outcome outcome;
    char hex[TOKEN_HEX];
    char *path;

    token_hex(&a->token, hex);
    path = mem_printf("%s/" JOB_OUTCOME, hex);
    if (scratch_read(ag->scratch.ended_fd, path, &outcome_schema, arena, &outcome, NULL) == 0 &&
        outcome.event == EV_LOSE)
        flow_start_failed(ag, outcome.reason == NULL ? "" : outcome.reason);
    free(path);
    arena_destroy(arena);
}

static void on_ended(void *context, struct runner *r, const struct token *token)
{
    struct agent *ag = context;
    struct attempt *a = attempts_find(&ag->attempts, token);

    (void)r;
    if (a == NULL || a->phase != PHASE_GIVEN)
        return;
    if (a->started_at == 0)
        look_why(ag, a);
    flow_ended(ag, a);
}

static void on_lost(void *context, struct attempt *a)
{
    struct agent *ag = context;

    if (a != NULL && a->phase == PHASE_GIVEN && ag->is_adopted) {
        slots_release(ag->slots, &a->slot);
        adopt_resolve(ag, a);
        if (a->phase == PHASE_QUEUED)
            flow_start_failed(ag, "its runner ended before it began");
    }
    go_on(ag);
    flow_fill(ag);
}

const struct runner_events adopt_runner_events = { on_adopted, on_started, on_ended, on_lost };
