/* SPDX-License-Identifier: MIT */
/* where.c - whether a row is what --where asks for */
#include <math.h>
#include <string.h>

#include "client/query/where_tree.h"
#include "common/base/suggest.h"
#include "common/data/json.h"

/* Rows whose names are kept for "did you mean". */
enum { ROWS_LEARNED_MAX = 1000, NAMES_LEARNED_MAX = 500 };

/* ---- what a name stands for in a row ---- */

static const struct value *find_field(const struct where_row *row, const char *name)
{
    for (size_t i = 0; i < row->n_fields; i++)
        if (strcmp(row->fields[i].key.str.s, name) == 0)
            return &row->fields[i].value;
    return NULL;
}

static const struct value *find_key(const struct value *map, const char *key, size_t n)
{
    for (size_t i = 0; i < map->map.n; i++) {
        const struct value *k = &map->map.members[i].key;

        if (k->str.n == n && memcmp(k->str.s, key, n) == 0)
            return &map->map.members[i].value;
    }
    return NULL;
}

/* A key may have dots in it, so the longest one that is there counts. */
static const struct value *find_path(const struct value *map, const char *path)
{
    while (map != NULL && map->type == VALUE_MAP) {
        size_t n = strlen(path);
        const struct value *found = find_key(map, path, n);

        if (found != NULL)
            return found;
        while (found == NULL && n > 0)
            if (path[--n] == '.')
                found = find_key(map, path, n);
        map = found;
        path += n + 1;
    }
    return NULL;
}

static const struct value *find_value(const struct where_row *row, const char *name)
{
    static const char prefix[] = "params.";
    const struct value *found = find_field(row, name);

    if (found == NULL && strncmp(name, prefix, strlen(prefix)) == 0)
        found = find_path(row->params, name + strlen(prefix));
    return found != NULL ? found : find_path(row->params, name);
}

static bool is_shadowing(const struct where_row *row, const char *name)
{
    return row->params != NULL && row->params->type == VALUE_MAP && find_field(row, name) != NULL &&
           find_key(row->params, name, strlen(name)) != NULL;
}

/* ---- names that were seen ---- */

static void learn(struct where *w, const struct value *key)
{
    for (size_t i = 0; i < w->n_learned; i++)
        if (strcmp(w->learned[i], key->str.s) == 0)
            return;
    if (w->learned == NULL)
        w->learned = arena_alloc(w->arena, NAMES_LEARNED_MAX * sizeof *w->learned);
    if (w->n_learned < NAMES_LEARNED_MAX)
        w->learned[w->n_learned++] = arena_strdup(w->arena, key->str.s);
}

static void learn_names(struct where *w, const struct where_row *row)
{
    for (size_t i = 0; i < row->n_fields; i++)
        learn(w, &row->fields[i].key);
    for (size_t i = 0;
         row->params != NULL && row->params->type == VALUE_MAP && i < row->params->map.n; i++)
        learn(w, &row->params->map.members[i].key);
}

bool where_knows_names(const struct where *w)
{
    for (size_t i = 0; w->n_rows > 0 && i < w->n_names; i++)
        if (!w->names[i].is_seen)
            return false;
    return true;
}

int where_check_names(const struct where *w, struct err *e)
{
    for (size_t i = 0; w->n_rows > 0 && i < w->n_names; i++) {
        struct suggest nearest = { .word = w->names[i].text };

        if (w->names[i].is_seen)
            continue;
        for (size_t k = 0; k < w->n_learned; k++)
            suggest_try(&nearest, w->learned[k]);
        if (nearest.best != NULL)
            return err_set(e, ERR_USAGE, "--where: no job has '%s' (did you mean '%s'?)",
                           w->names[i].text, nearest.best);
        return err_set(e, ERR_USAGE, "--where: no job has '%s'", w->names[i].text);
    }
    return 0;
}

const char *where_shadowing(const struct where *w)
{
    for (size_t i = 0; i < w->n_names; i++)
        if (w->names[i].is_shadowing)
            return w->names[i].text;
    return NULL;
}

/* ---- values that a name can have ---- */

static int refuse_value(const struct where_values *known, const char *text, struct err *e)
{
    struct suggest nearest = { .word = text };

    if (known->mistaken != NULL && strcmp(text, known->mistaken) == 0)
        return err_set(e, ERR_USAGE, "--where: %s", known->hint);
    for (size_t i = 0; i < known->n; i++)
        suggest_try(&nearest, known->values[i]);
    if (nearest.best != NULL)
        return err_set(e, ERR_USAGE, "--where: %s is never '%s' (did you mean '%s'?)", known->name,
                       text, nearest.best);
    return err_set(e, ERR_USAGE, "--where: %s is never '%s'", known->name, text);
}

static int check_value(const struct where_values *known, const struct where_literal *literal,
                       struct err *e)
{
    const char *text = (const char *)literal->text.data;

    if (literal->value.type == VALUE_NULL)
        return 0;
    for (size_t i = 0; i < known->n; i++)
        if (strcmp(text, known->values[i]) == 0 &&
            (known->mistaken == NULL || strcmp(text, known->mistaken) != 0))
            return 0;
    return refuse_value(known, text, e);
}

