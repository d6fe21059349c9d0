/* SPDX-License-Identifier: MIT */
/* progress.c - shows the progress of a sweep or an upload in one line of the terminal */
#include <inttypes.h>
#include <unistd.h>

#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "common/base/io.h"
#include "common/base/units.h"

enum {
    BAR_COLUMNS = 24,
    SWEEP_BAR_NEEDS = 80, /* columns of a line that has room for the bar */
    UPLOAD_BAR_NEEDS = 90,
    SHOW_EVERY_MS = 100,
    TELL_EVERY_MS = 1000, /* time between lines on uploadbar.told_fd */
    SURE_MS = 500         /* the rate of a shorter time is not shown */
};

/* ---- the line ---- */

bool status_line_is_due(struct status_line *l, int64_t now_ms)
{
    if (!output_is_terminal(STDERR_FILENO) || now_ms - l->shown_at_ms < SHOW_EVERY_MS)
        return false;
    l->shown_at_ms = now_ms;
    return true;
}

static void write_line(const char *text, size_t n)
{
    struct buf line = { 0 };

    buf_printf(&line, "\r%.*s\033[K", (int)n, text);
    (void)!io_write_all(STDERR_FILENO, buf_text(&line), line.n);
    buf_free(&line);
}

void status_line_show(struct status_line *l, struct buf *text)
{
    /* Leave the last column free: many terminals begin a new line once it is full. */
    size_t columns = output_columns(STDERR_FILENO) - 1;

    write_line(buf_text(text), safe_text_fitting(buf_text(text), text->n, columns));
    l->is_there = true;
    buf_free(text);
}

void status_line_clear(struct status_line *l)
{
    if (l->is_there)
        write_line("", 0);
    l->is_there = false;
}

/* Cuts the part of out from byte begin on to so many columns. */
static void cut_line(struct buf *out, size_t begin, size_t columns)
{
    out->n = begin + safe_text_fitting((const char *)out->bytes + begin, out->n - begin, columns);
    out->bytes[out->n] = '\0';
}

static void add_time_left(struct buf *out, double left_ms)
{
    buf_add_str(out, ", about ");
    units_add_duration(out, left_ms < 1000 ? 1000 : (int64_t)left_ms / 1000 * 1000);
    buf_add_str(out, " left");
}

void progress_add_bar(struct buf *out, int64_t ended, int64_t jobs)
{
    int64_t full = jobs == 0 ? BAR_COLUMNS : ended * BAR_COLUMNS / jobs;

    buf_add_char(out, '[');
    for (int64_t i = 0; i < BAR_COLUMNS; i++)
        buf_add_char(out, i < full ? '#' : '.');
    buf_add_str(out, "] ");
}

/* ---- a sweep ---- */

int64_t progress_ended(const struct job_counts *c)
{
    int64_t n = 0;

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        n += job_is_ended((enum job_state)i) ? c->of[i] : 0;
    return n;
}

int64_t progress_jobs(const struct job_counts *c)
{
    int64_t n = 0;

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        n += c->of[i];
    return n;
}

int64_t progress_done(const struct job_counts *c)
{
    int64_t n = 0;

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        n += job_has_published((enum job_state)i) ? c->of[i] : 0;
    return n;
}

int64_t progress_reached(const struct sweep_info *s)
{
    return s->reused + progress_ended(&s->jobs) -
           (s->state == SWEEP_CANCELLED ? s->jobs.cancelled : 0);
}

bool progress_is_over(const struct sweep_info *s)
{
    return s->state == SWEEP_DONE || s->state == SWEEP_FAILED || s->state == SWEEP_CANCELLED;
}

bool progress_has_stopped(const struct sweep_info *s)
{
    return progress_is_over(s) || s->state == SWEEP_HELD;
}

void progress_init(struct progress *p)
{
    *p = (struct progress){ .shown = output_is_terminal(STDERR_FILENO), .ended_before = -1 };
}

