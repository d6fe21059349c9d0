/* SPDX-License-Identifier: MIT */
/* plan.c - how parameters make configurations: what is checked against each other */
#include <stdlib.h>
#include <string.h>

#include "client/plan.h"
#include "client/sample.h"
#include "common/canon.h"
#include "common/suggest.h"

const char *const method_names[METHOD_COUNT] = { "grid", "random", "sobol" };

/* ---- looking up ---- */

static const struct param *find(const struct plan *p, const char *name)
{
    return params_find(&p->params, name);
}

static size_t count_name(const struct zip_group *group, const char *name)
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
        if (count_name(&groups[i], name) > 0)
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

/* Whether a configuration is the same with either. */
static bool are_same(const struct value *v, const struct value *w)
{
    struct buf x = { 0 }, y = { 0 };
    bool is_same;

    canon_add(&x, v);
    canon_add(&y, w);
    is_same = strcmp(buf_text(&x), buf_text(&y)) == 0;
    buf_free(&x);
    buf_free(&y);
    return is_same;
}

static bool stand_at(const struct plan *p, const struct zip_group *group, const struct pins *pins,
                     size_t position)
{
    const char *const *names = group->names.items;

    for (size_t i = 0; i < group->names.n; i++) {
        const struct pin *pin = plan_find_pin(pins, names[i]);

        if (pin != NULL && pin->n > 0 &&
            !are_same(&find(p, names[i])->values[position], &pin->values[0]))
            return false;
    }
    return true;
}

size_t plan_find_position(const struct plan *p, const struct zip_group *group,
                          const struct pins *pins)
{
    size_t n = find(p, *(const char *const *)group->names.items)->n;

    for (size_t i = 0; i < n; i++)
        if (stand_at(p, group, pins, i))
            return i;
    return SIZE_MAX;
}

/* ---- the order of conditions ---- */

/* Parameters being put in order. */
struct ordering {
    const struct plan *plan;
    const struct condition **conditions; /* of each parameter; NULL: none */
    const struct zip_group **groups;     /* the same */
    bool *is_awaited;                    /* a condition names it */
    bool *is_placed;
    size_t *order;
    size_t n;
};

/* n when there is none of that name. */
static size_t number_of(const struct plan *p, const char *name)
{
    const struct param *param = find(p, name);

    return param == NULL ? p->params.n : (size_t)(param - (const struct param *)p->params.items);
}

/* The number of a parameter that the condition of this one waits for; n when it waits for none. */
static size_t find_missing(const struct ordering *o, size_t number)
{
    const struct condition *condition = o->conditions[number];
    size_t n = o->plan->params.n;

    for (size_t i = 0; condition != NULL && i < condition->pins.pins.n; i++) {
        size_t other = number_of(o->plan, ((struct pin *)condition->pins.pins.items)[i].name);

        if (other < n && !o->is_placed[other])
            return other;
    }
    return n;
}

static bool is_ready(const struct ordering *o, size_t number)
{
    return !o->is_placed[number] && find_missing(o, number) == o->plan->params.n;
}

static void place_one(struct ordering *o, size_t number)
{
    if (number == o->plan->params.n || o->is_placed[number])
        return;
    o->is_placed[number] = true;
    o->order[o->n++] = number;
}

/* With the others of its group; whether a condition may have waited for it. */
static bool place(struct ordering *o, size_t number)
{
    const struct zip_group *group = o->groups[number];

    place_one(o, number);
    for (size_t i = 0; group != NULL && i < group->names.n; i++)
        place_one(o, number_of(o->plan, ((const char **)group->names.items)[i]));
    return group != NULL || o->is_awaited[number];
}

/* The first of those before that waits no longer; before when there is none. */
static size_t find_freed(const struct ordering *o, size_t before)
{
    size_t i = 0;

    while (i < before && !(o->conditions[i] != NULL && is_ready(o, i)))
        i++;
    return i;
}

static void place_all(struct ordering *o)
{
    for (size_t i = 0; i < o->plan->params.n; i++) {
        bool may_free = is_ready(o, i) && place(o, i);

        while (may_free && o->plan->when.n > 0) {
            size_t freed = find_freed(o, i);

            may_free = freed < i;
            if (may_free)
                place(o, freed);
        }
    }
}

