/* SPDX-License-Identifier: MIT */
/*
 * datasets.h - the sources and data of sweeps: as the server knows them, in packs, and what can go
 *
 * What was sent ahead, and no sweep has named yet, the server does not know: that is looked for in
 * projects that it does know, and in that of the current folder.
 */
#ifndef LUDWIG_CLIENT_PACK_DATASETS_H
#define LUDWIG_CLIENT_PACK_DATASETS_H

#include "client/session/session.h"
#include "client/share/store.h"
#include "common/pack/pack_object.h"

/* ---- as the server knows them ---- */

struct datasets {
    struct session *session;
    const char *project; /* of this one alone; NULL: of all that the server tells of */
    struct dataset_info *rows;
    size_t n, capacity;
};

/* In the session's arena, but for rows, which datasets_free frees. */
int datasets_fetch(struct datasets *d, struct err *e);
void datasets_free(struct datasets *d);
/* Adds an empty one. */
struct dataset_info *datasets_add(struct datasets *d);

/* The current folder's name, if that can be a project's; else NULL with e set. */
const char *datasets_here(const struct datasets *d, struct err *e);

/* A project to be looked into. */
struct datasets_project {
    const char *name;
    bool is_guessed; /* there may be none, or it may be another user's */
};

/* Each once.  own: an admin is told of others', too, which are left out.  In the session's arena. */
struct datasets_project *datasets_projects(const struct datasets *d, bool own, size_t *n);

/* ---- in a project's packs ---- */

/* A manifest that lies there. */
struct packed {
    struct digest id;
    int64_t mtime_s; /* since 1970 */
    bool is_read;    /* what follows; else it could not be read */
    struct pack_manifest manifest;
    bool stays; /* see datasets_stored_find_waste */
};

/* A file that no dataset that stays needs, in the order in which they can be removed. */
struct waste {
    const char *path; /* below the folder of packs */
    int64_t bytes;    /* of a part */
    int64_t mtime_s;  /* as it was listed */
};

struct datasets_stored {
    struct store *store;
    struct arena *arena;
    struct packed *sets;
    size_t n_sets;
    struct list entries[STORE_FOLDER_COUNT]; /* struct share_entry */
    struct waste *waste;
    size_t n_waste, waste_capacity;
    int64_t waste_bytes;
    int64_t dropped_at_s; /* the newest time of a manifest that goes */
};

/* Reads the manifests. */
int datasets_stored_open(struct datasets_stored *p, const struct place *to, struct err *e);
void datasets_stored_close(struct datasets_stored *p);

/* What sweeps make of a set: by its id or, where none has named that, by what is in it. */
struct dataset_use {
    int64_t used_at;    /* 0: no sweep ever did */
    int64_t unfinished; /* sweeps that need it */
    bool has_name;      /* the one that was asked for */
};

/* name: NULL: none is asked for. */
struct dataset_use datasets_use(const struct datasets *d, const char *project,
                                const struct packed *set, const char *name);

/* ---- what can go ---- */

/*
 * Finds the files that no set whose stays is true needs.  While the manifest of one that stays cannot be
 * read, that set may need any file, and only manifests can go.  Young files do not go, as an upload may
 * be under way that needs them, unless they belong to a set that goes and were not touched since (see
 * pack_inventory_send).
 */
enum { DATASETS_STORED_YOUNG_S = 7 * 24 * 3600 };
void datasets_stored_find_waste(struct datasets_stored *p, int64_t now_s);
/* Leaves what was touched since it was listed.  Then waste is what was removed. */
int datasets_stored_remove_waste(struct datasets_stored *p, int64_t now_s, struct err *e);

/* Removes those that the words name, all or none of them: by what a sweep calls them, or by at least 6
 * digits of an id.  What is named in several projects, or begins several ids, names none. */
int datasets_remove(struct datasets *d, const char *const *words, size_t n, struct err *e);

/* Those that no sweep needs or has named for 30 days, and what belongs to none; says what can go
 * and, with removes, removes it. */
int datasets_collect(struct datasets *d, bool removes, struct err *e);

#endif
