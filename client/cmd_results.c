/* SPDX-License-Identifier: MIT */
/* cmd_results.c - ludwig results */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/aggregate.h"
#include "client/jsonlist.h"
#include "client/out.h"
#include "client/selector.h"
#include "client/session.h"
#include "client/table.h"
#include "common/json.h"
#include "common/path.h"
#include "common/suggest.h"

struct options {
    bool csv, json;
    const char *sort;
};

static const struct opt options[] = {
    { "sort", 0, OPT_STR, "METRIC", offsetof(struct options, sort), 0, 0,
      "best mean of this measure first" },
    { "csv", 0, OPT_FLAG, NULL, offsetof(struct options, csv), 0, 0, "print CSV" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { 0 },
};

/* ---- numbers ---- */

static int compare_numbers(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* The deviation that half of the configurations stay below; 0 when there is none. */
static double usual_deviation(const struct aggregate *g, size_t metric)
{
    double *all = mem_resize(NULL, g->n, sizeof *all), usual;
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++) {
        const struct stats *s = aggregate_stats(&g->configs[i], metric);
        double deviation = s == NULL ? 0 : stats_std(s);

        if (isfinite(deviation) && deviation > 0)
            all[n++] = deviation;
    }
    if (n > 1)
        qsort(all, n, sizeof *all, compare_numbers);
    usual = n == 0 ? 0 : all[n / 2];
    free(all);
    return usual;
}

/* Digits behind the point, so that the usual deviation shows two; -1: as %g says. */
static int decimals_of(const struct aggregate *g, size_t metric)
{
    double deviation = usual_deviation(g, metric);

    if (deviation < 1e-8)
        return -1;
    return deviation >= 10 ? 0 : 1 - (int)floor(log10(deviation));
}

static void add_number(struct buf *out, double x, int decimals)
{
    if (decimals < 0)
        buf_printf(out, "%.6g", x);
    else
        buf_printf(out, "%.*f", decimals, x);
}

static void add_stats(struct table *t, enum tone tone, const struct stats *s, int decimals)
{
    struct buf text = { 0 };

    if (s != NULL)
        add_number(&text, s->mean, decimals);
    if (s != NULL && s->n > 1) {
        buf_add_str(&text, " ± ");
        add_number(&text, stats_std(s), decimals);
    }
    table_add(t, tone, s == NULL ? "-" : buf_text(&text));
    buf_free(&text);
}

/* ---- the table ---- */

/* What the table marks: the best configuration by a metric, if there is one that counts. */
struct mark {
    int metric; /* -1: none */
    int64_t best;
};

static struct mark find_mark(const struct aggregate *g)
{
    struct mark m = { .metric = aggregate_main_metric(g), .best = -1 };

    if (m.metric >= 0)
        m.best = aggregate_best(g, (size_t)m.metric, goal_of(g->metrics[m.metric]));
    return m;
}

static struct table *make_table(const struct aggregate *g, const struct list *varying)
{
    const char *const *names = varying->items;
    size_t n = 0;
    struct column *columns = mem_resize(NULL, 3 + varying->n + g->n_metrics, sizeof *columns);
    struct table *t;

    columns[n++] = (struct column){ "", false, false };
    columns[n++] = (struct column){ "CONFIGURATION", false, false };
    for (size_t i = 0; i < varying->n; i++)
        columns[n++] = (struct column){ names[i], true, true };
    columns[n++] = (struct column){ "N", true, false };
    for (size_t i = 0; i < g->n_metrics; i++)
        columns[n++] = (struct column){ g->metrics[i], true, false };
    t = table_create(columns, n, out_columns(STDOUT_FILENO), out_has_colour(STDOUT_FILENO));
    free(columns);
    return t;
}

static void add_param(struct buf *out, const struct config_result *c, const char *name)
{
    const struct value *v = value_get(&c->params, name);

    if (v != NULL)
        json_add_text(out, v);
}

static void add_row(struct table *t, const struct aggregate *g, const struct list *varying,
                    const int *decimals, const struct config_result *c, bool is_best)
{
    const char *const *names = varying->items;
    enum tone tone = is_best ? TONE_GOOD : TONE_PLAIN;
    struct buf text = { 0 };

    table_add(t, tone, is_best ? "*" : "");
    table_add(t, tone, c->param_name);
    for (size_t i = 0; i < varying->n; i++) {
        buf_clear(&text);
        add_param(&text, c, names[i]);
        table_add(t, tone, buf_text(&text));
    }
    table_printf(t, tone, "%" PRId64, c->n_jobs);
    for (size_t i = 0; i < g->n_metrics; i++)
        add_stats(t, tone, aggregate_stats(c, i), decimals[i]);
    buf_free(&text);
}

static void add_table(struct buf *out, struct aggregate *g, const struct mark *m)
{
    struct list varying = aggregate_varying(g);
    struct table *t = make_table(g, &varying);
    int *decimals = mem_resize(NULL, g->n_metrics, sizeof *decimals);

    for (size_t i = 0; i < g->n_metrics; i++)
        decimals[i] = decimals_of(g, i);
    for (size_t i = 0; i < g->n; i++)
        add_row(t, g, &varying, decimals, &g->configs[i], (int64_t)i == m->best);
    table_flush(t, out);
    free(decimals);
    table_destroy(t);
}

static int find_sweep(struct rpc *rpc, int64_t sweep, struct msg_sweep_page *page, struct err *e)
{
    struct msg_get_sweeps request = { .sweep = sweep, .limit = 1 };

    if (rpc_call(rpc, MSG_GET_SWEEPS, &request, page, e) < 0)
        return -1;
    if (page->sweeps.n == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no sweep %" PRId64, sweep);
    return 0;
}

static void add_places(struct buf *out, const char *share, const struct sweep_info *s)
{
    char *project = path_join(share, s->project);

    buf_printf(out, "results  %s/runs/\n", project);
    buf_printf(out, "logs     %s/logs/%" PRId64 "/\n", project, s->sweep);
    if (s->jobs.failed > 0)
        buf_printf(out, "failed   %s/failed/\n", project);
    free(project);
}

static void add_unfinished(struct buf *out, const struct job_counts *c)
{
    int64_t left = c->queued + c->staging + c->running + c->publishing;

    if (left > 0)
        buf_printf(out, "%" PRId64 " jobs are not over yet\n", left);
    if (c->failed > 0)
        buf_printf(out, "%" PRId64 " job%s failed\n", c->failed, c->failed == 1 ? "" : "s");
}

static int show_table(struct session *s, int64_t sweep, struct aggregate *g, struct err *e)
{
    struct mark m = find_mark(g);
    struct msg_sweep_page page;
    struct buf out = { 0 };

    if (find_sweep(&s->rpc, sweep, &page, e) < 0)
        return -1;
    add_table(&out, g, &m);
    buf_add_char(&out, '\n');
    if (m.best >= 0)
        buf_printf(&out, "* best by mean %s (%s)\n", g->metrics[m.metric],
                   goal_of(g->metrics[m.metric]) == GOAL_MIN ? "lowest" : "highest");
    if (g->n_metrics == 0)
        buf_add_str(&out, "no job has reported a measure (see ludwig help report)\n");
    add_unfinished(&out, &((const struct sweep_info *)page.sweeps.items)->jobs);
    add_places(&out, s->share, page.sweeps.items);
    return out_write(&out, e);
}

/* ---- JSON and CSV ---- */

static void add_json_number(struct buf *out, const char *key, double x)
{
    struct value v = isfinite(x) ? value_float(x) : value_null();

    buf_printf(out, ",\"%s\":", key);
    json_add_value(out, &v);
}

static void add_json_stats(struct buf *out, const char *name, const struct stats *s)
{
    json_add_str(out, name, strlen(name));
    buf_printf(out, ":{\"n\":%" PRId64, s->n);
    add_json_number(out, "mean", s->mean);
    add_json_number(out, "std", stats_std(s));
    add_json_number(out, "min", s->min);
    add_json_number(out, "max", s->max);
    buf_add_char(out, '}');
}

static void add_json_config(struct buf *out, const struct aggregate *g,
                            const struct config_result *c)
{
    bool first = true;

    buf_add_str(out, "{\"param_name\":");
    json_add_str(out, c->param_name, strlen(c->param_name));
    buf_add_str(out, ",\"params\":");
    json_add_value(out, &c->params);
    buf_printf(out, ",\"n\":%" PRId64 ",\"metrics\":{", c->n_jobs);
    for (size_t i = 0; i < g->n_metrics; i++) {
        const struct stats *s = aggregate_stats(c, i);

        if (s == NULL)
            continue;
        if (!first)
            buf_add_char(out, ',');
        add_json_stats(out, g->metrics[i], s);
        first = false;
    }
    buf_add_str(out, "}}");
}

static int show_json(const struct aggregate *g, struct err *e)
{
    struct jsonlist l;

    jsonlist_begin(&l, "results");
    for (size_t i = 0; i < g->n; i++)
        add_json_config(jsonlist_next(&l), g, &g->configs[i]);
    return jsonlist_end(&l, e);
}

/* RFC 4180 */
static void add_field(struct buf *out, const char *text)
{
    bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';

    if (!quoted) {
        buf_add_str(out, text);
        return;
    }
    buf_add_char(out, '"');
    for (; *text != '\0'; text++)
        buf_add_str(out, *text == '"' ? "\"\"" : (const char[]){ *text, '\0' });
    buf_add_char(out, '"');
}

static void add_csv_head(struct buf *out, const struct aggregate *g, const struct list *varying)
{
    static const char *const kinds[] = { "n", "mean", "std", "min", "max" };
    const char *const *names = varying->items;

    buf_add_str(out, "param_name");
    for (size_t i = 0; i < varying->n; i++) {
        buf_add_char(out, ',');
        add_field(out, names[i]);
    }
    buf_add_str(out, ",n");
    for (size_t i = 0; i < g->n_metrics; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            char *name = mem_printf("%s_%s", g->metrics[i], kinds[k]);

            buf_add_char(out, ',');
            add_field(out, name);
            free(name);
        }
    buf_add_char(out, '\n');
}

static void add_csv_number(struct buf *out, double x)
{
    buf_add_char(out, ',');
    if (!isnan(x))
        value_add_float(out, x);
}

static void add_csv_stats(struct buf *out, const struct stats *s)
{
    if (s == NULL) {
        buf_add_str(out, ",0,,,,");
        return;
    }
    buf_printf(out, ",%" PRId64, s->n);
    add_csv_number(out, s->mean);
    add_csv_number(out, stats_std(s));
    add_csv_number(out, s->min);
    add_csv_number(out, s->max);
}

static int show_csv(struct aggregate *g, struct err *e)
{
    struct list varying = aggregate_varying(g);
    const char *const *names = varying.items;
    struct buf out = { 0 };

    add_csv_head(&out, g, &varying);
    for (size_t i = 0; i < g->n; i++) {
        add_field(&out, g->configs[i].param_name);
        for (size_t k = 0; k < varying.n; k++) {
            struct buf text = { 0 };

            add_param(&text, &g->configs[i], names[k]);
            buf_add_char(&out, ',');
            add_field(&out, buf_text(&text));
            buf_free(&text);
        }
        buf_printf(&out, ",%" PRId64, g->configs[i].n_jobs);
        for (size_t k = 0; k < g->n_metrics; k++)
            add_csv_stats(&out, aggregate_stats(&g->configs[i], k));
        buf_add_char(&out, '\n');
    }
    return out_write(&out, e);
}

/* ---- fetching ---- */

static int fetch(struct rpc *rpc, int64_t sweep, struct aggregate *g, struct err *e)
{
    struct msg_get_results request = { .sweep = sweep, .limit = PAGE_MAX };
    struct msg_result_page page;

    do {
        const struct job_result *results;

        if (rpc_call(rpc, MSG_GET_RESULTS, &request, &page, e) < 0)
            return -1;
        results = page.results.items;
        for (size_t i = 0; i < page.results.n; i++)
            aggregate_add(g, &results[i]);
        request.after = page.next;
    } while (page.next != 0);
    return 0;
}

static int sort_by(struct aggregate *g, const char *metric, struct err *e)
{
    struct suggest nearest = { .word = metric };

    for (size_t i = 0; i < g->n_metrics; i++) {
        if (strcmp(g->metrics[i], metric) == 0) {
            aggregate_sort(g, i, goal_of(metric));
            return 0;
        }
        suggest_try(&nearest, g->metrics[i]);
    }
    if (nearest.best != NULL)
        return err_set(e, ERR_USAGE, "--sort: no job reported '%s' (did you mean '%s'?)", metric,
                       nearest.best);
    return err_set(e, ERR_USAGE, "--sort: no job reported '%s'", metric);
}

static int show(struct session *s, int64_t sweep, struct aggregate *g, const struct options *o,
                struct err *e)
{
    if (fetch(&s->rpc, sweep, g, e) < 0)
        return -1;
    if (o->sort != NULL && sort_by(g, o->sort, e) < 0)
        return -1;
    if (o->json)
        return show_json(g, e);
    return o->csv ? show_csv(g, e) : show_table(s, sweep, g, e);
}

static int run(struct cli *cli, struct err *e)
{
    struct aggregate g;
    struct session s;
    int64_t sweep;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    aggregate_init(&g);
    result = selector_sweep(&s.rpc, cli->args.words[0], &sweep, e);
    if (result == 0)
        result = show(&s, sweep, &g, cli->options, e);
    aggregate_free(&g);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_results = {
    .name = "results",
    .args = "SWEEP [OPTION]...",
    .help = "show what the jobs of a sweep measured, for each configuration",
    .more = "Of each measure the mean and, from two jobs on, the standard deviation over the\n"
            "replications. SWEEP is a number or last.\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
