/* SPDX-License-Identifier: MIT */
/*
 * pack_source.h - opens and reads a project's packs on the share
 */
#ifndef LUDWIG_WORKER_STAGER_PACK_SOURCE_H
#define LUDWIG_WORKER_STAGER_PACK_SOURCE_H

#include "common/pack/pack_read.h"
#include "common/share/share.h"

/* Where the packs lie. */
struct pack_source_at {
    struct share_source source;
    const char *share; /* the share, below which projects lie */
    const char *drive; /* the whole drive: a user's data may lie anywhere on it */
    const char *project;
};

/* A project's packs, opened for one thread, with a connection of its own. */
struct packs {
    struct pack_source_at at;
    struct shares *access;
    struct share_dir *dir;
    struct share_dir *drive; /* NULL: not opened yet */
};

int pack_source_open(struct packs *p, const struct pack_source_at *at, struct err *e);
void pack_source_close(struct packs *p); /* zero-initialised is fine */

/* Returns what reads lists and manifests through p.  A damaged file is renamed to *.bad. */
struct pack_source pack_source_source(struct packs *p);

/* Opens the part for reading.  ERR_NOT_FOUND: it is not there until a submit sends it again. */
struct share_input *pack_source_open_part(struct packs *p, const struct pack_list *l,
                                          struct err *e);

/* The same for the form PACK_FILES: opens the user's file of the entry with that path. */
struct share_input *pack_source_open_file(struct packs *p, const struct pack_list *l,
                                          const char *path, struct err *e);

/* Renames a part that does not have the content that its name says, so that the next submit sends
 * it again; adds that to e, which says how the part is damaged.  Returns -1. */
int pack_source_set_part_aside(struct packs *p, const struct pack_part *part, struct err *e);

#endif
