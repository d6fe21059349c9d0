/* SPDX-License-Identifier: MIT */
/* plan_check.c - checks that the keys of a plan fit the parameters and each other */
#include <stdlib.h>
#include <string.h>

#include "client/draw/sobol.h"
#include "client/spec/plan_check.h"
#include "client/spec/spec_when.h"

/* Adds the error "WHERE: WHAT" at a place of the file, and frees what. */
static void add_error(struct yaml_keys_reader *r, struct spot at, const char *where, char *what)
{
    struct yaml_node node = { .line = at.line > 0 ? at.line : 1,
                              .column = at.column > 0 ? at.column : 1 };

    yaml_keys_error(r, &node, "%s: %s", where, what);
    free(what);
}

static void check_method(const struct plan *p, struct yaml_keys_reader *r)
{
    bool is_sampled = p->method != METHOD_GRID;
    bool has_samples = p->samples != 0 || p->samples_at.line > 0;

    if (has_samples && !is_sampled)
        add_error(r, p->samples_at, "samples", mem_strdup("needs method: random or sobol"));
    else if (has_samples && p->samples < 1)
        add_error(r, p->samples_at, "samples", mem_strdup("expected at least 1"));
    else if (is_sampled && !has_samples)
        add_error(r, p->method_at, "method",
                  mem_printf("%s needs samples: N, how many", method_names[p->method]));
}

static void check_forms(const struct plan *p, struct yaml_keys_reader *r)
{
    const struct param *params = p->params.items;

    for (size_t i = 0; p->method == METHOD_GRID && i < p->params.n; i++) {
        struct yaml_node at = { .line = params[i].line, .column = params[i].column };
        const char *file = r->file, *form = param_form_name(params[i].form);

        if (params[i].form <= PARAM_LIST)
            continue;
        if (at.line > 0) {
            yaml_keys_error(r, &at, "%s: %s needs method: random or sobol", params[i].name, form);
            continue;
        }
        /* Parameters from the command line have no place in the file. */
        r->file = arena_printf(r->arena, "--set %s", params[i].name);
        yaml_keys_error(r, NULL, "%s needs method: random or sobol", form);
        r->file = file;
    }
}

static void check_dimensions(const struct plan *p, struct yaml_keys_reader *r)
{
    const struct param *params = p->params.items;
    const struct zip_group *groups = p->zip.items;
    size_t n = 0;

    if (p->method != METHOD_SOBOL)
        return;
    for (size_t i = 0; i < p->params.n; i++)
        n += params[i].form != PARAM_FIXED;
    for (size_t i = 0; i < p->zip.n; i++)
        n -= groups[i].names.n - 1;
    if (n > SOBOL_DIMENSIONS)
        add_error(r, p->method_at, "method",
                  mem_printf("sobol samples at most %d parameters, and here are %zu",
                             SOBOL_DIMENSIONS, n));
    if (p->samples > SOBOL_POINTS - (int64_t)p->include.n)
        add_error(r, p->samples_at, "samples", mem_strdup("sobol has at most 2^32 points"));
}

/* ---- names ---- */

/* Whether there is a parameter of that name; else adds an error. */
static bool check_known(const struct plan *p, struct yaml_keys_reader *r, struct spot at,
                        const char *where, const char *name)
{
    if (plan_find_param(p, name) != NULL)
        return true;
    add_error(r, at, where, params_unknown(&p->params, name));
    return false;
}

static bool check_pins(const struct plan *p, struct yaml_keys_reader *r, const char *where,
                       const struct pins *pins)
{
    const struct pin *items = pins->pins.items;
    bool is_well = true;

    for (size_t i = 0; i < pins->pins.n; i++)
        if (!check_known(p, r, items[i].at, where, items[i].name))
            is_well = false;
    return is_well;
}

/* ---- zip ---- */

static bool check_member(const struct plan *p, struct yaml_keys_reader *r,
                         const struct zip_group *group, const char *name)
{
    const struct zip_group *other;

    if (!check_known(p, r, group->at, "zip", name) || plan_find_param(p, name)->was_refused)
        return false;
    other = plan_find_group(p, name); /* the first one */
    if (plan_find_param(p, name)->form != PARAM_LIST)
        add_error(r, group->at, "zip", mem_printf("%s has no list of values", name));
    else if (plan_count_name(group, name) > 1)
        add_error(r, group->at, "zip", mem_printf("%s stands twice in a group", name));
    else if (other != group)
        add_error(r, group->at, "zip", mem_printf("%s stands in two groups", name));
    else
        return true;
    return false;
}