static int check_test(const struct where *w, const struct where_test *t,
                      const struct where_values *known, struct err *e)
{
    bool is_exact = t->op == WHERE_EQUAL || t->op == WHERE_DIFFERENT || t->op == WHERE_IN ||
                    t->op == WHERE_NOT_IN;
    int result = 0;

    if (!is_exact || strcmp(w->names[t->name].text, known->name) != 0)
        return 0;
    for (size_t i = 0; result == 0 && i < t->n; i++)
        result = check_value(known, &t->literals[i], e);
    return result;
}

static int check_node(const struct where *w, const struct where_node *node,
                      const struct where_values *known, struct err *e)
{
    int result = 0;

    if (node->type == WHERE_TEST)
        return check_test(w, &node->test, known, e);
    for (const struct where_node *part = node->parts; result == 0 && part != NULL;
         part = part->next)
        result = check_node(w, part, known, e);
    return result;
}

int where_check_values(const struct where *w, const struct where_values *known, struct err *e)
{
    return check_node(w, w->root, known, e);
}

/* ---- a row ---- */

static void look_up(struct where *w, const struct where_row *row)
{
    for (size_t i = 0; i < w->n_names; i++) {
        struct where_name *name = &w->names[i];

        name->value = find_value(row, name->text);
        name->is_seen |= name->value != NULL;
        name->is_shadowing |= is_shadowing(row, name->text);
    }
    if (w->n_rows++ < ROWS_LEARNED_MAX && !where_knows_names(w))
        learn_names(w, row);
}

/* ---- comparing ---- */

enum order { LESS = -1, SAME, GREATER, NO_ORDER };

static enum order order_of(double difference)
{
    return difference < 0 ? LESS : difference > 0 ? GREATER : SAME;
}

static bool is_number(const struct value *v)
{
    return v->type == VALUE_INT || v->type == VALUE_FLOAT;
}

static double number_of(const struct value *v)
{
    return v->type == VALUE_INT ? (double)v->i : v->f;
}

static enum order compare_numbers(const struct value *x, const struct value *y)
{
    double dx = number_of(x), dy = number_of(y);

    if (isnan(dx) || isnan(dy))
        return isnan(dx) && isnan(dy) ? SAME : NO_ORDER;
    if (x->type == VALUE_INT && y->type == VALUE_INT)
        return x->i < y->i ? LESS : x->i > y->i ? GREATER : SAME;
    return dx < dy ? LESS : dx > dy ? GREATER : SAME;
}

static struct bytes text_of(const struct value *v, struct buf *room)
{
    if (v->type == VALUE_STR)
        return (struct bytes){ (const uint8_t *)v->str.s, v->str.n };
    json_add_text(room, v);
    return buf_bytes(room);
}

static enum order compare(const struct value *v, const struct where_literal *literal)
{
    struct buf room = { 0 };
    enum order order;

    if (is_number(v) && is_number(&literal->value))
        return compare_numbers(v, &literal->value);
    order = order_of(value_compare_keys(text_of(v, &room), literal->text));
    buf_free(&room);
    return order;
}

static bool contains(const struct value *v, const struct where_literal *literal)
{
    struct buf room = { 0 };
    struct bytes text = text_of(v, &room);
    bool found = literal->text.n == 0 ||
                 memmem(text.data, text.n, literal->text.data, literal->text.n) != NULL;

    buf_free(&room);
    return found;
}

static bool is_one_of(const struct value *v, const struct where_test *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->literals[i].value.type != VALUE_NULL && compare(v, &t->literals[i]) == SAME)
            return true;
    return false;
}

static bool has_null(const struct where_test *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->literals[i].value.type == VALUE_NULL)
            return true;
    return false;
}

/* What has no value: equal to null, and not comparable with anything else. */
static bool test_nothing(const struct where_test *t)
{
    return (t->op == WHERE_EQUAL || t->op == WHERE_IN) && has_null(t);
}

static bool test_value(const struct where_test *t, const struct value *v)
{
    enum order order;

    switch (t->op) {
    case WHERE_CONTAINS: return contains(v, t->literals);
    case WHERE_EQUAL:
    case WHERE_IN: return is_one_of(v, t);
    case WHERE_DIFFERENT:
    case WHERE_NOT_IN: return !is_one_of(v, t);
    default: break;
    }
    order = compare(v, t->literals);
    switch (t->op) {
    case WHERE_LESS: return order == LESS;
    case WHERE_AT_MOST: return order == LESS || order == SAME;
    case WHERE_GREATER: return order == GREATER;
    default: return order == GREATER || order == SAME;
    }
}

static bool passes(const struct where *w, const struct where_test *t)
{
    const struct value *v = w->names[t->name].value;

    return v == NULL || v->type == VALUE_NULL ? test_nothing(t) : test_value(t, v);
}

/* As deep as the parentheses. */
static bool holds(const struct where *w, const struct where_node *node)
{
    bool decides = node->type == WHERE_OR; /* a true part decides an or, a false one an and */
    bool result = !decides;

    if (node->type == WHERE_TEST)
        return passes(w, &node->test) != node->is_negated;
    for (const struct where_node *part = node->parts; part != NULL && result != decides;
         part = part->next)
        result = holds(w, part);
    return result != node->is_negated;
}

bool where_matches(struct where *w, const struct where_row *row)
{
    look_up(w, row);
    return holds(w, w->root);
}
