/* SPDX-License-Identifier: MIT */
/* hardlinks.c - which files of a tree are one and the same */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/pack/hardlinks.h"
#include "common/base/mem.h"

enum { FIRST_SLOTS = 64 };

struct slot {
    dev_t device;
    ino_t inode;
    const char *path; /* NULL: free */
};

struct hardlinks {
    struct arena *arena;
    struct slot *slots; /* a power of two, at most half of them taken */
    size_t n_slots, n, bytes;
};

struct hardlinks *hardlinks_create(void)
{
    struct hardlinks *l = mem_alloc(sizeof *l);

    *l = (struct hardlinks){ .arena = arena_create(), .n_slots = FIRST_SLOTS };
    l->slots = mem_alloc(FIRST_SLOTS * sizeof *l->slots);
    return l;
}

void hardlinks_destroy(struct hardlinks *l)
{
    if (l == NULL)
        return;
    arena_destroy(l->arena);
    free(l->slots);
    free(l);
}

static struct slot *find(const struct hardlinks *l, dev_t device, ino_t inode)
{
    uint64_t hash = ((uint64_t)inode ^ (uint64_t)device << 32) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i;

    for (i = (size_t)(hash >> 32) & (l->n_slots - 1);; i = (i + 1) & (l->n_slots - 1))
        if (l->slots[i].path == NULL ||
            (l->slots[i].inode == inode && l->slots[i].device == device))
            return &l->slots[i];
}

static void grow(struct hardlinks *l)
{
    struct slot *old = l->slots;
    size_t n_old = l->n_slots;

    l->n_slots *= 2;
    l->slots = mem_alloc(l->n_slots * sizeof *l->slots);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].path != NULL)
            *find(l, old[i].device, old[i].inode) = old[i];
    free(old);
}

const char *hardlinks_find_or_add(struct hardlinks *l, const struct stat *st, const char *path)
{
    struct slot *slot = find(l, st->st_dev, st->st_ino);

    if (slot->path != NULL)
        return slot->path;
    l->bytes += 2 * sizeof *slot + strlen(path) + 1;
    if (l->bytes > HARDLINKS_BYTES_MAX)
        return NULL;
    if (l->n >= l->n_slots / 2) {
        grow(l);
        slot = find(l, st->st_dev, st->st_ino);
    }
    *slot = (struct slot){ st->st_dev, st->st_ino, arena_strdup(l->arena, path) };
    l->n++;
    return NULL;
}
