/* SPDX-License-Identifier: MIT */
/* pilot_cancel.c - pilots that did not begin, and are not wanted any more, are cancelled together */

#include <string.h>

#include "server/pilot_parts.h"

enum { CANCEL_MAX_BYTES = 8 * 1024 };

void pilots_cancel(struct pilots *p, const char *job)
{
    buf_add(&p->cancel, job, strlen(job) + 1);
}

/* ---- those that nobody needs ---- */

/* They have not begun, and there is nothing left for them.  More than one scancel takes come next. */
int cancel_unneeded(struct pilots *p, const struct demands *all, struct err *e)
{
    for (size_t i = 0; i < p->rows.n && p->cancel.n < CANCEL_MAX_BYTES; i++) {
        const struct pilot_row *row = &p->rows.items[i];

        if (row->worker != 0 || demand_in(all, row->pool) != NULL ||
            (row->was_asked && row->slurm_id == 0))
            continue;
        if (row->slurm_id != 0)
            pilots_cancel(p, pilot_row_job(row, p->arena));
        if (pilot_row_end(p->sv, row->id, "there was nothing left for it to do", e) < 0)
            return -1;
    }
    return 0;
}

static void on_cancelled(void *context, struct slurm_result *result)
{
    struct pilots *p = context;

    p->call = NULL;
    if (slurm_failure_of(result) == SLURM_AWAY) {
        struct arena *a = arena_create();

        pilots_away(p, slurm_failure_words(result, a));
        arena_destroy(a);
    } else {
        buf_clear(&p->cancel);
    }
    pilots_next(p);
}

void cancel_begin(struct pilots *p)
{
    const char **jobs = arena_alloc(p->arena, (p->cancel.n + 1) * sizeof *jobs);
    const char *at = buf_text(&p->cancel);
    struct pilots_command c = { .env = pilots_env(NULL, p->arena) };
    struct err e = { 0 };
    size_t n = 0;

    for (const char *end = at + p->cancel.n; at < end; at += strlen(at) + 1)
        jobs[n++] = arena_strdup(p->arena, at);
    c.args = slurm_scancel_args(jobs, n, p->arena);
    if (pilots_call(p, &c, on_cancelled, p, &e) < 0) {
        pilots_away(p, e.text);
        pilots_next(p);
    }
}
