/* SPDX-License-Identifier: MIT */
/* cmd_jobs.c - ludwig jobs */
#include <inttypes.h>

#include "client/jobinfo.h"
#include "client/jsonlist.h"
#include "client/out.h"
#include "client/pages.h"
#include "client/selector.h"
#include "client/session.h"
#include "client/stateopt.h"
#include "client/table.h"
#include "common/units.h"

struct options {
    struct list states;
    const char *where;
    bool json, quiet;
};

static const struct opt options[] = {
    { "state", 0, OPT_STRS, "STATE", offsetof(struct options, states), 0, 0,
      "only jobs that are queued, staging, running, publishing, done, failed or cancelled; "
      "several with commas between" },
    { "where", 0, OPT_STR, "TEST", offsetof(struct options, where), 0, 0,
      "only jobs for which TEST holds, as 'lr > 0.01 and state = failed'" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { "quiet", 'q', OPT_FLAG, NULL, offsetof(struct options, quiet), 0, 0,
      "print the jobs' names alone, one a line" },
    { 0 },
};

enum { JOB, STATE, REP, NODE, TIME, CONFIGURATION, PARAMETERS, REASON, N_COLUMNS };

static const struct column columns[N_COLUMNS] = {
    { "JOB", false, false },       { "STATE", false, false }, { "REP", true, false },
    { "NODE", false, true },       { "TIME", true, false },   { "CONFIGURATION", false, false },
    { "PARAMETERS", false, true }, { "REASON", false, true },
};

static struct table *make_table(void)
{
    static const size_t may_go[] = { NODE, TIME, CONFIGURATION, REP };
    struct table *t = table_for_stdout(columns, N_COLUMNS);

    table_may_leave_out(t, REASON, NEED_ROOM);
    table_may_leave_out(t, PARAMETERS, NEED_ROOM);
    for (size_t i = 0; i < sizeof may_go / sizeof may_go[0]; i++)
        table_may_leave_out(t, may_go[i], NEED_COMFORT);
    return t;
}

static void add_text(struct table *t, struct buf *text)
{
    table_add(t, TONE_PLAIN, buf_text(text));
    buf_clear(text);
}

static void add_row(struct table *t, const struct job_info *j, int64_t now_ms)
{
    struct buf text = { 0 };

    table_add(t, TONE_PLAIN, j->job);
    table_add(t, jobinfo_tone(j->state), job_state_names[j->state]);
    table_printf(t, TONE_PLAIN, "%" PRId64, j->rep);
    table_add(t, TONE_PLAIN, j->node);
    jobinfo_add_time(&text, j, now_ms);
    add_text(t, &text);
    table_add(t, TONE_PLAIN, j->param_name);
    jobinfo_add_params(&text, &j->params);
    add_text(t, &text);
    jobinfo_add_reason(&text, j);
    add_text(t, &text);
    buf_free(&text);
}

/* One of three: JSON, a table, or names alone. */
struct listing {
    struct jsonlist *json;
    struct table *table;
    size_t n;
};

static int show_page(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct listing *l = context;
    int64_t now_ms = units_now_ms();
    struct buf out = { 0 };

    for (size_t i = 0; i < n; i++) {
        if (l->json != NULL)
            jsonlist_add(l->json, &job_info_schema, &jobs[i]);
        else if (l->table != NULL)
            add_row(l->table, &jobs[i], now_ms);
        else
            buf_printf(&out, "%s\n", jobs[i].job);
    }
    l->n += n;
    if (l->json != NULL)
        return jsonlist_flush(l->json, e);
    if (l->table != NULL && l->n > 0)
        table_flush(l->table, &out);
    return out_write(&out, e);
}

static int show(struct rpc *rpc, const struct list *targets, const struct job_filter *filter,
                const struct options *o, struct err *e)
{
    struct jsonlist json = { 0 };
    struct listing l = { .json = o->json ? &json : NULL };
    int result;

    if (o->json)
        jsonlist_begin(&json, "jobs");
    else if (!o->quiet)
        l.table = make_table();
    result = pages_jobs(rpc, targets, filter, show_page, &l, e);
    if (result == 0 && o->json)
        result = jsonlist_end(&json, e);
    jsonlist_drop(&json);
    if (result == 0 && l.table != NULL && l.n == 0)
        out_note("there is no such job");
    table_destroy(l.table);
    return result;
}

static int read_filter(struct cli *cli, const struct options *o, struct job_filter *filter,
                       struct err *e)
{
    unsigned states;

    if (stateopt_read(&stateopt_jobs, &o->states, &states, e) < 0)
        return -1;
    *filter = (struct job_filter){ stateopt_names(&stateopt_jobs, states, cli->arena), NULL };
    if (o->where == NULL)
        return 0;
    filter->where = where_parse(o->where, cli->arena, e);
    return filter->where != NULL ? 0 : -1;
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct job_filter filter;
    struct session s;
    struct list targets;
    int result;

    if (read_filter(cli, o, &filter, e) < 0 || selector_check(&cli->args, e) < 0 ||
        session_open(cli, &s, e) < 0)
        return -1;
    result = selector_targets(&s.rpc, &cli->args, cli->arena, &targets, e);
    if (result == 0)
        result = show(&s.rpc, &targets, &filter, o, e);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_jobs = {
    .name = "jobs",
    .args = "SWEEP|JOB... [OPTION]...",
    .help = "list the jobs of a sweep",
    .more = SELECTOR_HELP WHERE_HELP,
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
