/* SPDX-License-Identifier: MIT */
/* page_data.c - writes the data of the page as JSON that can stand in a <script> */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "client/importance/axis.h"
#include "client/importance/importance.h"
#include "client/page/page.h"
#include "client/term/safe_text.h"
#include "common/base/quote.h"
#include "common/base/units.h"
#include "common/data/json.h"
#include "common/proto/goal.h"

enum {
    TEXT_MAX = 1000 /* bytes of a value's text; longer ones are cut */,
    IMPORTANCE_METRICS_MAX = 12,
    TRIAGE_GROUPS_MAX = 100
};
/* JavaScript has all whole numbers up to this one exactly. */
static const int64_t whole_max = (int64_t)1 << 53;

/* ---- parts of JSON ---- */

static void add_text(struct buf *out, const char *text)
{
    if (text == NULL)
        buf_add_str(out, "null");
    else
        quote_add(out, text, strlen(text));
}

static void add_number(struct buf *out, double x)
{
    if (isfinite(x))
        value_add_float(out, x);
    else
        buf_add_str(out, "null");
}

/* Begins the member ,"name":[ of an object.  The caller adds the items, each after separate(), and
 * the closing bracket. */
static void begin_list(struct buf *out, const char *name)
{
    buf_printf(out, ",\"%s\":[", name);
}

static void separate(struct buf *out, size_t i)
{
    if (i > 0)
        buf_add_char(out, ',');
}

/* Returns a copy in which text replaces numbers that are not finite, which JSON lacks. */
static struct value finite_copy(const struct value *v, struct arena *a)
{
    struct value copy = *v;
    struct buf text = { 0 };

    if (v->type == VALUE_FLOAT && !isfinite(v->f)) {
        value_add_float(&text, v->f);
        return value_str(buf_to_arena(&text, a));
    }
    if (v->type == VALUE_LIST) {
        copy.list.items = arena_alloc(a, (v->list.n + 1) * sizeof *copy.list.items);
        for (size_t i = 0; i < v->list.n; i++)
            copy.list.items[i] = finite_copy(&v->list.items[i], a);
    } else if (v->type == VALUE_MAP) {
        copy.map.members = arena_alloc(a, (v->map.n + 1) * sizeof *copy.map.members);
        for (size_t i = 0; i < v->map.n; i++)
            copy.map.members[i] =
                (struct member){ v->map.members[i].key, finite_copy(&v->map.members[i].value, a) };
    }
    return copy;
}

static bool is_exact(int64_t i)
{
    return i <= whole_max && i >= -whole_max;
}

/* Adds a choice.  Null, booleans, exact whole numbers and texts are JSON values; other numbers are
 * {"number": "1e-05"}, lists and maps {"other": [1, 2], "text": "[1,2]"}, so that the page can show
 * them as the terminal does. */
static void add_choice(struct buf *out, const struct value *v, struct arena *a)
{
    struct buf text = { 0 };
    struct value copy;

    if (v->type == VALUE_NULL || v->type == VALUE_BOOL ||
        (v->type == VALUE_INT && is_exact(v->i))) {
        json_add_value(out, v);
        return;
    }
    if (v->type == VALUE_FLOAT)
        value_add_float(&text, v->f); /* gives "nan", json_add_text "NaN" */
    else
        json_add_text(&text, v);
    text.n = text.n > TEXT_MAX ? safe_text_whole(buf_text(&text), TEXT_MAX) : text.n;
    if (v->type == VALUE_LIST || v->type == VALUE_MAP) {
        copy = finite_copy(v, a);
        buf_add_str(out, "{\"other\":");
        json_add_value(out, &copy);
        buf_add_str(out, ",\"text\":");
    } else if (v->type != VALUE_STR) {
        buf_add_str(out, "{\"number\":");
    }
    quote_add(out, buf_text(&text), text.n);
    if (v->type != VALUE_STR)
        buf_add_char(out, '}');
    buf_free(&text);
}

/* ---- parameters ---- */

static const char *const kind_names[] = {
    [AXIS_CHOICE] = "choice", [AXIS_WHOLE] = "whole", [AXIS_REAL] = "real"
};

