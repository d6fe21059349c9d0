/* SPDX-License-Identifier: MIT */
/* cmd_status.c - ludwig status */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/query/pages.h"
#include "client/query/project_meant.h"
#include "client/query/selector.h"
#include "client/query/sweepview.h"
#include "client/query/usage.h"
#include "client/session/session.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "common/base/units.h"
#include "common/proto/layout.h"

struct options {
    struct list states;
    const char *user, *project, *name, *tag, *since;
    int64_t limit;
    bool mine, json, quiet;
};

static const struct opt options[] = {
    { "state", 0, OPT_STRS, "STATE", offsetof(struct options, states), 0, 0,
      "only sweeps that are running, paused, held, done, failed or cancelled; several separated by "
      "commas" },
    { "user", 0, OPT_STR, "USER", offsetof(struct options, user), 0, 0, "only this user's sweeps" },
    { "mine", 0, OPT_FLAG, NULL, offsetof(struct options, mine), 0, 0, "only your own sweeps" },
    { "project", 'p', OPT_STR, "NAME", offsetof(struct options, project), 0, 0,
      "only sweeps of this project" },
    { "name", 0, OPT_STR, "TEXT", offsetof(struct options, name), 0, 0,
      "only sweeps whose name, or whose project's, has TEXT in it" },
    { "tag", 0, OPT_STR, "TAG", offsetof(struct options, tag), 0, 0, "only sweeps with this tag" },
    { "since", 0, OPT_STR, "TIME", offsetof(struct options, since), 0, 0,
      "only sweeps submitted since then: 7d and 12h count back from now, 2026-11-21 is a day" },
    { "limit", 0, OPT_INT, "N", offsetof(struct options, limit), 1, INT64_MAX,
      "only the newest N of these" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { "quiet", 'q', OPT_FLAG, NULL, offsetof(struct options, quiet), 0, 0,
      "print only the sweeps' numbers, one per line" },
    { 0 },
};

/* How many sweeps that are over are shown on a terminal. */
enum { OVER_SHOWN = 20 };

/* ---- several sweeps: JSON, a table, or only numbers ---- */

struct listing {
    struct jsonlist *json;
    struct table *table;
    struct buf names;
    int64_t over_max; /* sweeps that are over to show; 0: all */
    int64_t n_over;
    int64_t left;        /* so many more are shown at most; OPT_UNSET: all */
    int64_t slurm_calls; /* SCHEMA_NONE: the server has no pilots */
};

static void take_sweeps(struct listing *l, const struct sweep_info *sweeps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct sweep_info *s = &sweeps[i];

        l->n_over += progress_is_over(s);
        if (l->over_max > 0 && progress_is_over(s) && l->n_over > l->over_max)
            continue;
        if (l->left != OPT_UNSET && l->left-- <= 0)
            return;
        if (l->json != NULL)
            jsonlist_add(l->json, &sweep_info_schema, s);
        else if (l->table != NULL)
            sweepview_add_row(l->table, s, units_now_ms());
        else
            buf_printf(&l->names, "%" PRId64 "\n", s->sweep);
    }
}

static int flush_listing(struct listing *l, struct err *e)
{
    if (l->json != NULL)
        return jsonlist_flush(l->json, e);
    return l->table != NULL ? table_print(l->table, e) : output_write(&l->names, e);
}

static int show_page(void *context, const struct msg_sweep_page *page, struct err *e)
{
    struct listing *l = context;

    l->slurm_calls = page->slurm_calls;
    take_sweeps(l, page->sweeps.items, page->sweeps.n);
    if (flush_listing(l, e) < 0)
        return -1;
    return l->left != OPT_UNSET && l->left <= 0;
}

/* Whether the filter tests more than the sweeps' owner. */
static bool is_filtered(const struct sweep_filter *f)
{
    return f->states != 0 || f->project != NULL || f->name != NULL || f->tag != NULL ||
           f->since_ms != 0;
}

