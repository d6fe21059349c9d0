/* SPDX-License-Identifier: MIT */
/* pilot_cancel.c - pilots that are not wanted any more */
/*
 * Those that did not begin are cancelled together; those that did are told to take nothing more.
 */

#include <inttypes.h>
#include <string.h>

#include "server/conn/conn.h"
#include "server/pilot/pilots_internal.h"

enum { CANCEL_MAX_BYTES = 8 * 1024 };

void pilots_cancel(struct pilots *p, const char *job)
{
    buf_add(&p->cancel, job, strlen(job) + 1);
}

/* ---- those that nobody needs ---- */

static bool has_begun(const struct pilots *p, const struct token *token)
{
    for (size_t i = 0; i < p->rows.n; i++)
        if (p->rows.items[i].worker != 0 && token_equal(&p->rows.items[i].token, token))
            return true;
    return false;
}

/* Of an array of which none has begun, by one word.  Its rows lie together. */
static void cancel_row(struct pilots *p, size_t i)
{
    const struct pilot_row *row = &p->rows.items[i];
    bool is_first = i == 0 || !token_equal(&row[-1].token, &row->token);

    if (has_begun(p, &row->token))
        pilots_cancel(p, pilot_row_job(row, p->arena));
    else if (is_first)
        pilots_cancel(p, arena_printf(p->arena, "%" PRId64, row->slurm_id));
}

/* It has not begun, and there is nothing left for it. */
static bool is_unneeded(const struct pilot_row *row, const struct demands *all)
{
    return row->worker == 0 && demand_in(all, row->pool) == NULL &&
           (!row->was_asked || row->slurm_id != 0);
}

/* What there is no room for comes next time. */
int cancel_unneeded(struct pilots *p, const struct demands *all, struct err *e)
{
    for (size_t i = 0; i < p->rows.n && p->cancel.n < CANCEL_MAX_BYTES; i++) {
        const struct pilot_row *row = &p->rows.items[i];

        if (!is_unneeded(row, all))
            continue;
        if (row->slurm_id != 0)
            cancel_row(p, i);
        if (pilot_row_end(p->sv, row->id, "there was nothing left for it to do", e) < 0)
            return -1;
    }
    return 0;
}

/* ---- those that have begun ---- */

void pilots_retire(struct server *sv, struct conn *c, const char *reason)
{
    struct msg_retire m = { reason };

    if (c->is_retiring)
        return;
    c->is_retiring = true;
    conn_send(sv, c->number, MSG_RETIRE, &m);
}

int retire_unneeded(struct pilots *p, struct err *e)
{
    for (size_t i = 0; i < p->rows.n && p->lets_go; i++) {
        const struct pilot_row *row = &p->rows.items[i];
        struct conn *c = row->worker == 0 ? NULL : conn_of_worker(p->sv, row->worker);
        int64_t one = 0;
        int rc = c == NULL ? 1 : db_get(p->sv->db, e, SQL_POOL_OPEN, "i>i", row->pool, &one);

        if (rc < 0)
            return -1;
        if (rc == 0)
            pilots_retire(p->sv, c, "what it worked for was cancelled");
    }
    p->lets_go = false;
    return 0;
}

/* ---- scancel ---- */

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
