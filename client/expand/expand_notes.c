/* SPDX-License-Identifier: MIT */
/* expand_notes.c - what of when:, exclude: and include: comes to nothing */
#include <stdlib.h>

#include "client/expand/expand_notes.h"
#include "client/spec/spec_when.h"
#include "common/data/json.h"

/* One line, whatever is in the text. */
static void add_shown(struct buf *out, const struct value *v)
{
    bool is_bare = v->type == VALUE_STR;

    for (size_t i = 0; is_bare && i < v->str.n; i++)
        is_bare = (unsigned char)v->str.s[i] >= ' ' && v->str.s[i] != 0x7f;
    (is_bare ? json_add_text : json_add_value)(out, v);
}

static void add_pin(struct buf *out, const struct pin *pin)
{
    buf_printf(out, "%s: %s", pin->name, pin->n > 1 ? "[" : "");
    for (size_t i = 0; i < pin->n; i++) {
        buf_add_str(out, i > 0 ? ", " : "");
        add_shown(out, &pin->values[i]);
    }
    buf_add_str(out, pin->n > 1 ? "]" : "");
}

/* "{lr: 0.3} matches no configuration" */
static void add_unmet(struct buf *out, const struct pins *pins)
{
    const struct pin *items = pins->pins.items;

    buf_add_char(out, '{');
    for (size_t i = 0; i < pins->pins.n; i++) {
        buf_add_str(out, i > 0 ? ", " : "");
        add_pin(out, &items[i]);
    }
    buf_add_str(out, "} matches no configuration\n");
}

static bool is_possible(const struct rule *rule)
{
    for (size_t i = 0; i < rule->n; i++) {
        const struct test *t = &rule->tests[i];
        bool any = false;

        for (size_t k = 0; k < t->n; k++)
            any = any || t->slot->is_possible[t->numbers[k]];
        if (!any)
            return false;
    }
    return true;
}

/* "include: momentum: 0.9 counts only where when: lets momentum be" */
static void add_included(const struct plan *p, const struct pins *entry,
                         const enum presence *presence, struct buf *out)
{
    const struct pin *pins = entry->pins.items;

    for (size_t i = 0; i < entry->pins.n; i++) {
        const struct param *param = params_find(&p->params, pins[i].name);

        if (presence[param - (const struct param *)p->params.items] == PRESENCE_ALWAYS)
            continue;
        buf_add_str(out, "include: ");
        add_pin(out, &pins[i]);
        buf_printf(out, " is dropped where when: leaves %s out\n", pins[i].name);
    }
}

static void add_dropped(const struct plan *p, struct buf *out)
{
    const struct pins *include = p->include.items;
    enum presence *presence;

    if (p->when.n == 0)
        return;
    presence = mem_alloc(p->params.n * sizeof *presence);
    for (size_t i = 0; i < p->include.n; i++) {
        spec_when_find_presence(p, &include[i], presence);
        add_included(p, &include[i], presence, out);
    }
    free(presence);
}

void expand_add_notes(const struct expand *x, struct buf *out)
{
    for (size_t i = 0; i < x->n_conditioned; i++)
        if (!is_possible(x->conditioned[i]->condition)) {
            buf_printf(out, "when: %s: ", x->conditioned[i]->param->name);
            add_unmet(out, x->conditioned[i]->condition->pins);
        }
    for (size_t i = 0; i < x->n_excludes; i++)
        if (!x->excludes[i].is_met) {
            buf_add_str(out, "exclude: ");
            add_unmet(out, x->excludes[i].pins);
        }
    add_dropped(x->plan, out);
}
