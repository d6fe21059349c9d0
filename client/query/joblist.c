/* SPDX-License-Identifier: MIT */
/* joblist.c - keeps jobs in memory, sorts them and writes them as CSV */
#include "client/query/joblist.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/term/csv.h"
#include "common/base/suggest.h"

static const char *keep_text(struct arena *a, const char *text)
{
    return text != NULL ? arena_strdup(a, text) : NULL;
}

void joblist_add(struct joblist *l, const struct job_info *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct job_info *j;

        mem_grow((void **)&l->jobs, &l->capacity, l->n, sizeof *l->jobs);
        j = &l->jobs[l->n++];
        *j = jobs[i];
        j->job = keep_text(l->arena, j->job);
        j->param_name = keep_text(l->arena, j->param_name);
        j->job_name = keep_text(l->arena, j->job_name);
        j->node = keep_text(l->arena, j->node);
        j->partition = keep_text(l->arena, j->partition);
        j->cause = keep_text(l->arena, j->cause);
        j->reason = keep_text(l->arena, j->reason);
        j->run_path = keep_text(l->arena, j->run_path);
        j->log_path = keep_text(l->arena, j->log_path);
        j->follows = keep_text(l->arena, j->follows);
        j->metrics_path = keep_text(l->arena, j->metrics_path);
        j->params = value_copy(l->arena, &j->params);
    }
}

void joblist_free(struct joblist *l)
{
    free(l->jobs);
}

/* ---- sorting ---- */

struct sorted {
    struct job_info *job;
    struct value key;
    size_t place; /* the job's place before sorting */
    int sign;     /* -1: the largest first */
};

struct value joblist_value(struct jobinfo_row *row, const struct job_info *j, const char *name)
{
    const struct value *param = value_get(&j->params, name);

    if (strcmp(name, "seconds") == 0)
        return j->started_at == 0 || j->ended_at == 0
                   ? value_null()
                   : value_float((double)(j->ended_at - j->started_at) / 1000);
    jobinfo_fill_row(row, j);
    for (size_t i = 0; i < row->row.n_fields; i++)
        if (strcmp(row->fields[i].key.str.s, name) == 0)
            return row->fields[i].value;
    return param != NULL ? *param : value_null();
}

/* The value to sort by; for "job" its place, as jobs come in the order of their numbers. */
static struct value key_of(const struct job_info *j, size_t place, const char *name)
{
    struct jobinfo_row row;

    return strcmp(name, "job") == 0 ? value_int((int64_t)place) : joblist_value(&row, j, name);
}

static bool is_number(const struct value *v)
{
    return v->type == VALUE_INT || v->type == VALUE_FLOAT;
}

static double number_of(const struct value *v)
{
    return v->type == VALUE_INT ? (double)v->i : v->f;
}

/* Numbers come before texts. */
static int compare_keys(const struct value *x, const struct value *y)
{
    double a, b;

    if (is_number(x) != is_number(y))
        return is_number(x) ? -1 : 1;
    if (!is_number(x))
        return x->type == VALUE_STR && y->type == VALUE_STR ? strcmp(x->str.s, y->str.s) : 0;
    a = number_of(x);
    b = number_of(y);
    return (a > b) - (a < b);
}

