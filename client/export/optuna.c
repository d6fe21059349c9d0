/* SPDX-License-Identifier: MIT */
/* optuna.c - writes a sweep as a study of Optuna: results --optuna */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/export/optuna.h"
#include "client/importance/axis.h"
#include "client/term/output.h"
#include "common/base/io.h"
#include "common/base/quote.h"
#include "common/base/units.h"
#include "common/data/json.h"

/* From optuna/storages/journal/_storage.py, study/_study_direction.py and trial/_state.py. */
enum operation {
    CREATE_STUDY = 0,
    SET_STUDY_USER_ATTR = 2,
    SET_STUDY_SYSTEM_ATTR = 3,
    CREATE_TRIAL = 4
};
enum direction { MINIMIZE = 1, MAXIMIZE = 2 };
enum trial_state {
    TRIAL_RUNNING = 0,
    TRIAL_COMPLETE = 1,
    TRIAL_PRUNED = 2,
    TRIAL_FAIL = 3,
    TRIAL_WAITING = 4
};

static void add_text(struct buf *out, const char *text)
{
    quote_add(out, text, strlen(text));
}

static void begin_line(struct buf *out, enum operation operation)
{
    buf_printf(out, "{\"op_code\":%d,\"worker_id\":\"ludwig\"", (int)operation);
}

/* Adds a time in UTC, which Optuna takes as a local time. */
static void add_time(struct buf *out, const char *name, int64_t at_ms)
{
    struct buf text = { 0 };

    units_add_time_utc(&text, at_ms);
    if (at_ms > 0)
        buf_printf(out, ",\"%s\":\"%.*s\"", name, (int)text.n - 1, buf_text(&text));
    else
        buf_printf(out, ",\"%s\":null", name);
    buf_free(&text);
}

/* ---- parameters ---- */

/* Adds a choice; other values than texts, numbers, booleans and None, Optuna's, become texts. */
static void add_choice(struct buf *out, const struct value *v)
{
    struct buf text = { 0 };

    if (v->type != VALUE_LIST && v->type != VALUE_MAP && v->type != VALUE_BIN) {
        json_add_value(out, v);
        return;
    }
    json_add_value(&text, v);
    quote_add(out, buf_text(&text), text.n);
    buf_free(&text);
}

