/* SPDX-License-Identifier: MIT */
/* expand_make.c - makes slots, wheels and rules of a plan */
#include <string.h>

#include "client/expand/expand_make.h"
#include "client/spec/spec_when.h"
#include "common/data/msgpack.h"
#include "common/data/param_digest.h"

static struct slot *find_slot(const struct expand *x, const char *name)
{
    const struct param *params = x->plan->params.items;

    return &x->slots[params_find(&x->plan->params, name) - params];
}

static void make_slots(struct expand *x)
{
    const struct param *params = x->plan->params.items;

    x->n_slots = x->n_present = x->plan->params.n;
    x->slots = arena_alloc(x->arena, x->n_slots * sizeof *x->slots);
    for (size_t i = 0; i < x->n_slots; i++) {
        struct slot *s = &x->slots[i];
        struct buf piece = { 0 };

        *s = (struct slot){ .param = &params[i], .is_present = true };
        mp_add_str(&piece, s->param->name, strlen(s->param->name));
        s->n_key = piece.n;
        if (s->param->form == PARAM_FIXED)
            mp_add_value(&piece, &s->param->values[0]);
        s->piece.n = piece.n;
        s->piece.data = (const uint8_t *)arena_strndup(x->arena, buf_text(&piece), piece.n);
        buf_free(&piece);
    }
}

static void make_wheel(struct expand *x, struct wheel *w, struct slot *first)
{
    w->group = plan_find_group(x->plan, first->param->name);
    w->slots = arena_alloc(x->arena, (w->group == NULL ? 1 : w->group->names.n) * sizeof first);
    w->n = first->param->n;
    for (struct slot *s = first; s < x->slots + x->n_slots; s++) {
        bool is_one = s == first ||
                      (w->group != NULL && plan_find_group(x->plan, s->param->name) == w->group);

        if (is_one) {
            s->wheel = w;
            w->slots[w->n_slots++] = s;
        }
        if (w->group == NULL || w->n_slots == w->group->names.n)
            break;
    }
}

static void make_wheels(struct expand *x, const size_t *order)
{
    x->wheels = arena_alloc(x->arena, x->n_slots * sizeof *x->wheels);
    for (size_t i = 0; i < x->n_slots; i++) {
        struct slot *s = &x->slots[order[i]];

        if (s->param->form != PARAM_FIXED && s->wheel == NULL)
            make_wheel(x, &x->wheels[x->n_wheels++], s);
        if (s->wheel != NULL)
            s->depth = (size_t)(s->wheel - x->wheels) + 1;
    }
    x->turning = arena_alloc(x->arena, x->n_wheels * sizeof *x->turning);
}

/* Numbers dimensions in the order of the sweep file, so that conditions do not change them. */
static void make_samplers(struct expand *x)
{
    unsigned dimension = 0;

    for (size_t i = 0; i < x->n_slots; i++) {
        struct wheel *w = x->slots[i].wheel;
        const char *name = x->slots[i].param->name;

        if (w == NULL || w->slots[0] != &x->slots[i])
            continue;
        if (w->group != NULL)
            name = *(const char **)w->group->names.items;
        sampler_init(&w->sampler, x->plan, x->slots[i].param, name, dimension++);
    }
}

/* ---- values that pins name ---- */

int expand_number_of(const struct slot *s, const struct value *v)
{
    struct digest digest;
    uint32_t number;

    if (s->named == NULL)
        return EXPAND_NO_NUMBER;
    param_digest(v, &digest);
    return hash_table_find(s->named, &digest, &number) ? (int)number : EXPAND_NO_NUMBER;
}

static void name_values(struct expand *x, const struct pins *pins)
{
    const struct pin *items = pins->pins.items;

    for (size_t i = 0; i < pins->pins.n; i++) {
        struct slot *s = find_slot(x, items[i].name);

        if (s->named == NULL)
            s->named = hash_table_create(SIZE_MAX);
        for (size_t k = 0; k < items[i].n; k++) {
            struct digest digest;

            param_digest(&items[i].values[k], &digest);
            (void)hash_table_add(s->named, &digest, (uint32_t)hash_table_count(s->named));
        }
    }
}

static void mark_possible(struct slot *s, int number)
{
    if (number != EXPAND_NO_NUMBER)
        s->is_possible[number] = true;
}

