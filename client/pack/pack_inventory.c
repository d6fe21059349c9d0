/* SPDX-License-Identifier: MIT */
/* pack_inventory.c - what lies in a project's packs already */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/pack_inventory.h"
#include "client/pack/piece_index.h"
#include "client/share/store.h"
#include "client/util/cache_dir.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/pack/pack_object.h"
#include "common/base/hash_table.h"

enum { FRESH_MAX = 192 * 1024 };

/* A part that came while this runs; its pieces have the numbers from first on. */
struct fresh {
    struct pack_part part;
    uint32_t first;
    bool was_there; /* and was only learned of while this runs */
    bool is_used;
};

/* An object that was there and is relied on. */
struct relied {
    enum pack_object kind;
    struct digest name;
};

enum { WAS_THERE, IS_NEW }; /* what is noted of objects */

struct pack_inventory {
    struct store *store;
    struct hash_table *there[PACK_OBJECT_COUNT];
    struct hash_table *parts; /* by what they are named */
    struct digest *lists;     /* that are there */
    size_t n_lists, lists_capacity;
    char *known_path, *lists_folder; /* in the cache */
    struct piece_index *known;
    struct piece_index_update *update; /* while it is learned */
    struct hash_table *fresh;          /* pieces */
    struct fresh *fresh_parts;
    size_t n_fresh, fresh_capacity;
    uint32_t next_fresh;
    struct relied *relied;
    size_t n_relied, relied_capacity;
    struct arena *arena;
    struct list leftovers[STORE_FOLDER_COUNT]; /* struct store_entry: temporary files */
    size_t leftovers_capacity[STORE_FOLDER_COUNT];
};

static void take_list_name(struct pack_inventory *s, const struct digest *d)
{
    mem_grow((void **)&s->lists, &s->lists_capacity, s->n_lists, sizeof *s->lists);
    s->lists[s->n_lists++] = *d;
}

static void take_name(struct pack_inventory *s, const char *name)
{
    struct digest d;
    const char *ending = pack_name_ending(name, &d);

    if (ending == NULL)
        return;
    for (enum pack_object kind = 0; kind < PACK_OBJECT_COUNT; kind++)
        if (pack_ending_is_of(ending, kind))
            hash_table_add(s->there[kind], &d, WAS_THERE);
    if (pack_ending_is_of(ending, PACK_LIST))
        take_list_name(s, &d);
    if (pack_ending_is_part(ending))
        hash_table_add(s->parts, &d, 0);
}

static void keep_leftover(struct pack_inventory *s, size_t folder, const struct store_entry *entry)
{
    struct list *l = &s->leftovers[folder];
    struct store_entry *items;

    mem_grow(&l->items, &s->leftovers_capacity[folder], l->n, sizeof *items);
    items = l->items;
    items[l->n] = *entry;
    items[l->n++].name = arena_strdup(s->arena, entry->name);
}

static void take_entries(struct pack_inventory *s, enum store_folder folder,
                         const struct list *entries)
{
    const struct store_entry *items = entries->items;

    for (size_t i = 0; i < entries->n; i++) {
        take_name(s, items[i].name);
        if (items[i].mtime_s > 0 && items[i].name[0] == '.')
            keep_leftover(s, folder, &items[i]);
    }
}

static int look(struct pack_inventory *s, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries[STORE_FOLDER_COUNT];
    int result = store_list(s->store, a, entries, e);

    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT && result == 0; i++)
        take_entries(s, i, &entries[i]);
    arena_destroy(a);
    return result;
}

/* ---- what parts hold ---- */

static bool has_part(const struct pack_inventory *s, const struct pack_part *part)
{
    uint32_t number;

    return pack_inventory_has(s, PACK_LIST, &part->list) &&
           (!pack_is_stored(part->form) || hash_table_find(s->parts, &part->list, &number));
}

/* Those that are gone count no more. */
static void look_at_parts(struct pack_inventory *s)
{
    size_t n;
    struct piece_index_part *parts = piece_index_parts(s->known, &n);

    for (size_t i = 0; i < n; i++)
        parts[i].is_there = parts[i].is_good = has_part(s, &parts[i].part);
}

