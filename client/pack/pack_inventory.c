/* SPDX-License-Identifier: MIT */
/* pack_inventory.c - knows what a project's packs on the share contained when they were listed */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/pack/pack_inventory.h"
#include "client/pack/piece_index.h"
#include "client/util/cache_dir.h"
#include "common/base/hash_table.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/pack/pack_object.h"

enum { FRESH_MAX = 192 * 1024 };

/* A part that was learned in this run; its pieces have the numbers from first on. */
struct fresh {
    struct pack_part part;
    uint32_t first;
    bool was_there; /* the part is old, and only its list was learned in this run */
    bool is_used;
};

/* An object that was on the share already and that the next manifest needs. */
struct relied {
    enum pack_object kind;
    struct digest name;
};

enum { WAS_THERE, IS_NEW }; /* the values in the tables `there` */

struct pack_inventory {
    struct store *store;
    struct hash_table *there[PACK_OBJECT_COUNT];
    struct hash_table *parts;        /* stored parts, by the digests in their names */
    char *known_path, *lists_folder; /* paths in the user's cache folder */
    struct piece_index *known;       /* NULL: there is no store */
    struct digest *missing;          /* lists on the share that `known` lacks */
    size_t n_missing, missing_capacity;
    struct piece_index_update *update; /* not NULL while lists are learned */
    struct hash_table *fresh;          /* pieces of fresh_parts, by digest */
    struct fresh *fresh_parts;
    size_t n_fresh, fresh_capacity;
    uint32_t next_fresh;
    struct relied *relied;
    size_t n_relied, relied_capacity;
};

static void take_name(struct pack_inventory *s, const char *name)
{
    struct digest d;
    const char *ending = pack_name_ending(name, &d);

    if (ending == NULL)
        return;
    for (enum pack_object kind = 0; kind < PACK_OBJECT_COUNT; kind++)
        if (pack_ending_is_of(ending, kind))
            hash_table_add(s->there[kind], &d, WAS_THERE);
    if (pack_ending_is_part(ending))
        hash_table_add(s->parts, &d, 0);
    if (pack_ending_is_of(ending, PACK_LIST) && !piece_index_has_list(s->known, &d)) {
        mem_grow((void **)&s->missing, &s->missing_capacity, s->n_missing, sizeof *s->missing);
        s->missing[s->n_missing++] = d;
    }
}

static int list_packs(struct pack_inventory *s, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries[STORE_FOLDER_COUNT];
    int result = store_list(s->store, false, a, entries, e);

    for (size_t i = 0; i < STORE_FOLDER_COUNT && result == 0; i++)
        for (size_t k = 0; k < entries[i].n; k++)
            take_name(s, ((const struct share_entry *)entries[i].items)[k].name);
    arena_destroy(a);
    return result;
}

/* ---- lists of parts ---- */

static bool has_part(const struct pack_inventory *s, const struct pack_part *part)
{
    uint32_t number;

    return hash_table_find(s->there[PACK_LIST], &part->list, &number) &&
           (!pack_is_stored(part->form) || hash_table_find(s->parts, &part->list, &number));
}

/* Marks which known parts are still on the share. */
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

/* Learns a part's list; if the part is not stored, only that its list need not be fetched again. */
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

/* A list that is being fetched. */
struct coming {
    struct pack_inventory *inventory;
    const struct digest *name;
};

static void on_list(void *context, const struct err *error, struct bytes content)
{
    const struct coming *c = context;

    if (error == NULL)
        (void)take_list(c->inventory, c->name, content);
}

static char *kept_list(const struct pack_inventory *s, const struct digest *name)
{
    char hex[DIGEST_HEX];

    digest_hex(name, hex);
    return path_join(s->lists_folder, hex);
}

static int get_missing(struct pack_inventory *s, struct err *e)
{
    struct coming *coming = mem_alloc(s->n_missing * sizeof *coming);
    int result = 0;

    for (size_t i = 0; i < s->n_missing && result == 0; i++) {
        const struct digest *name = &s->missing[i];
        char *kept = kept_list(s, name);
        struct buf stored = { 0 }, path = { 0 };

        coming[i] = (struct coming){ s, name };
        pack_object_path(&path, PACK_LIST, name);
        /* Lists of parts that were sent from here lie in the cache. */
        if (io_read_file(kept, PACK_LIST_BYTES_MAX, &stored, NULL) < 0 ||
            !take_list(s, name, buf_bytes(&stored)))
            result =
                store_fetch(s->store, buf_text(&path), PACK_LIST_BYTES_MAX, on_list, &coming[i], e);
        buf_free(&path);
        buf_free(&stored);
        free(kept);
    }
    /* No callback may run after the inventory is gone. */
    if (store_fetch_all(s->store, result == 0 ? e : NULL) < 0)
        result = -1;
    free(coming);
    return result;
}

/* Learns the missing lists; if the cache cannot be written, as many as fit into memory. */
static int learn_missing(struct pack_inventory *s, struct err *e)
{
    struct piece_index *learned;
    int result;

    s->update = piece_index_update_begin(s->known_path, s->known);
    result = get_missing(s, e);
    learned = piece_index_update_end(s->update);
    s->update = NULL;
    if (learned == NULL)
        return result < 0 ? -1 : get_missing(s, e);
    s->known = learned;
    look_at_parts(s);
    for (size_t i = 0; i < s->n_missing; i++) {
        char *kept = kept_list(s, &s->missing[i]);

        if (piece_index_has_list(s->known, &s->missing[i]))
            (void)unlink(kept);
        free(kept);
    }
    return result;
}

