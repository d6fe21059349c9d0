/* SPDX-License-Identifier: MIT */
/* cache_reuse.c - files that other trees in the cache have already */

#include "worker/stager/cache_reuse.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "worker/base/dir_walk.h"
#include "worker/stager/cache_room.h"

/* More are not remembered: 8 bytes each. */
enum { ROWS_MAX = 32 * 1024 * 1024 };

struct earlier_tree {
    struct record record;
    struct dir_walk walk;
    char name[CACHE_NAME_BYTES];
};

struct known_file {
    uint32_t tree; /* counted from 1; 0: nothing */
    uint32_t row;
};

struct earlier {
    struct earlier_tree *trees;
    size_t n;
    struct known_file *table; /* by content; a power of 2 */
    size_t mask;
    uint64_t *inodes; /* that were linked; the same, 0: nothing */
    size_t n_inodes, inodes_mask;
};

/* ---- the table ---- */

static bool is_file(const struct cache_row *row)
{
    return (row->kind == PACK_FILE || row->kind == PACK_PROGRAM) && row->size > 0;
}

static const struct cache_row *row_of(const struct earlier *l, const struct known_file *p)
{
    return &l->trees[p->tree - 1].record.rows[p->row];
}

/* Where it is in the table, or belongs. */
static struct known_file *find_place(const struct earlier *l, const struct cache_row *row)
{
    uint64_t at;

    memcpy(&at, row->content.bytes, sizeof at);
    for (at &= l->mask; l->table[at].tree != 0; at = (at + 1) & l->mask) {
        const struct cache_row *other = row_of(l, &l->table[at]);

        if (other->kind == row->kind && other->size == row->size &&
            digest_equal(&other->content, &row->content))
            break;
    }
    return &l->table[at];
}

static size_t table_size(size_t n)
{
    size_t size = 16;

    while (size < 2 * n)
        size *= 2;
    return size;
}

struct earlier *earlier_open(int cache_fd, const struct digest *but)
{
    struct earlier *l = mem_alloc(sizeof *l);
    size_t n, n_rows = 0;
    struct cache_tree *trees = cache_list(cache_fd, &n);

    l->trees = mem_alloc(n * sizeof *l->trees);
    for (size_t i = 0; i < n; i++) {
        struct earlier_tree *t = &l->trees[l->n];

        if (!trees[i].is_whole || digest_equal(&trees[i].tree, but) ||
            !record_open(&t->record, cache_fd, &trees[i].tree))
            continue;
        if (!record_is_of_this_boot(&t->record) || n_rows + t->record.head->n_rows > ROWS_MAX) {
            record_close(&t->record);
            continue;
        }
        n_rows += t->record.head->n_rows;
        cache_name(&trees[i].tree, "", t->name);
        dir_walk_begin(&t->walk, cache_fd, t->name);
        l->n++;
    }
    free(trees);
    l->mask = table_size(n_rows) - 1;
    l->table = mem_alloc((l->mask + 1) * sizeof *l->table);
    for (size_t k = 0; k < l->n; k++) {
        const struct record *r = &l->trees[k].record;

        for (size_t i = 0; i < r->head->n_rows; i++) {
            struct known_file *p = is_file(&r->rows[i]) ? find_place(l, &r->rows[i]) : NULL;

            if (p != NULL && p->tree == 0)
                *p = (struct known_file){ (uint32_t)k + 1, (uint32_t)i };
        }
    }
    return l;
}

/* ---- linking ---- */

static bool add_to_set(uint64_t *set, size_t mask, uint64_t inode)
{
    size_t at = inode & mask;

    while (set[at] != 0 && set[at] != inode)
        at = (at + 1) & mask;
    if (set[at] == inode)
        return false;
    set[at] = inode;
    return true;
}

static void remember_inode(struct earlier *l, uint64_t inode)
{
    size_t size = table_size(l->n_inodes + 1);

    if (l->inodes == NULL || size > l->inodes_mask + 1) {
        uint64_t *bigger = mem_alloc(2 * size * sizeof *bigger);

        for (size_t i = 0; l->inodes != NULL && i <= l->inodes_mask; i++)
            if (l->inodes[i] != 0)
                (void)add_to_set(bigger, 2 * size - 1, l->inodes[i]);
        free(l->inodes);
        l->inodes = bigger;
        l->inodes_mask = 2 * size - 1;
    }
    l->n_inodes += add_to_set(l->inodes, l->inodes_mask, inode);
}

static bool was_linked(const struct earlier *l, uint64_t inode)
{
    size_t at = inode & l->inodes_mask;

    while (l->inodes[at] != 0 && l->inodes[at] != inode)
        at = (at + 1) & l->inodes_mask;
    return l->inodes[at] == inode;
}

/* With a ctime that is newer because it was linked for this tree, too. */
static bool is_still(const struct earlier *l, const struct cache_row *row, const struct stat *st)
{
    if (row_is(row, st))
        return true;
    return l->inodes != NULL && row->inode == st->st_ino && was_linked(l, st->st_ino) &&
           S_ISREG(st->st_mode) && row->size == (uint64_t)st->st_size &&
           row->mtime_ns == stat_mtime_ns(st);
}

bool earlier_link(struct earlier *l, const struct cache_row *row, int dir_fd, const char *name)
{
    const struct known_file *from = row->size > 0 ? find_place(l, row) : NULL;
    struct earlier_tree *t;
    const char *old;
    struct stat st;
    int old_fd;

    if (from == NULL || from->tree == 0)
        return false;
    t = &l->trees[from->tree - 1];
    old_fd = dir_walk_to(&t->walk, record_path(&t->record, from->row), &old, NULL);
    if (old_fd < 0 || fstatat(old_fd, old, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !is_still(l, row_of(l, from), &st))
        return false;
    t->record.head->is_shared = true; /* before it is, as we may be killed */
    if (linkat(old_fd, old, dir_fd, name, 0) < 0)
        return false;
    remember_inode(l, st.st_ino);
    return true;
}

void earlier_close(struct earlier *l)
{
    if (l == NULL)
        return;
    for (size_t k = 0; k < l->n; k++) {
        struct earlier_tree *t = &l->trees[k];

        /* Files that were linked have new times. */
        for (size_t i = 0; l->n_inodes > 0 && i < t->record.head->n_rows; i++) {
            struct cache_row *row = &t->record.rows[i];
            const char *name;
            struct stat st;
            int dir_fd;

            if (!is_file(row) || !was_linked(l, row->inode))
                continue;
            dir_fd = dir_walk_to(&t->walk, record_path(&t->record, i), &name, NULL);
            if (dir_fd >= 0 && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                is_still(l, row, &st))
                row_take(row, &st);
        }
        dir_walk_end(&t->walk);
        record_close(&t->record);
    }
    free(l->trees);
    free(l->table);
    free(l->inodes);
    free(l);
}
