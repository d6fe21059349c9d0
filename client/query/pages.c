/* SPDX-License-Identifier: MIT */
/* pages.c - asks the server for sweeps, jobs or results, page by page */
#include <inttypes.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/term/output.h"

/* Jobs in the first page when only parameters' names are wanted: one job has most names already. */
enum { NAMES_PAGE = 20 };

/* More pages than any lab has: a page holds hundreds of rows. */
enum { PAGES_MAX_IN_WALK = 1000 * 1000 };

int pages_go_on(struct pages_walk *w, int64_t next, struct err *e)
{
    if (next <= w->at)
        return err_set(e, ERR_PROTOCOL,
                       "the server's pages lead nowhere: behind %" PRId64 " comes %" PRId64, w->at,
                       next);
    if (++w->n >= PAGES_MAX_IN_WALK)
        return err_set(e, ERR_PROTOCOL, "the server's pages do not end: there were %" PRId64, w->n);
    w->at = next;
    return 0;
}

/* ---- sweeps ---- */

bool pages_is_of(const char *owner, const char *user)
{
    size_t n = strcspn(owner, "/");

    return strcmp(owner, user) == 0 ||
           (owner[n] == '/' && (strcmp(owner + n + 1, user) == 0 ||
                                (n == strlen(user) && strncmp(owner, user, n) == 0)));
}

/* Whether tags, such as "good,paper", has the tag. */
static bool has_tag(const char *tags, const char *tag)
{
    size_t n = strlen(tag);

    for (const char *at = tags; at != NULL && *at != '\0'; at += at[0] == ',') {
        size_t length = strcspn(at, ",");

        if (length == n && memcmp(at, tag, n) == 0)
            return true;
        at += length;
    }
    return false;
}

bool pages_is_wanted(const struct sweep_filter *f, const struct sweep_info *s)
{
    return (f->user == NULL || (s->user != NULL && pages_is_of(s->user, f->user))) &&
           (f->states == 0 || (f->states >> s->state & 1) != 0) &&
           (f->project == NULL || (s->project != NULL && strcmp(s->project, f->project) == 0)) &&
           (f->name == NULL || (s->name != NULL && strstr(s->name, f->name) != NULL) ||
            (s->project != NULL && strstr(s->project, f->name) != NULL)) &&
           (f->tag == NULL || has_tag(s->tags, f->tag)) && s->submitted_at >= f->since_ms;
}

int pages_sweeps(struct rpc *rpc, const struct sweep_filter *filter, sweeps_fn take, void *context,
                 struct err *e)
{
    struct msg_get_sweeps request = { .limit = filter->page > 0 ? filter->page : PAGE_MAX };
    struct pages_walk walk = { .at = INT64_MIN };
    struct msg_sweep_page page;
    int result;

    do {
        struct sweep_info *sweeps;
        size_t n = 0;

        if (rpc_call(rpc, MSG_GET_SWEEPS, &request, &page, e) < 0)
            return -1;
        sweeps = page.sweeps.items;
        page.more = page.more && page.sweeps.n > 0;
        if (page.sweeps.n > 0)
            request.before = sweeps[page.sweeps.n - 1].sweep;
        if (page.more && pages_go_on(&walk, -request.before, e) < 0)
            return -1;
        request.limit = PAGE_MAX;
        for (size_t i = 0; i < page.sweeps.n; i++)
            if (pages_is_wanted(filter, &sweeps[i]))
                sweeps[n++] = sweeps[i];
        page.sweeps.n = n;
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
    int64_t page; /* how many jobs the first page has */
    struct where *where;
    const struct job_measures *measures;
    jobs_fn take;
    void *context;
};

static int walk(const struct walk *w, const struct list *targets, struct err *e)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < targets->n; i++) {
        const struct target *t = (const struct target *)targets->items + i;
        struct msg_get_jobs request = { .sweep = t->sweep,
                                        .after = t->first > 0 ? t->first - 1 : 0,
                                        .last = t->last,
                                        .limit = w->page,
                                        .states = w->states };
        struct pages_walk pages = { .at = request.after };
        struct msg_job_page page;

        do {
            struct job_info *jobs;
            size_t n = 0;

            if (rpc_call(w->rpc, MSG_GET_JOBS, &request, &page, e) < 0 ||
                (page.next != 0 && pages_go_on(&pages, page.next, e) < 0))
                return -1;
            request.after = page.next;
            request.limit = PAGE_MAX;
            jobs = page.jobs.items;
            for (size_t k = 0; k < page.jobs.n; k++) {
                struct jobinfo_row row;

                jobinfo_fill_row(&row, &jobs[k]);
                if (w->measures != NULL) {
                    const struct list measures = job_measures_of(w->measures, jobs[k].job);

                    row.row.measures = measures.items;
                    row.row.n_measures = measures.n;
                }
                if (w->where == NULL || where_matches(w->where, &row.row))
                    jobs[n++] = jobs[k];
            }
            result = w->take(w->context, jobs, n, e);
        } while (result == 0 && page.next != 0);
    }
    return result;
}

static int stop_once_known(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    (void)jobs;
    (void)n;
    (void)e;
    return where_knows_names(context);
}

int pages_jobs(struct rpc *rpc, const struct list *targets, const struct job_filter *filter,
               jobs_fn take, void *context, struct err *e)
{
    struct where *where = filter->where;
    const struct walk w = { rpc, filter->states, PAGE_MAX, where, filter->measures, take, context };
    /* Names in --where are checked before anything is shown or changed, by jobs of all states, as
     * only a few jobs may have a parameter with a condition. */
    const struct walk first = { rpc, { 0 }, NAMES_PAGE, where, NULL, stop_once_known, where };
    const char *both;

    if (where != NULL) {
        if (walk(&first, targets, e) < 0 ||
            (filter->measures != NULL && !where_knows_names(where) &&
             job_measures_learn(filter->measures, targets, where, e) < 0) ||
            where_check_names(where, e) < 0)
            return -1;
        both = where_shadowing(where);
        if (both != NULL && !filter->is_quiet)
            output_note("--where: %s is the job's field; params.%s is the parameter", both, both);
    }
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
    struct pages_walk walk = { .at = 0 };
    struct msg_result_page page;
    int result;

    do {
        if (rpc_call(rpc, MSG_GET_RESULTS, &request, &page, e) < 0 ||
            (page.next != 0 && pages_go_on(&walk, page.next, e) < 0))
            return -1;
        result = take(context, page.results.items, page.results.n, e);
        request.after = page.next;
    } while (result == 0 && page.next != 0);
    return result < 0 ? -1 : 0;
}
