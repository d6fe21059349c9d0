/* SPDX-License-Identifier: MIT */
/*
 * pack_write.h - turns a tree into parts, lists, blocks and a manifest, in one pass
 *
 * Entries are added in the order of pack_path_compare, each after its folder, which is the order of
 * a walk that sorts each folder's names.  Content that neither the share nor this tree has had
 * before goes into parts, whose bytes the sink gets at once; each file is read at most once.
 * Memory stays below 40 MiB whatever the size of the tree.  The same tree with the same pieces
 * known gives the same bytes again.
 *
 *     w = pack_writer_create(&sink);
 *     pack_add_folder(w, "a", e);
 *     pack_add_file(w, "a/b", false, fd, &added, e);
 *     pack_end(w, &summary, e);
 *     pack_writer_destroy(w);
 *
 * After a function failed the writer can only be destroyed.
 */
#ifndef LUDWIG_COMMON_PACK_PACK_WRITE_H
#define LUDWIG_COMMON_PACK_PACK_WRITE_H

#include "common/pack/pack.h"

/* The content of a file when it was read.  Valid until the next call. */
struct pack_added {
    const struct digest *pieces; /* a hole's digest is zeros */
    size_t n_pieces;
    uint64_t size;
};

struct pack_summary {
    struct digest id;   /* of the manifest */
    struct digest tree; /* of the content, wherever it is stored */
    struct pack_totals totals;
    int64_t new_bytes;      /* of content that was not known */
    int64_t stored_bytes;   /* of the parts written */
    int64_t manifest_bytes; /* of the objects given to the sink; some may be stored already */
};

struct pack_writer;

struct pack_writer *pack_writer_create(const struct pack_sink *sink); /* copies *sink */
void pack_writer_destroy(struct pack_writer *w);                      /* NULL is fine */

int pack_add_folder(struct pack_writer *w, const char *path, struct err *e);
int pack_add_symlink(struct pack_writer *w, const char *path, const char *target, struct err *e);
/* target: a file that was added before */
int pack_add_hard_link(struct pack_writer *w, const char *path, const char *target, struct err *e);

/* Reads fd from its start to its end, even if it grows or shrinks meanwhile: the entry has the
 * bytes that were read, and the caller checks whether the file has changed. */
int pack_add_file(struct pack_writer *w, const char *path, bool executable, int fd,
                  struct pack_added *added, struct err *e);
/* Adds a file without reading it, as it is unchanged since *file was filled.  Returns 1 when it is
 * added; 0 when a piece is new to share and tree: nothing is added, and the file must be read. */
int pack_add_unread(struct pack_writer *w, const char *path, bool executable,
                    const struct pack_added *file, struct err *e);
/* As pack_add_file, for a file that lies on the share and stays there; top: the path of the tree's
 * top, relative to the share, the same for all of a tree. */
int pack_add_in_place(struct pack_writer *w, const char *path, bool executable, int fd,
                      const char *top, struct pack_added *added, struct err *e);
/* The same without reading, under the conditions of pack_add_unread. */
int pack_add_in_place_unread(struct pack_writer *w, const char *path, bool executable,
                             const char *top, const struct pack_added *file, struct err *e);

int pack_end(struct pack_writer *w, struct pack_summary *summary, struct err *e);

#endif