static void find_links(struct ordering *o)
{
    const struct plan *p = o->plan;
    struct condition *conditions = p->when.items;
    struct zip_group *groups = p->zip.items;

    for (size_t i = 0; i < p->when.n; i++) {
        const struct pin *pins = conditions[i].pins.pins.items;

        o->conditions[number_of(p, conditions[i].name)] = &conditions[i];
        for (size_t k = 0; k < conditions[i].pins.pins.n; k++)
            o->is_awaited[number_of(p, pins[k].name)] = true;
    }
    for (size_t i = 0; i < p->zip.n; i++)
        for (size_t k = 0; k < groups[i].names.n; k++)
            o->groups[number_of(p, ((const char **)groups[i].names.items)[k])] = &groups[i];
}

static void ordering_begin(struct ordering *o, const struct plan *p)
{
    size_t n = p->params.n + 1; /* the last one takes what names no parameter */

    *o = (struct ordering){ .plan = p,
                            .conditions = mem_alloc(n * sizeof *o->conditions),
                            .groups = mem_alloc(n * sizeof *o->groups),
                            .is_awaited = mem_alloc(n),
                            .is_placed = mem_alloc(n),
                            .order = mem_alloc(n * sizeof *o->order) };
    find_links(o);
    place_all(o);
}

static void ordering_end(struct ordering *o)
{
    free(o->conditions);
    free(o->groups);
    free(o->is_awaited);
    free(o->is_placed);
    free(o->order);
}

size_t plan_order(const struct plan *p, size_t *order)
{
    struct ordering o;
    size_t n;

    ordering_begin(&o, p);
    n = o.n;
    memcpy(order, o.order, n * sizeof *order);
    ordering_end(&o);
    return n;
}

/* ---- checks ---- */

static struct yaml_node node_at(struct spot at)
{
    return (struct yaml_node){ .line = at.line > 0 ? at.line : 1,
                               .column = at.column > 0 ? at.column : 1 };
}

/* An error of one thing that was read: WHERE: WHAT */
static void add_error(struct keys_reader *r, struct spot at, const char *where, char *what)
{
    struct yaml_node node = node_at(at);

    keys_error(r, &node, "%s: %s", where, what);
    free(what);
}

static void check_method(const struct plan *p, struct keys_reader *r)
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

/* Those from the command line have no place in the file. */
static void refuse_sampled(struct keys_reader *r, const struct param *param)
{
    struct yaml_node at = { .line = param->line, .column = param->column };
    const char *file = r->file, *form = param_form_name(param->form);

    if (param->line > 0) {
        keys_error(r, &at, "%s: %s needs method: random or sobol", param->name, form);
        return;
    }
    r->file = arena_printf(r->arena, "--set %s", param->name);
    keys_error(r, NULL, "%s needs method: random or sobol", form);
    r->file = file;
}

static void check_forms(const struct plan *p, struct keys_reader *r)
{
    const struct param *params = p->params.items;

    for (size_t i = 0; p->method == METHOD_GRID && i < p->params.n; i++)
        if (params[i].form > PARAM_LIST)
            refuse_sampled(r, &params[i]);
}

static void check_dimensions(const struct plan *p, struct keys_reader *r)
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

/* ---- checks of names ---- */

/* Whether it is a parameter; else that is an error. */
static bool check_known(const struct plan *p, struct keys_reader *r, struct spot at,
                        const char *where, const char *name)
{
    if (find(p, name) != NULL)
        return true;
    add_error(r, at, where, params_unknown(&p->params, name));
    return false;
}

static bool check_pins(const struct plan *p, struct keys_reader *r, const char *where,
                       const struct pins *pins)
{
    const struct pin *items = pins->pins.items;
    bool is_well = true;

    for (size_t i = 0; i < pins->pins.n; i++)
        if (!check_known(p, r, items[i].at, where, items[i].name))
            is_well = false;
    return is_well;
}

/* ---- checks of zip ---- */

static bool stands_before(const struct plan *p, const struct zip_group *group, const char *name)
{
    for (const struct zip_group *g = p->zip.items; g < group; g++)
        if (count_name(g, name) > 0)
            return true;
    return false;
}

static bool check_member(const struct plan *p, struct keys_reader *r, const struct zip_group *group,
                         const char *name)
{
    if (!check_known(p, r, group->at, "zip", name) || find(p, name)->was_refused)
        return false;
    if (find(p, name)->form != PARAM_LIST)
        add_error(r, group->at, "zip", mem_printf("%s has no list of values", name));
    else if (count_name(group, name) > 1)
        add_error(r, group->at, "zip", mem_printf("%s stands twice in a group", name));
    else if (stands_before(p, group, name))
        add_error(r, group->at, "zip", mem_printf("%s stands in two groups", name));
    else
        return true;
    return false;
}