/* The time left is estimated from the jobs that ended since the progress began. */
void progress_add_line(struct buf *out, const struct progress *p, const struct sweep_info *s,
                       int64_t now_ms, size_t columns)
{
    const struct job_counts *c = &s->jobs;
    int64_t all = progress_jobs(c) + s->reused, took_ms = now_ms - p->began_at_ms;
    int64_t ended = progress_ended(c) - p->ended_before;
    int64_t left = progress_jobs(c) - progress_ended(c);
    size_t begin = out->n;

    buf_printf(out, "sweep %" PRId64 " ", s->sweep);
    if (columns >= SWEEP_BAR_NEEDS)
        progress_add_bar(out, progress_reached(s), all);
    buf_printf(out, "%" PRId64 "/%" PRId64 " done", progress_done(c) + s->reused, all);
    if (c->running > 0)
        buf_printf(out, ", %" PRId64 " running", c->running);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if ((job_runs_again((enum job_state)i) || i == JOB_HELD) && c->of[i] > 0)
            buf_printf(out, ", %" PRId64 " %s", c->of[i], job_state_names[i]);
    if (s->state == SWEEP_PAUSED) {
        buf_add_str(out, ", paused");
    } else if (ended > 0 && left > 0 && took_ms > 0) {
        double left_ms = (double)took_ms / (double)ended * (double)left;

        if (left_ms <= 1e12)
            add_time_left(out, left_ms);
    }
    cut_line(out, begin, columns);
}

void progress_show(struct progress *p, const struct sweep_info *s, int64_t now_ms)
{
    struct buf line = { 0 };

    if (p->ended_before < 0) {
        p->ended_before = progress_ended(&s->jobs);
        p->began_at_ms = now_ms;
    }
    if (!p->shown)
        return;
    progress_add_line(&line, p, s, now_ms, output_columns(STDERR_FILENO) - 1);
    status_line_show(&p->line, &line);
}

void progress_clear(struct progress *p)
{
    status_line_clear(&p->line);
}

/* ---- an upload ---- */

void uploadbar_add_line(struct buf *out, const struct uploadbar *b, int64_t now_ms, size_t columns)
{
    int64_t took_ms = now_ms - b->began_at_ms;
    double rate = took_ms > 0 ? (double)b->bytes / ((double)took_ms / 1000) : 0;
    uint64_t left = b->all_bytes > b->bytes ? b->all_bytes - b->bytes : 0;
    double left_ms = rate > 0 ? (double)left / rate * 1000 : 0;
    size_t begin = out->n;

    buf_add_str(out, "upload ");
    if (columns >= UPLOAD_BAR_NEEDS)
        progress_add_bar(out, (int64_t)(b->bytes / 1024), (int64_t)(b->all_bytes / 1024));
    units_add_size(out, (int64_t)b->bytes);
    buf_add_str(out, " of ");
    units_add_size(out, (int64_t)b->all_bytes);
    if (took_ms >= SURE_MS && rate >= 1 && left_ms <= 1e12) {
        buf_add_str(out, ", ");
        units_add_size(out, (int64_t)rate);
        buf_add_str(out, "/s");
        if (left > 0)
            add_time_left(out, left_ms);
    }
    if (b->all_files > 1)
        buf_printf(out, ", %" PRIu64 " of %" PRIu64 " files", b->files, b->all_files);
    cut_line(out, begin, columns);
}

void uploadbar_begin(struct uploadbar *b, uint64_t files, uint64_t bytes)
{
    int64_t now_ms = units_monotonic_ms();

    if (b != NULL)
        *b = (struct uploadbar){ .line.shown_at_ms = now_ms,
                                 .all_bytes = bytes,
                                 .all_files = files,
                                 .began_at_ms = now_ms,
                                 .told_at_ms = now_ms };
}

void uploadbar_add(struct uploadbar *b, uint64_t files, uint64_t bytes)
{
    struct buf line = { 0 };
    int64_t now_ms;

    if (b == NULL)
        return;
    now_ms = units_monotonic_ms();
    b->files += files;
    b->bytes += bytes;
    /* There may be more files and bytes than were expected. */
    if (b->all_files < b->files)
        b->all_files = b->files;
    if (b->all_bytes < b->bytes)
        b->all_bytes = b->bytes;
    /* Ignore errors: if the reader of told_fd is gone, a later write of results fails and is
     * reported. */
    if (b->told_fd > 0 && now_ms - b->told_at_ms >= TELL_EVERY_MS) {
        b->told_at_ms = now_ms;
        buf_printf(&line, "at %" PRIu64 " %" PRIu64 "\n", b->files, b->bytes);
        (void)!io_write_all(b->told_fd, buf_text(&line), line.n);
        buf_clear(&line);
    }
    if (status_line_is_due(&b->line, now_ms)) {
        uploadbar_add_line(&line, b, now_ms, output_columns(STDERR_FILENO) - 1);
        status_line_show(&b->line, &line);
    }
    buf_free(&line);
}

void uploadbar_clear(struct uploadbar *b)
{
    if (b != NULL)
        status_line_clear(&b->line);
}
