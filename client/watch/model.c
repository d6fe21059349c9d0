/* SPDX-License-Identifier: MIT */
/* model.c - the state of `ludwig watch`: what it knows, and what the user has chosen */
#include "client/watch/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "common/base/units.h"
#include "common/proto/goal.h"

void model_init(struct watch_model *m)
{
    *m = (struct watch_model){ .focus = PANE_JOBS,
                               .lower = PANE_CURVES,
                               .slurm_calls = SCHEMA_NONE,
                               .jobs_per_cell = 1,
                               .cells_per_row = 1,
                               .is_line_whole = true };
}

static void free_curve(struct watch_curve *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->series[i].name);
        free(c->series[i].x);
        free(c->series[i].y);
    }
    free(c->series);
    free(c->path);
    buf_free(&c->rest);
    *c = (struct watch_curve){ 0 };
}

static void drop_log(struct watch_model *m)
{
    for (size_t i = 0; m->lines != NULL && i < WATCH_LOG_LINES; i++)
        free(m->lines[i]);
    free(m->lines);
    free(m->log_path);
    m->lines = NULL;
    m->log_path = NULL;
    m->n_lines = m->first_line = m->log_back = 0;
    m->is_line_whole = true;
}

void model_free(struct watch_model *m)
{
    for (size_t i = 0; i < m->n_sweeps; i++) {
        struct watch_sweep *s = &m->sweeps[i];

        for (size_t k = 0; k < s->n_jobs; k++)
            free(s->jobs[k].info);
        free(s->jobs);
        free(s->shown);
        arena_destroy(s->arena);
    }
    for (size_t i = 0; i < WATCH_CURVES_MAX; i++)
        free_curve(&m->curves[i]);
    drop_log(m);
    free(m->sweeps);
    free(m->who);
    free(m->filter);
    free(m->question);
    free(m->notice);
    free(m->metric);
    free(m->best);
    free(m->asked.targets);
    free(m->order.targets);
    arena_destroy(m->filter_arena);
    arena_destroy(m->nodes_arena);
    arena_destroy(m->why_arena);
    *m = (struct watch_model){ 0 };
}

void model_notice(struct watch_model *m, bool is_bad, const char *format, ...)
{
    va_list ap;

    free(m->notice);
    va_start(ap, format);
    m->notice = mem_vprintf(format, ap);
    va_end(ap);
    m->is_notice_bad = is_bad;
    m->notice_at_ms = units_monotonic_ms();
}

/* ---- sweeps and jobs ---- */

struct watch_sweep *model_sweep(struct watch_model *m, int64_t number)
{
    struct watch_sweep *s;

    for (size_t i = 0; i < m->n_sweeps; i++)
        if (m->sweeps[i].info.sweep == number)
            return &m->sweeps[i];
    if (m->n_sweeps == WATCH_SWEEPS_MAX)
        return NULL;
    if (m->sweeps == NULL)
        m->sweeps = mem_alloc(WATCH_SWEEPS_MAX * sizeof *m->sweeps);
    s = &m->sweeps[m->n_sweeps++];
    *s = (struct watch_sweep){ .info.sweep = number };
    return s;
}

void model_take_sweep(struct watch_sweep *s, const struct sweep_info *info)
{
    struct arena *a = arena_create();

    s->info = *(struct sweep_info *)schema_copy(&sweep_info_schema, info, a);
    arena_destroy(s->arena);
    s->arena = a;
    if (s->info.user == NULL)
        s->info.user = "";
}

static int64_t number_of(const char *job)
{
    const char *point = strchr(job, '.');

    return point != NULL ? strtoll(point + 1, NULL, 10) : 0;
}

static bool does_match(const struct watch_model *m, const struct job_info *job)
{
    struct jobinfo_row row;

    if (m->where == NULL)
        return true;
    jobinfo_fill_row(&row, job);
    return where_matches(m->where, &row.row);
}

