/* SPDX-License-Identifier: MIT */
/* plan.c - how parameters make configurations: looking up what was read */
#include <string.h>

#include "client/spec/plan.h"
#include "common/data/param_digest.h"

const char *const method_names[METHOD_COUNT] = { "grid", "random", "sobol" };

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

static bool stand_at(const struct plan *p, const struct zip_group *group, const struct pins *pins,
                     size_t position)
{
    const char *const *names = group->names.items;

    for (size_t i = 0; i < group->names.n; i++) {
        const struct pin *pin = plan_find_pin(pins, names[i]);

        if (pin != NULL && pin->n > 0 &&
            !param_equal(&plan_find_param(p, names[i])->values[position], &pin->values[0]))
            return false;
    }
    return true;
}

size_t plan_find_position(const struct plan *p, const struct zip_group *group,
                          const struct pins *pins)
{
    size_t n = plan_find_param(p, *(const char *const *)group->names.items)->n;

    for (size_t i = 0; i < n; i++)
        if (stand_at(p, group, pins, i))
            return i;
    return SIZE_MAX;
}
