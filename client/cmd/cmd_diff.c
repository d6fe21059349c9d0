/* SPDX-License-Identifier: MIT */
/* cmd_diff.c - ludwig compare, also called ludwig diff */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/query/pages.h"
#include "client/query/selector.h"
#include "client/results/aggregate.h"
#include "client/results/results_out.h"
#include "client/session/session.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"
#include "client/term/table.h"
#include "common/base/hash_table.h"
#include "common/data/json.h"
#include "common/data/param_digest.h"
#include "common/proto/layout.h"

enum {
    FILE_MAX_BYTES = 1024 * 1024,
    LINES_MAX = 2000, /* files with more lines are not compared line by line */
    SHOWN_MAX_BYTES = 200,
    ROWS_MAX = 20
};

/* One of the two sweeps. */
struct side {
    int64_t sweep;
    const char *project;
    struct buf file, summary_text; /* empty: the drive does not have it */
    struct value summary;
    struct aggregate results; /* the best first, where something ranks them */
    int ranked_by;            /* the measure that ranks; -1: none does */
};

/* ---- two files, line by line ---- */

static struct list split_lines(struct arena *a, const char *text)
{
    const char **lines = arena_alloc(a, (strlen(text) + 1) * sizeof *lines);
    size_t n = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, "\n");

        lines[n++] = arena_strndup(a, text, length);
        text += length + (text[length] == '\n');
    }
    return (struct list){ lines, n };
}

/* Appends all lines but the longest sequence that both have: "- " before those of the first and
 * "+ " before those of the second. */
static void add_changed_lines(struct buf *out, struct arena *a, const struct list *x,
                              const struct list *y)
{
    const char *const *p = x->items, *const *q = y->items;
    size_t width = y->n + 1, i = 0, k = 0;
    /* common[i * width + k]: how many lines are common from p[i] and q[k] on */
    uint16_t *common = arena_alloc(a, (x->n + 1) * width * sizeof *common);

    memset(common, 0, (x->n + 1) * width * sizeof *common);
    for (i = x->n; i-- > 0;)
        for (k = y->n; k-- > 0;) {
            uint16_t below = common[(i + 1) * width + k], behind = common[i * width + k + 1];

            common[i * width + k] = strcmp(p[i], q[k]) == 0
                                        ? (uint16_t)(common[(i + 1) * width + k + 1] + 1)
                                        : (below > behind ? below : behind);
        }
    for (i = k = 0; i < x->n || k < y->n;) {
        if (i < x->n && k < y->n && strcmp(p[i], q[k]) == 0) {
            i++;
            k++;
        } else if (k == y->n ||
                   (i < x->n && common[(i + 1) * width + k] >= common[i * width + k + 1])) {
            buf_printf(out, "  - %s\n", p[i++]);
        } else {
            buf_printf(out, "  + %s\n", q[k++]);
        }
    }
}

static void add_files(struct buf *out, struct arena *a, const struct side *x, const struct side *y)
{
    struct list p = split_lines(a, buf_text(&x->file)), q = split_lines(a, buf_text(&y->file));

    if (x->file.n == 0 || y->file.n == 0)
        buf_printf(out, "sweep.yaml  that of sweep %" PRId64 " cannot be read\n",
                   x->file.n == 0 ? x->sweep : y->sweep);
    else if (strcmp(buf_text(&x->file), buf_text(&y->file)) == 0)
        buf_add_str(out, "sweep.yaml  is the same\n");
    else if (p.n > LINES_MAX || q.n > LINES_MAX)
        buf_add_str(out, "sweep.yaml  differs, and is too long to be compared line by line\n");
    else {
        buf_add_str(out, "sweep.yaml\n");
        add_changed_lines(out, a, &p, &q);
    }
}

/* ---- what was made of them: command, source, data, parameters, commit ---- */

static void add_side(struct buf *out, char sign, const struct value *v)
{
    struct buf text = { 0 };

    if (v == NULL)
        return;
    json_add_text(&text, v);
    buf_printf(out, "  %c %.*s%s\n", sign, SHOWN_MAX_BYTES, buf_text(&text),
               text.n > SHOWN_MAX_BYTES ? " ..." : "");
    buf_free(&text);
}

/* Appends members that only one sweep has, or that differ, but not those that identify a sweep. */
static void add_summaries(struct buf *out, const struct side *x, const struct side *y)
{
    const struct side *sides[] = { x, y };

    for (size_t s = 0; s < 2; s++) {
        const struct value *map = &sides[s]->summary;

        for (size_t i = 0; map->type == VALUE_MAP && i < map->map.n; i++) {
            const char *key = map->map.members[i].key.str.s;
            const struct value *v = value_get(&x->summary, key), *w = value_get(&y->summary, key);

            if (strcmp(key, "v") == 0 || strcmp(key, "sweep") == 0 || (s == 1 && v != NULL) ||
                (v != NULL && w != NULL && value_equal(v, w)))
                continue;
            buf_printf(out, "%s\n", key);
            add_side(out, '-', v);
            add_side(out, '+', w);
        }
    }
}

