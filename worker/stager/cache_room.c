/* SPDX-License-Identifier: MIT */
/* cache_room.c - lists trees in the cache, and removes them to make room */

#include "worker/stager/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/stager/cache_record.h"

/* This part of the file system, 10 GiB at most, stays free for what jobs write. */
enum { FLOOR_FRACTION = 20 };
#define FLOOR_MAX_BYTES ((uint64_t)10 << 30)
/* A dataset of more files than the file system has room for is refused before it is begun. */
#define FLOOR_FILES 1000

/* ---- contents ---- */

/* "DIGEST" or ".DIGEST.suffix"; false: the name is none of ours. */
static bool parse_name(const char *name, struct digest *tree)
{
    char hex[DIGEST_HEX];
    size_t skip = name[0] == '.';

    if (strlen(name) < skip + DIGEST_HEX - 1)
        return false;
    memcpy(hex, name + skip, DIGEST_HEX - 1);
    hex[DIGEST_HEX - 1] = '\0';
    return digest_parse(hex, tree) == 0 && (skip == 1) == (name[skip + DIGEST_HEX - 1] == '.');
}

/* The record's time says when the tree was used, its head what it is; the tree must be there,
 * too. */
bool cache_look(int cache_fd, struct cache_tree *t)
{
    char name[CACHE_NAME_BYTES], record_name[CACHE_NAME_BYTES];
    struct record r;
    struct stat st;

    cache_name(&t->tree, "", name);
    cache_name(&t->tree, CACHE_RECORD, record_name);
    t->is_whole = faccessat(cache_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
                  record_open(&r, cache_fd, &t->tree);
    if (t->is_whole) {
        t->files = r.head->files;
        t->bytes = r.head->bytes;
        t->last_use_ms = fstatat(cache_fd, record_name, &st, AT_SYMLINK_NOFOLLOW) < 0
                             ? 0
                             : units_ns(&st.st_mtim) / 1000000;
        record_close(&r);
    }
    return t->is_whole;
}

struct cache_tree *cache_list(int cache_fd, size_t *n)
{
    DIR *dir = io_list_dir_at(cache_fd, ".", NULL);
    struct cache_tree *trees = NULL;
    const struct dirent *entry;
    size_t capacity = 0;
    struct digest tree;

    *n = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        size_t i = 0;

        if (!parse_name(entry->d_name, &tree))
            continue;
        while (i < *n && !digest_equal(&trees[i].tree, &tree))
            i++;
        if (i < *n)
            continue;
        mem_grow((void **)&trees, &capacity, *n, sizeof *trees);
        trees[*n] = (struct cache_tree){ .tree = tree };
        (void)cache_look(cache_fd, &trees[(*n)++]);
    }
    if (dir != NULL)
        closedir(dir);
    return trees;
}