void model_take_job(struct watch_model *m, struct watch_sweep *s, const struct job_info *job)
{
    enum { JOBS_MOST = 10 * 1000 * 1000 }; /* a job with a larger number is not believed */
    int64_t number = number_of(job->job);
    struct buf info = { 0 };
    struct watch_job *j;

    if (number < 1 || number > JOBS_MOST)
        return;
    while (s->n_jobs < (size_t)number) {
        mem_grow((void **)&s->jobs, &s->jobs_capacity, s->n_jobs, sizeof *s->jobs);
        s->jobs[s->n_jobs++] = (struct watch_job){ 0 };
    }
    j = &s->jobs[number - 1];
    schema_encode(&job_info_schema, job, &info);
    s->is_stale |= j->info == NULL;
    free(j->info);
    j->info = mem_copy(info.bytes, info.n);
    j->n_info = info.n;
    buf_free(&info);
    j->state = (uint8_t)job->state;
    j->started_at = job->started_at;
    j->ended_at = job->ended_at;
    j->is_paused = jobinfo_is_paused(job);
    if (does_match(m, job) != j->matches) {
        j->matches = !j->matches;
        s->is_stale = true;
    }
}

bool model_job(const struct watch_sweep *s, int64_t number, struct arena *a, struct job_info *job)
{
    const struct watch_job *j =
        number > 0 && (size_t)number <= s->n_jobs ? &s->jobs[number - 1] : NULL;

    return j != NULL && j->info != NULL &&
           schema_read(&job_info_schema, (struct bytes){ j->info, j->n_info }, a, job, NULL) == 0;
}

struct watch_sweep *model_chosen(struct watch_model *m)
{
    return m->sweep < m->n_sweeps ? &m->sweeps[m->sweep] : NULL;
}

size_t model_cursor(const struct watch_sweep *s)
{
    size_t from = 0, to = s->n_shown;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (s->shown[middle] < s->cursor)
            from = middle + 1;
        else
            to = middle;
    }
    return from < s->n_shown || from == 0 ? from : from - 1;
}

struct watch_job *model_current(struct watch_sweep *s)
{
    size_t at = model_cursor(s);

    return at < s->n_shown ? &s->jobs[s->shown[at] - 1] : NULL;
}

void model_settle(struct watch_model *m)
{
    struct watch_sweep *s = model_chosen(m);
    size_t n = 0;

    if (s == NULL || !s->is_stale)
        return;
    for (size_t i = 0; i < s->n_jobs; i++)
        if (s->jobs[i].info != NULL && s->jobs[i].matches) {
            mem_grow((void **)&s->shown, &s->shown_capacity, n, sizeof *s->shown);
            s->shown[n++] = (int64_t)i + 1;
        }
    s->n_shown = n;
    s->is_stale = false;
    /* At first the cursor is on a running job. */
    for (size_t i = 0; i < n && s->is_whole && s->cursor == 0; i++)
        if (s->jobs[s->shown[i] - 1].state == JOB_RUNNING)
            s->cursor = s->shown[i];
    if (s->is_whole && s->cursor == 0 && n > 0)
        s->cursor = s->shown[0];
}

/* ---- nodes, and what waits ---- */

void model_take_nodes(struct watch_model *m, const struct msg_node_page *page)
{
    struct arena *a = arena_create();

    m->nodes = *(struct msg_node_page *)schema_copy(proto.messages[MSG_NODE_PAGE].schema, page, a);
    arena_destroy(m->nodes_arena);
    m->nodes_arena = a;
}

void model_take_why(struct watch_model *m, int64_t sweep, const struct list *lines)
{
    const char *const *items = lines->items;
    const char **copies;

    arena_destroy(m->why_arena);
    m->why_arena = arena_create();
    copies = arena_alloc(m->why_arena, (lines->n + 1) * sizeof *copies);
    for (size_t i = 0; i < lines->n; i++)
        copies[i] = arena_strdup(m->why_arena, items[i]);
    m->why = (struct list){ copies, lines->n };
    m->why_sweep = sweep;
}

/* ---- the log ---- */

void model_begin_log(struct watch_model *m, const char *path, int64_t sweep, int64_t job)
{
    drop_log(m);
    m->log_path = mem_strdup(path);
    m->log_sweep = sweep;
    m->log_job = job;
    m->lines = mem_alloc(WATCH_LOG_LINES * sizeof *m->lines);
}

