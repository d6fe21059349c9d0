/* SPDX-License-Identifier: MIT */
/*
 * live.h - the last values that jobs without a result have reported, as their files on the share say
 */
#ifndef LUDWIG_CLIENT_RESULTS_LIVE_H
#define LUDWIG_CLIENT_RESULTS_LIVE_H

#include "common/proto/proto.h"
#include "common/share/share.h"

/* A command looks at the files of so many jobs. */
enum { LIVE_MAX = 500 };

struct live {
    const char *path; /* metrics_path of the job */
    struct list
        metrics; /* struct metric, in the order they came: value and step; out, in the arena */
};

/* Reads the ends of the files, many at a time.  Of what cannot be read nothing is told. */
void live_read(const struct share_dir *fs, struct live *jobs, size_t n, struct arena *a);

/* "accuracy ~0.31, loss ~1.2, step 5"; nothing for none. */
void live_add_words(struct buf *out, const struct list *metrics);

#endif
