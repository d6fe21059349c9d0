/* SPDX-License-Identifier: MIT */
/*
 * pack_bytes.h - numbers, digests and compressed bytes in the objects of a pack
 */
#ifndef LUDWIG_COMMON_PACK_PACK_BYTES_H
#define LUDWIG_COMMON_PACK_PACK_BYTES_H

#include "common/pack/pack.h"

/* Little-endian, of width bytes. */
void pack_add_number(struct buf *out, uint64_t number, size_t width);
uint64_t pack_number_at(const uint8_t *numbers, size_t i, size_t width);

/* -1 with ERR_PROTOCOL if it is too large for its kind, or its bytes do not have that digest. */
int pack_check_digest(const struct digest *name, struct bytes stored, enum pack_object kind,
                      struct err *e);

/* One zstd frame. */
void pack_compress(struct bytes from, struct buf *out);
/* Appends the size bytes that it must unpack to. */
int pack_uncompress(struct bytes from, size_t size, struct buf *out, struct err *e);

#endif
