/* SPDX-License-Identifier: MIT */
/* cmd_change.c - ludwig cancel, pause, resume, retry and order */

/*
 * The commands change jobs and print how many.  If the user can be asked, they change many jobs or
 * end long runs only after a question.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "client/query/change_jobs.h"
#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/util/shell_env.h"
#include "common/base/units.h"

/* The most sweeps for which the reason is printed why nothing was changed. */
enum { SWEEPS_EXPLAINED = 5 };

/* A job that has run longer is not ended without a question. */
enum { LONG_RUN_MS = 10 * 60 * 1000 };

/* Options of all five commands; drain is cancel's, failed, states and env are retry's, last is order's. */
struct options {
    const char *where;
    const char *user;
    bool yes, json, quiet;
    bool drain;
    bool last;
    bool failed, stopped;
    struct list states;
    struct list env;
};

struct changing {
    const struct options *options;
    enum msg_type type;
    unsigned states;  /* bits: 1 << enum job_state of the jobs that the command changes */
    const char *verb; /* "cancel" */
    const char *done; /* the deed's participle: "cancelled" */
    const char *idle; /* "no job ..." when there is nothing to change: "waits or runs" */
    union change_request request;
    struct rpc *rpc;
    struct arena *arena;
    struct job_filter filter;
    struct list targets; /* struct target, in order */
    int64_t matched;     /* with where: jobs in targets */
};

/* ---- choice of jobs ---- */

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

static int find_targets(struct changing *c, const struct opt_words *words, struct err *e)
{
    struct targets found = { .arena = c->arena };

    if (selector_targets(c->rpc, c->options->user, words, c->arena, &c->targets, e) < 0 ||
        selector_check_jobs(c->rpc, &c->targets, e) < 0)
        return -1;
    if (c->filter.where == NULL || c->targets.n == 0)
        return 0;
    if (pages_jobs(c->rpc, &c->targets, &c->filter, take_matches, &found, e) < 0)
        return -1;
    c->targets = (struct list){ found.items, found.n };
    for (size_t i = 0; i < found.n; i++)
        c->matched += found.items[i].last - found.items[i].first + 1;
    return 0;
}

/* ---- number of jobs, and the question ---- */

static int take_count(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    (void)jobs;
    (void)e;
    *(int64_t *)context += (int64_t)n;
    return 0;
}

static int count_jobs(const struct changing *c, struct target *t, int64_t *n, struct err *e)
{
    const struct list one = { t, 1 };
    struct sweep_info info;
    int64_t most = 0, named = t->last - t->first + 1;

    if (pages_sweep(c->rpc, t->sweep, &info, e) < 0)
        return -1;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        most += (c->states >> i & 1) != 0 ? info.jobs.of[i] : 0;
    if (!target_is_whole(t) && most > 0 && named > CONFIRM_ABOVE)
        return pages_jobs(c->rpc, &one, &c->filter, take_count, n, e);
    *n += target_is_whole(t) || most < named ? most : named;
    return 0;
}

struct long_run {
    int64_t begun_before; /* ms since 1970 */
    int64_t n;
};

static int take_long_run(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct long_run *runs = context;

    (void)e;
    for (size_t i = 0; i < n; i++)
        runs->n += jobs[i].started_at > 0 && jobs[i].started_at < runs->begun_before;
    return 0;
}

/* How many of the jobs to be ended have run longer than LONG_RUN_MS: their work would be lost. */
static int count_long_runs(const struct changing *c, int64_t *n, struct err *e)
{
    struct long_run runs = { .begun_before = units_now_ms() - LONG_RUN_MS };
    struct job_filter running = c->filter;

    *n = 0;
    if (c->type != MSG_CANCEL || c->request.cancel.drain || c->targets.n == 0)
        return 0;
    running.states = opt_state_names(&stateopt_jobs, 1 << JOB_RUNNING, c->arena);
    if (pages_jobs(c->rpc, &c->targets, &running, take_long_run, &runs, e) < 0)
        return -1;
    *n = runs.n;
    return 0;
}

