/* SPDX-License-Identifier: MIT */
/*
 * datasets.h - the sources and data of sweeps: in the server's list, in packs, and as waste
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
    const char *project; /* only of this project; NULL: of all that the server lists */
    struct dataset_info *rows;
    size_t n, capacity;
};

/* Fetches the rows; their texts are in the session's arena, rows is freed by datasets_free. */
int datasets_fetch(struct datasets *d, struct err *e);
void datasets_free(struct datasets *d);
/* Adds an empty row. */
struct dataset_info *datasets_add(struct datasets *d);

/* The current folder's name, if that can be a project's; else NULL with e set. */
const char *datasets_here(const struct datasets *d, struct err *e);

/* A project whose packs to look into. */
struct datasets_project {
    const char *name;
    bool is_guessed; /* the project may not exist, or may be another user's */
};

/* Each project once, in the session's arena.  own: leaves out other users' projects, which an admin
 * gets, too. */
struct datasets_project *datasets_projects(const struct datasets *d, bool own, size_t *n);

/* ---- in a project's packs ---- */

/* A manifest in the packs. */
struct packed {
    struct digest id;
    int64_t mtime_s; /* since 1970 */
    bool is_read;    /* manifest is filled; else it could not be read */
    struct pack_manifest manifest;
    bool stays; /* see datasets_stored_find_waste */
};

/* A file that no staying dataset needs; waste is in an order in which it can be removed. */
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
    struct waste *waste;
    size_t n_waste, waste_capacity;
    int64_t waste_bytes;
    int64_t dropped_at_s; /* the newest time of a manifest to remove */
};

/* Lists the packs and reads their manifests. */
int datasets_stored_open(struct datasets_stored *p, const struct place *to, struct err *e);
void datasets_stored_close(struct datasets_stored *p);

/* The use of a set by sweeps: of the same id or, where no sweep has named that, the same
 * content. */
struct dataset_use {
    int64_t used_at;    /* 0: no sweep ever did */
    int64_t unfinished; /* unfinished sweeps that need the set */
    bool has_name;      /* a sweep calls the set by the name given */
};

/* name may be NULL. */
struct dataset_use datasets_use(const struct datasets *d, const char *project,
                                const struct packed *set, const char *name);

/* ---- waste ---- */

/*
 * Finds the files that no staying set (stays) needs.  While the manifest of a staying set cannot be
 * read, that set may need any file, and only manifests count as waste.  Young files do not, as an
 * upload under way may need them, unless they belong to a set to remove and were not touched since
 * its manifest (see pack_inventory_send).
 */
enum { DATASETS_STORED_YOUNG_S = 7 * 24 * 3600 };
void datasets_stored_find_waste(struct datasets_stored *p, int64_t now_s);
/* Removes the waste, but leaves files touched since the listing.  Afterwards waste holds the
 * removed files. */
int datasets_stored_remove_waste(struct datasets_stored *p, int64_t now_s, struct err *e);

/* Removes the sets that the words name, all or none: by their name in a sweep, or by at least 6
 * digits of an id.  A word that fits in several projects, or begins several ids, is an error. */
int datasets_remove(struct datasets *d, const char *const *words, size_t n, struct err *e);

/* What can go, or is gone, of a project. */
struct datasets_gone {
    const char *project;
    int64_t datasets, files, bytes;
    bool is_removed;
};
extern const struct schema datasets_gone_schema;

/* Finds the sets that no sweep needs or has named for 30 days, and files of no set; with removes,
 * removes them.  Says so or, if gone is not NULL, sets it to a struct datasets_gone for each project, in
 * the session's arena. */
int datasets_collect(struct datasets *d, bool removes, struct list *gone, struct err *e);

#endif