static int compare(const void *x, const void *y)
{
    const struct sorted *a = x, *b = y;
    bool a_has = a->key.type != VALUE_NULL, b_has = b->key.type != VALUE_NULL;
    int order = a_has != b_has ? (a_has ? -1 : 1) : a->sign * compare_keys(&a->key, &b->key);

    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

int joblist_sort(struct joblist *l, const char *name, struct err *e)
{
    int sign = name[0] == '-' ? -1 : 1;
    struct sorted *all = mem_resize(NULL, l->n, sizeof *all);
    struct job_info *jobs = mem_resize(NULL, l->n, sizeof *jobs);
    bool is_known = l->n == 0;

    name += name[0] == '-';
    for (size_t i = 0; i < l->n; i++) {
        all[i] = (struct sorted){ &l->jobs[i], key_of(&l->jobs[i], i, name), i, sign };
        is_known = is_known || all[i].key.type != VALUE_NULL;
    }
    if (is_known && l->n > 0)
        qsort(all, l->n, sizeof *all, compare);
    for (size_t i = 0; i < l->n; i++)
        jobs[i] = *all[i].job;
    free(all);
    free(l->jobs);
    l->jobs = jobs;
    l->capacity = l->n;
    return is_known ? 0 : err_set(e, ERR_USAGE, "--sort: no job has a '%s'", name);
}

/* ---- chosen columns ---- */

int joblist_check_columns(const struct joblist *l, const struct list *names, struct err *e)
{
    static const struct job_info none = { .job = "" };
    struct jobinfo_row row;

    jobinfo_fill_row(&row, &none);
    for (size_t i = 0; i < names->n; i++) {
        const char *name = ((const char *const *)names->items)[i];
        struct suggest nearest = { .word = name };
        bool is_known = strcmp(name, "seconds") == 0;

        suggest_try(&nearest, "seconds");
        for (size_t k = 0; k < row.row.n_fields && !is_known; k++) {
            suggest_try(&nearest, row.fields[k].key.str.s);
            is_known = strcmp(row.fields[k].key.str.s, name) == 0;
        }
        for (size_t k = 0; k < l->n && !is_known; k++)
            is_known = value_get(&l->jobs[k].params, name) != NULL;
        if (!is_known && nearest.best != NULL)
            return err_set(e, ERR_USAGE, "--columns: no job has a '%s' (did you mean '%s'?)", name,
                           nearest.best);
        if (!is_known)
            return err_set(e, ERR_USAGE, "--columns: no job has a '%s'", name);
    }
    return 0;
}

void joblist_add_columns(struct buf *out, const struct joblist *l, const struct list *names)
{
    const char *const *items = names->items;
    struct jobinfo_row row;

    for (size_t i = 0; i < names->n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        csv_add(out, items[i]);
    }
    buf_add_char(out, '\n');
    for (size_t k = 0; k < l->n; k++) {
        for (size_t i = 0; i < names->n; i++) {
            struct value v = joblist_value(&row, &l->jobs[k], items[i]);
            struct buf cell = { 0 };

            csv_next_value(&cell, v.type != VALUE_NULL ? &v : NULL);
            buf_add_str(out, buf_text(&cell) + (i == 0)); /* the cell begins with a comma */
            buf_free(&cell);
        }
        buf_add_char(out, '\n');
    }
}

/* ---- CSV ---- */

static struct list list_params(struct joblist *l)
{
    const char **names = NULL;
    size_t n = 0, capacity = 0;

    for (size_t i = 0; i < l->n; i++) {
        const struct value *params = &l->jobs[i].params;

        for (size_t k = 0; params->type == VALUE_MAP && k < params->map.n; k++) {
            const char *name = params->map.members[k].key.str.s;
            size_t at = 0;

            while (at < n && strcmp(names[at], name) != 0)
                at++;
            if (at < n)
                continue;
            mem_grow((void **)&names, &capacity, n, sizeof *names);
            names[n++] = name;
        }
    }
    return (struct list){ names, n };
}

static void add_row(struct buf *out, const struct job_info *j, const struct list *params,
                    int64_t now_ms)
{
    const char *const *names = params->items;
    int64_t end_ms = j->ended_at != 0 ? j->ended_at : now_ms;

    csv_add(out, j->job);
    csv_next(out, job_state_names[j->state]);
    buf_printf(out, ",%" PRId64 ",%" PRId64, j->rep, j->attempt);
    csv_next(out, j->node != NULL ? j->node : "");
    buf_add_char(out, ',');
    if (j->started_at != 0 && end_ms >= j->started_at)
        buf_printf(out, "%.3f", (double)(end_ms - j->started_at) / 1000);
    csv_next(out, j->param_name != NULL ? j->param_name : "");
    for (size_t i = 0; i < params->n; i++)
        csv_next_value(out, value_get(&j->params, names[i]));
    buf_add_char(out, ',');
    if (j->exit_code != SCHEMA_NONE)
        buf_printf(out, "%" PRId64, j->exit_code);
    csv_next(out, j->reason != NULL ? j->reason : "");
    buf_add_char(out, '\n');
}

void joblist_add_csv(struct buf *out, struct joblist *l, int64_t now_ms)
{
    struct list params = list_params(l);
    const char *const *names = params.items;

    buf_add_str(out, "job,state,rep,attempt,node,seconds,param_name");
    for (size_t i = 0; i < params.n; i++)
        csv_next_param(out, names[i]);
    buf_add_str(out, ",exit_code,reason\n");
    for (size_t i = 0; i < l->n; i++)
        add_row(out, &l->jobs[i], &params, now_ms);
    free(params.items);
}
