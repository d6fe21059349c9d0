/* SPDX-License-Identifier: MIT */
/*
 * env_recipe.h - the recipe by which a node builds an environment
 *
 * Equal recipes share one environment: a tree in the cache, named by the recipe's digest.
 */
#ifndef LUDWIG_WORKER_BASE_ENV_RECIPE_H
#define LUDWIG_WORKER_BASE_ENV_RECIPE_H

#include "common/proto/jobspec.h"

struct env_recipe {
    const char *tool; /* NULL: nothing is built */
    const char *file; /* this and the next three: as in struct environment */
    const char *interpreter;
    struct list options;
    struct list modules;
    struct list variables; /* struct env_entry: the sweep's variables that building tools read */
    struct digest files;   /* the tree that file lies in */
};
extern const struct schema env_recipe_schema;

/* Returns the recipe for a sweep's work, its lists in a, without values passed from a shell. */
struct env_recipe env_recipe_of(const struct jobspec *w, struct arena *a);
const struct env_recipe *env_recipe_copy(const struct env_recipe *r, struct arena *a);
/* Returns the tree of the environment that the work needs; zero: nothing is built. */
struct digest env_recipe_tree(const struct jobspec *w);

#endif
