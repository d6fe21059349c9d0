/* SPDX-License-Identifier: MIT */
/* inbox_box.c - the folders of users as the inbox knows them, and which of them wait for a visit */
#include <stdlib.h>
#include <string.h>

#include "server/inbox/inbox_internal.h"

uint64_t inbox_now(const struct inbox *in)
{
    return uv_now(&in->sv->loop);
}

void inbox_wake(struct inbox *in)
{
    uv_timer_start(in->timer, in->on_timer, 0, 0);
}

/* ---- boxes ---- */

/* Where it is, or belongs. */
static size_t index_of_uid(const struct inbox *in, uid_t uid)
{
    size_t low = 0, high = in->n_boxes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (in->boxes[middle]->uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct box *box_find(const struct inbox *in, uid_t uid)
{
    size_t i = index_of_uid(in, uid);

    return i < in->n_boxes && in->boxes[i]->uid == uid ? in->boxes[i] : NULL;
}

struct box *box_add(struct inbox *in, uid_t uid)
{
    size_t i = index_of_uid(in, uid);
    struct box *b = mem_alloc(sizeof *b);

    b->in = in;
    b->uid = uid;
    b->wd = -1;
    mem_grow((void **)&in->boxes, &in->capacity, in->n_boxes, sizeof(struct box *));
    memmove(in->boxes + i + 1, in->boxes + i, (in->n_boxes - i) * sizeof(struct box *));
    in->boxes[i] = b;
    in->n_boxes++;
    in->n_unwatched++;
    return b;
}

void box_remember_dead(struct box *b, const struct token *token)
{
    if (b->dead == NULL)
        b->dead = mem_alloc(INBOX_DEAD_MAX * sizeof *b->dead);
    b->dead[b->n_dead++ % INBOX_DEAD_MAX] = *token;
}

bool box_has_dead(const struct box *b, const struct token *token)
{
    size_t n = b->n_dead < INBOX_DEAD_MAX ? b->n_dead : INBOX_DEAD_MAX;

    for (size_t i = 0; i < n; i++)
        if (token_equal(&b->dead[i], token))
            return true;
    return false;
}

/* ---- the queue ---- */

void inbox_queue(struct box *b)
{
    struct inbox *in = b->in;

    if (b->is_queued)
        return;
    b->is_queued = true;
    b->next_queued = NULL;
    if (in->last_queued != NULL)
        in->last_queued->next_queued = b;
    else
        in->first_queued = b;
    in->last_queued = b;
}

void inbox_activate(struct box *b)
{
    if (b->is_active)
        return;
    b->is_active = true;
    b->next_active = b->in->active;
    b->in->active = b;
}

struct box *inbox_take_queued(struct inbox *in, uint64_t *next)
{
    uint64_t now = inbox_now(in);
    struct box *before = NULL;

    for (struct box *b = in->first_queued; b != NULL; before = b, b = b->next_queued) {
        if (b->rest_ms > now) {
            if (*next == 0 || b->rest_ms < *next)
                *next = b->rest_ms;
            continue;
        }
        if (before != NULL)
            before->next_queued = b->next_queued;
        else
            in->first_queued = b->next_queued;
        if (in->last_queued == b)
            in->last_queued = before;
        b->is_queued = false;
        return b;
    }
    return NULL;
}
