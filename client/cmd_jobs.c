/* SPDX-License-Identifier: MIT */
/* cmd_jobs.c - ludwig jobs */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/jsonlist.h"
#include "client/out.h"
#include "client/selector.h"
#include "client/session.h"
#include "client/table.h"
#include "common/json.h"
#include "common/suggest.h"
#include "common/units.h"

struct options {
    struct list states;
    bool json;
};

static const struct opt options[] = {
    { "state", 0, OPT_STRS, "STATE", offsetof(struct options, states), 0, 0,
      "only jobs that are queued, staging, running, publishing, done, failed or cancelled; may be "
      "given several times" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

static const struct column columns[] = {
    { "JOB", false, false },       { "STATE", false, false }, { "REP", true, false },
    { "NODE", false, true },       { "TIME", true, false },   { "CONFIGURATION", false, false },
    { "PARAMETERS", false, true }, { "REASON", false, true },
};

static int check_states(const struct list *states, struct err *e)
{
    const char *const *words = states->items;

    for (size_t i = 0; i < states->n; i++) {
        struct suggest nearest = { .word = words[i] };

        for (int k = 0; k < JOB_STATE_COUNT; k++)
            suggest_try(&nearest, job_state_names[k]);
        if (nearest.best == NULL)
            return err_set(e, ERR_USAGE, "--state: no job is ever '%s'", words[i]);
        if (nearest.distance > 0)
            return err_set(e, ERR_USAGE, "--state: no job is ever '%s' (did you mean '%s'?)",
                           words[i], nearest.best);
    }
    return 0;
}

static enum tone tone_of(int state)
{
    switch (state) {
    case JOB_DONE: return TONE_GOOD;
    case JOB_FAILED: return TONE_BAD;
    case JOB_QUEUED:
    case JOB_CANCELLED: return TONE_DIM;
    default: return TONE_BUSY;
    }
}

static void add_time(struct table *t, const struct job_info *j, int64_t now_ms)
{
    int64_t end_ms = j->ended_at != 0 ? j->ended_at : now_ms;
    struct buf text = { 0 };

    if (j->started_at != 0 && end_ms >= j->started_at)
        units_add_duration(&text, end_ms - j->started_at);
    table_add(t, TONE_PLAIN, buf_text(&text));
    buf_free(&text);
}

static void add_params(struct table *t, const struct value *params)
{
    struct buf text = { 0 };

    for (size_t i = 0; params->type == VALUE_MAP && i < params->map.n; i++) {
        const struct member *m = &params->map.members[i];

        buf_printf(&text, "%s%s=", i > 0 ? " " : "", m->key.str.s);
        json_add_text(&text, &m->value);
    }
    table_add(t, TONE_PLAIN, buf_text(&text));
    buf_free(&text);
}

static void add_reason(struct table *t, const struct job_info *j)
{
    if (j->reason != NULL && j->reason[0] != '\0')
        table_add(t, TONE_PLAIN, j->reason);
    else if (j->signal != SCHEMA_NONE && j->signal != 0)
        table_printf(t, TONE_PLAIN, "signal %" PRId64, j->signal);
    else if (j->exit_code != SCHEMA_NONE && j->exit_code != 0)
        table_printf(t, TONE_PLAIN, "exit code %" PRId64, j->exit_code);
    else
        table_add(t, TONE_PLAIN, NULL);
}

static void add_row(struct table *t, const struct job_info *j, int64_t now_ms)
{
    table_add(t, TONE_PLAIN, j->job);
    table_add(t, tone_of(j->state), job_state_names[j->state]);
    table_printf(t, TONE_PLAIN, "%" PRId64, j->rep);
    table_add(t, TONE_PLAIN, j->node);
    add_time(t, j, now_ms);
    table_add(t, TONE_PLAIN, j->param_name);
    add_params(t, &j->params);
    add_reason(t, j);
}

struct listing {
    struct jsonlist *json; /* or else the table */
    struct table *table;
};

static int show_page(struct listing *l, const struct msg_job_page *page, struct err *e)
{
    const struct job_info *jobs = page->jobs.items;
    int64_t now_ms = units_now_ms();
    struct buf out = { 0 };

    for (size_t i = 0; i < page->jobs.n; i++) {
        if (l->json != NULL)
            jsonlist_add(l->json, &job_info_schema, &jobs[i]);
        else
            add_row(l->table, &jobs[i], now_ms);
    }
    if (l->json != NULL)
        return jsonlist_flush(l->json, e);
    table_flush(l->table, &out);
    return out_write(&out, e);
}

static int show_pages(struct listing *l, struct rpc *rpc, const struct target *t,
                      const struct options *o, struct err *e)
{
    struct msg_get_jobs request = { .sweep = t->sweep,
                                    .after = t->first > 0 ? t->first - 1 : 0,
                                    .last = t->last,
                                    .limit = PAGE_MAX,
                                    .states = o->states };
    struct msg_job_page page;

    do {
        if (rpc_call(rpc, MSG_GET_JOBS, &request, &page, e) < 0 || show_page(l, &page, e) < 0)
            return -1;
        request.after = page.next;
    } while (page.next != 0);
    return 0;
}

static int show(struct rpc *rpc, const struct target *t, const struct options *o, struct err *e)
{
    struct jsonlist list;
    struct listing l = { 0 };
    int result;

    if (o->json) {
        jsonlist_begin(&list, "jobs");
        l.json = &list;
        result = show_pages(&l, rpc, t, o, e);
        return result < 0 ? -1 : jsonlist_end(&list, e);
    }
    l.table = table_create(columns, sizeof columns / sizeof columns[0], out_columns(STDOUT_FILENO),
                           out_has_colour(STDOUT_FILENO));
    result = show_pages(&l, rpc, t, o, e);
    table_destroy(l.table);
    return result;
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct session s;
    struct list targets;
    int result;

    if (check_states(&o->states, e) < 0 || selector_check(&cli->args, e) < 0 ||
        session_open(cli, &s, e) < 0)
        return -1;
    result = selector_targets(&s.rpc, &cli->args, cli->arena, &targets, e);
    if (result == 0)
        result = show(&s.rpc, targets.items, o, e);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_jobs = {
    .name = "jobs",
    .args = "SWEEP [OPTION]...",
    .help = "list the jobs of a sweep",
    .more = "SWEEP is a number or last; 7.1-40 lists some of its jobs.\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
