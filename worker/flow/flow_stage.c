/* SPDX-License-Identifier: MIT */
/* flow_stage.c - has data and checkpoints brought, and looks whether a job was published already */

#include "worker/flow/flow_stage.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/proto/layout.h"
#include "worker/base/scratch.h"
#include "worker/flow/disk_room.h"
#include "worker/flow/pilot_end.h"
#include "worker/node/user_inotify.h"

enum {
    RETRY_AT_FIRST_MS = 1000,
    TREE_RETRY_AT_MOST_MS = 30 * 1000,
    PAUSE_AT_FIRST_MS = 1000,
    PAUSE_AT_MOST_MS = 60 * 1000,
    FULL_LOOK_MS = 2 * 1000,
    INOTIFY_BYTES = 64 * 1024,
    /* Least time between two checks of all files of a tree that cannot be watched. */
    LOOK_EVERY_MS = 10 * 1000
};

/* ---- asking ---- */

/* Finds the user's entry for this tree, or makes it.  The pointer is valid until the next call. */
static struct tree *find_tree(struct user *u, const struct digest *tree)
{
    for (size_t i = 0; i < u->n_trees; i++)
        if (digest_equal(&u->trees[i].set.tree, tree))
            return &u->trees[i];
    mem_grow((void **)&u->trees, &u->trees_capacity, u->n_trees, sizeof *u->trees);
    u->trees[u->n_trees] = (struct tree){ .set.tree = *tree };
    return &u->trees[u->n_trees++];
}

/* Returns the recipe of an environment, from any attempt that needs it; no tool: none does. */
static struct env_recipe recipe_of(const struct user *u, const struct tree *t, struct arena *a)
{
    const struct env_recipe none = { .tool = NULL };
    const struct attempt *needs = user_next(u, NULL);

    while (needs != NULL && !digest_equal(&needs->order.built, &t->set.tree))
        needs = user_next(u, needs);
    return needs == NULL ? none : env_recipe_of(&needs->order.work.work, a);
}

static void ask_for_tree(struct user *u, struct tree *t)
{
    struct order_stage order = { .set = t->set,
                                 .project = t->project,
                                 .share = t->share,
                                 .drive = u->agent->drive,
                                 .settings = u->agent->conf.settings,
                                 .is_doubted = t->is_doubted };
    struct arena *a;

    t->state = TREE_ASKED;
    if (u->stager.chan == NULL) {
        service_need(&u->stager); /* all orders are sent when it is up */
        return;
    }
    t->is_doubted = false;
    t->is_held = true;
    order.settings.promised_bytes = disk_room_promised(u);
    a = arena_create();
    order.recipe = recipe_of(u, t, a);
    t->order_seq = service_send(&u->stager, ORDER_STAGE, &order);
    arena_destroy(a);
}

/* Asks for each tree once, however many attempts wait for it, from the packs that a names: those it
 * was brought from before may be gone. */
static void ask_for_trees(struct attempt *a)
{
    struct dataset set;

    for (size_t i = 0; order_tree(&a->order, i, &set); i++) {
        struct tree *t = find_tree(a->user, &set.tree);

        a->is_staged |= t->state != TREE_THERE;
        if (t->state != TREE_UNKNOWN)
            continue;
        free(t->project);
        free(t->share);
        t->set = set;
        t->project = mem_strdup(a->order.work.project);
        t->share = mem_strdup(a->order.share);
        ask_for_tree(a->user, t);
    }
}

static void order_look(const struct attempt *a)
{
    const struct assignment *is = &a->order.assignment;
    struct order_look order = { .token = a->token, .share = a->order.share };
    struct buf path = { 0 };

    layout_run(&path, a->order.work.project, is->param_name, is->job_name);
    order.run_path = buf_text(&path);
    service_send(&a->user->stager, ORDER_LOOK, &order);
    buf_free(&path);
}

