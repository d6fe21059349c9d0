/* SPDX-License-Identifier: MIT */
/* minimal.c - what --minimal leaves of a plan */
#include "client/spec/minimal.h"
#include "client/spec/sample.h"

void minimal_take_first(struct plan *p, struct arena *a)
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
