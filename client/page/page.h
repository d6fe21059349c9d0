/* SPDX-License-Identifier: MIT */
/*
 * page.h - a sweep's results as one file of HTML: results --html
 *
 * The file has its data and all that shows them in it, asks no host for anything, and may be opened
 * from a disk or a mail.  What others wrote (names, values, reasons) is in it as JSON that a browser
 * does not take for HTML, and a policy in the file lets run nothing but the page's own script.
 * docs/internals/page.md describes the data.
 */
#ifndef LUDWIG_CLIENT_PAGE_PAGE_H
#define LUDWIG_CLIENT_PAGE_PAGE_H

#include "client/page/curves.h"
#include "client/results/aggregate.h"
#include "client/session/session.h"

/* More jobs' series are not read: those of the best configurations are. */
enum { PAGE_SERIES_MAX = 2000, PAGE_SERIES_METRICS_MAX = 6 };

/* A job, with what is known of it. */
struct page_job {
    struct job_result result; /* without metrics and params */
    size_t config;            /* index in the aggregate */
    const char *node;         /* NULL: not known */
    int64_t started_at, ended_at;
};

struct page {
    struct arena *arena;
    struct aggregate *aggregate; /* finished */
    int ranked_by;               /* index of a metric, -1: none */
    struct list sweeps;          /* struct sweep_info, at least one; of one project */
    struct page_job *jobs;
    size_t n_jobs, jobs_capacity;
    struct curves curves;
    struct list notes; /* const char *: what the page does not show */
};

/* Keeps a job of a sweep, before the aggregate is looked at. */
void page_add_job(struct page *p, const struct job_result *job);
/* Asks the server where and when jobs ran, and reads their series from the drive. */
int page_learn(struct page *p, struct session *session, struct err *e);
/* Appends the file. */
void page_add_html(struct buf *out, struct page *p);
/* Writes it; path "-": to stdout. */
int page_write(struct page *p, const char *path, struct err *e);
void page_free(struct page *p);

/* Appends the data, as JSON that may stand in a <script>. */
void page_add_data(struct buf *out, struct page *p);

#endif
