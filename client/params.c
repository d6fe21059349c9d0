/* SPDX-License-Identifier: MIT */
/* params.c - the parameters of a sweep and the values each of them takes */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/params.h"
#include "common/suggest.h"
#include "common/work.h"

typedef int (*read_values_fn)(struct keys_reader *r, const struct yaml_node *node,
                              struct param *param);

static int read_fixed(struct keys_reader *r, const struct yaml_node *node, struct param *param)
{
    param->values = arena_alloc(r->arena, sizeof *param->values);
    param->values[0] = yaml_value(node, r->arena);
    param->n = 1;
    return 0;
}

static int read_list(struct keys_reader *r, const struct yaml_node *node, struct param *param)
{
    if (node->type != VALUE_LIST)
        return keys_error(r, node, "%s: values: expected a list, found %s", param->name,
                          value_type_name(node->type));
    if (node->n == 0)
        return keys_error(r, node, "%s: an empty list leaves nothing to run", param->name);
    param->values = arena_alloc(r->arena, node->n * sizeof *param->values);
    param->n = node->n;
    for (size_t i = 0; i < node->n; i++)
        param->values[i] = yaml_value(&node->items[i], r->arena);
    return 0;
}

/* The long forms: {values: [1, 2]} */
static const struct form {
    const char *name;
    read_values_fn read;
} forms[] = {
    { "values", read_list },
    { "value", read_fixed },
};

static int refuse_form(struct keys_reader *r, const struct yaml_member *m, const char *name)
{
    struct yaml_node at = { .line = m->line, .column = m->column };
    struct suggest nearest = { .word = m->key };

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        suggest_try(&nearest, forms[i].name);
    if (nearest.best != NULL)
        return keys_error(r, &at, "%s: unknown form '%s' (did you mean '%s'?)", name, m->key,
                          nearest.best);
    return keys_error(r, &at, "%s: unknown form '%s' (a map as a value: %s: {value: {...}})", name,
                      m->key, name);
}

static int read_form(struct keys_reader *r, const struct yaml_node *node, struct param *param)
{
    if (node->n != 1)
        return keys_error(r, node, "%s: expected one form such as {values: [1, 2]}", param->name);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(forms[i].name, node->members[0].key) == 0)
            return forms[i].read(r, &node->members[0].node, param);
    return refuse_form(r, &node->members[0], param->name);
}

static int read_swept(struct keys_reader *r, const struct yaml_node *node, struct param *param)
{
    if (node->type == VALUE_LIST)
        return read_list(r, node, param);
    if (node->type == VALUE_MAP)
        return read_form(r, node, param);
    return read_fixed(r, node, param);
}

static int check_name(struct keys_reader *r, const struct yaml_member *m)
{
    struct yaml_node at = { .line = m->line, .column = m->column };
    size_t n = strlen(m->key);

    if (n == 0)
        return keys_error(r, &at, "a parameter without a name");
    if (n > NAME_MAX_BYTES)
        return keys_error(r, &at, "a parameter's name has at most %d bytes", NAME_MAX_BYTES);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)m->key[i] < ' ' || m->key[i] == 0x7f)
            return keys_error(r, &at, "a control character in a parameter's name");
    return 0;
}

static int read_params(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                       read_values_fn read_values, struct list *to)
{
    struct param *params;
    int answer = 0;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type != VALUE_MAP)
        return keys_error(r, node, "%s: expected 'name: value' lines, found %s", key->name,
                          value_type_name(node->type));
    params = arena_alloc(r->arena, node->n * sizeof *params);
    for (size_t i = 0; i < node->n; i++) {
        params[i].name = node->members[i].key;
        if (check_name(r, &node->members[i]) < 0 ||
            read_values(r, &node->members[i].node, &params[i]) < 0)
            answer = -1;
    }
    *to = (struct list){ params, node->n };
    return answer;
}

int params_read(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                void *to)
{
    return read_params(r, key, node, read_swept, to);
}

int params_read_fixed(struct keys_reader *r, const struct key *key, const struct yaml_node *node,
                      void *to)
{
    return read_params(r, key, node, read_fixed, to);
}

struct param *params_find(const struct list *params, const char *name)
{
    struct param *items = params->items;

    for (size_t i = 0; i < params->n; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    return NULL;
}

char *params_unknown(const struct list *params, const char *name)
{
    const struct param *items = params->items;
    struct suggest nearest = { .word = name };

    for (size_t i = 0; i < params->n; i++)
        suggest_try(&nearest, items[i].name);
    if (nearest.best == NULL)
        return mem_printf("unknown parameter '%s'", name);
    return mem_printf("unknown parameter '%s' (did you mean '%s'?)", name, nearest.best);
}

void params_overlay(struct list *params, const struct list *with)
{
    const struct param *items = with->items;

    for (size_t i = 0; i < with->n; i++)
        *params_find(params, items[i].name) = items[i];
}

/* The value after "name=", read as if it stood in a sweep file. */
static int read_text(const char *text, struct param *param, struct arena *a, struct err *e)
{
    char *file = arena_printf(a, "--set %s", param->name);
    struct keys_reader r = { .file = file, .arena = a };
    const struct yaml_node *node = yaml_parse(file, text, strlen(text), a, e);

    if (node == NULL)
        return -1;
    read_swept(&r, node, param);
    return keys_end(&r, e);
}

int params_set(struct list *params, const char *text, struct arena *a, struct err *e)
{
    size_t n = strcspn(text, "=");
    char *name = arena_strndup(a, text, n);
    struct param *param = params_find(params, name);
    char *unknown;

    if (text[n] != '=')
        return err_set(e, ERR_USAGE, "--set takes NAME=VALUE, not '%s'", text);
    if (param != NULL)
        return read_text(text + n + 1, param, a, e);
    unknown = params_unknown(params, name);
    err_set(e, ERR_USAGE, "--set %s: %s", name, unknown);
    free(unknown);
    return -1;
}

void params_take_first(struct list *params)
{
    struct param *items = params->items;

    for (size_t i = 0; i < params->n; i++)
        items[i].n = 1;
}