static void add_fresh(struct pack_inventory *s, const struct pack_list *l, bool was_there)
{
    mem_grow((void **)&s->fresh_parts, &s->fresh_capacity, s->n_fresh, sizeof *s->fresh_parts);
    s->fresh_parts[s->n_fresh++] =
        (struct fresh){ .part = l->part, .first = s->next_fresh, .was_there = was_there };
    for (uint32_t i = 0; i < l->n; i++)
        hash_table_add(s->fresh, &l->pieces[i].digest, s->next_fresh + i);
    s->next_fresh += l->n;
}

/* A list that comes. */
struct coming {
    struct pack_inventory *stock;
    struct digest name;
};

/* Of what is not stored it is only noted that nobody need look at it again. */
static bool take_list(struct pack_inventory *s, const struct digest *name, struct bytes stored)
{
    struct pack_list *l = pack_list_decode(name, stored, NULL);

    if (l == NULL)
        return false;
    if (!pack_is_stored(l->part.form))
        l->n = 0;
    if (has_part(s, &l->part)) {
        if (s->update != NULL)
            piece_index_update_add(s->update, l);
        else
            add_fresh(s, l, true);
    }
    pack_list_destroy(l);
    return true;
}

static void on_list(void *context, const struct err *error, struct bytes content)
{
    struct coming *c = context;

    if (error == NULL)
        (void)take_list(c->stock, &c->name, content);
    free(c);
}

static char *kept_list(const struct pack_inventory *s, const struct digest *name)
{
    char hex[DIGEST_HEX];

    digest_hex(name, hex);
    return path_join(s->lists_folder, hex);
}

static int fetch_list(struct pack_inventory *s, const struct digest *name, struct err *e)
{
    struct coming *c = mem_alloc(sizeof *c);
    struct buf path = { 0 };
    int result;

    *c = (struct coming){ s, *name };
    pack_object_path(&path, PACK_LIST, name);
    result = store_fetch(s->store, buf_text(&path), PACK_LIST_BYTES_MAX, on_list, c, e);
    if (result < 0)
        free(c);
    buf_free(&path);
    return result;
}

/* Those of parts that were sent from here need not come back. */
static int get_list(struct pack_inventory *s, const struct digest *name, struct err *e)
{
    char *kept = kept_list(s, name);
    struct buf stored = { 0 };
    int result = 0;

    if (io_read_file(kept, PACK_LIST_BYTES_MAX, &stored, NULL) < 0 ||
        !take_list(s, name, buf_bytes(&stored)))
        result = fetch_list(s, name, e);
    buf_free(&stored);
    free(kept);
    return result;
}

static void forget_kept_lists(const struct pack_inventory *s)
{
    for (size_t i = 0; i < s->n_lists; i++) {
        char *kept = kept_list(s, &s->lists[i]);

        if (piece_index_has_list(s->known, &s->lists[i]))
            (void)unlink(kept);
        free(kept);
    }
}

static int get_lists(struct pack_inventory *s, const bool *missing, struct err *e)
{
    int result = 0;

    for (size_t i = 0; i < s->n_lists && result == 0; i++)
        if (missing[i])
            result = get_list(s, &s->lists[i], e);
    /* Nobody may be called who finds the stock gone. */
    return store_fetch_all(s->store, result == 0 ? e : NULL) < 0 ? -1 : result;
}

/* NULL: none. */
static bool *find_missing(const struct pack_inventory *s)
{
    bool *missing = mem_alloc(s->n_lists * sizeof *missing);
    size_t n = 0;

    for (size_t i = 0; i < s->n_lists; i++) {
        missing[i] = !piece_index_has_list(s->known, &s->lists[i]);
        n += missing[i];
    }
    if (n > 0)
        return missing;
    free(missing);
    return NULL;
}

