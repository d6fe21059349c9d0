/* SPDX-License-Identifier: MIT */
/* runners.c - what runners are told, what they say, and which are idle */

#include "worker/agent/runners_life.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

/* ---- idle ones leave ---- */

static void on_idle_timer(uv_timer_t *timer);

static void watch_idle(struct runners *rs)
{
    const struct runner *oldest;
    uint64_t now = uv_now(rs->loop), age;

    if (ring_is_empty(&rs->idle) || uv_is_active((uv_handle_t *)&rs->idle_timer))
        return;
    oldest = RING_ITEM(rs->idle.prev, struct runner, idle);
    age = now - oldest->idle_since;
    uv_timer_start(&rs->idle_timer, on_idle_timer, age < RUNNER_IDLE_MS ? RUNNER_IDLE_MS - age : 0,
                   0);
}

/* It leaves when its connection ends; its lock says when it is gone. */
static void let_go(struct runner *r)
{
    ring_remove(&r->idle);
    chan_destroy(r->chan);
    r->chan = NULL;
    r->is_leaving = true;
    runner_look_for(r);
}

static void on_idle_timer(uv_timer_t *timer)
{
    struct runners *rs = timer->data;
    struct ring *at, *after;

    for (RING_EACH(&rs->idle, at, after)) {
        struct runner *r = RING_ITEM(at, struct runner, idle);

        if (uv_now(rs->loop) - r->idle_since >= RUNNER_IDLE_MS)
            let_go(r);
    }
    watch_idle(rs);
}

static void set_idle(struct runner *r)
{
    r->batch = NULL;
    r->process = (struct token){ { 0 } };
    r->idle_since = uv_now(r->all->loop);
    ring_insert(&r->all->idle, &r->idle);
    watch_idle(r->all);
}

/* ---- what they say ---- */

static void break_off(struct runner *r, const struct err *why)
{
    log_event(LOG_ERROR, "runner-refused", "runner", "%s", r->name, "why", "%s", why->text, NULL);
    chan_destroy(r->chan);
    r->chan = NULL;
    ring_remove(&r->idle);
    runner_look_for(r);
}

/* It is idle: what it had ended while nobody was connected. */
static void miss_batch(struct runner *r)
{
    struct batch *b = r->batch;

    set_idle(r);
    if (b != NULL) {
        b->runner = NULL;
        r->all->events.lost(r->all->context, b);
    }
}

/* A new runner's first hello says nothing; one that was looked for tells what it runs. */
static void take_hello(struct runner *r, const struct note_hello *hello)
{
    if (!r->is_unknown)
        return;
    r->is_unknown = false;
    r->all->n_unknown--;
    r->process = hello->token;
    if (token_is_zero(&hello->token))
        miss_batch(r);
    r->all->events.adopted(r->all->context, r, hello);
}

/* One of a batch leaves it busy with the others. */
static void take_ended(struct runner *r, const struct note_ended *note)
{
    if (token_equal(&r->process, &note->token)) {
        if (r->batch != NULL)
            r->batch->runner = NULL;
        set_idle(r);
    }
    r->all->events.ended(r->all->context, r, &note->token, note->trouble);
}

static int take_note(struct runner *r, const struct envelope *m, struct arena *a, struct err *e)
{
    union {
        struct note_hello hello;
        struct note_started started;
        struct note_ended ended;
    } note;

    if (m->type != NOTE_HELLO && m->type != NOTE_STARTED && m->type != NOTE_ENDED)
        return err_set(e, ERR_PROTOCOL, "unexpected %s", orders.messages[m->type].name);
    if (message_body(&orders, m, a, &note, e) < 0)
        return -1;
    if (m->type == NOTE_HELLO)
        take_hello(r, &note.hello);
    else if (m->type == NOTE_STARTED)
        r->all->events.started(r->all->context, r, &note.started);
    else
        take_ended(r, &note.ended);
    return 0;
}

static void on_readable(void *context, struct chan *c)
{
    struct runner *r = context;
    struct arena *a = r->all->arena;
    struct err e = { 0 };
    struct envelope m;
    int rc;

    while (r->chan == c && (rc = chan_next(c, a, &m, &e)) != 0) {
        if (rc == 1)
            rc = take_note(r, &m, a, &e);
        arena_reset(a);
        if (rc < 0) {
            break_off(r, &e);
            return;
        }
    }
}

