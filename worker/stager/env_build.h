/* SPDX-License-Identifier: MIT */
/*
 * env_build.h - builds an environment in the cache with pip, uv or conda
 *
 *   cache/DIGEST           the environment: a tree like the others once it has its record
 *   cache/.DIGEST.new      while it is built: the tool's output and temporary files
 *   cache/.DIGEST.failed   why it could not be built
 *
 * The programs of an environment name its path, so it is built where it stays.  Its record, which
 * is written last, under another name, and renamed, shows that it is whole.
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

/* Whether the environment was built with the interpreter that it would get today, unchanged. */
bool env_build_is_current(const struct env_build *b);

/* Removes what there is of the environment, and builds it.  Returns 0; 1: the tool failed, which
 * .DIGEST.failed explains; -1: trouble of this machine, as ERR_NO_SPACE, or ERR_BUSY: given up. */
int env_build(const struct env_build *b, struct err *e);

#endif
