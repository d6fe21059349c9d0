/* SPDX-License-Identifier: MIT */
/*
 * progress.h - how far something is, in one line of the terminal that is written anew
 */
#ifndef LUDWIG_CLIENT_TERM_PROGRESS_H
#define LUDWIG_CLIENT_TERM_PROGRESS_H

#include "common/proto/proto.h"

/* ---- the line ---- */

/* On stderr; nothing where that is no terminal.  Zero-initialised: it is not there. */
struct status_line {
    bool is_there;
    int64_t shown_at_ms;
};

/* Whether stderr is a terminal and 100 ms have passed since the line was shown. */
bool status_line_is_due(struct status_line *l, int64_t now_ms);
/* As much of text as there is room for; frees it. */
void status_line_show(struct status_line *l, struct buf *text);
/* Takes the line away, so that something else can be written. */
void status_line_clear(struct status_line *l);

/* ---- a sweep ---- */

struct progress {
    bool shown; /* stderr is a terminal */
    struct status_line line;
    int64_t began_at_ms;
    int64_t ended_before; /* jobs that were over when it began */
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
/* Jobs that count as gone through: those that were cancelled with all of their sweep do not. */
int64_t progress_reached(const struct sweep_info *s);
bool progress_is_over(const struct sweep_info *s);

/* ---- an upload ---- */

struct uploadbar {
    struct status_line line;
    uint64_t bytes, all_bytes;
    uint64_t files, all_files;
    int64_t began_at_ms, told_at_ms;
    int told_fd; /* a program that reads "at FILES BYTES" each second; 0: none */
};

/* All functions take NULL for none. */
void uploadbar_begin(struct uploadbar *b, uint64_t files, uint64_t bytes);
/* So many files more, and so many bytes of files, were read and went out. */
void uploadbar_add(struct uploadbar *b, uint64_t files, uint64_t bytes);
void uploadbar_clear(struct uploadbar *b);

/* Appends "412 MiB of 1.0 GiB, 37 MiB/s, about 16 s left, 120 of 2000 files" and a bar before it if
 * columns allow; at most columns wide. */
void uploadbar_add_line(struct buf *out, const struct uploadbar *b, int64_t now_ms, size_t columns);

#endif
