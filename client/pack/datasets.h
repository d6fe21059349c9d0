/* SPDX-License-Identifier: MIT */
/*
 * datasets.h - lists and removes the packed sources and data of sweeps
 *
 * The server does not know datasets that were sent ahead and that no sweep has named yet: these are
 * searched for in the projects that it does know, and in that of the current folder.
 */
#ifndef LUDWIG_CLIENT_PACK_DATASETS_H
#define LUDWIG_CLIENT_PACK_DATASETS_H

#include "client/session/session.h"
#include "client/share/store.h"
#include "common/pack/pack_object.h"

/* ---- the server's list ---- */

struct datasets {
    struct session *session;
    const char *project; /* lists only this project's; NULL: those of all projects */
    struct dataset_info *rows;
    size_t n, capacity;
};

/* Fetches the rows; their texts are in the session's arena, datasets_free frees rows. */
int datasets_fetch(struct datasets *d, struct err *e);
void datasets_free(struct datasets *d);
/* Adds an empty row. */
struct dataset_info *datasets_add(struct datasets *d);

/* Returns the current folder's name, if that can be a project's; else NULL with e set. */
const char *datasets_here(const struct datasets *d, struct err *e);

/* A project whose packs to look into. */
struct datasets_project {
    const char *name;
    bool is_guessed; /* the project may not exist, or may be another user's */
};

/* Returns the rows' projects, each once, in the session's arena.  own: leaves out other users'
 * projects, which an admin gets as well. */
struct datasets_project *datasets_projects(const struct datasets *d, bool own, size_t *n);

/* ---- in a project's packs ---- */

/* A dataset in the packs, by its manifest. */
struct packed {
    struct digest id;
    int64_t mtime_s; /* since 1970 */
    bool is_read;    /* manifest is filled; else it could not be read */
    struct pack_manifest manifest;
    bool stays; /* set by the caller: the dataset is not to be removed */
};

/* A file that no dataset that stays needs. */
struct waste {
    const char *path; /* below the folder of packs */
    int64_t bytes;    /* of a part */
    int64_t mtime_s;  /* from the listing */
};

struct datasets_stored {
    struct store *store;
    struct arena *arena;
    struct packed *sets;
    size_t n_sets;
    struct list entries[STORE_FOLDER_COUNT]; /* struct share_entry */
    struct waste *waste;                     /* in an order in which it can be removed */
    size_t n_waste, waste_capacity;
    int64_t waste_bytes;
    int64_t dropped_at_s; /* mtime_s of the newest manifest to remove */
};

/* Lists the packs and reads their manifests. */
int datasets_stored_open(struct datasets_stored *p, const struct place *to, struct err *e);
void datasets_stored_close(struct datasets_stored *p);

/* How sweeps use a dataset, found by its id or, where no sweep has named that, its content. */
struct dataset_use {
    int64_t used_at;    /* when a sweep used it last; 0: none ever did */
    int64_t unfinished; /* how many unfinished sweeps need the dataset */
    bool has_name;      /* a sweep calls the dataset by the name given */
};

/* Returns the use of a set; name, for has_name, may be NULL. */
struct dataset_use datasets_use(const struct datasets *d, const char *project,
                                const struct packed *set, const char *name);

/* ---- waste ---- */

/*
 * Finds the files that no set that stays needs.  While the manifest of such a set cannot be read,
 * that set may need any file, and only manifests count as waste.  Files younger than
 * DATASETS_STORED_YOUNG_S are no waste, as an upload under way may need them, unless they belong to
 * a set to remove and were not touched since its manifest (see pack_inventory_send).
 */
enum { DATASETS_STORED_YOUNG_S = 7 * 24 * 3600 };
void datasets_stored_find_waste(struct datasets_stored *p, int64_t now_s);
/* Removes the waste but files touched since the listing; waste then holds the removed files. */
int datasets_stored_remove_waste(struct datasets_stored *p, int64_t now_s, struct err *e);

/* Removes the sets that the words name, all or none: by their name in a sweep, or by at least 6
 * digits of an id.  A word that fits in several projects, or begins several ids, is an error. */
int datasets_remove(struct datasets *d, const char *const *words, size_t n, struct err *e);

/* How much of a project is waste, or was removed as such. */
struct datasets_gone {
    const char *project;
    int64_t datasets, files, bytes;
    bool is_removed;
};
extern const struct schema datasets_gone_schema;

/* Finds, or with removes removes, the sets that no sweep needs or has named for 30 days, and files
 * of no set.  Prints that or, if gone is not NULL, fills it with a struct datasets_gone for each
 * project, in the session's arena. */
int datasets_collect(struct datasets *d, bool removes, struct list *gone, struct err *e);

#endif