/* ---- results ---- */

/* Finds configurations by their parameters, as the numbers of two projects differ. */
static struct hash_table *index_configs(const struct aggregate *g)
{
    struct hash_table *index = hash_table_create(UINT32_MAX - 1);
    struct digest d;

    for (size_t i = 0; i < g->n; i++) {
        param_digest(&g->configs[i].params, &d);
        (void)hash_table_add(index, &d, (uint32_t)i);
    }
    return index;
}

static const struct config_result *find(const struct aggregate *g, struct hash_table *index,
                                        const struct value *params)
{
    struct digest d;
    uint32_t i;

    param_digest(params, &d);
    return hash_table_find(index, &d, &i) ? &g->configs[i] : NULL;
}

static void add_mean(struct table *t, const struct measure *m)
{
    if (m == NULL || isnan(m->last.mean))
        table_add(t, TONE_DIM, "-");
    else if (isnan(m->last.std))
        table_printf(t, TONE_PLAIN, "%.6g", m->last.mean);
    else
        table_printf(t, TONE_PLAIN, "%.6g ± %.2g", m->last.mean, m->last.std);
}

/* "best        sweep 7: accuracy 0.9321 ± 0.02, lr=0.1 depth=2" */
static void add_best(struct buf *out, const struct side *side, const char *head)
{
    const struct config_result *c = &side->results.configs[0];
    const struct measure *m = side->ranked_by >= 0 && side->results.n > 0
                                  ? aggregate_measure(c, (size_t)side->ranked_by)
                                  : NULL;

    buf_printf(out, "%-12ssweep %" PRId64 ": ", head, side->sweep);
    if (m == NULL || isnan(m->last.mean)) {
        buf_add_str(out, "no result yet\n");
        return;
    }
    buf_printf(out, "%s %.6g", side->results.metrics[side->ranked_by], m->last.mean);
    if (!isnan(m->last.std))
        buf_printf(out, " ± %.2g", m->last.std);
    buf_add_str(out, ", ");
    jobinfo_add_params(out, &c->params);
    buf_add_char(out, '\n');
}

/* Appends a row for each configuration that both have, with the means of the measure that ranks. */
static void add_results(struct buf *out, const struct side *x, const struct side *y)
{
    const struct aggregate *g = &x->results, *h = &y->results;
    int metric = x->ranked_by >= 0 ? x->ranked_by : g->n_metrics > 0 ? 0 : -1;
    int other = metric < 0 ? -1 : aggregate_find_metric(h, g->metrics[metric]);
    char first[40], second[40];
    const struct column columns[] = { { "PARAMETERS", false, true },
                                      { first, true, false },
                                      { second, true, false },
                                      { "CHANGE", true, false } };
    struct hash_table *index = index_configs(h);
    struct table *t;
    size_t n_common = 0;

    snprintf(first, sizeof first, "SWEEP %" PRId64, x->sweep);
    snprintf(second, sizeof second, "SWEEP %" PRId64, y->sweep);
    t = table_for_stdout(columns, 4);
    for (size_t i = 0; i < g->n; i++) {
        const struct config_result *c = &g->configs[i], *d = find(h, index, &c->params);
        const struct measure *m, *w;
        struct buf params = { 0 };

        n_common += d != NULL;
        if (d == NULL || n_common > ROWS_MAX || other < 0)
            continue;
        m = aggregate_measure(c, (size_t)metric);
        w = aggregate_measure(d, (size_t)other);
        jobinfo_add_params(&params, &c->params);
        table_add_buf(t, TONE_PLAIN, &params);
        add_mean(t, m);
        add_mean(t, w);
        if (m == NULL || w == NULL)
            table_add(t, TONE_PLAIN, "");
        else
            table_printf(t, TONE_PLAIN, "%+.3g", w->last.mean - m->last.mean);
    }
    buf_printf(out,
               "results     %zu configuration%s in both, %zu only in sweep %" PRId64
               ", %zu only in sweep %" PRId64 "\n",
               n_common, n_common == 1 ? "" : "s", g->n - n_common, x->sweep, h->n - n_common,
               y->sweep);
    if (x->ranked_by >= 0 || y->ranked_by >= 0) {
        add_best(out, x, "best");
        add_best(out, y, "");
    }
    if (n_common > 0 && other >= 0) {
        buf_printf(out, "\nmean %s\n", g->metrics[metric]);
        table_flush(t, out);
        if (n_common > ROWS_MAX)
            buf_printf(out, "and %zu more\n", n_common - ROWS_MAX);
    }
    table_destroy(t);
    hash_table_destroy(index);
}

