/* SPDX-License-Identifier: MIT */
/* cmd_jobs.c - ludwig jobs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/query/jobinfo.h"
#include "client/query/joblist.h"
#include "client/query/live.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/session/session.h"
#include "client/term/csv.h"
#include "client/term/jsonlist.h"
#include "client/term/output.h"
#include "client/term/progress.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"
#include "common/base/units.h"
#include "common/data/json.h"

struct options {
    struct list states;
    const char *where, *sort, *columns;
    int64_t limit;
    bool csv, json, quiet;
};

#define WORD(constant, number, name, ...) " " #name
static const struct opt options[] = {
    { "state", 0, OPT_STRS, "STATE", offsetof(struct options, states), 0, 0,
      "only jobs in these states, with commas between:" JOB_STATES(WORD) },
    { "where", 0, OPT_STR, "TEST", offsetof(struct options, where), 0, 0,
      "only jobs for which TEST holds, as 'lr > 0.01 and state = failed' or 'loss > 2'" },
    { "sort", 's', OPT_STR, "NAME", offsetof(struct options, sort), 0, 0,
      "by a parameter or a field, as rep, node or seconds; -NAME: the largest first" },
    { "limit", 0, OPT_INT, "N", offsetof(struct options, limit), 1, INT64_MAX,
      "only the first N of these" },
    { "columns", 0, OPT_STR, "NAME,...", offsetof(struct options, columns), 0, 0,
      "these columns: parameters and fields, as max_rss_bytes, cpu_seconds or seconds" },
    { "csv", 0, OPT_FLAG, NULL, offsetof(struct options, csv), 0, 0, "print CSV" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { "quiet", 'q', OPT_FLAG, NULL, offsetof(struct options, quiet), 0, 0,
      "print only the jobs' names, one per line" },
    { 0 },
};

/* ---- columns and parameters ---- */

enum { JOB, STATE, REP, ATTEMPT, NODE, TIME, CONFIGURATION, PARAMETERS, LAST, REASON, N_COLUMNS };

static const struct column columns[N_COLUMNS] = {
    { "JOB", false, false },           { "STATE", false, false },     { "REP", true, false },
    { "ATTEMPT", true, false },        { "NODE", false, true },       { "TIME", true, false },
    { "CONFIGURATION", false, false }, { "PARAMETERS", false, true }, { "LAST", false, true },
    { "REASON", false, true },
};

/* The output: JSON, a table, or only names. */
struct listing {
    struct session *session;
    struct jsonlist *json;
    bool has_table;
    struct table *table;  /* made with the first jobs, by what they have */
    bool has_attempts;    /* the table has the column ATTEMPT */
    bool has_live;        /* the table has the column LAST, of measures reported last */
    struct share_dir *fs; /* the share; NULL: not opened, or not visible here */
    size_t n_read;        /* files that were read for LAST */
    bool for_terminal;
    struct arena *arena;      /* for same */
    struct arena *row_arena;  /* for the row of one job */
    struct arena *live_arena; /* for what a page of jobs has reported last */
    struct value same;        /* parameters that are the same in all of the first jobs */
    bool has_others;          /* a later job differs in one of them */
    size_t n;
};

/* The index of a column in the table, which leaves out some. */
static size_t place_of(const struct listing *l, size_t column)
{
    return column - (column > ATTEMPT && !l->has_attempts) - (column > LAST && !l->has_live);
}

