/* SPDX-License-Identifier: MIT */
/*
 * digests.h - which digests were there before
 *
 * Of each only 64 bits are kept: among a million it happens once in 30 million times that
 * one is taken for another.
 */
#ifndef LUDWIG_CLIENT_UTIL_DIGESTS_H
#define LUDWIG_CLIENT_UTIL_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/digest.h"

struct digests;

struct digests *digests_create(void);
void digests_destroy(struct digests *d); /* NULL is fine */

/* Whether it is a new one. */
bool digests_add(struct digests *d, const struct digest *digest);
size_t digests_count(const struct digests *d);

#endif
