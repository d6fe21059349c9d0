/* SPDX-License-Identifier: MIT */
/* lease.c - the leases of all workers, under one timer */

#include "server/queue/lease.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/proto/proto.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/queue/attempts.h"

/* After ludwigd was held up (a suspended machine), it first reads what lies in its sockets. */
enum { LATE_MS = 1000, SETTLE_MS = 10 * 1000 };

struct lease {
    int64_t worker;
    uint64_t ends_ms; /* of the loop's clock */
    uint64_t look_ms; /* the same: when to look at the worker again; ends_ms at the latest */
    bool is_silent;   /* the worker was silent at the last look */
};

struct leases {
    struct server *sv;
    void (*lost_sight)(struct server *sv);
    uv_timer_t timer;
    struct lease *items;
    size_t n, capacity;
};

static void on_timer(uv_timer_t *timer);

static void arm(struct leases *l)
{
    uint64_t now = uv_now(&l->sv->loop);
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].look_ms < first)
            first = l->items[i].look_ms;
    if (l->n == 0)
        uv_timer_stop(&l->timer);
    else
        uv_timer_start(&l->timer, on_timer, first > now ? first - now : 0, 0);
}

static void forget(struct leases *l, int64_t worker)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].worker == worker)
            l->items[i--] = l->items[--l->n];
}

/* When the lease of a connected worker ends unless another message comes. */
static uint64_t ends_after(const struct server *sv, const struct conn *c)
{
    return c->heard_ms + (uint64_t)sv->conf.lease_ms;
}

static uint64_t silent_after(const struct server *sv, const struct conn *c)
{
    return c->heard_ms + (uint64_t)proto_silent_after_ms(sv->conf.lease_ms);
}

bool lease_is_silent(const struct server *sv, const struct conn *c)
{
    return silent_after(sv, c) <= uv_now(&sv->loop);
}

static void add_lease(struct leases *l, int64_t worker, int64_t lease_ms)
{
    int64_t look_ms = proto_silent_after_ms(l->sv->conf.lease_ms);
    uint64_t now = uv_now(&l->sv->loop);

    forget(l, worker);
    mem_grow((void **)&l->items, &l->capacity, l->n, sizeof *l->items);
    l->items[l->n++] =
        (struct lease){ .worker = worker,
                        .ends_ms = now + (uint64_t)lease_ms,
                        .look_ms = now + (uint64_t)(look_ms < lease_ms ? look_ms : lease_ms) };
    arm(l);
}

/* Turn work: the lease ran out, so the worker's attempts are marked lost, unless the worker was
 * heard meanwhile or is registering. */
static int lease_over(struct server *sv, int64_t worker, struct err *e)
{
    struct conn *c = conn_of_worker(sv, worker);
    struct tally tally = { 0 };
    int64_t attempt;
    int n = 0, rc;

    if (c != NULL && ends_after(sv, c) > uv_now(&sv->loop)) {
        lease_begin(sv, worker);
        return 0;
    }
    if (c != NULL) {
        log_event(LOG_WARN, "silent", "worker", "%lld", (long long)worker, "user", "%s", c->user,
                  NULL);
        conn_close(sv, c, "its worker is silent");
    }
    add_lease(sv->leases, worker, SETTLE_MS); /* if this fails, or the worker registers just now */
    for (c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c->registering == worker)
            return 0;
    while ((rc = db_get(sv->db, e, SQL_LIVE_OF_WORKER, "i>i", worker, &attempt)) == 1) {
        if (attempt_find(sv, attempt, EV_LOSE, CAUSE_NONE, "node-lost", &tally, e) < 0)
            return -1;
        n++;
    }
    if (rc < 0 || tally_flush(sv, &tally, e) < 0)
        return -1;
    log_event(LOG_WARN, "lease-over", "worker", "%lld", (long long)worker, "attempts", "%d", n,
              NULL);
    forget(sv->leases, worker);
    sv->leases->lost_sight(sv);
    return 0;
}

/* Looks at one worker; returns whether it has just become silent. */
static bool look_at(struct lease *it, const struct server *sv, const struct conn *c, uint64_t now)
{
    bool was_silent = it->is_silent;
    uint64_t next;

    it->is_silent = c != NULL && lease_is_silent(sv, c);
    if (c != NULL && ends_after(sv, c) > now)
        it->ends_ms = ends_after(sv, c); /* the worker was heard meanwhile */
    if (c == NULL)
        next = it->ends_ms;
    else if (it->is_silent)
        next = now + (uint64_t)proto_alive_every_ms(sv->conf.lease_ms);
    else
        next = silent_after(sv, c);
    it->look_ms = next < it->ends_ms ? next : it->ends_ms;
    return it->is_silent && !was_silent;
}

static void on_timer(uv_timer_t *timer)
{
    struct leases *l = timer->data;
    uint64_t now = uv_now(&l->sv->loop);
    bool is_any_silent = false;

    for (size_t i = 0; i < l->n; i++) {
        struct lease *it = &l->items[i];

        if (it->look_ms > now)
            continue;
        is_any_silent |= look_at(it, l->sv, conn_of_worker(l->sv, it->worker), now);
        if (it->ends_ms > now)
            continue;
        if (now - it->ends_ms > LATE_MS) {
            it->ends_ms = it->look_ms = now + SETTLE_MS;
            continue;
        }
        turn_add_work(l->sv->turn, lease_over, it->worker);
        *it = l->items[--l->n];
        i--;
    }
    arm(l);
    if (is_any_silent)
        l->lost_sight(l->sv);
}

struct leases *leases_create(struct server *sv, void (*lost_sight)(struct server *sv))
{
    struct leases *l = mem_alloc(sizeof *l);

    l->sv = sv;
    l->lost_sight = lost_sight;
    uv_timer_init(&sv->loop, &l->timer);
    uv_unref((uv_handle_t *)&l->timer);
    l->timer.data = l;
    return l;
}

static void on_closed(uv_handle_t *handle)
{
    struct leases *l = handle->data;

    free(l->items);
    free(l);
}

void leases_destroy(struct leases *l)
{
    if (l != NULL)
        uv_close((uv_handle_t *)&l->timer, on_closed);
}

void lease_begin(struct server *sv, int64_t worker)
{
    add_lease(sv->leases, worker, sv->conf.lease_ms);
}

int lease_note_seen(struct server *sv, int64_t worker, struct err *e)
{
    return db_run(sv->db, e, SQL_WORKER_SEEN, "ii", worker, turn_now_ms(sv)) < 0 ? -1 : 0;
}

bool lease_is_running(const struct server *sv, int64_t worker)
{
    for (size_t i = 0; i < sv->leases->n; i++)
        if (sv->leases->items[i].worker == worker)
            return true;
    return false;
}

int leases_load(struct server *sv, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_LIVE_WORKERS, "");
    int rc;

    while ((rc = stmt_step(s, e)) == 1)
        lease_begin(sv, stmt_int(s, 0));
    return rc;
}
