/* SPDX-License-Identifier: MIT */
/*
 * sweepview.h - shows a sweep
 */
#ifndef LUDWIG_CLIENT_QUERY_SWEEPVIEW_H
#define LUDWIG_CLIENT_QUERY_SWEEPVIEW_H

#include "client/session/rpc.h"
#include "client/term/table.h"

enum { REASONS_SHOWN = 3 };

struct reason {
    char *text;
    char *job; /* the first job with this reason */
    int64_t n;
    char *explained; /* "41 of 44 with optimizer=lion; 0 of 180 without"; NULL: nothing is sure */
};

/* The reasons why jobs of a sweep failed, the most frequent first; one for each cause. */
struct failures {
    struct reason *reasons;
    size_t n;
    int64_t jobs;     /* failed jobs looked at */
    bool is_complete; /* these are all failed jobs */
};

/* Finds none where the user may not see the jobs. */
int failures_read(struct rpc *rpc, int64_t sweep, struct failures *f, struct err *e);
/* Appends "2 x exit code 1: ValueError: ... (first: 9.3)" for each of the most frequent reasons,
 * and a line with its explanation. */
void failures_add(struct buf *out, const struct failures *f);
void failures_free(struct failures *f);

/* The jobs of a sweep that wait, to begin or to be published, as far as one page tells. */
struct queue {
    char *first;                 /* the first waiting job that is not paused; NULL: none is known */
    char *paused;                /* the first job that was paused by itself, not with its sweep */
    int64_t n_paused;            /* number of jobs paused by themselves */
    char *delayed, *delayed_why; /* the first job that ended but cannot be published yet */
    int64_t n_delayed;
    bool is_complete; /* there is no further page */
};

/* Finds none where the user may not see the jobs. */
int queue_read(struct rpc *rpc, const struct sweep_info *s, struct queue *q, struct err *e);
void queue_free(struct queue *q);

enum tone sweepview_tone(int state);
/* "14 done, 2 running, 7 queued, 1 failed" */
void sweepview_add_counts(struct buf *out, const struct sweep_info *s);
/* Estimates a sweep's time left by its jobs' mean time and how many run; 0: not known. */
int64_t sweepview_left_ms(const struct sweep_info *s);

/* A table of sweeps, a row for each. */
struct table *sweepview_table(size_t width, bool colour);
void sweepview_add_row(struct table *t, const struct sweep_info *s, int64_t now_ms);

/* Adds all about one sweep, in lines that fit into width; f and q may be NULL. */
void sweepview_add(struct buf *out, const struct sweep_info *s, const struct failures *f,
                   const struct queue *q, int64_t now_ms, size_t width, bool colour);

#endif