/* Adds text without the sequences ESC [ ... letter, which set colours or move the cursor. */
static void add_without_sequences(struct buf *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t end = i + 2;

        if (bytes[i] == '\033' && i + 1 < n && bytes[i + 1] == '[') {
            while (end < n && (unsigned char)bytes[end] >= 0x20 && (unsigned char)bytes[end] < 0x40)
                end++;
            if (end < n && (unsigned char)bytes[end] >= 0x40 && (unsigned char)bytes[end] < 0x7f) {
                i = end;
                continue;
            }
        }
        buf_add_char(out, bytes[i] == '\0' ? ' ' : bytes[i]);
    }
}

/* Adds bytes without a newline to the last line.  What stands before a carriage return is
 * overwritten, as on a terminal, so that a progress bar stays one line. */
static void add_to_line(struct watch_model *m, const char *bytes, size_t n)
{
    struct buf line = { 0 };
    char **last;

    if (m->is_line_whole) {
        if (m->n_lines == WATCH_LOG_LINES) {
            free(m->lines[m->first_line]);
            m->lines[m->first_line] = NULL;
            m->first_line = (m->first_line + 1) % WATCH_LOG_LINES;
            m->n_lines--;
        }
        m->n_lines++;
        m->log_back += m->log_back > 0; /* a user who reads further up keeps that place */
        m->is_line_whole = false;
    }
    last = &m->lines[(m->first_line + m->n_lines - 1) % WATCH_LOG_LINES];
    if (*last != NULL)
        buf_add_str(&line, *last);
    for (size_t i = 0; i < n;) {
        const char *back = memchr(bytes + i, '\r', n - i);
        size_t length = back == NULL ? n - i : (size_t)(back - bytes) - i;

        if (line.n > 0 && line.bytes[line.n - 1] == '\r' && length > 0)
            buf_clear(&line);
        if (line.n < WATCH_LINE_BYTES)
            add_without_sequences(&line, bytes + i,
                                  length < WATCH_LINE_BYTES ? length : WATCH_LINE_BYTES);
        if (back != NULL)
            buf_add_char(&line, '\r');
        i += length + (back != NULL);
    }
    free(*last);
    *last = mem_strdup(buf_text(&line));
    buf_free(&line);
}

void model_add_log(struct watch_model *m, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n;) {
        const char *newline = memchr(bytes + i, '\n', n - i);
        size_t length = newline == NULL ? n - i : (size_t)(newline - bytes) - i;

        add_to_line(m, bytes + i, length);
        m->is_line_whole = newline != NULL;
        i += length + (newline != NULL);
    }
}

/* ---- curves ---- */

void model_begin_curve(struct watch_curve *c, int64_t sweep, int64_t job, const char *path)
{
    free_curve(c);
    c->sweep = sweep;
    c->job = job;
    c->path = mem_strdup(path);
}

void model_add_point(struct watch_curve *c, const char *name, size_t n, double x, double y)
{
    struct watch_series *s;
    size_t i = 0;

    while (i < c->n && (strlen(c->series[i].name) != n || memcmp(c->series[i].name, name, n) != 0))
        i++;
    if (i == METRICS_MAX)
        return;
    if (i == c->n) {
        mem_grow((void **)&c->series, &c->capacity, c->n, sizeof *c->series);
        c->series[c->n++] =
            (struct watch_series){ .name = mem_strndup(name, n), .stride = 1, .last_x = -1 };
    }
    s = &c->series[i];
    s->last_x = isnan(x) ? s->last_x + 1 : x;
    s->last_y = y;
    if (s->n_seen++ % s->stride != 0)
        return;
    if (s->n == WATCH_POINTS_MAX) {
        for (size_t k = 0; k < s->n / 2; k++) {
            s->x[k] = s->x[2 * k];
            s->y[k] = s->y[2 * k];
        }
        s->n /= 2;
        s->stride *= 2;
    }
    if (s->n == s->capacity) {
        s->capacity = s->capacity > 0 ? s->capacity * 2 : 16;
        s->x = mem_resize(s->x, s->capacity, sizeof *s->x);
        s->y = mem_resize(s->y, s->capacity, sizeof *s->y);
    }
    s->x[s->n] = s->last_x;
    s->y[s->n++] = s->last_y;
}

