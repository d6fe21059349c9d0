/* SPDX-License-Identifier: MIT */
/*
 * param_index.h - finds a configuration's row by its digest
 *
 * Digests come in random order.  Written to their index one by one, each new one
 * costs a page of it, twice, and a submit of a million configurations would write
 * gigabytes.  So digests of new rows are held in memory, and go to the index
 * (table digest) in sorted batches, a slice with every chunk that comes.
 * meta.indexed is the last row whose digest went there; digests of later rows are read at start.
 */
#ifndef LUDWIG_SERVER_QUEUE_PARAM_INDEX_H
#define LUDWIG_SERVER_QUEUE_PARAM_INDEX_H

#include "server/base/server.h"

enum { PARAM_INDEX_BATCH = 64 * 1024 };

/* Reads the digests that are not in the index yet.  NULL with e set. */
struct param_index *param_index_create(struct server *sv, struct err *e);
void param_index_destroy(struct param_index *p); /* NULL is fine */

/* Call before a handler's first param_index_add: what a failed handler added is forgotten. */
void param_index_begin(struct server *sv);
/* Call after the handler's last: moves a slice of the waiting digests into the index. */
int param_index_end(struct server *sv, struct err *e);

/* 1 and the row, 0 when the project does not have the configuration yet, -1. */
int param_index_find(struct server *sv, int64_t project, const struct digest *digest,
                     int64_t *param, struct err *e);
/* One that param_index_find did not find. */
int param_index_add(struct server *sv, int64_t project, int64_t no, const struct digest *digest,
                    struct bytes value, int64_t *param, struct err *e);

/* How many digests wait in memory. */
size_t param_index_waiting(const struct param_index *p);

#endif
