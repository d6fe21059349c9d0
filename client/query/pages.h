/* SPDX-License-Identifier: MIT */
/*
 * pages.h - all the sweeps, jobs or results that a command is about, page by page
 *
 * The function that takes a page answers 0 to go on, 1 to stop, -1 with e set.  What it is
 * given lasts until it returns, and it may not ask the server for anything.
 */
#ifndef LUDWIG_CLIENT_QUERY_PAGES_H
#define LUDWIG_CLIENT_QUERY_PAGES_H

#include "client/query/where.h"
#include "client/session/rpc.h"

/* Whether the sweep of this owner ("lab/alice" for one of those who share the account lab) is the
 * user's, who is named so, or as lab, or as alice. */
bool pages_is_of(const char *owner, const char *user);
/* How many bytes of the project's name are shown beside its owner's: of bob's code.bob, code. */
int pages_project_bytes(const char *project, const char *owner);

struct sweep_filter {
    const char *user; /* NULL: anybody's */
    unsigned states;  /* bits: 1 << enum sweep_state; 0: all */
    int64_t page;     /* sweeps in the first question; 0: as many as a page may have */
};
bool pages_is_wanted(const struct sweep_filter *f, const struct sweep_info *s);

/* Of page->sweeps only those that are wanted. */
typedef int (*sweeps_fn)(void *context, const struct msg_sweep_page *page, struct err *e);
/* Newest first; the last page may be empty. */
int pages_sweeps(struct rpc *rpc, const struct sweep_filter *filter, sweeps_fn take, void *context,
                 struct err *e);

struct job_filter {
    struct list states;  /* const char *; empty: all */
    struct where *where; /* NULL: all; names that no job of the targets has are an error */
    bool is_quiet;       /* no note on a name that means a field and is a parameter's too */
};

typedef int (*jobs_fn)(void *context, const struct job_info *jobs, size_t n, struct err *e);
/* targets: struct target. */
int pages_jobs(struct rpc *rpc, const struct list *targets, const struct job_filter *filter,
               jobs_fn take, void *context, struct err *e);

typedef int (*results_fn)(void *context, const struct job_result *results, size_t n, struct err *e);
/* Of all jobs of a sweep, in their order. */
int pages_results(struct rpc *rpc, int64_t sweep, results_fn take, void *context, struct err *e);

/* One sweep, or one job; its texts last until the next call on rpc. */
int pages_sweep(struct rpc *rpc, int64_t sweep, struct sweep_info *info, struct err *e);
int pages_job(struct rpc *rpc, const struct target *t, struct job_info *info, struct err *e);

#endif
