/* SPDX-License-Identifier: MIT */
/* submit.c - a sweep on its way to the server */
#include <inttypes.h>
#include <string.h>

#include "client/submit/submit.h"
#include "common/data/msgpack.h"

/* One try to send it all. */
struct sending {
    const struct submission *submission;
    struct rpc *rpc;
    int64_t sweep;
    int64_t configs_max; /* in a chunk */
    int64_t n_sent;      /* configurations */
    int64_t next, taken; /* chunks */
    struct digest chain;
    struct buf chunk;
    struct buf left_over;
    bool lost; /* the connection broke: all of it must be done again */
};

int64_t submit_fill_chunk(const struct points *p, int64_t max, struct buf *left_over,
                          struct buf *chunk)
{
    struct buf body = { 0 };
    int64_t n = 0;

    while (n < max) {
        if (left_over->n == 0 && !points_next(p, left_over))
            break;
        if (n > 0 && body.n + left_over->n > SUBMIT_CHUNK_BYTES)
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

int64_t submit_chunk_max(int64_t reps)
{
    int64_t fitting = JOBS_PER_CHUNK_MAX / reps;

    if (fitting < 1)
        return 1;
    return fitting < CONFIGS_PER_CHUNK_MAX ? fitting : CONFIGS_PER_CHUNK_MAX;
}

static int open_sweep(struct sending *s, struct err *e)
{
    struct msg_submit_open reply;
    struct token id;

    token_make(&id);
    if (rpc_send(s->rpc, MSG_SUBMIT_BEGIN, &id, s->submission->begin, &s->lost, e) < 0)
        return -1;
    if (s->submission->begun != NULL)
        s->submission->begun(s->submission->context);
    if (rpc_receive(s->rpc, MSG_SUBMIT_OPEN, &reply, &s->lost, e) < 0)
        return -1;
    s->sweep = reply.sweep;
    return 0;
}

static int take_answer(struct sending *s, struct err *e)
{
    struct msg_submit_taken reply;

    if (rpc_receive(s->rpc, MSG_SUBMIT_TAKEN, &reply, &s->lost, e) < 0)
        return -1;
    if (reply.index != s->taken)
        return err_set(e, ERR_PROTOCOL, "the server took chunk %" PRId64 " instead of %" PRId64,
                       reply.index, s->taken);
    s->taken++;
    return 0;
}

static void add_to_chain(struct digest *chain, const struct buf *chunk)
{
    struct hasher *h = hasher_create();

    hasher_add(h, chain->bytes, DIGEST_BYTES);
    hasher_add(h, chunk->bytes, chunk->n);
    hasher_end(h, chain);
    hasher_destroy(h);
}

static int send_chunk(struct sending *s, struct err *e)
{
    struct msg_submit_chunk request = { .sweep = s->sweep,
                                        .index = s->next,
                                        .configs = buf_bytes(&s->chunk) };

    add_to_chain(&s->chain, &s->chunk);
    if (rpc_send(s->rpc, MSG_SUBMIT_CHUNK, NULL, &request, &s->lost, e) < 0)
        return -1;
    s->next++;
    return 0;
}

/* The next of those that go along, as many as a chunk takes. */
static int64_t fill_chunk(struct sending *s)
{
    int64_t left = s->submission->configs - s->n_sent;

    return submit_fill_chunk(s->submission->points, left < s->configs_max ? left : s->configs_max,
                             &s->left_over, &s->chunk);
}

static int send_chunks(struct sending *s, struct err *e)
{
    int64_t n;

    points_seek(s->submission->points, 0);
    while ((n = fill_chunk(s)) > 0) {
        s->n_sent += n;
        if (send_chunk(s, e) < 0)
            return -1;
        if (s->next - s->taken == SUBMIT_IN_FLIGHT && take_answer(s, e) < 0)
            return -1;
    }
    if (s->n_sent == s->submission->configs)
        return 0;
    return err_set(e, ERR_INTERNAL, "%" PRId64 " configurations are missing",
                   s->submission->configs - s->n_sent);
}

static int take_answers(struct sending *s, struct err *e)
{
    while (s->taken < s->next)
        if (take_answer(s, e) < 0)
            return -1;
    return 0;
}

/* A sweep that is open lasts as long as the connection, which the caller may use, and find broken. */
static int check_open(struct sending *s, int64_t n_opened, struct err *e)
{
    if (s->rpc->n_opened == n_opened)
        return 0;
    s->lost = true;
    return err_set(e, ERR_UNREACHABLE, "the connection to the server was lost");
}

static int do_opened(struct sending *s, struct err *e)
{
    int64_t n_opened = s->rpc->n_opened;

    s->lost = false;
    if (s->submission->opened(s->submission->context, s->sweep, &s->lost, e) < 0)
        return -1;
    return check_open(s, n_opened, e);
}

static int do_ending(struct sending *s, struct err *e)
{
    int64_t n_opened = s->rpc->n_opened;

    s->lost = false;
    if (s->submission->ending != NULL &&
        s->submission->ending(s->submission->context, &s->lost, e) < 0)
        return -1;
    return check_open(s, n_opened, e);
}

/* An answer that got lost is asked for again; the server may know nothing of a sweep whose end
 * had not been recorded. */
static int send_end(struct sending *s, struct msg_submitted *done, struct err *e)
{
    struct msg_submit_end end = { .sweep = s->sweep, .configs = s->n_sent, .chain = s->chain };
    bool asked_again = false, lost;
    struct err why = { 0 };
    struct token id;

    token_make(&id);
    for (;;) {
        if (rpc_send(s->rpc, MSG_SUBMIT_END, &id, &end, &lost, &why) >= 0 &&
            rpc_receive(s->rpc, MSG_SUBMITTED, done, &lost, &why) == 0)
            return 0;
        if (!lost)
            break;
        asked_again = true;
        if (rpc_reopen(s->rpc, &why) < 0)
            break;
    }
    s->lost = asked_again && why.kind == ERR_NOT_FOUND;
    return err_set(e, why.kind, "%s", why.text);
}

static int send_all(struct sending *s, struct msg_submitted *done, struct err *e)
{
    if (open_sweep(s, e) < 0 || do_opened(s, e) < 0 || send_chunks(s, e) < 0 ||
        do_ending(s, e) < 0 || take_answers(s, e) < 0)
        return -1;
    return send_end(s, done, e);
}

int submit_send(const struct submission *submission, struct msg_submitted *done, struct err *e)
{
    for (int tries = 1;; tries++) {
        struct sending s = { .submission = submission,
                             .rpc = submission->rpc,
                             .configs_max = submit_chunk_max(submission->begin->reps) };
        int result = send_all(&s, done, e);

        buf_free(&s.chunk);
        buf_free(&s.left_over);
        if (result == 0 || !s.lost || tries == SUBMIT_TRIES)
            return result;
        if (rpc_reopen(s.rpc, e) < 0)
            return -1;
    }
}
