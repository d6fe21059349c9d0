/* SPDX-License-Identifier: MIT */
/* view.c - draws what `ludwig watch` knows on the cells of a terminal */
#include "client/watch/view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/nodeinfo.h"
#include "client/query/sweepview.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "client/watch/keys.h"
#include "client/watch/view_pane.h"
#include "common/base/units.h"

enum {
    NOTICE_MS = 10 * 1000,
    LOST_MS = 2500,   /* a server that is away for longer is told of */
    SLOW_MS = 3000,   /* an answer that takes longer is told of */
    ASKING_MS = 300,  /* what is missing so long after a key is said to be on its way */
    KEYS_COLUMNS = 56 /* the width of a column of the help */
};

/* ---- sweeps ---- */

static void add_bar(struct buf *out, const struct view *v, int64_t part, int64_t all,
                    size_t columns)
{
    size_t full = all > 0 ? (size_t)(part * (int64_t)columns / all) : 0;

    for (size_t i = 0; i < columns; i++)
        buf_add_str(out,
                    i < full ? (v->look->has_utf8 ? "█" : "#") : (v->look->has_utf8 ? "░" : "."));
}

static int ink_of_sweep(int state)
{
    if (state == SWEEP_DONE)
        return INK_GOOD;
    if (state == SWEEP_FAILED)
        return INK_BAD;
    if (state == SWEEP_PAUSED || state == SWEEP_HELD)
        return INK_WARN;
    return state == SWEEP_RUNNING ? INK_BUSY : INK_DIM;
}

/* Draws "▸ 7 digits       running  ████████░░░░  34 of 64  ~12 s  2 running  1 failed". */
static void draw_sweep(const struct view *v, const struct area *a, size_t row, size_t i)
{
    const struct watch_sweep *s = &v->m->sweeps[i];
    const struct sweep_info *info = &s->info;
    bool is_chosen = i == v->m->sweep;
    size_t bar = a->columns >= 76 ? 16 : a->columns >= 60 ? 8 : 0, column;
    int64_t left_ms, jobs;
    struct buf text = { 0 };

    if (info->user == NULL) {
        buf_printf(&text, "  %" PRId64, info->sweep);
        view_put_buf(v, a, row, 0, INK_DIM, &text);
        return;
    }
    buf_printf(&text, "%s%" PRId64 " %s", is_chosen ? (v->look->has_utf8 ? "▸ " : "> ") : "  ",
               info->sweep, view_sweep_name(info));
    safe_text_clean(&text, "");
    canvas_text(v->c, a->column, a->row + row, 20, is_chosen ? INK_STRONG : INK_PLAIN,
                buf_text(&text));
    buf_free(&text);
    view_put(v, a, row, 21, ink_of_sweep(info->state), sweep_state_names[info->state]);
    jobs = progress_jobs(&info->jobs) + info->reused;
    add_bar(&text, v, progress_reached(info), jobs, bar);
    view_put_buf(v, a, row, 31, ink_of_sweep(info->state), &text);
    buf_printf(&text, "%" PRId64 " of %" PRId64, progress_done(&info->jobs) + info->reused, jobs);
    column = view_put_buf(v, a, row, 31 + (bar > 0 ? bar + 1 : 0), INK_PLAIN, &text);
    left_ms = sweepview_left_ms(info);
    if (left_ms > 0) {
        int64_t left_s = left_ms / 1000;

        if (left_s < 100)
            buf_printf(&text, "  ~%" PRId64 " s", left_s);
        else if (left_s < INT64_C(100) * 60)
            buf_printf(&text, "  ~%" PRId64 " min", left_s / 60);
        else
            buf_printf(&text, "  ~%" PRId64 " h", left_s / 3600);
        column = view_put_buf(v, a, row, column, INK_DIM, &text);
    }
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        if (state != JOB_DONE && state != JOB_QUEUED && info->jobs.of[state] > 0) {
            buf_printf(&text, "  %" PRId64 " %s", info->jobs.of[state], job_state_names[state]);
            column = view_put_buf(v, a, row, column, view_ink_of_state(state, false), &text);
        }
}

static size_t sweep_rows(const struct view *v, size_t most)
{
    size_t n = v->m->n_sweeps > 0 ? v->m->n_sweeps : 1;

    return n < most ? n : most;
}

