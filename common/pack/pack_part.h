/* SPDX-License-Identifier: MIT */
/*
 * pack_part.h - a part: pieces one behind the other, as files of a tar or bare, perhaps compressed
 *
 * Writing: pieces become parts, one after the other, in one slot of a sink.
 *
 * Reading: a part is read from its first byte to its last, and is not trusted.  Each piece that is
 * given has the size and SHA-256 that the list says; nothing is read or unpacked beyond that, and
 * names in the part are ignored.  A reader belongs to one thread; several may share a list.
 */
#ifndef LUDWIG_COMMON_PACK_PACK_PART_H
#define LUDWIG_COMMON_PACK_PACK_PART_H

#include <sys/types.h>

#include "common/pack/pack_object.h"

/* ---- writing ---- */

struct part_writer;

/* is_tar: the parts are tars of whole files; otherwise they hold pieces of large files.  The sink
 * must outlive the writer. */
struct part_writer *part_writer_create(const struct pack_sink *sink, unsigned slot, bool is_tar);
void part_writer_destroy(struct part_writer *w); /* NULL is fine */

/* Pieces in the current part; 0: no part is begun. */
uint32_t part_writer_count(const struct part_writer *w);
/* Whether a piece of this size fits into the current part. */
bool part_writer_has_room(const struct part_writer *w, size_t size);

/* A piece and its file. */
struct part_piece {
    const char *path;
    bool executable;
    struct digest digest;
    struct bytes content;
};

int part_writer_add(struct part_writer *w, const struct part_piece *piece, struct err *e);
/* Ends the current part, which is not empty.  *list_bytes: the size of its stored list. */
int part_writer_end(struct part_writer *w, struct pack_part *part, size_t *list_bytes,
                    struct err *e);

/* ---- reading ---- */

/* Reads up to n bytes of the stored part, or, for a part in place, of the file from list->offset
 * on; 0 at the end, -1 with e set. */
typedef ssize_t (*part_read_fn)(void *context, void *bytes, size_t n, struct err *e);

struct part_reader;

/* One reader can read many parts, one after the other; a part's list must live until its end. */
struct part_reader *part_reader_create(void);
void part_reader_destroy(struct part_reader *r); /* NULL is fine */
void part_begin(struct part_reader *r, const struct pack_list *list, part_read_fn read,
                void *context);

/* Reads the next piece.  Returns 1 with all of its content, valid until the next call; 0 after the
 * last, if the part ended as it should; -1 with e set, ERR_PROTOCOL if the part is damaged.
 * content NULL: skips the piece without checking its digest. */
int part_next(struct part_reader *r, struct bytes *content, struct err *e);

#endif