static void on_closed(void *context, struct chan *c, const struct err *why)
{
    struct runner *r = context;

    (void)why;
    chan_destroy(c);
    r->chan = NULL;
    ring_remove(&r->idle);
    runner_look_for(r);
}

const struct chan_events runner_chan_events = { on_readable, NULL, on_closed };

void runners_reaped(struct runners *rs, pid_t pid)
{
    struct ring *at, *after;

    for (RING_EACH(&rs->all, at, after)) {
        struct runner *r = RING_ITEM(at, struct runner, ring);

        if (r->pid != pid)
            continue;
        r->pid = 0;
        if (r->chan == NULL)
            runner_look_for(r);
        return;
    }
}

/* ---- orders ---- */

static struct runner *take_idle(struct runners *rs, const struct owner *owner)
{
    struct ring *at, *after;

    for (RING_EACH(&rs->idle, at, after)) {
        struct runner *r = RING_ITEM(at, struct runner, idle);

        if (!owner_is(owner, r->user))
            continue;
        ring_remove(&r->idle);
        return r;
    }
    return NULL;
}

const char *runner_user(const struct runner *r)
{
    return r->user;
}

struct batch *runner_batch(const struct runner *r)
{
    return r->batch;
}

void runner_assign(struct runner *r, struct batch *b)
{
    r->batch = b;
    r->process = b->token;
    b->runner = r;
}

/* Its first member's order, and what the others have of their own. */
static int64_t send_run(struct runner *r, const struct batch *b, struct err *e)
{
    struct order_run run = { batch_first(b)->order, { NULL, 0 } };
    struct assignment *mates = NULL;
    size_t capacity = 0;
    struct ring *at, *after;
    int64_t seq;

    for (RING_EACH(&b->members, at, after)) {
        if (at == b->members.next)
            continue;
        mem_grow((void **)&mates, &capacity, run.mates.n, sizeof *mates);
        mates[run.mates.n++] = RING_ITEM(at, struct attempt, mate)->order.assignment;
    }
    run.mates.items = mates;
    seq = chan_send(r->chan, ORDER_RUN, 0, NULL, &run, e);
    free(mates);
    return seq;
}

int runners_run(struct runners *rs, struct batch *b, const struct owner *owner, struct err *e)
{
    struct runner *r = take_idle(rs, owner);

    if (r == NULL)
        r = runner_start(rs, owner, e);
    if (r == NULL)
        return -1;
    if (send_run(r, b, e) < 0) {
        chan_destroy(r->chan);
        r->chan = NULL;
        runner_look_for(r);
        return -1;
    }
    runner_assign(r, b);
    return 0;
}

void runner_stop(struct runner *r, const struct token *token)
{
    struct order_stop stop = { .token = *token, .grace_ms = RUNNER_GRACE_MS };

    if (r->chan != NULL)
        chan_send(r->chan, ORDER_STOP, 0, NULL, &stop, NULL);
}

void runner_preempt(struct runner *r, enum cause cause, const char *reason, int64_t budget_ms)
{
    struct order_preempt order = { r->process, (int)cause, reason, budget_ms };

    if (r->chan != NULL)
        chan_send(r->chan, ORDER_PREEMPT, 0, NULL, &order, NULL);
}

/* ---- all of them ---- */

void runners_init(struct runners *rs, uv_loop_t *loop, int dir_fd,
                  const struct runner_events *events, void *context)
{
    *rs = (struct runners){ .loop = loop,
                            .events = *events,
                            .context = context,
                            .dir_fd = dir_fd,
                            .arena = arena_create() };
    ring_init(&rs->all);
    ring_init(&rs->idle);
    uv_timer_init(loop, &rs->idle_timer);
    rs->idle_timer.data = rs;
}

void runners_close(struct runners *rs)
{
    struct ring *at, *after;

    if (rs->loop == NULL)
        return;
    for (RING_EACH(&rs->all, at, after))
        runner_forget(RING_ITEM(at, struct runner, ring));
    uv_close((uv_handle_t *)&rs->idle_timer, NULL);
    arena_destroy(rs->arena);
    rs->loop = NULL;
}