static void order_restore(struct attempt *a)
{
    const struct assignment *is = &a->order.assignment;
    struct order_restore order = { .token = a->token,
                                   .share = a->order.share,
                                   .project = a->order.work.project,
                                   .param_name = is->param_name,
                                   .job_name = is->job_name,
                                   .attempt = is->attempt,
                                   .from = is->from };

    a->restore_due_at = 0;
    a->is_staged = true;
    service_send(&a->user->stager, ORDER_RESTORE, &order);
}

void flow_stage_admit(struct agent *ag, struct attempt *a)
{
    const struct batch *b = a->batch;
    bool was_staged = a->is_staged;

    user_lookup(a->user);
    pilot_end_admitted(ag, a);
    if (pilot_end_refuses(ag, a)) {
        flow_post(ag, a, EVENT_RECALL, ag->pilot_end->reason);
    } else if (a->user->state == USER_REFUSED) {
        flow_post(ag, a, EVENT_RECALL, a->user->why);
    } else if (!slots_could_fit(ag->slots, &b->slot.need)) {
        flow_post(ag, a, EVENT_RECALL, "it needs more than this node can offer");
    } else if (b->phase != PROCESS_NONE || b->slot.is_running || b->runner != NULL) {
        flow_post(ag, a, EVENT_RECALL, "its process has started without it");
    } else {
        /* A first attempt needs no look at the share, unless an earlier agent may have run it. */
        if (a->order.assignment.attempt <= 1 && ag->is_adopted)
            a->is_looked_at = true;
        if (!a->is_looked_at)
            order_look(a);
        a->is_restored = !order_goes_on(&a->order);
        if (!a->is_restored)
            order_restore(a);
        ask_for_trees(a);
        if (a->is_staged && !was_staged)
            outbox_hint(&ag->outbox, a, EV_STAGE, units_now_ms());
        flow_stage_check(ag, b);
    }
}

/* Whether the batch can wait for a slot.  Its members, jobs of one sweep, need the same trees. */
static bool is_ready(const struct batch *b)
{
    struct dataset set;

    for (RING_EACH(const struct attempt, a, &b->members, mate)) {
        if ((a->phase != PHASE_STAGING && a->phase != PHASE_QUEUED) || !a->is_looked_at ||
            !a->is_restored)
            return false;
    }
    for (size_t i = 0; order_tree(&batch_first(b)->order, i, &set); i++)
        if (find_tree(b->user, &set.tree)->state != TREE_THERE)
            return false;
    return b->user->state == USER_KNOWN;
}

void flow_stage_check(struct agent *ag, const struct batch *b)
{
    bool ready = is_ready(b);

    for (RING_EACH(const struct attempt, a, &b->members, mate)) {
        if (ready && a->phase == PHASE_STAGING)
            flow_post(ag, a, EVENT_READY, NULL);
        else if (!ready && a->phase == PHASE_QUEUED)
            flow_post(ag, a, EVENT_UNREADY, NULL);
    }
}

void flow_stage_check_soon(struct user *u)
{
    u->is_check_due = true;
}

