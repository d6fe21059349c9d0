/* SPDX-License-Identifier: MIT */
/* stage_notes.c - what the thread that brings datasets has to say, until it is sent */

#include "worker/stager/stage_notes.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/mem.h"

int stage_notes_open(struct stage_notes *n, struct err *e)
{
    n->first = NULL;
    n->last = &n->first;
    n->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return n->event_fd < 0 ? err_sys(e, "make an eventfd") : 0;
}

void stage_notes_close(struct stage_notes *n)
{
    struct stage_note *note;

    while ((note = stage_notes_next(n)) != NULL)
        free(note);
    close(n->event_fd);
}

static void add(struct stage_notes *n, struct stage_note *note)
{
    const uint64_t one = 1;

    *n->last = note;
    n->last = &note->next;
    (void)!write(n->event_fd, &one, sizeof one);
}

void stage_note_staged(struct stage_notes *n, const struct digest *tree, int64_t seq,
                       bool is_guarded, const struct err *why, bool retry)
{
    struct stage_note *note = mem_alloc(sizeof *note);

    note->type = NOTE_STAGED;
    note->re = seq;
    note->staged = (struct note_staged){ .tree = *tree, .is_guarded = is_guarded };
    if (why != NULL) {
        note->why = *why;
        note->staged.error = note->why.text;
        note->staged.retry = retry;
    }
    add(n, note);
}

void stage_note_cached(struct stage_notes *n, const struct cache_tree *t, bool is_gone)
{
    struct stage_note *note = mem_alloc(sizeof *note);

    note->type = NOTE_CACHED;
    note->cached = (struct note_cached){ .tree = t->tree,
                                         .files = t->files,
                                         .bytes = t->bytes,
                                         .used_at = t->last_use_ms,
                                         .is_gone = is_gone };
    add(n, note);
}

void stage_note_expected(struct stage_notes *n, int64_t seq)
{
    struct stage_note *note = mem_alloc(sizeof *note);

    note->type = NOTE_EXPECTED;
    note->re = seq;
    note->expected.all = true;
    add(n, note);
}

struct stage_note *stage_notes_next(struct stage_notes *n)
{
    struct stage_note *note = n->first;
    uint64_t count;

    if (note != NULL)
        n->first = note->next;
    else
        (void)!read(n->event_fd, &count, sizeof count);
    if (n->first == NULL)
        n->last = &n->first;
    return note;
}
