/* SPDX-License-Identifier: MIT */
/*
 * spec_when.h - when: who depends on whom, and what that makes of include:
 */
#ifndef LUDWIG_CLIENT_SPEC_SPEC_WHEN_H
#define LUDWIG_CLIENT_SPEC_SPEC_WHEN_H

#include "client/spec/plan.h"

/*
 * Fills order with the numbers of the parameters, each behind those that its condition names and
 * else as in the file.  Returns how many could be placed: fewer than there are when conditions go in
 * a circle.
 */
size_t spec_when_order(const struct plan *p, size_t *order);

/* Calls tell with each circle once: the condition of its first parameter, and "a depends on b depends on a",
 * which tell frees. */
typedef void spec_when_on_circle(void *context, const struct condition *first, char *way);
void spec_when_each_circle(const struct plan *p, spec_when_on_circle *tell, void *context);

/* What when: makes of a parameter that an entry of include: gives a value. */
enum presence {
    PRESENCE_ALWAYS,
    PRESENCE_VARIES, /* with what the entry does not say */
    PRESENCE_NEVER   /* the entry's own values decide that */
};
/* Of each parameter, in the order of the plan; conditions must not go in a circle. */
void spec_when_find_presence(const struct plan *p, const struct pins *entry,
                             enum presence *presence);

#endif
