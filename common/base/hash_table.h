/* SPDX-License-Identifier: MIT */
/*
 * hash_table.h - a table from digests to numbers
 *
 * 96 bits of a digest are kept, so that a million entries take 32 MiB at most; two of a million
 * digests have the same 96 bits once in 10^17 times.  Other keys are stored by their digest.
 * Digests must be random: each is its own hash.
 */
#ifndef LUDWIG_COMMON_BASE_HASH_TABLE_H
#define LUDWIG_COMMON_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"

struct hash_table;

/* A key for a number: another one for each, and random. */
struct digest hash_table_key(int64_t number);

/* A full table, of max entries, takes no more. */
struct hash_table *hash_table_create(size_t max);
void hash_table_destroy(struct hash_table *t); /* NULL is fine */

/* Whether the digest is new; a digest that is there already keeps its number, and a full table
 * takes none.  number: not UINT32_MAX. */
bool hash_table_add(struct hash_table *t, const struct digest *d, uint32_t number);
/* Whether the table has the digest; *number is its number (number may be NULL). */
bool hash_table_find(const struct hash_table *t, const struct digest *d, uint32_t *number);
size_t hash_table_count(const struct hash_table *t);
/* Forgets all entries. */
void hash_table_clear(struct hash_table *t);

#endif
