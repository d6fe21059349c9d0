/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_saved.h - whether a job that was asked to save its state has done so
 *
 * One that ends then with exit code 0 may be done, or may have saved and call that well done.  What it
 * has written to its checkpoint's folder tells.
 */
#ifndef LUDWIG_WORKER_RUNNER_CHECKPOINT_SAVED_H
#define LUDWIG_WORKER_RUNNER_CHECKPOINT_SAVED_H

#include "worker/base/scratch.h"
#include "worker/saved/checkpoint_snapshot.h"

/* Begins as all zeroes. */
struct checkpoint_saved {
    bool is_known; /* what there was */
    int64_t at_ms; /* since 1970 */
    struct checkpoint_snapshot before;
};

/* Just before it is asked.  hex: of its folder in run/. */
void checkpoint_saved_begin(struct checkpoint_saved *a, const struct scratch *s, const char *hex);
/* It wrote to its checkpoint since, or shortly before: Slurm tells one process after the other.  Where
 * that cannot be known: true. */
bool checkpoint_saved_has_saved(const struct checkpoint_saved *a, const struct scratch *s,
                                const char *hex);
void checkpoint_saved_free(struct checkpoint_saved *a);

#endif
