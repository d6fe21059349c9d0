/* SPDX-License-Identifier: MIT */
/*
 * hash_table.h - numbers that are known by a digest
 *
 * 96 bits of a digest are kept, so that a million entries take 32 MiB at most: that two of a million
 * digests differ in none of them happens once in 10^17 times.  What is known by something else is known
 * by the digest of that.  The digests must be random: they are their own hashes.
 */
#ifndef LUDWIG_COMMON_BASE_HASH_TABLE_H
#define LUDWIG_COMMON_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"

struct hash_table;

/* What would be more than max entries is not remembered. */
struct hash_table *hash_table_create(size_t max);
void hash_table_destroy(struct hash_table *t); /* NULL is fine */

/* number: not UINT32_MAX.  A digest that is there keeps its number.  Whether it is a new one. */
bool hash_table_add(struct hash_table *t, const struct digest *d, uint32_t number);
/* number: NULL: it is not asked for. */
bool hash_table_find(const struct hash_table *t, const struct digest *d, uint32_t *number);
size_t hash_table_count(const struct hash_table *t);
/* Forgets all. */
void hash_table_clear(struct hash_table *t);

#endif