/* Asks if there are many jobs or long runs.  Returns 1 to go on, 0 for "no", -1 with e set. */
static int confirm(const struct changing *c, struct err *e)
{
    struct target *items = c->targets.items;
    int64_t n_sweeps = 0, n_jobs = c->matched, n_long;
    struct buf question = { 0 };
    bool yes;

    if (c->options->yes || !output_can_ask())
        return 1;
    for (size_t i = 0; i < c->targets.n; i++) {
        n_sweeps += i == 0 || items[i].sweep != items[i - 1].sweep;
        if (c->filter.where == NULL && count_jobs(c, &items[i], &n_jobs, e) < 0)
            return -1;
    }
    if (count_long_runs(c, &n_long, e) < 0)
        return -1;
    if (n_jobs <= CONFIRM_ABOVE && n_long == 0)
        return 1;
    buf_printf(&question, "%s %" PRId64 " job%s of ", c->verb, n_jobs, n_jobs == 1 ? "" : "s");
    if (n_sweeps == 1)
        buf_printf(&question, "sweep %" PRId64, items[0].sweep);
    else
        buf_printf(&question, "%" PRId64 " sweeps", n_sweeps);
    if (n_long > 0)
        buf_printf(&question, ", %" PRId64 " of which %s run for more than 10 minutes", n_long,
                   n_long == 1 ? "has" : "have");
    buf_add_char(&question, '?');
    yes = output_ask(buf_text(&question));
    buf_free(&question);
    if (!yes)
        output_note("nothing was changed");
    return yes;
}

/* ---- messages ---- */

static void explain_sweep(const struct changing *c, const struct target *t,
                          const struct sweep_info *info, bool is_held_back)
{
    const char *whose = target_is_whole(t) ? "no job" : "none of these jobs";

    if (progress_is_over(info) && c->type != MSG_RETRY)
        output_note("sweep %" PRId64 " is over: nothing to %s", t->sweep, c->verb);
    else if (info->state == SWEEP_PAUSED && c->type == MSG_PAUSE && target_is_whole(t))
        output_note("sweep %" PRId64 " is paused: there is no further job to keep back", t->sweep);
    else if (is_held_back)
        output_note("sweep %" PRId64 " is paused as a whole: ludwig resume %" PRId64, t->sweep,
                    t->sweep);
    else if (c->type == MSG_RESUME && info->advisor != NULL && info->state == SWEEP_RUNNING)
        output_note("sweep %" PRId64 " goes on: its advisor is asked again", t->sweep);
    else
        output_note("sweep %" PRId64 ": %s %s: nothing to %s", t->sweep, whose, c->idle, c->verb);
}

/* Prints why nothing was changed, sweep by sweep.  Where some jobs were changed, names the paused
 * sweeps, whose jobs still do not run. */
static int explain_unchanged(const struct changing *c, bool was_changed, struct err *e)
{
    const struct target *items = c->targets.items;
    struct sweep_info info;
    int n = 0;

    for (size_t i = 0; i < c->targets.n && n < SWEEPS_EXPLAINED; i++) {
        bool is_held_back = c->type == MSG_RESUME && !target_is_whole(&items[i]);

        if ((was_changed && !is_held_back) || (i > 0 && items[i].sweep == items[i - 1].sweep))
            continue;
        if (pages_sweep(c->rpc, items[i].sweep, &info, e) < 0)
            return -1;
        is_held_back = is_held_back && info.state == SWEEP_PAUSED;
        if (!was_changed || is_held_back)
            explain_sweep(c, &items[i], &info, is_held_back);
        n++;
    }
    return 0;
}

static int say_changes(const struct changing *c, const struct msg_changed *changed, struct err *e)
{
    const int64_t jobs = changed->jobs, searches = changed->searches;
    bool is_none = c->filter.where != NULL && c->matched == 0;

    if (!c->options->quiet && searches > 0)
        output_note("%" PRId64 " search%s ended: no advisor is asked for more", searches,
                    searches == 1 ? "" : "es");
    if (!c->options->quiet && jobs > 0)
        output_note("%" PRId64 " job%s %s", jobs, jobs == 1 ? "" : "s", c->done);
    else if (!c->options->quiet && is_none)
        output_note("no job that %s is one that --where asks for: nothing to %s", c->idle, c->verb);
    else if (!c->options->quiet && c->targets.n == 0)
        output_note("none of %s sweeps goes on any more: nothing to %s (name those that are over)",
                    c->options->user != NULL ? "these" : "your", c->verb);
    if (!c->options->quiet && (jobs > 0 || !is_none) &&
        explain_unchanged(c, jobs > 0 || searches > 0, e) < 0)
        return -1;
    return c->options->json ? output_write_json(proto.messages[MSG_CHANGED].schema, changed, e) : 0;
}

