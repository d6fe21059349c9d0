/* SPDX-License-Identifier: MIT */
/* view_jobs.c - the pane of jobs of `ludwig watch`: a grid of states, or a list */
#include "client/watch/view_pane.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/query/jobinfo.h"
#include "client/term/safe_text.h"
#include "common/base/units.h"

enum { GROUP = 10 }; /* so many cells of the grid's row stand without a gap */

/* ---- the grid of jobs ---- */

struct grid {
    size_t label;   /* columns of the number at the beginning of a row */
    size_t per_row; /* cells in a row */
    size_t rows;    /* rows that are shown */
    size_t all_rows;
    size_t per_cell;  /* jobs in a cell */
    size_t first_row; /* the first row that is shown */
};

static struct grid grid_of(const struct view *v, const struct watch_sweep *s, size_t columns,
                           size_t most_rows)
{
    static const size_t steps[] = { 1, 2, 5 };
    struct grid g = { .per_cell = 1 };
    size_t n = s->n_shown, cursor = model_cursor(s), groups;

    g.label = 2;
    for (size_t rest = s->n_jobs; rest >= 10; rest /= 10)
        g.label++;
    groups = columns > g.label ? (columns - g.label) / (GROUP + 1) : 0;
    g.per_row = groups > 0 ? groups * GROUP : GROUP;
    for (size_t k = 0, tens = 1; !v->m->is_zoomed && n > g.per_row * most_rows * g.per_cell; k++) {
        tens *= k > 0 && k % 3 == 0 ? 10 : 1;
        g.per_cell = steps[k % 3] * tens;
    }
    g.all_rows = (n + g.per_row * g.per_cell - 1) / (g.per_row * g.per_cell);
    g.rows = g.all_rows < most_rows ? g.all_rows : most_rows;
    g.rows = g.rows > 0 ? g.rows : 1;
    cursor /= g.per_row * g.per_cell;
    if (g.all_rows > g.rows && cursor > g.rows / 2)
        g.first_row =
            cursor - g.rows / 2 + g.rows > g.all_rows ? g.all_rows - g.rows : cursor - g.rows / 2;
    return g;
}

/* The state that a cell shows: failed if a tenth of its jobs have failed, else running if any runs,
 * else the state of most of its jobs. */
static int state_of_cell(const struct watch_sweep *s, size_t from, size_t to, bool *is_paused,
                         bool *is_marked)
{
    size_t counts[JOB_STATE_COUNT] = { 0 }, n_paused = 0;
    int most = 0;

    *is_marked = false;
    for (size_t i = from; i < to; i++) {
        const struct watch_job *j = &s->jobs[s->shown[i] - 1];

        counts[j->state]++;
        n_paused += j->is_paused;
        *is_marked |= j->is_marked;
    }
    for (int i = 1; i < JOB_STATE_COUNT; i++)
        if (counts[i] > counts[most])
            most = i;
    if (counts[JOB_FAILED] * 10 >= to - from)
        most = JOB_FAILED;
    else if (counts[JOB_RUNNING] > 0)
        most = JOB_RUNNING;
    *is_paused = most == JOB_QUEUED && n_paused * 2 > counts[JOB_QUEUED];
    return most;
}

static void draw_cell(struct view *v, const struct area *a, const struct watch_sweep *s,
                      const struct grid *g, size_t cell)
{
    size_t from = cell * g->per_cell, to = from + g->per_cell, at = model_cursor(s);
    size_t row = cell / g->per_row - g->first_row, in_row = cell % g->per_row;
    size_t column = g->label + in_row + in_row / GROUP;
    bool is_paused, is_marked;
    char letter[2];
    int state, ink;

    to = to < s->n_shown ? to : s->n_shown;
    state = state_of_cell(s, from, to, &is_paused, &is_marked);
    ink = view_ink_of_state(state, is_paused) | (is_marked ? INK_REVERSE : 0);
    if (at >= from && at < to) {
        ink = INK_STRONG | INK_REVERSE;
        if (v->m->focus != PANE_SWEEPS) {
            v->cursor_column = a->column + column;
            v->cursor_row = a->row + row;
        }
    }
    view_put(v, a, row, column, ink, view_sign_of_state(v, state, is_paused, letter));
}

/* How many of a pane's rows the grid gets: the job under the cursor takes four, and in a pane with
 * much room half of it is for the list. */
static size_t grid_rows(size_t rows)
{
    return rows > 20 ? rows / 2 : rows > 5 ? rows - 4 : 1;
}

static void draw_grid(struct view *v, const struct area *a, const struct watch_sweep *s,
                      const struct grid *g)
{
    struct buf label = { 0 };

    for (size_t row = 0; row < g->rows; row++) {
        size_t first = (g->first_row + row) * g->per_row;

        if (first * g->per_cell >= s->n_shown)
            break;
        buf_printf(&label, "%" PRId64, s->shown[first * g->per_cell]);
        canvas_text_before(v->c, a->column + g->label - 1, a->row + row, g->label, INK_DIM,
                           buf_text(&label));
        buf_clear(&label);
        for (size_t i = 0; i < g->per_row && (first + i) * g->per_cell < s->n_shown; i++)
            draw_cell(v, a, s, g, first + i);
    }
    buf_free(&label);
}

