/* SPDX-License-Identifier: MIT */
/* handle_query.c - answers for sweeps, jobs, results, work and usage, most of them page by page */
#include <inttypes.h>
#include <string.h>

#include "common/base/suggest.h"
#include "server/base/turn.h"
#include "server/conn/handler.h"
#include "server/conn/permission.h"
#include "server/pilot/pilots.h"
#include "server/queue/pilot_rows.h"
#include "server/queue/rows.h"
#include "server/share/project.h"

enum { SCAN_MAX = 5000 /* jobs looked at for one page, when few are in the states asked for */ };

/* In results, reused jobs come after the sweep's own: their place is this plus their row's id. */
#define REUSED_FROM (INT64_C(1) << 40)

static size_t page_limit(int64_t limit)
{
    return limit <= 0 || limit > PAGE_MAX ? PAGE_MAX : (size_t)limit;
}

/* ---- sweeps: all users see that they exist and how far they are ---- */

int handle_get_sweeps(struct server *sv, struct ask *ask, const void *request, void *reply,
                      struct err *e)
{
    const struct msg_get_sweeps *req = request;
    struct msg_sweep_page *rep = reply;
    int64_t before = req->before == 0 ? INT64_MAX : req->before;
    size_t limit = page_limit(req->limit);
    struct sweep_info *items = arena_alloc(ask->arena, limit * sizeof *items);
    struct stmt *s;
    int64_t owner;
    size_t n = 0;
    int rc;