static void draw_sweeps(struct view *v, const struct area *a)
{
    size_t rows = a->rows - 1, first = v->m->sweep >= rows ? v->m->sweep - rows + 1 : 0;
    struct buf title = { 0 };

    buf_add_str(&title, "sweeps");
    if (v->m->n_sweeps > rows)
        buf_printf(&title, " (%zu to %zu of %zu)", first + 1, first + rows, v->m->n_sweeps);
    view_put_title(v, a, PANE_SWEEPS, buf_text(&title));
    buf_free(&title);
    for (size_t i = 0; i < rows && first + i < v->m->n_sweeps; i++)
        draw_sweep(v, a, i + 1, first + i);
    if (v->m->focus == PANE_SWEEPS) {
        v->cursor_column = a->column;
        v->cursor_row = a->row + 1 + v->m->sweep - first;
    }
}

/* ---- the log ---- */

static void draw_log(struct view *v, const struct area *a)
{
    struct watch_model *m = v->m;
    struct area inner = { a->column, a->row + 1, a->columns, a->rows - 1 };
    size_t left = inner.rows, n = m->n_lines > m->log_back ? m->n_lines - m->log_back : 0;
    struct watch_sweep *s = model_chosen(m);
    const struct watch_job *current = s != NULL ? model_current(s) : NULL;
    struct buf title = { 0 };

    /* Until the log of this job is here, another job's log must not be taken for it. */
    if (current != NULL && v->look->tick_ms - m->key_at_ms > ASKING_MS &&
        (m->log_sweep != s->info.sweep || m->log_job != current - s->jobs + 1)) {
        buf_printf(&title, "log of %" PRId64 ".%zu", s->info.sweep,
                   (size_t)(current - s->jobs) + 1);
        view_put_title(v, a, PANE_LOG, buf_text(&title));
        buf_free(&title);
        view_put(v, &inner, 0, 0, INK_DIM, "asking for it...");
        return;
    }
    buf_add_str(&title, "log");
    if (m->log_path != NULL)
        buf_printf(&title, " of %" PRId64 ".%" PRId64 "%s", m->log_sweep, m->log_job,
                   m->log_back > 0 ? " (G: to its end)" : "");
    view_put_title(v, a, PANE_LOG, buf_text(&title));
    buf_free(&title);
    if (m->log_path == NULL || m->n_lines == 0)
        view_put(v, &inner, 0, 0, INK_DIM,
                 m->log_path == NULL ? "the job has no log yet" : "the log is empty");
    /* At the log's beginning a whole page is shown. */
    if (m->log_back > 0 && n < inner.rows)
        n = m->n_lines < inner.rows ? m->n_lines : inner.rows;
    while (left > 0 && n > 0) {
        const char *raw = m->lines[(m->first_line + --n) % WATCH_LOG_LINES], *at;
        size_t pieces[64], n_pieces = 0, length;
        struct buf line = { 0 };

        safe_text_add_harmless(&line, raw != NULL ? raw : "", raw != NULL ? strcspn(raw, "\r") : 0,
                               "\t");
        for (size_t i = 0; i < line.n; i++)
            if (line.bytes[i] == '\t')
                line.bytes[i] = ' ';
        at = buf_text(&line);
        length = line.n;
        /* Finds where each row begins that the line takes. */
        do {
            size_t fitting = canvas_fitting(at, length, inner.columns);

            pieces[n_pieces++] = (size_t)(at - buf_text(&line));
            at += fitting;
            length -= fitting;
        } while (length > 0 && n_pieces < sizeof pieces / sizeof pieces[0]);
        while (left > 0 && n_pieces > 0)
            view_put(v, &inner, --left, 0, INK_PLAIN, buf_text(&line) + pieces[--n_pieces]);
        buf_free(&line);
    }
    /* A log that does not fill the pane stands at its top. */
    if (left > 0 && m->n_lines > 0 && n == 0)
        canvas_scroll(v->c, &inner, left);
}

/* ---- nodes and pilots ---- */

static void add_gpus(struct buf *out, const struct view *v, const struct node_info *n)
{
    const char *const *models = n->gpu_models.items;
    double used = (double)n->gpus - n->gpus_free;

    if (n->gpus == 0) {
        buf_add_str(out, "no GPU");
        return;
    }
    for (int64_t i = 0; i < n->gpus && i < 8; i++)
        buf_add_str(out, (double)i + 0.5 < used + 0.01 ? (v->look->has_utf8 ? "■" : "#")
                                                       : (v->look->has_utf8 ? "□" : "."));
    buf_printf(out, " %g of %" PRId64, used, n->gpus);
    if (n->gpu_models.n > 0 && models[0] != NULL && models[0][0] != '\0')
        buf_printf(out, " %.14s", models[0]);
}

