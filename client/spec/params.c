/* SPDX-License-Identifier: MIT */
/* params.c - the parameters of a sweep, from the file and from --set */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/spec/params.h"
#include "client/term/safe_text.h"
#include "common/base/suggest.h"
#include "common/proto/jobspec.h"

enum { LISTED_MAX = 8 }; /* names in a message */

static const char reserved_prefix[] = "LUDWIG_";

/* ---- lists of parameters ---- */

char *params_name_problem(const char *name, size_t n)
{
    if (n == 0)
        return mem_strdup("a parameter without a name");
    if (n > NAME_MAX_BYTES)
        return mem_printf("a parameter's name has at most %d bytes", NAME_MAX_BYTES);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return mem_strdup("a control character in a parameter's name");
    if (strncmp(name, reserved_prefix, strlen(reserved_prefix)) == 0)
        return mem_printf("%s: names that begin with %s are reserved", name, reserved_prefix);
    return NULL;
}

static int read_params(struct yaml_keys_reader *r, const struct key *key,
                       const struct yaml_node *node, bool is_fixed, struct list *to)
{
    struct param *params;
    int answer = 0;

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type != VALUE_MAP)
        return yaml_keys_error(r, node, "%s: expected 'name: value' lines, found %s", key->name,
                               value_type_name(node->type));
    params = arena_alloc(r->arena, node->n * sizeof *params);
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_member *m = &node->members[i];
        const struct param unread = { .name = m->key, .line = m->line, .column = m->column };
        struct yaml_node at = { .line = m->line, .column = m->column };
        char *problem = params_name_problem(m->key, strlen(m->key));
        int rc;

        params[i] = unread;
        if (problem != NULL)
            rc = yaml_keys_error(r, &at, "%s", problem);
        else
            rc = is_fixed ? param_form_read_fixed(r, &m->node, &params[i])
                          : param_form_read(r, &m->node, false, &params[i]);
        free(problem);
        if (rc == 0)
            continue;
        params[i] = unread;
        params[i].was_refused = true;
        answer = -1;
    }
    *to = (struct list){ params, node->n };
    return answer;
}

int params_read(struct yaml_keys_reader *r, const struct key *key, const struct yaml_node *node,
                void *to)
{
    return read_params(r, key, node, false, to);
}

int params_read_fixed(struct yaml_keys_reader *r, const struct key *key,
                      const struct yaml_node *node, void *to)
{
    return read_params(r, key, node, true, to);
}

struct param *params_find(const struct list *params, const char *name)
{
    struct param *items = params->items;

    for (size_t i = 0; i < params->n; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    return NULL;
}

static const char *find_nearest(const struct list *params, const char *name)
{
    const struct param *items = params->items;
    struct suggest nearest = { .word = name };

    for (size_t i = 0; i < params->n; i++)
        suggest_try(&nearest, items[i].name);
    return nearest.best;
}

char *params_unknown(const struct list *params, const char *name)
{
    const char *nearest = find_nearest(params, name);

    if (nearest == NULL)
        return mem_printf("unknown parameter '%s'", name);
    return mem_printf("unknown parameter '%s' (did you mean '%s'?)", name, nearest);
}

char *params_listed(const struct list *params)
{
    const struct param *items = params->items;
    size_t n = params->n < LISTED_MAX ? params->n : LISTED_MAX;
    struct buf names = { 0 };

    for (size_t i = 0; i < n; i++)
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", items[i].name);
    if (params->n > n)
        buf_printf(&names, " and %zu more", params->n - n);
    return buf_take(&names);
}

void params_overlay(struct list *params, const struct list *with)
{
    const struct param *items = with->items;

    for (size_t i = 0; i < with->n; i++)
        *params_find(params, items[i].name) = items[i];
}

/* ---- --set ---- */

/* Turns "--set lr:1:5: what" into "--set lr: what" in each line: the place is in no file. */
static void drop_places(struct err *e, const char *prefix)
{
    char *to = e->text;
    size_t n_prefix = strlen(prefix);

    for (const char *from = e->text; *from != '\0';) {
        size_t n = strcspn(from, "\n");
        int n_place = 0;

        n += from[n] == '\n';
        if (strncmp(from, prefix, n_prefix) == 0) {
            memmove(to, from, n_prefix);
            to += n_prefix;
            from += n_prefix;
            n -= n_prefix;
            sscanf(from, ":%*u:%*u%n", &n_place);
        }
        memmove(to, from + n_place, n - (size_t)n_place);
        to += n - (size_t)n_place;
        from += n;
    }
    *to = '\0';
}

/* Reads the value after "name=" as in a sweep file; nothing is null. */
static int read_text(const char *text, struct param *to, struct arena *a, struct err *e)
{
    struct param param = { .name = to->name };
    char *file = arena_printf(a, "--set %s", to->name);
    struct yaml_keys_reader r = { .file = file, .arena = a };
    const char *yaml = text[0] == '\0' ? "null" : text;
    const struct yaml_node *node = yaml_parse(file, yaml, strlen(yaml), a, e);

    if (node == NULL && e != NULL) {
        /* The error shows text that is no YAML as the shell passed it. */
        size_t n = safe_text_fitting(text, strlen(text), PARAM_SHOWN_MAX_BYTES);
        struct buf why = { 0 };

        buf_printf(&why, "%s, in '", e->text);
        safe_text_add_harmless(&why, text, n, "");
        buf_printf(&why, "%s'", text[n] != '\0' ? "..." : "");
        err_set(e, e->kind, "%s", buf_text(&why));
        buf_free(&why);
    }
    if (node != NULL) {
        param_form_read(&r, node, true, &param);
        if (yaml_keys_end(&r, e) == 0) {
            *to = param;
            return 0;
        }
    }
    if (e != NULL)
        drop_places(e, file);
    return -1;
}

int params_set(struct list *params, const char *text, struct arena *a, struct err *e)
{
    size_t n = strcspn(text, "=");
    char *name = arena_strndup(a, text, n), *unknown, *known;
    struct param *param = params_find(params, name);

    if (text[n] != '=')
        return err_set(e, ERR_USAGE, "--set takes NAME=VALUE, not '%s'", text);
    if (param != NULL)
        return read_text(text + n + 1, param, a, e);
    /* The error lists all parameters when they are few and none has a similar name. */
    unknown = params_unknown(params, name);
    known = params_listed(params);
    if (find_nearest(params, name) != NULL || params->n > LISTED_MAX)
        err_set(e, ERR_USAGE, "--set %s: %s", name, unknown);
    else if (params->n == 0)
        err_set(e, ERR_USAGE, "--set %s: %s: the file has none", name, unknown);
    else
        err_set(e, ERR_USAGE, "--set %s: %s (there %s %s)", name, unknown,
                params->n == 1 ? "is only" : "are", known);
    free(known);
    free(unknown);
    return -1;
}
