/* SPDX-License-Identifier: MIT */
/*
 * datasets_stored.h - the datasets in a project's packs, and what can go from there
 */
#ifndef LUDWIG_CLIENT_PACK_DATASETS_STORED_H
#define LUDWIG_CLIENT_PACK_DATASETS_STORED_H

#include "client/share/store.h"
#include "common/base/mem.h"
#include "common/pack/pack_object.h"

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
    const char *path; /* for store_remove */
    int64_t bytes;    /* of a part */
    int64_t mtime_s;  /* as it was listed */
};

struct datasets_stored {
    struct store *store;
    struct arena *arena;
    struct packed *sets;
    size_t n_sets;
    struct list entries[STORE_FOLDER_COUNT]; /* struct store_entry */
    struct waste *waste;
    size_t n_waste, waste_capacity;
    int64_t waste_bytes;
    int64_t dropped_at_s; /* the newest time of a manifest that goes */
};

/* Reads the manifests. */
int datasets_stored_open(struct datasets_stored *p, const struct place *to, struct err *e);
void datasets_stored_close(struct datasets_stored *p);

/*
 * What no set whose stays is true needs.  Nothing but manifests while one of those that stay cannot
 * be read, as it may need anything; nothing young, as somebody may be sending what goes with it,
 * unless it is what a set that goes had and nobody has touched since (see pack_inventory_hold).
 */
enum { DATASETS_STORED_YOUNG_S = 7 * 24 * 3600 };
void datasets_stored_find_waste(struct datasets_stored *p, int64_t now_s);
/* Leaves what was touched since it was listed.  Then waste is what was removed. */
int datasets_stored_remove_waste(struct datasets_stored *p, int64_t now_s, struct err *e);

#endif
