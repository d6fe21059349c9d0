/* SPDX-License-Identifier: MIT */
/* job_change.c - commands that change jobs, and say how many they changed */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cmd/job_change.h"
#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/query/targets.h"
#include "client/session/session.h"
#include "client/term/confirm.h"
#include "client/term/opt_state.h"
#include "client/term/output.h"
#include "client/term/progress.h"

static_assert(offsetof(struct msg_cancel, targets) == 0 &&
                  offsetof(struct msg_retry, targets) == 0 &&
                  offsetof(struct msg_pause, targets) == 0 &&
                  offsetof(struct msg_resume, targets) == 0,
              "change_jobs fills in the targets of all four");

/* Of how many sweeps it is said why nothing was changed. */
enum { SWEEPS_EXPLAINED = 5 };

struct changing {
    const struct change *change;
    const struct job_change_options *options;
    struct rpc *rpc;
    struct arena *arena;
    struct where *where; /* NULL: all */
    struct list targets; /* struct target, in order */
    int64_t matched;     /* with where: jobs in targets */
};

/* ---- which jobs ---- */

static struct job_filter filter_of(const struct changing *c)
{
    return (struct job_filter){ opt_state_names(&stateopt_jobs, c->change->states, c->arena),
                                c->where, c->options->quiet };
}

static int take_matches(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        char *point;
        struct target t = { .sweep = strtoll(jobs[i].job, &point, 10) };

        if (*point != '.')
            return err_set(e, ERR_PROTOCOL, "the server has a job '%s'", jobs[i].job);
        t.first = t.last = strtoll(point + 1, NULL, 10);
        targets_add(context, &t);
    }
    return 0;
}

static int64_t count_named(const struct list *targets)
{
    const struct target *items = targets->items;
    int64_t n = 0;

    for (size_t i = 0; i < targets->n; i++)
        n += items[i].last - items[i].first + 1;
    return n;
}

static int find_targets(struct changing *c, const struct opt_words *words, struct err *e)
{
    struct targets found = { .arena = c->arena };
    struct job_filter filter = filter_of(c);

    if (selector_targets_of(c->rpc, c->options->user, words, c->arena, &c->targets, e) < 0 ||
        selector_check_jobs(c->rpc, &c->targets, e) < 0)
        return -1;
    if (c->where == NULL || c->targets.n == 0)
        return 0;
    if (pages_jobs(c->rpc, &c->targets, &filter, take_matches, &found, e) < 0)
        return -1;
    c->targets = targets_list(&found);
    c->matched = count_named(&c->targets);
    return 0;
}

/* ---- how many: only where there may be so many that a question is asked ---- */

static int64_t count_states(const struct job_counts *c, unsigned states)
{
    const int64_t counts[] = {
        [JOB_QUEUED] = c->queued,         [JOB_STAGING] = c->staging, [JOB_RUNNING] = c->running,
        [JOB_PUBLISHING] = c->publishing, [JOB_DONE] = c->done,       [JOB_FAILED] = c->failed,
        [JOB_CANCELLED] = c->cancelled
    };
    int64_t n = 0;

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        n += (states >> i & 1) != 0 ? counts[i] : 0;
    return n;
}

static int take_count(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    (void)jobs;
    (void)e;
    *(int64_t *)context += (int64_t)n;
    return 0;
}

static int count_one(const struct changing *c, const struct target *t, int64_t *n, struct err *e)
{
    const struct list one = { (void *)t, 1 };
    struct job_filter filter = filter_of(c);
    struct sweep_info info;
    int64_t most;

    if (pages_sweep(c->rpc, t->sweep, &info, e) < 0)
        return -1;
    most = count_states(&info.jobs, c->change->states);
    if (target_is_whole(t) || most == 0) {
        *n += most;
        return 0;
    }
    if (t->last - t->first < CONFIRM_ABOVE) {
        *n += most <= t->last - t->first ? most : t->last - t->first + 1;
        return 0;
    }
    return pages_jobs(c->rpc, &one, &filter, take_count, n, e);
}

static int count_jobs(const struct changing *c, int64_t *n, struct err *e)
{
    const struct target *items = c->targets.items;

    *n = c->matched;
    for (size_t i = 0; c->where == NULL && i < c->targets.n; i++)
        if (count_one(c, &items[i], n, e) < 0)
            return -1;
    return 0;
}

static int64_t count_sweeps(const struct list *targets)
{
    const struct target *items = targets->items;
    int64_t n = 0;

    for (size_t i = 0; i < targets->n; i++)
        n += i == 0 || items[i].sweep != items[i - 1].sweep;
    return n;
}

/* 1 to go on, 0 when the answer was no, -1. */
static int confirm(const struct changing *c, struct err *e)
{
    int64_t n_sweeps = count_sweeps(&c->targets), n_jobs;
    struct buf question = { 0 };
    bool yes;

    if (c->options->yes || !confirm_is_possible())
        return 1;
    if (count_jobs(c, &n_jobs, e) < 0)
        return -1;
    if (n_jobs <= CONFIRM_ABOVE)
        return 1;
    buf_printf(&question, "%s %" PRId64 " jobs of ", c->change->verb, n_jobs);
    if (n_sweeps == 1)
        buf_printf(&question, "sweep %" PRId64 "?", ((struct target *)c->targets.items)->sweep);
    else
        buf_printf(&question, "%" PRId64 " sweeps?", n_sweeps);
    yes = confirm_ask(buf_text(&question));
    buf_free(&question);
    if (!yes)
        output_note("nothing was changed");
    return yes;
}