    rep->slurm_calls = pilots_calls(sv);
    if (rep->slurm_calls != SCHEMA_NONE &&
        pilots_count(sv, &rep->pilots_waiting, &rep->pilots_running, e) < 0)
        return -1;
    if (req->sweep != 0) {
        rep->sweeps = (struct list){ items, 1 };
        if (row_sweep(sv, req->sweep, ask->arena, items, &owner, e) < 0)
            return -1;
        rc = project_may_see(sv, ask, owner, items, NULL);
        if (rc < 0)
            row_sweep_hide(items);
        return rc < 0 ? 0 : rc;
    }
    s = db_ask(sv->db, SQL_SWEEP_PAGE, "ii", before, (int64_t)limit + 1);
    while ((rc = stmt_step(s, e)) == 1 && n < limit) {
        row_sweep_row(sv, s, ask->arena, &items[n], &owner);
        if (may_see(ask->conn, &(struct owner){ owner, items[n].user }, items[n].sweep, NULL) < 0)
            row_sweep_hide(&items[n]);
        n++;
    }
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

/* Adds the bit of the job state called name to *mask. */
static int add_state(const char *name, unsigned *mask, struct err *e)
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

/* A page may be short, or even empty, without being the last one: `next` says whether it is. */
int handle_get_jobs(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_get_jobs *req = request;
    const char *const *names = req->states.items;
    struct msg_job_page *rep = reply;
    size_t limit = page_limit(req->limit), size_bytes = 0, n = 0;
    struct job_info *items = arena_alloc(ask->arena, limit * sizeof *items);
    unsigned mask = req->states.n == 0 ? ~0u : 0;
    int64_t last = req->last == 0 ? INT64_MAX : req->last, seen = 0, state;
    struct sweep_info info;
    struct stmt *s;
    int rc;

    for (size_t i = 0; i < req->states.n; i++)
        if (add_state(names[i], &mask, e) < 0)
            return -1;
    rc = see_sweep(sv, ask, req->sweep, &info, e);
    if (rc != 0)
        return rc;
    s = db_ask(sv->db, SQL_JOB_PAGE, "iiii", req->sweep, req->after, last, (int64_t)SCAN_MAX);
    while ((rc = stmt_step(s, e)) == 1 && n < limit && size_bytes < ROWS_PAGE_BYTES) {
        seen++;
        rep->next = stmt_int(s, 1);
        state = stmt_int(s, 2); /* an unknown state fails below */
        if (state >= 0 && state < JOB_STATE_COUNT && (mask >> state & 1) == 0)
            continue;
        rc = row_job(sv, info.project, stmt_int(s, 0), ask->arena, &items[n++], &size_bytes, e);
        if (rc < 0)
            break;
    }
    stmt_end(s);
    if (rc == 0 && seen < SCAN_MAX)
        rep->next = 0;
    rep->jobs = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
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

/* Adds rows, whose first column is the job's id, to the page.  Returns 1 when the page is full and
 * more rows are left, 0 when none is, -1 on error.  Ends the statement. */
static int take_results(struct result_page *page, struct stmt *s, int place_column, int64_t offset,
                        struct err *e)
{
    int rc;

    while ((rc = stmt_step(s, e)) == 1 && page->n < page->limit &&
           page->size_bytes < ROWS_PAGE_BYTES) {
        page->next = offset + stmt_int(s, place_column);
        rc = row_result(page->sv, page->project, stmt_int(s, 0), page->arena,
                        &page->items[page->n++], &page->size_bytes, e);
        if (rc < 0)
            break;
    }
    stmt_end(s);
    return rc;
}

int handle_get_results(struct server *sv, struct ask *ask, const void *request, void *reply,
                       struct err *e)
{
    const struct msg_get_results *req = request;
    struct msg_result_page *rep = reply;
    struct result_page page = { .sv = sv, .arena = ask->arena, .limit = page_limit(req->limit) };
    int64_t limit = (int64_t)page.limit + 1, after = req->after;
    struct sweep_info info;
    int rc = see_sweep(sv, ask, req->sweep, &info, e);

    if (rc != 0)
        return rc;
    page.project = info.project;
    page.items = arena_alloc(ask->arena, page.limit * sizeof *page.items);
    if (after < REUSED_FROM) {
        rc = take_results(&page,
                          db_ask(sv->db, SQL_JOB_PAGE, "iiii", req->sweep, after, INT64_MAX, limit),
                          1, 0, e);
        after = REUSED_FROM;
    }
    if (rc == 0)
        rc = take_results(
            &page, db_ask(sv->db, SQL_REUSED_PAGE, "iii", req->sweep, after - REUSED_FROM, limit),
            0, REUSED_FROM, e);
    rep->results = (struct list){ page.items, page.n };
    rep->next = rc == 0 ? 0 : page.next;
    return rc < 0 ? -1 : 0;
}

/* ---- work ---- */

/* Gives a sweep's work, without the values of passed variables, which the work does not contain. */
int handle_get_work(struct server *sv, struct ask *ask, const void *request, void *reply,
                    struct err *e)
{
    const struct msg_get_work *req = request;
    struct msg_got_work *rep = reply;
    struct sweep_info info;
    struct err why = { 0 };
    int rc = see_sweep(sv, ask, req->sweep, &info, e);
    struct stmt *s;

    if (rc != 0)
        return rc;
    s = db_ask(sv->db, SQL_SWEEP_WORK, "i", req->sweep);
    rc = stmt_step(s, e);
    if (rc == 1) {
        struct bytes work = stmt_bytes(s, 2);

        rep->work = (struct sweep_work){ .sweep = req->sweep,
                                         .project = stmt_copy(s, 0, ask->arena),
                                         .user = stmt_copy(s, 1, ask->arena) };
        work.data = (const uint8_t *)arena_strndup(ask->arena, (const char *)work.data, work.n);
        if (schema_read(&work_schema, work, ask->arena, &rep->work.work, &why) < 0)
            rc = err_set(e, ERR_FAILED,
                         "sweep %" PRId64 " was submitted to another version of ludwig, and its "
                         "description cannot be read any more (%s)",
                         req->sweep, why.text);
    }
    stmt_end(s);
    return rc < 0 ? -1 : 0;
}

/* ---- usage: all users see how much each sweep takes ---- */

enum { MS_PER_HOUR = 3600 * 1000 };

int handle_get_usage(struct server *sv, struct ask *ask, const void *request, void *reply,
                     struct err *e)
{
    const struct msg_get_usage *req = request;
    struct msg_usage_page *rep = reply;
    int64_t before = req->before == 0 ? INT64_MAX : req->before, running_ms;
    int64_t pilot_cpu_ms, pilot_gpu_ms; /* what pilots that run now have used so far */
    size_t limit = page_limit(req->limit), n = 0;
    struct usage_info *items = arena_alloc(ask->arena, limit * sizeof *items);
    struct stmt *s = db_ask(sv->db, SQL_USAGE_PAGE, "iii", before, req->since, (int64_t)limit + 1);
    int rc;

    while ((rc = stmt_step(s, e)) == 1 && n < limit) {
        struct usage_info *info = &items[n++];

        info->sweep = stmt_int(s, 0);
        info->project = stmt_copy(s, 1, ask->arena);
        info->name = stmt_copy(s, 2, ask->arena);
        info->user = stmt_copy(s, 3, ask->arena);
        info->submitted_at = stmt_int(s, 4);
        info->attempts = stmt_int(s, 5);
        running_ms = 0; /* what attempts that run now have used so far */
        if (stmt_int(s, 10) > 0)
            rc = db_get(sv->db, e, SQL_USAGE_RUNNING, "ii>i", info->sweep, turn_now_ms(sv),
                        &running_ms);
        if (rc >= 0)
            rc = db_get(sv->db, e, SQL_USAGE_PILOTS, "ii>ii", info->sweep, turn_now_ms(sv),
                        &pilot_cpu_ms, &pilot_gpu_ms);
        if (rc < 0)
            break;
        info->pilot_cpu_hours = (double)(stmt_int(s, 11) + pilot_cpu_ms) / MS_PER_HOUR;
        info->pilot_gpu_hours = (double)(stmt_int(s, 12) + pilot_gpu_ms) / MS_PER_HOUR;
        info->hours = (double)(stmt_int(s, 6) + running_ms) / MS_PER_HOUR;
        info->cpu_hours = info->hours * (double)stmt_int(s, 8) / 1000;
        info->gpu_hours = info->hours * (double)stmt_int(s, 9) / 1000;
        info->busy_cpu_hours = (double)stmt_int(s, 7) / MS_PER_HOUR;
        info->ended_hours = (double)stmt_int(s, 6) / MS_PER_HOUR;
        info->memory_gib_hours = stmt_float(s, 13) / MS_PER_HOUR;
        info->used_memory_gib_hours = stmt_float(s, 14) / MS_PER_HOUR;
        info->limit_hours = (double)stmt_int(s, 15) / MS_PER_HOUR;
        info->max_rss_bytes = stmt_int(s, 16);
        info->max_hours = (double)stmt_int(s, 17) / MS_PER_HOUR;
        info->gpu_memory_bytes = stmt_int(s, 18);
        info->seen_gpu_hours = stmt_float(s, 19) / MS_PER_HOUR;
        info->busy_gpu_hours = stmt_float(s, 20) / MS_PER_HOUR;
    }
    rep->more = rc == 1;
    stmt_end(s);
    rep->rows = (struct list){ items, n };
    return rc < 0 ? -1 : 0;
}
