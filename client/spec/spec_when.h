/* SPDX-License-Identifier: MIT */
/*
 * spec_when.h - when: the dependencies between parameters, and what they mean for include:
 */
#ifndef LUDWIG_CLIENT_SPEC_SPEC_WHEN_H
#define LUDWIG_CLIENT_SPEC_SPEC_WHEN_H

#include "client/spec/plan.h"

/*
 * Fills order with the indices of the plan's parameters, each behind those that its condition names
 * and else as in the file.  Returns how many could be placed: fewer than all when conditions form a
 * circle.
 */
size_t spec_when_order(const struct plan *p, size_t *order);

/* Calls tell once for each circle of conditions, with the condition of one parameter of the circle
 * and the text "a depends on b depends on a", which tell frees. */
typedef void spec_when_on_circle(void *context, const struct condition *first, char *way);
void spec_when_each_circle(const struct plan *p, spec_when_on_circle *tell, void *context);

/* Whether a parameter is present in the configurations of an entry of include:. */
enum presence {
    PRESENCE_ALWAYS,
    PRESENCE_VARIES, /* depends on parameters that the entry does not name */
    PRESENCE_NEVER   /* the entry's own values rule the parameter out */
};
/* Fills presence[i] for each parameter i of the plan, whose conditions must form no circle. */
void spec_when_find_presence(const struct plan *p, const struct pins *entry,
                             enum presence *presence);

#endif
