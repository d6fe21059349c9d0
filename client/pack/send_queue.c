/* SPDX-License-Identifier: MIT */
/* send_queue.c - a queue of packed data between two threads */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/pack/send_queue.h"
#include "common/base/mem.h"

struct send_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full; /* also signalled by end (not_empty), stop (not_full) */
    struct send_record *first, *last;
    uint64_t bytes; /* the records' size */
    bool has_ended, is_stopped;
    struct err why; /* what send_queue_end was given */
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
    struct send_record *next;

    if (q == NULL)
        return;
    for (struct send_record *r = q->first; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
    pthread_cond_destroy(&q->not_full);
    pthread_cond_destroy(&q->not_empty);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

int send_queue_add(struct send_queue *q, const struct send_record *record, struct err *e)
{
    size_t n = record->bytes.n;
    struct send_record *r = mem_resize(NULL, 1, sizeof *r + n);
    bool is_stopped;

    *r = *record;
    r->next = NULL;
    r->bytes.data = (uint8_t *)(r + 1);
    if (n > 0)
        memcpy(r + 1, record->bytes.data, n);
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
        q->bytes += sizeof *r + n;
        pthread_cond_signal(&q->not_empty);
    }
    pthread_mutex_unlock(&q->lock);
    if (!is_stopped)
        return 0;
    free(r);
    return err_set(e, ERR_FAILED, "nothing more is sent");
}

/* Adds the numbers to the last waiting record, if there is one, else as a record of their own. */
int send_queue_progress(struct send_queue *q, uint64_t files, uint64_t bytes, struct err *e)
{
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
    return send_queue_add(
        q, &(struct send_record){ .kind = SEND_PROGRESS, .files = files, .file_bytes = bytes }, e);
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

struct send_record *send_queue_take(struct send_queue *q, bool waits)
{
    struct send_record *r;

    pthread_mutex_lock(&q->lock);
    while (waits && q->first == NULL && !q->has_ended)
        pthread_cond_wait(&q->not_empty, &q->lock);
    r = q->first;
    if (r != NULL) {
        q->first = r->next;
        if (q->first == NULL)
            q->last = NULL;
        q->bytes -= sizeof *r + r->bytes.n;
        pthread_cond_signal(&q->not_full);
    }
    pthread_mutex_unlock(&q->lock);
    return r;
}

int send_queue_check(const struct send_queue *q, struct err *e)
{
    return q->why.kind == ERR_NONE ? 0 : err_set(e, q->why.kind, "%s", q->why.text);
}

void send_queue_stop(struct send_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->is_stopped = true;
    pthread_cond_signal(&q->not_full);
    pthread_mutex_unlock(&q->lock);
}
