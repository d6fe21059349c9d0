/* SPDX-License-Identifier: MIT */
/*
 * sweepview.h - what is shown of a sweep
 */
#ifndef LUDWIG_CLIENT_SWEEPVIEW_H
#define LUDWIG_CLIENT_SWEEPVIEW_H

#include "client/rpc.h"
#include "client/table.h"

enum { REASONS_SHOWN = 3 };

struct reason {
    char *text;
    char *job; /* the first one */
    int64_t n;
};

/* Why jobs of a sweep failed, the most frequent reasons first. */
struct failures {
    struct reason *reasons;
    size_t n, capacity;
    int64_t jobs;     /* looked at */
    bool is_complete; /* all that failed were */
};

/* None, where they may not be seen. */
int failures_read(struct rpc *rpc, int64_t sweep, struct failures *f, struct err *e);
void failures_free(struct failures *f);

enum tone sweepview_tone(int state);
/* "14 done, 2 running, 7 queued, 1 failed" */
void sweepview_add_counts(struct buf *out, const struct sweep_info *s);
/* How long it will still take, by how long its jobs took and how many run; 0: not known. */
int64_t sweepview_left_ms(const struct sweep_info *s);

/* A table of sweeps, a row for each. */
struct table *sweepview_table(size_t width, bool colour);
void sweepview_add_row(struct table *t, const struct sweep_info *s, int64_t now_ms);

/* All about one sweep, in lines that fit into width; f may be NULL. */
void sweepview_add(struct buf *out, const struct sweep_info *s, const struct failures *f,
                   int64_t now_ms, size_t width, bool colour);

#endif
