/* SPDX-License-Identifier: MIT */
/*
 * progress.h - shows the progress of a sweep or an upload in one line of the terminal
 */
#ifndef LUDWIG_CLIENT_TERM_PROGRESS_H
#define LUDWIG_CLIENT_TERM_PROGRESS_H

#include "common/proto/proto.h"

/* ---- the line ---- */

/* A line on stderr that is overwritten again and again.  Zero-initialise it. */
struct status_line {
    bool is_there; /* the line is shown */
    int64_t shown_at_ms;
};

/* Whether stderr is a terminal and the line should be shown now: true at most every 100 ms.
 * now_ms: of the same clock in all calls. */
bool status_line_is_due(struct status_line *l, int64_t now_ms);
/* Shows as much of text as fits into the terminal's width, and frees text.  stderr must be a
 * terminal. */
void status_line_show(struct status_line *l, struct buf *text);
/* Removes the line from the terminal, so that other text can be written. */
void status_line_clear(struct status_line *l);

/* ---- a sweep ---- */

struct progress {
    bool shown;                  /* stderr is a terminal */
    bool has_title, has_taskbar; /* the terminal has these, see struct progress_signs */
    int told_percent;            /* percent shown last in title or task bar; -1: none yet */
    struct status_line line;
    int64_t began_at_ms;
    int64_t ended_before; /* jobs that had ended at the first progress_show; -1 before that */
};

/* What a terminal can show beside text, judged by environment variables.  variable: getenv, or a
 * test's replacement. */
struct progress_signs {
    bool title;   /* a window's title */
    bool taskbar; /* progress on the terminal's tab or in the task bar: OSC 9;4 */
};
struct progress_signs progress_signs(const char *(*variable)(const char *name));

void progress_init(struct progress *p);
/* Shows the sweep's progress, if stderr is a terminal.  now_ms: of the same clock in all calls. */
void progress_show(struct progress *p, const struct sweep_info *s, int64_t now_ms);
/* Removes the line, so that other text can be written. */
void progress_clear(struct progress *p);
/* Removes the line, and restores title and task bar.  rings: also rings the terminal's bell. */
void progress_end(struct progress *p, bool rings);

/* Appends "sweep 7 [####...] 14/24 done, 2 running, 1 failed, about 12 s left", cut to so many
 * columns; the bar only from 80 columns on.  The time left is estimated from the jobs that ended
 * since the first progress_show. */
void progress_add_line(struct buf *out, const struct progress *p, const struct sweep_info *s,
                       int64_t now_ms, size_t columns);
/* Appends "[######..................] " for ended of so many jobs. */
void progress_add_bar(struct buf *out, int64_t ended, int64_t jobs);
/* Number of jobs that have ended, of all jobs, and of jobs with published results. */
int64_t progress_ended(const struct job_counts *c);
int64_t progress_jobs(const struct job_counts *c);
int64_t progress_done(const struct job_counts *c);
/* Number of jobs for the filled part of the bar: reused jobs and jobs that have ended; in a
 * cancelled sweep cancelled jobs do not count. */
int64_t progress_reached(const struct sweep_info *s);
bool progress_is_over(const struct sweep_info *s);
/* Whether the sweep makes no progress unless a user does something: it is over, all jobs left are
 * held, or its advisor paused it and no job runs. */
bool progress_has_stopped(const struct sweep_info *s);

/* ---- an upload ---- */

struct uploadbar {
    struct status_line line;
    uint64_t bytes, all_bytes; /* sent so far, expected in all */
    uint64_t files, all_files;
    int64_t began_at_ms, told_at_ms;
    int told_fd; /* gets a line "at FILES BYTES" at most each second, for a program; 0: none */
};

/* The functions with a non-const b do nothing if it is NULL. */

/* Begins an upload of so many files and bytes; resets told_fd, too. */
void uploadbar_begin(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* Adds files, and bytes of files, that were read and sent; shows the line if it is due. */
void uploadbar_add(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* Removes the line from the terminal. */
void uploadbar_clear(struct uploadbar *b);

/* Appends "upload [####...] 412 MiB of 1.0 GiB, 37 MiB/s, about 16 s left, 120 of 2000 files", cut
 * to so many columns; the bar only from 90 columns on. */
void uploadbar_add_line(struct buf *out, const struct uploadbar *b, int64_t now_ms, size_t columns);

#endif
