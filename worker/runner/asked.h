/* SPDX-License-Identifier: MIT */
/*
 * asked.h - whether a job that was asked to save its state has done so
 *
 * One that ends then with exit code 0 may be done, or may have saved and call that well done.  What it
 * has written to its checkpoint's folder tells.
 */
#ifndef LUDWIG_WORKER_RUNNER_ASKED_H
#define LUDWIG_WORKER_RUNNER_ASKED_H

#include "worker/base/scratch.h"
#include "worker/saved/snapshot.h"

/* Begins as all zeroes. */
struct asked {
    bool is_known; /* what there was */
    int64_t at_ms; /* since 1970 */
    struct snapshot before;
};

/* Just before it is asked.  hex: of its folder in run/. */
void asked_begin(struct asked *a, const struct scratch *s, const char *hex);
/* It wrote to its checkpoint since, or shortly before: Slurm tells one process after the other.  Where
 * that cannot be known: true. */
bool asked_has_saved(const struct asked *a, const struct scratch *s, const char *hex);
void asked_free(struct asked *a);

#endif
