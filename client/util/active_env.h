/* SPDX-License-Identifier: MIT */
/*
 * active_env.h - finds environments of Python and others that are active in this shell
 *
 * Their makers set a variable to the active environment's folder, and put its programs into PATH.
 */
#ifndef LUDWIG_CLIENT_UTIL_ACTIVE_ENV_H
#define LUDWIG_CLIENT_UTIL_ACTIVE_ENV_H

#include <stdbool.h>
#include <stddef.h>

enum { ACTIVE_MAKERS = 2 };

struct active_maker {
    const char *kind;     /* "venv": virtualenv and uv, too; "conda": pixi, too */
    const char *variable; /* that it sets to the folder: VIRTUAL_ENV */
    const char *mark;     /* a file or folder in each of its environments */
};
extern const struct active_maker active_makers[ACTIVE_MAKERS];

/* Whether the path, of n bytes, is the folder or lies below it. */
bool active_env_is_below(const char *path, size_t n, const char *folder);

/* Returns PATH without active environments' folders; the caller frees it.  NULL: PATH is unset. */
char *active_env_path_without(void);

#endif