/* ---- the command ---- */

static int take_results(void *context, const struct job_result *results, size_t n, struct err *e)
{
    (void)e;
    for (size_t i = 0; i < n; i++)
        aggregate_add(context, &results[i]);
    return 0;
}

static int read_side(struct session *s, struct share_dir *drive, struct arena *a, const char *word,
                     struct side *side, struct err *e)
{
    const struct measures_said said = { 0 };
    struct ranking ranking;
    struct buf dir = { 0 };
    struct sweep_info info;
    char *path;

    if (selector_sweep(&s->rpc, word, &side->sweep, e) < 0 ||
        pages_sweep(&s->rpc, side->sweep, &info, e) < 0)
        return -1;
    side->project = arena_strdup(a, info.project != NULL ? info.project : "");
    ranking = ((struct sweep_info *)schema_copy(&sweep_info_schema, &info, a))->ranking;
    layout_sweep(&dir, side->project, side->sweep);
    path = mem_printf("%s/sweep.yaml", buf_text(&dir));
    if (drive == NULL || share_read(drive, path, FILE_MAX_BYTES, &side->file, NULL) < 0)
        buf_clear(&side->file);
    free(path);
    path = mem_printf("%s/summary.json", buf_text(&dir));
    if (drive == NULL || share_read(drive, path, FILE_MAX_BYTES, &side->summary_text, NULL) < 0 ||
        json_read(buf_text(&side->summary_text), side->summary_text.n, a, &side->summary, NULL) < 0)
        side->summary = value_null();
    free(path);
    buf_free(&dir);
    if (pages_results(&s->rpc, side->sweep, take_results, &side->results, e) < 0)
        return -1;
    /* If the measure of "results:" was not reported, no measure ranks. */
    if (measures_rank(&side->results, &said, &ranking, a, &side->ranked_by, NULL) < 0)
        side->ranked_by = -1;
    aggregate_finish(&side->results);
    if (side->ranked_by >= 0)
        aggregate_sort(&side->results, (size_t)side->ranked_by);
    return 0;
}

static int compare(struct cli *cli, struct session *s, struct side sides[2], struct err *e)
{
    struct err why = { 0 };
    struct share_dir *drive = session_open_drive(s, &why);
    struct buf text = { 0 }, out = { 0 };
    int result = 0;

    if (drive == NULL)
        output_note("note: the sweep files are not compared: %s", why.text);
    for (size_t i = 0; i < 2 && result == 0; i++)
        result = read_side(s, drive, cli->arena, cli->args.words[i], &sides[i], e);
    if (result == 0) {
        if (strcmp(sides[0].project, sides[1].project) != 0)
            buf_printf(&text, "project\n  - %s\n  + %s\n", sides[0].project, sides[1].project);
        if (drive != NULL)
            add_files(&text, cli->arena, &sides[0], &sides[1]);
        add_summaries(&text, &sides[0], &sides[1]);
        add_results(&text, &sides[0], &sides[1]);
        safe_text_add_harmless(&out, buf_text(&text), text.n, "\n");
        result = output_write(&out, e);
    }
    buf_free(&text);
    share_close(drive);
    return result;
}

static int diff_sweeps(struct cli *cli, struct err *e)
{
    struct side sides[2] = { 0 };
    struct session s;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_read(cli, &s, e) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++)
        aggregate_init(&sides[i].results);
    result = compare(cli, &s, sides, e);
    for (size_t i = 0; i < 2; i++) {
        aggregate_free(&sides[i].results);
        buf_free(&sides[i].file);
        buf_free(&sides[i].summary_text);
    }
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}

#define MORE(word)                                                                     \
    "Compares the sweep files as submitted, the command, source, data, environment,\n" \
    "parameters and git commit, the best configuration of each, and the results of\n"  \
    "the configurations that both have. \"-\" stands before what the first one has,\n" \
    "\"+\" before what the second one has.\n"                                          \
    "\n"                                                                               \
    "  ludwig " word " 7 last\n"

const struct command cmd_compare = {
    .name = "compare",
    .args = "SWEEP SWEEP [OPTION]...",
    .help = "compare two sweeps: what changed, and what came out",
    .more = MORE("compare"),
    .min_args = 2,
    .max_args = 2,
    .run = diff_sweeps,
};

const struct command cmd_diff = {
    .name = "diff",
    .args = "SWEEP SWEEP [OPTION]...",
    .help = "show what changed from one sweep to another: the same as compare",
    .more = MORE("diff"),
    .min_args = 2,
    .max_args = 2,
    .run = diff_sweeps,
};
