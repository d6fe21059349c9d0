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

#include "client/pack/tree.h"
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
    bool allows_secrets;      /* keys and passwords in the source are meant */
    struct readers readers;   /* of the sweep file */
    struct tree source;       /* without entries: there is none */
    struct inputs_left *left; /* sorted by path */
    size_t n_left, left_capacity;
    /* One for each entry of spec->data; of what lies on the share already only set, which the caller
     * finds out. */
    struct tree *data;
    size_t n_data;
    struct tree **trees; /* those of them that lie here */
    size_t n_trees;
    /* of the try that is under way */
    struct store *store; /* NULL: nothing is known to be there */
    struct pack_inventory *inventory;
    struct uploadbar bar;
    /* of all tries */
    uint64_t part_bytes; /* 0: as large as can be */
    int n_vain;          /* the last ones, which brought nothing to the share */
    bool has_come;       /* some of it may lie on the share */
};

/* How much data there may be to send, as far as a short look at files here tells. */
uint64_t inputs_glance(const struct spec *s);
uint64_t inputs_glance_paths(const char *const *paths, size_t n);

/* Notes what is meant, and reads nothing.  to: NULL: nothing is known to be on the share.  A mounted
 * drive is not taken along if it lies in the folder. */
void inputs_plan(struct inputs *c, const struct spec *s, const struct place *to);
/* The same of data alone. */
void inputs_plan_paths(struct inputs *c, const char *const *paths, size_t n,
                       const struct place *to);
void inputs_free(struct inputs *c); /* also one that is zero-initialised */

/* A note for people when the source is larger than is usual. */
void inputs_note_size(const struct inputs *c);
/* "exp-1/ (fetched results), sweep2.yaml (a sweep file)", harmless for a terminal; nothing when
 * nothing was left out. */
void inputs_add_left_out(const struct inputs *c, struct buf *out);
/* The same as a note for people. */
void inputs_note_left_out(const struct inputs *c);

/*
 * A try to send them, step by step; each takes what the one before gave, and gives NULL with e set where
 * it failed.  What they give lives as long as c.
 *
 *     inputs_count     looks at the packs on the share and at the names and times of all files here; finds
 *                      what cannot be sent
 *     inputs_pack      reads what is not known, and sends what is not there: all of it is on its way
 *     inputs_arrive    waits until all is on the share's disk, so that little can go wrong any more
 *     inputs_settle    waits until all has its name
 */
struct inputs_counted;
struct inputs_packed;
struct inputs_arrived;
struct inputs_settled;

const struct inputs_counted *inputs_count(struct inputs *c, struct err *e);
const struct inputs_packed *inputs_pack(const struct inputs_counted *counted, struct err *e);
/* Instead: finds out what inputs_pack would send, and sends nothing. */
const struct inputs_packed *inputs_look(const struct inputs_counted *counted, struct err *e);
const struct inputs_arrived *inputs_arrive(const struct inputs_packed *packed, struct err *e);
const struct inputs_settled *inputs_settle(const struct inputs_arrived *arrived, struct err *e);

/* What was written leaves this program, so that it may do something else for a while. */
void inputs_push(const struct inputs_packed *packed);
/* Writes what there is into work. */
void inputs_sign(const struct inputs_packed *packed, const struct spec *s, struct arena *a,
                 struct jobspec *work);
/* Of content that is not, or was not, on the share. */
void inputs_count_new(const struct inputs_packed *packed, int64_t *n_files, int64_t *bytes);
/* Small files for sweeps/N/ go along, and settle with the rest. */
int inputs_add_sweep(const struct inputs_arrived *arrived, int64_t sweep,
                     const struct store_text *files, size_t n, struct err *e);

/* After a try that failed with why: 0: the next one may begin, with inputs_count, and what was settled is
 * not sent again; -1 with e set: it would be in vain, and e says so. */
int inputs_try_again(struct inputs *c, const struct err *why, struct err *e);

/* All steps, with as many tries as it takes. */
int inputs_send(struct inputs *c, struct err *e);

#endif
