/* SPDX-License-Identifier: MIT */
/* cmd_usage.c - ludwig usage */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/query/usage.h"
#include "client/session/session.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/table.h"
#include "common/base/units.h"

struct options {
    const char *since, *by;
    bool json;
};

static const struct opt options[] = {
    { "since", 0, OPT_STR, "TIME", offsetof(struct options, since), 0, 0,
      "only sweeps submitted since then: 7d and 12h count back from now, 2026-11-21 is a day" },
    { "by", 0, OPT_STR, "user|sweep", offsetof(struct options, by), 0, 0,
      "one line for each user (without this option), or for each sweep, newest first" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

#define HOURS_COLUMNS                                                                    \
    { "ATTEMPTS", true, false }, { "HOURS", true, false }, { "CPU-HOURS", true, false }, \
        { "BUSY", true, false },                                                         \
    {                                                                                    \
        "GPU-HOURS", true, false                                                         \
    }

static const struct column user_columns[] = {
    { "USER", false, true },
    { "SWEEPS", true, false },
    HOURS_COLUMNS,
};
static const struct column sweep_columns[] = {
    { "SWEEP", true, false }, { "PROJECT", false, true },    { "NAME", false, true },
    { "USER", false, true },  { "SUBMITTED", false, false }, HOURS_COLUMNS,
};

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(columns)[0])

/* One run of the command. */
struct usage {
    bool by_sweep;
    int64_t since_ms;
    struct arena *arena;
    struct usage_sums sums;
    struct jsonlist *json; /* or else the table */
    struct table *table;
};

/* For people less than an hour is told in minutes and seconds, or all of it would be 0.00. */
static void add_number(struct table *t, enum tone tone, double hours)
{
    struct buf text = { 0 };

    if (hours > 0 && hours < 1 && output_is_terminal(STDOUT_FILENO))
        units_add_duration(&text, (int64_t)(hours * 3600 * 1000 + 0.5));
    else if (hours > 0 && hours < 0.01)
        buf_add_str(&text, "<0.01");
    else
        buf_printf(&text, "%.2f", hours);
    table_add(t, tone, buf_text(&text));
    buf_free(&text);
}

static void add_hours(struct table *t, enum tone tone, const struct usage_sum *sum)
{
    table_printf(t, tone, "%" PRId64, sum->attempts);
    add_number(t, tone, sum->hours);
    add_number(t, tone, sum->cpu_hours);
    if (sum->cpu_hours > 0)
        table_printf(t, tone, "%.0f%%", 100 * sum->busy_cpu_hours / sum->cpu_hours);
    else
        table_add(t, tone, "-");
    add_number(t, tone, sum->gpu_hours);
}

static void add_sweep(struct table *t, const struct usage_info *row)
{
    struct usage_sum sum = { .attempts = row->attempts,
                             .hours = row->hours,
                             .cpu_hours = row->cpu_hours,
                             .gpu_hours = row->gpu_hours,
                             .busy_cpu_hours = row->busy_cpu_hours };
    struct buf when = { 0 };

    if (row->submitted_at != 0)
        units_add_time_local(&when, row->submitted_at);
    table_printf(t, TONE_PLAIN, "%" PRId64, row->sweep);
    table_add(t, TONE_PLAIN, row->project);
    table_add(t, TONE_PLAIN, row->name);
    table_add(t, TONE_PLAIN, row->user);
    table_add(t, TONE_PLAIN, buf_text(&when));
    add_hours(t, TONE_PLAIN, &sum);
    buf_free(&when);
}

/* Pages are written as they come; the table keeps its columns. */
static int flush_page(struct usage *u, struct err *e)
{
    struct buf out = { 0 };

    if (!u->by_sweep)
        return 0;
    if (u->json != NULL)
        return jsonlist_flush(u->json, e);
    table_flush(u->table, &out);
    return output_write(&out, e);
}

static int fetch_usage(struct usage *u, struct rpc *rpc, struct err *e)
{
    struct msg_get_usage request = { .since = u->since_ms, .limit = PAGE_MAX };
    struct msg_usage_page page;

    do {
        const struct usage_info *rows;

        if (rpc_call(rpc, MSG_GET_USAGE, &request, &page, e) < 0)
            return -1;
        rows = page.rows.items;
        for (size_t i = 0; i < page.rows.n; i++) {
            usage_add(&u->sums, &rows[i], u->arena);
            if (u->by_sweep && u->json != NULL)
                jsonlist_add(u->json, &usage_info_schema, &rows[i]);
            else if (u->by_sweep)
                add_sweep(u->table, &rows[i]);
            request.before = rows[i].sweep;
        }
        if (flush_page(u, e) < 0)
            return -1;
    } while (page.more && page.rows.n > 0);
    usage_sort(&u->sums);
    return 0;
}

/* ---- table ---- */

static int show_table(struct usage *u, struct rpc *rpc, struct err *e)
{
    struct buf out = { 0 };

    if (fetch_usage(u, rpc, e) < 0)
        return -1;
    for (size_t i = 0; i < u->sums.n && !u->by_sweep; i++) {
        table_add(u->table, TONE_PLAIN, u->sums.users[i].user);
        table_printf(u->table, TONE_PLAIN, "%" PRId64, u->sums.users[i].sweeps);
        add_hours(u->table, TONE_PLAIN, &u->sums.users[i]);
    }
    table_add(u->table, TONE_STRONG, "total");
    for (int i = 0; i < 4 && u->by_sweep; i++)
        table_add(u->table, TONE_STRONG, NULL);
    if (!u->by_sweep)
        table_printf(u->table, TONE_STRONG, "%" PRId64, u->sums.total.sweeps);
    add_hours(u->table, TONE_STRONG, &u->sums.total);
    table_flush(u->table, &out);
    return output_write(&out, e);
}

/* ---- JSON ---- */

static int show_json(struct usage *u, struct rpc *rpc, struct err *e)
{
    jsonlist_begin(u->json, u->by_sweep ? "sweeps" : "users");
    if (fetch_usage(u, rpc, e) < 0)
        return -1;
    for (size_t i = 0; i < u->sums.n && !u->by_sweep; i++)
        jsonlist_add(u->json, &usage_sum_schema, &u->sums.users[i]);
    buf_add_str(&u->json->out, "\n],\"total\":");
    schema_add_json(&usage_sum_schema, &u->sums.total, &u->json->out);
    buf_add_str(&u->json->out, "}\n");
    return output_write(&u->json->out, e);
}

/* ---- the command ---- */

static int read_options(struct usage *u, const struct options *o, struct err *e)
{
    const char *by = o->by != NULL ? o->by : "user";

    u->by_sweep = strcmp(by, "sweep") == 0;
    if (!u->by_sweep && strcmp(by, "user") != 0)
        return err_set(e, ERR_USAGE, "--by takes user or sweep, not '%s'", by);
    if (o->since == NULL)
        return 0;
    return usage_parse_since(o->since, units_now_ms(), &u->since_ms, e);
}

static int show_usage(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct usage u = { .arena = cli->arena };
    struct jsonlist list = { 0 };
    struct session s;
    int result;

    if (read_options(&u, o, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    if (o->json) {
        u.json = &list;
        result = show_json(&u, &s.rpc, e);
    } else {
        u.table = u.by_sweep ? table_for_stdout(sweep_columns, N_COLUMNS(sweep_columns))
                             : table_for_stdout(user_columns, N_COLUMNS(user_columns));
        result = show_table(&u, &s.rpc, e);
        table_destroy(u.table);
    }
    buf_free(&list.out);
    usage_free(&u.sums);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_usage = {
    .name = "usage",
    .args = "[OPTION]...",
    .help = "add up the CPU- and GPU-hours that sweeps have taken",
    .more = "Of all attempts that have ended, those included that came to nothing.\n"
            "CPU-HOURS are processors times hours; BUSY is how much of that the processors\n"
            "worked. A terminal shows less than an hour as minutes and seconds.\n"
            "\n"
            "  ludwig usage --since 7d\n"
            "  ludwig usage --by sweep --since 2026-11-01\n",
    .options = options,
    .options_size = sizeof(struct options),
    .run = show_usage,
};