size_t model_wanted_curves(struct watch_model *m, int64_t jobs[WATCH_CURVES_MAX])
{
    struct watch_sweep *s = model_chosen(m);
    struct watch_job *current;
    size_t n = 0;

    if (s == NULL)
        return 0;
    current = model_current(s);
    for (size_t i = 0; i < s->n_jobs && n < WATCH_CURVES_MAX; i++)
        if (s->jobs[i].is_pinned)
            jobs[n++] = (int64_t)i + 1;
    if (current != NULL && !current->is_pinned && n < WATCH_CURVES_MAX)
        jobs[n++] = current - s->jobs + 1;
    for (size_t i = 0; i < s->n_shown && n < WATCH_CURVES_MAX; i++) {
        const struct watch_job *j = &s->jobs[s->shown[i] - 1];

        if (j->state == JOB_RUNNING && !j->is_pinned && j != current)
            jobs[n++] = s->shown[i];
    }
    return n;
}

static int compare_names(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

struct list model_metrics(const struct watch_model *m, struct arena *a)
{
    size_t n = 0, kept = 0;
    const char **names;

    for (size_t i = 0; i < WATCH_CURVES_MAX; i++)
        n += m->curves[i].n;
    names = arena_alloc(a, (n + 1) * sizeof *names);
    n = 0;
    for (size_t i = 0; i < WATCH_CURVES_MAX; i++)
        for (size_t k = 0; k < m->curves[i].n; k++)
            names[n++] = m->curves[i].series[k].name;
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    return (struct list){ names, kept };
}

const char *model_metric(struct watch_model *m, struct arena *a)
{
    const struct watch_sweep *s = model_chosen(m);
    const struct list metrics = model_metrics(m, a);
    const char *const *names = metrics.items;
    const char *wanted[] = { m->metric, s != NULL ? s->info.ranking.metric : NULL, "accuracy",
                             "loss" };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        for (size_t k = 0; wanted[i] != NULL && k < metrics.n; k++)
            if (strcmp(wanted[i], names[k]) == 0)
                return names[k];
    return metrics.n > 0 ? names[0] : NULL;
}

/* ---- moving ---- */

void model_move(struct watch_model *m, int64_t by)
{
    struct watch_sweep *s = model_chosen(m);
    int64_t at;

    if (s == NULL || s->n_shown == 0)
        return;
    at = (int64_t)model_cursor(s);
    at += by;
    at = at < 0 ? 0 : at >= (int64_t)s->n_shown ? (int64_t)s->n_shown - 1 : at;
    s->cursor = s->shown[at];
}

void model_choose_sweep(struct watch_model *m, size_t i)
{
    struct watch_sweep *s;

    if (i >= m->n_sweeps || i == m->sweep)
        return;
    m->sweep = i;
    s = &m->sweeps[i];
    s->is_stale = true;
    drop_log(m);
    /* All sweeps have the same filter. */
    for (size_t k = 0; k < s->n_jobs; k++) {
        struct arena *a = arena_create();
        struct job_info job;

        s->jobs[k].matches = model_job(s, (int64_t)k + 1, a, &job) && does_match(m, &job);
        arena_destroy(a);
    }
}

void model_find_failed(struct watch_model *m, int step)
{
    struct watch_sweep *s = model_chosen(m);
    size_t at = s != NULL ? model_cursor(s) : 0;

    for (size_t i = 1; s != NULL && i <= s->n_shown; i++) {
        size_t place = (at + (step > 0 ? i : s->n_shown - i)) % s->n_shown;
        const struct watch_job *j = &s->jobs[s->shown[place] - 1];

        if (job_look((enum job_state)j->state) == JOB_LOOKS_BAD) {
            s->cursor = s->shown[place];
            return;
        }
    }
    model_notice(m, false, "no job that is shown has failed");
}

void model_set_filter(struct watch_model *m, const char *text)
{
    struct arena *a = arena_create(), *of_job = arena_create();
    struct watch_sweep *s = model_chosen(m);
    struct where *where = NULL;
    struct err e = { 0 };

    if (text[0] != '\0' && jobinfo_parse_where(text, a, &where, &e) < 0) {
        model_notice(m, true, "%s", e.text);
        arena_destroy(a);
        arena_destroy(of_job);
        return;
    }
    arena_destroy(m->filter_arena);
    free(m->filter);
    m->filter_arena = a;
    m->where = where;
    m->filter = where != NULL ? mem_strdup(text) : NULL;
    for (size_t i = 0; s != NULL && i < s->n_jobs; i++) {
        struct job_info job;

        s->jobs[i].matches = model_job(s, (int64_t)i + 1, of_job, &job) && does_match(m, &job);
        arena_reset(of_job);
    }
    if (s != NULL)
        s->is_stale = true;
    if (where != NULL && s != NULL && s->n_jobs > 0 && where_check_names(where, &e) < 0)
        model_notice(m, true, "%s", e.text);
    arena_destroy(of_job);
}

/* ---- marks and pins ---- */

/* The cell under the cursor has the shown jobs *from to *to - 1. */
static void cell_of(const struct watch_model *m, const struct watch_sweep *s, size_t *from,
                    size_t *to)
{
    size_t each = m->jobs_per_cell > 0 ? m->jobs_per_cell : 1;

    *from = model_cursor(s) / each * each;
    *to = *from + each < s->n_shown ? *from + each : s->n_shown;
}

void model_mark(struct watch_model *m)
{
    struct watch_sweep *s = model_chosen(m);
    bool were_all = true;
    size_t from, to;

    if (s == NULL)
        return;
    cell_of(m, s, &from, &to);
    for (size_t i = from; i < to; i++)
        were_all &= s->jobs[s->shown[i] - 1].is_marked;
    for (size_t i = from; i < to; i++)
        s->jobs[s->shown[i] - 1].is_marked = !were_all;
}

void model_mark_all(struct watch_model *m, bool is_marked)
{
    struct watch_sweep *s = model_chosen(m);

    for (size_t i = 0; s != NULL && i < s->n_jobs; i++)
        s->jobs[i].is_marked = is_marked && s->jobs[i].info != NULL && s->jobs[i].matches;
}

size_t model_n_marked(const struct watch_sweep *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_jobs; i++)
        n += s->jobs[i].is_marked;
    return n;
}

