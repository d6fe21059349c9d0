/* SPDX-License-Identifier: MIT */
/*
 * env_recipe.h - what an environment is built from on a node
 *
 * Equal recipes make one environment, which lies in the cache as a tree under the digest of the recipe.
 */
#ifndef LUDWIG_WORKER_BASE_ENV_RECIPE_H
#define LUDWIG_WORKER_BASE_ENV_RECIPE_H

#include "common/proto/jobspec.h"

struct env_recipe {
    const char *tool; /* NULL: nothing is built */
    const char *file; /* as struct environment has them */
    const char *interpreter;
    struct list options;
    struct list modules;
    struct list variables; /* struct env_entry: those of the sweep that the tools look at */
    struct digest files;   /* the tree that file lies in */
};
extern const struct schema env_recipe_schema;

/* Of a sweep's work; its lists are in a.  Values that are passed from a shell are no part of it. */
struct env_recipe env_recipe_of(const struct jobspec *w, struct arena *a);
const struct env_recipe *env_recipe_copy(const struct env_recipe *r, struct arena *a);
/* Zero: nothing is built. */
struct digest env_recipe_tree(const struct jobspec *w);

#endif
