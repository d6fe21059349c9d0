/* SPDX-License-Identifier: MIT */
/* datasets_stored.c - the datasets in a project's packs, and what can go from there */
#include <stdlib.h>
#include <string.h>

#include "client/pack/datasets_stored.h"
#include "client/share/store.h"
#include "common/base/hash_table.h"

/* ---- reading ---- */

struct coming {
    struct datasets_stored *store;
    struct packed *set;
};

static void on_manifest(void *context, const struct err *error, struct bytes content)
{
    struct coming *c = context;
    struct arena *a = c->store->arena;
    struct bytes kept = { NULL, content.n };

    if (error == NULL) {
        kept.data = (const uint8_t *)arena_strndup(a, (const char *)content.data, content.n);
        c->set->is_read = manifest_decode(&c->set->id, kept, a, &c->set->manifest, NULL) == 0;
    }
    free(c);
}

static int fetch_manifest(struct datasets_stored *p, struct packed *set, struct err *e)
{
    struct coming *c = mem_alloc(sizeof *c);
    struct buf path = { 0 };
    int result;

    *c = (struct coming){ p, set };
    pack_object_path(&path, PACK_MANIFEST, &set->id);
    result = store_fetch(p->store, buf_text(&path), PACK_MANIFEST_BYTES_MAX, on_manifest, c, e);
    if (result < 0)
        free(c);
    buf_free(&path);
    return result;
}

static bool is_manifest(const char *name, struct digest *id)
{
    const char *ending = pack_name_ending(name, id);

    return ending != NULL && pack_ending_is_of(ending, PACK_MANIFEST);
}

static int read_sets(struct datasets_stored *p, struct err *e)
{
    const struct store_entry *items = p->entries[STORE_PACKS].items;
    size_t n = p->entries[STORE_PACKS].n;
    int result = 0;

    p->sets = arena_alloc(p->arena, n * sizeof *p->sets);
    for (size_t i = 0; i < n && result == 0; i++) {
        struct packed *set = &p->sets[p->n_sets];

        if (!is_manifest(items[i].name, &set->id))
            continue;
        set->mtime_s = items[i].mtime_s;
        p->n_sets++;
        result = fetch_manifest(p, set, e);
    }
    return store_fetch_all(p->store, result == 0 ? e : NULL) < 0 ? -1 : result;
}

int datasets_stored_open(struct datasets_stored *p, const struct place *to, struct err *e)
{
    *p = (struct datasets_stored){ .store = store_open(to, e) };
    if (p->store == NULL)
        return -1;
    p->arena = arena_create();
    store_want_details(p->store);
    if (store_list(p->store, p->arena, p->entries, e) == 0 && read_sets(p, e) == 0)
        return 0;
    datasets_stored_close(p);
    return -1;
}

void datasets_stored_close(struct datasets_stored *p)
{
    if (p->store == NULL)
        return;
    store_close(p->store);
    arena_destroy(p->arena);
    free(p->waste);
    *p = (struct datasets_stored){ 0 };
}

/* ---- what can go ---- */

static void waste(struct datasets_stored *p, const char *path, int64_t bytes, int64_t mtime_s)
{
    mem_grow((void **)&p->waste, &p->waste_capacity, p->n_waste, sizeof *p->waste);
    p->waste[p->n_waste++] = (struct waste){ arena_strdup(p->arena, path), bytes, mtime_s };
    p->waste_bytes += bytes;
}

static void waste_sets(struct datasets_stored *p)
{
    struct buf path = { 0 };

    p->dropped_at_s = 0;
    for (size_t i = 0; i < p->n_sets; i++) {
        const struct packed *set = &p->sets[i];

        if (set->stays)
            continue;
        buf_clear(&path);
        pack_object_path(&path, PACK_MANIFEST, &set->id);
        waste(p, buf_text(&path), 0, set->mtime_s);
        if (set->mtime_s > p->dropped_at_s)
            p->dropped_at_s = set->mtime_s;
    }
    buf_free(&path);
}

/* By the names of their files. */
static struct hash_table *find_needed(const struct datasets_stored *p, bool stays)
{
    struct hash_table *needed = hash_table_create(SIZE_MAX);

