/* SPDX-License-Identifier: MIT */
/* rows.c - reads rows of sweeps, jobs and results into structs of messages */
#include "server/queue/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/msgpack.h"
#include "common/proto/layout.h"
#include "server/queue/hold_notes.h"

/* About how many bytes a job without its parameters, and a measure, take in a message. */
enum { JOB_ABOUT_BYTES = 300, METRIC_ABOUT_BYTES = 40 };

/* ---- sweeps ---- */

int64_t row_mean_ms(int64_t ran_jobs, int64_t ran_ms)
{
    if (ran_jobs == 0)
        return 0;
    return ran_ms < ran_jobs ? 1 : ran_ms / ran_jobs;
}

void row_sweep_row(struct server *sv, struct stmt *s, struct arena *a, struct sweep_info *info,
                   int64_t *owner)
{
    info->sweep = stmt_int(s, 0);
    info->project = stmt_copy(s, 1, a);
    info->name = stmt_copy(s, 2, a);
    info->user = stmt_copy(s, 3, a);
    info->state = stmt_enum(s, 4, SWEEP_STATE_COUNT);
    info->priority = stmt_int(s, 5);
    info->configs = stmt_int(s, 6);
    info->reps = stmt_int(s, 7);
    info->reused = stmt_int(s, 8);
    info->submitted_at = stmt_int(s, 9);
    info->ended_at = stmt_int(s, 10);
    *owner = stmt_int(s, 11);
    info->mean_ms = row_mean_ms(stmt_int(s, 12), stmt_int(s, 13));
    info->slots = stmt_int(s, 21);
    info->ranking = (struct ranking){ stmt_copy(s, 14, a), stmt_enum(s, 15, GOAL_COUNT) };
    info->refused = stmt_copy(s, 16, a);
    info->last_job = stmt_int(s, 17);
    info->note = stmt_copy(s, 18, a);
    info->tags = stmt_copy(s, 19, a);
    info->held = stmt_copy(s, 20, a);
    info->advisor = stmt_copy(s, 22, a);
    info->notice = stmt_copy(s, 23, a);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        info->jobs.of[i] = stmt_int(s, 24 + i);
    /* Before the guard has looked at the jobs that ended, it may still let held jobs run. */
    if (!hold_notes_are_open(sv, info->sweep))
        info->state = (int)sweep_state_shown((enum sweep_state)info->state, &info->jobs);
}

void row_sweep_hide(struct sweep_info *info)
{
    info->held = info->advisor = NULL;
}

int row_sweep(struct server *sv, int64_t sweep, struct arena *a, struct sweep_info *info,
              int64_t *owner, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_SWEEP_INFO, "i", sweep);
    int rc = stmt_step(s, e);

    if (rc == 1)
        row_sweep_row(sv, s, a, info, owner);
    stmt_end(s);
    if (rc == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, sweep);
    return rc < 0 ? -1 : 0;
}

/* ---- jobs ---- */

int64_t queue_place(int64_t no, int64_t rank)
{
    return no - rank * QUEUE_RANK;
}

/* Makes the name with this number: 1 when a job of the configuration has it, 0, -1. */
static int name_is_taken(struct server *sv, const char *stamp, int64_t param, int64_t number,
                         struct buf *name, struct err *e)
{
    int64_t one;

    buf_clear(name);
    buf_printf(name, "%s_num%" PRId64, stamp, number);
    return db_get(sv->db, e, SQL_JOB_NAME_TAKEN, "is>i", param, buf_text(name), &one);
}

/* Several submits may make jobs in the same second.  A name gets the replication's number, else the
 * number after the last name's, else a free number after a taken one, found by doubling steps and
 * then halving them: there may be very many names, and ludwigd serves nobody while it looks. */
