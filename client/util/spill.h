/* SPDX-License-Identifier: MIT */
/*
 * spill.h - bytes that are too many for memory, in a temporary file
 *
 * Each is kept behind what was kept before it, until all of them are dropped.  Only a disk of this
 * machine is used: memory would be no better than memory, and what a network loses after it took it
 * may be read as zeros.
 */
#ifndef LUDWIG_CLIENT_UTIL_SPILL_H
#define LUDWIG_CLIENT_UTIL_SPILL_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"

struct spill;

/* max_bytes: ever.  The file is made when there is something to keep. */
struct spill *spill_create(uint64_t max_bytes);
void spill_destroy(struct spill *s); /* NULL is fine */

/* How many bytes more can be kept, as far as is known. */
uint64_t spill_room(const struct spill *s);
/* *at: where they begin.  false: nothing of them is kept, as they are too many or the disk takes no
 * more. */
bool spill_keep(struct spill *s, struct bytes bytes, uint64_t *at);
/* Bytes that were kept, wherever one spill_keep ended and the next began. */
int spill_read(const struct spill *s, uint64_t at, void *to, size_t n, struct err *e);
/* Nothing that was kept is wanted any more. */
void spill_clear(struct spill *s);

#endif