struct pack_inventory *pack_inventory_open(struct store *store, struct err *e)
{
    struct pack_inventory *s = mem_alloc(sizeof *s);
    char *key;

    s->store = store;
    s->fresh = hash_table_create(FRESH_MAX);
    s->parts = hash_table_create(SIZE_MAX);
    for (size_t i = 0; i < PACK_OBJECT_COUNT; i++)
        s->there[i] = hash_table_create(SIZE_MAX);
    if (store == NULL)
        return s;
    key = store_key(store);
    s->known_path = cache_dir_path("packs", key);
    s->lists_folder = mem_printf("%s.lists", s->known_path);
    s->known = piece_index_open(s->known_path);
    free(key);
    if (list_packs(s, e) == 0) {
        look_at_parts(s);
        if (s->n_missing == 0 || learn_missing(s, e) == 0)
            return s;
    }
    pack_inventory_close(s);
    return NULL;
}

void pack_inventory_close(struct pack_inventory *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < PACK_OBJECT_COUNT; i++)
        hash_table_destroy(s->there[i]);
    piece_index_close(s->known);
    hash_table_destroy(s->fresh);
    hash_table_destroy(s->parts);
    free(s->missing);
    free(s->known_path);
    free(s->lists_folder);
    free(s->fresh_parts);
    free(s->relied);
    free(s);
}

/* ---- older files that a manifest needs ---- */

static int touch_object(struct send_queue *queue, enum pack_object kind, const struct digest *name,
                        struct err *e)
{
    struct buf path = { 0 };
    int result;

    pack_object_path(&path, kind, name);
    result = send_queue_add(
        queue, &(struct send_record){ .kind = SEND_TOUCH, .bytes = { path.bytes, path.n + 1 } }, e);
    buf_free(&path);
    return result;
}

static int touch_part(struct send_queue *queue, const struct pack_part *part, struct err *e)
{
    struct buf path = { 0 };
    int result = touch_object(queue, PACK_LIST, &part->list, e);

    if (result < 0 || !pack_is_stored(part->form))
        return result;
    pack_part_path(&path, part);
    result = send_queue_add(
        queue, &(struct send_record){ .kind = SEND_TOUCH, .bytes = { path.bytes, path.n + 1 } }, e);
    buf_free(&path);
    return result;
}

/* Touches the older files used since the last call, and forgets them; queue NULL: only forgets. */
static int hold(struct pack_inventory *s, struct send_queue *queue, struct err *e)
{
    size_t n = 0;
    struct piece_index_part *known = s->known != NULL ? piece_index_parts(s->known, &n) : NULL;
    int result = 0;

    for (size_t i = 0; i < n; i++) {
        if (known[i].is_used && queue != NULL && result == 0)
            result = touch_part(queue, &known[i].part, e);
        known[i].is_used = false;
    }
    for (size_t i = 0; i < s->n_fresh; i++) {
        struct fresh *f = &s->fresh_parts[i];

        if (f->is_used && f->was_there && queue != NULL && result == 0)
            result = touch_part(queue, &f->part, e);
        f->is_used = false;
    }
    for (size_t i = 0; i < s->n_relied && queue != NULL && result == 0; i++)
        result = touch_object(queue, s->relied[i].kind, &s->relied[i].name, e);
    s->n_relied = 0;
    return result;
}

int pack_inventory_send(struct pack_inventory *s, enum pack_object kind, const struct digest *name,
                        struct bytes bytes, struct send_queue *queue, struct err *e)
{
    uint32_t since;
    bool is_there = hash_table_find(s->there[kind], name, &since);

    if (kind == PACK_MANIFEST && hold(s, is_there ? NULL : queue, e) < 0)
        return -1;
    if (!is_there) {
        const struct send_record r = {
            .kind = SEND_OBJECT, .object = kind, .name = *name, .bytes = bytes
        };

        hash_table_add(s->there[kind], name, IS_NEW);
        return send_queue_add(queue, &r, e);
    }
    if (since == IS_NEW)
        return 0;
    if (kind == PACK_MANIFEST)
        return touch_object(queue, kind, name, e);
    mem_grow((void **)&s->relied, &s->relied_capacity, s->n_relied, sizeof *s->relied);
    s->relied[s->n_relied++] = (struct relied){ kind, *name };
    return 0;
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
    hash_table_add(s->there[PACK_LIST], &part->list, IS_NEW);
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

bool pack_inventory_find(struct pack_inventory *s, const struct digest *piece, bool all,
                         struct pack_place *where)
{
    size_t low = 0, high = s->n_fresh;
    struct fresh *f;
    uint32_t number;

    if (s->known != NULL && piece_index_find(s->known, piece, all, where))
        return true;
    if (!hash_table_find(s->fresh, piece, &number))
        return false;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (s->fresh_parts[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    f = &s->fresh_parts[low];
    f->is_used = true;
    *where = (struct pack_place){ &f->part, number - f->first };
    return true;
}