static const struct value *value_at(const struct axis *axis, size_t config)
{
    return axis->places[config] == AXIS_NO_PLACE ? NULL : &axis->choices[axis->places[config]];
}

/* Whether JavaScript would write some value of the axis differently from how it was given. */
static bool needs_texts(const struct axis *axis, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct value *v = value_at(axis, i);

        if (v != NULL && v->type == VALUE_INT && (axis->kind == AXIS_REAL || !is_exact(v->i)))
            return true;
    }
    return false;
}

static void add_choices(struct buf *out, const struct axis *axis, size_t n, struct arena *a)
{
    begin_list(out, "choices");
    for (size_t i = 0; i < axis->n_choices; i++) {
        separate(out, i);
        add_choice(out, &axis->choices[i], a);
    }
    buf_add_char(out, ']');
    begin_list(out, "places");
    for (size_t i = 0; i < n; i++) {
        separate(out, i);
        if (axis->places[i] == AXIS_NO_PLACE)
            buf_add_str(out, "null");
        else
            buf_printf(out, "%zu", axis->places[i]);
    }
    buf_add_char(out, ']');
}

static void add_numbers(struct buf *out, const struct axis *axis, size_t n)
{
    buf_add_str(out, ",\"low\":");
    add_number(out, axis->low);
    buf_add_str(out, ",\"high\":");
    add_number(out, axis->high);
    begin_list(out, "values");
    for (size_t i = 0; i < n; i++) {
        const struct value *v = value_at(axis, i);

        separate(out, i);
        if (v == NULL)
            buf_add_str(out, "null");
        else
            json_add_value(out, v);
    }
    buf_add_char(out, ']');
    if (!needs_texts(axis, n))
        return;
    begin_list(out, "texts");
    for (size_t i = 0; i < n; i++) {
        const struct value *v = value_at(axis, i);
        struct buf text = { 0 };

        separate(out, i);
        if (v != NULL)
            json_add_text(&text, v);
        quote_add(out, buf_text(&text), text.n);
        buf_free(&text);
    }
    buf_add_char(out, ']');
}

static void add_params(struct buf *out, struct gathered *p)
{
    struct aggregate *g = p->aggregate;
    struct list varying = aggregate_varying(g), all = aggregate_params(g);
    const char *const *names = all.items;
    size_t n_varying = 0, n_fixed = 0;
    struct buf fixed = { 0 };

    begin_list(out, "params");
    for (size_t i = 0; i < all.n; i++) {
        struct axis axis;

        if (n_varying < varying.n &&
            strcmp(names[i], ((const char *const *)varying.items)[n_varying]) == 0) {
            axis_of(&axis, g, names[i], p->arena);
            separate(out, n_varying++);
            buf_add_str(out, "\n{\"name\":");
            add_text(out, names[i]);
            buf_printf(out, ",\"kind\":\"%s\",\"log\":%s", kind_names[axis.kind],
                       axis.is_log ? "true" : "false");
            if (axis.kind == AXIS_CHOICE)
                add_choices(out, &axis, g->n, p->arena);
            else
                add_numbers(out, &axis, g->n);
            buf_add_char(out, '}');
            continue;
        }
        separate(&fixed, n_fixed++);
        buf_add_str(&fixed, "{\"name\":");
        add_text(&fixed, names[i]);
        buf_add_str(&fixed, ",\"value\":");
        add_choice(&fixed, value_get(&g->configs[0].params, names[i]), p->arena);
        buf_add_char(&fixed, '}');
    }
    buf_printf(out, "],\"fixed\":[%s]", buf_text(&fixed));
    buf_free(&fixed);
}

/* ---- configurations and measures ---- */

