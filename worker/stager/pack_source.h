/* SPDX-License-Identifier: MIT */
/*
 * pack_source.h - a project's packs on the share
 */
#ifndef LUDWIG_WORKER_STAGER_PACK_SOURCE_H
#define LUDWIG_WORKER_STAGER_PACK_SOURCE_H

#include "common/pack/pack_read.h"
#include "common/share/share.h"

/* Where the packs lie. */
struct pack_source_at {
    struct share_source source;
    const char *share; /* where projects lie, */
    const char *drive; /* and all of the drive */
    const char *project;
};

/* For one thread, with a connection of its own. */
struct packs {
    struct pack_source_at at;
    struct shares *access;
    struct share_dir *dir;
    struct share_dir *drive; /* NULL: not opened yet */
};

int pack_source_open(struct packs *p, const struct pack_source_at *at, struct err *e);
void pack_source_close(struct packs *p); /* zero-initialised is fine */

/* Reads lists and manifests; its context is p.  A damaged file is set aside. */
struct pack_source pack_source_source(struct packs *p);

/* Opens the part.  ERR_NOT_FOUND: it is not there, and will not be until it is sent again. */
struct share_input *pack_source_open_part(struct packs *p, const struct pack_list *l,
                                          struct err *e);

/* The same of a PACK_FILES: the file of the entry with that path. */
struct share_input *pack_source_open_file(struct packs *p, const struct pack_list *l,
                                          const char *path, struct err *e);

/* A part that is not as its name says is renamed, so that the next submit sends it again;
 * e, which says how the part is damaged, then says that, too.  Returns -1. */
int pack_source_set_part_aside(struct packs *p, const struct pack_part *part, struct err *e);

#endif
