/* SPDX-License-Identifier: MIT */
/* handle_query.c - sweeps, jobs, results and what was used, page by page */
#include <inttypes.h>
#include <string.h>

#include "common/base/suggest.h"
#include "server/base/turn.h"
#include "server/conn/handler.h"
#include "server/pilot/pilots.h"
#include "server/queue/pilot_rows.h"
#include "server/queue/rows.h"
#include "server/share/project.h"

enum { SCAN_MAX = 5000 /* jobs looked at for one page, when few are in the states asked for */ };

/* Reused jobs come after the sweep's own: their place is this and their row's id. */
#define REUSED_FROM (INT64_C(1) << 40)

static size_t page_limit(int64_t limit)
{
    return limit <= 0 || limit > PAGE_MAX ? PAGE_MAX : (size_t)limit;
}

/* ---- sweeps: everybody sees that they exist and how far they are ---- */

static int one_sweep(struct server *sv, struct ask *ask, int64_t sweep, struct msg_sweep_page *rep,
                     struct err *e)
{
    struct sweep_info *info = arena_alloc(ask->arena, sizeof *info);
    int64_t owner;

    if (row_sweep(sv, sweep, ask->arena, info, &owner, e) < 0)
        return -1;
    rep->sweeps = (struct list){ info, 1 };
    return 0;
}

int handle_get_sweeps(struct server *sv, struct ask *ask, const void *request, void *reply,
                      struct err *e)
{
    const struct msg_get_sweeps *req = request;
    struct msg_sweep_page *rep = reply;
    int64_t before = req->before == 0 ? INT64_MAX : req->before;
    size_t limit = page_limit(req->limit);
    struct sweep_info *items;
    struct stmt *s;
    int64_t owner;
    size_t n = 0;
    int rc;

    rep->slurm_calls = pilots_calls(sv);
    if (rep->slurm_calls != SCHEMA_NONE &&
        pilots_count(sv, &rep->pilots_waiting, &rep->pilots_running, e) < 0)
        return -1;
    if (req->sweep != 0)
        return one_sweep(sv, ask, req->sweep, rep, e);
    items = arena_alloc(ask->arena, limit * sizeof *items);
    s = db_ask(sv->db, SQL_SWEEP_PAGE, "ii", before, (int64_t)limit + 1);
    while ((rc = stmt_step(s, e)) == 1 && n < limit)
        row_sweep_row(s, ask->arena, &items[n++], &owner);
    rep->more = rc == 1;
    stmt_end(s);
    rep->sweeps = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}

static int see_sweep(struct server *sv, struct ask *ask, int64_t sweep, struct sweep_info *info,
                     struct err *e)
{
    int64_t owner;

    if (row_sweep(sv, sweep, ask->arena, info, &owner, e) < 0)
        return -1;
    return project_may_see(sv, ask, owner, info, e);
}

/* ---- jobs ---- */

static int state_bit(const char *name, unsigned *mask, struct err *e)
{
    struct suggest s = { .word = name };

    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        if (strcmp(job_state_names[i], name) == 0) {
            *mask |= 1u << i;
            return 0;
        }
        suggest_try(&s, job_state_names[i]);
    }
    if (s.best == NULL)
        return err_set(e, ERR_USAGE, "'%s' is no state of a job", name);
    return err_set(e, ERR_USAGE, "'%s' is no state of a job (did you mean '%s'?)", name, s.best);
}

static int states_mask(const struct list *states, unsigned *mask, struct err *e)
{
    const char *const *names = states->items;

    *mask = states->n == 0 ? ~0u : 0;
    for (size_t i = 0; i < states->n; i++)
        if (state_bit(names[i], mask, e) < 0)
            return -1;
    return 0;
}

