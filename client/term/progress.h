/* SPDX-License-Identifier: MIT */
/*
 * progress.h - shows progress in one line of the terminal
 */
#ifndef LUDWIG_CLIENT_TERM_PROGRESS_H
#define LUDWIG_CLIENT_TERM_PROGRESS_H

#include "common/proto/proto.h"

/* ---- the line ---- */

/* A line on stderr, if that is a terminal.  Zero-initialised: not shown. */
struct status_line {
    bool is_there;
    int64_t shown_at_ms;
};

/* Whether stderr is a terminal and 100 ms have passed since the line was shown. */
bool status_line_is_due(struct status_line *l, int64_t now_ms);
/* Shows as much of text as fits; frees it. */
void status_line_show(struct status_line *l, struct buf *text);
/* Removes the line, so that other text can be written. */
void status_line_clear(struct status_line *l);

/* ---- a sweep ---- */

struct progress {
    bool shown; /* stderr is a terminal */
    struct status_line line;
    int64_t began_at_ms;
    int64_t ended_before; /* jobs that were over when the progress began */
};

void progress_init(struct progress *p);
void progress_show(struct progress *p, const struct sweep_info *s, int64_t now_ms);
void progress_clear(struct progress *p);

/* Appends "14/24 done, 2 running, 1 failed, about 12 s left" and a bar before it if columns
 * allow; at most columns wide. */
void progress_add_line(struct buf *out, const struct progress *p, const struct sweep_info *s,
                       int64_t now_ms, size_t columns);
/* "[######..................] " */
void progress_add_bar(struct buf *out, int64_t ended, int64_t jobs);
int64_t progress_ended(const struct job_counts *c);
int64_t progress_jobs(const struct job_counts *c);
/* Jobs with results. */
int64_t progress_done(const struct job_counts *c);
/* Jobs for the bar: those that are over, but not those cancelled with their whole sweep. */
int64_t progress_reached(const struct sweep_info *s);
bool progress_is_over(const struct sweep_info *s);
/* Whether nothing goes on by itself: it is over, or what is left of it is held. */
bool progress_has_stopped(const struct sweep_info *s);

/* ---- an upload ---- */

struct uploadbar {
    struct status_line line;
    uint64_t bytes, all_bytes;
    uint64_t files, all_files;
    int64_t began_at_ms, told_at_ms;
    int told_fd; /* gets "at FILES BYTES" each second, for a program; 0: none */
};

/* All functions take NULL for none. */
void uploadbar_begin(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* Adds files, and bytes of files, that were read and sent. */
void uploadbar_add(struct uploadbar *b, uint64_t files, uint64_t bytes);
void uploadbar_clear(struct uploadbar *b);

/* Appends "412 MiB of 1.0 GiB, 37 MiB/s, about 16 s left, 120 of 2000 files" and a bar before it if
 * columns allow; at most columns wide. */
void uploadbar_add_line(struct buf *out, const struct uploadbar *b, int64_t now_ms, size_t columns);

#endif
