/* SPDX-License-Identifier: MIT */
/*
 * source_kind.h - what lies in the folder of a program and is no part of it
 */
#ifndef LUDWIG_CLIENT_PACK_SOURCE_KIND_H
#define LUDWIG_CLIENT_PACK_SOURCE_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* What an entry is that no program consists of, as "an environment"; NULL: it may be the program's.  from:
 * absolute, path: in the source. */
const char *source_kind(const char *from, const char *path, bool is_folder);

/* Whether one of the patterns matches the path or a folder above it: README.md and *.ipynb anywhere,
 * docs/a.txt from the top on, notebooks/ a folder. */
bool source_kind_matches(const char *const *patterns, size_t n, const char *path, bool is_folder);

#endif