static void draw_node(struct view *v, const struct area *a, size_t row, const struct node_info *n)
{
    const char *const *jobs = n->jobs.items;
    const char *state = n->state != NULL ? n->state : "";
    bool is_up = strcmp(state, "up") == 0;
    struct buf text = { 0 };
    size_t column;

    buf_printf(&text, "%.15s", n->node);
    view_put_buf(v, a, row, 0, INK_PLAIN, &text);
    view_put(v, a, row, 16,
             is_up                        ? INK_GOOD
             : strcmp(state, "lost") == 0 ? INK_BAD
                                          : INK_WARN,
             state);
    buf_printf(&text, "%g CPUs", n->cpus);
    if (!isnan(n->load))
        buf_printf(&text, ", load %.1f", n->load);
    view_put_buf(v, a, row, 24, INK_PLAIN, &text);
    add_gpus(&text, v, n);
    column = view_put_buf(v, a, row, 43, INK_PLAIN, &text);
    column = column < 66 ? 66 : column + 1;
    if (n->refused != NULL) {
        view_put(v, a, row, column, INK_WARN, n->refused);
        return;
    }
    buf_printf(&text, "%" PRId64 " run%s", n->running, n->running == 1 ? "s" : "");
    for (size_t i = 0; i < n->jobs.n; i++)
        buf_printf(&text, "%s%s", i == 0 ? ": " : " ", jobs[i]);
    view_put_buf(v, a, row, column, n->running > 0 ? INK_BUSY : INK_DIM, &text);
}

/* Draws "  GPU 0 87% 12/45 GiB  1 0% 0/45 GiB" unless v is NULL; returns how many rows it takes. */
static size_t draw_gpu_use(const struct view *v, const struct area *a, size_t row,
                           const struct node_info *n)
{
    enum { BEGIN = 6, EACH = 18, IDLE_PERCENT = 5 };
    const struct gpu_use *use = n->gpu_use.items;
    size_t per_row = a->columns > BEGIN + EACH ? (a->columns - BEGIN) / EACH : 1;

    for (size_t i = 0; i < n->gpu_use.n && v != NULL; i++) {
        struct buf text = { 0 };

        if (i % per_row == 0)
            view_put(v, a, row + i / per_row, 2, INK_DIM, "GPU");
        buf_printf(&text, "%zu ", i);
        nodeinfo_add_gpu_use(&text, &use[i]);
        view_put_buf(v, a, row + i / per_row, BEGIN + i % per_row * EACH,
                     use[i].percent != SCHEMA_NONE && use[i].percent < IDLE_PERCENT ? INK_DIM
                                                                                    : INK_BUSY,
                     &text);
    }
    return (n->gpu_use.n + per_row - 1) / per_row;
}

static void draw_nodes(struct view *v, const struct area *a)
{
    struct watch_model *m = v->m;
    const struct watch_sweep *s = model_chosen(m);
    const struct node_info *nodes = m->nodes.nodes.items;
    const struct pool_trouble *pools = m->nodes.pools.items;
    const struct pilots_waiting *pilots = m->nodes.pilots.items;
    const char *const *why = m->why.items;
    struct area inner = { a->column, a->row + 1, a->columns, a->rows - 1 };
    bool has_why = s != NULL && m->why_sweep == s->info.sweep && m->why.n > 0;
    size_t row = 0, shown, below = 0;
    struct buf text = { 0 };

    view_put_title(v, a, PANE_NODES, "nodes and pilots");
    if (m->nodes_arena == NULL) {
        view_put(v, &inner, 0, 0, INK_DIM, "asking the server...");
        return;
    }
    below = (m->slurm_calls != SCHEMA_NONE) + m->nodes.pilots.n + m->nodes.pools.n +
            (has_why ? m->why.n + 1 : 0);
    shown = inner.rows > below ? inner.rows - below : 1;
    shown = shown < 1 ? 1 : shown;
    for (size_t i = m->first_node; i < m->nodes.nodes.n && row < shown; i++) {
        size_t taken = 1 + draw_gpu_use(NULL, &inner, 0, &nodes[i]);
        bool is_last = i + 1 == m->nodes.nodes.n;

        if (row > 0 && row + taken + !is_last > shown) {
            buf_printf(&text, "and %zu more node%s (Down)", m->nodes.nodes.n - i,
                       is_last ? "" : "s");
            view_put_buf(v, &inner, row++, 0, INK_DIM, &text);
            break;
        }
        draw_node(v, &inner, row, &nodes[i]);
        (void)draw_gpu_use(v, &inner, row + 1, &nodes[i]);
        row += taken;
    }
    if (m->nodes.nodes.n == 0)
        view_put(v, &inner, row++, 0, INK_WARN, "no node is connected");
    if (m->slurm_calls != SCHEMA_NONE) {
        buf_printf(&text, "pilots: %" PRId64 " run, %" PRId64 " wait in Slurm's queue",
                   m->pilots_running, m->pilots_waiting);
        view_put_buf(v, &inner, row++, 0, INK_PLAIN, &text);
    }
    for (size_t i = 0; i < m->nodes.pilots.n; i++) {
        nodeinfo_add_waiting(&text, &pilots[i], false);
        view_put_buf(v, &inner, row++, 2, INK_PLAIN, &text);
    }
    for (size_t i = 0; i < m->nodes.pools.n; i++) {
        buf_printf(&text, "Slurm, partition %s: no pilots: %s", pools[i].partition, pools[i].why);
        view_put_buf(v, &inner, row++, 0, INK_WARN, &text);
    }
    if (!has_why)
        return;
    view_put(v, &inner, row++, 0, INK_STRONG, why[0]);
    for (size_t i = 1; i < m->why.n; i++)
        view_put(v, &inner, row++, 2, INK_PLAIN, why[i]);
}

