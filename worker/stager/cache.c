/* SPDX-License-Identifier: MIT */
/* cache.c - staged trees on scratch, each once, read-only, named by their content */

#include "worker/stager/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crash_point.h"
#include "common/base/hash_table.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/stager/cache_stage.h"

enum { SPACE_TRIES = 3 };

/* ---- using ---- */

/* Looks at the other trees that share files: a job that changes such a file changes it in all trees
 * that have it, and only the job's own tree is watched for that.  Returns whether one of them is in
 * use; doubts: has them looked at file by file next time. */
static bool meet_others(int cache_fd, const struct digest *tree, bool doubts)
{
    bool are_in_use = false;
    size_t n;
    struct cache_tree *trees = cache_list(cache_fd, &n);
    struct record r;

    for (size_t i = 0; i < n; i++) {
        if (!trees[i].is_whole || !record_open(&r, cache_fd, &trees[i].tree))
            continue;
        if (r.head->is_shared && !digest_equal(&r.head->tree, tree)) {
            are_in_use |= r.head->use != RECORD_CLOSED;
            if (doubts)
                r.head->use = RECORD_DOUBTED;
        }
        record_close(&r);
    }
    free(trees);
    return are_in_use;
}

/* The tree is watched first, so that no change falls between looking and watching. */
enum cache_state cache_open_tree(int cache_fd, struct cache_use *use)
{
    char name[CACHE_NAME_BYTES];
    bool is_doubted, is_whole = false;
    struct damage damage;
    struct record r;

