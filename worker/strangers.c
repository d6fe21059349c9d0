/* SPDX-License-Identifier: MIT */
/* strangers.c - what agents left that worked for a ludwigd that is gone: its results are published */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "worker/flow.h"
#include "worker/reap.h"

/* While one of their jobs runs, or a result of theirs is not published yet. */
enum { LOOK_AGAIN_MS = 10 * 1000 };

/* A running attempt that counts against our slots. */
struct stranger {
    struct ring ring;
    struct token token;
    struct slot_item slot;
    bool is_seen;
};

static void forget(struct agent *ag, struct stranger *s)
{
    slots_release(ag->slots, &s->slot);
    ring_remove(&s->ring);
    free(s);
}

void strangers_free(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->strangers, at, after))
        forget(ag, RING_ITEM(at, struct stranger, ring));
}

/* ---- one of them ---- */

static struct stranger *find(const struct agent *ag, const struct token *token)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->strangers, at, after)) {
        struct stranger *s = RING_ITEM(at, struct stranger, ring);

        if (token_equal(&s->token, token))
            return s;
    }
    return NULL;
}

/* The jobs of a batch run in its process. */
static void count(struct agent *ag, const struct order *order)
{
    const struct resources *needs = &order->work.work.resources;
    struct stranger *s = find(ag, &order->assignment.token);

    if (order_is_mate(order))
        return;
    if (s == NULL) {
        s = mem_alloc(sizeof *s);
        s->token = order->assignment.token;
        slot_item_init(&s->slot);
        s->slot.need =
            (struct slot_need){ needs->cpus_milli, needs->gpus_milli, needs->memory_bytes };
        adopt_take_slots(ag, &s->slot, order);
        ring_add_last(&ag->strangers, &s->ring);
    }
    s->is_seen = true;
}

static void publish(struct agent *ag, const struct token *token)
{
    struct order_publish order = { *token };

    service_send(&ag->publisher, ORDER_PUBLISH, &order);
}

static void discard(struct agent *ag, const struct token *token)
{
    struct order_discard order = { *token };

    service_send(&ag->publisher, ORDER_DISCARD, &order);
}

static void look_at_run(struct agent *ag, const struct order *order, const char *hex)
{
    const struct token *token = &order->assignment.token;

    if (home_has_runner(ag, order->server_id)) {
        count(ag, order);
    } else if (adopt_move_to_ended(ag, hex)) {
        publish(ag, token);
    } else {
        reap_kill(token);
        discard(ag, token);
    }
}

static void look_at(struct agent *ag, int dir_fd, const struct order *order, const char *hex)
{
    if (dir_fd == ag->scratch.run_fd)
        look_at_run(ag, order, hex);
    else if (dir_fd == ag->scratch.ended_fd)
        publish(ag, &order->assignment.token);
    else
        discard(ag, &order->assignment.token);
}

/* ---- all of them ---- */

/* Whether it is a stranger's. */
static bool look_at_folder(struct agent *ag, int dir_fd, const char *hex)
{
    struct arena *a = arena_create();
    struct order order;
    struct token token;
    bool is_one = token_parse(hex, &token) == 0 && attempts_find(&ag->attempts, &token) == NULL &&
                  adopt_read_order(dir_fd, hex, a, &order) == 0 &&
                  home_is_abandoned(ag, order.server_id);

    if (is_one)
        look_at(ag, dir_fd, &order, hex);
    arena_destroy(a);
    return is_one;
}

static size_t look_in(struct agent *ag, int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    size_t n = 0;

    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    while ((entry = readdir(d)) != NULL)
        n += look_at_folder(ag, dir_fd, entry->d_name);
    closedir(d);
    return n;
}

static void forget_unseen(struct agent *ag)
{
    struct ring *at, *after;

    for (RING_EACH(&ag->strangers, at, after)) {
        struct stranger *s = RING_ITEM(at, struct stranger, ring);

        if (!s->is_seen)
            forget(ag, s);
        else
            s->is_seen = false;
    }
}

static void on_timer(uv_timer_t *timer)
{
    strangers_look(timer->data);
    flow_fill(timer->data);
}

/* From the last folder to the first, so that none is given two orders at once. */
void strangers_look(struct agent *ag)
{
    const int fds[] = { ag->scratch.published_fd, ag->scratch.ended_fd, ag->scratch.run_fd };
    size_t n = 0;

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        n += look_in(ag, fds[i]);
    forget_unseen(ag);
    if (n > 0)
        uv_timer_start(&ag->strangers_timer, on_timer, LOOK_AGAIN_MS, 0);
}