bool flow_stage_check_due(struct agent *ag)
{
    bool was_due = false;

    for (RING_EACH(struct user, u, &ag->users, ring)) {
        if (!u->is_check_due)
            continue;
        u->is_check_due = false;
        was_due = true;
        for (struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
            if ((a->phase == PHASE_STAGING || a->phase == PHASE_QUEUED) &&
                a == batch_first(a->batch))
                flow_stage_check(ag, a->batch);
    }
    return was_due;
}

/* ---- data that may have been changed ---- */

static void doubt_tree(struct user *u, struct tree *t)
{
    t->is_doubted = true;
    if (t->state == TREE_THERE)
        ask_for_tree(u, t);
}

void flow_stage_doubt(const struct attempt *a)
{
    struct dataset set;

    for (size_t i = 0; order_tree(&a->order, i, &set); i++)
        doubt_tree(a->user, find_tree(a->user, &set.tree));
    flow_stage_check_soon(a->user);
}

void flow_stage_look(struct user *u)
{
    alignas(struct inotify_event) char events[INOTIFY_BYTES];
    const struct inotify_event *event;
    bool has_changed = false;
    ssize_t n;

    if (u->guard_fd < 0)
        return;
    do {
        n = read(u->guard_fd, events, sizeof events);
        for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof *event + event->len)) {
            event = (const struct inotify_event *)(const void *)(events + at);
            has_changed |=
                (event->mask & IN_IGNORED) == 0; /* IN_IGNORED says only that a watch is over */
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (!has_changed)
        return;
    for (size_t i = 0; i < u->n_trees; i++)
        doubt_tree(u, &u->trees[i]);
    flow_stage_check_soon(u);
}

static void on_guard(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    flow_stage_look(poll->data);
}

/* If the user has too many inotify descriptors already, files are checked instead. */
void flow_stage_init_guard(struct user *u, uid_t uid)
{
    int rc;

    u->guard_fd = user_inotify_open(uid);
    if (u->guard_fd < 0)
        return;
    rc = uv_poll_init(&u->agent->loop, &u->guard, u->guard_fd);
    u->guard.data = u;
    if (rc == 0)
        rc = uv_poll_start(&u->guard, UV_READABLE, on_guard);
    if (rc < 0)
        log_event(LOG_WARN, "data-not-watched", "why", "%s", uv_strerror(rc), NULL);
}

/* A tree that could not be brought is released, too, so that what there is of it may be removed. */
void flow_stage_leave(const struct attempt *a)
{
    struct user *u = a->user;
    uint64_t now = uv_now(&u->agent->loop);
    struct dataset set;

    flow_stage_look(u);
    for (size_t i = 0; order_tree(&a->order, i, &set); i++) {
        struct tree *t = find_tree(u, &set.tree);
        bool is_leased = false; /* an attempt waits for the tree, or runs with it */

        for (struct attempt *o = user_next(u, NULL); o != NULL && !is_leased; o = user_next(u, o))
            is_leased = o->batch != NULL && order_needs_tree(&o->order, &set.tree);
        if (!is_leased) {
            const struct order_release order = { t->set.tree, t->state != TREE_THERE ||
                                                                  t->is_doubted || !t->is_guarded };

            t->state = TREE_UNKNOWN;
            if (t->is_held && u->stager.chan != NULL)
                service_send(&u->stager, ORDER_RELEASE, &order);
            t->is_held = false;
        } else if (t->state == TREE_THERE && !t->is_guarded &&
                   now - t->looked_at >= LOOK_EVERY_MS) {
            t->looked_at = now;
            doubt_tree(u, t);
            flow_stage_check_soon(u);
        }
    }
}

/* ---- data of jobs that may come next ---- */

static void forget_expected(struct user *u)
{
    free(u->expected.project);
    free(u->expected.sets);
    u->expected = (struct expected){ .n = 0 };
}

static void order_expected(struct user *u)
{
    const struct expected *x = &u->expected;
    const struct agent *ag = u->agent;
    const struct order_expect m = {
        { x->sets, x->n }, x->project, ag->share, ag->drive, ag->conf.settings
    };

    if (u->stager.chan == NULL)
        service_need(&u->stager); /* the order is sent when it is up */
    else
        u->expected.seq = service_send(&u->stager, ORDER_EXPECT, &m);
}

void flow_stage_expect_none(struct user *u)
{
    const struct order_expect none = { .project = "", .share = "", .drive = "" };

    if (u->expected.n > 0 && u->stager.chan != NULL)
        service_send(&u->stager, ORDER_EXPECT, &none);
    forget_expected(u);
}

void flow_stage_expect(struct agent *ag, const struct msg_expect *m)
{
    struct user *u = user_of(ag, m->user);

    for (RING_EACH(struct user, other, &ag->users, ring))
        if (other != u)
            flow_stage_expect_none(other);
    user_lookup(u);
    if (u->state == USER_REFUSED || m->sets.n == 0)
        return;
    forget_expected(u);
    u->expected = (struct expected){ .project = mem_strdup(m->project),
                                     .sets = mem_alloc(m->sets.n * sizeof(struct dataset)),
                                     .n = m->sets.n };
    memcpy(u->expected.sets, m->sets.items, m->sets.n * sizeof(struct dataset));
    order_expected(u);
}

/* ---- answers ---- */

/* The packs will never do: attempts that named them are lost.  If another attempt that needs the
 * tree named others, these are tried. */
static void lose_all(struct user *u, struct tree *t, const char *why)
{
    struct attempt *a, *other = NULL;
    struct dataset set;

    for (a = user_next(u, NULL); a != NULL; a = user_next(u, a)) {
        bool needs_packs = false;

        if (a->phase != PHASE_STAGING || !order_needs_tree(&a->order, &t->set.tree))
            continue;
        for (size_t i = 0; order_tree(&a->order, i, &set); i++)
            needs_packs |=
                digest_equal(&t->set.tree, &set.tree) && digest_equal(&t->set.id, &set.id);
        if (needs_packs && strcmp(t->project, a->order.work.project) == 0 &&
            strcmp(t->share, a->order.share) == 0)
            flow_post(u->agent, a, EVENT_LOSE, why);
        else if (other == NULL)
            other = a;
    }
    if (other == NULL)
        return;
    t->state = TREE_UNKNOWN;
    ask_for_trees(other);
}

/* Returns the tree in state LATER that is due first; NULL if there is none. */
static struct tree *next_due(struct user *u)
{
    struct tree *first = NULL;

    for (size_t i = 0; i < u->n_trees; i++)
        if (u->trees[i].state == TREE_LATER &&
            (first == NULL || u->trees[i].due_at < first->due_at))
            first = &u->trees[i];
    return first;
}

static void on_due(uv_timer_t *timer);

/* Sets the timer for the first tree or checkpoint that is to be asked for again. */
static void wait_for_due(struct user *u)
{
    const struct tree *t = next_due(u);
    uint64_t first = t == NULL ? UINT64_MAX : t->due_at;
    uint64_t now = uv_now(&u->agent->loop);
    const struct attempt *a;

    for (a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        if (a->restore_due_at > 0 && a->restore_due_at < first)
            first = a->restore_due_at;
    if (first != UINT64_MAX)
        uv_timer_start(&u->staging_timer, on_due, first > now ? first - now : 0, 0);
}

static void on_due(uv_timer_t *timer)
{
    struct user *u = timer->data;
    uint64_t now = uv_now(timer->loop);
    struct attempt *a;
    struct tree *t;

    while ((t = next_due(u)) != NULL && t->due_at <= now) {
        t->state = TREE_UNKNOWN;
        for (a = user_next(u, NULL); a != NULL && t->state == TREE_UNKNOWN; a = user_next(u, a))
            if (a->phase == PHASE_STAGING && order_needs_tree(&a->order, &t->set.tree))
                ask_for_tree(u, t);
    }
    for (a = user_next(u, NULL); a != NULL; a = user_next(u, a)) {
        if (a->restore_due_at == 0 || a->restore_due_at > now)
            continue;
        a->restore_due_at = 0;
        if (a->phase == PHASE_STAGING)
            order_restore(a);
    }
    wait_for_due(u);
}

/* Takes the answer about a tree, unless it was not asked for, or the answer is to an older order:
 * then the tree was released and asked for again since. */
static void take_staged(struct user *u, const struct note_staged *note, int64_t re)
{
    struct tree *t = find_tree(u, &note->tree);
    const struct attempt *a;

    if (t->state != TREE_ASKED || t->order_seq != re)
        return;
    if (note->error == NULL && t->is_doubted) {
        ask_for_tree(u, t); /* again: doubts arose after the order */
        return;
    }
    if (note->error == NULL) {
        t->state = TREE_THERE;
        t->is_guarded = note->is_guarded;
        t->looked_at = uv_now(&u->agent->loop);
        t->delay_ms = 0;
        flow_stage_check_soon(u);
        return;
    }
    log_event(LOG_WARN, "stage", "project", "%s", t->project, "why", "%s", note->error, NULL);
    t->delay_ms = t->delay_ms == 0 ? RETRY_AT_FIRST_MS : t->delay_ms * 2;
    if (t->delay_ms > TREE_RETRY_AT_MOST_MS)
        t->delay_ms = TREE_RETRY_AT_MOST_MS;
    t->due_at = uv_now(&u->agent->loop) + t->delay_ms;
    t->state = TREE_LATER;
    if (!note->retry)
        lose_all(u, t, note->error);
    else if (t->delay_ms > FLOW_PATIENCE_MS && t->delay_ms / 2 <= FLOW_PATIENCE_MS)
        for (a = user_next(u, NULL); a != NULL; a = user_next(u, a))
            if (a->phase == PHASE_STAGING && order_needs_tree(&a->order, &t->set.tree))
                flow_post(u->agent, a, EVENT_RECALL, note->error);
    wait_for_due(u);
}

/* Takes the answer about a checkpoint.  If the share failed, the stager is asked again after twice
 * the delay, beyond FLOW_PATIENCE_MS the attempt goes back; if the checkpoint will never be there,
 * the attempt is lost.  If the attempt is gone by now, its checkpoint is removed from scratch. */
static void take_restored(struct user *u, const struct note_restored *note)
{
    struct agent *ag = u->agent;
    struct attempt *a = attempts_find(&ag->attempts, &note->token);

    if (a == NULL) {
        user_add_leftover(u, &note->token);
        user_discard_leftovers(u);
    }
    if (a == NULL || a->user != u || a->phase != PHASE_STAGING || a->is_restored)
        return;
    if (note->error == NULL) {
        a->is_restored = true;
        flow_stage_check(ag, a->batch);
        return;
    }
    log_event(LOG_WARN, "restore", "project", "%s", a->order.work.project, "why", "%s", note->error,
              NULL);
    if (!note->retry) {
        flow_post(ag, a, EVENT_LOSE, note->error);
        return;
    }
    a->restore_delay_ms = a->restore_delay_ms == 0 ? RETRY_AT_FIRST_MS : 2 * a->restore_delay_ms;
    a->restore_due_at = uv_now(&ag->loop) + a->restore_delay_ms;
    if (a->restore_delay_ms > FLOW_PATIENCE_MS)
        flow_post(ag, a, EVENT_RECALL, note->error);
    wait_for_due(u);
}

static void take_found(struct user *u, const struct note_found *note)
{
    struct attempt *a = user_attempt(u, &note->token);

    if (a == NULL || a->phase != PHASE_STAGING || a->is_looked_at)
        return;
    a->is_looked_at = true;
    if (note->found)
        flow_post(u->agent, a, EVENT_FOUND, NULL)->winner = note->winner;
    else
        flow_stage_check(u->agent, a->batch);
}

/* Sends a new stager all its work, and which trees are in use. */
static void on_up(struct user *u)
{
    struct attempt *a;

    cache_news_free(&u->cached);
    cache_news_begin(&u->cached);
    for (size_t i = 0; i < u->n_trees; i++) {
        struct tree *t = &u->trees[i];

        t->is_held = false;
        if (t->state == TREE_ASKED || t->state == TREE_THERE)
            ask_for_tree(u, t);
    }
    for (a = user_next(u, NULL); a != NULL; a = user_next(u, a)) {
        if (a->phase == PHASE_STAGING && !a->is_looked_at)
            order_look(a);
        if (a->phase == PHASE_STAGING && !a->is_restored)
            order_restore(a);
    }
    if (u->expected.n > 0)
        order_expected(u);
}

static bool take_note(struct user *u, int type, const void *body, int64_t re)
{
    switch (type) {
    case NOTE_STAGED: take_staged(u, body, re); return true;
    case NOTE_CACHED: cache_news_take(&u->cached, body); return true;
    case NOTE_EXPECTED:
        if (u->expected.seq == re)
            forget_expected(u);
        return true;
    case NOTE_RESTORED: take_restored(u, body); return true;
    case NOTE_FOUND: take_found(u, body); return true;
    default: return false;
    }
}

const struct service_events flow_stage_events = { on_up, take_note };

/* ---- news of the cache for ludwigd ---- */

/* ludwigd chooses workers by the trees they hold, so a stager is started if only to list them. */
void flow_stage_tell_cached(struct user *u)
{
    cache_news_begin(&u->cached);
    if (u->state == USER_KNOWN && u->stager.chan == NULL && u->cached.n == 0)
        service_need(&u->stager);
}

void flow_stage_send_news(struct agent *ag)
{
    struct msg_holds m;

    if (!ag->is_registered)
        return;
    for (RING_EACH(struct user, u, &ag->users, ring)) {
        while (cache_news_next(&u->cached, &m)) {
            m.user = u->name;
            server_link_send(ag->link, MSG_HOLDS, 0, &m);
        }
    }
}

/* ---- pauses after failures to start ---- */

static bool is_pausing(const struct user *u)
{
    return uv_is_active((const uv_handle_t *)&u->pause_timer);
}

bool flow_stage_may_try(const struct user *u)
{
    if (u->pause_ms == 0)
        return true;
    for (const struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        if (attempt_may_run(a) && a->started_at == 0) /* also one whose start may have failed */
            return false;
    return !is_pausing(u);
}

bool flow_stage_is_long_paused(const struct user *u)
{
    return is_pausing(u) && u->pause_ms > FLOW_PATIENCE_MS;
}

static void on_pause_over(uv_timer_t *timer);

/* Failures during a pause count with the one that began it: those attempts were given before. */
void flow_stage_start_failed(struct user *u, const char *why)
{
    if (is_pausing(u))
        return;
    if (u->pause_ms == 0) {
        char *hint = mem_printf("look whether %s and %s are full, or the limit of processes is "
                                "reached; few jobs are tried here until one starts",
                                u->owner.scratch, u->agent->folders.runtime);

        log_event(LOG_WARN, "cannot-start", "why", "%s", why, "hint", "%s", hint, NULL);
        free(hint);
    }
    free(u->pause_why);
    u->pause_why = mem_strdup(why);
    u->pause_ms = u->pause_ms == 0                     ? PAUSE_AT_FIRST_MS
                  : 2 * u->pause_ms < PAUSE_AT_MOST_MS ? 2 * u->pause_ms
                                                       : PAUSE_AT_MOST_MS;
    uv_timer_start(&u->pause_timer, on_pause_over, u->pause_ms, 0);
    if (!flow_stage_is_long_paused(u))
        return;
    for (const struct attempt *a = user_next(u, NULL); a != NULL; a = user_next(u, a))
        flow_post(u->agent, a, EVENT_RECALL, why);
    u->agent->is_register_due = true;
}

/* Before attempts are tried again: whether scratch is full can be seen without one that fails. */
static void on_pause_over(uv_timer_t *timer)
{
    struct user *u = timer->data;
    bool is_long = u->pause_ms > FLOW_PATIENCE_MS;
    struct err full = { 0 };

    if (u->owner.scratch == NULL || scratch_check_room(u->owner.scratch, &full) == 0)
        u->agent->is_register_due |= is_long;
    else if (is_long)
        uv_timer_start(timer, on_pause_over, FULL_LOOK_MS, 0);
    else
        flow_stage_start_failed(u, full.text);
}

void flow_stage_start_succeeded(struct user *u)
{
    if (u->pause_ms == 0)
        return;
    log_event(LOG_INFO, "can-start-again", NULL);
    u->agent->is_register_due |= flow_stage_is_long_paused(u);
    uv_timer_stop(&u->pause_timer);
    u->pause_ms = 0;
}
