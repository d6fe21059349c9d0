/* SPDX-License-Identifier: MIT */
/* sweep_send.c - sends a sweep's description and configurations to ludwigd */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/expand/canary.h"
#include "client/term/where.h"
#include "client/submit/sweep_send.h"
#include "common/data/msgpack.h"

/* All steps point to one of these; their types say how far the sweep has come. */
struct sweep {
    struct rpc *rpc;
    int64_t n_opened; /* rpc->n_opened when the sweep began: the number of its connection */
    int64_t reps, number, configs;
    int64_t next, taken; /* how many chunks were sent, and answered */
    struct digest chain; /* of all chunks sent, each hashed with the digest before */
    struct arena *arena;
    struct reused_job *reused;
    size_t n_reused, reused_capacity;
};

static struct sweep *of_step(const void *step)
{
    return (struct sweep *)(uintptr_t)step;
}

int64_t sweep_send_fill_chunk(const struct points *p, int64_t max, struct buf *left_over,
                              struct buf *chunk)
{
    struct buf body = { 0 };
    int64_t n = 0;

    while (n < max) {
        if (left_over->n == 0 && !points_next(p, left_over))
            break;
        if (n > 0 && body.n + left_over->n > SWEEP_SEND_CHUNK_BYTES)
            break;
        buf_add(&body, left_over->bytes, left_over->n);
        buf_clear(left_over);
        n++;
    }
    buf_clear(chunk);
    if (n > 0) {
        mp_add_list(chunk, (size_t)n);
        buf_add(chunk, body.bytes, body.n);
    }
    buf_free(&body);
    return n;
}

int64_t sweep_send_chunk_max(int64_t reps)
{
    int64_t fitting = JOBS_PER_CHUNK_MAX / reps;

    if (fitting < 1)
        return 1;
    return fitting < CONFIGS_PER_CHUNK_MAX ? fitting : CONFIGS_PER_CHUNK_MAX;
}

/* ---- begin ---- */

/* Fails if the sweep's connection was replaced: sending files may have found it broken. */
static int check_connection(const struct sweep *s, struct err *e)
{
    if (s->rpc->n_opened == s->n_opened)
        return 0;
    return err_set(e, ERR_UNREACHABLE, "the connection to the server was lost");
}

struct sweep_asked *sweep_send_begin(struct rpc *r, const struct msg_submit_begin *begin,
                                     struct arena *a, struct err *e)
{
    struct sweep *s = arena_alloc(a, sizeof *s);
    struct token id;
    bool lost;

    *s = (struct sweep){ .rpc = r, .n_opened = r->n_opened, .reps = begin->reps, .arena = a };
    token_make(&id);
    if (rpc_send(r, MSG_SUBMIT_BEGIN, &id, begin, &lost, e) < 0)
        return NULL;
    return (struct sweep_asked *)s;
}

struct sweep_open *sweep_send_opened(const struct sweep_asked *asked, struct err *e)
{
    struct sweep *s = of_step(asked);
    struct msg_submit_open reply;
    bool lost;

    if (check_connection(s, e) < 0 || rpc_receive(s->rpc, MSG_SUBMIT_OPEN, &reply, &lost, e) < 0)
        return NULL;
    s->number = reply.sweep;
    return (struct sweep_open *)s;
}

int64_t sweep_send_number(const struct sweep_open *open)
{
    return of_step(open)->number;
}

/* ---- chunks ---- */

/* Copies the reused jobs of an answer, whose texts last only until the next one. */
static void keep_reused(struct sweep *s, const struct list *more)
{
    const struct reused_job *items = more->items;

    if (s->n_reused + more->n > s->reused_capacity) {
        size_t capacity = 2 * (s->n_reused + more->n);
        struct reused_job *larger = arena_alloc(s->arena, capacity * sizeof *larger);

        if (s->n_reused > 0)
            memcpy(larger, s->reused, s->n_reused * sizeof *larger);
        s->reused = larger;
        s->reused_capacity = capacity;
    }
    for (size_t i = 0; i < more->n; i++)
        s->reused[s->n_reused++] =
            (struct reused_job){ items[i].id, arena_strdup(s->arena, items[i].run_path) };
}

static int take_answer(struct sweep *s, struct err *e)
{
    struct msg_submit_taken reply;
    bool lost;

    if (rpc_receive(s->rpc, MSG_SUBMIT_TAKEN, &reply, &lost, e) < 0)
        return -1;
    if (reply.index != s->taken)
        return err_set(e, ERR_PROTOCOL, "the server took chunk %" PRId64 " instead of %" PRId64,
                       reply.index, s->taken);
    keep_reused(s, &reply.reused);
    s->taken++;
    return 0;
}

/* The numbers of the points that run first, ascending; the first `passed` of them were sent. */
struct canaries {
    int64_t *points;
    size_t n, passed;
    bool all_reps;
};

/* Takes the canaries among the n points from `first` on, numbered from there, into early. */
static struct list take_early(struct canaries *c, int64_t first, int64_t n,
                              struct early_config *early)
{
    struct list taken = { early, 0 };

