/* SPDX-License-Identifier: MIT */
/*
 * inputs.h - counts, packs and sends the source and data of a sweep
 *
 * The source tree holds what source: names, relative to the sweep file's folder.  Without source:
 * it holds all of that folder but the sweep file, the file of --param2vals, other sweep files
 * beside it, fetched results, the sweep's data, environments, packages, what runs wrote
 * (source_kind.h), and ignored files.  The tree of a data entry is a file, or the content of a
 * folder.
 */
#ifndef LUDWIG_CLIENT_PACK_INPUTS_H
#define LUDWIG_CLIENT_PACK_INPUTS_H

#include "client/pack/tree.h"
#include "client/spec/spec.h"

/* A path that a source without source: lacks, though no rule ignores it: such files are no part of
 * the program, and each new one would prevent reuse. */
struct inputs_left {
    const char *path; /* relative to the source's folder */
    const char *what; /* the file or folder is: "a sweep file" */
    bool is_folder;
};

struct inputs {
    struct arena *arena;
    struct place to;
    bool has_place;         /* to is set; false: the share is not looked at */
    bool allows_secrets;    /* keys and passwords in the source are intended */
    struct readers readers; /* of the sweep file and the file of --param2vals */
    struct tree source;     /* without entries: the sweep has no source */
    struct tree compared;   /* the source without what reuse: ignores; decides what is the same */
    const char *const *ignored; /* patterns of reuse: {ignore: ...} */
    size_t n_ignored;
    struct inputs_left *left; /* sorted by path */
    size_t n_left, left_capacity;
    /* One for each entry of spec->data.  For data on the share the caller fills "set", the only
     * member used. */
    struct tree *data;
    size_t n_data;
    struct tree **trees; /* the source and the data that lie on this machine */
    size_t n_trees;
    /* of the current try */
    struct store *store; /* NULL: the share is not looked at */
    struct pack_inventory *inventory;
    struct uploadbar bar;
    /* of all tries */
    uint64_t part_bytes; /* size of parts; 0: the largest */
    int n_vain;          /* how many tries in a row brought nothing to the share */
    bool has_come;       /* some files may lie on the share */
};

/* Estimates the bytes that may have to be sent, by a short look at the files here. */
uint64_t inputs_glance(const struct spec *s);
uint64_t inputs_glance_paths(const char *const *paths, size_t n);

/* Fills c from the sweep file, and reads no files.  to: NULL if the share is not looked at.  A
 * drive that is mounted inside the folder is left out. */
void inputs_plan(struct inputs *c, const struct spec *s, const struct place *to);
/* Like inputs_plan, for n paths of data without a sweep. */
void inputs_plan_paths(struct inputs *c, const char *const *paths, size_t n,
                       const struct place *to);
void inputs_free(struct inputs *c); /* a zero-initialised c is fine */
/* Refuses missing inputs, and keys and passwords in the source, before inputs_count would do so. */
int inputs_refuse(struct inputs *c, struct err *e);
/* Prints a note when the source is larger than is usual. */
void inputs_note_size(const struct inputs *c);
/* Appends c->left as "exp-1/ (fetched results), a.yaml (a sweep file)", safe for a terminal. */
void inputs_add_left_out(const struct inputs *c, struct buf *out);
/* Prints c->left as a note. */
void inputs_note_left_out(const struct inputs *c);

/*
 * A try to send the inputs, step by step; each step takes the result of the one before, and gives
 * NULL with e set where it failed.  Results live as long as c.
 *
 *     inputs_count    looks at the packs on the share and at the names and times of all files here;
 *                     refuses files that cannot be sent
 *     inputs_pack     reads files that are not known, and sends pieces that are not on the share
 *     inputs_arrive   waits until all bytes are on the share's disk
 *     inputs_settle   waits until all files have their final names
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
/* Fills the digests of work's source and data. */
void inputs_sign(const struct inputs_packed *packed, const struct spec *s, struct arena *a,
                 struct jobspec *work);
/* Counts the files, and their bytes, whose content was not on the share before this try. */
void inputs_count_new(const struct inputs_packed *packed, int64_t *n_files, int64_t *bytes);
/* Sends small files for sweeps/N/, which settle with the rest. */
int inputs_add_sweep(const struct inputs_arrived *arrived, int64_t sweep,
                     const struct store_text *files, size_t n, struct err *e);

/* Judges a try that failed with why.  Returns 0 if the next one may begin, with inputs_count, which
 * does not send settled files again; -1 with e set if it would be in vain. */
int inputs_try_again(struct inputs *c, const struct err *why, struct err *e);

/* Takes all steps, with as many tries as needed. */
int inputs_send(struct inputs *c, struct err *e);

#endif