static bool check_lengths(const struct plan *p, struct keys_reader *r,
                          const struct zip_group *group)
{
    const char *const *names = group->names.items;
    size_t n = find(p, names[0])->n;
    bool is_well = true;

    for (size_t i = 1; i < group->names.n; i++) {
        size_t other = find(p, names[i])->n;

        if (other == n)
            continue;
        add_error(r, group->at, "zip",
                  mem_printf("%s has %zu values, but %s has %zu", names[0], n, names[i], other));
        is_well = false;
    }
    return is_well;
}

static bool check_zip(const struct plan *p, struct keys_reader *r)
{
    const struct zip_group *groups = p->zip.items;
    bool is_well = true;

    for (size_t i = 0; i < p->zip.n; i++) {
        const char *const *names = groups[i].names.items;
        bool has_members = true;

        for (size_t k = 0; k < groups[i].names.n; k++)
            if (!check_member(p, r, &groups[i], names[k]))
                has_members = false;
        if (!has_members || !check_lengths(p, r, &groups[i]))
            is_well = false;
    }
    return is_well;
}

/* ---- checks of when ---- */

static bool check_condition(const struct plan *p, struct keys_reader *r, const struct condition *c)
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

static void tell_circle(const struct ordering *o, struct keys_reader *r, size_t begin)
{
    const struct param *params = o->plan->params.items;
    struct buf way = { 0 };
    size_t at = begin;

    do {
        buf_printf(&way, "%s depends on ", params[at].name);
        at = find_missing(o, at);
    } while (at != begin);
    buf_add_str(&way, params[begin].name);
    add_error(r, o->conditions[begin]->at, "when", buf_take(&way));
}

/* Who was not placed waits for another: following that leads into a circle.  Each is told once. */
static void check_circles(const struct plan *p, struct keys_reader *r)
{
    size_t *walks = mem_alloc(p->params.n * sizeof *walks); /* which came by here; 0: none */
    struct ordering o;

    ordering_begin(&o, p);
    for (size_t i = 0; i < p->params.n; i++) {
        size_t at = i;

        while (!o.is_placed[at] && walks[at] == 0) {
            walks[at] = i + 1;
            at = find_missing(&o, at);
        }
        if (!o.is_placed[at] && walks[at] == i + 1)
            tell_circle(&o, r, at);
    }
    ordering_end(&o);
    free(walks);
}

/* Whether it is known who depends on whom. */
static bool check_when(const struct plan *p, struct keys_reader *r)
{
    const struct condition *conditions = p->when.items;
    bool is_well = true;

    for (size_t i = 0; i < p->when.n; i++)
        if (!check_condition(p, r, &conditions[i]))
            is_well = false;
    if (is_well && p->when.n > 0) {
        size_t n_errors = r->n_errors;

        check_circles(p, r);
        is_well = r->n_errors == n_errors;
    }
    return is_well;
}

/* ---- what include makes of conditions ---- */

static size_t count_named(const struct zip_group *group, const struct pins *entry)
{
    const char *const *names = group->names.items;
    size_t n = 0;

    for (size_t i = 0; i < group->names.n; i++)
        n += plan_find_pin(entry, names[i]) != NULL;
    return n;
}

/* The one value that the entry makes it have; NULL when it does not say. */
static const struct value *value_given(const struct plan *p, const struct pins *entry,
                                       const struct param *param)
{
    const struct pin *pin = plan_find_pin(entry, param->name);
    const struct zip_group *group = plan_find_group(p, param->name);
    size_t position;

    if (pin != NULL)
        return pin->n > 0 ? &pin->values[0] : NULL;
    if (group == NULL || count_named(group, entry) == 0)
        return NULL;
    position = plan_find_position(p, group, entry);
    return position < param->n ? &param->values[position] : NULL;
}

static bool matches(const struct pin *pin, const struct value *v)
{
    for (size_t i = 0; i < pin->n; i++)
        if (are_same(&pin->values[i], v))
            return true;
    return false;
}

static enum presence presence_by(const struct plan *p, const struct pins *entry,
                                 const struct pin *pin, const struct param *param)
{
    const struct value *given = value_given(p, entry, param);

    if (given != NULL)
        return matches(pin, given) ? PRESENCE_ALWAYS : PRESENCE_NEVER;
    for (size_t i = 0; i < param->n; i++)
        if (!matches(pin, &param->values[i]))
            return PRESENCE_VARIES;
    return param->n > 0 ? PRESENCE_ALWAYS : PRESENCE_VARIES;
}

