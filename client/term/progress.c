/* SPDX-License-Identifier: MIT */
/* progress.c - shows the progress of a sweep or an upload in one line of the terminal */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
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
    /* The advisor paused the sweep, and no job runs any more. */
    bool was_given_up = s->state == SWEEP_PAUSED && s->held != NULL && s->jobs.held == 0 &&
                        s->jobs.staging + s->jobs.running + s->jobs.publishing == 0;

    return progress_is_over(s) || s->state == SWEEP_HELD || was_given_up;
}

static bool is_word_of(const char *const *words, size_t n, const char *text)
{
    for (size_t i = 0; text != NULL && i < n; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* Chooses signs only for terminals that are known to support them by their environment variables:
 * others may show the escape sequence as text or as a message.  No task bar inside tmux and screen,
 * which do not pass that sequence on. */
struct progress_signs progress_signs(const char *(*variable)(const char *name))
{
    static const char *const with_title[] = { "xterm", "rxvt",    "tmux",  "alacritty", "foot",
                                              "kitty", "wezterm", "gnome", "konsole",   "st-" };
    static const char *const programs[] = { "WezTerm", "ghostty", "mintty" };
    enum { VTE_FIRST = 7900 };
    const char *term = variable("TERM"), *vte = variable("VTE_VERSION");
    const char *program = variable("TERM_PROGRAM"), *con_emu = variable("ConEmuANSI");
    const char *features = variable("TERM_FEATURES"); /* of iTerm2, where P means progress */
    bool is_inside = variable("TMUX") != NULL || variable("STY") != NULL;
    struct progress_signs signs = {
        .title = is_word_of(with_title, sizeof with_title / sizeof with_title[0], term)
    };

    signs.taskbar =
        term != NULL && strcmp(term, "dumb") != 0 && !is_inside &&
        (variable("WT_SESSION") != NULL || (con_emu != NULL && strcmp(con_emu, "ON") == 0) ||
         is_word_of(programs, sizeof programs / sizeof programs[0], program) ||
         (program != NULL && strcmp(program, "iTerm.app") == 0 && features != NULL &&
          strchr(features, 'P') != NULL) ||
         (vte != NULL && strtol(vte, NULL, 10) >= VTE_FIRST));
    return signs;
}

static const char *variable_of_shell(const char *name)
{
    return getenv(name);
}

void progress_init(struct progress *p)
{
    const struct progress_signs signs = progress_signs(variable_of_shell);

    *p = (struct progress){ .shown = output_is_terminal(STDERR_FILENO),
                            .ended_before = -1,
                            .told_percent = -1 };
    p->has_title = p->shown && signs.title;
    p->has_taskbar = p->shown && signs.taskbar;
}

static void write_sequence(struct buf *out)
{
    (void)!io_write_all(STDERR_FILENO, buf_text(out), out->n);
    buf_free(out);
}

/* Shows the progress in title and task bar.  The title has only numbers, because a sweep's name
 * could contain any characters. */
static void tell_signs(struct progress *p, const struct sweep_info *s)
{
    int64_t jobs = progress_jobs(&s->jobs) + s->reused;
    int percent = jobs > 0 ? (int)(progress_reached(s) * 100 / jobs) : 100;
    struct buf out = { 0 };

    if (percent == p->told_percent || (!p->has_title && !p->has_taskbar))
        return;
    if (p->has_title && p->told_percent < 0)
        buf_add_str(&out, "\033[22;2t"); /* saves the title */
    if (p->has_title)
        buf_printf(&out, "\033]2;%d %% of sweep %" PRId64 "\033\\", percent, s->sweep);
    if (p->has_taskbar)
        buf_printf(&out, "\033]9;4;%d;%d\033\\", s->jobs.failed > 0 ? 2 : 1, percent);
    p->told_percent = percent;
    write_sequence(&out);
}

void progress_end(struct progress *p, bool rings)
{
    const char *term = getenv("TERM");
    struct buf out = { 0 };

    progress_clear(p);
    if (p->told_percent >= 0 && p->has_taskbar)
        buf_add_str(&out, "\033]9;4;0;0\033\\");
    if (p->told_percent >= 0 && p->has_title)
        buf_add_str(&out, "\033]2;\033\\\033[23;2t"); /* empties the title, restores the saved */
    if (rings && p->shown && term != NULL && strcmp(term, "dumb") != 0)
        buf_add_char(&out, '\a');
    p->told_percent = -1;
    write_sequence(&out);
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
    tell_signs(p, s);
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
