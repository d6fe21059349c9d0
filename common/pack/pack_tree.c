/* SPDX-License-Identifier: MIT */
/* pack_tree.c - the digest of what is in a tree, wherever it is stored */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/pack/pack_bytes.h"
#include "common/pack/pack_tree.h"

struct pack_tree {
    struct hasher *tree, *file;
    struct digest first; /* piece of the file, while it is the only one */
    size_t n;            /* pieces and holes of the file so far */
    bool hashed;         /* they went to file */
};

static const char version[] = "ludwig tree 2\n";
static const char letters[PACK_KIND_COUNT] = { 'd', 'f', 'x', 'l', 'h' };

struct pack_tree *pack_tree_create(void)
{
    struct pack_tree *t = mem_alloc(sizeof *t);

    *t = (struct pack_tree){ .tree = hasher_create(), .file = hasher_create() };
    hasher_add(t->tree, version, strlen(version));
    return t;
}

void pack_tree_destroy(struct pack_tree *t)
{
    if (t == NULL)
        return;
    hasher_destroy(t->tree);
    hasher_destroy(t->file);
    free(t);
}

static void add_to_file(struct pack_tree *t, const void *bytes, size_t n)
{
    if (t->n > 0 && !t->hashed)
        hasher_add(t->file, t->first.bytes, DIGEST_BYTES);
    hasher_add(t->file, bytes, n);
    t->hashed = true;
    t->n++;
}

void pack_tree_piece(struct pack_tree *t, const struct digest *piece)
{
    if (t->n > 0) {
        add_to_file(t, piece->bytes, DIGEST_BYTES);
        return;
    }
    t->first = *piece;
    t->n = 1;
}

void pack_tree_hole(struct pack_tree *t, uint64_t n_pieces)
{
    struct buf hole = { 0 };

    buf_add(&hole, (struct digest){ 0 }.bytes, DIGEST_BYTES);
    pack_add_number(&hole, n_pieces, 8);
    add_to_file(t, hole.bytes, hole.n);
    buf_free(&hole);
}

static void end_file(struct pack_tree *t, struct digest *file)
{
    if (t->hashed)
        hasher_end(t->file, file);
    else if (t->n > 0)
        *file = t->first;
    else
        digest_of("", 0, file);
    t->n = 0;
    t->hashed = false;
}

void pack_tree_entry(struct pack_tree *t, const struct pack_entry *entry)
{
    struct digest file;
    char size[32];

    hasher_add(t->tree, &letters[entry->kind], 1);
    hasher_add(t->tree, entry->path, strlen(entry->path) + 1);
    if (entry->kind == PACK_FOLDER)
        return;
    if (entry->kind == PACK_SYMLINK || entry->kind == PACK_HARD_LINK) {
        hasher_add(t->tree, entry->target, strlen(entry->target) + 1);
        return;
    }
    end_file(t, &file);
    snprintf(size, sizeof size, "%" PRIu64, entry->size);
    hasher_add(t->tree, size, strlen(size) + 1);
    hasher_add(t->tree, file.bytes, DIGEST_BYTES);
}

void pack_tree_end(struct pack_tree *t, struct digest *tree)
{
    hasher_end(t->tree, tree);
}
