/* SPDX-License-Identifier: MIT */
/* progress.c - how far a sweep is, in one line of the terminal that is written anew */
#include <inttypes.h>
#include <unistd.h>

#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "common/base/io.h"
#include "common/base/units.h"

enum { BAR_COLUMNS = 24, BAR_NEEDS = 80 };

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

int64_t progress_reached(const struct sweep_info *s)
{
    return s->reused + progress_ended(&s->jobs) -
           (s->state == SWEEP_CANCELLED ? s->jobs.cancelled : 0);
}

bool progress_is_over(const struct sweep_info *s)
{
    return s->state == SWEEP_DONE || s->state == SWEEP_FAILED || s->state == SWEEP_CANCELLED;
}

void progress_init(struct progress *p)
{
    *p = (struct progress){ .shown = output_is_terminal(STDERR_FILENO), .ended_before = -1 };
}

void progress_add_bar(struct buf *out, int64_t ended, int64_t jobs)
{
    int64_t full = jobs == 0 ? BAR_COLUMNS : ended * BAR_COLUMNS / jobs;

    buf_add_char(out, '[');
    for (int64_t i = 0; i < BAR_COLUMNS; i++)
        buf_add_char(out, i < full ? '#' : '.');
    buf_add_str(out, "] ");
}

/* By how long those took that ended since the progress began. */
static void add_time_left(struct buf *out, const struct progress *p, const struct job_counts *c,
                          int64_t now_ms)
{
    int64_t ended = progress_ended(c) - p->ended_before;
    int64_t left = progress_jobs(c) - progress_ended(c);
    int64_t took_ms = now_ms - p->began_at_ms;
    double left_ms;

    if (ended <= 0 || left == 0 || took_ms <= 0)
        return;
    left_ms = (double)took_ms / (double)ended * (double)left;
    if (left_ms > 1e12)
        return;
    buf_add_str(out, ", about ");
    units_add_duration(out, left_ms < 1000 ? 1000 : (int64_t)left_ms / 1000 * 1000);
    buf_add_str(out, " left");
}

void progress_add_line(struct buf *out, const struct progress *p, const struct sweep_info *s,
                       int64_t now_ms, size_t columns)
{
    const struct job_counts *c = &s->jobs;
    int64_t jobs = progress_jobs(c) + s->reused;
    size_t begin = out->n;

    buf_printf(out, "sweep %" PRId64 " ", s->sweep);
    if (columns >= BAR_NEEDS)
        progress_add_bar(out, progress_reached(s), jobs);
    buf_printf(out, "%" PRId64 "/%" PRId64 " done", c->done + s->reused, jobs);
    if (c->running > 0)
        buf_printf(out, ", %" PRId64 " running", c->running);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (job_runs_again((enum job_state)i) && c->of[i] > 0)
            buf_printf(out, ", %" PRId64 " %s", c->of[i], job_state_names[i]);
    if (s->state == SWEEP_PAUSED)
        buf_add_str(out, ", paused");
    else
        add_time_left(out, p, c, now_ms);
    out->n = begin + safe_text_fitting((const char *)out->bytes + begin, out->n - begin, columns);
    out->bytes[out->n] = '\0';
}

static void write_line(struct buf *line)
{
    (void)!io_write_all(STDERR_FILENO, buf_text(line), line->n);
    buf_free(line);
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
    buf_add_str(&line, "\r");
    /* A full last column would begin a new line. */
    progress_add_line(&line, p, s, now_ms, output_columns(STDERR_FILENO) - 1);
    buf_add_str(&line, "\033[K");
    p->has_line = true;
    write_line(&line);
}

void progress_clear(struct progress *p)
{
    struct buf line = { 0 };

    if (!p->has_line)
        return;
    buf_add_str(&line, "\r\033[K");
    p->has_line = false;
    write_line(&line);
}
