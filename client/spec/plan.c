/* SPDX-License-Identifier: MIT */
/* plan.c - reads method, zip, when, exclude and include from a sweep file, and looks into a plan */
#include <string.h>

#include "client/spec/plan.h"
#include "common/base/suggest.h"
#include "common/data/param_digest.h"

const char *const method_names[METHOD_COUNT] = { "grid", "random", "sobol" };

/* ---- looking up ---- */

const struct param *plan_find_param(const struct plan *p, const char *name)
{
    return params_find(&p->params, name);
}

size_t plan_count_name(const struct zip_group *group, const char *name)
{
    const char *const *names = group->names.items;
    size_t n = 0;

    for (size_t i = 0; i < group->names.n; i++)
        n += strcmp(names[i], name) == 0;
    return n;
}

const struct zip_group *plan_find_group(const struct plan *p, const char *name)
{
    const struct zip_group *groups = p->zip.items;

    for (size_t i = 0; i < p->zip.n; i++)
        if (plan_count_name(&groups[i], name) > 0)
            return &groups[i];
    return NULL;
}

const struct pin *plan_find_pin(const struct pins *pins, const char *name)
{
    const struct pin *items = pins->pins.items;

    for (size_t i = 0; i < pins->pins.n; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    return NULL;
}

size_t plan_count_pinned(const struct zip_group *group, const struct pins *entry)
{
    const char *const *names = group->names.items;
    size_t n = 0;

    for (size_t i = 0; i < group->names.n; i++)
        n += plan_find_pin(entry, names[i]) != NULL;
    return n;
}

size_t plan_find_position(const struct plan *p, const struct zip_group *group,
                          const struct pins *pins)
{
    const char *const *names = group->names.items;
    size_t n = plan_find_param(p, names[0])->n;

    for (size_t i = 0; i < n; i++) {
        bool is_here = true;

        for (size_t k = 0; is_here && k < group->names.n; k++) {
            const struct pin *pin = plan_find_pin(pins, names[k]);

            is_here = pin == NULL || pin->n == 0 ||
                      param_equal(&plan_find_param(p, names[k])->values[i], &pin->values[0]);
        }
        if (is_here)
            return i;
    }
    return SIZE_MAX;
}

/* ---- reading ---- */

static struct spot spot_of(const struct yaml_node *node)
{
    return (struct spot){ node->line, node->column };
}

static struct spot spot_of_key(const struct yaml_member *m)
{
    return (struct spot){ m->line, m->column };
}

int plan_read_method(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    struct suggest nearest = { .word = node->text };

    if (node->type != VALUE_STR)
        return param_form_expected(r, node, key->name, "grid, random or sobol");
    for (int i = 0; i < METHOD_COUNT; i++) {
        suggest_try(&nearest, method_names[i]);
        if (strcmp(node->text, method_names[i]) == 0) {
            *(int *)to = i;
            return 0;
        }
    }
    if (nearest.best != NULL)
        return yaml_keys_error(r, node, "%s: unknown method '%s' (did you mean '%s'?)", key->name,
                               node->text, nearest.best);
    return param_form_expected(r, node, key->name, "grid, random or sobol");
}

static int read_group(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, struct zip_group *to)
{
    const char **names;
    int answer = 0;

    if (node->type != VALUE_LIST)
        return param_form_expected(r, node, key->name, "a list of groups such as [[lr, hidden]]");
    if (node->n < 2)
        return yaml_keys_error(r, node, "%s: a group has at least two parameters", key->name);
    names = arena_alloc(r->arena, node->n * sizeof *names);
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_node *item = &node->items[i];

        names[i] = item->text;
        if (item->type == VALUE_LIST || item->type == VALUE_MAP)
            answer = param_form_expected(r, item, key->name, "the name of a parameter");
        else if (item->type == VALUE_STR && strlen(item->text) != item->scalar.str.n)
            answer = yaml_keys_error(r, item, "%s: a NUL character", key->name);
    }
    *to = (struct zip_group){ .names = { names, node->n }, .at = spot_of(node) };
    return answer;
}

int plan_read_zip(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                  void *to)
{
    struct zip_group *groups;
    size_t n = 0;
    int answer = 0;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type != VALUE_LIST)
        return param_form_expected(r, node, key->name, "a list of groups such as [[lr, hidden]]");
    groups = arena_alloc(r->arena, node->n * sizeof *groups);
    for (size_t i = 0; i < node->n; i++)
        if (read_group(r, key, &node->items[i], &groups[n]) == 0)
            n++;
        else
            answer = -1;
    *(struct list *)to = (struct list){ groups, n };
    return answer;
}

