/* SPDX-License-Identifier: MIT */
/* pages.c - all the sweeps, jobs or results that a command is about, page by page */
#include <inttypes.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/term/output.h"

/* One job knows most names already. */
enum { NAMES_PAGE = 20 };

/* ---- sweeps ---- */

bool pages_is_of(const char *owner, const char *user)
{
    const char *slash = strchr(owner, '/');
    size_t n = strlen(user);

    if (strcmp(owner, user) == 0)
        return true;
    return slash != NULL && (strcmp(slash + 1, user) == 0 ||
                             ((size_t)(slash - owner) == n && strncmp(owner, user, n) == 0));
}

bool pages_is_wanted(const struct sweep_filter *f, const struct sweep_info *s)
{
    return (f->user == NULL || (s->user != NULL && pages_is_of(s->user, f->user))) &&
           (f->states == 0 || (f->states >> s->state & 1) != 0);
}

static void keep_wanted_sweeps(const struct sweep_filter *f, struct list *sweeps)
{
    struct sweep_info *items = sweeps->items;
    size_t n = 0;

    for (size_t i = 0; i < sweeps->n; i++)
        if (pages_is_wanted(f, &items[i]))
            items[n++] = items[i];
    sweeps->n = n;
}

int pages_sweeps(struct rpc *rpc, const struct sweep_filter *filter, sweeps_fn take, void *context,
                 struct err *e)
{
    struct msg_get_sweeps request = { .limit = filter->page > 0 ? filter->page : PAGE_MAX };
    struct msg_sweep_page page;
    int result;

    do {
        if (rpc_call(rpc, MSG_GET_SWEEPS, &request, &page, e) < 0)
            return -1;
        page.more = page.more && page.sweeps.n > 0;
        if (page.sweeps.n > 0)
            request.before =
                ((const struct sweep_info *)page.sweeps.items)[page.sweeps.n - 1].sweep;
        request.limit = PAGE_MAX;
        keep_wanted_sweeps(filter, &page.sweeps);
        result = take(context, &page, e);
    } while (result == 0 && page.more);
    return result < 0 ? -1 : 0;
}

int pages_sweep(struct rpc *rpc, int64_t sweep, struct sweep_info *info, struct err *e)
{
    struct msg_get_sweeps request = { .sweep = sweep, .limit = 1 };
    struct msg_sweep_page page;

    if (rpc_call(rpc, MSG_GET_SWEEPS, &request, &page, e) < 0)
        return -1;
    if (page.sweeps.n == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, sweep);
    *info = *(const struct sweep_info *)page.sweeps.items;
    return 0;
}

/* ---- jobs ---- */

struct walk {
    struct rpc *rpc;
    struct list states;
    int64_t page; /* jobs in the first question */
    struct where *where;
    jobs_fn take;
    void *context;
};

static size_t keep_wanted_jobs(struct where *where, struct list *jobs)
{
    struct job_info *items = jobs->items;
    size_t n = 0;

    for (size_t i = 0; i < jobs->n; i++) {
        struct jobinfo_row row;

        jobinfo_fill_row(&row, &items[i]);
        if (where == NULL || where_matches(where, &row.row))
            items[n++] = items[i];
    }
    return n;
}

static int walk_target(const struct walk *w, const struct target *t, struct err *e)
{
    struct msg_get_jobs request = { .sweep = t->sweep,
                                    .after = t->first > 0 ? t->first - 1 : 0,
                                    .last = t->last,
                                    .limit = w->page,
                                    .states = w->states };
    struct msg_job_page page;
    int result;

    do {
        if (rpc_call(w->rpc, MSG_GET_JOBS, &request, &page, e) < 0)
            return -1;
        request.after = page.next;
        request.limit = PAGE_MAX;
        result = w->take(w->context, page.jobs.items, keep_wanted_jobs(w->where, &page.jobs), e);
    } while (result == 0 && page.next != 0);
    return result;
}

static int walk(const struct walk *w, const struct list *targets, struct err *e)
{
    const struct target *items = targets->items;
    int result = 0;

    for (size_t i = 0; result == 0 && i < targets->n; i++)
        result = walk_target(w, &items[i], e);
    return result;
}

static int stop_once_known(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    (void)jobs;
    (void)n;
    (void)e;
    return where_knows_names(context);
}

/* Before anything is shown or changed, and in jobs of all states: a parameter with a condition may
 * be there in few of them. */
static int check_names(struct rpc *rpc, const struct list *targets, const struct job_filter *filter,
                       struct err *e)
{
    struct where *where = filter->where;
    const char *both;
    const struct walk w = {
        .rpc = rpc, .page = NAMES_PAGE, .where = where, .take = stop_once_known, .context = where
    };

    if (walk(&w, targets, e) < 0 || where_check_names(where, e) < 0)
        return -1;
    both = where_shadowing(where);
    if (both != NULL && !filter->is_quiet)
        output_note("--where: %s is the job's field; params.%s is the parameter", both, both);
    return 0;
}

int pages_jobs(struct rpc *rpc, const struct list *targets, const struct job_filter *filter,
               jobs_fn take, void *context, struct err *e)
{
    const struct walk w = { .rpc = rpc,
                            .states = filter->states,
                            .page = PAGE_MAX,
                            .where = filter->where,
                            .take = take,
                            .context = context };

    if (filter->where != NULL && check_names(rpc, targets, filter, e) < 0)
        return -1;
    return walk(&w, targets, e) < 0 ? -1 : 0;
}

int pages_job(struct rpc *rpc, const struct target *t, struct job_info *info, struct err *e)
{
    const struct msg_get_jobs request = {
        .sweep = t->sweep, .after = t->first - 1, .last = t->first, .limit = 1
    };
    struct msg_job_page page;

    if (rpc_call(rpc, MSG_GET_JOBS, &request, &page, e) < 0)
        return -1;
    if (page.jobs.n == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no job %" PRId64 ".%" PRId64, t->sweep,
                       t->first);
    *info = *(const struct job_info *)page.jobs.items;
    return 0;
}

/* ---- results ---- */

int pages_results(struct rpc *rpc, int64_t sweep, results_fn take, void *context, struct err *e)
{
    struct msg_get_results request = { .sweep = sweep, .limit = PAGE_MAX };
    struct msg_result_page page;
    int result;

    do {
        if (rpc_call(rpc, MSG_GET_RESULTS, &request, &page, e) < 0)
            return -1;
        result = take(context, page.results.items, page.results.n, e);
        request.after = page.next;
    } while (result == 0 && page.next != 0);
    return result < 0 ? -1 : 0;
}
