/* SPDX-License-Identifier: MIT */
/*
 * progress.h - how far a sweep is, in one line of the terminal that is written anew
 */
#ifndef LUDWIG_CLIENT_TERM_PROGRESS_H
#define LUDWIG_CLIENT_TERM_PROGRESS_H

#include "common/proto/proto.h"

struct progress {
    bool shown; /* stderr is a terminal */
    bool has_line;
    int64_t began_at_ms;
    int64_t ended_before; /* jobs that were over when it began */
};

void progress_init(struct progress *p);
void progress_show(struct progress *p, const struct sweep_info *s, int64_t now_ms);
/* Takes the line away, so that something else can be written. */
void progress_clear(struct progress *p);

/* Appends "14/24 done, 2 running, 1 failed, about 12 s left" and a bar before it if columns
 * allow; at most columns wide. */
void progress_add_line(struct buf *out, const struct progress *p, const struct sweep_info *s,
                       int64_t now_ms, size_t columns);
/* "[######..................] " */
void progress_add_bar(struct buf *out, int64_t ended, int64_t jobs);
int64_t progress_ended(const struct job_counts *c);
int64_t progress_jobs(const struct job_counts *c);
/* Jobs that count as gone through: those that were cancelled with all of their sweep do not. */
int64_t progress_reached(const struct sweep_info *s);
bool progress_is_over(const struct sweep_info *s);

#endif
