/* SPDX-License-Identifier: MIT */
/*
 * pack_tar.h - the little of tar that parts need: regular files, and long names
 */
#ifndef LUDWIG_COMMON_PACK_PACK_TAR_H
#define LUDWIG_COMMON_PACK_PACK_TAR_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>

enum {
    TAR_BLOCK_BYTES = 512,
    TAR_END_BYTES = 2 * TAR_BLOCK_BYTES,
    TAR_LONG_NAME_MAX = 8 * 1024 /* content of a pax header */
};

/* Appends an entry's header, after a pax header for the name if it is long. */
void tar_add_header(struct buf *out, const char *path, bool executable, size_t size);

/* How many zeros follow content of this size in a tar. */
size_t tar_padding(uint64_t size);
/* The size of an entry in the tar, without a header for a long name. */
uint64_t tar_entry_bytes(uint64_t size);

/* Reads a header's type, '0' for a file, 'x' for a long name, and size; -1 with ERR_PROTOCOL for
 * other types and damaged headers. */
int tar_read_header(const uint8_t header[TAR_BLOCK_BYTES], char *type, uint64_t *size,
                    struct err *e);

#endif