    for (size_t i = 0; i < p->n_sets; i++) {
        const struct pack_manifest *m = &p->sets[i].manifest;

        if (p->sets[i].stays != stays || !p->sets[i].is_read)
            continue;
        for (size_t k = 0; k < m->n_parts; k++)
            hash_table_add(needed, &m->parts[k].list, 0);
        for (size_t k = 0; k < m->n_blocks; k++)
            hash_table_add(needed, &m->blocks[k].name, 0);
    }
    return needed;
}

/* What was set aside has its digest in its name, too. */
static bool is_needed(const struct hash_table *needed, const struct digest *d, const char *ending)
{
    bool is_pack = pack_ending_is_of(ending, PACK_BLOCK) || pack_ending_is_of(ending, PACK_LIST) ||
                   pack_ending_is_part(ending);
    uint32_t number;

    return is_pack && hash_table_find(needed, d, &number);
}

/* What a set that goes had is no upload of somebody's that has no manifest yet, unless it was touched
 * later than that. */
static bool is_old(const struct datasets_stored *p, const struct hash_table *dropped,
                   const struct digest *d, int64_t mtime_s, int64_t now_s)
{
    uint32_t number;

    return (mtime_s <= p->dropped_at_s && hash_table_find(dropped, d, &number)) ||
           (mtime_s > 0 && mtime_s <= now_s - DATASETS_STORED_YOUNG_S);
}

static void waste_folder(struct datasets_stored *p, enum store_folder folder,
                         const struct hash_table *needed, const struct hash_table *dropped,
                         int64_t now_s)
{
    const struct store_entry *items = p->entries[folder].items;
    struct buf path = { 0 };

    for (size_t i = 0; i < p->entries[folder].n; i++) {
        struct digest d;
        const char *ending = pack_name_ending(items[i].name, &d);

        if (ending == NULL || is_needed(needed, &d, ending) ||
            !is_old(p, dropped, &d, items[i].mtime_s, now_s))
            continue;
        buf_clear(&path);
        buf_printf(&path, "%s/%s", store_folder_names[folder], items[i].name);
        waste(p, buf_text(&path), items[i].size, items[i].mtime_s);
    }
    buf_free(&path);
}

static bool is_readable(const struct datasets_stored *p)
{
    for (size_t i = 0; i < p->n_sets; i++)
        if (p->sets[i].stays && !p->sets[i].is_read)
            return false;
    return true;
}

void datasets_stored_find_waste(struct datasets_stored *p, int64_t now_s)
{
    struct hash_table *needed, *dropped;

    p->n_waste = 0;
    p->waste_bytes = 0;
    waste_sets(p);
    if (!is_readable(p))
        return;
    needed = find_needed(p, true);
    dropped = find_needed(p, false);
    waste_folder(p, STORE_BLOCKS, needed, dropped, now_s);
    waste_folder(p, STORE_PARTS, needed, dropped, now_s);
    hash_table_destroy(dropped);
    hash_table_destroy(needed);
}

/* ---- removing ---- */

/* 1; 0: somebody relies on it since it was listed. */
static int remove_one(struct datasets_stored *p, const struct waste *w, struct err *e)
{
    struct err why = { 0 };
    int64_t mtime_s;

    if (store_mtime(p->store, w->path, &mtime_s, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? 1 : err_set(e, why.kind, "%s", why.text);
    if (mtime_s != w->mtime_s)
        return 0;
    return store_remove(p->store, w->path, e) < 0 ? -1 : 1;
}

/* The manifests, which come first.  *kept: some stay. */
static int remove_sets(struct datasets_stored *p, bool *kept, struct err *e)
{
    size_t n = 0;

    *kept = false;
    for (size_t i = 0; i < p->n_sets; i++) {
        int rc;

        if (p->sets[i].stays)
            continue;
        rc = remove_one(p, &p->waste[n++], e);
        if (rc < 0)
            return -1;
        p->sets[i].stays = rc == 0;
        *kept = *kept || rc == 0;
    }
    return 0;
}

int datasets_stored_remove_waste(struct datasets_stored *p, int64_t now_s, struct err *e)
{
    size_t n = 0;
    bool kept;

    if (remove_sets(p, &kept, e) < 0)
        return -1;
    if (kept)
        datasets_stored_find_waste(p, now_s);
    for (size_t i = 0; i < p->n_waste; i++) {
        int rc = remove_one(p, &p->waste[i], e);

        if (rc < 0)
            return -1;
        if (rc > 0)
            p->waste[n++] = p->waste[i];
        else
            p->waste_bytes -= p->waste[i].bytes;
    }
    p->n_waste = n;
    return 0;
}
