/* SPDX-License-Identifier: MIT */
/* flow_data_watch.c - whether the data of jobs are what they were, without looking at them */

/*
 * The stager watches the folders of trees that jobs use with an inotify descriptor of ours, and we
 * read it before anything is started: whatever was changed until then shows, and what does not show
 * was not changed.  Nothing on the disk is touched for that.
 */
#include "worker/flow/flow.h"

#include <errno.h>
#include <stdalign.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/base/units.h"

enum {
    EVENTS_BYTES = 64 * 1024,
    /* A tree that cannot be watched is looked through not more often than this. */
    LOOK_EVERY_MS = 10 * 1000
};

/* ---- doubt ---- */

/* Their data may be missing again. */
static void requeue(struct user *u)
{
    struct agent *ag = u->agent;
    struct ring *at, *after;

    for (RING_EACH(&ag->attempts.all, at, after)) {
        struct attempt *a = RING_ITEM(at, struct attempt, ring);

        if (a->user == u && a->phase == PHASE_QUEUED && a == batch_first(a->batch))
            flow_enqueue(ag, a->batch);
    }
}

static void doubt_tree(struct user *u, struct tree *t)
{
    t->is_doubted = true;
    if (t->state == TREE_THERE)
        flow_order_tree(u, t);
}

void flow_doubt(struct user *u)
{
    for (size_t i = 0; i < u->staging.n; i++)
        doubt_tree(u, &u->staging.trees[i]);
    requeue(u);
}

static void doubt_one(void *context, const struct dataset *set)
{
    struct user *u = context;

    doubt_tree(u, tree_states_find(&u->staging, &set->tree));
}

void flow_doubt_data(const struct attempt *a)
{
    tree_states_each_tree(&a->order.work.work, doubt_one, a->user);
    requeue(a->user);
}

/* ---- the guard ---- */

static bool is_change(const char *events, ssize_t n)
{
    const struct inotify_event *event;

    for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof *event + event->len)) {
        event = (const struct inotify_event *)(const void *)(events + at);
        if ((event->mask & IN_IGNORED) == 0)
            return true;
    }
    return false;
}

static bool has_changed(int guard_fd)
{
    alignas(struct inotify_event) char events[EVENTS_BYTES];
    bool has = false;
    ssize_t n;

    do {
        n = read(guard_fd, events, sizeof events);
        has |= n > 0 && is_change(events, n);
    } while (n > 0 || (n < 0 && errno == EINTR));
    return has;
}

void flow_data_watch(struct user *u)
{
    if (u->guard_fd >= 0 && has_changed(u->guard_fd))
        flow_doubt(u);
}

static void on_guard(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    flow_data_watch(poll->data);
}

/* Where there are too many already, trees are looked through instead. */
void flow_begin_guard(struct user *u)
{
    u->guard_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (u->guard_fd < 0)
        return;
    uv_poll_init(&u->agent->loop, &u->guard, u->guard_fd);
    u->guard.data = u;
    uv_poll_start(&u->guard, UV_READABLE, on_guard);
}

/* ---- leases ---- */

static void doubt_unguarded(struct user *u, struct tree *t)
{
    uint64_t now = uv_now(&u->agent->loop);

    if (t->state != TREE_THERE || t->is_guarded || now - t->looked_at < LOOK_EVERY_MS)
        return;
    t->looked_at = now;
    doubt_tree(u, t);
    requeue(u);
}

/* Also one that could not be brought: what there is of it may go. */
static void release(struct user *u, struct tree *t)
{
    const struct order_release order = { t->set.tree, t->state != TREE_THERE || t->is_doubted ||
                                                          !t->is_guarded };

    t->state = TREE_UNKNOWN;
    if (t->is_held && u->stager.chan != NULL)
        service_send(&u->stager, ORDER_RELEASE, &order);
    t->is_held = false;
}

static void leave_tree(void *context, const struct dataset *set)
{
    struct user *u = context;
    struct tree *t = tree_states_find(&u->staging, &set->tree);

    cache_trees_use(&u->cached, &set->tree, units_now_ms());
    if (flow_is_leased(u, &set->tree))
        doubt_unguarded(u, t);
    else
        release(u, t);
}

void flow_leave_data(const struct attempt *a)
{
    flow_data_watch(a->user);
    tree_states_each_tree(&a->order.work.work, leave_tree, a->user);
}