static void add_configs(struct buf *out, const struct aggregate *g)
{
    bool is_first = true;

    buf_add_str(out, ",\n\"configs\":{\"names\":[");
    for (size_t i = 0; i < g->n; i++) {
        separate(out, i);
        add_text(out, g->configs[i].param_name);
    }
    buf_add_char(out, ']');
    begin_list(out, "n");
    for (size_t i = 0; i < g->n; i++)
        buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", g->configs[i].n_done);
    buf_add_char(out, ']');
    begin_list(out, "left");
    for (size_t i = 0; i < g->n; i++)
        buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", g->configs[i].n_left);
    buf_add_char(out, ']');
    begin_list(out, "reasons");
    for (size_t i = 0; i < g->n; i++) {
        separate(out, i);
        add_text(out, g->configs[i].reason);
    }
    buf_add_str(out, "],\"states\":{");
    for (int k = 0; k < JOB_STATE_COUNT; k++) {
        if (!aggregate_counts((enum job_state)k))
            continue;
        buf_printf(out, "%s\"%s\":[", is_first ? "" : ",", job_state_names[k]);
        is_first = false;
        for (size_t i = 0; i < g->n; i++)
            buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", g->configs[i].counts.of[k]);
        buf_add_char(out, ']');
    }
    buf_add_str(out, "}}");
}

/* Adds a list with the double at this offset in each configuration's struct measure; null where a
 * configuration has none. */
static void add_column(struct buf *out, const struct aggregate *g, size_t metric, const char *name,
                       size_t offset)
{
    begin_list(out, name);
    for (size_t i = 0; i < g->n; i++) {
        const struct measure *m = aggregate_measure(&g->configs[i], metric);
        const void *at = m != NULL ? (const char *)m + offset : NULL;

        separate(out, i);
        add_number(out, at != NULL ? *(const double *)at : (double)NAN);
    }
    buf_add_char(out, ']');
}

static void add_measure(struct buf *out, const struct aggregate *g, size_t metric)
{
    buf_add_str(out, "\n{\"n\":[");
    for (size_t i = 0; i < g->n; i++) {
        const struct measure *m = aggregate_measure(&g->configs[i], metric);

        buf_printf(out, "%s%zu", i > 0 ? "," : "", m == NULL ? 0 : m->n);
    }
    buf_add_char(out, ']');
    add_column(out, g, metric, "mean", offsetof(struct measure, last.mean));
    add_column(out, g, metric, "std", offsetof(struct measure, last.std));
    add_column(out, g, metric, "min", offsetof(struct measure, last.min));
    add_column(out, g, metric, "max", offsetof(struct measure, last.max));
    begin_list(out, "live");
    for (size_t i = 0; i < g->n; i++) {
        const struct measure *m = aggregate_live(&g->configs[i], metric);

        separate(out, i);
        add_number(out, m == NULL ? (double)NAN : m->live);
    }
    buf_add_str(out, "]}");
}

static void add_metrics(struct buf *out, const struct gathered *p)
{
    const struct aggregate *g = p->aggregate;

    begin_list(out, "metrics");
    for (size_t i = 0; i < g->n_metrics; i++) {
        separate(out, i);
        buf_add_str(out, "{\"name\":");
        add_text(out, g->metrics[i]);
        buf_printf(out, ",\"goal\":\"%s\"}", goal_names[aggregate_goal(g, i)]);
    }
    buf_add_char(out, ']');
    if (p->ranked_by >= 0)
        buf_printf(out, ",\"ranked_by\":%d", p->ranked_by);
    else
        buf_add_str(out, ",\"ranked_by\":null");
    begin_list(out, "measures");
    for (size_t i = 0; i < g->n_metrics; i++) {
        separate(out, i);
        add_measure(out, g, i);
    }
    buf_add_char(out, ']');
}

