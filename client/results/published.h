/* SPDX-License-Identifier: MIT */
/*
 * published.h - reads results from the projects' folders on the shared drive, without a server
 *
 * Each attempt that has ended left a job.json there, with its parameters and the measures it
 * reported.  Jobs that wait or run have none, and which results a sweep took over from earlier ones
 * is not written there.
 */
#ifndef LUDWIG_CLIENT_RESULTS_PUBLISHED_H
#define LUDWIG_CLIENT_RESULTS_PUBLISHED_H

#include "client/query/pages.h"
#include "common/share/share.h"

struct published {
    const char *project;
    int64_t sweep;          /* 0: all sweeps of the project */
    struct ranking ranking; /* by the sweep file; of a project, by its newest sweep's */
};

/* Finds a project by its name, a sweep by its number ("7"), or the caller's newest one by "last".
 * fs: the folder of projects.  Texts live in a. */
int published_find(struct published *p, const struct share_dir *fs, const char *word,
                   struct arena *a, struct err *e);
/* Gives the jobs that left a result or failed, configuration by configuration; a job that was tried
 * again comes once for each of done, stopped and failed, in this order.  Skips unreadable files. */
int published_results(const struct published *p, const struct share_dir *fs, results_fn take,
                      void *context, struct err *e);

#endif
