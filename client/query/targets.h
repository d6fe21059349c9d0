/* SPDX-License-Identifier: MIT */
/*
 * targets.h - which jobs of which sweeps, each of them once
 */
#ifndef LUDWIG_CLIENT_QUERY_TARGETS_H
#define LUDWIG_CLIENT_QUERY_TARGETS_H

#include "common/base/mem.h"
#include "common/proto/proto.h"

struct targets {
    struct arena *arena; /* they live here */
    struct target *items;
    size_t n, capacity;
};

static inline bool target_is_whole(const struct target *t)
{
    return t->first == 0;
}

/* A job behind the last one of the same sweep makes that target longer. */
void targets_add(struct targets *t, const struct target *more);
/* In order; those that overlap or touch become one, and a whole sweep takes in its jobs. */
void targets_merge(struct targets *t);

#endif
