/* SPDX-License-Identifier: MIT */
/* send_queue.c - what was packed and is not sent yet */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/pack/send_queue.h"
#include "common/base/mem.h"

enum record_kind { PART_BEGIN, PART_WRITE, PART_END, OBJECT, TOUCH, PROGRESS };

struct record {
    struct record *next;
    enum record_kind kind;
    unsigned slot;
    struct pack_part part;
    enum pack_object object;
    struct digest name;
    uint64_t files, file_bytes; /* these have been packed with it */
    size_t n;
    uint8_t bytes[];
};

struct send_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full; /* not_empty: or ended; not_full: or stopped */
    struct record *first, *last;
    uint64_t bytes; /* of the records */
    bool has_ended, is_stopped;
    struct err why; /* of send_queue_end */
};

struct send_queue *send_queue_create(void)
{
    struct send_queue *q = mem_alloc(sizeof *q);

    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->not_empty, NULL);
    pthread_cond_init(&q->not_full, NULL);
    return q;
}

void send_queue_destroy(struct send_queue *q)
{
    struct record *next;

    if (q == NULL)
        return;
    for (struct record *r = q->first; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
    pthread_cond_destroy(&q->not_full);
    pthread_cond_destroy(&q->not_empty);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* ---- in ---- */

static struct record *make_record(enum record_kind kind, unsigned slot, const void *bytes, size_t n)
{
    struct record *r = mem_resize(NULL, 1, sizeof *r + n);

    *r = (struct record){ .kind = kind, .slot = slot, .n = n };
    if (n > 0)
        memcpy(r->bytes, bytes, n);
    return r;
}

/* Takes r. */
static int push(struct send_queue *q, struct record *r, struct err *e)
{
    bool is_stopped;

    pthread_mutex_lock(&q->lock);
    while (!q->is_stopped && q->bytes >= SEND_QUEUE_MAX_BYTES)
        pthread_cond_wait(&q->not_full, &q->lock);
    is_stopped = q->is_stopped;
    if (!is_stopped) {
        if (q->last != NULL)
            q->last->next = r;
        else
            q->first = r;
        q->last = r;
        q->bytes += sizeof *r + r->n;
        pthread_cond_signal(&q->not_empty);
    }
    pthread_mutex_unlock(&q->lock);
    if (!is_stopped)
        return 0;
    free(r);
    return err_set(e, ERR_FAILED, "nothing more is sent");
}

int send_queue_part_begin(struct send_queue *q, unsigned slot, struct err *e)
{
    return push(q, make_record(PART_BEGIN, slot, NULL, 0), e);
}

int send_queue_part_write(struct send_queue *q, unsigned slot, struct bytes bytes, struct err *e)
{
    return push(q, make_record(PART_WRITE, slot, bytes.data, bytes.n), e);
}

int send_queue_part_end(struct send_queue *q, unsigned slot, const struct pack_part *part,
                        struct bytes list, struct err *e)
{
    struct record *r = make_record(PART_END, slot, list.data, list.n);

    r->part = *part;
    return push(q, r, e);
}

int send_queue_object(struct send_queue *q, enum pack_object kind, const struct digest *name,
                      struct bytes bytes, struct err *e)
{
    struct record *r = make_record(OBJECT, 0, bytes.data, bytes.n);

    r->object = kind;
    r->name = *name;
    return push(q, r, e);
}

int send_queue_touch(struct send_queue *q, const char *path, struct err *e)
{
    return push(q, make_record(TOUCH, 0, path, strlen(path) + 1), e);
}

int send_queue_progress(struct send_queue *q, uint64_t files, uint64_t bytes, struct err *e)
{
    struct record *r = NULL;
    bool is_noted;

    pthread_mutex_lock(&q->lock);
    is_noted = q->last != NULL && !q->is_stopped;
    if (is_noted) {
        q->last->files += files;
        q->last->file_bytes += bytes;
    }
    pthread_mutex_unlock(&q->lock);
    if (is_noted)
        return 0;
    r = make_record(PROGRESS, 0, NULL, 0);
    r->files = files;
    r->file_bytes = bytes;
    return push(q, r, e);
}

void send_queue_end(struct send_queue *q, const struct err *why)
{
    pthread_mutex_lock(&q->lock);
    q->has_ended = true;
    if (why != NULL)
        q->why = *why;
    pthread_cond_signal(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}

/* ---- out ---- */

/* NULL: it has ended. */
static struct record *pop(struct send_queue *q, const struct send_queue_sink *sink)
{
    struct record *r;

    pthread_mutex_lock(&q->lock);
    if (q->first == NULL && !q->has_ended) {
        pthread_mutex_unlock(&q->lock);
        sink->empty(sink->to.context);
        pthread_mutex_lock(&q->lock);
    }
    while (q->first == NULL && !q->has_ended)
        pthread_cond_wait(&q->not_empty, &q->lock);
    r = q->first;
    if (r != NULL) {
        q->first = r->next;
        if (q->first == NULL)
            q->last = NULL;
        q->bytes -= sizeof *r + r->n;
        pthread_cond_signal(&q->not_full);
    }
    pthread_mutex_unlock(&q->lock);
    return r;
}

static int hand_on(const struct record *r, const struct send_queue_sink *sink, struct err *e)
{
    const struct pack_sink *to = &sink->to;
    struct bytes bytes = { r->bytes, r->n };

    switch (r->kind) {
    case PART_BEGIN: return to->part_begin(to->context, r->slot, e);
    case PART_WRITE: return to->part_write(to->context, r->slot, bytes, e);
    case PART_END: return to->part_end(to->context, r->slot, &r->part, bytes, e);
    case OBJECT: return to->object(to->context, r->object, &r->name, bytes, e);
    case TOUCH: return sink->touch(to->context, (const char *)r->bytes, e);
    case PROGRESS: break;
    }
    return 0;
}

int send_queue_deliver(struct send_queue *q, const struct send_queue_sink *sink, struct err *e)
{
    struct record *r;
    int result = 0;

    while (result == 0 && (r = pop(q, sink)) != NULL) {
        result = hand_on(r, sink, e);
        if (result == 0 && (r->files > 0 || r->file_bytes > 0))
            sink->progress(sink->to.context, r->files, r->file_bytes);
        free(r);
    }
    if (result == 0 && q->why.kind != ERR_NONE)
        return err_set(e, q->why.kind, "%s", q->why.text);
    return result;
}

void send_queue_stop(struct send_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->is_stopped = true;
    pthread_cond_signal(&q->not_full);
    pthread_mutex_unlock(&q->lock);
}