/* A page may be short, or even empty, and yet not the last: next says so. */
static int fill_jobs(struct server *sv, struct ask *ask, const struct msg_get_jobs *req,
                     const char *project, unsigned mask, struct msg_job_page *rep, struct err *e)
{
    size_t limit = page_limit(req->limit);
    struct job_info *items = arena_alloc(ask->arena, limit * sizeof *items);
    int64_t last = req->last == 0 ? INT64_MAX : req->last;
    struct stmt *s =
        db_ask(sv->db, SQL_JOB_PAGE, "iiii", req->sweep, req->after, last, (int64_t)SCAN_MAX);
    size_t size_bytes = 0;
    int64_t seen = 0, state;
    size_t n = 0;
    int rc;

    while ((rc = stmt_step(s, e)) == 1 && n < limit && size_bytes < ROWS_PAGE_BYTES) {
        seen++;
        rep->next = stmt_int(s, 1);
        state = stmt_int(s, 2); /* one that is not known fails below */
        if (state >= 0 && state < JOB_STATE_COUNT && (mask >> state & 1) == 0)
            continue;
        if (row_job(sv, project, stmt_int(s, 0), ask->arena, &items[n++], &size_bytes, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    if (rc == 0 && seen < SCAN_MAX)
        rep->next = 0;
    rep->jobs = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}

int handle_get_jobs(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_get_jobs *req = request;
    struct sweep_info info;
    unsigned mask;
    int rc = states_mask(&req->states, &mask, e);

    if (rc == 0)
        rc = see_sweep(sv, ask, req->sweep, &info, e);
    if (rc != 0)
        return rc;
    return fill_jobs(sv, ask, req, info.project, mask, reply, e);
}

/* ---- results ---- */

struct result_page {
    struct server *sv;
    struct arena *arena;
    const char *project;
    struct job_result *items;
    size_t n;
    size_t limit;
    size_t size_bytes;
    int64_t next;
};

/* Takes rows (the job's id first) until the page is full: 1 then, 0 at the end, -1. */
static int take_results(struct result_page *page, struct stmt *s, int place_column, int64_t offset,
                        struct err *e)
{
    int rc;

    while ((rc = stmt_step(s, e)) == 1 && page->n < page->limit &&
           page->size_bytes < ROWS_PAGE_BYTES) {
        page->next = offset + stmt_int(s, place_column);
        if (row_result(page->sv, page->project, stmt_int(s, 0), page->arena,
                       &page->items[page->n++], &page->size_bytes, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_end(s);
    return rc;
}

static int fill_results(struct result_page *page, int64_t sweep, int64_t after, struct err *e)
{
    struct db *db = page->sv->db;
    int64_t limit = (int64_t)page->limit + 1;
    int rc = 0;

    if (after < REUSED_FROM) {
        rc = take_results(page, db_ask(db, SQL_JOB_PAGE, "iiii", sweep, after, INT64_MAX, limit), 1,
                          0, e);
        after = REUSED_FROM;
    }
    if (rc == 0)
        rc = take_results(page,
                          db_ask(db, SQL_REUSED_PAGE, "iii", sweep, after - REUSED_FROM, limit), 0,
                          REUSED_FROM, e);
    if (rc == 0)
        page->next = 0;
    return rc < 0 ? -1 : 0;
}

int handle_get_results(struct server *sv, struct ask *ask, const void *request, void *reply,
                       struct err *e)
{
    const struct msg_get_results *req = request;
    struct msg_result_page *rep = reply;
    struct result_page page = { .sv = sv, .arena = ask->arena, .limit = page_limit(req->limit) };
    struct sweep_info info;
    int rc = see_sweep(sv, ask, req->sweep, &info, e);

    if (rc != 0)
        return rc;
    page.project = info.project;
    page.items = arena_alloc(ask->arena, page.limit * sizeof *page.items);
    if (fill_results(&page, req->sweep, req->after, e) < 0)
        return -1;
    rep->results = (struct list){ page.items, page.n };
    rep->next = page.next;
    return 0;
}

/* ---- what was used: everybody sees who takes how much ---- */

enum { MS_PER_HOUR = 3600 * 1000 };

/* Of attempts that run now, what they have had so far. */
static int running_ms(struct server *sv, int64_t sweep, int64_t *ms, struct err *e)
{
    return db_get_int(sv->db, e, ms, SQL_USAGE_RUNNING, "ii", sweep, turn_now_ms(sv)) < 0 ? -1 : 0;
}

static int usage_row(struct server *sv, struct stmt *s, struct arena *a, struct usage_info *info,
                     struct err *e)
{
    double hours;
    int64_t now_ms = 0;

    info->sweep = stmt_int(s, 0);
    info->project = arena_strdup(a, stmt_text(s, 1));
    info->name = stmt_is_null(s, 2) ? NULL : arena_strdup(a, stmt_text(s, 2));
    info->user = arena_strdup(a, stmt_text(s, 3));
    info->submitted_at = stmt_int(s, 4);
    info->attempts = stmt_int(s, 5);
    if (stmt_int(s, 10) > 0 && running_ms(sv, info->sweep, &now_ms, e) < 0)
        return -1;
    hours = (double)(stmt_int(s, 6) + now_ms) / MS_PER_HOUR;
    info->hours = hours;
    info->cpu_hours = hours * (double)stmt_int(s, 8) / 1000;
    info->gpu_hours = hours * (double)stmt_int(s, 9) / 1000;
    info->busy_cpu_hours = (double)stmt_int(s, 7) / MS_PER_HOUR;
    return 0;
}

int handle_get_usage(struct server *sv, struct ask *ask, const void *request, void *reply,
                     struct err *e)
{
    const struct msg_get_usage *req = request;
    struct msg_usage_page *rep = reply;
    int64_t before = req->before == 0 ? INT64_MAX : req->before;
    size_t limit = page_limit(req->limit);
    struct usage_info *items = arena_alloc(ask->arena, limit * sizeof *items);
    struct stmt *s = db_ask(sv->db, SQL_USAGE_PAGE, "iii", before, req->since, (int64_t)limit + 1);
    size_t n = 0;
    int rc;

    while ((rc = stmt_step(s, e)) == 1 && n < limit)
        if (usage_row(sv, s, ask->arena, &items[n++], e) < 0) {
            rc = -1;
            break;
        }
    rep->more = rc == 1;
    stmt_end(s);
    rep->rows = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}
