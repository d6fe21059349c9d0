/* SPDX-License-Identifier: MIT */
/*
 * cargo.h - the files that a sweep takes along: its source, and its data
 *
 * The source tree holds what source: names, relative to the sweep file's folder;
 * without source: everything there but the sweep file itself, the file of
 * --param2vals, other sweep files beside it, results that were fetched, its data, and what is ignored.  The tree of
 * a data entry is that file, or what is in that folder.
 */
#ifndef LUDWIG_CLIENT_CARGO_H
#define LUDWIG_CLIENT_CARGO_H

#include "client/spec.h"
#include "client/tree.h"
#include "client/upload.h"

/* Left out of a source that is everything although no rule says so: such files are no program, and
 * with them in it nothing would be reused. */
struct cargo_left {
    const char *path; /* in the source */
    bool is_results;  /* a folder of fetched results; else a sweep file */
};

struct cargo {
    struct tree source;
    struct cargo_left *left; /* sorted by path */
    size_t n_left, left_capacity;
    struct tree *data; /* one for each entry of spec->data */
    size_t n_data;
};

/* share is not taken along if it lies in the folder; it may be NULL.  Without digests no file is
 * read. */
int cargo_load(struct cargo *c, const struct spec *s, const char *share, bool with_digests,
               struct err *e);
void cargo_free(struct cargo *c); /* also after cargo_load failed */

/* Writes the digests into work. */
void cargo_sign(const struct cargo *c, const struct spec *s, struct arena *a, struct work *work);
/* A note for people when the source is larger than is usual. */
void cargo_note_size(const struct cargo *c);
/* "exp-1/ (fetched results), sweep2.yaml (a sweep file)", harmless for a terminal; nothing when
 * nothing was left out. */
void cargo_add_left_out(const struct cargo *c, struct buf *out);
/* The same as a note for people. */
void cargo_note_left_out(const struct cargo *c);
int cargo_upload(const struct cargo *c, const struct place *to, struct err *e);
/* How much of it cargo_upload would send, as things are. */
void cargo_count_missing(const struct cargo *c, const struct place *to, uint64_t *n_files,
                         uint64_t *bytes);

#endif
