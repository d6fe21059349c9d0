/* SPDX-License-Identifier: MIT */
/*
 * env_build.h - builds an environment in the cache with pip, uv or conda
 *
 *   cache/DIGEST           the environment: a tree as the others are, once it has its record
 *   cache/.DIGEST.new      what the tool prints meanwhile, and its temporary files
 *   cache/.DIGEST.failed   why it cannot be built
 *
 * The programs of an environment name its path, so it is built where it stays: what says that it is whole
 * is its record, which is written last, under another name, and renamed.
 */
#ifndef LUDWIG_WORKER_STAGER_ENV_BUILD_H
#define LUDWIG_WORKER_STAGER_ENV_BUILD_H

#include "worker/base/env_recipe.h"
#include "worker/stager/cache.h"

struct env_build {
    struct cache *cache;
    const char *cache_dir_path; /* without symlinks, as it becomes part of the environment */
    const struct env_recipe *recipe;
    struct digest tree;
};

/* Whether the environment was built with the interpreter that it would get today, which is unchanged. */
bool env_build_is_current(const struct env_build *b);

/* Removes what there is of it, and builds it.  1: the tool cannot, and a file says why; -1: ERR_NO_SPACE
 * or another trouble of this machine, ERR_BUSY: it was given up. */
int env_build(const struct env_build *b, struct err *e);

#endif