/* ---- around the panes ---- */

static void draw_head(struct view *v)
{
    const struct area a = { 0, 0, v->look->columns, 1 };
    struct watch_model *m = v->m;
    int64_t done = 0, all = 0, running = 0;
    struct buf text = { 0 };
    size_t column;

    for (size_t i = 0; i < m->n_sweeps; i++) {
        done += progress_done(&m->sweeps[i].info.jobs) + m->sweeps[i].info.reused;
        all += progress_jobs(&m->sweeps[i].info.jobs) + m->sweeps[i].info.reused;
        running += m->sweeps[i].info.jobs.running;
    }
    buf_add_str(&text, " ludwig watch");
    if (m->who != NULL)
        buf_printf(&text, "  %s", m->who);
    buf_printf(&text, "  %" PRId64 " of %" PRId64 " jobs done, %" PRId64 " running", done, all,
               running);
    column = view_put_buf(v, &a, 0, 0, INK_PLAIN, &text);
    canvas_reverse(v->c, 0, 0, v->look->columns);
    if (m->lost_at_ms != 0 && v->look->tick_ms - m->lost_at_ms > LOST_MS) {
        buf_add_str(&text, " the server is away for ");
        units_add_duration(&text, (v->look->tick_ms - m->lost_at_ms) / 1000 * 1000);
        buf_add_str(&text, ": trying again ");
        view_put_buf(v, &a, 0, column + 2, INK_BAD | INK_REVERSE, &text);
    } else if (m->asking_at_ms != 0 && v->look->tick_ms - m->asking_at_ms > SLOW_MS) {
        buf_add_str(&text, " no answer for ");
        units_add_duration(&text, (v->look->tick_ms - m->asking_at_ms) / 1000 * 1000);
        buf_add_char(&text, ' ');
        view_put_buf(v, &a, 0, column + 2, INK_WARN | INK_REVERSE, &text);
    }
}

static void draw_foot(struct view *v)
{
    const struct area a = { 0, v->look->rows - 1, v->look->columns, 1 };
    struct watch_model *m = v->m;
    struct buf text = { 0 };

    if (m->question != NULL) {
        buf_printf(&text, " %s [y/N] ", m->question);
        v->cursor_column = view_put_buf(v, &a, 0, 0, INK_WARN | INK_REVERSE, &text);
        v->cursor_row = a.row;
    } else if (m->is_typing) {
        size_t width = safe_text_width(m->input, m->n_input);
        size_t room = v->look->columns > 30 ? v->look->columns - 30 : 1;
        const char *from = m->input;

        for (; width > room; width--) /* the end of a long input is shown */
            from += safe_text_fitting(from, strlen(from), 1);
        buf_printf(&text, "show only: %s", from);
        v->cursor_column = view_put_buf(v, &a, 0, 0, INK_STRONG, &text);
        v->cursor_row = a.row;
        if (m->n_input == 0)
            view_put(v, &a, 0, v->cursor_column + 2, INK_DIM,
                     "as: lr > 0.01 and state = failed  (Enter)");
    } else if (m->notice != NULL && v->look->tick_ms - m->notice_at_ms < NOTICE_MS) {
        view_put(v, &a, 0, 0, m->is_notice_bad ? INK_BAD : INK_STRONG, m->notice);
    } else {
        static const char *const hints[][2] = {
            { "?", "help" },   { "q", "end" },   { "Tab", "pane" },     { "/", "filter" },
            { "c", "cancel" }, { "s", "pause" }, { "Space", "select" }, { "r", "retry" },
            { "f", "failed" }, { "p", "pin" },   { "Enter", "log" },
        };
        size_t column = 0;

        for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
            if (column + strlen(hints[i][0]) + 1 + strlen(hints[i][1]) > a.columns)
                break;
            column += view_put(v, &a, 0, column, INK_STRONG, hints[i][0]) + 1;
            column += view_put(v, &a, 0, column, INK_DIM, hints[i][1]) + 2;
        }
    }
}

