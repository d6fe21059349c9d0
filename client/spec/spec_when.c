/* SPDX-License-Identifier: MIT */
/* spec_when.c - when: the dependencies between parameters, and their effect on include: */
#include <stdlib.h>
#include <string.h>

#include "client/spec/spec_when.h"
#include "common/data/param_digest.h"

/* ---- order ---- */

/* The state of ordering the parameters.  The arrays are indexed by parameter. */
struct ordering {
    const struct plan *plan;
    const struct condition **conditions; /* NULL: the parameter has none */
    const struct zip_group **groups;     /* NULL: the parameter is in none */
    bool *is_awaited;                    /* another parameter's condition names it */
    bool *is_placed;
    size_t *order; /* indices of the n parameters placed so far */
    size_t n;
};

/* Returns the parameter's index; params.n when there is none of that name. */
static size_t number_of(const struct plan *p, const char *name)
{
    const struct param *param = plan_find_param(p, name);

    return param == NULL ? p->params.n : (size_t)(param - (const struct param *)p->params.items);
}

/* Returns the index of a parameter that this one's condition waits for; params.n if it has none. */
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

/* Places a parameter with its zip group; returns whether a condition may have waited for them. */
static bool place(struct ordering *o, size_t number)
{
    const struct zip_group *group = o->groups[number];

    place_one(o, number);
    for (size_t i = 0; group != NULL && i < group->names.n; i++)
        place_one(o, number_of(o->plan, ((const char **)group->names.items)[i]));
    return group != NULL || o->is_awaited[number];
}

static void place_all(struct ordering *o)
{
    for (size_t i = 0; i < o->plan->params.n; i++) {
        bool may_free = is_ready(o, i) && place(o, i);

        /* Earlier parameters that no longer wait are placed now, in the order of the file. */
        while (may_free && o->plan->when.n > 0) {
            size_t freed = 0;

            while (freed < i && !(o->conditions[freed] != NULL && is_ready(o, freed)))
                freed++;
            may_free = freed < i;
            if (may_free)
                place(o, freed);
        }
    }
}

static void ordering_begin(struct ordering *o, const struct plan *p)
{
    size_t n = p->params.n + 1; /* the last item stands for names that are no parameters */
    struct condition *conditions = p->when.items;
    struct zip_group *groups = p->zip.items;

    *o = (struct ordering){ .plan = p,
                            .conditions = mem_alloc(n * sizeof *o->conditions),
                            .groups = mem_alloc(n * sizeof *o->groups),
                            .is_awaited = mem_alloc(n),
                            .is_placed = mem_alloc(n),
                            .order = mem_alloc(n * sizeof *o->order) };
    for (size_t i = 0; i < p->when.n; i++) {
        const struct pin *pins = conditions[i].pins.pins.items;

        o->conditions[number_of(p, conditions[i].name)] = &conditions[i];
        for (size_t k = 0; k < conditions[i].pins.pins.n; k++)
            o->is_awaited[number_of(p, pins[k].name)] = true;
    }
    for (size_t i = 0; i < p->zip.n; i++)
        for (size_t k = 0; k < groups[i].names.n; k++)
            o->groups[number_of(p, ((const char **)groups[i].names.items)[k])] = &groups[i];
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

size_t spec_when_order(const struct plan *p, size_t *order)
{
    struct ordering o;
    size_t n;

    ordering_begin(&o, p);
    n = o.n;
    memcpy(order, o.order, n * sizeof *order);
    ordering_end(&o);
    return n;
}

/* ---- circles ---- */

/* Each parameter that was not placed waits for another such one, so that a walk along these ends in
 * a circle.  A walk that meets an earlier walk ends without telling the circle again. */
void spec_when_each_circle(const struct plan *p, spec_when_on_circle *tell, void *context)
{
    const struct param *params = p->params.items;
    size_t *walks = mem_alloc(p->params.n * sizeof *walks); /* which walk was there; 0: none */
    struct ordering o;

    ordering_begin(&o, p);
    for (size_t i = 0; i < p->params.n; i++) {
        size_t at = i;

        while (!o.is_placed[at] && walks[at] == 0) {
            walks[at] = i + 1;
            at = find_missing(&o, at);
        }
        if (!o.is_placed[at] && walks[at] == i + 1) {
            struct buf way = { 0 };
            size_t begin = at;

            do {
                buf_printf(&way, "%s depends on ", params[at].name);
                at = find_missing(&o, at);
            } while (at != begin);
            buf_add_str(&way, params[begin].name);
            tell(context, o.conditions[begin], buf_take(&way));
        }
    }
    ordering_end(&o);
    free(walks);
}

/* ---- presence in entries of include ---- */

/* Returns the value that the entry gives the parameter, by name or by its zip group; NULL: none. */
static const struct value *value_given(const struct plan *p, const struct pins *entry,
                                       const struct param *param)
{
    const struct pin *pin = plan_find_pin(entry, param->name);
    const struct zip_group *group = plan_find_group(p, param->name);
    size_t position;

    if (pin != NULL)
        return pin->n > 0 ? &pin->values[0] : NULL;
    if (group == NULL || plan_count_pinned(group, entry) == 0)
        return NULL;
    position = plan_find_position(p, group, entry);
    return position < param->n ? &param->values[position] : NULL;
}

static bool matches_pin(const struct pin *pin, const struct value *v)
{
    for (size_t i = 0; i < pin->n; i++)
        if (param_equal(&pin->values[i], v))
            return true;
    return false;
}

static enum presence presence_by(const struct plan *p, const struct pins *entry,
                                 const struct pin *pin, const struct param *param)
{
    const struct value *given = value_given(p, entry, param);

    if (given != NULL)
        return matches_pin(pin, given) ? PRESENCE_ALWAYS : PRESENCE_NEVER;
    for (size_t i = 0; i < param->n; i++)
        if (!matches_pin(pin, &param->values[i]))
            return PRESENCE_VARIES;
    return param->n > 0 ? PRESENCE_ALWAYS : PRESENCE_VARIES;
}

/* Returns the presence of c's parameter; presence has that of all parameters that c names. */
static enum presence presence_under(const struct plan *p, const struct pins *entry,
                                    const struct condition *c, const enum presence *presence)
{
    const struct pin *pins = c->pins.pins.items;
    enum presence worst = PRESENCE_ALWAYS;

    for (size_t i = 0; i < c->pins.pins.n; i++) {
        const struct param *other = plan_find_param(p, pins[i].name);
        enum presence of_other = presence[other - (const struct param *)p->params.items];
        enum presence by_pin = presence_by(p, entry, &pins[i], other);

        worst = of_other > worst ? of_other : worst;
        worst = by_pin > worst ? by_pin : worst;
    }
    return worst;
}

void spec_when_find_presence(const struct plan *p, const struct pins *entry,
                             enum presence *presence)
{
    const struct condition *conditions = p->when.items;
    const struct param *params = p->params.items;
    size_t *order = mem_alloc(p->params.n * sizeof *order);
    size_t n = spec_when_order(p, order);

    for (size_t i = 0; i < p->params.n; i++)
        presence[i] = PRESENCE_ALWAYS;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < p->when.n; k++)
            if (strcmp(conditions[k].name, params[order[i]].name) == 0)
                presence[order[i]] = presence_under(p, entry, &conditions[k], presence);
    free(order);
}
