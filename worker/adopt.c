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
#include "worker/spare.h"

enum {
    /* A runner that does not say what it runs (stopped, or its disk hangs) is not waited for. */
    MUTE_MAX_MS = 5 * 1000,
    /* A folder that does not say whose it is: by now, nobody's. */
    NAMELESS_MAX_S = 60 * 60,
    /* A checkpoint never says, and another server's job may have to wait for its turn. */
    CHECKPOINT_MAX_S = 24 * 60 * 60
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

bool adopt_end_for_runner(struct agent *ag, const struct attempt *a, enum attempt_event event,
                          const char *reason)
{
    const struct outcome x = { .event = (int)event,
                               .exit_code = SCHEMA_NONE,
                               .signal = SCHEMA_NONE,
                               .reason = reason,
                               .started_at = a->started_at,
                               .ended_at = units_now_ms() };
    char hex[TOKEN_HEX];
    char *checkpoint, *outcome;
    bool has_ended;

    token_hex(&a->token, hex);
    checkpoint = mem_printf("%s/" JOB_CHECKPOINT, hex);
    outcome = mem_printf("%s/" JOB_OUTCOME, hex);
    has_ended = is_in(ag->scratch.run_fd, checkpoint) &&
                !spare_is_fresh(ag->scratch.run_fd, checkpoint) &&
                scratch_replace(ag->scratch.run_fd, outcome, &outcome_schema, &x, NULL) == 0 &&
                adopt_move_to_ended(ag, hex);
    free(checkpoint);
    free(outcome);
    return has_ended;
}

static void resolve_run(struct agent *ag, struct attempt *a, const char *hex)
{
    if (!a->is_stale && adopt_move_to_ended(ag, hex))
        flow_ended(ag, a);
    else
        flow_orphaned(ag, a);
}

/* Nothing on scratch knows it: it never started, or its files were wiped. */
static void resolve_unseen(struct agent *ag, struct attempt *a, bool has_begun)
{
    if (a->is_stale)
        flow_orphaned(ag, a);
    else if (a->is_stopped)
        flow_decide(ag, a, EV_CANCEL, NULL);
    else if (has_begun)
        flow_decide(ag, a, EV_RECALL, "its process was started without it");
    else
        flow_admit(ag, a);
}

/* In the direction in which folders move: the publisher of the agent before us may still be at
 * work, and what it moves meanwhile must be seen somewhere. */
static void resolve_one(struct agent *ag, struct attempt *a, bool has_begun)
{
    char hex[TOKEN_HEX];

    token_hex(&a->token, hex);
    if (is_in(ag->scratch.run_fd, hex))
        resolve_run(ag, a, hex);
    else if (!a->is_stale && is_in(ag->scratch.ended_fd, hex))
        flow_ended(ag, a);
    else if (is_in(ag->scratch.published_fd, hex))
        resolve_published(ag, a, hex);
    else
        resolve_unseen(ag, a, has_begun);
}

static void resolve_first(struct agent *ag, struct attempt *a)
{
    if (a->phase == PHASE_GIVEN)
        resolve_one(ag, a, false);
}

static void resolve_other(struct agent *ag, struct attempt *a)
{
    if (a->phase == PHASE_GIVEN)
        resolve_one(ag, a, true);
}

static bool is_on_scratch(const struct agent *ag, const struct token *token)
{
    const int fds[] = { ag->scratch.run_fd, ag->scratch.ended_fd, ag->scratch.published_fd };
    char hex[TOKEN_HEX];

    token_hex(token, hex);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (is_in(fds[i], hex))
            return true;
    return false;
}

/* Its runner makes the members' folders first, then that of the process. */
static bool has_begun(const struct agent *ag, const struct batch *b)
{
    struct ring *at, *after;

    if (is_on_scratch(ag, &b->token))
        return true;
    for (RING_EACH(&b->members, at, after))
        if (is_on_scratch(ag, &RING_ITEM(at, struct attempt, mate)->token))
            return true;
    return false;
}

void adopt_resolve(struct agent *ag, struct batch *b)
{
    if (b->is_shared && is_on_scratch(ag, &b->token))
        flow_orphaned_process(ag, b);
    flow_each_member(ag, b, b->is_shared && has_begun(ag, b) ? resolve_other : resolve_first);
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

static bool is_old(int dir_fd, const char *name, time_t max_s)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime + max_s < time(NULL);
}

/* Scratch may be shared with an agent of another server. */
static bool is_of_ours(const struct agent *ag, int dir_fd, const char *hex)
{
    struct arena *a;
    struct order order;
    bool ours;

    if (dir_fd == ag->scratch.checkpoints_fd)
        return is_old(dir_fd, hex, CHECKPOINT_MAX_S);
    a = arena_create();
    ours = adopt_read_order(dir_fd, hex, a, &order) == 0
               ? strcmp(order.server_id, ag->server_id) == 0
               : is_old(dir_fd, hex, NAMELESS_MAX_S);
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

static bool is_held(const struct agent *ag, const struct token *token)
{
    return attempts_find(&ag->attempts, token) != NULL ||
           attempts_find_batch(&ag->attempts, token) != NULL;
}

static void clear_folder(struct agent *ag, int dir_fd, const char *hex)
{
    struct token token;

    if (token_parse(hex, &token) < 0 || is_held(ag, &token) ||
        is_known_elsewhere(ag, dir_fd, hex) || !is_of_ours(ag, dir_fd, hex))
        return;
    if (dir_fd == ag->scratch.run_fd)
        reap_kill(&token);
    flow_add_leftover(ag, &token);
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
    clear_folders(ag, ag->scratch.checkpoints_fd);
    strangers_look(ag);
    flow_discard_leftovers(ag);
}

/* ---- all of them ---- */

static bool is_unresolved(const struct attempt *a)
{
    return a->phase == PHASE_GIVEN && a->batch->runner == NULL;
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

static void hold_slots(struct agent *ag, struct batch *b, const char *hex)
{
    struct arena *arena = arena_create();
    struct order order;

    if (!b->slot.is_running && adopt_read_order(ag->scratch.run_fd, hex, arena, &order) == 0)
        adopt_take_slots(ag, &b->slot, &order);
    arena_destroy(arena);
}

static void resolve_all(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (is_unresolved(a)) {
            slots_release(ag->slots, &a->batch->slot);
            adopt_resolve(ag, a->batch);
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
            hold_slots(ag, a->batch, hex);
        else if (is_in(ag->scratch.ended_fd, hex) || is_in(ag->scratch.published_fd, hex))
            resolve_one(ag, a, true);
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
static struct attempt *add_running(struct agent *ag, struct arena *arena, const struct order *order)
{
    struct attempt *a = attempts_add(&ag->attempts, arena, order);

    registry_assigned(ag->registry, &a->order, NULL);
    a->phase = PHASE_GIVEN;
    return a;
}

static struct attempt *find_running(struct agent *ag, const struct token *token)
{
    struct attempt *a = attempts_find(&ag->attempts, token);
    struct arena *arena;
    struct order order;
    char hex[TOKEN_HEX];

    if (a != NULL)
        return a;
    token_hex(token, hex);
    arena = arena_create();
    if (adopt_read_order(ag->scratch.run_fd, hex, arena, &order) == 0)
        return add_running(ag, arena, &order);
    arena_destroy(arena);
    return NULL;
}

/* The process of several attempts, of which none may be left. */
static struct batch *find_process(struct agent *ag, const struct token *token)
{
    struct batch *b = attempts_find_batch(&ag->attempts, token);
    struct arena *arena = arena_create();
    struct order order;
    char hex[TOKEN_HEX];

    token_hex(token, hex);
    if (b == NULL && adopt_read_order(ag->scratch.run_fd, hex, arena, &order) == 0 &&
        order_is_process(&order))
        b = attempts_batch(&ag->attempts, &order);
    arena_destroy(arena);
    return b;
}

/* The order on scratch says on which processors and GPUs it runs. */
static void take_slots(struct agent *ag, struct batch *b)
{
    const struct attempt *first = batch_first(b);
    char hex[TOKEN_HEX];

    token_hex(&b->token, hex);
    hold_slots(ag, b, hex);
    if (!b->slot.is_running && first != NULL)
        adopt_take_slots(ag, &b->slot, &first->order);
}

static void take_over(struct agent *ag, struct attempt *a, int64_t started_at)
{
    a->started_at = started_at;
    a->is_named = a->may_be_on_scratch = true;
    if (a->is_stopped)
        runner_stop(a->batch->runner, &a->token);
    flow_watch(ag, a);
}

/* It ended while its runner's words were on their way. */
static bool is_over(const struct agent *ag, const struct token *token)
{
    const struct attempt *a = attempts_find(&ag->attempts, token);

    return a != NULL && a->phase != PHASE_GIVEN;
}

static void adopt_single(struct agent *ag, struct runner *r, const struct note_hello *hello)
{
    struct attempt *a = is_over(ag, &hello->token) ? NULL : find_running(ag, &hello->token);

    if (a == NULL)
        return;
    runner_assign(r, a->batch);
    take_slots(ag, a->batch);
    take_over(ag, a, hello->started_at);
}

static void forget_name(struct agent *ag, struct attempt *a)
{
    (void)ag;
    a->is_named = false;
}

/* It has ended while nobody was there to hear of it. */
static void resolve_unnamed(struct agent *ag, struct attempt *a)
{
    if (!a->is_named)
        resolve_other(ag, a);
}

static void adopt_batch(struct agent *ag, struct runner *r, struct batch *b,
                        const struct note_hello *hello)
{
    const struct token_entry *mates = hello->mates.items;

    runner_assign(r, b);
    flow_each_member(ag, b, forget_name);
    for (size_t i = 0; i < hello->mates.n; i++) {
        struct attempt *a = is_over(ag, &mates[i].token) ? NULL : find_running(ag, &mates[i].token);

        if (a != NULL)
            take_over(ag, a, hello->started_at);
    }
    take_slots(ag, b);
    flow_each_member(ag, b, resolve_unnamed);
}

static void on_adopted(void *context, struct runner *r, const struct note_hello *hello)
{
    struct agent *ag = context;
    struct batch *b;

    if (!token_is_zero(&hello->token)) {
        b = find_process(ag, &hello->token);
        if (b == NULL)
            adopt_single(ag, r, hello);
        else
            adopt_batch(ag, r, b, hello);
    }
    go_on(ag);
}

static void start_member(struct agent *ag, struct attempt *a, int64_t at)
{
    a->started_at = at;
    flow_watch_soon(ag, a);
    outbox_hint(&ag->outbox, a, EV_RUN, at);
}

static void on_started(void *context, struct runner *r, const struct note_started *note)
{
    struct agent *ag = context;
    struct batch *b = runner_batch(r);
    struct ring *at, *after;

    if (b == NULL || !token_equal(&b->token, &note->token))
        return;
    for (RING_EACH(&b->members, at, after))
        start_member(ag, RING_ITEM(at, struct attempt, mate), note->at);
    flow_start_succeeded(ag);
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

/* Its members have ended before it; what became of one that has not, the folders tell. */
static void end_process(struct agent *ag, struct batch *b)
{
    struct token token = b->token;

    flow_each_member(ag, b, resolve_other);
    flow_add_leftover(ag, &token);
    flow_discard_leftovers(ag);
    flow_fill(ag);
}

static void on_ended(void *context, struct runner *r, const struct token *token)
{
    struct agent *ag = context;
    struct attempt *a = attempts_find(&ag->attempts, token);
    struct batch *b = attempts_find_batch(&ag->attempts, token);

    (void)r;
    if (b != NULL)
        end_process(ag, b);
    if (a == NULL || a->phase != PHASE_GIVEN)
        return;
    if (a->started_at == 0)
        look_why(ag, a);
    flow_ended(ag, a);
}

static void on_lost(void *context, struct batch *b)
{
    struct agent *ag = context;
    const struct attempt *first = b == NULL ? NULL : batch_first(b);

    if (b != NULL && (ag->is_adopted || first == NULL)) {
        slots_release(ag->slots, &b->slot);
        adopt_resolve(ag, b);
        if (first != NULL && first->phase == PHASE_QUEUED)
            flow_start_failed(ag, "its runner ended before it began");
    }
    go_on(ag);
    flow_fill(ag);
}

const struct runner_events adopt_runner_events = { on_adopted, on_started, on_ended, on_lost };
