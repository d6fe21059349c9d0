/* SPDX-License-Identifier: MIT */
/* stock.c - what lies in a project's packs already */
#include <stdlib.h>
#include <string.h>

#include "client/stock.h"
#include "common/mem.h"
#include "common/pack_list.h"
#include "common/pack_seen.h"

enum { FRESH_MAX = 256 * 1024 };

/* A part that came while this runs; its pieces have the numbers from first on. */
struct fresh {
    struct pack_part part;
    uint32_t first;
};

struct stock {
    struct store *store;
    struct pack_seen *fresh; /* pieces */
    struct fresh *fresh_parts;
    size_t n_fresh, fresh_capacity;
    uint32_t next_fresh;
    struct pack_seen *there[PACK_OBJECT_COUNT];
    struct arena *arena;
    struct list leftovers[STORE_FOLDER_COUNT]; /* struct store_entry: temporary files */
};

static const char *const endings[PACK_OBJECT_COUNT] = { ".manifest", ".block", ".list" };

/* Names that are a digest and that ending. */
static bool parse_name(const char *name, const char *ending, struct digest *d)
{
    char hex[DIGEST_HEX];
    size_t n = strlen(name);

    if (n != DIGEST_HEX - 1 + strlen(ending) || strcmp(name + DIGEST_HEX - 1, ending) != 0)
        return false;
    memcpy(hex, name, DIGEST_HEX - 1);
    hex[DIGEST_HEX - 1] = '\0';
    return digest_parse(hex, d) == 0;
}

static int learn_list(struct stock *s, const struct digest *name, struct err *e)
{
    struct buf path = { 0 }, stored = { 0 };
    struct pack_list *l = NULL;
    int result;

    pack_object_path(&path, PACK_LIST, name);
    result = store_read(s->store, buf_text(&path), PACK_LIST_BYTES_MAX, &stored, e);
    if (result == 0)
        l = pack_list_decode(name, buf_bytes(&stored), e);
    if (l != NULL && l->part.form != PACK_IN_PLACE)
        result = stock_learn(s, &l->part, buf_bytes(&stored), e);
    pack_list_destroy(l);
    buf_free(&stored);
    buf_free(&path);
    return result;
}

static int take_name(struct stock *s, const char *name, struct err *e)
{
    struct digest d;

    for (enum pack_object kind = 0; kind < PACK_OBJECT_COUNT; kind++)
        if (parse_name(name, endings[kind], &d)) {
            pack_seen_add(s->there[kind], &d, 0);
            if (kind == PACK_LIST)
                return learn_list(s, &d, e);
        }
    return 0;
}

static void keep_leftover(struct stock *s, size_t folder, const struct store_entry *entry)
{
    struct list *l = &s->leftovers[folder];
    struct store_entry *items = arena_alloc(s->arena, (l->n + 1) * sizeof *items);

    if (l->n > 0)
        memcpy(items, l->items, l->n * sizeof *items);
    items[l->n] = *entry;
    items[l->n].name = arena_strdup(s->arena, entry->name);
    *l = (struct list){ items, l->n + 1 };
}

static int take_entries(struct stock *s, enum store_folder folder, const struct list *entries,
                        struct err *e)
{
    const struct store_entry *items = entries->items;

    for (size_t i = 0; i < entries->n; i++) {
        if (take_name(s, items[i].name, e) < 0)
            return -1;
        if (items[i].mtime_s > 0 && items[i].name[0] == '.')
            keep_leftover(s, folder, &items[i]);
    }
    return 0;
}

static int look(struct stock *s, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries[STORE_FOLDER_COUNT];
    int result = store_list(s->store, a, entries, e);

    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT && result == 0; i++)
        result = take_entries(s, i, &entries[i], e);
    arena_destroy(a);
    return result;
}

struct stock *stock_open(struct store *store, struct err *e)
{
    struct stock *s = mem_alloc(sizeof *s);

    *s = (struct stock){ .store = store, .arena = arena_create() };
    s->fresh = pack_seen_create(FRESH_MAX);
    for (size_t i = 0; i < PACK_OBJECT_COUNT; i++)
        s->there[i] = pack_seen_create(SIZE_MAX);
    if (store == NULL || look(s, e) == 0)
        return s;
    stock_close(s);
    return NULL;
}

void stock_close(struct stock *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < PACK_OBJECT_COUNT; i++)
        pack_seen_destroy(s->there[i]);
    pack_seen_destroy(s->fresh);
    free(s->fresh_parts);
    arena_destroy(s->arena);
    free(s);
}

bool stock_has(const struct stock *s, enum pack_object kind, const struct digest *name)
{
    uint32_t number;

    return pack_seen_find(s->there[kind], name, &number);
}

void stock_add(struct stock *s, enum pack_object kind, const struct digest *name)
{
    pack_seen_add(s->there[kind], name, 0);
}

/* ---- pieces ---- */

int stock_learn(struct stock *s, const struct pack_part *part, struct bytes list, struct err *e)
{
    struct pack_list *l = pack_list_decode(&part->list, list, e);

    if (l == NULL)
        return -1;
    stock_add(s, PACK_LIST, &part->list);
    mem_grow((void **)&s->fresh_parts, &s->fresh_capacity, s->n_fresh, sizeof *s->fresh_parts);
    s->fresh_parts[s->n_fresh++] = (struct fresh){ *part, s->next_fresh };
    for (uint32_t i = 0; i < l->n; i++)
        pack_seen_add(s->fresh, &l->pieces[i].digest, s->next_fresh + i);
    s->next_fresh += l->n;
    pack_list_destroy(l);
    return 0;
}

static const struct fresh *find_fresh(const struct stock *s, uint32_t piece)
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

bool stock_find(struct stock *s, const struct digest *piece, struct pack_place *where)
{
    const struct fresh *f;
    uint32_t number;

    if (!pack_seen_find(s->fresh, piece, &number))
        return false;
    f = find_fresh(s, number);
    *where = (struct pack_place){ &f->part, number - f->first };
    return true;
}

void stock_sweep(const struct stock *s)
{
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++)
        store_sweep(s->store, i, &s->leftovers[i]);
}