/* Draws "■ 34 done  ● 2 running  · 27 queued" for the jobs that are shown. */
static void draw_counts(struct view *v, const struct area *a, size_t row,
                        const struct watch_sweep *s, size_t per_cell)
{
    size_t counts[JOB_STATE_COUNT] = { 0 }, n_paused = 0, n_marked = model_n_marked(s), column = 0;
    struct buf text = { 0 };
    char letter[2];

    for (size_t i = 0; i < s->n_shown; i++) {
        const struct watch_job *j = &s->jobs[s->shown[i] - 1];

        n_paused += j->is_paused;
        counts[j->state] += !j->is_paused;
    }
    for (int i = 0; i <= JOB_STATE_COUNT; i++) {
        bool is_paused = i == JOB_STATE_COUNT;
        size_t n = is_paused ? n_paused : counts[i];

        if (n == 0)
            continue;
        buf_printf(&text, "%s %zu %s  ",
                   view_sign_of_state(v, is_paused ? JOB_QUEUED : i, is_paused, letter), n,
                   is_paused ? "paused" : job_state_names[i]);
        column = view_put_buf(v, a, row, column,
                              view_ink_of_state(is_paused ? JOB_QUEUED : i, is_paused), &text);
    }
    if (n_marked > 0) {
        buf_printf(&text, " %zu selected ", n_marked);
        column = view_put_buf(v, a, row, column, INK_STRONG | INK_REVERSE, &text);
    }
    if (per_cell > 1) {
        buf_printf(&text, "  a sign: %zu jobs (z: one)", per_cell);
        view_put_buf(v, a, row, column, INK_DIM, &text);
    }
}

/* ---- the job under the cursor ---- */

static void draw_job(struct view *v, const struct area *a, size_t row, const struct watch_sweep *s,
                     int64_t number)
{
    const struct watch_job *j = &s->jobs[number - 1];
    struct job_info job;
    struct buf text = { 0 };
    bool is_bad;

    if (!model_job(s, number, v->arena, &job))
        return;
    is_bad = job_look((enum job_state)job.state) == JOB_LOOKS_BAD;
    buf_printf(&text, "%s %s", job.job,
               jobinfo_is_paused(&job) ? "paused" : job_state_names[job.state]);
    if (job.node != NULL && job.node[0] != '\0')
        buf_printf(&text, " on %s", job.node);
    if (job.started_at != 0) {
        int64_t end_ms = job.ended_at != 0 ? job.ended_at : v->look->now_ms;

        buf_add_str(&text, job.ended_at != 0 ? " after " : " for ");
        units_add_duration(&text,
                           end_ms > job.started_at ? (end_ms - job.started_at) / 1000 * 1000 : 0);
    }
    if (job.attempt > 1)
        buf_printf(&text, ", attempt %" PRId64, job.attempt);
    if (j->is_pinned)
        buf_add_str(&text, ", pinned");
    if (j->is_marked)
        buf_add_str(&text, ", selected");
    view_put_buf(v, a, row, 0, INK_STRONG, &text);
    jobinfo_add_params(&text, &job.params);
    view_put_buf(v, a, row + 1, 0, INK_PLAIN, &text);
    if (job.follows != NULL)
        buf_printf(&text, "waits for the result of %s, which does the same", job.follows);
    else if (!jobinfo_is_paused(&job))
        jobinfo_add_reason(&text, &job);
    if (text.n > 0 && job.state == JOB_PUBLISHING) {
        char *why = buf_take(&text);

        buf_printf(&text, "not yet: %s", why);
        free(why);
    }
    view_put_buf(v, a, row + 2, 0, is_bad ? INK_BAD : INK_WARN, &text);
}

static void draw_several(struct view *v, const struct area *a, size_t row,
                         const struct watch_sweep *s, size_t from, size_t to)
{
    struct buf text = { 0 };

    buf_printf(&text, "%" PRId64 ".%" PRId64 " to %" PRId64 ".%" PRId64 ":", s->info.sweep,
               s->shown[from], s->info.sweep, s->shown[to - 1]);
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        size_t n = 0;

        for (size_t i = from; i < to; i++)
            n += s->jobs[s->shown[i] - 1].state == state;
        if (n > 0)
            buf_printf(&text, " %zu %s", n, job_state_names[state]);
    }
    view_put_buf(v, a, row, 0, INK_PLAIN, &text);
}

/* ---- jobs one below the other ---- */

struct listed {
    int64_t number, at_ms; /* at_ms: when the job began, or has ended */
    bool is_running;
};