void model_pin(struct watch_model *m)
{
    struct watch_sweep *s = model_chosen(m);
    struct watch_job *j = s != NULL ? model_current(s) : NULL;
    size_t n = 0;

    if (j == NULL)
        return;
    for (size_t i = 0; i < s->n_jobs; i++)
        n += s->jobs[i].is_pinned;
    if (!j->is_pinned && n == WATCH_CURVES_MAX)
        model_notice(m, true, "%zu jobs are pinned already: p on one of them lets it go", n);
    else
        j->is_pinned = !j->is_pinned;
}

/* ---- changes ---- */

static const struct change {
    enum msg_type type;
    const char *verb; /* "cancel" */
    const char *idle; /* what is said if no job can be changed: "none of these jobs ..." */
} changes[] = {
    { MSG_CANCEL, "cancel", "waits or runs" },
    { MSG_PAUSE, "pause", "waits" },
    { MSG_RESUME, "resume", "is paused or held" },
    { MSG_RETRY, "retry", "failed or was cancelled" },
};

static bool does_concern(enum msg_type type, const struct watch_sweep *s, const struct watch_job *j)
{
    enum job_state state = (enum job_state)j->state;

    if (j->info == NULL)
        return false;
    if (type == MSG_CANCEL)
        return !job_is_ended(state);
    if (type == MSG_RETRY)
        return job_runs_again(state);
    if (type == MSG_PAUSE)
        return (state == JOB_QUEUED && !j->is_paused) || state == JOB_STAGING;
    return j->is_paused || state == JOB_HELD ||
           (state == JOB_QUEUED && s->info.state == SWEEP_PAUSED);
}

/* Adds a job to the targets, which are in the order of jobs. */
static void add_target(struct watch_order *o, size_t *capacity, int64_t sweep, int64_t job)
{
    if (o->n > 0 && o->targets[o->n - 1].last == job - 1) {
        o->targets[o->n - 1].last = job;
        return;
    }
    mem_grow((void **)&o->targets, capacity, o->n, sizeof *o->targets);
    o->targets[o->n++] = (struct target){ sweep, job, job };
}

