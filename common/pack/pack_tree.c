/* SPDX-License-Identifier: MIT */
/* pack_tree.c - the order of the entries of a tree, and the digest of its content */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/pack/pack_tree.h"

struct pack_tree {
    struct hasher *tree, *file;
    struct digest first; /* the file's first piece, while it is the only one */
    size_t n;            /* pieces and holes of the file so far */
    bool hashed;         /* the pieces were added to the hasher file */

    struct buf last;   /* path of the last entry */
    struct buf folder; /* the innermost folder open */
    size_t *ends;      /* the length of each open folder's path in it */
    size_t n_open, capacity;
    bool begun;
    bool is_file; /* the tree is one file, whose path is "" */
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
    buf_free(&t->last);
    buf_free(&t->folder);
    free(t->ends);
    free(t);
}

static bool is_open(const struct pack_tree *t, const char *path, size_t n)
{
    size_t end = t->n_open > 0 ? t->ends[t->n_open - 1] : 0;

    return end == n && (n == 0 || memcmp(t->folder.bytes, path, n) == 0);
}

int pack_tree_check(struct pack_tree *t, const char *path, enum pack_kind kind, struct err *e)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash != NULL ? (size_t)(slash - path) : 0;

    if (path[0] == '\0') {
        if (t->begun || (kind != PACK_FILE && kind != PACK_PROGRAM))
            return err_set(e, ERR_PROTOCOL, "a path is empty");
        t->begun = t->is_file = true;
        return 0;
    }
    if (pack_path_check(path, strlen(path), e) < 0)
        return -1;
    if (t->is_file)
        return err_set(e, ERR_PROTOCOL, "%s is in a tree that is one file", path);
    if (t->begun && pack_path_compare(buf_text(&t->last), path) >= 0)
        return err_set(e, ERR_PROTOCOL, "%s comes after %s: out of order", path,
                       buf_text(&t->last));
    while (t->n_open > 0 && !is_open(t, path, n))
        t->n_open--;
    if (!is_open(t, path, n))
        return err_set(e, ERR_PROTOCOL, "the folder of %s is not there", path);
    if (kind == PACK_FOLDER) {
        buf_clear(&t->folder);
        buf_add_str(&t->folder, path);
        mem_grow((void **)&t->ends, &t->capacity, t->n_open, sizeof *t->ends);
        t->ends[t->n_open++] = t->folder.n;
    }
    t->begun = true;
    buf_clear(&t->last);
    buf_add_str(&t->last, path);
    return 0;
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
    uint8_t hole[DIGEST_BYTES + 8] = { 0 };

    for (size_t i = 0; i < 8; i++)
        hole[DIGEST_BYTES + i] = (uint8_t)(n_pieces >> (8 * i));
    add_to_file(t, hole, sizeof hole);
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
    if (t->hashed)
        hasher_end(t->file, &file);
    else if (t->n > 0)
        file = t->first;
    else
        digest_of("", 0, &file);
    t->n = 0;
    t->hashed = false;
    snprintf(size, sizeof size, "%" PRIu64, entry->size);
    hasher_add(t->tree, size, strlen(size) + 1);
    hasher_add(t->tree, file.bytes, DIGEST_BYTES);
}

void pack_tree_end(struct pack_tree *t, struct digest *tree)
{
    hasher_end(t->tree, tree);
}
