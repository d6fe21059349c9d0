/* SPDX-License-Identifier: MIT */
/*
 * pack_block_form.h - a block as it is stored
 */
#ifndef LUDWIG_COMMON_PACK_PACK_BLOCK_FORM_H
#define LUDWIG_COMMON_PACK_PACK_BLOCK_FORM_H

#include "common/data/schema.h"

enum {
    BLOCK_BODY_BYTES_MAX = 4 * 1024 * 1024,
    BLOCK_PARTS_MAX = 96 * 1024,
    BLOCK_RUNS_MAX = 96 * 1024 /* of one entry */
};

struct stored_block {
    int64_t v;
    struct bytes lists;
    int64_t body_bytes;
    struct bytes body;
};

extern const struct schema block_schema;

#endif