/* Makes the table; its first jobs decide, as a listing is printed page by page. */
static void begin_table(struct listing *l, const struct job_info *jobs, size_t n)
{
    static const size_t may_go[] = { NODE, TIME, CONFIGURATION, REP };
    struct column shown[N_COLUMNS];
    size_t n_shown = 0, n_same = 0;

    l->has_attempts = n == PAGE_MAX;
    for (size_t i = 0; i < n; i++)
        l->has_attempts |= jobs[i].attempt > 1;
    if (l->for_terminal && n > 1 && jobs[0].params.type == VALUE_MAP)
        l->same = value_copy(l->arena, &jobs[0].params);
    for (size_t i = 0; i < l->same.map.n; i++) {
        const struct member *m = &l->same.map.members[i];
        bool is_same = true;

        for (size_t k = 1; k < n && is_same; k++) {
            const struct value *v = value_get(&jobs[k].params, m->key.str.s);

            is_same = v != NULL && value_equal(v, &m->value);
        }
        if (is_same)
            l->same.map.members[n_same++] = *m;
    }
    l->same.map.n = n_same;
    for (size_t i = 0; i < N_COLUMNS; i++)
        if ((i != ATTEMPT || l->has_attempts) && (i != LAST || l->has_live))
            shown[n_shown++] = columns[i];
    l->table = table_for_stdout(shown, n_shown);
    if (l->has_live)
        table_may_leave_out(l->table, place_of(l, LAST), NEED_ROOM);
    table_may_leave_out(l->table, place_of(l, REASON), NEED_ROOM);
    table_may_leave_out(l->table, place_of(l, PARAMETERS), NEED_ROOM);
    for (size_t i = 0; i < sizeof may_go / sizeof may_go[0]; i++)
        table_may_leave_out(l->table, place_of(l, may_go[i]), NEED_COMFORT);
}

/* ---- a row ---- */

/* A copy of the value with numbers of six digits; recursion is as deep as the value. */
static struct value shorter(struct arena *a, const struct value *v)
{
    struct value copy = *v;
    char digits[40];

    switch (v->type) {
    case VALUE_LIST:
        copy.list.items = arena_alloc(a, v->list.n * sizeof *copy.list.items);
        for (size_t i = 0; i < v->list.n; i++)
            copy.list.items[i] = shorter(a, &v->list.items[i]);
        return copy;
    case VALUE_MAP:
        copy.map.members = arena_alloc(a, v->map.n * sizeof *copy.map.members);
        for (size_t i = 0; i < v->map.n; i++)
            copy.map.members[i] =
                (struct member){ v->map.members[i].key, shorter(a, &v->map.members[i].value) };
        return copy;
    case VALUE_FLOAT:
        snprintf(digits, sizeof digits, "%.6g", v->f);
        return value_float(strtod(digits, NULL));
    default: return copy;
    }
}

/* Reads what jobs without a result have reported last, in the order of the jobs. */
static struct live *read_live(struct listing *l, const struct job_info *jobs, size_t n)
{
    struct live *all = arena_alloc(l->live_arena, n * sizeof *all);
    struct live *asked = arena_alloc(l->live_arena, n * sizeof *asked);
    size_t n_asked = 0;

    for (size_t i = 0; i < n && l->n_read < LIVE_MAX; i++)
        if (jobs[i].metrics_path != NULL) {
            asked[n_asked++].path = jobs[i].metrics_path;
            l->n_read++;
        }
    if (n_asked == 0)
        return all;
    if (l->fs == NULL)
        l->fs = session_open_drive(l->session, NULL);
    if (l->fs == NULL)
        return all;
    live_read(l->fs, asked, n_asked, l->live_arena);
    for (size_t i = 0, k = 0; i < n && k < n_asked; i++)
        if (jobs[i].metrics_path == asked[k].path)
            all[i] = asked[k++];
    return all;
}

static void add_row(struct listing *l, const struct job_info *j, const struct live *live,
                    int64_t now_ms)
{
    struct table *t = l->table;
    struct value own = j->params;
    struct buf text = { 0 };

    table_add(t, TONE_PLAIN, j->job);
    table_add(t, jobinfo_tone(j->state), job_state_names[j->state]);
    table_printf(t, TONE_PLAIN, "%" PRId64, j->rep);
    if (l->has_attempts)
        table_printf(t, TONE_PLAIN, "%" PRId64, j->attempt);
    table_add(t, TONE_PLAIN, j->node);
    jobinfo_add_time(&text, j, now_ms);
    table_add_buf(t, TONE_PLAIN, &text);
    table_add(t, TONE_PLAIN, j->param_name);
    /* Parameters that are the same in all jobs are left out. */
    if (l->for_terminal && own.type == VALUE_MAP) {
        size_t n = 0;

        arena_reset(l->row_arena);
        own = shorter(l->row_arena, &j->params);
        for (size_t i = 0; i < own.map.n; i++) {
            const struct member *m = &j->params.map.members[i];
            const struct value *same = value_get(&l->same, m->key.str.s);

            if (same == NULL || !value_equal(same, &m->value)) {
                l->has_others |= same != NULL;
                own.map.members[n++] = own.map.members[i];
            }
        }
        own.map.n = n;
    }
    jobinfo_add_params(&text, &own);
    table_add_buf(t, TONE_PLAIN, &text);
    if (l->has_live) {
        live_add_words(&text, &live->metrics);
        table_add_buf(t, TONE_DIM, &text);
    }
    jobinfo_add_reason(&text, j);
    table_add_buf(t, TONE_PLAIN, &text);
}

