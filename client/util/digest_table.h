/* SPDX-License-Identifier: MIT */
/*
 * digest_table.h - which digests were there before
 *
 * Of each only 64 bits are kept: among a million it happens once in 30 million times that
 * one is taken for another.
 */
#ifndef LUDWIG_CLIENT_UTIL_DIGEST_TABLE_H
#define LUDWIG_CLIENT_UTIL_DIGEST_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/digest.h"

struct digest_table;

struct digest_table *digest_table_create(void);
void digest_table_destroy(struct digest_table *d); /* NULL is fine */

/* Whether it is a new one. */
bool digest_table_add(struct digest_table *d, const struct digest *digest);
size_t digest_table_count(const struct digest_table *d);

#endif