/* Reads the values of a pin into to; errors begin with where. */
typedef int (*read_pin_fn)(struct yaml_keys_reader *r, const char *where,
                           const struct yaml_node *node, struct pin *to);

static int read_one(struct yaml_keys_reader *r, const char *where, const struct yaml_node *node,
                    struct pin *to)
{
    bool is_form =
        node->type == VALUE_MAP && node->n == 1 && strcmp(node->members[0].key, "value") == 0;

    if (node->type == VALUE_MAP && !is_form)
        return yaml_keys_error(r, node, "%s: a map as a value is written {value: {...}}", where);
    to->values = arena_alloc(r->arena, sizeof *to->values);
    to->values[0] = yaml_value(is_form ? &node->members[0].node : node, r->arena);
    to->n = 1;
    return 0;
}

/* Reads the one value of a parameter in include:. */
static int read_value(struct yaml_keys_reader *r, const char *where, const struct yaml_node *node,
                      struct pin *to)
{
    if (node->type == VALUE_LIST)
        return yaml_keys_error(
            r, node, "%s: one value is expected here (one that is a list: {value: [...]})", where);
    return read_one(r, where, node, to);
}

/* Reads the values of a pin; each value of a list is a match. */
static int read_values(struct yaml_keys_reader *r, const char *where, const struct yaml_node *node,
                       struct pin *to)
{
    if (node->type != VALUE_LIST)
        return read_one(r, where, node, to);
    if (node->n == 0)
        return yaml_keys_error(r, node, "%s: an empty list matches nothing", where);
    to->values = arena_alloc(r->arena, node->n * sizeof *to->values);
    to->n = node->n;
    for (size_t i = 0; i < node->n; i++)
        to->values[i] = yaml_value(&node->items[i], r->arena);
    return 0;
}

static int read_pins(struct yaml_keys_reader *r, const char *where, const struct yaml_node *node,
                     read_pin_fn read, struct pins *to)
{
    struct pin *pins;
    int answer = 0;

    if (node->type != VALUE_MAP || node->n == 0)
        return yaml_keys_error(
            r, node, "%s: expected values of parameters such as {lr: 0.1}, found %s", where,
            node->type == VALUE_MAP ? "an empty map" : value_type_name(node->type));
    pins = arena_alloc(r->arena, node->n * sizeof *pins);
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_member *m = &node->members[i];

        pins[i] = (struct pin){ .name = m->key, .at = spot_of_key(m) };
        if (read(r, arena_printf(r->arena, "%s: %s", where, m->key), &m->node, &pins[i]) < 0)
            answer = -1;
    }
    *to = (struct pins){ .pins = { pins, node->n }, .at = spot_of(node) };
    return answer;
}

int plan_read_when(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                   void *to)
{
    struct condition *conditions;
    int answer = 0;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type != VALUE_MAP)
        return yaml_keys_error(r, node, "%s: expected 'name: {other: value}' lines, found %s",
                               key->name, value_type_name(node->type));
    conditions = arena_alloc(r->arena, node->n * sizeof *conditions);
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_member *m = &node->members[i];
        const char *where = arena_printf(r->arena, "%s: %s", key->name, m->key);

        conditions[i] = (struct condition){ .name = m->key, .at = spot_of_key(m) };
        if (read_pins(r, where, &m->node, read_values, &conditions[i].pins) < 0)
            answer = -1;
    }
    *(struct list *)to = (struct list){ conditions, node->n };
    return answer;
}

static int read_entries(struct yaml_keys_reader *r, const struct key *key,
                        const struct yaml_node *node, read_pin_fn read, struct list *to)
{
    struct pins *entries;
    int answer = 0;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type != VALUE_LIST)
        return param_form_expected(r, node, key->name, "a list such as [{lr: 0.1}]");
    entries = arena_alloc(r->arena, node->n * sizeof *entries);
    for (size_t i = 0; i < node->n; i++)
        if (read_pins(r, key->name, &node->items[i], read, &entries[i]) < 0)
            answer = -1;
    *to = (struct list){ entries, node->n };
    return answer;
}

int plan_read_exclude(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to)
{
    return read_entries(r, key, node, read_values, to);
}

int plan_read_include(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to)
{
    return read_entries(r, key, node, read_value, to);
}