/* ---- the listing ---- */

static int show_page(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct listing *l = context;
    int64_t now_ms = units_now_ms();
    struct live *live = NULL;
    struct buf out = { 0 };

    if (l->has_table) {
        arena_reset(l->live_arena);
        live = read_live(l, jobs, n);
    }
    for (size_t i = 0; l->has_table && l->table == NULL && i < n; i++)
        l->has_live = l->has_live || live[i].metrics.n > 0;
    if (l->has_table && l->table == NULL && n > 0)
        begin_table(l, jobs, n);
    for (size_t i = 0; i < n; i++) {
        if (l->json != NULL) {
            struct job_info shown = jobs[i];

            arena_reset(l->row_arena);
            session_job_paths(l->session, l->row_arena, &shown);
            jsonlist_add(l->json, &job_info_schema, &shown);
        } else if (l->table != NULL) {
            add_row(l, &jobs[i], &live[i], now_ms);
        } else {
            buf_printf(&out, "%s\n", jobs[i].job);
        }
    }
    l->n += n;
    if (l->json != NULL)
        return jsonlist_flush(l->json, e);
    if (l->table != NULL)
        table_flush(l->table, &out);
    return output_write(&out, e);
}

/* Takes jobs as they come, until there are as many as wanted. */
struct gathering {
    struct listing *listing;
    struct joblist kept; /* to be sorted, or written as CSV, or with these columns: */
    struct list columns; /* const char *; empty: the usual ones */
    bool keeps;
    int64_t left; /* OPT_UNSET: all */
};

static int gather_page(void *context, const struct job_info *jobs, size_t n, struct err *e)
{
    struct gathering *g = context;

    if (g->left != OPT_UNSET && (int64_t)n > g->left)
        n = (size_t)g->left;
    if (g->left != OPT_UNSET)
        g->left -= (int64_t)n;
    if (g->keeps)
        joblist_add(&g->kept, jobs, n);
    else if (show_page(g->listing, jobs, n, e) < 0)
        return -1;
    return g->left == 0;
}

static bool is_size(const char *name)
{
    static const char *const sizes[] = { "max_rss_bytes", "memory_bytes", "gpu_memory_bytes" };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (strcmp(name, sizes[i]) == 0)
            return true;
    return false;
}

/* What a cell shows: memory and time as people read them. */
static void add_cell(struct table *t, const struct job_info *j, const char *name)
{
    struct buf text = { 0 };
    struct jobinfo_row row;
    struct value v = joblist_value(&row, j, name);
    enum tone tone = strcmp(name, "state") == 0 ? jobinfo_tone(j->state) : TONE_PLAIN;

    if (v.type == VALUE_STR)
        buf_add_str(&text, v.str.s);
    else if (is_size(name) && v.type == VALUE_INT)
        units_add_size(&text, v.i);
    else if (strcmp(name, "gpu_percent") == 0 && v.type == VALUE_FLOAT)
        buf_printf(&text, "%.0f%%", v.f);
    else if (strcmp(name, "time_ms") == 0 && v.type == VALUE_INT)
        units_add_duration(&text, v.i);
    else if ((strcmp(name, "seconds") == 0 || strcmp(name, "cpu_seconds") == 0) &&
             v.type == VALUE_FLOAT)
        units_add_duration(&text, (int64_t)(v.f * 1000 + 0.5));
    else if (v.type != VALUE_NULL)
        json_add_text(&text, &v);
    table_add_buf(t, tone, &text);
}