/* Changes, as c says, the jobs that the arguments name. */
static int change_jobs(struct cli *cli, struct changing *c, struct err *e)
{
    struct session s;
    struct msg_changed changed = { 0 };
    int result;

    c->arena = cli->arena;
    c->filter.states = opt_state_names(&stateopt_jobs, c->states, c->arena);
    c->filter.is_quiet = c->options->quiet;
    if (selector_check(&cli->args, e) < 0 ||
        jobinfo_parse_where(c->options->where, cli->arena, &c->filter.where, e) < 0 ||
        session_open(cli, &s, e) < 0)
        return -1;
    c->rpc = &s.rpc;
    c->filter.measures = c->filter.where != NULL ? job_measures_create(&s) : NULL;
    if (c->type == MSG_RETRY && c->request.retry.passed.n > 0 && s.rpc.welcome.is_open)
        result = err_set(e, ERR_USAGE, "--env: %s", shell_env_open_server);
    else
        result = find_targets(c, &cli->args, e) < 0 ? -1 : confirm(c, e);
    if (result == 0)
        result = EXIT_FAILED;
    else if (result > 0)
        result = change_jobs_send(c->rpc, c->type, &c->request, &c->targets, &changed, e) < 0 ||
                         say_changes(c, &changed, e) < 0
                     ? -1
                     : EXIT_WELL;
    c->rpc = NULL;
    job_measures_destroy(c->filter.measures);
    session_close(&s);
    return result;
}

/* ---- the commands ---- */

static int cancel_jobs(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct changing c = { .options = o,
                          .type = MSG_CANCEL,
                          .verb = "cancel",
                          .done = "cancelled",
                          .idle = "waits or runs",
                          .request.cancel.drain = o->drain };

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        c.states |= job_is_ended((enum job_state)i) ? 0 : 1u << i;
    if (o->drain) {
        c.done = "drained: what waited is cancelled, what runs may finish";
        c.idle = "waits";
    }
    return change_jobs(cli, &c, e);
}

static int pause_jobs(struct cli *cli, struct err *e)
{
    struct changing c = { .options = cli->options,
                          .type = MSG_PAUSE,
                          .states = 1 << JOB_QUEUED | 1 << JOB_STAGING,
                          .verb = "pause",
                          .done = "paused",
                          .idle = "waits" };

    return change_jobs(cli, &c, e);
}

static int resume_jobs(struct cli *cli, struct err *e)
{
    struct changing c = { .options = cli->options,
                          .type = MSG_RESUME,
                          .states = 1 << JOB_QUEUED | 1 << JOB_HELD,
                          .verb = "resume",
                          .done = "resumed",
                          .idle = "is paused or held" };

    return change_jobs(cli, &c, e);
}

static int order_jobs(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct changing c = { .options = o,
                          .type = MSG_ORDER,
                          .verb = "put in order",
                          .done = o->last ? "wait behind the others" : "go before the others",
                          .idle = "waits",
                          .request.order.behind = o->last };

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        c.states |= job_is_ended((enum job_state)i) ? 0 : 1u << i;
    return change_jobs(cli, &c, e);
}

static int retry_jobs(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct changing c = {
        .options = o, .type = MSG_RETRY, .verb = "retry", .done = "queued again"
    };
    struct opt_state retried = stateopt_jobs;
    struct buf idle = { 0 }; /* "failed or was cancelled" */
    unsigned usual = 0;

    retried.allowed = 0;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        retried.allowed |= job_runs_again((enum job_state)i) ? 1u << i : 0;
    retried.refusal = "retry takes no jobs that are";
    retried.mistaken = NULL;
    if (opt_state_read(&retried, &o->states, &c.states, e) < 0 ||
        shell_env_read(&o->env, cli->arena, &c.request.retry.passed, e) < 0)
        return -1;
    if (o->failed)
        c.states |= 1 << JOB_FAILED;
    if (o->stopped)
        c.states |= 1 << JOB_STOPPED;
    for (int i = 0; c.states == 0 && i < JOB_STATE_COUNT; i++)
        usual |=
            (retried.allowed >> i & 1) != 0 && !job_ended_early((enum job_state)i) ? 1u << i : 0;
    if (c.states == 0)
        c.states = usual;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if ((c.states >> i & 1) != 0)
            buf_printf(&idle, "%s%s%s", idle.n > 0 ? " or " : "", i == JOB_FAILED ? "" : "was ",
                       job_state_names[i]);
    c.idle = buf_to_arena(&idle, cli->arena);
    c.request.retry.states = opt_state_names(&stateopt_jobs, c.states, cli->arena);
    return change_jobs(cli, &c, e);
}