    for (; c->passed < c->n && c->points[c->passed] < first + n; c->passed++)
        early[taken.n++] = (struct early_config){ c->points[c->passed] - first, c->all_reps };
    return taken;
}

static int send_chunk(struct sweep *s, const struct buf *chunk, const struct list *early,
                      struct err *e)
{
    struct msg_submit_chunk request = {
        .sweep = s->number, .index = s->next, .configs = buf_bytes(chunk), .early = *early
    };
    struct hasher *h = hasher_create();
    bool lost;

    hasher_add(h, s->chain.bytes, DIGEST_BYTES);
    hasher_add(h, chunk->bytes, chunk->n);
    hasher_end(h, &s->chain);
    hasher_destroy(h);
    if (rpc_send(s->rpc, MSG_SUBMIT_CHUNK, NULL, &request, &lost, e) < 0)
        return -1;
    s->next++;
    return s->next - s->taken == SWEEP_SEND_IN_FLIGHT ? take_answer(s, e) : 0;
}

/* Finds the points that match `first`; all of their replications run first. */
static void find_matching(struct canaries *c, const struct points *points, int64_t n,
                          struct where *first)
{
    struct arena *a = arena_create();
    struct buf point = { 0 };
    size_t capacity = 0;

    c->all_reps = true;
    points_seek(points, 0);
    for (int64_t i = 0; i < n; i++) {
        struct value params;

        buf_clear(&point);
        arena_reset(a);
        if (!points_next(points, &point))
            break;
        if (mp_read(point.bytes, point.n, a, &params, NULL) < 0 ||
            !where_matches(first, &(struct where_row){ .params = &params }))
            continue;
        mem_grow((void **)&c->points, &capacity, c->n, sizeof *c->points);
        c->points[c->n++] = i;
    }
    buf_free(&point);
    arena_destroy(a);
}

struct sweep_sent *sweep_send_points(const struct sweep_open *open, const struct points *points,
                                     int64_t configs, bool with_canaries, struct where *first,
                                     struct err *e)
{
    struct early_config early[CONFIGS_PER_CHUNK_MAX];
    struct canaries canaries = { 0 };
    struct sweep *s = of_step(open);
    int64_t most = sweep_send_chunk_max(s->reps), left = configs, n = 1;
    struct buf left_over = { 0 }, chunk = { 0 };
    int result = check_connection(s, e);

    s->configs = configs;
    if (first != NULL)
        find_matching(&canaries, points, configs, first);
    else if (with_canaries)
        canaries.points = canary_find(points, configs, &canaries.n);
    points_seek(points, 0);
    while (result == 0 && left > 0 && n > 0) {
        struct list taken;

        n = sweep_send_fill_chunk(points, left < most ? left : most, &left_over, &chunk);
        taken = take_early(&canaries, configs - left, n, early);
        left -= n;
        if (n > 0)
            result = send_chunk(s, &chunk, &taken, e);
    }
    free(canaries.points);
    if (result == 0 && left > 0)
        result = err_set(e, ERR_INTERNAL, "%" PRId64 " configurations are missing", left);
    buf_free(&left_over);
    buf_free(&chunk);
    return result < 0 ? NULL : (struct sweep_sent *)s;
}

struct sweep_taken *sweep_send_taken(struct sweep_sent *sent, struct list *reused, struct err *e)
{
    struct sweep *s = of_step(sent);

    if (check_connection(s, e) < 0)
        return NULL;
    while (s->taken < s->next)
        if (take_answer(s, e) < 0)
            return NULL;
    *reused = (struct list){ s->reused, s->n_reused };
    return (struct sweep_taken *)s;
}

/* ---- end ---- */

int sweep_send_end(struct sweep_taken *taken, const struct inputs_settled *settled,
                   const struct list *gone, struct msg_submitted *done, struct err *e)
{
    struct sweep *s = of_step(taken);
    struct msg_submit_end end = {
        .sweep = s->number, .configs = s->configs, .chain = s->chain, .gone = *gone
    };
    struct rpc *r = s->rpc;
    bool asked_again = false, lost;
    struct err why = { 0 };
    struct token id;

    (void)settled;
    if (check_connection(s, e) < 0)
        return -1;
    token_make(&id);
    /* A lost answer is asked for again. */
    for (;;) {
        if (rpc_send(r, MSG_SUBMIT_END, &id, &end, &lost, &why) >= 0 &&
            rpc_receive(r, MSG_SUBMITTED, done, &lost, &why) == 0)
            return 0;
        if (!lost)
            break;
        asked_again = true;
        if (rpc_reopen(r, &why) < 0)
            break;
    }
    /* ludwigd has forgotten the sweep if its end was not recorded. */
    if (asked_again && why.kind == ERR_NOT_FOUND)
        return err_set(e, ERR_UNREACHABLE, "the connection to the server was lost");
    return err_set(e, why.kind, "%s", why.text);
}