/* Where the cache cannot be written, as much is learned as memory takes. */
static int learn_missing(struct pack_inventory *s, const bool *missing, struct err *e)
{
    struct piece_index *learned;
    int result;

    s->update = piece_index_update_begin(s->known_path, s->known);
    result = get_lists(s, missing, e);
    learned = piece_index_update_end(s->update);
    s->update = NULL;
    if (learned == NULL)
        return result < 0 ? -1 : get_lists(s, missing, e);
    s->known = learned;
    look_at_parts(s);
    forget_kept_lists(s);
    return result;
}

static int learn_all(struct pack_inventory *s, struct err *e)
{
    bool *missing;
    int result = 0;

    look_at_parts(s);
    missing = find_missing(s);
    if (missing != NULL)
        result = learn_missing(s, missing, e);
    free(missing);
    return result;
}

static void find_cache(struct pack_inventory *s)
{
    char *key = store_key(store_place(s->store));

    s->known_path = cache_dir_path("packs", key);
    s->lists_folder = mem_printf("%s.lists", s->known_path);
    s->known = piece_index_open(s->known_path);
    free(key);
}

struct pack_inventory *pack_inventory_open(struct store *store, struct err *e)
{
    struct pack_inventory *s = mem_alloc(sizeof *s);

    *s = (struct pack_inventory){ .store = store, .arena = arena_create() };
    s->fresh = hash_table_create(FRESH_MAX);
    s->parts = hash_table_create(SIZE_MAX);
    for (size_t i = 0; i < PACK_OBJECT_COUNT; i++)
        s->there[i] = hash_table_create(SIZE_MAX);
    if (store == NULL)
        return s;
    find_cache(s);
    if (look(s, e) == 0 && learn_all(s, e) == 0)
        return s;
    pack_inventory_close(s);
    return NULL;
}

void pack_inventory_close(struct pack_inventory *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < PACK_OBJECT_COUNT; i++)
        hash_table_destroy(s->there[i]);
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++)
        free(s->leftovers[i].items);
    piece_index_close(s->known);
    hash_table_destroy(s->fresh);
    hash_table_destroy(s->parts);
    free(s->lists);
    free(s->known_path);
    free(s->lists_folder);
    free(s->fresh_parts);
    free(s->relied);
    arena_destroy(s->arena);
    free(s);
}

bool pack_inventory_has(const struct pack_inventory *s, enum pack_object kind,
                        const struct digest *name)
{
    uint32_t number;

    return hash_table_find(s->there[kind], name, &number);
}

void pack_inventory_add(struct pack_inventory *s, enum pack_object kind, const struct digest *name)
{
    hash_table_add(s->there[kind], name, IS_NEW);
}

/* ---- what is relied on ---- */

static bool was_there(const struct pack_inventory *s, enum pack_object kind,
                      const struct digest *name)
{
    uint32_t since;

    return hash_table_find(s->there[kind], name, &since) && since == WAS_THERE;
}

void pack_inventory_rely(struct pack_inventory *s, enum pack_object kind, const struct digest *name)
{
    if (!was_there(s, kind, name))
        return;
    mem_grow((void **)&s->relied, &s->relied_capacity, s->n_relied, sizeof *s->relied);
    s->relied[s->n_relied++] = (struct relied){ kind, *name };
}

/* Where hold tells of what is relied on. */
struct holding {
    pack_inventory_touch *touch;
    void *context;
};

static int touch_object(const struct holding *h, enum pack_object kind, const struct digest *name,
                        struct err *e)
{
    struct buf path = { 0 };
    int result;

    pack_object_path(&path, kind, name);
    result = h->touch(h->context, buf_text(&path), e);
    buf_free(&path);
    return result;
}

static int touch_part(const struct holding *h, const struct pack_part *part, struct err *e)
{
    struct buf path = { 0 };
    int result = touch_object(h, PACK_LIST, &part->list, e);

    if (result < 0 || !pack_is_stored(part->form))
        return result;
    pack_part_path(&path, part);
    result = h->touch(h->context, buf_text(&path), e);
    buf_free(&path);
    return result;
}

