/* SPDX-License-Identifier: MIT */
/*
 * packstore.h - the datasets in a project's packs, and what can go from there
 */
#ifndef LUDWIG_CLIENT_PACKSTORE_H
#define LUDWIG_CLIENT_PACKSTORE_H

#include "client/store.h"
#include "common/mem.h"
#include "common/pack_manifest.h"

/* A manifest that lies there. */
struct packed {
    struct digest id;
    int64_t mtime_s; /* since 1970 */
    bool is_read;    /* what follows; else it could not be read */
    struct pack_manifest manifest;
    bool stays; /* see packstore_find_waste */
};

/* A file that no dataset that stays needs, in the order in which they can be removed. */
struct waste {
    const char *path; /* for store_remove */
    int64_t bytes;    /* of a part */
};

struct packstore {
    struct store *store;
    struct arena *arena;
    struct packed *sets;
    size_t n_sets;
    struct list entries[STORE_FOLDER_COUNT]; /* struct store_entry */
    struct waste *waste;
    size_t n_waste, waste_capacity;
    int64_t waste_bytes;
};

/* Reads the manifests. */
int packstore_open(struct packstore *p, const struct place *to, struct err *e);
void packstore_close(struct packstore *p);

/*
 * What no set whose stays is true needs.  Nothing but manifests while one of those that stay cannot
 * be read, as it may need anything; nothing young, unless it is a manifest: somebody may be sending
 * what goes with it.
 */
enum { PACKSTORE_YOUNG_S = 7 * 24 * 3600 };
void packstore_find_waste(struct packstore *p, int64_t now_s);
int packstore_remove_waste(struct packstore *p, struct err *e);

#endif
