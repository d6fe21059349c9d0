/* SPDX-License-Identifier: MIT */
/*
 * pack_seen.h - numbers that are known by a digest
 *
 * 96 bits of a digest are kept, so that a million take 32 MiB at most: that two differ in none of
 * them happens once in 10^17 times.
 */
#ifndef LUDWIG_COMMON_PACK_PACK_SEEN_H
#define LUDWIG_COMMON_PACK_PACK_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"

struct pack_seen;

/* What would be more than max is not remembered. */
struct pack_seen *pack_seen_create(size_t max);
void pack_seen_destroy(struct pack_seen *s); /* NULL is fine */

/* number: not UINT32_MAX.  A digest that is there keeps its number. */
void pack_seen_add(struct pack_seen *s, const struct digest *d, uint32_t number);
bool pack_seen_find(const struct pack_seen *s, const struct digest *d, uint32_t *number);

#endif