static int touch_parts(struct pack_inventory *s, const struct holding *h, struct err *e)
{
    struct piece_index_part *known;
    size_t n = 0;
    int result = 0;

    known = s->known != NULL ? piece_index_parts(s->known, &n) : NULL;
    for (size_t i = 0; i < n && result == 0; i++)
        if (known[i].is_used)
            result = touch_part(h, &known[i].part, e);
    for (size_t i = 0; i < s->n_fresh && result == 0; i++)
        if (s->fresh_parts[i].is_used && s->fresh_parts[i].was_there)
            result = touch_part(h, &s->fresh_parts[i].part, e);
    return result;
}

static void forget_relied(struct pack_inventory *s)
{
    struct piece_index_part *known;
    size_t n = 0;

    known = s->known != NULL ? piece_index_parts(s->known, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        known[i].is_used = false;
    for (size_t i = 0; i < s->n_fresh; i++)
        s->fresh_parts[i].is_used = false;
    s->n_relied = 0;
}

int pack_inventory_hold(struct pack_inventory *s, pack_inventory_touch *touch, void *context,
                        struct err *e)
{
    const struct holding h = { touch, context };
    int result = touch_parts(s, &h, e);

    for (size_t i = 0; i < s->n_relied && result == 0; i++)
        result = touch_object(&h, s->relied[i].kind, &s->relied[i].name, e);
    forget_relied(s);
    return result;
}

int pack_inventory_hold_manifest(struct pack_inventory *s, const struct digest *id,
                                 pack_inventory_touch *touch, void *context, struct err *e)
{
    const struct holding h = { touch, context };

    forget_relied(s);
    return was_there(s, PACK_MANIFEST, id) ? touch_object(&h, PACK_MANIFEST, id, e) : 0;
}

/* ---- pieces ---- */

void pack_inventory_keep_list(const struct pack_inventory *s, const struct digest *name,
                              struct bytes list)
{
    char *path;

    if (s->lists_folder == NULL)
        return;
    path = kept_list(s, name);
    if (io_make_dirs(s->lists_folder, 0700, NULL) == 0 &&
        io_write_file_at(AT_FDCWD, path, list.data, list.n, 0600, NULL) < 0)
        (void)unlink(path);
    free(path);
}

int pack_inventory_learn(struct pack_inventory *s, const struct pack_part *part, struct bytes list,
                         struct err *e)
{
    struct pack_list *l = pack_list_decode(&part->list, list, e);

    if (l == NULL)
        return -1;
    pack_inventory_add(s, PACK_LIST, &part->list);
    add_fresh(s, l, false);
    pack_list_destroy(l);
    return 0;
}

bool pack_inventory_want(struct pack_inventory *s, const struct digest *piece)
{
    return s->known != NULL && piece_index_want(s->known, piece);
}

void pack_inventory_judge(struct pack_inventory *s, uint64_t unknown_bytes)
{
    struct piece_index_part *parts;
    size_t n = 0;

    if (s->known == NULL)
        return;
    parts = piece_index_parts(s->known, &n);
    for (size_t i = 0; i < n; i++)
        parts[i].is_good = parts[i].is_there && parts[i].wanted_bytes + unknown_bytes >=
                                                    parts[i].bytes - parts[i].bytes / 2;
}

static struct fresh *find_fresh(const struct pack_inventory *s, uint32_t piece)
{
    size_t low = 0, high = s->n_fresh;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (s->fresh_parts[middle].first <= piece)
            low = middle;
        else
            high = middle;
    }
    return &s->fresh_parts[low];
}

bool pack_inventory_find(struct pack_inventory *s, const struct digest *piece, bool all,
                         struct pack_place *where)
{
    struct fresh *f;
    uint32_t number;

    if (s->known != NULL && piece_index_find(s->known, piece, all, where))
        return true;
    if (!hash_table_find(s->fresh, piece, &number))
        return false;
    f = find_fresh(s, number);
    f->is_used = true;
    *where = (struct pack_place){ &f->part, number - f->first };
    return true;
}

void pack_inventory_sweep(const struct pack_inventory *s)
{
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++)
        store_sweep(s->store, i, &s->leftovers[i]);
}
