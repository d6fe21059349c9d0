/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - the files that a sweep takes along: its source, and its data
 *
 * The source tree holds what source: names, relative to the sweep file's folder;
 * without source: everything there but the sweep file itself, the file of
 * --param2vals, other sweep files beside it, results that were fetched, its data, environments, packages and
 * what runs wrote (source_kind.h), and what is ignored.  The tree of a data entry is that file, or what is in
 * that folder.
 */
#ifndef LUDWIG_CLIENT_PACK_INPUTS_H
#define LUDWIG_CLIENT_PACK_INPUTS_H

#include "client/pack/tree.h"
#include "client/spec/spec.h"

/* A path left out of a source without source: although no rule says so: such files are no part of
 * the program, and each new one would prevent reuse. */
struct inputs_left {
    const char *path; /* in the source */
    const char *what; /* it is: "a sweep file" */
    bool is_folder;
};

struct inputs {
    struct arena *arena;
    struct place to;
    bool has_place;
    bool allows_secrets;    /* keys and passwords in the source are meant */
    struct readers readers; /* of the sweep file */
    struct tree source;     /* without entries: there is none */
    struct tree compared; /* the same without what reuse: ignores; its tree says what is the same */
    const char *const *ignored;
    size_t n_ignored;         /* 0: of that there is nothing */
    struct inputs_left *left; /* sorted by path */
    size_t n_left, left_capacity;
    /* One for each entry of spec->data; of data that lie on the share already only "set" is filled,
     * by the caller. */
    struct tree *data;
    size_t n_data;
    struct tree **trees; /* the source and data that lie here */
    size_t n_trees;
    /* of the current try */
    struct store *store; /* NULL: the share is not looked at */
    struct pack_inventory *inventory;
    struct uploadbar bar;
    /* of all tries */
    uint64_t part_bytes; /* size of parts; 0: the largest */
    int n_vain;          /* number of the last tries that brought nothing to the share */
    bool has_come;       /* some files may lie on the share */
};

/* Bytes that may have to be sent, estimated by a short look at files here. */
uint64_t inputs_glance(const struct spec *s);
uint64_t inputs_glance_paths(const char *const *paths, size_t n);

/* Fills c from the sweep file, and reads no files.  to: NULL: the share is not looked at.  A
 * mounted drive is left out if it lies in the folder. */
void inputs_plan(struct inputs *c, const struct spec *s, const struct place *to);
/* The same for data alone. */
void inputs_plan_paths(struct inputs *c, const char *const *paths, size_t n,
                       const struct place *to);
void inputs_free(struct inputs *c); /* a zero-initialised c is fine */
/* Prints a note when the source is larger than is usual. */
void inputs_note_size(const struct inputs *c);
/* Adds "exp-1/ (fetched results), sweep2.yaml (a sweep file)", safe for a terminal; nothing when
 * nothing was left out. */
void inputs_add_left_out(const struct inputs *c, struct buf *out);
/* Prints the same as a note. */
void inputs_note_left_out(const struct inputs *c);

/*
 * A try to send the inputs, step by step; each step takes the result of the one before, and gives
 * NULL with e set where it failed.  Results live as long as c.
 *
 * inputs_count  looks at the packs on the share and at the names and times of all files here;
 * refuses files that cannot be sent  inputs_pack  reads files that are not known, and sends pieces
 * that are not on the share  inputs_arrive  waits until all is on the share's disk, so that little
 * can go wrong any more  inputs_settle  waits until all files have their names
 */
struct inputs_counted;
struct inputs_packed;
struct inputs_arrived;
struct inputs_settled;

const struct inputs_counted *inputs_count(struct inputs *c, struct err *e);
const struct inputs_packed *inputs_pack(const struct inputs_counted *counted, struct err *e);
/* Instead of inputs_pack: finds out what inputs_pack would send, and sends nothing. */
const struct inputs_packed *inputs_look(const struct inputs_counted *counted, struct err *e);
const struct inputs_arrived *inputs_arrive(const struct inputs_packed *packed, struct err *e);
const struct inputs_settled *inputs_settle(const struct inputs_arrived *arrived, struct err *e);

/* Hands all written bytes to the kernel, so that the program may do other work for a while. */
void inputs_push(const struct inputs_packed *packed);
/* Fills source, data and git's names of work. */
void inputs_sign(const struct inputs_packed *packed, const struct spec *s, struct arena *a,
                 struct jobspec *work);
/* Files and bytes with content that is not, or was not, on the share. */
void inputs_count_new(const struct inputs_packed *packed, int64_t *n_files, int64_t *bytes);
/* Small files for sweeps/N/ go along, and settle with the rest. */
int inputs_add_sweep(const struct inputs_arrived *arrived, int64_t sweep,
                     const struct store_text *files, size_t n, struct err *e);

/* After a try that failed with why: 0: the next try may begin, with inputs_count, and does not send
 * settled files again; -1 with e set: another try would be in vain. */
int inputs_try_again(struct inputs *c, const struct err *why, struct err *e);

/* All steps, with as many tries as needed. */
int inputs_send(struct inputs *c, struct err *e);

#endif