static int show_columns(const struct joblist *l, const struct list *names, struct err *e)
{
    const char *const *items = names->items;
    struct column *heads = mem_resize(NULL, names->n, sizeof *heads);
    struct table *t;
    int result;

    for (size_t i = 0; i < names->n; i++) {
        heads[i] = (struct column){ .head = items[i], .shrinks = true };
        for (size_t k = 0; k < l->n && !heads[i].right; k++) {
            struct jobinfo_row row;
            struct value v = joblist_value(&row, &l->jobs[k], items[i]);

            heads[i].right = v.type == VALUE_INT || v.type == VALUE_FLOAT;
        }
    }
    t = table_for_stdout(heads, names->n);
    free(heads);
    for (size_t k = 0; k < l->n; k++)
        for (size_t i = 0; i < names->n; i++)
            add_cell(t, &l->jobs[k], items[i]);
    result = table_print(t, e);
    table_destroy(t);
    return result;
}

/* Shows the jobs that were kept, in pages as they would have come. */
static int show_kept(struct gathering *g, const struct options *o, struct err *e)
{
    struct joblist *kept = &g->kept;
    struct buf out = { 0 };
    size_t n = kept->n;
    int result = 0;

    if (o->sort != NULL && joblist_sort(kept, o->sort, e) < 0)
        return -1;
    if (o->limit != OPT_UNSET && (size_t)o->limit < n)
        kept->n = n = (size_t)o->limit;
    g->listing->n = n;
    if (g->columns.n > 0 && joblist_check_columns(kept, &g->columns, e) < 0)
        return -1;
    if (g->columns.n > 0 && !o->csv)
        return show_columns(kept, &g->columns, e);
    if (g->columns.n > 0) {
        joblist_add_columns(&out, kept, &g->columns);
        return csv_write(&out, e);
    }
    if (o->csv) {
        joblist_add_csv(&out, kept, units_now_ms());
        return csv_write(&out, e);
    }
    g->listing->n = 0;
    for (size_t i = 0; i < n && result == 0; i += PAGE_MAX)
        result = show_page(g->listing, kept->jobs + i, n - i < PAGE_MAX ? n - i : PAGE_MAX, e);
    return result;
}

/* Prints the parameters that are left out of the column, as far as a line has room. */
static int say_same(struct listing *l, struct err *e)
{
    struct buf text = { 0 }, line = { 0 };
    struct value same = shorter(l->arena, &l->same);
    size_t width = output_columns(STDOUT_FILENO), n;

    if (same.type != VALUE_MAP || same.map.n == 0)
        return 0;
    buf_add_str(&text, l->has_others ? "where not shown: " : "the same in all: ");
    jobinfo_add_params(&text, &same);
    safe_text_clean(&text, "");
    n = safe_text_fitting(buf_text(&text), text.n, width);
    if (n < text.n)
        n = safe_text_fitting(buf_text(&text), text.n, width - 1);
    buf_add(&line, text.bytes, n);
    buf_add_str(&line, n < text.n ? "…\n" : "\n");
    buf_free(&text);
    return output_write(&line, e);
}

/* Prints notes about jobs without a row: reused ones, or that no job matches. */
static int say_rest(struct rpc *rpc, const struct list *targets, const struct job_filter *filter,
                    size_t n, struct err *e)
{
    bool is_filtered = filter->states.n > 0 || filter->where != NULL, has_reused = false;
    const struct target *items = targets->items;
    struct sweep_info s;

    for (size_t i = 0; i < targets->n; i++) {
        if (!target_is_whole(&items[i]) || (n > 0 && is_filtered))
            continue;
        if (pages_sweep(rpc, items[i].sweep, &s, e) < 0)
            return -1;
        if (s.reused == 0 || (is_filtered && progress_jobs(&s.jobs) > 0))
            continue;
        has_reused = true;
        if (progress_jobs(&s.jobs) == 0)
            output_note("sweep %" PRId64 " has no jobs of its own: all %" PRId64
                        " were done before, in earlier sweeps (ludwig results %" PRId64
                        " shows them)",
                        s.sweep, s.reused, s.sweep);
        else
            output_note("%" PRId64 " more job%s of sweep %" PRId64
                        " %s done before, in earlier sweeps (ludwig results %" PRId64 " shows %s)",
                        s.reused, s.reused == 1 ? "" : "s", s.sweep, s.reused == 1 ? "was" : "were",
                        s.sweep, s.reused == 1 ? "it" : "them");
    }
    if (n > 0 || has_reused)
        return 0;
    if (targets->n == 0)
        output_note("you have no unfinished sweep (name one to see its jobs)");
    else if (items[0].sweep == items[targets->n - 1].sweep)
        output_note("no job of sweep %" PRId64 " matches", items[0].sweep);
    else
        output_note("no job of these sweeps matches");
    return 0;
}

