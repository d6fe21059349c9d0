/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - the files that a sweep takes along: its source, and its data
 *
 * The source tree holds what source: names, relative to the sweep file's folder;
 * without source: everything there but the sweep file itself, the file of
 * --param2vals, other sweep files beside it, results that were fetched, its data, and what is ignored.  The tree of
 * a data entry is that file, or what is in that folder.
 */
#ifndef LUDWIG_CLIENT_PACK_INPUTS_H
#define LUDWIG_CLIENT_PACK_INPUTS_H

#include "client/pack/packer.h"
#include "client/spec/spec.h"

/* Left out of a source that is everything although no rule says so: such files are no program, and
 * with them in it nothing would be reused. */
struct inputs_left {
    const char *path; /* in the source */
    bool is_results;  /* a folder of fetched results; else a sweep file */
};

struct inputs {
    struct arena *arena;
    struct place to;
    bool has_place;
    struct store *store;
    struct pack_inventory *stock;
    struct tree source;       /* without entries: there is none */
    struct inputs_left *left; /* sorted by path */
    size_t n_left, left_capacity;
    struct tree
        *data; /* one for each entry of spec->data; of what lies on the share already only set,
                          which the caller finds out (shared.h) */
    size_t n_data;
    struct packer packer;
    struct uploadbar bar;
    bool is_packed; /* and not known to be settled */
    struct err why; /* ERR_NONE: it was not given up */
};

/* How much data there may be to send, as far as a short look tells that asks nobody. */
uint64_t inputs_glance(const struct spec *s);
uint64_t inputs_glance_paths(const char *const *paths, size_t n);

/* Finds out what there is, what cannot be sent, and what lies on the share; reads no file.  to: NULL:
 * nothing is known to be there.  A mounted drive is not taken along if it lies in the folder. */
int inputs_load(struct inputs *c, const struct spec *s, const struct place *to, struct err *e);
/* The same of data alone. */
int inputs_load_paths(struct inputs *c, const char *const *paths, size_t n, const struct place *to,
                      struct err *e);
/* Both in pieces, where it is to go over SFTP and the connection is only being made: until inputs_meet,
 * and after it, inputs_idle packs what was never read before. */
void inputs_begin(struct inputs *c, const struct spec *s);
void inputs_begin_paths(struct inputs *c, const char *const *paths, size_t n);
struct idle inputs_idle(struct inputs *c);
int inputs_meet(struct inputs *c, const struct place *to, struct err *e);
void inputs_free(struct inputs *c); /* also after inputs_load failed */
/* Files and links. */
int64_t inputs_count_files(const struct tree *t);

/* A note for people when the source is larger than is usual. */
void inputs_note_size(const struct inputs *c);
/* "exp-1/ (fetched results), sweep2.yaml (a sweep file)", harmless for a terminal; nothing when
 * nothing was left out. */
void inputs_add_left_out(const struct inputs *c, struct buf *out);
/* The same as a note for people. */
void inputs_note_left_out(const struct inputs *c);

/* Reads what is not known, and sends what is not there.  Over SFTP a connection that breaks is made
 * again, and what was sent before that, or before this program was killed, is not sent again. */
int inputs_send(struct inputs *c, struct err *e);
/* The same in pieces: until all is read and on its way, so that inputs_sign may follow; what is on its way
 * here goes out; until it is on the disk, so that little can go wrong any more; and until it has its
 * name.  The last two may read all of it again, and find it changed.  After one of them failed, the
 * later ones fail as it did. */
int inputs_pack(struct inputs *c, struct err *e);
void inputs_push(struct inputs *c);
int inputs_arrive(struct inputs *c, struct err *e);
int inputs_settle(struct inputs *c, struct err *e);
/* Instead: finds out what inputs_send would send, and sends nothing. */
int inputs_look(struct inputs *c, struct err *e);
/* Of content that is not on the share. */
void inputs_count_new(const struct inputs *c, int64_t *n_files, int64_t *bytes);
/* After one of these: writes what there is into work. */
void inputs_sign(const struct inputs *c, const struct spec *s, struct arena *a,
                 struct jobspec *work);

#endif