/* ---- changing ---- */

/* As many requests as it takes, each with an id of its own. */
static int send_targets(const struct changing *c, int64_t *jobs, struct err *e)
{
    struct target *items = c->targets.items;

    for (size_t sent = 0; sent < c->targets.n;) {
        size_t left = c->targets.n - sent, n = left < TARGETS_MAX ? left : TARGETS_MAX;
        struct msg_changed reply;

        *(struct list *)c->change->request = (struct list){ &items[sent], n };
        if (rpc_call(c->rpc, c->change->type, c->change->request, &reply, e) < 0)
            return sent == 0 ? -1 : err_wrap(e, "after %" PRId64 " jobs were changed", *jobs);
        *jobs += reply.jobs;
        sent += n;
    }
    return 0;
}

/* ---- what is said ---- */

/* Jobs of a sweep that is paused wait for the sweep, whatever is done to them. */
static bool is_held_back(const struct changing *c, const struct target *t,
                         const struct sweep_info *info)
{
    return c->change->type == MSG_RESUME && info->state == SWEEP_PAUSED && !target_is_whole(t);
}

static void explain_sweep(const struct changing *c, const struct target *t,
                          const struct sweep_info *info)
{
    const struct change *what = c->change;
    const char *whose = target_is_whole(t) ? "no job" : "none of these jobs";

    if (progress_is_over(info) && what->type != MSG_RETRY)
        output_note("sweep %" PRId64 " is over: nothing to %s", t->sweep, what->verb);
    else if (info->state == SWEEP_PAUSED && what->type == MSG_PAUSE && target_is_whole(t))
        output_note("sweep %" PRId64 " is paused: there is no further job to keep back", t->sweep);
    else if (is_held_back(c, t, info))
        output_note("sweep %" PRId64 " is paused as a whole: ludwig resume %" PRId64, t->sweep,
                    t->sweep);
    else
        output_note("sweep %" PRId64 ": %s %s: nothing to %s", t->sweep, whose, what->idle,
                    what->verb);
}

static int explain(const struct changing *c, struct err *e)
{
    const struct target *items = c->targets.items;
    struct sweep_info info;
    int n = 0;

    if (c->where != NULL && c->matched == 0) {
        output_note("no job that %s is one that --where asks for: nothing to %s", c->change->idle,
                    c->change->verb);
        return 0;
    }
    if (c->targets.n == 0)
        output_note("none of %s sweeps goes on any more: nothing to %s (name those that are over)",
                    c->options->user != NULL ? "these" : "your", c->change->verb);
    for (size_t i = 0; i < c->targets.n && n < SWEEPS_EXPLAINED; i++) {
        if (i > 0 && items[i].sweep == items[i - 1].sweep)
            continue;
        if (pages_sweep(c->rpc, items[i].sweep, &info, e) < 0)
            return -1;
        explain_sweep(c, &items[i], &info);
        n++;
    }
    return 0;
}

/* Some jobs were changed, and yet may not run. */
static int say_held_back(const struct changing *c, struct err *e)
{
    const struct target *items = c->targets.items;
    struct sweep_info info;
    int n = 0;

    for (size_t i = 0; c->change->type == MSG_RESUME && i < c->targets.n; i++) {
        if (target_is_whole(&items[i]) || (i > 0 && items[i].sweep == items[i - 1].sweep))
            continue;
        if (n++ == SWEEPS_EXPLAINED)
            break;
        if (pages_sweep(c->rpc, items[i].sweep, &info, e) < 0)
            return -1;
        if (is_held_back(c, &items[i], &info))
            explain_sweep(c, &items[i], &info);
    }
    return 0;
}

static int say_changes(const struct changing *c, int64_t jobs, struct err *e)
{
    if (jobs == 0)
        return explain(c, e);
    output_note("%" PRId64 " job%s %s", jobs, jobs == 1 ? "" : "s", c->change->done);
    return say_held_back(c, e);
}

static int tell(const struct changing *c, int64_t jobs, struct err *e)
{
    const struct msg_changed changed = { jobs };
    struct buf out = { 0 };

    if (!c->options->quiet && say_changes(c, jobs, e) < 0)
        return -1;
    if (!c->options->json)
        return 0;
    output_add_versioned(&out, proto.messages[MSG_CHANGED].schema, &changed);
    buf_add_char(&out, '\n');
    return output_write(&out, e);
}

static int change(struct changing *c, const struct opt_words *words, struct err *e)
{
    int64_t jobs = 0;
    int goes_on;

    if (find_targets(c, words, e) < 0)
        return -1;
    goes_on = confirm(c, e);
    if (goes_on <= 0)
        return goes_on < 0 ? -1 : EXIT_FAILED;
    if (send_targets(c, &jobs, e) < 0 || tell(c, jobs, e) < 0)
        return -1;
    return EXIT_WELL;
}

int change_jobs(struct cli *cli, const struct job_change_options *o, const struct change *c,
                struct err *e)
{
    struct changing changing = { .change = c, .options = o, .arena = cli->arena };
    struct session s;
    int result;

    if (selector_check(&cli->args, e) < 0)
        return -1;
    if (o->where != NULL) {
        changing.where = jobinfo_parse_where(o->where, cli->arena, e);
        if (changing.where == NULL)
            return -1;
    }
    if (session_open(cli, &s, e) < 0)
        return -1;
    changing.rpc = &s.rpc;
    result = change(&changing, &cli->args, e);
    session_close(&s);
    return result;
}
