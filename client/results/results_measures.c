/* SPDX-License-Identifier: MIT */
/* results_measures.c - which measures of a sweep are shown, and which one ranks */
#include <stdlib.h>
#include <string.h>

#include "client/results/results_measures.h"
#include "common/base/suggest.h"

enum { NAMES_MAX = 20 }; /* in a message */

/* ---- which ranks, and whether large is good ---- */

int measures_refuse(const struct aggregate *g, enum err_kind kind, const char *option,
                    const char *name, struct err *e)
{
    struct suggest nearest = { .word = name };
    struct buf others = { 0 }; /* "; there are accuracy, loss" */

    buf_add_str(&others, g->n_metrics == 0   ? "; no job has reported a measure"
                         : g->n_metrics == 1 ? "; there is "
                                             : "; there are ");
    for (size_t i = 0; i < g->n_metrics; i++) {
        suggest_try(&nearest, g->metrics[i]);
        if (i < NAMES_MAX)
            buf_printf(&others, "%s%s", i > 0 ? ", " : "", g->metrics[i]);
    }
    if (g->n_metrics > NAMES_MAX)
        buf_printf(&others, " and %zu more", g->n_metrics - NAMES_MAX);
    if (nearest.best != NULL)
        err_set(e, kind, "--%s: no job reported '%s' (did you mean '%s'?)%s", option, name,
                nearest.best, buf_text(&others));
    else
        err_set(e, kind, "--%s: no job reported '%s'%s", option, name, buf_text(&others));
    buf_free(&others);
    return -1;
}

/* The index of a measure that some job reported. */
static int find_metric(const struct aggregate *g, const char *option, const char *name,
                       struct err *e)
{
    int found = aggregate_find_metric(g, name);

    return found >= 0 ? found : measures_refuse(g, ERR_USAGE, option, name, e);
}

int measures_rank(struct aggregate *g, const struct measures_said *said,
                  const struct ranking *results, struct arena *a, int *ranked_by, struct err *e)
{
    *ranked_by = -1;
    if (said->sort != NULL) {
        *ranked_by = find_metric(g, "sort", said->sort, e);
        if (*ranked_by < 0)
            return -1;
    } else if (results->metric != NULL) {
        *ranked_by = aggregate_find_metric(g, results->metric);
    }
    if (*ranked_by < 0 && said->shown.n > 0) {
        const char *first = *(const char *const *)said->shown.items; /* "accuracy,loss" */

        *ranked_by = aggregate_find_metric(g, arena_strndup(a, first, strcspn(first, ",")));
    }
    if (*ranked_by < 0)
        *ranked_by = aggregate_main_metric(g);
    if (said->goal == NULL) {
        if (results->metric != NULL)
            aggregate_set_goal(g, results->metric, (enum goal)results->goal);
        return 0;
    }
    /* --goal is about the measure that ranks. */
    for (int i = 0; i < GOAL_COUNT; i++)
        if (strcmp(goal_names[i], said->goal) == 0) {
            if (*ranked_by < 0)
                return err_set(e, ERR_USAGE, "--goal: of which measure? (--sort names it)");
            aggregate_set_goal(g, g->metrics[*ranked_by], (enum goal)i);
            return 0;
        }
    return err_set(e, ERR_USAGE, "--goal takes max or min, not '%s'", said->goal);
}

/* ---- which are shown ---- */

static void show_metric(struct results_view *v, size_t metric)
{
    for (size_t i = 0; i < v->n_metrics; i++)
        if (v->metrics[i] == metric)
            return;
    v->metrics[v->n_metrics++] = metric;
}

/* "accuracy,loss" */
static int show_named(struct results_view *v, const char *names, struct arena *a, struct err *e)
{
    while (*names != '\0') {
        size_t n = strcspn(names, ",");
        int found = n == 0 ? 0 : find_metric(v->aggregate, "metric", arena_strndup(a, names, n), e);

        if (found < 0)
            return -1;
        if (n > 0)
            show_metric(v, (size_t)found);
        names += n + (names[n] == ',');
    }
    return 0;
}

/* The one that ranks comes first, as a narrow terminal may have room for that one alone. */
int measures_choose(struct results_view *v, const struct measures_said *said, struct arena *a,
                    struct err *e)
{
    const char *const *shown = said->shown.items;

    v->metrics = arena_alloc(a, v->aggregate->n_metrics * sizeof *v->metrics);
    v->in_detail = said->shown.n > 0;
    for (size_t i = 0; i < said->shown.n; i++)
        if (show_named(v, shown[i], a, e) < 0)
            return -1;
    if (v->in_detail)
        return 0;
    if (v->ranked_by >= 0)
        show_metric(v, (size_t)v->ranked_by);
    for (size_t i = 0; i < v->aggregate->n_metrics; i++)
        show_metric(v, i);
    return 0;
}
