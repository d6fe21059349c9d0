/* SPDX-License-Identifier: MIT */
/*
 * param_index.h - finds a configuration's row by its digest
 *
 * Digests come in random order.  If each new one were written to the index at once, it would cost a
 * page of the index, twice, and a submit of a million configurations would write gigabytes.  So
 * ludwigd holds digests of new rows in memory and moves them to the index (table digest) in sorted
 * batches, a slice with every chunk of a submit.  meta.indexed is the last row whose digest is in
 * the index; digests of later rows are read at start.
 */
#ifndef LUDWIG_SERVER_QUEUE_PARAM_INDEX_H
#define LUDWIG_SERVER_QUEUE_PARAM_INDEX_H

#include "server/base/server.h"

enum { PARAM_INDEX_BATCH = 64 * 1024 };

/* Reads the digests that are not in the index yet; NULL with e set on error. */
struct param_index *param_index_create(struct server *sv, struct err *e);
void param_index_destroy(struct param_index *p); /* NULL is fine */

/* Call it before a handler's first param_index_add: what a failed handler added is forgotten. */
void param_index_begin(struct server *sv);
/* Call it after the handler's last one: moves a slice of the waiting digests into the index. */
int param_index_end(struct server *sv, struct err *e);

/* 1 with *param, the configuration's row; 0 when the project does not have it yet; -1. */
int param_index_find(struct server *sv, int64_t project, const struct digest *digest,
                     int64_t *param, struct err *e);
/* Adds a configuration that param_index_find did not find, with number no in its project, and sets
 * *param to its row.  value: its parameters in msgpack. */
int param_index_add(struct server *sv, int64_t project, int64_t no, const struct digest *digest,
                    struct bytes value, int64_t *param, struct err *e);

/* How many digests wait in memory. */
size_t param_index_waiting(const struct param_index *p);

#endif
