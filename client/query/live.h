/* SPDX-License-Identifier: MIT */
/*
 * live.h - reads the last values that jobs without a result have reported, from files on the share
 */
#ifndef LUDWIG_CLIENT_QUERY_LIVE_H
#define LUDWIG_CLIENT_QUERY_LIVE_H

#include "common/proto/proto.h"
#include "common/share/share.h"

enum { LIVE_MAX = 500 }; /* how many jobs' files a command reads at most */

struct live {
    const char *path; /* metrics_path of the job */
    struct list
        metrics; /* struct metric, in the order they came: value and step; out, in the arena */
};

/* Reads the ends of n files, many at a time.  Files that cannot be read give no metrics. */
void live_read(const struct share_dir *fs, struct live *jobs, size_t n, struct arena *a);

/* Appends "accuracy ~0.31, loss ~1.2, step 5"; nothing for no metrics. */
void live_add_words(struct buf *out, const struct list *metrics);

#endif
