/* SPDX-License-Identifier: MIT */
/*
 * pack_write.h - a tree becomes parts, lists, blocks and a manifest, in one pass
 *
 * Entries are added in the order of pack_path_compare, each after its folder, as a walk comes upon them
 * that sorts the names of each folder.  Content that is neither known nor was seen before goes
 * into parts, whose bytes the sink gets as they arise; the files read are read once.  Memory stays
 * below 40 MiB whatever the size of the tree.  The same tree with the same things known gives the
 * same bytes again.
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

/* What a file was when it was read.  Valid until the next call. */
struct pack_added {
    const struct digest *pieces; /* a hole's: zeros */
    size_t n_pieces;
    uint64_t size;
};

struct pack_summary {
    struct digest id;   /* of the manifest */
    struct digest tree; /* of what is in it, wherever it is stored */
    struct pack_totals totals;
    int64_t new_bytes;      /* of content that was not known */
    int64_t stored_bytes;   /* of parts that were written */
    int64_t manifest_bytes; /* of objects that were handed out; some may lie there already */
};

struct pack_writer;

struct pack_writer *pack_writer_create(const struct pack_sink *sink); /* copies *sink */
void pack_writer_destroy(struct pack_writer *w);                      /* NULL is fine */

int pack_add_folder(struct pack_writer *w, const char *path, struct err *e);
int pack_add_symlink(struct pack_writer *w, const char *path, const char *target, struct err *e);
/* target: a file that was added before */
int pack_add_hard_link(struct pack_writer *w, const char *path, const char *target, struct err *e);

/* Reads fd from its start to its end, wherever that then is: the entry is what was read, and the
 * caller looks whether it is still what was meant. */
int pack_add_file(struct pack_writer *w, const char *path, bool executable, int fd,
                  struct pack_added *added, struct err *e);
/* A file that need not be read, as it is what it was when it was added (see pack_added).  1; 0
 * when not all of it is known or was seen: nothing was added, and it must be read. */
int pack_add_unread(struct pack_writer *w, const char *path, bool executable,
                    const struct pack_added *file, struct err *e);
/* As pack_add_file, of a file that lies on the share and stays there; top: where on it the tree
 * lies, relative to the share, the same for all of a tree. */
int pack_add_in_place(struct pack_writer *w, const char *path, bool executable, int fd,
                      const char *top, struct pack_added *added, struct err *e);
/* The same of one that need not be read, as pack_add_unread has it. */
int pack_add_in_place_unread(struct pack_writer *w, const char *path, bool executable,
                             const char *top, const struct pack_added *file, struct err *e);

int pack_end(struct pack_writer *w, struct pack_summary *summary, struct err *e);

#endif