/* The words of "a,b,c"; text NULL: none. */
static struct list split(const char *text, struct arena *a)
{
    size_t n = 0, most = text != NULL ? strlen(text) + 1 : 0;
    const char **names = arena_alloc(a, most * sizeof *names);

    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");

        if (length > 0)
            names[n++] = arena_strndup(a, text, length);
        text += length + (text[length] == ',');
    }
    return (struct list){ names, n };
}

static int list_jobs(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct job_filter filter = { .is_quiet = o->quiet };
    struct session s;
    struct jsonlist json = { 0 };
    struct listing l = { .session = &s,
                         .json = o->json ? &json : NULL,
                         .has_table = !o->json && !o->quiet && !o->csv,
                         .for_terminal = output_is_terminal(STDOUT_FILENO),
                         .arena = cli->arena };
    const struct opt_words words = selector_words_or_last(&cli->args);
    struct gathering g = { .keeps = o->sort != NULL || o->csv || o->columns != NULL,
                           .left = o->sort != NULL ? OPT_UNSET : o->limit };
    struct list targets;
    unsigned states;
    int result;

    if (o->csv && (o->json || o->quiet))
        return err_set(e, ERR_USAGE, "--csv goes without --json and --quiet");
    if (o->columns != NULL && (o->json || o->quiet))
        return err_set(e, ERR_USAGE,
                       "--columns goes without --quiet, and --json, which has them all");

    if (opt_state_read(&stateopt_jobs, &o->states, &states, e) < 0)
        return -1;
    filter.states = opt_state_names(&stateopt_jobs, states, cli->arena);
    if (jobinfo_parse_where(o->where, cli->arena, &filter.where, e) < 0 ||
        selector_check(&words, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    g.columns = split(o->columns, cli->arena);
    l.row_arena = arena_create();
    l.live_arena = arena_create();
    if (o->json)
        jsonlist_begin(&json, "jobs");
    result = selector_targets(&s.rpc, NULL, &words, cli->arena, &targets, e);
    if (result == 0)
        result = selector_check_jobs(&s.rpc, &targets, e);
    filter.measures = filter.where != NULL ? job_measures_create(&s) : NULL;
    g.listing = &l;
    g.kept.arena = cli->arena;
    if (result == 0)
        result = pages_jobs(&s.rpc, &targets, &filter, gather_page, &g, e);
    if (result == 0 && g.keeps)
        result = show_kept(&g, o, e);
    joblist_free(&g.kept);
    if (result == 0 && o->json)
        result = jsonlist_end(&json, e);
    else if (result == 0 && l.has_table && o->columns != NULL)
        result = say_rest(&s.rpc, &targets, &filter, l.n, e);
    else if (result == 0 && l.has_table)
        result = say_same(&l, e) < 0 ? -1 : say_rest(&s.rpc, &targets, &filter, l.n, e);
    jsonlist_drop(&json);
    table_destroy(l.table);
    arena_destroy(l.row_arena);
    arena_destroy(l.live_arena);
    share_close(l.fs);
    job_measures_destroy(filter.measures);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_jobs = {
    .name = "jobs",
    .args = "[SWEEP|JOB]... [OPTION]...",
    .help = "list the jobs of a sweep",
    .more = SELECTOR_HELP "Without a name it takes the last sweep.\n" WHERE_HELP,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = list_jobs,
};
