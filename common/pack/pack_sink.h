/* SPDX-License-Identifier: MIT */
/*
 * pack_sink.h - where the parts, lists, blocks and the manifest of a tree go as they arise
 */
#ifndef LUDWIG_COMMON_PACK_PACK_SINK_H
#define LUDWIG_COMMON_PACK_PACK_SINK_H

#include <stdbool.h>

#include "common/pack/pack.h"

enum { PACK_SLOTS = 2 }; /* so many parts are written at a time: one of small files, one of large */

/* Where a piece lies already. */
struct pack_place {
    const struct pack_part *part;
    uint32_t entry;
};

/* Who stores what arises.  All but known may fail (-1 with e set), which ends the packing. */
struct pack_sink {
    void *context;
    /* The bytes of a part follow; its name is known when it is whole. */
    int (*part_begin)(void *context, unsigned slot, struct err *e);
    int (*part_write)(void *context, unsigned slot, struct bytes bytes, struct err *e);
    /* It is whole.  The list must not be found under its name before the part can be.  Not called
     * for a part that was begun when packing fails. */
    int (*part_end)(void *context, unsigned slot, const struct pack_part *part, struct bytes list,
                    struct err *e);
    /* A block, the list of a part in place or, last, the manifest.  It must not be found under its
     * name before all that came earlier can be. */
    int (*object)(void *context, enum pack_object kind, const struct digest *name,
                  struct bytes bytes, struct err *e);
    /* Whether an older part holds the piece; where->part must stay valid during the call.  What is
     * better sent again (little else of its part is wanted) is not known.  May be NULL. */
    bool (*known)(void *context, const struct digest *piece, struct pack_place *where);
    /* A part that has so many bytes before compression is full; 0: PACK_PART_BYTES, which is the most.
     * At least one piece goes into each. */
    uint64_t part_bytes;
};

#endif
