/* SPDX-License-Identifier: MIT */
/*
 * source_kind.h - recognises files in a program's folder that are no part of the program
 */
#ifndef LUDWIG_CLIENT_PACK_SOURCE_KIND_H
#define LUDWIG_CLIENT_PACK_SOURCE_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* Returns what the entry is, as "an environment"; NULL: it may be part of the program.  from is its
 * absolute path, path that in the source. */
const char *source_kind(const char *from, const char *path, bool is_folder);

/* Whether one of n patterns matches the path or a folder above it: README.md and *.ipynb match
 * anywhere, docs/a.txt from the top on, notebooks/ only a folder. */
bool source_kind_matches(const char *const *patterns, size_t n, const char *path, bool is_folder);

#endif