static void add_importance(struct buf *out, struct gathered *p)
{
    struct aggregate *g = p->aggregate;

    begin_list(out, "importance");
    for (size_t i = 0; i < g->n_metrics; i++) {
        struct importance found;
        struct err e = { 0 };

        separate(out, i);
        buf_add_char(out, '\n');
        if (i >= IMPORTANCE_METRICS_MAX && (int)i != p->ranked_by)
            err_set(&e, ERR_FAILED, "too many measures to look at each");
        if (e.kind == ERR_NONE && importance_of(&found, g, i, p->arena, &e) == 0) {
            schema_add_json(&importance_schema, &found, out);
            continue;
        }
        buf_add_str(out, "{\"why\":");
        add_text(out, e.text);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

/* ---- jobs and curves ---- */

static void add_job_times(struct buf *out, const struct gathered *p, const char *name,
                          size_t offset)
{
    begin_list(out, name);
    for (size_t i = 0; i < p->n_jobs; i++)
        buf_printf(out, "%s%" PRId64, i > 0 ? "," : "",
                   *(const int64_t *)((const char *)&p->jobs[i] + offset));
    buf_add_char(out, ']');
}

static void add_job_texts(struct buf *out, const struct gathered *p, const char *name,
                          size_t offset)
{
    begin_list(out, name);
    for (size_t i = 0; i < p->n_jobs; i++) {
        separate(out, i);
        add_text(out, *(const char *const *)((const char *)&p->jobs[i] + offset));
    }
    buf_add_char(out, ']');
}

/* As add_job_texts, but adds no list if no job has this text, which is so in most sweeps. */
static void add_rare_job_texts(struct buf *out, const struct gathered *p, const char *name,
                               size_t offset)
{
    size_t i = 0;

    while (i < p->n_jobs && *(const char *const *)((const char *)&p->jobs[i] + offset) == NULL)
        i++;
    if (i < p->n_jobs)
        add_job_texts(out, p, name, offset);
}

static void add_jobs(struct buf *out, const struct gathered *p)
{
    begin_list(out, "states");
    for (int k = 0; k < JOB_STATE_COUNT; k++) {
        separate(out, (size_t)k);
        add_text(out, job_state_names[k]);
    }
    buf_printf(out, "],\"done\":%d,\n\"jobs\":{\"configs\":[", JOB_DONE);
    for (size_t i = 0; i < p->n_jobs; i++)
        buf_printf(out, "%s%zu", i > 0 ? "," : "", p->jobs[i].config);
    buf_add_char(out, ']');
    begin_list(out, "states");
    for (size_t i = 0; i < p->n_jobs; i++)
        buf_printf(out, "%s%d", i > 0 ? "," : "", p->jobs[i].result.state);
    buf_add_char(out, ']');
    add_job_times(out, p, "reps", offsetof(struct gathered_job, result.rep));
    add_job_texts(out, p, "names", offsetof(struct gathered_job, result.job));
    add_job_texts(out, p, "reasons", offsetof(struct gathered_job, result.reason));
    add_job_texts(out, p, "nodes", offsetof(struct gathered_job, node));
    add_job_times(out, p, "started", offsetof(struct gathered_job, started_at));
    add_job_times(out, p, "ended", offsetof(struct gathered_job, ended_at));
    add_rare_job_texts(out, p, "gpu_ids", offsetof(struct gathered_job, gpu_ids));
    add_rare_job_texts(out, p, "resumed", offsetof(struct gathered_job, resumed));
    buf_add_char(out, '}');
}

static bool has_same_steps(const struct curve *x, const struct curve *y)
{
    if (x == NULL || x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++) {
        double p = x->points[i].step, q = y->points[i].step;

        if (isnan(p) != isnan(q) || (!isnan(p) && p != q))
            return false;
    }
    return true;
}

/* Adds a number with seven digits, which is more precise than a picture can show. */
static void add_short_number(struct buf *out, double x)
{
    if (isfinite(x))
        buf_printf(out, "%.7g", x);
    else
        buf_add_str(out, "null");
}

/* Adds a series; leaves its steps out if they equal the steps of the series before (NULL: none). */
static void add_curve(struct buf *out, const struct curve *c, const struct curve *before)
{
    buf_printf(out, "{\"job\":%zu", c->job);
    if (!has_same_steps(before, c)) {
        begin_list(out, "steps");
        for (size_t i = 0; i < c->n; i++) {
            separate(out, i);
            add_number(out, c->points[i].step);
        }
        buf_add_char(out, ']');
    }
    begin_list(out, "values");
    for (size_t i = 0; i < c->n; i++) {
        separate(out, i);
        add_short_number(out, c->points[i].value);
    }
    buf_add_str(out, "]}");
}

static void add_curves(struct buf *out, const struct gathered *p)
{
    const struct curves *c = &p->curves;
    bool is_first = true;

    begin_list(out, "curves");
    for (size_t metric = 0; metric < p->aggregate->n_metrics; metric++) {
        const struct curve *before = NULL;

        for (size_t i = 0; i < c->n; i++) {
            if (c->items[i].metric != metric)
                continue;
            if (before == NULL)
                buf_printf(out, "%s\n{\"metric\":%zu,\"jobs\":[", is_first ? "" : ",", metric);
            else
                buf_add_char(out, ',');
            add_curve(out, &c->items[i], before);
            before = &c->items[i];
            is_first = false;
        }
        if (before != NULL)
            buf_add_str(out, "]}");
    }
    buf_add_char(out, ']');
}

static void add_triage(struct buf *out, const struct gathered *p)
{
    const struct triage_group *groups = p->causes.items;

    if (p->triage == NULL)
        return;
    buf_printf(out, ",\n\"triage\":{\"jobs\":%" PRId64 ",\"causes\":[", triage_jobs(p->triage));
    for (size_t i = 0; i < p->causes.n && i < TRIAGE_GROUPS_MAX; i++) {
        separate(out, i);
        schema_add_json(&triage_group_schema, &groups[i], out);
    }
    buf_add_str(out, "]}");
}

/* ---- nodes ---- */

static void add_structs(struct buf *out, const char *name, const struct schema *s,
                        const struct list *items)
{
    begin_list(out, name);
    for (size_t i = 0; i < items->n; i++) {
        separate(out, i);
        schema_add_json(s, (const char *)items->items + i * s->size, out);
    }
    buf_add_char(out, ']');
}

void page_add_nodes(struct buf *out, const struct msg_node_page *nodes)
{
    add_structs(out, "nodes", &node_info_schema, &nodes->nodes);
    add_structs(out, "pools", &pool_trouble_schema, &nodes->pools);
    add_structs(out, "pilots", &pilots_waiting_schema, &nodes->pilots);
}

/* ---- all ---- */

/* Adds the JSON with < > & escaped; JSON has these characters only inside strings. */
static void add_escaped(struct buf *out, const struct buf *json)
{
    for (size_t i = 0; i < json->n; i++) {
        char c = (char)json->bytes[i];

        if (c == '<' || c == '>' || c == '&')
            buf_printf(out, "\\u%04x", (unsigned)c);
        else
            buf_add_char(out, c);
    }
}

void page_add_data(struct buf *out, struct gathered *p)
{
    const struct sweep_info *sweeps = p->sweeps.items;
    const char *const *notes = p->notes.items;
    struct buf json = { 0 };

    buf_add_str(&json, "{\"v\":1,\"ludwig\":");
    add_text(&json, LUDWIG_VERSION);
    buf_add_str(&json, ",\"made_at\":\"");
    units_add_time_utc(&json, units_now_ms());
    buf_add_str(&json, "\",\"project\":");
    add_text(&json, sweeps[0].project != NULL ? sweeps[0].project : "");
    begin_list(&json, "notes");
    for (size_t i = 0; i < p->notes.n; i++) {
        separate(&json, i);
        add_text(&json, notes[i]);
    }
    buf_add_char(&json, ']');
    begin_list(&json, "sweeps");
    for (size_t i = 0; i < p->sweeps.n; i++) {
        separate(&json, i);
        schema_add_json(&sweep_info_schema, &sweeps[i], &json);
    }
    buf_add_char(&json, ']');
    add_metrics(&json, p);
    add_configs(&json, p->aggregate);
    add_params(&json, p);
    add_importance(&json, p);
    add_jobs(&json, p);
    add_curves(&json, p);
    add_triage(&json, p);
    if (p->nodes != NULL)
        page_add_nodes(&json, p->nodes);
    buf_add_str(&json, "}\n");
    add_escaped(out, &json);
    buf_free(&json);
}
