/* SPDX-License-Identifier: MIT */
/*
 * pages.h - asks the server for sweeps, jobs or results, page by page
 *
 * The function that takes a page returns 0 to go on, 1 to stop, -1 with e set.  Its arguments last
 * until it returns, and it may not ask the server for anything.
 */
#ifndef LUDWIG_CLIENT_QUERY_PAGES_H
#define LUDWIG_CLIENT_QUERY_PAGES_H

#include "client/query/job_measures.h"
#include "client/session/rpc.h"

/* How far a walk over pages has come.  Each page must lead further than the one before, and the
 * number of pages is limited, so that no server can hold us for ever. */
struct pages_walk {
    int64_t at; /* where the next page begins, as a number that grows */
    int64_t n;  /* pages that have come */
};
/* Notes that a page has come that is not the last, and that the next one begins behind next.
 * ERR_PROTOCOL: next is no progress, or there were too many pages. */
int pages_go_on(struct pages_walk *w, int64_t next, struct err *e);

/* Whether a sweep of this owner is the user's.  An owner "lab/alice", a person of the shared
 * account lab, is meant by "lab/alice", "lab" and "alice". */
bool pages_is_of(const char *owner, const char *user);

struct sweep_filter {
    const char *user;    /* NULL: all users */
    unsigned states;     /* bits: 1 << enum sweep_state; 0: all */
    const char *project; /* NULL: any */
    const char *name;    /* a text in the sweep's name or its project's; NULL: any */
    const char *tag;     /* NULL: any */
    int64_t since_ms;    /* submitted then or later; 0: any */
    int64_t page;        /* how many sweeps to ask for first; 0: as many as a page may have */
};
bool pages_is_wanted(const struct sweep_filter *f, const struct sweep_info *s);

/* Takes a page, whose sweeps are only those that match the filter. */
typedef int (*sweeps_fn)(void *context, const struct msg_sweep_page *page, struct err *e);
/* Newest first; the last page may be empty. */
int pages_sweeps(struct rpc *rpc, const struct sweep_filter *filter, sweeps_fn take, void *context,
                 struct err *e);

struct job_filter {
    struct list states;  /* const char *; empty: all */
    struct where *where; /* NULL: all; names that no job of the targets has are an error */
    struct job_measures *measures; /* of the jobs; NULL: where knows no measures */
    bool is_quiet;                 /* no note on a name that is both a field's and a parameter's */
};

typedef int (*jobs_fn)(void *context, const struct job_info *jobs, size_t n, struct err *e);
/* Gives the jobs of the targets (struct target) that match the filter. */
int pages_jobs(struct rpc *rpc, const struct list *targets, const struct job_filter *filter,
               jobs_fn take, void *context, struct err *e);

typedef int (*results_fn)(void *context, const struct job_result *results, size_t n, struct err *e);
/* Gives the results of all jobs of a sweep, in their order. */
int pages_results(struct rpc *rpc, int64_t sweep, results_fn take, void *context, struct err *e);

/* Fill *info of one sweep or job; its texts last until the next call on rpc. */
int pages_sweep(struct rpc *rpc, int64_t sweep, struct sweep_info *info, struct err *e);
int pages_job(struct rpc *rpc, const struct target *t, struct job_info *info, struct err *e);

#endif