static enum presence worse(enum presence x, enum presence y)
{
    return x > y ? x : y;
}

/* Those it depends on were looked at before. */
static enum presence find_presence_of(const struct plan *p, const struct pins *entry,
                                      const struct condition *c, const enum presence *presence)
{
    const struct pin *pins = c->pins.pins.items;
    enum presence found = PRESENCE_ALWAYS;

    for (size_t i = 0; i < c->pins.pins.n; i++) {
        const struct param *other = find(p, pins[i].name);

        found = worse(found, presence[other - (const struct param *)p->params.items]);
        found = worse(found, presence_by(p, entry, &pins[i], other));
    }
    return found;
}

void plan_find_presence(const struct plan *p, const struct pins *entry, enum presence *presence)
{
    const struct condition *conditions = p->when.items;
    const struct param *params = p->params.items;
    size_t *order = mem_alloc(p->params.n * sizeof *order);
    size_t n = plan_order(p, order);

    for (size_t i = 0; i < p->params.n; i++)
        presence[i] = PRESENCE_ALWAYS;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < p->when.n; k++)
            if (strcmp(conditions[k].name, params[order[i]].name) == 0)
                presence[order[i]] = find_presence_of(p, entry, &conditions[k], presence);
    free(order);
}

/* ---- checks of include ---- */

static void refuse_half_group(struct keys_reader *r, const struct zip_group *group,
                              const struct pins *entry)
{
    const char *const *names = group->names.items;
    const char *named = names[0], *missing = names[0];

    for (size_t i = 0; i < group->names.n; i++)
        *(plan_find_pin(entry, names[i]) != NULL ? &named : &missing) = names[i];
    add_error(
        r, plan_find_pin(entry, named)->at, "include",
        mem_printf("%s is zipped, and this is no value of its list: name %s, too", named, missing));
}

static void check_included_groups(const struct plan *p, struct keys_reader *r,
                                  const struct pins *entry)
{
    const struct zip_group *groups = p->zip.items;

    for (size_t i = 0; i < p->zip.n; i++) {
        size_t n = count_named(&groups[i], entry);

        if (n > 0 && n < groups[i].names.n && plan_find_position(p, &groups[i], entry) == SIZE_MAX)
            refuse_half_group(r, &groups[i], entry);
    }
}

static void check_included_conditions(const struct plan *p, struct keys_reader *r,
                                      const struct pins *entry)
{
    const struct param *params = p->params.items;
    const struct pin *pins = entry->pins.items;
    enum presence *presence = mem_alloc(p->params.n * sizeof *presence);

    plan_find_presence(p, entry, presence);
    for (size_t i = 0; i < entry->pins.n; i++)
        if (presence[find(p, pins[i].name) - params] == PRESENCE_NEVER)
            add_error(r, pins[i].at, "include",
                      mem_printf("with the other values here, when: leaves %s out", pins[i].name));
    free(presence);
}

static void check_entries(const struct plan *p, struct keys_reader *r, bool is_zip_well,
                          bool is_when_well)
{
    const struct pins *exclude = p->exclude.items, *include = p->include.items;

    for (size_t i = 0; i < p->exclude.n; i++)
        check_pins(p, r, "exclude", &exclude[i]);
    for (size_t i = 0; i < p->include.n; i++)
        if (check_pins(p, r, "include", &include[i]) && is_zip_well) {
            check_included_groups(p, r, &include[i]);
            if (is_when_well && p->when.n > 0)
                check_included_conditions(p, r, &include[i]);
        }
}

int plan_check_rest(const struct plan *p, unsigned refused, struct keys_reader *r)
{
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
    check_entries(p, r, is_zip_well, is_when_well);
    return r->n_errors > n_errors ? -1 : 0;
}

int plan_check(const struct plan *p, struct keys_reader *r)
{
    return plan_check_rest(p, 0, r);
}

/* ---- --minimal ---- */

void plan_take_first(struct plan *p, struct arena *a)
{
    struct param *params = p->params.items;

    for (size_t i = 0; i < p->params.n; i++) {
        struct value *first = arena_alloc(a, sizeof *first);

        *first = sample_middle(&params[i]);
        params[i].form = PARAM_FIXED;
        params[i].values = first;
        params[i].n = 1;
    }
    *p = (struct plan){ .params = p->params, .seed = p->seed, .when = p->when };
}
