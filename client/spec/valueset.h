/* SPDX-License-Identifier: MIT */
/*
 * valueset.h - a few values, numbered, and which of them another one is
 *
 * Two values are the same when they make the same configuration (common/data/param_digest.h): 1 and 1.0.
 * Add all, call valueset_sort, then find.  Zero-initialised is empty.
 */
#ifndef LUDWIG_CLIENT_SPEC_VALUESET_H
#define LUDWIG_CLIENT_SPEC_VALUESET_H

#include "common/data/value.h"

enum { VALUESET_NONE = -1 };

struct valueset {
    char **texts; /* canonical */
    size_t n;
    size_t capacity;
};

void valueset_free(struct valueset *s);
void valueset_add(struct valueset *s, const struct value *v);
/* Gives them their numbers, from 0 to below s->n. */
void valueset_sort(struct valueset *s);
/* VALUESET_NONE when it is none of them. */
int valueset_find(const struct valueset *s, const struct value *v);

#endif