/* targets NULL: all sweeps. */
static int show_list(struct rpc *rpc, const struct list *targets, const struct sweep_filter *filter,
                     const struct options *o, struct err *e)
{
    const struct target *items = targets != NULL ? targets->items : NULL;
    struct jsonlist json = { 0 };
    struct listing l = { .json = o->json ? &json : NULL,
                         .left = o->limit,
                         .slurm_calls = SCHEMA_NONE };
    struct sweep_info info;
    int result = 0;

    if (o->json)
        jsonlist_begin(&json, "sweeps");
    else if (!o->quiet)
        l.table = sweepview_table(output_columns(STDOUT_FILENO), output_has_colour(STDOUT_FILENO));
    if (targets == NULL && l.table != NULL && !is_filtered(filter) && o->limit == OPT_UNSET &&
        output_is_terminal(STDOUT_FILENO))
        l.over_max = OVER_SHOWN;
    for (size_t i = 0; targets != NULL && result == 0 && i < targets->n; i++) {
        result = pages_sweep(rpc, items[i].sweep, &info, e);
        if (result == 0 && pages_is_wanted(filter, &info))
            take_sweeps(&l, &info, 1);
    }
    if (result == 0)
        result =
            targets != NULL ? flush_listing(&l, e) : pages_sweeps(rpc, filter, show_page, &l, e);
    if (result == 0 && o->json)
        result = l.slurm_calls == SCHEMA_NONE
                     ? jsonlist_end(&json, e)
                     : jsonlist_end_with(&json, "slurm_calls", l.slurm_calls, e);
    if (result == 0 && l.table != NULL && l.slurm_calls != SCHEMA_NONE)
        output_note("Slurm: %" PRId64 " command%s in the last hour", l.slurm_calls,
                    l.slurm_calls == 1 ? "" : "s");
    if (result == 0 && l.over_max > 0 && l.n_over > l.over_max)
        output_note("%" PRId64 " older ones have ended (--state done,failed,cancelled shows them)",
                    l.n_over - l.over_max);
    jsonlist_drop(&json);
    table_destroy(l.table);
    buf_free(&l.names);
    return result;
}

/* ---- one sweep ---- */

static int show_one(struct rpc *rpc, int64_t sweep, bool json, struct err *e)
{
    struct failures failures = { 0 };
    struct queue queue = { 0 };
    struct sweep_info info;
    struct buf out = { 0 };
    int result = -1;

    if (json)
        return pages_sweep(rpc, sweep, &info, e) < 0
                   ? -1
                   : output_write_json(&sweep_info_schema, &info, e);
    /* The texts of info last until the next question. */
    if (failures_read(rpc, sweep, &failures, e) == 0 && pages_sweep(rpc, sweep, &info, e) == 0 &&
        queue_read(rpc, &info, &queue, e) == 0 && pages_sweep(rpc, sweep, &info, e) == 0) {
        sweepview_add(&out, &info, &failures, &queue, units_now_ms(), output_columns(STDOUT_FILENO),
                      output_has_colour(STDOUT_FILENO));
        result = output_write(&out, e);
    }
    failures_free(&failures);
    queue_free(&queue);
    return result;
}

/* ---- the command ---- */

static int show_sweeps(struct cli *cli, struct rpc *rpc, const struct sweep_filter *filter,
                       struct err *e)
{
    const struct options *o = cli->options;
    bool is_listed = is_filtered(filter) || filter->user != NULL || o->limit != OPT_UNSET;
    struct list targets;

    if (cli->args.n == 0)
        return show_list(rpc, NULL, filter, o, e);
    if (selector_sweeps(rpc, &cli->args, cli->arena, &targets, e) < 0)
        return -1;
    if (targets.n != 1 || cli->args.n != 1 || is_listed || o->quiet ||
        strcmp(cli->args.words[0], "all") == 0)
        return show_list(rpc, &targets, filter, o, e);
    return show_one(rpc, ((const struct target *)targets.items)->sweep, o->json, e);
}

static int show_status(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct sweep_filter filter = {
        .user = o->user, .project = o->project, .name = o->name, .tag = o->tag
    };
    struct session s;
    struct err wrong = { 0 };
    int result;

    if (o->mine && o->user != NULL)
        return err_set(e, ERR_USAGE, "--mine and --user do not go together");
    if (opt_state_read(&stateopt_sweeps, &o->states, &filter.states, e) < 0 ||
        (o->since != NULL && usage_parse_since(o->since, units_now_ms(), &filter.since_ms, e) < 0))
        return -1;
    if (selector_check(&cli->args, &wrong) < 0)
        return cli->args.n == 1 && layout_is_project_name(cli->args.words[0])
                   ? err_set(e, wrong.kind,
                             "%s; `ludwig status --project %s` lists a project's sweeps",
                             wrong.text, cli->args.words[0])
                   : err_set(e, wrong.kind, "%s", wrong.text);
    if (session_open(cli, &s, e) < 0)
        return -1;
    if (o->project != NULL && project_meant(&s.rpc, &filter.project, cli->arena, e) < 0) {
        session_close(&s);
        return -1;
    }
    if (o->mine)
        filter.user = arena_strdup(cli->arena, s.rpc.welcome.user);
    result = show_sweeps(cli, &s.rpc, &filter, e);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_status = {
    .name = "status",
    .args = "[SWEEP]... [OPTION]...",
    .help = "show how far the sweeps are, newest first, or everything about one",
    .more = "SWEEP is a number, last, or all: all your unfinished sweeps.\n"
            "A terminal shows the newest 20 finished ones; --state lists them all.\n",
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = show_status,
};