int job_name_find(struct server *sv, struct job_names *last, const char *stamp, int64_t param,
                  int64_t rep, struct buf *name, struct err *e)
{
    int64_t taken = rep, free_no = rep;
    int rc = name_is_taken(sv, stamp, param, rep, name, e);

    if (rc == 1 && last->param == param && last->after > rep) {
        taken = free_no = last->after;
        rc = name_is_taken(sv, stamp, param, free_no, name, e);
    }
    for (int64_t step = 1; rc == 1; step *= 2) {
        taken = free_no;
        free_no += step;
        rc = name_is_taken(sv, stamp, param, free_no, name, e);
    }
    while (rc >= 0 && free_no - taken > 1) {
        int64_t middle = taken + (free_no - taken) / 2;

        rc = name_is_taken(sv, stamp, param, middle, name, e);
        *(rc == 1 ? &taken : &free_no) = middle;
    }
    if (rc == 1) /* the last look was at a taken name: make the free one again */
        rc = name_is_taken(sv, stamp, param, free_no, name, e);
    *last = (struct job_names){ param, free_no + 1 };
    return rc;
}

int row_left_checkpoint(struct server *sv, int64_t param, int64_t rep, int64_t uid, struct arena *a,
                        struct checkpoint_origin *left, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_LEFT_CHECKPOINT, "iii", param, rep, uid);
    int rc = stmt_step(s, e);

    if (rc == 1) {
        *left = (struct checkpoint_origin){ .param_name = row_param_name(a, stmt_int(s, 0)) };
        if (!stmt_is_null(s, 2)) {
            left->job_name = stmt_copy(s, 1, a);
            left->attempt = stmt_int(s, 2);
        }
    }
    stmt_end(s);
    if (rc == 0)
        return err_set(e, ERR_INTERNAL, "configuration row %" PRId64 " is not there", param);
    return rc < 0 ? -1 : 0;
}

const char *row_param_name(struct arena *a, int64_t no)
{
    struct buf name = { 0 };

    layout_param_name(&name, no);
    return buf_to_arena(&name, a);
}

static int ended_well(struct stmt *s, int rc, int64_t job, struct err *e)
{
    stmt_end(s);
    if (rc == 1)
        return 0;
    return rc < 0 ? -1 : err_set(e, ERR_INTERNAL, "job %" PRId64 " is not in the database", job);
}

/* What the attempt used; unknown before it has ended. */
static void read_taken(struct stmt *s, int column, int64_t *max_rss_bytes, double *cpu_seconds)
{
    bool is_known = stmt_int(s, column) > 0 || stmt_int(s, column + 1) > 0; /* NULL is below 0 */

    *max_rss_bytes = is_known ? stmt_int(s, column) : SCHEMA_NONE;
    *cpu_seconds = is_known ? (double)stmt_int(s, column + 1) / 1000 : (double)NAN;
}

/* How much the attempt used its GPUs. */
static void read_gpus(struct stmt *s, int column, int64_t *memory_bytes, double *percent)
{
    *memory_bytes = stmt_int(s, column);
    *percent = stmt_is_null(s, column + 1) ? (double)NAN : stmt_float(s, column + 1);
}

/* Adds what is known of the newest attempt; for a job that waits again only why that one ended. */
static void add_attempt(struct stmt *s, struct arena *a, struct job_info *info)
{
    enum attempt_state state = (enum attempt_state)stmt_enum(s, 11, ATTEMPT_STATE_COUNT);

    info->attempt = stmt_int(s, 10);
    if (stmt_enum(s, 17, CAUSE_COUNT) != CAUSE_NONE)
        info->cause = cause_names[stmt_enum(s, 17, CAUSE_COUNT)];
    if (info->reason == NULL)
        info->reason = stmt_copy(s, 14, a);
    if ((info->state == JOB_QUEUED || info->state == JOB_HELD) && !attempt_is_live(state))
        return;
    info->exit_code = stmt_int(s, 12);
    info->signal = stmt_int(s, 13);
    info->started_at = stmt_int(s, 15);
    info->node = stmt_copy(s, 16, a);
    info->partition = stmt_copy(s, 19, a);
    read_taken(s, 24, &info->max_rss_bytes, &info->cpu_seconds);
    read_gpus(s, 28, &info->gpu_memory_bytes, &info->gpu_percent);
    info->gpu_ids = stmt_copy(s, 31, a);
}

/* The path of the measures of a job without a result: among the files that its last attempt left,
 * if there are some, else beside the attempt's log.  NULL: no attempt has run. */
