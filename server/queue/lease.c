/* SPDX-License-Identifier: MIT */
/* lease.c - one timer over all workers that are silent */

#include "server/queue/lease.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "server/base/turn.h"
#include "server/conn/conn.h"
#include "server/queue/attempts.h"

/* After ludwigd was held up (a suspended machine), what lies in its sockets is read first. */
enum { LATE_MS = 1000, SETTLE_MS = 10 * 1000 };

struct lease {
    int64_t worker;
    uint64_t ends_ms; /* of the loop's clock */
};

struct leases {
    struct server *sv;
    void (*over)(struct server *sv);
    uv_timer_t *timer; /* frees itself when closed */
    struct lease *items;
    size_t n, capacity;
};

static void on_timer(uv_timer_t *timer);

static void arm(struct leases *l)
{
    uint64_t now = uv_now(&l->sv->loop);
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].ends_ms < first)
            first = l->items[i].ends_ms;
    if (l->n == 0)
        uv_timer_stop(l->timer);
    else
        uv_timer_start(l->timer, on_timer, first > now ? first - now : 0, 0);
}

static void forget(struct leases *l, int64_t worker)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].worker == worker)
            l->items[i--] = l->items[--l->n];
}

static void add(struct leases *l, int64_t worker, int64_t lease_ms)
{
    forget(l, worker);
    mem_grow((void **)&l->items, &l->capacity, l->n, sizeof *l->items);
    l->items[l->n++] = (struct lease){ worker, uv_now(&l->sv->loop) + (uint64_t)lease_ms };
    arm(l);
}

static int lose_all(struct server *sv, int64_t worker, struct err *e)
{
    struct tally tally = { 0 };
    int64_t attempt;
    int n = 0;
    int rc;

    while ((rc = db_get_int(sv->db, e, &attempt, SQL_LIVE_OF_WORKER, "i", worker)) == 1) {
        if (attempt_find(sv, attempt, EV_LOSE, "node-lost", &tally, e) < 0)
            return -1;
        n++;
    }
    if (rc < 0 || tally_flush(sv, &tally, e) < 0)
        return -1;
    log_event(LOG_WARN, "lease-over", "worker", "%lld", (long long)worker, "attempts", "%d", n,
              NULL);
    return 0;
}

/* In this very turn: it is connected once that is committed. */
static bool is_registering(struct server *sv, int64_t worker)
{
    for (struct conn *c = conn_after(sv, 0); c != NULL; c = conn_after(sv, c->number))
        if (c->registering == worker)
            return true;
    return false;
}

/* When the lease of one that is connected ends, as far as is known now. */
static uint64_t ends_after(const struct server *sv, const struct conn *c)
{
    return c->heard_ms + (uint64_t)sv->conf.lease_ms;
}

static int lease_over(struct server *sv, int64_t worker, struct err *e)
{
    struct conn *c = conn_of_worker(sv, worker);
    int rc = 0;

    if (c != NULL && ends_after(sv, c) > uv_now(&sv->loop)) {
        lease_connected(sv, worker);
        return 0;
    }
    if (c != NULL) {
        log_event(LOG_WARN, "silent", "worker", "%lld", (long long)worker, "user", "%s", c->user,
                  NULL);
        conn_close(sv, c, "its worker is silent");
    }
    forget(sv->leases, worker);
    if (!is_registering(sv, worker)) {
        rc = lose_all(sv, worker, e);
        if (rc == 0) {
            sv->leases->over(sv);
            return 0;
        }
    }
    add(sv->leases, worker, SETTLE_MS); /* let us see then */
    return rc;
}

/* Puts it off for one that was heard of meanwhile. */
static bool is_put_off(struct server *sv, struct lease *it, uint64_t now)
{
    struct conn *c = conn_of_worker(sv, it->worker);

    if (c != NULL && ends_after(sv, c) > now)
        it->ends_ms = ends_after(sv, c);
    return it->ends_ms > now;
}

static void on_timer(uv_timer_t *timer)
{
    struct leases *l = timer->data;
    uint64_t now = uv_now(&l->sv->loop);

    for (size_t i = 0; i < l->n; i++) {
        struct lease *it = &l->items[i];

        if (it->ends_ms > now || is_put_off(l->sv, it, now))
            continue;
        if (now - it->ends_ms > LATE_MS) {
            it->ends_ms = now + SETTLE_MS;
            continue;
        }
        turn_add_work(l->sv->turn, lease_over, it->worker);
        *it = l->items[--l->n];
        i--;
    }
    arm(l);
}

struct leases *leases_create(struct server *sv, void (*over)(struct server *sv))
{
    struct leases *l = mem_alloc(sizeof *l);

    l->sv = sv;
    l->over = over;
    l->timer = mem_alloc(sizeof *l->timer);
    uv_timer_init(&sv->loop, l->timer);
    uv_unref((uv_handle_t *)l->timer);
    l->timer->data = l;
    return l;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

void leases_destroy(struct leases *l)
{
    if (l == NULL)
        return;
    uv_close((uv_handle_t *)l->timer, on_closed);
    free(l->items);
    free(l);
}

void lease_disconnected(struct server *sv, int64_t worker)
{
    add(sv->leases, worker, sv->conf.lease_ms);
}

void lease_connected(struct server *sv, int64_t worker)
{
    add(sv->leases, worker, sv->conf.lease_ms);
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
        lease_disconnected(sv, stmt_int(s, 0));
    return rc;
}
