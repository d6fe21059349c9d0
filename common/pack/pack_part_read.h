/* SPDX-License-Identifier: MIT */
/*
 * pack_part_read.h - the pieces of a part, each checked before anybody sees it
 *
 * A part is read from its first byte to its last.  It may be as hostile as it likes: what is handed
 * out has size and SHA-256 as the list says, and nothing is read or unpacked beyond that.  The
 * names in it are ignored.  A reader belongs to one thread; several may share a list.
 */
#ifndef LUDWIG_COMMON_PACK_PACK_PART_READ_H
#define LUDWIG_COMMON_PACK_PACK_PART_READ_H

#include <sys/types.h>

#include "common/pack/pack_list.h"

/* Up to n bytes of what is stored; 0 at the end, -1 with e set.  Of a part in place: of the file
 * from list->offset on. */
typedef ssize_t (*part_read_fn)(void *context, void *bytes, size_t n, struct err *e);

struct part_reader;

/* The list must live as long.  One reader can read many parts, one after the other. */
struct part_reader *part_reader_create(void);
void part_reader_destroy(struct part_reader *r); /* NULL is fine */
void part_begin(struct part_reader *r, const struct pack_list *list, part_read_fn read,
                void *context);

/* The next piece: 1 with all of its content, valid until the next call; 0 after the last, when the
 * part ended as it should; -1, with ERR_PROTOCOL when the part is not what it should be.  content
 * NULL: nobody wants that piece, and its digest is not looked at. */
int part_next(struct part_reader *r, struct bytes *content, struct err *e);

#endif