static void draw_help(struct view *v)
{
    size_t n = 0, rows, columns = v->look->columns >= 2 * KEYS_COLUMNS ? 2 : 1;

    while (watch_keys[n].shown != NULL)
        n++;
    rows = (n + columns - 1) / columns;
    for (size_t row = 0; row < v->look->rows; row++)
        for (size_t i = 0; i < v->look->columns; i++)
            canvas_text(v->c, i, row, 1, INK_PLAIN, " ");
    canvas_text(v->c, 0, 0, v->look->columns, INK_STRONG | INK_REVERSE,
                " ludwig watch: keys (any key goes back)");
    for (size_t i = 0; i < n; i++) {
        const struct area a = { i / rows * KEYS_COLUMNS, 1 + i % rows, KEYS_COLUMNS + 16, 1 };

        view_put(v, &a, 0, 1, INK_STRONG, watch_keys[i].shown);
        view_put(v, &a, 0, 13, INK_PLAIN, watch_keys[i].help);
    }
    v->cursor_column = v->cursor_row = 0;
}

static void draw_lower(struct view *v, const struct area *a, enum watch_pane pane)
{
    if (a->rows < 2)
        return;
    if (pane == PANE_LOG)
        draw_log(v, a);
    else if (pane == PANE_NODES)
        draw_nodes(v, a);
    else
        view_draw_curves(v, a);
}

/* Draws sweeps and jobs, and one further pane below them. */
static void draw_small(struct view *v)
{
    const struct view_look *look = v->look;
    size_t sweeps = sweep_rows(v, look->rows / 6) + 1, rest = look->rows - 2 - sweeps;
    size_t jobs = view_jobs_rows(v, look->columns, rest * 6 / 10 > 6 ? rest * 6 / 10 : 6);
    const struct area first = { 0, 1, look->columns, sweeps };
    const struct area second = { 0, 1 + sweeps, look->columns, jobs };
    const struct area third = { 0, 1 + sweeps + jobs, look->columns, rest - jobs };

    draw_lower(v, &third, v->m->lower);
    draw_sweeps(v, &first);
    view_draw_jobs(v, &second);
}

/* Draws sweeps, jobs and nodes at the left, curves and log at the right. */
static void draw_wide(struct view *v)
{
    const struct view_look *look = v->look;
    size_t left = look->columns * 2 / 5 > 80 ? look->columns * 2 / 5 : 80;
    size_t right = look->columns - left - 2, rows = look->rows - 2;
    size_t sweeps = sweep_rows(v, rows / 6) + 1, nodes = rows / 4;
    size_t jobs = rows - sweeps - nodes, curves = rows * 11 / 20;
    const struct area panes[PANE_COUNT] = {
        [PANE_SWEEPS] = { 0, 1, left, sweeps },
        [PANE_JOBS] = { 0, 1 + sweeps, left, jobs },
        [PANE_NODES] = { 0, 1 + sweeps + jobs, left, nodes },
        [PANE_CURVES] = { left + 2, 1, right, curves },
        [PANE_LOG] = { left + 2, 1 + curves, right, rows - curves },
    };

    view_draw_curves(v, &panes[PANE_CURVES]);
    draw_log(v, &panes[PANE_LOG]);
    draw_nodes(v, &panes[PANE_NODES]);
    draw_sweeps(v, &panes[PANE_SWEEPS]);
    view_draw_jobs(v, &panes[PANE_JOBS]);
}

void view_draw(struct watch_model *m, struct canvas *c, const struct view_look *look,
               size_t *cursor_column, size_t *cursor_row)
{
    struct view v = { .m = m, .c = c, .look = look, .arena = arena_create() };

    model_settle(m);
    if (look->columns < VIEW_COLUMNS_LEAST || look->rows < VIEW_ROWS_LEAST) {
        canvas_text(c, 0, 0, look->columns, INK_STRONG, "too small a terminal (q ends)");
    } else {
        if (look->columns >= VIEW_WIDE_COLUMNS && look->rows >= VIEW_WIDE_ROWS)
            draw_wide(&v);
        else
            draw_small(&v);
        draw_head(&v);
        if (m->has_help)
            draw_help(&v);
        else
            draw_foot(&v);
    }
    arena_destroy(v.arena);
    *cursor_column = v.cursor_column;
    *cursor_row = v.cursor_row;
}
