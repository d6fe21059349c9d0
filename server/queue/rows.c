/* SPDX-License-Identifier: MIT */
/* rows.c - reads rows of sweeps, jobs and results into structs of messages */
#include "server/queue/rows.h"

#include <inttypes.h>
#include <math.h>

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
    info->ranking = (struct ranking){ stmt_copy(s, 14, a), stmt_enum(s, 15, GOAL_COUNT) };
    info->refused = stmt_copy(s, 16, a);
    info->last_job = stmt_int(s, 17);
    info->note = stmt_copy(s, 18, a);
    info->tags = stmt_copy(s, 19, a);
    info->held = stmt_copy(s, 20, a);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        info->jobs.of[i] = stmt_int(s, 21 + i);
    /* While the guard has not looked at what ended, it may let jobs run again. */
    if (!hold_notes_are_open(sv, info->sweep))
        info->state = (int)sweep_state_shown((enum sweep_state)info->state, &info->jobs);
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

int64_t queue_place(int64_t no, bool is_early)
{
    return is_early ? no - (INT64_C(1) << 40) : no;
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

/* Of a job that waits again, only the reason of the attempt before is told. */
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
}

/* The path of the measures of an attempt without a result: beside its log while it lives, else
 * among the files it left.  NULL: there is none. */
static const char *metrics_path(struct arena *a, enum attempt_state state, const char *log_path,
                                const char *failed_path)
{
    struct buf path = { 0 };

    if (state == ATTEMPT_RUNNING || state == ATTEMPT_PUBLISHING)
        layout_live_metrics(&path, log_path);
    else if (state == ATTEMPT_FAILED && failed_path != NULL)
        buf_printf(&path, "%s/" LAYOUT_METRICS, failed_path);
    return path.n > 0 ? buf_to_arena(&path, a) : NULL;
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
    *info = (struct job_info){ .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE };
    info->job = arena_printf(a, "%" PRId64 ".%" PRId64, sweep, stmt_int(s, 1));
    info->param_name = row_param_name(a, stmt_int(s, 2));
    info->job_name = stmt_copy(s, 3, a);
    info->rep = stmt_int(s, 4);
    info->state = stmt_enum(s, 5, JOB_STATE_COUNT);
    info->reason = stmt_copy(s, 6, a);
    info->queued_at = stmt_int(s, 7);
    info->ended_at = stmt_int(s, 8);
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
    }
    if (info->attempt > 0 && !job_has_published((enum job_state)info->state))
        info->metrics_path =
            metrics_path(a, (enum attempt_state)stmt_enum(s, 11, ATTEMPT_STATE_COUNT),
                         info->log_path, info->run_path);
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
    struct metric *items = arena_alloc(a, METRICS_MAX * sizeof *items);
    size_t n = 0;
    int rc;

    while ((rc = stmt_step(s, e)) == 1) {
        items[n] = (struct metric){ .name = stmt_copy(s, 0, a),
                                    .value = float_or_nan(s, 1),
                                    .step = stmt_int(s, 2),
                                    .min = float_or_nan(s, 3),
                                    .max = float_or_nan(s, 4),
                                    .n = stmt_int(s, 5) };
        n++;
        *size_bytes += METRIC_ABOUT_BYTES;
    }
    *metrics = (struct list){ items, n };
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
    /* The path of its files, or why there are none. */
    if (job_has_published((enum job_state)result->state)) {
        layout_run(&path, project, result->param_name, stmt_text(s, 7));
        result->run_path = buf_to_arena(&path, a);
    } else if (result->state == JOB_FAILED) {
        result->reason = stmt_copy(s, stmt_is_null(s, 8) ? 9 : 8, a);
    }
    if (!stmt_is_null(s, 10) && !job_has_published((enum job_state)result->state)) {
        struct buf failed = { 0 };

        layout_log(&path, project, stmt_int(s, 0), result->param_name, stmt_text(s, 7),
                   stmt_int(s, 10));
        if (result->state == JOB_FAILED)
            layout_failed(&failed, project, result->param_name, stmt_text(s, 7), stmt_int(s, 10));
        result->metrics_path =
            metrics_path(a, (enum attempt_state)stmt_enum(s, 11, ATTEMPT_STATE_COUNT),
                         buf_text(&path), failed.n > 0 ? buf_text(&failed) : NULL);
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