static void add_distribution(struct buf *out, const struct axis *axis)
{
    struct buf text = { 0 };

    if (axis->kind == AXIS_CHOICE) {
        buf_add_str(&text,
                    "{\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": [");
        for (size_t i = 0; i < axis->n_choices; i++) {
            buf_add_str(&text, i > 0 ? ", " : "");
            add_choice(&text, &axis->choices[i]);
        }
        buf_add_str(&text, "]}}");
    } else {
        const struct value *low = &axis->choices[0], *high = &axis->choices[axis->n_choices - 1];

        buf_printf(&text,
                   "{\"name\": \"%s\", \"attributes\": {\"log\": %s, \"step\": %s, \"low\": ",
                   axis->kind == AXIS_WHOLE ? "IntDistribution" : "FloatDistribution",
                   axis->is_log ? "true" : "false", axis->kind == AXIS_WHOLE ? "1" : "null");
        json_add_value(&text, low);
        buf_add_str(&text, ", \"high\": ");
        json_add_value(&text, high);
        buf_add_str(&text, "}}");
    }
    quote_add(out, buf_text(&text), text.n);
    buf_free(&text);
}

/* Adds the configuration's parameters; a choice stands as its index. */
static void add_params(struct buf *out, const struct axis *axes, size_t n, size_t config)
{
    bool is_first = true;

    buf_add_str(out, ",\"distributions\":{");
    for (size_t i = 0; i < n; i++) {
        if (axes[i].places[config] == AXIS_NO_PLACE)
            continue;
        buf_add_str(out, is_first ? "" : ",");
        add_text(out, axes[i].name);
        buf_add_char(out, ':');
        add_distribution(out, &axes[i]);
        is_first = false;
    }
    buf_add_str(out, "},\"params\":{");
    is_first = true;
    for (size_t i = 0; i < n; i++) {
        size_t place = axes[i].places[config];

        if (place == AXIS_NO_PLACE)
            continue;
        buf_add_str(out, is_first ? "" : ",");
        add_text(out, axes[i].name);
        buf_add_char(out, ':');
        if (axes[i].kind == AXIS_CHOICE)
            buf_printf(out, "%zu", place);
        else
            json_add_value(out, &axes[i].choices[place]);
        is_first = false;
    }
    buf_add_char(out, '}');
}

/* ---- trials ---- */

static enum trial_state state_of(const struct config_result *c, const struct measure *m)
{
    if (m != NULL && isfinite(m->last.mean))
        return TRIAL_COMPLETE;
    if (c->n_left == 0)
        return c->counts.stopped > 0 ? TRIAL_PRUNED : TRIAL_FAIL;
    return c->n_left > c->counts.queued + c->counts.held ? TRIAL_RUNNING : TRIAL_WAITING;
}

static void add_user_attrs(struct buf *out, const struct gathered *g, size_t config)
{
    const struct config_result *c = &g->aggregate->configs[config];

    buf_add_str(out, ",\"user_attrs\":{\"configuration\":");
    add_text(out, c->param_name);
    buf_printf(out, ",\"done\":%" PRId64 ",\"jobs\":\"", c->n_done);
    for (size_t i = 0; i < c->n_jobs; i++)
        buf_printf(out, "%s%s", i > 0 ? " " : "", c->jobs[i].job);
    buf_add_char(out, '"');
    for (size_t i = 0; i < g->aggregate->n_metrics; i++) {
        const struct measure *m = aggregate_measure(c, i);
        struct value mean = value_float(m != NULL ? m->last.mean : (double)NAN);

        if (m == NULL || !isfinite(mean.f))
            continue;
        buf_add_char(out, ',');
        add_text(out, g->aggregate->metrics[i]);
        buf_add_char(out, ':');
        json_add_value(out, &mean);
        if (!isfinite(m->last.std))
            continue;
        mean.f = m->last.std;
        buf_add_char(out, ',');
        add_text(out, arena_printf(g->arena, "%s (std)", g->aggregate->metrics[i]));
        buf_add_char(out, ':');
        json_add_value(out, &mean);
    }
    buf_add_char(out, '}');
}

/* Adds the means at whole steps, as Optuna has no others. */
static void add_series(struct buf *out, const struct gathered *g, size_t config)
{
    const struct list curve = gather_mean_curve(g, config, (size_t)g->ranked_by, g->arena);
    const struct mean_point *points = curve.items;
    bool is_first = true;

    buf_add_str(out, ",\"intermediate_values\":{");
    for (size_t i = 0; i < curve.n; i++) {
        struct value mean = value_float(points[i].mean);

        if (!isfinite(mean.f) || fabs(points[i].step) > 1e15 ||
            points[i].step > floor(points[i].step))
            continue;
        buf_printf(out, "%s\"%" PRId64 "\":", is_first ? "" : ",", (int64_t)points[i].step);
        json_add_value(out, &mean);
        is_first = false;
    }
    buf_add_char(out, '}');
}

/* Adds the start of its first job (unknown: the sweep's submission) and the end of its last one. */
static void add_times(struct buf *out, const struct gathered *g, size_t config,
                      enum trial_state state)
{
    const int64_t submitted_at = ((const struct sweep_info *)g->sweeps.items)->submitted_at;
    int64_t started_at = 0, ended_at = 0;

    for (size_t i = 0; i < g->n_jobs; i++) {
        const struct gathered_job *j = &g->jobs[i];

        if (j->config != config)
            continue;
        if (j->started_at > 0 && (started_at == 0 || j->started_at < started_at))
            started_at = j->started_at;
        ended_at = j->ended_at > ended_at ? j->ended_at : ended_at;
    }
    started_at = started_at > 0 ? started_at : submitted_at;
    add_time(out, "datetime_start", started_at);
    if (state == TRIAL_COMPLETE || state == TRIAL_PRUNED || state == TRIAL_FAIL)
        add_time(out, "datetime_complete", ended_at > started_at ? ended_at : started_at);
}

static void add_trial(struct buf *out, const struct gathered *g, const struct axis *axes, size_t n,
                      size_t config)
{
    const struct config_result *c = &g->aggregate->configs[config];
    const struct measure *m = aggregate_measure(c, (size_t)g->ranked_by);
    enum trial_state state = state_of(c, m);

    begin_line(out, CREATE_TRIAL);
    buf_printf(out, ",\"study_id\":0,\"state\":%d", (int)state);
    if (state == TRIAL_COMPLETE) {
        const struct value mean = value_float(m->last.mean);

        buf_add_str(out, ",\"value\":");
        json_add_value(out, &mean);
    } else {
        buf_add_str(out, ",\"value\":null");
    }
    buf_add_str(out, ",\"values\":null");
    add_times(out, g, config, state);
    add_params(out, axes, n, config);
    add_user_attrs(out, g, config);
    buf_add_str(out, ",\"system_attrs\":{}");
    add_series(out, g, config);
    buf_add_str(out, "}\n");
}

/* ---- the study ---- */

static void add_study(struct buf *out, struct gathered *g)
{
    const struct sweep_info *sweeps = g->sweeps.items;
    const char *metric = g->aggregate->metrics[g->ranked_by];
    enum goal goal = aggregate_goal(g->aggregate, (size_t)g->ranked_by);
    struct buf name = { 0 };

    buf_printf(&name, "%s, sweep %" PRId64, sweeps->project != NULL ? sweeps->project : "ludwig",
               sweeps->sweep);
    begin_line(out, CREATE_STUDY);
    buf_add_str(out, ",\"study_name\":");
    add_text(out, buf_text(&name));
    buf_printf(out, ",\"directions\":[%d]}\n", goal == GOAL_MIN ? MINIMIZE : MAXIMIZE);
    begin_line(out, SET_STUDY_SYSTEM_ATTR);
    buf_add_str(out, ",\"study_id\":0,\"system_attr\":{\"study:metric_names\":[");
    add_text(out, metric);
    buf_add_str(out, "]}}\n");
    buf_free(&name);
}

/* Adds the parameters that are the same for all configurations. */
static void add_fixed(struct buf *out, struct gathered *g, const struct list *varying)
{
    const struct list all = aggregate_params(g->aggregate);
    const char *const *names = all.items;
    size_t at = 0;

    for (size_t i = 0; i < all.n; i++) {
        if (at < varying->n && names[i] == ((const char *const *)varying->items)[at]) {
            at++;
            continue;
        }
        begin_line(out, SET_STUDY_USER_ATTR);
        buf_add_str(out, ",\"study_id\":0,\"user_attr\":{");
        add_text(out, names[i]);
        buf_add_char(out, ':');
        json_add_value(out, value_get(&g->aggregate->configs[0].params, names[i]));
        buf_add_str(out, "}}\n");
    }
}

void optuna_add(struct buf *out, struct gathered *g)
{
    const struct list varying = aggregate_varying(g->aggregate);
    struct axis *axes = arena_alloc(g->arena, (varying.n + 1) * sizeof *axes);

    for (size_t i = 0; i < varying.n; i++)
        axis_of(&axes[i], g->aggregate, ((const char *const *)varying.items)[i], g->arena);
    add_study(out, g);
    add_fixed(out, g, &varying);
    for (size_t i = 0; i < g->aggregate->n; i++)
        add_trial(out, g, axes, varying.n, i);
}

int optuna_write(struct gathered *g, const char *path, struct err *e)
{
    struct buf out = { 0 };
    int result;

    if (g->ranked_by < 0)
        return err_set(e, ERR_USAGE,
                       "--optuna: which measure is a trial's value? (--sort names it)");
    optuna_add(&out, g);
    if (strcmp(path, "-") == 0)
        return output_write(&out, e);
    result = io_replace_file(path, buf_text(&out), out.n, 0644, e);
    if (result == 0)
        output_note("%s: %zu trial%s by %s; look at them with: optuna-dashboard %s", path,
                    g->aggregate->n, g->aggregate->n == 1 ? "" : "s",
                    g->aggregate->metrics[g->ranked_by], path);
    buf_free(&out);
    return result;
}