/* clang-format off */
#define COMMON_OPTIONS                                                                      \
    { "where", 0, OPT_STR, "TEST", offsetof(struct options, where), 0, 0,                   \
      "only jobs for which TEST holds, as 'lr > 0.01' or 'loss > 2'" },                \
    { "user", 0, OPT_STR, "USER", offsetof(struct options, user), 0, 0,                     \
      "with last and all: this user's sweeps (for admins)" },                               \
    { "yes", 'y', OPT_FLAG, NULL, offsetof(struct options, yes), 0, 0,                      \
      "do not ask for confirmation, however many jobs there are" },                                          \
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },      \
    { "quiet", 'q', OPT_FLAG, NULL, offsetof(struct options, quiet), 0, 0,                  \
      "print nothing unless something goes wrong" },                                                   \
    { 0 }

static const struct opt common[] = { COMMON_OPTIONS };
static const struct opt cancel_options[] = {
    { "drain", 0, OPT_FLAG, NULL, offsetof(struct options, drain), 0, 0,
      "let running jobs finish; those that fail are not tried again" },
    COMMON_OPTIONS
};
static const struct opt order_options[] = {
    { "last", 0, OPT_FLAG, NULL, offsetof(struct options, last), 0, 0,
      "let them run behind all others instead" },
    COMMON_OPTIONS
};
static const struct opt retry_options[] = {
    { "failed", 0, OPT_FLAG, NULL, offsetof(struct options, failed), 0, 0,
      "only failed jobs" },
    { "stopped", 0, OPT_FLAG, NULL, offsetof(struct options, stopped), 0, 0,
      "jobs that were stopped early: they run to their end" },
    { "state", 0, OPT_STRS, "STATE", offsetof(struct options, states), 0, 0,
      "only jobs that are failed, cancelled or stopped; default: the first two" },
    { "env", 0, OPT_STRS, "NAME", offsetof(struct options, env), 0, 0,
      "pass this variable of the shell again: its value was forgotten when the sweep ended" },
    COMMON_OPTIONS
};

#define CHANGE(word, its_options, its_help, its_more)                                    \
    const struct command cmd_##word = {                                                  \
        .name = #word,                                                                   \
        .args = "SWEEP|JOB... [OPTION]...",                                                 \
        .help = its_help,                                                                   \
        .more = SELECTOR_HELP its_more WHERE_HELP,                                          \
        .min_args = 1,                                                                      \
        .max_args = ARGS_ANY,                                                               \
        .options = its_options,                                                             \
        .options_size = sizeof(struct options),                                             \
        .run = word##_jobs,                                                              \
    }
/* clang-format on */

CHANGE(
    cancel, cancel_options,
    "cancel jobs, running ones included; their results are discarded (logs and checkpoints stay)",
    "`ludwig retry` runs them again. On a terminal, cancel asks before more than 100\n"
    "jobs, or jobs that have run for more than 10 minutes, are ended; without a\n"
    "terminal it never asks.\n");
CHANGE(pause, common, "start no more of these jobs for now; running ones go on",
       "Jobs of a paused sweep that are retried later wait as well.\n");
CHANGE(resume, common, "continue what was paused, or is held",
       "A sweep continues with all its jobs, also those that were paused one by one, or\n"
       "are held as all that was like them failed.\n");
CHANGE(retry, retry_options, "run failed or cancelled jobs again",
       "Files and log of the earlier attempt stay where they are. A retry runs the\n"
       "source as it was submitted: if you have changed the program, submit again, with\n"
       "--reuse params to keep the jobs that are done.\n");
CHANGE(order, order_options, "let these jobs run before all others of their sweep",
       "What was said last counts. It holds for jobs that wait, and for those that are\n"
       "tried again; what runs goes on.\n"
       "\n"
       "  ludwig order 7 --where 'lr > 0.01'\n"
       "  ludwig order 7 --where 'hidden = 4096' --last\n");
