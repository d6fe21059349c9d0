/* SPDX-License-Identifier: MIT */
/*
 * params.h - which row a configuration has, by its digest
 *
 * Digests come in random order.  Written to their index one by one, each new one
 * costs a page of it, twice, and a submit of a million configurations would write
 * gigabytes.  So those of new rows are held in memory, and go to the index
 * (table digest) in sorted batches, a slice with every chunk that comes.
 * meta.indexed is the last row whose digest went there; those behind it are read at start.
 */
#ifndef LUDWIG_SERVER_QUEUE_PARAMS_H
#define LUDWIG_SERVER_QUEUE_PARAMS_H

#include "server/base/server.h"

enum { PARAMS_BATCH = 64 * 1024 };

/* Reads what is not in the index yet.  NULL with e set. */
struct params *params_create(struct server *sv, struct err *e);
void params_destroy(struct params *p); /* NULL is fine */

/* Before a handler's first params_add: should it fail, those are forgotten. */
void params_begin(struct server *sv);
/* After its last: brings a slice of what waits into the index. */
int params_end(struct server *sv, struct err *e);

/* 1 and the row, 0 when the project does not have the configuration yet, -1. */
int params_find(struct server *sv, int64_t project, const struct digest *digest, int64_t *param,
                struct err *e);
/* One that params_find did not find. */
int params_add(struct server *sv, int64_t project, int64_t no, const struct digest *digest,
               struct bytes value, int64_t *param, struct err *e);

/* How many wait in memory. */
size_t params_waiting(const struct params *p);

#endif
