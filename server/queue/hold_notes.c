/* SPDX-License-Identifier: MIT */
/* hold_notes.c - queues turn work for the ends of jobs and attempts that guards look at */

#include "server/queue/hold_notes.h"

#include <stdlib.h>

#include "common/base/mem.h"

struct hold_notes {
    struct hold_work work;
    int64_t *sweeps; /* watched sweeps: the few in which a job failed */
    size_t n, capacity;
    turn_work_fn look_at_end;
    bool wants_good;
};

struct hold_notes *hold_notes_create(const struct hold_work *work)
{
    struct hold_notes *n = mem_alloc(sizeof *n);

    n->work = *work;
    return n;
}

void hold_notes_destroy(struct hold_notes *n)
{
    if (n != NULL)
        free(n->sweeps);
    free(n);
}

static size_t find(const struct hold_notes *n, int64_t sweep)
{
    size_t i = 0;

    while (i < n->n && n->sweeps[i] != sweep)
        i++;
    return i;
}

void hold_notes_watch(struct hold_notes *n, int64_t sweep)
{
    if (find(n, sweep) < n->n)
        return;
    mem_grow((void **)&n->sweeps, &n->capacity, n->n, sizeof *n->sweeps);
    n->sweeps[n->n++] = sweep;
}

void hold_notes_unwatch(struct hold_notes *n, int64_t sweep)
{
    size_t i = find(n, sweep);

    if (i < n->n)
        n->sweeps[i] = n->sweeps[--n->n];
}

void hold_notes_watch_ends(struct hold_notes *n, turn_work_fn look)
{
    n->look_at_end = look;
}

void hold_notes_want_good(struct hold_notes *n, bool are_wanted)
{
    n->wants_good = are_wanted;
}

void hold_notes_attempt(struct server *sv, int64_t attempt, enum attempt_state state)
{
    const struct hold_notes *n = sv->hold_notes;

    if (state == ATTEMPT_FAILED || (n->wants_good && attempt_has_published(state)))
        turn_add_work(sv->turn, n->look_at_end, attempt);
}

void hold_notes_end(struct server *sv, int64_t sweep, enum job_state state)
{
    const struct hold_notes *n = sv->hold_notes;

    if (state == JOB_FAILED || find(n, sweep) < n->n)
        turn_add_work(sv->turn, n->work.look, sweep);
}

void hold_notes_resumed(struct server *sv, int64_t sweep)
{
    turn_add_work(sv->turn, sv->hold_notes->work.settle_resumed, sweep);
}

bool hold_notes_are_open(const struct server *sv, int64_t sweep)
{
    const struct hold_work *w = &sv->hold_notes->work;

    return turn_has_work(sv->turn, w->look, sweep) || turn_has_work(sv->turn, w->carry_out, sweep);
}
