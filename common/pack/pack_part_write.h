/* SPDX-License-Identifier: MIT */
/*
 * pack_part_write.h - pieces become parts, one after the other, in one slot of a sink
 */
#ifndef LUDWIG_COMMON_PACK_PACK_PART_WRITE_H
#define LUDWIG_COMMON_PACK_PACK_PART_WRITE_H

#include "common/pack/pack_sink.h"

struct part_writer;

/* is_tar: of whole files; else of pieces of large ones.  The sink must live as long. */
struct part_writer *part_writer_create(const struct pack_sink *sink, unsigned slot, bool is_tar);
void part_writer_destroy(struct part_writer *w); /* NULL is fine */

/* How many pieces the current part has; 0: none is begun. */
uint32_t part_writer_count(const struct part_writer *w);
/* Whether a piece of so many bytes goes into the current part. */
bool part_writer_has_room(const struct part_writer *w, size_t size);

/* Where a piece comes from. */
struct part_piece {
    const char *path;
    bool executable;
    struct digest digest;
    struct bytes content;
};

int part_writer_add(struct part_writer *w, const struct part_piece *piece, struct err *e);
/* Ends the current part, which is not empty.  *list_bytes: what its list takes. */
int part_writer_end(struct part_writer *w, struct pack_part *part, size_t *list_bytes,
                    struct err *e);

#endif
