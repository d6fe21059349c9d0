/* SPDX-License-Identifier: MIT */
/*
 * active_env.h - environments of Python and others that are active in this shell
 *
 * Each maker of them sets a variable to the folder of the active one and puts its programs into PATH.
 */
#ifndef LUDWIG_CLIENT_UTIL_ACTIVE_ENV_H
#define LUDWIG_CLIENT_UTIL_ACTIVE_ENV_H

#include <stdbool.h>
#include <stddef.h>

enum { ACTIVE_MAKERS = 2 };

struct active_maker {
    const char *kind;     /* "venv": virtualenv and uv, too; "conda": pixi, too */
    const char *variable; /* VIRTUAL_ENV */
    const char *mark;     /* what lies in each of its folders */
};
extern const struct active_maker active_makers[ACTIVE_MAKERS];

/* Whether the path, of n bytes, is the folder or lies below it. */
bool active_env_is_below(const char *path, size_t n, const char *folder);

/* PATH without what lies below the active ones; the caller frees it.  NULL: there is no PATH. */
char *active_env_path_without(void);

#endif