static const char *metrics_path(struct arena *a, enum attempt_state state, int64_t attempt,
                                const char *log_path, const char *failed_path)
{
    struct buf path = { 0 };

    if (attempt == 1 && (state == ATTEMPT_ASSIGNED || state == ATTEMPT_STAGING ||
                         state == ATTEMPT_RECALLED || state == ATTEMPT_WITHDRAWN))
        return NULL;
    if ((state == ATTEMPT_FAILED || state == ATTEMPT_STOPPED) && failed_path != NULL)
        buf_printf(&path, "%s/" LAYOUT_METRICS, failed_path);
    else
        layout_live_metrics(&path, log_path);
    return buf_to_arena(&path, a);
}

int row_job(struct server *sv, const char *project, int64_t job, struct arena *a,
            struct job_info *info, size_t *size_bytes, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_INFO, "i", job);
    int rc = stmt_step(s, e);
    struct buf path = { 0 };
    struct bytes params;
    int64_t sweep;

    if (rc <= 0)
        return ended_well(s, rc, job, e);
    sweep = stmt_int(s, 0);
    *info = (struct job_info){ .exit_code = SCHEMA_NONE,
                               .signal = SCHEMA_NONE,
                               .max_rss_bytes = SCHEMA_NONE,
                               .cpu_seconds = (double)NAN,
                               .gpu_memory_bytes = SCHEMA_NONE,
                               .gpu_percent = (double)NAN };
    info->job = arena_printf(a, "%" PRId64 ".%" PRId64, sweep, stmt_int(s, 1));
    info->param_name = row_param_name(a, stmt_int(s, 2));
    info->job_name = stmt_copy(s, 3, a);
    info->rep = stmt_int(s, 4);
    info->state = stmt_enum(s, 5, JOB_STATE_COUNT);
    info->reason = stmt_copy(s, 6, a);
    info->queued_at = stmt_int(s, 7);
    info->ended_at = stmt_int(s, 8);
    info->memory_bytes = stmt_int(s, 26) > 0 ? stmt_int(s, 26) : SCHEMA_NONE;
    info->time_ms = stmt_int(s, 27) > 0 ? stmt_int(s, 27) : SCHEMA_NONE;
    info->follows = stmt_copy(s, 20, a);
    if (info->state == JOB_QUEUED && info->follows != NULL)
        info->reason =
            arena_printf(a, "waits for the result of job %s, which does the same", info->follows);
    if (info->state == JOB_QUEUED && info->follows == NULL && stmt_int(s, 21) == SWEEP_PAUSED)
        info->reason = arena_printf(a, "sweep %" PRId64 " is paused (ludwig resume %" PRId64 ")",
                                    sweep, sweep);
    if (info->state == JOB_QUEUED && stmt_int(s, 18) != 0)
        info->reason = "paused";
    if (info->state == JOB_HELD)
        info->reason = stmt_copy(s, 22, a);
    if (info->state == JOB_STOPPED)
        info->reason = stmt_copy(s, 23, a);
    info->resumed = stmt_copy(s, 30, a);
    if (!stmt_is_null(s, 10))
        add_attempt(s, a, info);
    if (info->attempt > 0) {
        layout_log(&path, project, sweep, info->param_name, info->job_name, info->attempt);
        info->log_path = buf_to_arena(&path, a);
    }
    if (job_has_published((enum job_state)info->state)) {
        layout_run(&path, project, info->param_name, info->job_name);
        info->run_path = buf_to_arena(&path, a);
    } else if (info->state == JOB_FAILED && !stmt_is_null(s, 11) &&
               stmt_int(s, 11) == ATTEMPT_FAILED) {
        layout_failed(&path, project, info->param_name, info->job_name, info->attempt);
        info->run_path = buf_to_arena(&path, a);
    } else if (info->state == JOB_STOPPED && !stmt_is_null(s, 11) &&
               stmt_int(s, 11) == ATTEMPT_STOPPED) {
        layout_stopped(&path, project, info->param_name, info->job_name, info->attempt);
        info->run_path = buf_to_arena(&path, a);
    }
    if (info->attempt > 0 && !job_has_published((enum job_state)info->state))
        info->metrics_path =
            metrics_path(a, (enum attempt_state)stmt_enum(s, 11, ATTEMPT_STATE_COUNT),
                         info->attempt, info->log_path, info->run_path);
    params = stmt_bytes(s, 9); /* checked at submit */
    *size_bytes += JOB_ABOUT_BYTES + params.n;
    if (mp_read(params.data, params.n, a, &info->params, e) < 0)
        rc = -1;
    return ended_well(s, rc, job, e);
}