/* Running jobs come first, the longest-running at the top; then ended jobs, the newest first. */
static int compare_listed(const void *x, const void *y)
{
    const struct listed *a = x, *b = y;

    if (a->is_running != b->is_running)
        return a->is_running ? -1 : 1;
    if (a->at_ms != b->at_ms)
        return (a->at_ms < b->at_ms) == a->is_running ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void draw_list(struct view *v, const struct area *a, size_t row, const struct watch_sweep *s)
{
    struct listed *all;
    struct buf text = { 0 };
    size_t n = 0;

    if (row + 2 >= a->rows)
        return;
    all = mem_alloc((s->n_shown + 1) * sizeof *all);
    for (size_t i = 0; i < s->n_shown; i++) {
        const struct watch_job *j = &s->jobs[s->shown[i] - 1];
        bool is_ended = job_is_ended((enum job_state)j->state);

        if (is_ended ? j->ended_at != 0 : j->state == JOB_RUNNING || j->state == JOB_PUBLISHING)
            all[n++] =
                (struct listed){ s->shown[i], is_ended ? j->ended_at : j->started_at, !is_ended };
    }
    qsort(all, n, sizeof *all, compare_listed);
    for (size_t i = 0; i < n && row < a->rows; i++, row++) {
        const struct watch_job *j = &s->jobs[all[i].number - 1];
        int ink = view_ink_of_state(j->state, false);
        struct job_info job;
        char letter[2];

        if (!model_job(s, all[i].number, v->arena, &job))
            continue;
        view_put(v, a, row, 0, ink, view_sign_of_state(v, j->state, false, letter));
        buf_add_str(&text, job.job);
        view_put_buf(v, a, row, 2, INK_PLAIN, &text);
        if (job.started_at != 0)
            jobinfo_add_time(&text, &job, v->look->now_ms / 1000 * 1000);
        canvas_text_before(v->c, a->column + 24, a->row + row, 12, ink, buf_text(&text));
        buf_clear(&text);
        view_put(v, a, row, 25, INK_PLAIN, job.node != NULL ? job.node : "");
        if (job_look((enum job_state)j->state) == JOB_LOOKS_BAD) {
            jobinfo_add_reason(&text, &job);
            buf_add_str(&text, "  ");
        }
        jobinfo_add_params(&text, &job.params);
        for (size_t k = 36; k < a->columns; k++)
            view_put(v, a, row, k, INK_PLAIN, " ");
        view_put_buf(v, a, row, 36, ink == INK_BAD ? INK_BAD : INK_PLAIN, &text);
    }
    free(all);
    buf_free(&text);
}

void view_draw_jobs(struct view *v, const struct area *a)
{
    struct watch_model *m = v->m;
    struct watch_sweep *s = model_chosen(m);
    size_t cursor;
    struct area inner = { a->column, a->row + 1, a->columns, a->rows - 1 };
    struct buf title = { 0 };
    struct grid g;

    if (s == NULL || s->info.user == NULL) {
        view_put_title(v, a, PANE_JOBS, "jobs");
        view_put(v, &inner, 0, 0, INK_DIM, "asking the server...");
        return;
    }
    buf_printf(&title, "jobs of sweep %" PRId64 " %s", s->info.sweep, view_sweep_name(&s->info));
    if (m->filter != NULL)
        buf_printf(&title, ": %s", m->filter);
    safe_text_clean(&title, "");
    title.n = canvas_fitting(buf_text(&title), title.n, a->columns > 8 ? a->columns - 8 : 0);
    title.bytes[title.n] = '\0';
    view_put_title(v, a, PANE_JOBS, buf_text(&title));
    buf_free(&title);
    if (!s->may_see) {
        view_put(v, &inner, 0, 0, INK_DIM, "another user's: its jobs are not shown");
        return;
    }
    if (s->n_shown == 0) {
        view_put(v, &inner, 0, 0, INK_DIM,
                 !s->is_whole        ? "asking the server..."
                 : m->filter != NULL ? "no job matches the filter (Esc shows all)"
                                     : "it has no jobs");
        return;
    }
    g = grid_of(v, s, a->columns, grid_rows(inner.rows));
    m->jobs_per_cell = g.per_cell;
    m->cells_per_row = g.per_row;
    cursor = model_cursor(s);
    draw_grid(v, &inner, s, &g);
    draw_counts(v, &inner, g.rows, s, g.per_cell);
    if (g.per_cell > 1) {
        size_t from = cursor / g.per_cell * g.per_cell, to = from + g.per_cell;

        draw_several(v, &inner, g.rows + 1, s, from, to < s->n_shown ? to : s->n_shown);
        draw_job(v, &inner, g.rows + 2, s, s->shown[cursor]);
        draw_list(v, &inner, g.rows + 6, s);
    } else {
        draw_job(v, &inner, g.rows + 1, s, s->shown[cursor]);
        draw_list(v, &inner, g.rows + 5, s);
    }
}

size_t view_jobs_rows(struct view *v, size_t columns, size_t most)
{
    struct watch_sweep *s = model_chosen(v->m);
    size_t around = 1 + 1 + 3, rows;

    if (s == NULL || s->n_shown == 0)
        return around + 1 < most ? around + 1 : most;
    rows = grid_of(v, s, columns, grid_rows(most - 1)).rows + around;
    return rows < most ? rows : most;
}
