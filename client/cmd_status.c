/* SPDX-License-Identifier: MIT */
/* cmd_status.c - ludwig status */
#include <inttypes.h>
#include <unistd.h>

#include "client/jsonlist.h"
#include "client/out.h"
#include "client/progress.h"
#include "client/selector.h"
#include "client/session.h"
#include "client/table.h"
#include "common/units.h"

struct options {
    bool json;
};

static const struct opt options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

static const struct column columns[] = {
    { "SWEEP", true, false },      { "PROJECT", false, true }, { "NAME", false, true },
    { "USER", false, true },       { "STATE", false, false },  { "DONE", true, false },
    { "RUNNING", true, false },    { "QUEUED", true, false },  { "FAILED", true, false },
    { "SUBMITTED", false, false },
};

static enum tone tone_of(int state)
{
    switch (state) {
    case SWEEP_DONE: return TONE_GOOD;
    case SWEEP_FAILED: return TONE_BAD;
    case SWEEP_RUNNING: return TONE_BUSY;
    default: return TONE_DIM;
    }
}

static void add_row(struct table *t, const struct sweep_info *s)
{
    const struct job_counts *c = &s->jobs;
    struct buf time = { 0 };

    table_printf(t, TONE_PLAIN, "%" PRId64, s->sweep);
    table_add(t, TONE_PLAIN, s->project);
    table_add(t, TONE_PLAIN, s->name);
    table_add(t, TONE_PLAIN, s->user);
    table_add(t, tone_of(s->state), sweep_state_names[s->state]);
    table_printf(t, TONE_PLAIN, "%" PRId64 "/%" PRId64, c->done + s->reused,
                 progress_jobs(c) + s->reused);
    table_printf(t, TONE_PLAIN, "%" PRId64, c->staging + c->running + c->publishing);
    table_printf(t, TONE_PLAIN, "%" PRId64, c->queued);
    table_printf(t, c->failed > 0 ? TONE_BAD : TONE_PLAIN, "%" PRId64, c->failed);
    units_add_time_local(&time, s->submitted_at);
    table_add(t, TONE_DIM, buf_text(&time));
    buf_free(&time);
}

static struct table *make_table(void)
{
    return table_create(columns, sizeof columns / sizeof columns[0], out_columns(STDOUT_FILENO),
                        out_has_colour(STDOUT_FILENO));
}

/* Either a JSON list or a table, a page at a time. */
struct listing {
    struct jsonlist *json;
    struct table *table;
};

static int show_page(struct listing *l, const struct msg_sweep_page *page, struct err *e)
{
    const struct sweep_info *sweeps = page->sweeps.items;
    struct buf out = { 0 };

    for (size_t i = 0; i < page->sweeps.n; i++) {
        if (l->json != NULL)
            jsonlist_add(l->json, &sweep_info_schema, &sweeps[i]);
        else
            add_row(l->table, &sweeps[i]);
    }
    if (l->json != NULL)
        return jsonlist_flush(l->json, e);
    table_flush(l->table, &out);
    return out_write(&out, e);
}

static int show_pages(struct listing *l, struct rpc *rpc, struct err *e)
{
    struct msg_get_sweeps request = { .limit = PAGE_MAX };
    struct msg_sweep_page page;

    do {
        if (rpc_call(rpc, MSG_GET_SWEEPS, &request, &page, e) < 0)
            return -1;
        if (page.sweeps.n > 0)
            request.before = ((struct sweep_info *)page.sweeps.items)[page.sweeps.n - 1].sweep;
        if (show_page(l, &page, e) < 0)
            return -1;
    } while (page.more && page.sweeps.n > 0);
    return 0;
}

static int show_all(struct rpc *rpc, bool json, struct err *e)
{
    struct jsonlist list;
    struct listing l = { 0 };
    int result;

    if (json) {
        jsonlist_begin(&list, "sweeps");
        l.json = &list;
        result = show_pages(&l, rpc, e);
        return result < 0 ? -1 : jsonlist_end(&list, e);
    }
    l.table = make_table();
    result = show_pages(&l, rpc, e);
    table_destroy(l.table);
    return result;
}

static int show_sweep(struct rpc *rpc, int64_t sweep, bool json, struct err *e)
{
    struct msg_get_sweeps request = { .sweep = sweep, .limit = 1 };
    struct msg_sweep_page page;
    struct buf out = { 0 };
    struct table *t;

    if (rpc_call(rpc, MSG_GET_SWEEPS, &request, &page, e) < 0)
        return -1;
    if (page.sweeps.n == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, sweep);
    if (json) {
        out_add_versioned(&out, &sweep_info_schema, page.sweeps.items);
        buf_add_char(&out, '\n');
        return out_write(&out, e);
    }
    t = make_table();
    add_row(t, page.sweeps.items);
    table_flush(t, &out);
    table_destroy(t);
    return out_write(&out, e);
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct session s;
    int64_t sweep;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    if (cli->args.n == 0)
        result = show_all(&s.rpc, o->json, e);
    else if ((result = selector_sweep(&s.rpc, cli->args.words[0], &sweep, e)) == 0)
        result = show_sweep(&s.rpc, sweep, o->json, e);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_status = {
    .name = "status",
    .args = "[SWEEP] [OPTION]...",
    .help = "say how far the sweeps are, newest first, or one of them",
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
