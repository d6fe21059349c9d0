/* SPDX-License-Identifier: MIT */
/*
 * datasets_prune.h - removes sources and data from the shared drive that no sweep needs
 */
#ifndef LUDWIG_CLIENT_PACK_DATASETS_PRUNE_H
#define LUDWIG_CLIENT_PACK_DATASETS_PRUNE_H

#include "client/pack/datasets.h"

/* Those that the words name, all or none of them: by what a sweep calls them, or by at least 6
 * digits of an id.  What is named in several projects, or begins several ids, names none. */
int datasets_prune_remove(struct datasets *d, const char *const *words, size_t n, struct err *e);

/* Those that no sweep needs or has named for 30 days, and what belongs to none; says what can go
 * and, with removes, removes it. */
int datasets_prune_collect(struct datasets *d, bool removes, struct err *e);

#endif