void cache_touch(int cache_fd, const struct digest *tree)
{
    char name[CACHE_NAME_BYTES];

    cache_name(tree, CACHE_RECORD, name);
    (void)utimensat(cache_fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* ---- removing ---- */

static bool ends_in(const char *name, const char *end)
{
    return strlen(name) > strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

/* Whether a process that was killed left this file, which is not a tree on its way. */
static bool is_left_over(int cache_fd, const char *name, struct digest *tree)
{
    char new[CACHE_NAME_BYTES];

    if (name[0] != '.' || !parse_name(name, tree))
        return false;
    cache_name(tree, CACHE_NEW, new);
    return ends_in(name, CACHE_GONE) || ends_in(name, CACHE_FIX) || ends_in(name, CACHE_DRAFT) ||
           (ends_in(name, CACHE_BEGUN) && faccessat(cache_fd, new, F_OK, AT_SYMLINK_NOFOLLOW) < 0);
}

void cache_sweep(int cache_fd, const struct cache_locks *locks)
{
    DIR *dir = io_list_dir_at(cache_fd, ".", NULL);
    const struct dirent *entry;
    struct digest tree;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;

        if (!is_left_over(cache_fd, name, &tree) || !cache_lock_work(locks, &tree))
            continue;
        /* The name may have become something else before we had the lock. */
        if (is_left_over(cache_fd, name, &tree))
            (void)io_remove_tree_at(cache_fd, name, NULL);
        cache_unlock_work(locks, &tree);
    }
    if (dir != NULL)
        closedir(dir);
}

/* Takes the tree's name away first, so that a tree half removed is never taken for whole. */
int cache_remove(int cache_fd, const struct digest *tree, struct err *e)
{
    static const char *const beside[] = { CACHE_GONE,  CACHE_NEW,   CACHE_FIX,
                                          CACHE_BEGUN, CACHE_DRAFT, CACHE_FAILED };
    char name[CACHE_NAME_BYTES], gone[CACHE_NAME_BYTES];
    int result = 0;

    cache_name(tree, CACHE_GONE, gone);
    if (io_remove_tree_at(cache_fd, gone, e) < 0)
        return -1;
    cache_name(tree, "", name);
    if (renameat(cache_fd, name, cache_fd, gone) < 0 && errno != ENOENT)
        return err_sys(e, "remove %s from the cache", name);
    cache_name(tree, CACHE_RECORD, name);
    if (unlinkat(cache_fd, name, 0) < 0 && errno != ENOENT)
        result = err_sys(e, "remove %s", name);
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        cache_name(tree, beside[i], name);
        if (io_remove_tree_at(cache_fd, name, e) < 0)
            result = -1;
    }
    return result;
}

static int by_last_use(const void *x, const void *y)
{
    const struct cache_tree *a = x, *b = y;

    return a->last_use_ms == b->last_use_ms ? 0 : a->last_use_ms < b->last_use_ms ? -1 : 1;
}

/* Removes a tree, unless it is in use here or in another process. */
static bool evict(const struct cache *c, const struct cache_tree *t)
{
    char hex[DIGEST_HEX];
    struct err why = { 0 };
    bool is_gone = false;

    if (!cache_lock_removal(c->locks, &t->tree))
        return false;
    digest_hex(&t->tree, hex);
    if (c->let_go(c->context, &t->tree)) {
        is_gone = cache_remove(c->fd, &t->tree, &why) == 0;
        if (is_gone)
            log_event(LOG_INFO, "evict", "tree", "%s", hex, "bytes", "%lld", (long long)t->bytes,
                      NULL);
        else
            log_event(LOG_WARN, "not-evicted", "tree", "%s", hex, "why", "%s", why.text, NULL);
    }
    cache_unlock_work(c->locks, &t->tree);
    return is_gone;
}

/* ---- room ---- */

struct making {
    struct cache *cache;
    const struct cache_need *need;
    uint64_t held_bytes; /* of all other trees */
    bool was_full;
};

static uint64_t floor_bytes(const struct making *m, const struct statvfs *fs)
{
    uint64_t part = (uint64_t)fs->f_blocks * fs->f_frsize / FLOOR_FRACTION;

    return (part < FLOOR_MAX_BYTES ? part : FLOOR_MAX_BYTES) +
           (uint64_t)m->cache->settings.promised_bytes;
}

static void add_size(struct buf *text, const char *before, uint64_t bytes)
{
    buf_add_str(text, before);
    units_add_size(text, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
}

static int refuse_room(const struct making *m, const struct statvfs *fs, struct err *e)
{
    struct buf text = { 0 };

    if (fs == NULL) {
        add_size(&text, "the cache has no room for a dataset of ", m->need->tree_bytes);
        add_size(&text, ": cache_size is ", (uint64_t)m->cache->settings.cache_size_bytes);
        add_size(&text, ", of which what is in use takes ", m->held_bytes);
    } else {
        add_size(&text, "scratch has no room for ", m->need->bytes);
        buf_printf(&text, " in %" PRIu64 " files", m->need->files);
        add_size(&text, ": it has ", (uint64_t)fs->f_bavail * fs->f_frsize);
        add_size(&text, " free, of which ", floor_bytes(m, fs));
        buf_printf(&text, " stay free for jobs%s, and all that it holds is in use",
                   m->need->was_full ? ", and is full" : "");
    }
    err_set(e, ERR_NO_SPACE, "%s", buf_text(&text));
    buf_free(&text);
    return -1;
}

static bool is_within_size(const struct making *m, uint64_t held_bytes)
{
    uint64_t most = (uint64_t)m->cache->settings.cache_size_bytes;

    return most == 0 || (held_bytes <= most && m->need->tree_bytes <= most - held_bytes);
}

/* Returns 1 if there is room, 0 if not, -1 with e set. */
static int has_room(const struct making *m, struct statvfs *fs, struct err *e)
{
    const struct cache_need *n = m->need;
    uint64_t free_bytes, floor;

    if (fstatvfs(m->cache->fd, fs) < 0)
        return err_sys(e, "look how much room scratch has");
    free_bytes = (uint64_t)fs->f_bavail * fs->f_frsize;
    floor = floor_bytes(m, fs);
    if (m->was_full || !is_within_size(m, m->held_bytes))
        return 0;
    if (fs->f_files > 0 && n->files > 0 &&
        (fs->f_favail < FLOOR_FILES || fs->f_favail - FLOOR_FILES < n->files))
        return 0;
    return n->bytes == 0 || (free_bytes >= floor && n->bytes <= free_bytes - floor);
}

int cache_make_room(struct cache *c, const struct cache_need *need, struct err *e)
{
    struct making m = { .cache = c, .need = need, .was_full = need->was_full };
    struct statvfs fs;
    size_t n;
    struct cache_tree *trees = cache_list(c->fd, &n);
    int rc;

    for (size_t i = 0; i < n; i++)
        if (!digest_equal(&trees[i].tree, &need->tree))
            m.held_bytes += (uint64_t)trees[i].bytes;
    if (n > 0)
        qsort(trees, n, sizeof *trees, by_last_use);
    rc = is_within_size(&m, 0) ? has_room(&m, &fs, e) : refuse_room(&m, NULL, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (digest_equal(&trees[i].tree, &need->tree) || !evict(c, &trees[i]))
            continue;
        m.held_bytes -= (uint64_t)trees[i].bytes;
        m.was_full = false;
        rc = has_room(&m, &fs, e);
    }
    free(trees);
    if (rc == 0)
        rc = refuse_room(&m, is_within_size(&m, m.held_bytes) ? &fs : NULL, e);
    return rc < 0 ? -1 : 0;
}
