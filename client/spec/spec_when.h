/* SPDX-License-Identifier: MIT */
/*
 * spec_when.h - when: the dependencies between parameters, and their effect on include:
 */
#ifndef LUDWIG_CLIENT_SPEC_SPEC_WHEN_H
#define LUDWIG_CLIENT_SPEC_SPEC_WHEN_H

#include "client/spec/plan.h"

/*
 * Fills order with the numbers of the parameters, each behind those that its condition names and
 * else as in the file.  Returns how many could be placed: fewer than all when conditions form a
 * circle.
 */
size_t spec_when_order(const struct plan *p, size_t *order);

/* Calls tell with each circle once: the condition of its first parameter, and the text "a depends
 * on b depends on a", which tell frees. */
typedef void spec_when_on_circle(void *context, const struct condition *first, char *way);
void spec_when_each_circle(const struct plan *p, spec_when_on_circle *tell, void *context);

/* Whether a parameter is present in the configurations of an entry of include:. */
enum presence {
    PRESENCE_ALWAYS,
    PRESENCE_VARIES, /* depends on parameters that the entry does not name */
    PRESENCE_NEVER   /* ruled out by the entry's own values */
};
/* Fills presence for each parameter, in the order of the plan; conditions must form no circle. */
void spec_when_find_presence(const struct plan *p, const struct pins *entry,
                             enum presence *presence);

#endif
