/* SPDX-License-Identifier: MIT */
/*
 * follow.h - what the process of a batch reports of its jobs, line by line
 *
 * It appends JSON to $LUDWIG_METRICS in its folder, itself or by `ludwig report`:
 *
 *   {"job": "7.13", "accuracy": 0.9, "step": 3}
 *   {"job": "7.13", "done": true}        {"job": "7.13", "failed": "no such file"}
 *
 * Everything else in there is passed over.  A file that became shorter, or another
 * one in its place, is read from its beginning.
 */
#ifndef LUDWIG_WORKER_RUNNER_FOLLOW_H
#define LUDWIG_WORKER_RUNNER_FOLLOW_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"

/* One line.  Lasts until the call of follow_fn ends. */
struct follow_report {
    int64_t sweep, job;
    bool is_done, has_failed; /* not both */
    const char *reason;       /* has_failed: NULL when none was said */
    struct bytes measures;    /* the rest of it, a whole line of JSON; empty: there was none */
};

typedef void (*follow_fn)(void *context, const struct follow_report *r);

struct follow {
    int dir_fd;
    int inotify_fd; /* for poll(2); -1: look every now and then */
    uint64_t inode;
    int64_t offset; /* of what is to be read next */
    struct buf line;
    bool is_too_long; /* the line that is being read */
    struct arena *arena;
    follow_fn each;
    void *context;
};

/* Owns dir_fd, the process's folder. */
void follow_open(struct follow *f, int dir_fd, follow_fn each, void *context);
void follow_close(struct follow *f); /* also of one that is all zeroes */

/* Reads what is new, within bounds; whether there is more. */
bool follow_look(struct follow *f);
/* A last line may lack its end. */
void follow_end(struct follow *f);

/* What follow_look does with what it reads. */
void follow_feed(struct follow *f, const char *bytes, size_t n);

#endif