static bool check_zip(const struct plan *p, struct yaml_keys_reader *r)
{
    const struct zip_group *groups = p->zip.items;
    bool is_well = true;

    for (size_t i = 0; i < p->zip.n; i++) {
        const char *const *names = groups[i].names.items;
        bool has_members = true;

        for (size_t k = 0; k < groups[i].names.n; k++)
            if (!check_member(p, r, &groups[i], names[k]))
                has_members = false;
        for (size_t k = 1; has_members && k < groups[i].names.n; k++) {
            size_t n = plan_find_param(p, names[0])->n, other = plan_find_param(p, names[k])->n;

            if (other == n)
                continue;
            add_error(
                r, groups[i].at, "zip",
                mem_printf("%s has %zu values, but %s has %zu", names[0], n, names[k], other));
            is_well = false;
        }
        is_well = is_well && has_members;
    }
    return is_well;
}

/* ---- when ---- */

static bool check_condition(const struct plan *p, struct yaml_keys_reader *r,
                            const struct condition *c)
{
    bool is_well = check_known(p, r, c->at, "when", c->name);

    if (!check_pins(p, r, arena_printf(r->arena, "when: %s", c->name), &c->pins))
        is_well = false;
    if (plan_find_pin(&c->pins, c->name) != NULL) {
        add_error(r, c->at, "when", mem_printf("%s depends on itself", c->name));
        is_well = false;
    }
    if (plan_find_group(p, c->name) != NULL) {
        add_error(r, c->at, "when",
                  mem_printf("%s stands in a zip group, and so cannot have a condition", c->name));
        is_well = false;
    }
    return is_well;
}

static void tell_circle(void *context, const struct condition *first, char *way)
{
    add_error(context, first->at, "when", way);
}

/* Whether all conditions are valid and form no circle, so that parameters have an order. */
static bool check_when(const struct plan *p, struct yaml_keys_reader *r)
{
    const struct condition *conditions = p->when.items;
    bool is_well = true;
    size_t n_errors;

    for (size_t i = 0; i < p->when.n; i++)
        if (!check_condition(p, r, &conditions[i]))
            is_well = false;
    n_errors = r->n_errors;
    if (is_well && p->when.n > 0)
        spec_when_each_circle(p, tell_circle, r);
    return is_well && r->n_errors == n_errors;
}

/* ---- exclude and include ---- */

static void check_included_groups(const struct plan *p, struct yaml_keys_reader *r,
                                  const struct pins *entry)
{
    const struct zip_group *groups = p->zip.items;

    for (size_t i = 0; i < p->zip.n; i++) {
        const char *const *names = groups[i].names.items;
        const char *named = names[0], *missing = names[0];
        size_t n = plan_count_pinned(&groups[i], entry);

        if (n == 0 || n == groups[i].names.n ||
            plan_find_position(p, &groups[i], entry) != SIZE_MAX)
            continue;
        for (size_t k = 0; k < groups[i].names.n; k++)
            *(plan_find_pin(entry, names[k]) != NULL ? &named : &missing) = names[k];
        add_error(r, plan_find_pin(entry, named)->at, "include",
                  mem_printf("%s is zipped, and this is no value of its list: name %s, too", named,
                             missing));
    }
}

static void check_included_conditions(const struct plan *p, struct yaml_keys_reader *r,
                                      const struct pins *entry)
{
    const struct param *params = p->params.items;
    const struct pin *pins = entry->pins.items;
    enum presence *presence = mem_alloc(p->params.n * sizeof *presence);

    spec_when_find_presence(p, entry, presence);
    for (size_t i = 0; i < entry->pins.n; i++)
        if (presence[plan_find_param(p, pins[i].name) - params] == PRESENCE_NEVER)
            add_error(r, pins[i].at, "include",
                      mem_printf("with the other values here, when: leaves %s out", pins[i].name));
    free(presence);
}

/* ---- the whole plan ---- */

int plan_check_rest(const struct plan *p, unsigned refused, struct yaml_keys_reader *r)
{
    const struct pins *exclude = p->exclude.items, *include = p->include.items;
    size_t n_errors = r->n_errors;
    bool is_zip_well, is_when_well;

    if (refused == 0)
        check_method(p, r);
    if ((refused & PLAN_METHOD) == 0)
        check_forms(p, r);
    is_zip_well = check_zip(p, r);
    if (is_zip_well)
        check_dimensions(p, r);
    is_when_well = check_when(p, r);
    for (size_t i = 0; i < p->exclude.n; i++)
        check_pins(p, r, "exclude", &exclude[i]);
    for (size_t i = 0; i < p->include.n; i++)
        if (check_pins(p, r, "include", &include[i]) && is_zip_well) {
            check_included_groups(p, r, &include[i]);
            if (is_when_well && p->when.n > 0)
                check_included_conditions(p, r, &include[i]);
        }
    return r->n_errors > n_errors ? -1 : 0;
}

int plan_check(const struct plan *p, struct yaml_keys_reader *r)
{
    return plan_check_rest(p, 0, r);
}