static void number_values(struct expand *x, struct slot *s)
{
    int *numbers = arena_alloc(x->arena, (s->param->n + 1) * sizeof *numbers);

    s->is_possible = arena_alloc(x->arena, hash_table_count(s->named));
    for (size_t i = 0; i < s->param->n; i++) {
        numbers[i] = expand_number_of(s, &s->param->values[i]);
        mark_possible(s, numbers[i]);
    }
    if (s->param->n == 0) /* a distribution may give any value */
        memset(s->is_possible, true, hash_table_count(s->named));
    s->numbers = numbers;
}

static void name_all_values(struct expand *x)
{
    const struct plan *p = x->plan;
    const struct condition *conditions = p->when.items;
    const struct pins *exclude = p->exclude.items, *include = p->include.items;

    for (size_t i = 0; i < p->when.n; i++)
        name_values(x, &conditions[i].pins);
    for (size_t i = 0; i < p->exclude.n; i++)
        name_values(x, &exclude[i]);
    for (size_t i = 0; i < x->n_slots; i++)
        if (x->slots[i].named != NULL)
            number_values(x, &x->slots[i]);
    for (size_t i = 0; i < p->include.n; i++) {
        const struct pin *pins = include[i].pins.items;

        for (size_t k = 0; k < include[i].pins.n; k++) {
            struct slot *s = find_slot(x, pins[k].name);

            mark_possible(s, expand_number_of(s, &pins[k].values[0]));
        }
    }
}

/* ---- rules ---- */

static void make_rule(struct expand *x, struct rule *rule, const struct pins *pins)
{
    const struct pin *items = pins->pins.items;

    *rule = (struct rule){ .pins = pins, .n = pins->pins.n };
    rule->tests = arena_alloc(x->arena, rule->n * sizeof *rule->tests);
    for (size_t i = 0; i < rule->n; i++) {
        const struct slot *s = find_slot(x, items[i].name);
        int *numbers = arena_alloc(x->arena, items[i].n * sizeof *numbers);

        for (size_t k = 0; k < items[i].n; k++)
            numbers[k] = expand_number_of(s, &items[i].values[k]);
        rule->tests[i] = (struct test){ s, numbers, items[i].n };
        if (s->wheel != NULL)
            s->wheel->is_entangled = true;
        if (s->depth > rule->depth)
            rule->depth = s->depth;
    }
}

/* Goes in `order`, so that slots that a condition names have their depth already. */
static void make_conditions(struct expand *x, const size_t *order)
{
    const struct condition *conditions = x->plan->when.items;
    const struct condition **of_slot = arena_alloc(x->arena, x->n_slots * sizeof *of_slot);

    x->conditioned = arena_alloc(x->arena, x->plan->when.n * sizeof *x->conditioned);
    for (size_t i = 0; i < x->plan->when.n; i++)
        of_slot[find_slot(x, conditions[i].name) - x->slots] = &conditions[i];
    for (size_t i = 0; i < x->n_slots; i++) {
        struct slot *s = &x->slots[order[i]];
        struct rule *rule;

        if (of_slot[order[i]] == NULL)
            continue;
        rule = arena_alloc(x->arena, sizeof *rule);
        make_rule(x, rule, &of_slot[order[i]]->pins);
        s->condition = rule;
        if (s->wheel != NULL)
            s->wheel->is_entangled = true;
        if (rule->depth > s->depth)
            s->depth = rule->depth;
        x->conditioned[x->n_conditioned++] = s;
    }
}

struct expand *expand_make(const struct plan *plan)
{
    struct expand *x = mem_alloc(sizeof *x);
    const struct pins *exclude = plan->exclude.items;
    size_t *order;

    x->plan = plan;
    x->arena = arena_create();
    order = arena_alloc(x->arena, plan->params.n * sizeof *order);
    spec_when_order(plan, order);
    x->n_parts = 1 + plan->include.n;
    x->counts = arena_alloc(x->arena, x->n_parts * sizeof *x->counts);
    make_slots(x);
    make_wheels(x, order);
    if (plan->method != METHOD_GRID)
        make_samplers(x);
    name_all_values(x);
    make_conditions(x, order);
    x->n_excludes = plan->exclude.n;
    x->excludes = arena_alloc(x->arena, x->n_excludes * sizeof *x->excludes);
    for (size_t i = 0; i < x->n_excludes; i++)
        make_rule(x, &x->excludes[i], &exclude[i]);
    return x;
}