/* ---- results ---- */

/* SQLite keeps a NaN as NULL. */
static double float_or_nan(struct stmt *s, int column)
{
    return stmt_is_null(s, column) ? (double)NAN : stmt_float(s, column);
}

static int read_metrics(struct server *sv, int64_t attempt, struct arena *a, struct list *metrics,
                        size_t *size_bytes, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_METRICS, "ii", attempt, (int64_t)METRICS_MAX);
    struct metric *items = NULL, *kept;
    size_t n = 0, capacity = 0;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        mem_grow((void **)&items, &capacity, n, sizeof *items);
        items[n] = (struct metric){ .name = stmt_copy(s, 0, a),
                                    .value = float_or_nan(s, 1),
                                    .step = stmt_int(s, 2),
                                    .min = float_or_nan(s, 3),
                                    .max = float_or_nan(s, 4),
                                    .n = stmt_int(s, 5) };
        n++;
        *size_bytes += METRIC_ABOUT_BYTES;
    }
    kept = arena_alloc(a, n * sizeof *kept);
    if (n > 0)
        memcpy(kept, items, n * sizeof *kept);
    free(items);
    *metrics = (struct list){ kept, n };
    return rc;
}

int row_result(struct server *sv, const char *project, int64_t job, struct arena *a,
               struct job_result *result, size_t *size_bytes, struct err *e)
{
    struct stmt *s = db_ask(sv->db, SQL_JOB_RESULT, "i", job);
    int rc = stmt_step(s, e);
    struct buf path = { 0 };
    struct bytes params;

    if (rc <= 0)
        return ended_well(s, rc, job, e);
    *result =
        (struct job_result){ .rep = stmt_int(s, 3), .state = stmt_enum(s, 4, JOB_STATE_COUNT) };
    result->job = arena_printf(a, "%" PRId64 ".%" PRId64, stmt_int(s, 0), stmt_int(s, 1));
    result->param_name = row_param_name(a, stmt_int(s, 2));
    read_taken(s, 12, &result->max_rss_bytes, &result->cpu_seconds);
    read_gpus(s, 14, &result->gpu_memory_bytes, &result->gpu_percent);
    /* The path of the job's files, or why there are none. */
    if (job_has_published((enum job_state)result->state)) {
        layout_run(&path, project, result->param_name, stmt_text(s, 7));
        result->run_path = buf_to_arena(&path, a);
        result->reason = stmt_copy(s, 9, a);
    } else if (result->state == JOB_FAILED || result->state == JOB_STOPPED) {
        result->reason = stmt_copy(s, stmt_is_null(s, 8) ? 9 : 8, a);
    }
    if (result->state == JOB_STOPPED && !stmt_is_null(s, 11) &&
        stmt_int(s, 11) == ATTEMPT_STOPPED) {
        layout_stopped(&path, project, result->param_name, stmt_text(s, 7), stmt_int(s, 10));
        result->run_path = buf_to_arena(&path, a);
    }
    if (!stmt_is_null(s, 10) && !job_has_published((enum job_state)result->state)) {
        struct buf failed = { 0 };

        layout_log(&path, project, stmt_int(s, 0), result->param_name, stmt_text(s, 7),
                   stmt_int(s, 10));
        if (result->state == JOB_FAILED)
            layout_failed(&failed, project, result->param_name, stmt_text(s, 7), stmt_int(s, 10));
        if (result->run_path != NULL)
            buf_add_str(&failed, result->run_path);
        result->metrics_path =
            metrics_path(a, (enum attempt_state)stmt_enum(s, 11, ATTEMPT_STATE_COUNT),
                         stmt_int(s, 10), buf_text(&path), failed.n > 0 ? buf_text(&failed) : NULL);
        buf_free(&failed);
        buf_free(&path);
    }
    params = stmt_bytes(s, 5);
    *size_bytes += JOB_ABOUT_BYTES + params.n;
    if (mp_read(params.data, params.n, a, &result->params, e) < 0 ||
        (!stmt_is_null(s, 6) &&
         read_metrics(sv, stmt_int(s, 6), a, &result->metrics, size_bytes, e) < 0))
        rc = -1;
    return ended_well(s, rc, job, e);
}
