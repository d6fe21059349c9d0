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
    TAR_LONG_NAME_MAX = 8 * 1024 /* what a pax header may hold */
};

/* Appends what comes before the content: a header, and one for the name if it is a long one. */
void tar_add_header(struct buf *out, const char *path, bool executable, size_t size);

/* How many zeros come behind so much content. */
size_t tar_padding(uint64_t size);
/* What an entry takes, without a header for a long name. */
uint64_t tar_entry_bytes(uint64_t size);

/* A header's type, '0' for a file, 'x' for a long name, and size; -1 with ERR_PROTOCOL if it is
 * none of these, or damaged. */
int tar_read_header(const uint8_t header[TAR_BLOCK_BYTES], char *type, uint64_t *size,
                    struct err *e);

#endif