/* Whether jobs[job] is meant: any if sweeps have the focus, else a marked one, or the cursor's. */
static bool is_meant(const struct watch_model *m, const struct watch_sweep *s, size_t n_marked,
                     size_t job)
{
    size_t from, to;

    if (m->focus == PANE_SWEEPS)
        return true;
    if (n_marked > 0)
        return s->jobs[job].is_marked;
    cell_of(m, s, &from, &to);
    return s->n_shown > 0 && s->jobs[job].matches && (int64_t)job + 1 >= s->shown[from] &&
           (int64_t)job + 1 <= s->shown[to - 1];
}

void model_ask(struct watch_model *m, enum msg_type type)
{
    const struct watch_sweep *s = model_chosen(m);
    const struct change *change = changes;
    size_t n_marked = s != NULL ? model_n_marked(s) : 0, n = 0, n_running = 0, capacity = 0;
    struct watch_order order = { .type = type };
    int64_t now_ms = units_now_ms(), longest_ms = 0;
    struct buf text = { 0 };

    while (change->type != type)
        change++;
    if (s == NULL)
        return;
    if (!s->may_see && m->focus != PANE_SWEEPS) {
        model_notice(m, true, "sweep %" PRId64 " is another user's", s->info.sweep);
        return;
    }
    for (size_t i = 0; i < s->n_jobs; i++) {
        const struct watch_job *j = &s->jobs[i];

        if (!is_meant(m, s, n_marked, i) || !does_concern(type, s, j))
            continue;
        n++;
        if (type == MSG_CANCEL && j->state == JOB_RUNNING) {
            n_running++;
            if (j->started_at > 0 && now_ms - j->started_at > longest_ms)
                longest_ms = now_ms - j->started_at;
        }
        if (m->focus != PANE_SWEEPS)
            add_target(&order, &capacity, s->info.sweep, (int64_t)i + 1);
    }
    if (m->focus == PANE_SWEEPS) {
        order.targets = mem_alloc(sizeof *order.targets);
        order.targets[0] = (struct target){ .sweep = s->info.sweep };
        order.n = 1;
    }
    if (n == 0 && s->is_whole) {
        model_notice(m, false, "nothing to %s: none of %s %s", change->verb,
                     m->focus == PANE_SWEEPS ? "the sweep's jobs" : "these jobs", change->idle);
        free(order.targets);
        return;
    }
    if (m->focus == PANE_SWEEPS)
        buf_printf(&text, "%s sweep %" PRId64 ": %zu job%s?", change->verb, s->info.sweep, n,
                   n == 1 ? "" : "s");
    else if (n == 1)
        buf_printf(&text, "%s job %" PRId64 ".%" PRId64 "?", change->verb, s->info.sweep,
                   order.targets[0].first);
    else
        buf_printf(&text, "%s %zu jobs of sweep %" PRId64 "?", change->verb, n, s->info.sweep);
    if (n_running > 0 && longest_ms > 0) {
        if (n == 1)
            buf_add_str(&text, " It has run for ");
        else
            buf_printf(&text, " %zu of them run, the longest for ", n_running);
        units_add_duration(&text, longest_ms / 1000 * 1000);
        buf_add_char(&text, '.');
    }
    free(m->question);
    free(m->asked.targets);
    m->asked = order;
    m->question = buf_take(&text);
    m->question[0] = (char)(m->question[0] - 'a' + 'A');
}

void model_answer(struct watch_model *m, bool is_yes)
{
    free(m->question);
    m->question = NULL;
    if (is_yes && m->order.type == 0) {
        free(m->order.targets);
        m->order = m->asked;
        m->asked = (struct watch_order){ 0 };
        if (m->focus != PANE_SWEEPS)
            model_mark_all(m, false);
        return;
    }
    model_notice(m, is_yes,
                 is_yes ? "not done: the server has not answered the change before yet"
                        : "nothing was changed");
    free(m->asked.targets);
    m->asked = (struct watch_order){ 0 };
}