    use->is_guarded = false;
    cache_name(&use->tree, "", name);
    if (faccessat(cache_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        return CACHE_ABSENT;
    if (!record_open(&r, cache_fd, &use->tree))
        return CACHE_DAMAGED;
    use->is_guarded = record_watch(&r, use->cache_dir_path, use->guard_fd, true);
    is_doubted = use->is_doubted || (r.head->is_shared && meet_others(cache_fd, &use->tree, false));
    if (!record_is_of_this_boot(&r)) {
        is_whole = false;
    } else if (!is_doubted && r.head->use == RECORD_CLOSED && record_check_folders(&r, cache_fd)) {
        is_whole = true;
    } else {
        record_check_files(&r, cache_fd, &damage);
        is_whole = !damage.top && damage.n == 0;
        free(damage.rows);
    }
    /* The record has taken new times of folders, which say nothing until the damage is repaired. */
    r.head->use = is_whole ? RECORD_OPEN : RECORD_DOUBTED;
    if (!is_whole && r.head->is_shared)
        (void)meet_others(cache_fd, &use->tree, true);
    record_close(&r);
    cache_touch(cache_fd, &use->tree);
    return is_whole ? CACHE_WHOLE : CACHE_DAMAGED;
}

void cache_close_tree(int cache_fd, const struct cache_use *use)
{
    struct record r;

    if (record_open(&r, cache_fd, &use->tree)) {
        /* A tree that other stagers use stays open: they may be told of changes that were not
         * looked at yet. */
        if (use->is_doubted)
            r.head->use = RECORD_DOUBTED;
        else if (r.head->use != RECORD_DOUBTED && !use->is_used_by_others)
            r.head->use = RECORD_CLOSED;
        (void)record_watch(&r, use->cache_dir_path, use->guard_fd, false);
        record_close(&r);
    }
    cache_touch(cache_fd, &use->tree);
}

/* ---- the tree at the beginning ---- */

/* Trusts the tree's record if it can be used, and else has the content of every file looked at. */
static void trust_record(struct stage *s)
{
    struct damage damage = { 0 };
    struct record r;

    s->trust = TRUST_CONTENT;
    if (!record_open(&r, s->cache->fd, &s->plan.set.tree))
        return;
    if (record_is_of_this_boot(&r) && r.head->n_rows == s->plan.n) {
        record_check_files(&r, s->cache->fd, &damage);
        if (!damage.top)
            s->trust = TRUST_RECORD;
    }
    for (size_t i = 0; s->trust == TRUST_RECORD && i < s->plan.n; i++) {
        struct cache_row *row = &s->plan.rows[i];

        row->inode = r.rows[i].inode;
        row->mtime_ns = r.rows[i].mtime_ns;
        row->ctime_ns = r.rows[i].ctime_ns;
        s->plan.entries[i].is_wanted = false;
        s->plan.entries[i].has_stat = true;
    }
    for (size_t i = 0; s->trust == TRUST_RECORD && i < damage.n; i++) {
        s->plan.entries[damage.rows[i]].is_wanted = true;
        s->plan.entries[damage.rows[i]].has_stat = false;
    }
    free(damage.rows);
    record_close(&r);
}

static bool is_single_file(const struct plan *p)
{
    return p->n == 1 && plan_path(p, 0)[0] == '\0';
}

/* Begins a new tree, or goes on with one: modes tell which files made in this boot are whole. */
static int begin_new(struct stage *s, struct err *e)
{
    char begun[CACHE_NAME_BYTES], id[BOOT_BYTES];
    struct buf earlier = { 0 };
    struct stat st;

    cache_name(&s->plan.set.tree, CACHE_NEW, s->name);
    cache_name(&s->plan.set.tree, CACHE_BEGUN, begun);
    boot_id(id);
    if (fstatat(s->cache->fd, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode) != is_single_file(&s->plan)) {
        (void)io_read_file_at(s->cache->fd, begun, BOOT_BYTES, &earlier, NULL);
        s->trust =
            id[0] != '\0' && earlier.n == BOOT_BYTES && memcmp(earlier.bytes, id, BOOT_BYTES) == 0
                ? TRUST_MODES
                : TRUST_CONTENT;
        buf_free(&earlier);
    } else {
        s->trust = TRUST_NOTHING;
        if (io_remove_tree_at(s->cache->fd, s->name, e) < 0 ||
            io_write_file_at(s->cache->fd, begun, id, BOOT_BYTES, 0600, e) < 0)
            return -1;
        if (!is_single_file(&s->plan) && mkdirat(s->cache->fd, s->name, CACHE_FOLDER) < 0)
            return err_sys(e, "create %s", s->name);
    }
    CRASH_POINT(stage_begun);
    return 0;
}

/* Chooses where to work: in the tree itself if it has its name already, else in a new one. */
static int begin_tree(struct stage *s, struct err *e)
{
    char name[CACHE_NAME_BYTES], fix[CACHE_NAME_BYTES];
    struct stat st;

    cache_name(&s->plan.set.tree, "", name);
    if (fstatat(s->cache->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? begin_new(s, e) : err_sys(e, "look at %s", name);
    if (S_ISDIR(st.st_mode) == is_single_file(&s->plan))
        return io_remove_tree_at(s->cache->fd, name, e) < 0 ? -1 : begin_new(s, e);
    s->is_live = true;
    memcpy(s->name, name, sizeof name);
    cache_name(&s->plan.set.tree, CACHE_FIX, fix);
    if (io_remove_tree_at(s->cache->fd, fix, e) < 0)
        return -1;
    if (mkdirat(s->cache->fd, fix, 0700) < 0)
        return err_sys(e, "create %s", fix);
    s->fix_fd = io_open_dir_at(s->cache->fd, fix, e);
    if (s->fix_fd < 0)
        return -1;
    trust_record(s);
    return 0;
}

/* ---- files that other trees in the cache have already ---- */

/* How many rows of other trees are remembered at most: each costs 32 bytes. */
enum { ROWS_MAX = 16 * 1024 * 1024 };

/* A whole tree in the cache, other than the one that is staged. */
struct earlier_tree {
    struct record record;
    size_t first; /* the number of its first row, over all trees */
    struct dir_walk walk;
    char name[CACHE_NAME_BYTES];
};

/* All such trees, and their files by content, to be linked instead of fetched. */
struct earlier {
    struct earlier_tree *trees;
    size_t n;
    struct hash_table *files;  /* numbers of rows by content and kind */
    struct hash_table *linked; /* digests of the inodes of files that were linked */
};

static bool is_file(const struct cache_row *row)
{
    return (row->kind == PACK_FILE || row->kind == PACK_PROGRAM) && row->size > 0;
}

/* A file and a program with the same content have two keys. */
static struct digest key_of(const struct cache_row *row)
{
    struct digest key = row->content;

    key.bytes[0] ^= row->kind == PACK_PROGRAM;
    return key;
}

static struct digest digest_of_inode(uint64_t inode)
{
    struct digest d;

    digest_of(&inode, sizeof inode, &d);
    return d;
}

/* Opens the records of all trees but `but`, the one that is staged. */
static struct earlier *earlier_open(int cache_fd, const struct digest *but)
{
    struct earlier *l = mem_alloc(sizeof *l);
    size_t n, n_rows = 0;
    struct cache_tree *trees = cache_list(cache_fd, &n);

    l->trees = mem_alloc(n * sizeof *l->trees);
    l->files = hash_table_create(ROWS_MAX);
    l->linked = hash_table_create(ROWS_MAX);
    for (size_t i = 0; i < n; i++) {
        struct earlier_tree *t = &l->trees[l->n];
        const struct record *r = &t->record;

        if (!trees[i].is_whole || digest_equal(&trees[i].tree, but) ||
            !record_open(&t->record, cache_fd, &trees[i].tree))
            continue;
        if (!record_is_of_this_boot(r) || n_rows + r->head->n_rows > ROWS_MAX) {
            record_close(&t->record);
            continue;
        }
        for (size_t k = 0; k < r->head->n_rows; k++) {
            struct digest key = key_of(&r->rows[k]);

            if (is_file(&r->rows[k]))
                (void)hash_table_add(l->files, &key, (uint32_t)(n_rows + k));
        }
        t->first = n_rows;
        n_rows += r->head->n_rows;
        cache_name(&trees[i].tree, "", t->name);
        dir_walk_begin(&t->walk, cache_fd, t->name);
        l->n++;
    }
    free(trees);
    return l;
}

/* Whether the file is what its row says; it may have a newer ctime from a link for this tree. */
static bool is_still(const struct earlier *l, const struct cache_row *row, const struct stat *st)
{
    struct digest inode = digest_of_inode(st->st_ino);

    return row_is(row, st) ||
           (row->inode == st->st_ino && hash_table_find(l->linked, &inode, NULL) &&
            S_ISREG(st->st_mode) && row->size == (uint64_t)st->st_size &&
            row->mtime_ns == units_ns(&st->st_mtim));
}

/* Links a file with this content as dir_fd/name, if it is what it was when it was staged. */
static bool earlier_link(struct earlier *l, const struct cache_row *row, int dir_fd,
                         const char *name)
{
    struct digest key = key_of(row), inode;
    const struct cache_row *from;
    struct earlier_tree *t = l->trees;
    const char *old;
    struct stat st;
    uint32_t number;
    int old_fd;

    if (row->size == 0 || !hash_table_find(l->files, &key, &number))
        return false;
    while (number - t->first >= t->record.head->n_rows)
        t++;
    from = &t->record.rows[number - t->first];
    if (from->kind != row->kind || from->size != row->size ||
        !digest_equal(&from->content, &row->content))
        return false;
    old_fd = dir_walk_to(&t->walk, record_path(&t->record, number - t->first), &old, NULL);
    if (old_fd < 0 || fstatat(old_fd, old, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_still(l, from, &st))
        return false;
    t->record.head->is_shared = true; /* before the link, as we may be killed */
    if (linkat(old_fd, old, dir_fd, name, 0) < 0)
        return false;
    inode = digest_of_inode(st.st_ino);
    (void)hash_table_add(l->linked, &inode, 0);
    return true;
}

/* Records the ctime that files got by being linked, for the trees they are from, and frees l. */
static void earlier_close(struct earlier *l)
{
    for (size_t k = 0; k < l->n; k++) {
        struct earlier_tree *t = &l->trees[k];
        for (size_t i = 0; hash_table_count(l->linked) > 0 && i < t->record.head->n_rows; i++) {
            struct cache_row *row = &t->record.rows[i];
            struct digest inode = digest_of_inode(row->inode);
            struct stat st;

            if (is_file(row) && hash_table_find(l->linked, &inode, NULL) &&
                record_stat(&t->walk, record_path(&t->record, i), &st, NULL) == 0 &&
                is_still(l, row, &st))
                row_take(row, &st);
        }
        dir_walk_end(&t->walk);
        record_close(&t->record);
    }
    hash_table_destroy(l->files);
    hash_table_destroy(l->linked);
    free(l->trees);
    free(l);
}

/* ---- files that are there already ---- */

static bool file_is_whole(const struct stage *s, size_t i, int dir_fd, const char *name)
{
    const struct cache_row *row = &s->plan.rows[i];
    struct digest content;
    struct stat st;
    bool is_same;
    int fd;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size != row->size)
        return false;
    if (s->trust == TRUST_MODES)
        return (st.st_mode & 07777) == stage_mode_of(s, i);
    fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    is_same = record_content_of(fd, row->size, &content, NULL) == 0 &&
              digest_equal(&content, &row->content) && fchmod(fd, stage_mode_of(s, i)) == 0;
    close(fd);
    return is_same;
}

/* Decides which entries are wanted, and makes all folders.  In a live tree nothing is linked:
 * replacements of its files are made elsewhere. */
static int survey(struct stage *s, struct err *e)
{
    struct earlier *earlier = earlier_open(s->cache->fd, &s->plan.set.tree);
    int result = 0;

    for (size_t i = 0; result == 0 && i < s->plan.n; i++) {
        struct plan_entry *entry = &s->plan.entries[i];
        bool is_folder = s->plan.rows[i].kind == PACK_FOLDER;
        const char *path = plan_path(&s->plan, i), *name;
        struct stat st;
        int dir_fd;

        if (!entry->is_wanted || (!is_folder && !plan_is_file(&s->plan, i)))
            continue;
        dir_fd = dir_walk_to(&s->walk, path, &name, e);
        if (dir_fd < 0) {
            result = -1;
        } else if (!is_folder) {
            entry->is_wanted =
                (s->trust == TRUST_NOTHING || !file_is_whole(s, i, dir_fd, name)) &&
                (s->is_live || !earlier_link(earlier, &s->plan.rows[i], dir_fd, name));
        } else {
            entry->is_wanted = false;
            if (mkdirat(dir_fd, name, CACHE_FOLDER) == 0)
                continue;
            if (errno == EEXIST) {
                if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
                    continue;
                result = io_remove_tree_at(dir_fd, name, e);
                if (result < 0 || mkdirat(dir_fd, name, CACHE_FOLDER) == 0)
                    continue;
            }
            result = err_sys(e, "create %s", path);
        }
    }
    earlier_close(earlier);
    return result;
}

/* ---- links ---- */

static int make_hard_link(struct stage *s, size_t i, struct err *e)
{
    struct plan *p = &s->plan;
    size_t target = plan_find(p, plan_target(p, i));
    const char *name, *from;
    struct stat is, should_be;
    int dir_fd, from_fd;

    if (target == SIZE_MAX || (!plan_is_file(p, target) && p->rows[target].kind != PACK_HARD_LINK))
        return err_set(e, ERR_PROTOCOL, "dataset: %s is a hard link to %s, which is no file",
                       plan_path(p, i), plan_target(p, i));
    if (record_stat(&s->other, plan_path(p, target), &should_be, e) < 0)
        return -1;
    p->rows[i].target = (uint32_t)target;
    if (record_stat(&s->walk, plan_path(p, i), &is, NULL) == 0 && is.st_ino == should_be.st_ino &&
        is.st_dev == should_be.st_dev)
        return 0;
    p->entries[i].has_stat = p->entries[target].has_stat = false;
    dir_fd = dir_walk_to(&s->walk, plan_path(p, i), &name, e);
    from_fd = dir_walk_to(&s->other, plan_path(p, target), &from, e);
    if (dir_fd < 0 || from_fd < 0)
        return -1;
    if (s->is_live) { /* never half there: what was in its place lasts until the link is made */
        char number[24];

        snprintf(number, sizeof number, "%zu", i);
        if (linkat(from_fd, from, s->fix_fd, number, 0) < 0)
            return err_sys(e, "link %s", plan_path(p, i));
        return stage_replace(s, &s->walk, i, e);
    }
    if (io_remove_tree_at(dir_fd, name, e) < 0)
        return -1;
    return linkat(from_fd, from, dir_fd, name, 0) < 0 ? err_sys(e, "link %s", plan_path(p, i)) : 0;
}

static int make_symlink(struct stage *s, size_t i, struct err *e)
{
    const char *target = plan_target(&s->plan, i), *name;
    int dir_fd = dir_walk_to(&s->walk, plan_path(&s->plan, i), &name, e);
    char *there;
    bool is_same;

    if (dir_fd < 0)
        return -1;
    there = io_read_link_at(dir_fd, name, NULL);
    is_same = there != NULL && strcmp(there, target) == 0;
    free(there);
    s->plan.entries[i].is_wanted = false;
    if (is_same)
        return 0;
    s->plan.entries[i].has_stat = false;
    if (io_remove_tree_at(dir_fd, name, e) < 0)
        return -1;
    return symlinkat(target, dir_fd, name) < 0 ? err_sys(e, "create %s", plan_path(&s->plan, i))
                                               : 0;
}

/* ---- the record ---- */

/* Fills the rows with what the tree's entries are now.  A file that was put into a live tree and
 * changed since keeps its row, so that it does not count as whole. */
static int take_rows(struct stage *s, struct err *e)
{
    for (size_t i = 0; i < s->plan.n; i++) {
        struct plan_entry *entry = &s->plan.entries[i];
        struct cache_row *row = &s->plan.rows[i];
        bool is_file = plan_is_file(&s->plan, i);
        struct stat st;

        if (entry->has_stat && row->kind != PACK_FOLDER)
            continue;
        if (record_stat(&s->walk, plan_path(&s->plan, i), &st, e) < 0)
            return -1;
        s->is_shared |= is_file && st.st_nlink > 1;
        if (!(s->is_live && is_file && row->mtime_ns != 0 &&
              (row->mtime_ns != units_ns(&st.st_mtim) || row->inode != st.st_ino ||
               row->size != (uint64_t)st.st_size)))
            row_take(row, &st);
        entry->has_stat = true;
    }
    return 0;
}

/* ---- end ---- */

/* Gives the tree its name, then its record. */
static int end_tree(struct stage *s, struct err *e)
{
    const struct pack_totals *totals = pack_totals(s->plan.reader);
    struct record_head head = { .tree = s->plan.set.tree,
                                .id = s->plan.set.id,
                                .files = totals->files,
                                .bytes = totals->bytes - totals->hole_bytes,
                                .n_rows = s->plan.n };
    char name[CACHE_NAME_BYTES];
    struct stat st;

    if (!s->is_live) {
        cache_name(&s->plan.set.tree, "", name);
        if (renameat(s->cache->fd, s->name, s->cache->fd, name) < 0)
            return err_sys(e, "name %s", name);
        CRASH_POINT(stage_named);
        if (is_single_file(&s->plan))
            s->plan.entries[0].has_stat = false; /* the file has another ctime now */
        dir_walk_end(&s->walk);
        memcpy(s->name, name, sizeof name);
        dir_walk_begin(&s->walk, s->cache->fd, s->name);
    }
    if (take_rows(s, e) < 0)
        return -1;
    if (fstatat(s->cache->fd, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(e, "look at %s", s->name);
    head.is_shared = s->is_shared;
    head.top_mtime_ns = units_ns(&st.st_mtim);
    if (record_write(s->cache->fd, &head, s->plan.rows, buf_bytes(&s->plan.names), e) < 0)
        return -1;
    CRASH_POINT(stage_recorded);
    cache_name(&s->plan.set.tree, s->is_live ? CACHE_FIX : CACHE_BEGUN, name);
    return io_remove_tree_at(s->cache->fd, name, e);
}

/* ---- staging ---- */

/* Makes room and brings files; tries again when the disk was full, without those that came. */
static int fill_as_there_is_room(struct stage *s, struct err *e)
{
    const struct pack_totals *totals = pack_totals(s->plan.reader);
    struct cache_need need = { .tree = s->plan.set.tree,
                               .tree_bytes = (uint64_t)(totals->bytes - totals->hole_bytes) };
    int result = -1;

    for (int i = 0; i < SPACE_TRIES && result < 0; i++) {
        err_clear(e);
        need.was_full = i > 0;
        need.bytes = plan_wanted_bytes(&s->plan, &need.files);
        result = cache_make_room(s->cache, &need, e) < 0 ? -1 : stage_fill(s, e);
        if (result < 0 && e->kind != ERR_NO_SPACE)
            break;
    }
    return result;
}

static int stage_plan(struct stage *s, struct err *e)
{
    const struct plan *p = &s->plan;
    int result;

    if (begin_tree(s, e) < 0)
        return -1;
    dir_walk_begin(&s->walk, s->cache->fd, s->name);
    dir_walk_begin(&s->other, s->cache->fd, s->name);
    if (survey(s, e) < 0)
        return stage_was_disturbed(e);
    if (fill_as_there_is_room(s, e) < 0)
        return -1;
    CRASH_POINT(stage_filled);
    result = 0;
    for (size_t i = 0; i < p->n && result == 0; i++)
        if (p->rows[i].kind == PACK_HARD_LINK)
            result = make_hard_link(s, i, e);
    for (size_t i = 0; i < p->n && result == 0; i++)
        if (p->rows[i].kind == PACK_SYMLINK)
            result = make_symlink(s, i, e);
    if (result == 0 && !s->is_live)
        result = stage_date_sources(s, e);
    if (result == 0) {
        CRASH_POINT(stage_linked);
        result = end_tree(s, e);
    }
    return result < 0 ? stage_was_disturbed(e) : 0;
}

int cache_stage(struct cache *c, const struct pack_source_at *at, const struct dataset *set,
                struct err *e)
{
    struct stage s = { .cache = c, .packs = *at, .fix_fd = -1 };
    char name[CACHE_NAME_BYTES];
    struct pack_source source;
    struct packs packs;
    int result;

    if (pack_source_open(&packs, at, e) < 0)
        return -1;
    source = pack_source_source(&packs);
    result = plan_open(&s.plan, &source, set, e);
    if (result == 0) {
        mode_t mask = umask(022); /* modes are given as they shall be */

        result = stage_plan(&s, e);
        umask(mask);
        /* Files of a tree that does not fit must not stay in the way of trees that do. */
        if (result < 0 && e->kind == ERR_NO_SPACE) {
            cache_name(&set->tree, s.is_live ? CACHE_FIX : CACHE_NEW, name);
            (void)io_remove_tree_at(c->fd, name, NULL);
            cache_name(&set->tree, CACHE_BEGUN, name);
            (void)io_remove_tree_at(c->fd, name, NULL);
        }
        dir_walk_end(&s.walk);
        dir_walk_end(&s.other);
        if (s.fix_fd >= 0)
            close(s.fix_fd);
    }
    plan_close(&s.plan);
    pack_source_close(&packs);
    return result;
}
