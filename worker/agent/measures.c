/* SPDX-License-Identifier: MIT */
/* measures.c - keeps values that running jobs reported until ludwigd has acknowledged them */

#include "worker/agent/measures.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* ---- jobs that report much ---- */

struct count {
    struct token token;
    size_t n;
};

struct counts {
    struct count *all;
    size_t n, capacity;
    size_t last; /* index asked for last: values of one job come together */
};

static struct count *count_of(struct counts *c, const struct token *token)
{
    for (size_t i = 0; i < c->n; i++) {
        size_t at = (c->last + i) % c->n;

        if (token_equal(&c->all[at].token, token)) {
            c->last = at;
            return &c->all[at];
        }
    }
    mem_grow((void **)&c->all, &c->capacity, c->n, sizeof *c->all);
    c->all[c->n] = (struct count){ *token, 0 };
    c->last = c->n++;
    return &c->all[c->last];
}

/* Drops every other value of the job that has most of them, but not its last one. */
static void thin_out(struct measures *m)
{
    size_t from = m->seq != 0 ? m->n_sent : 0, kept = from, seen = 0;
    struct count most = { .n = 0 };
    struct counts c = { 0 };

    for (size_t i = from; i < m->n; i++)
        count_of(&c, &m->items[i].token)->n++;
    for (size_t i = 0; i < c.n; i++)
        if (c.all[i].n > most.n)
            most = c.all[i];
    free(c.all);
    for (size_t i = from; i < m->n; i++)
        if (!token_equal(&m->items[i].token, &most.token) || seen++ % 2 == 0 || seen == most.n)
            m->items[kept++] = m->items[i];
    m->n = kept;
}

/* If there are more values than a message holds, puts equally many of each job first; the values of
 * one job stay in order. */
static void order_fairly(struct measures *m)
{
    struct measured *later;
    struct counts c = { 0 };
    size_t n = 0, n_later = 0, each;

    if (m->n <= MEASURED_MAX)
        return;
    for (size_t i = 0; i < m->n; i++)
        (void)count_of(&c, &m->items[i].token);
    each = c.n < MEASURED_MAX ? MEASURED_MAX / c.n : 1;
    later = mem_alloc(m->n * sizeof *later);
    for (size_t i = 0; i < m->n; i++)
        if (n < MEASURED_MAX && count_of(&c, &m->items[i].token)->n++ < each)
            m->items[n++] = m->items[i];
        else
            later[n_later++] = m->items[i];
    memcpy(m->items + n, later, n_later * sizeof *later);
    free(later);
    free(c.all);
}

/* ---- sending ---- */

static void on_timer(uv_timer_t *timer);

/* Sends the next message, or sets the timer for it. */
static void pump(struct measures *m)
{
    uint64_t now = uv_now(m->loop);
    size_t n = m->n < MEASURED_MAX ? m->n : MEASURED_MAX;
    struct msg_measured body = { .values = { m->items, n } };

    if (!m->is_open || m->seq != 0 || n == 0)
        return;
    if (now < m->not_before) {
        uv_timer_start(&m->timer, on_timer, m->not_before - now, 0);
        return;
    }
    m->not_before = now + MEASURES_EVERY_MS;
    order_fairly(m);
    m->seq = m->send(m->context, &body);
    m->n_sent = n;
    if (m->seq <= 0) /* the connection is broken, as will be noticed soon */
        m->seq = 0;
}

static void on_timer(uv_timer_t *timer)
{
    pump(timer->data);
}

void measures_init(struct measures *m, uv_loop_t *loop,
                   int64_t (*send)(void *context, const struct msg_measured *m), void *context)
{
    *m = (struct measures){ .loop = loop, .send = send, .context = context };
    uv_timer_init(loop, &m->timer);
    m->timer.data = m;
}

void measures_close(struct measures *m)
{
    if (m->loop == NULL)
        return;
    uv_close((uv_handle_t *)&m->timer, NULL);
    free(m->items);
    m->items = NULL;
    m->n = 0;
    m->loop = NULL;
}

void measures_add(struct measures *m, const struct measured *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (m->n == MEASURES_KEPT_MAX)
            thin_out(m);
        mem_grow((void **)&m->items, &m->capacity, m->n, sizeof *m->items);
        m->items[m->n++] = values[i];
    }
    pump(m);
}

void measures_connected(struct measures *m)
{
    m->is_open = true;
    pump(m);
}

void measures_disconnected(struct measures *m)
{
    m->is_open = false;
    m->seq = 0;
    uv_timer_stop(&m->timer);
}

void measures_answered(struct measures *m, int64_t re, bool well)
{
    if (m->seq == 0 || m->seq != re)
        return;
    m->seq = 0;
    if (well) {
        m->n -= m->n_sent;
        memmove(m->items, m->items + m->n_sent, m->n * sizeof *m->items);
    }
    pump(m);
}
