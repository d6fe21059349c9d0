/* SPDX-License-Identifier: MIT */
/*
 * pack.h - the pack format: the form in which a tree of files lies on the share
 *
 * Content is cut into pieces of PACK_PIECE_BYTES (only a file's last is smaller), known by their
 * SHA-256.  A part is a file of pieces; its list names them.  Blocks name the entries of a tree
 * and where their pieces lie; the manifest names the blocks and the parts, and its digest is the
 * dataset's id.  docs/internals/packs.md specifies all of it.
 *
 * Writing: pack_write.h.  Reading: pack_read.h for the entries, pack_part.h for their content.
 */
#ifndef LUDWIG_COMMON_PACK_PACK_H
#define LUDWIG_COMMON_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"

enum {
    PACK_VERSION = 1,
    PACK_PIECE_BYTES = 8 * 1024 * 1024,
    PACK_PART_BYTES = 64 * 1024 * 1024, /* a part before compression, tar's headers included */
    PACK_STORED_BYTES_MAX = PACK_PART_BYTES + PACK_PART_BYTES / 128, /* zstd may add a little */
    PACK_PIECES_MAX = 64 * 1024,                                     /* in a part */
    PACK_PARTS_MAX = 512 * 1024,                                     /* in a manifest */
    PACK_BLOCKS_MAX = 128 * 1024,
    PACK_PATH_MAX = 4095,
    PACK_NAME_MAX = 255, /* between two slashes */
    /* The largest objects that are read, as they are stored. */
    PACK_LIST_BYTES_MAX = 4 * 1024 * 1024,
    PACK_BLOCK_BYTES_MAX = 8 * 1024 * 1024,
    PACK_MANIFEST_BYTES_MAX = 64 * 1024 * 1024
};

#define PACK_BYTES_MAX      ((uint64_t)1 << 60) /* in a tree */
#define PACK_FILE_BYTES_MAX ((uint64_t)1 << 42)

/* ---- objects on the share ---- */

/* form, its name in lists and, for stored forms, the ending of a part's file name */
#define PACK_FORMS(X)                                                               \
    X(PACK_TAR, "tar.zst")       /* pieces as files of a tar, compressed */         \
    X(PACK_ZST, "zst")           /* pieces one behind the other, compressed */      \
    X(PACK_RAW, "raw")           /* pieces one behind the other */                  \
    X(PACK_IN_PLACE, "in-place") /* a user's own file on the share, never copied */ \
    X(PACK_FILES, "files")       /* many such files of one piece each, below a folder */

enum pack_form {
#define X(name, text) name,
    PACK_FORMS(X)
#undef X
        PACK_FORM_COUNT
};

/* Small files whose name is the SHA-256 of their bytes. */
enum pack_object { PACK_MANIFEST, PACK_BLOCK, PACK_LIST, PACK_OBJECT_COUNT };

/* A part, as in manifests. */
struct pack_part {
    struct digest list;    /* digest of the part's list, which names the list and the part */
    uint64_t stored_bytes; /* size of the part's file, or, if it is not stored, of its pieces */
    enum pack_form form;
};

struct pack_piece {
    struct digest digest;
    uint32_t size;
};

/* Paths below the packs folder (layout_packs): "ID.manifest", "blocks/DIGEST.block",
 * "parts/DIGEST.list" and "parts/DIGEST.tar.zst". */
void pack_object_path(struct buf *out, enum pack_object kind, const struct digest *name);
/* Whether a part of that form is a file in the packs folder; otherwise it is files of a user's own
 * on the share. */
bool pack_is_stored(enum pack_form form);
/* Appends the path of a part that is stored. */
void pack_part_path(struct buf *out, const struct pack_part *part);
/* Parses "DIGEST.ENDING", a name without its folder: gives the ending, from the dot on, and sets
 * *d; NULL if the name is not of this form. */
const char *pack_name_ending(const char *name, struct digest *d);
bool pack_ending_is_of(const char *ending, enum pack_object kind);
bool pack_ending_is_part(const char *ending);
size_t pack_object_max(enum pack_object kind); /* bytes */
extern const char *const pack_form_names[PACK_FORM_COUNT];

/* ---- trees ---- */

enum pack_kind {
    PACK_FOLDER,
    PACK_FILE,
    PACK_PROGRAM, /* a file that may be executed */
    PACK_SYMLINK,
    PACK_HARD_LINK,
    PACK_KIND_COUNT
};

/* Counts of a tree. */
struct pack_totals {
    int64_t folders, files, links; /* files: hard links, too; links: symlinks */
    int64_t bytes;                 /* of all files; hard links add nothing */
    int64_t hole_bytes;            /* of bytes, those in holes, which take no space */
};

enum { PACK_HOLE = UINT32_MAX };

/* Pieces that lie one behind the other in a part, or a hole. */
struct pack_run {
    uint32_t part; /* index in the manifest's parts, or PACK_HOLE */
    uint32_t first;
    uint32_t n;
    uint64_t bytes;
};

struct pack_entry {
    const char *path;   /* "" if the tree is one file */
    const char *target; /* of links */
    const struct pack_run *runs;
    size_t n_runs;
    uint64_t size;
    enum pack_kind kind;
};

/* ---- paths in a tree ---- */

/* Paths are bytes of any encoding, relative to the tree's top, without NUL, empty names, "." and
 * "..", at most PACK_PATH_MAX long and PACK_NAME_MAX between slashes.  They are ordered by bytes
 * with the slash before all others, so that a folder's entries follow it at once: a, a/b, a.txt. */

/* Returns <0, 0 or >0; names without slashes are in the order of strcmp. */
int pack_path_compare(const char *x, const char *y);
/* -1 with ERR_PROTOCOL when the path breaks the rules. */
int pack_path_check(const char *path, size_t n, struct err *e);

/* ---- output of packing ---- */

enum { PACK_SLOTS = 2 }; /* parts written at a time: one of small files, one of large */

/* The place of a piece in a part that lies on the share already. */
struct pack_place {
    const struct pack_part *part;
    uint32_t entry;
};

/* The caller's functions that store the output.  All but known may fail (-1 with e set), which ends
 * the packing. */
struct pack_sink {
    void *context;
    /* Begins a part: its bytes follow; its name is known only when it is whole. */
    int (*part_begin)(void *context, unsigned slot, struct err *e);
    int (*part_write)(void *context, unsigned slot, struct bytes bytes, struct err *e);
    /* Ends a part that is whole.  The list must not be found under its name before the part can be.
     * Not called for an open part when packing fails. */
    int (*part_end)(void *context, unsigned slot, const struct pack_part *part, struct bytes list,
                    struct err *e);
    /* Stores a block, the list of a part in place or, last, the manifest.  An object must not be
     * found under its name before all earlier output can be. */
    int (*object)(void *context, enum pack_object kind, const struct digest *name,
                  struct bytes bytes, struct err *e);
    /* Whether a part on the share holds the piece; where->part must stay valid during the call.
     * False also for a piece that is better sent again, as little else of its part is wanted.  May
     * be NULL. */
    bool (*known)(void *context, const struct digest *piece, struct pack_place *where);
    /* A part with this many bytes before compression is full; 0: PACK_PART_BYTES, the maximum.
     * Each part takes at least one piece. */
    uint64_t part_bytes;
};

#endif
