/* SPDX-License-Identifier: MIT */
/* cache_check.c - whether a staged tree is still what it was when it was staged */

#include "worker/stager/cache_check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "worker/base/dir_walk.h"
#include "worker/stager/cache_fill.h"

enum {
    THREADS_MAX = 16,
    ROWS_PER_THREAD = 4096, /* fewer are not worth one */
    WATCHES_MAX = 16 * 1024 /* folders: each costs the kernel a kilobyte */
};

void damage_free(struct damage *d)
{
    free(d->rows);
    *d = (struct damage){ 0 };
}

/* ---- folders ---- */

static int look_at(struct dir_walk *d, const char *path, struct stat *st)
{
    const char *name;
    int dir_fd = dir_walk_to(d, path, &name, NULL);

    return dir_fd < 0 ? -1 : fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW);
}

static bool top_is(const struct record *r, const struct stat *st)
{
    return r->head->n_rows == 1 && record_path(r, 0)[0] == '\0'
               ? row_is(&r->rows[0], st)
               : S_ISDIR(st->st_mode) && stat_mtime_ns(st) == r->head->top_mtime_ns;
}

bool check_folders(const struct record *r, int cache_fd)
{
    char name[CACHE_NAME_BYTES];
    struct dir_walk d;
    struct stat st;
    bool is_same;

    cache_name(&r->head->tree, "", name);
    dir_walk_begin(&d, cache_fd, name);
    is_same = look_at(&d, "", &st) == 0 && top_is(r, &st);
    for (uint64_t i = 0; is_same && i < r->head->n_folders; i++) {
        size_t row = r->folders[i];

        is_same = row < r->head->n_rows && look_at(&d, record_path(r, row), &st) == 0 &&
                  S_ISDIR(st.st_mode) && stat_mtime_ns(&st) == r->rows[row].mtime_ns;
    }
    dir_walk_end(&d);
    return is_same;
}

/* ---- files ---- */

struct checking {
    struct record *record;
    int cache_fd;
    const char *tree;
    size_t begin, end;
    struct damage damage;
    pthread_t thread;
};

/* The row becomes what the file is now, unless it may be changing at this moment. */
static void take_touched(struct cache_row *row, int fd, const struct stat *before)
{
    mode_t mode = row->kind == PACK_PROGRAM ? CACHE_PROGRAM : CACHE_FILE;
    struct stat after;

    if (((before->st_mode & 07777) != mode && fchmod(fd, mode) < 0) ||
        is_recent(stat_ctime_ns(before), now_ns()) || fstat(fd, &after) < 0 ||
        after.st_size != before->st_size || stat_mtime_ns(&after) != stat_mtime_ns(before))
        return;
    row_take(row, &after);
}

/* What is not a job's to write to is not its to leave so. */
static bool has_content(struct dir_walk *d, struct cache_row *row, const char *path)
{
    struct digest content;
    struct stat st;
    const char *name;
    int dir_fd = dir_walk_to(d, path, &name, NULL);
    int fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool is_same = false;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size == row->size &&
        plan_content_of(fd, row->size, &content, NULL) == 0 &&
        digest_equal(&content, &row->content)) {
        is_same = true;
        if (!row_is(row, &st))
            take_touched(row, fd, &st);
    }
    close(fd);
    return is_same;
}

static bool is_file(const struct cache_row *row)
{
    return row->kind == PACK_FILE || row->kind == PACK_PROGRAM;
}

static bool is_what_it_was(struct checking *c, struct dir_walk *d, size_t i)
{
    struct cache_row *row = &c->record->rows[i];
    const char *path = record_path(c->record, i);
    int64_t written_ns = c->record->head->written_ns;
    struct stat st;

    if (look_at(d, path, &st) < 0)
        return false;
    if (row->kind == PACK_FOLDER && S_ISDIR(st.st_mode))
        row_take(row, &st);
    if (row_is(row, &st) && !(is_file(row) && is_recent(row->ctime_ns, written_ns)))
        return true;
    return is_file(row) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == row->size &&
           has_content(d, row, path);
}

static void add_damage(struct damage *d, size_t row)
{
    mem_grow((void **)&d->rows, &d->capacity, d->n, sizeof *d->rows);
    d->rows[d->n++] = (uint32_t)row;
}

static void *check_some(void *context)
{
    struct checking *c = context;
    struct damage *damage = &c->damage;
    struct dir_walk d;

    dir_walk_begin(&d, c->cache_fd, c->tree);
    for (size_t i = c->begin; i < c->end; i++)
        if (c->record->rows[i].kind != PACK_HARD_LINK && !is_what_it_was(c, &d, i))
            add_damage(damage, i);
    dir_walk_end(&d);
    return NULL;
}

/* They are what they were as long as they share their file, whatever became of that. */
static void check_hard_links(const struct checking *c, struct damage *damage)
{
    const struct record *r = c->record;
    struct dir_walk d;
    struct stat st;

    dir_walk_begin(&d, c->cache_fd, c->tree);
    for (size_t i = 0; i < r->head->n_rows; i++)
        if (r->rows[i].kind == PACK_HARD_LINK &&
            (look_at(&d, record_path(r, i), &st) < 0 || !S_ISREG(st.st_mode) ||
             r->rows[i].target >= r->head->n_rows || r->rows[r->rows[i].target].inode != st.st_ino))
            add_damage(damage, i);
    dir_walk_end(&d);
}

static void gather(struct damage *to, struct damage *from)
{
    for (size_t i = 0; i < from->n; i++)
        add_damage(to, from->rows[i]);
    damage_free(from);
}

static size_t count_threads(size_t n_rows)
{
    size_t n = fill_threads();

    if (n > n_rows / ROWS_PER_THREAD)
        n = n_rows / ROWS_PER_THREAD;
    return n < 1 ? 1 : n;
}

static void check_all(const struct checking *like, struct damage *damage)
{
    struct checking some[THREADS_MAX] = { *like };
    size_t n_rows = like->record->head->n_rows, n = count_threads(n_rows);
    bool runs[THREADS_MAX] = { false };

    for (size_t i = 0; i < n; i++) {
        some[i] = *like;
        some[i].begin = n_rows * i / n;
        some[i].end = n_rows * (i + 1) / n;
        runs[i] = i > 0 && pthread_create(&some[i].thread, NULL, check_some, &some[i]) == 0;
        if (i > 0 && !runs[i])
            check_some(&some[i]);
    }
    check_some(&some[0]);
    for (size_t i = 0; i < n; i++) {
        if (runs[i])
            pthread_join(some[i].thread, NULL);
        gather(damage, &some[i].damage);
    }
    check_hard_links(like, damage);
}

void check_files(struct record *r, int cache_fd, struct damage *damage)
{
    char name[CACHE_NAME_BYTES];
    const struct checking like = { .record = r, .cache_fd = cache_fd, .tree = name };
    struct stat st;

    *damage = (struct damage){ .top = true };
    cache_name(&r->head->tree, "", name);
    if (fstatat(cache_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    damage->top = false;
    check_all(&like, damage);
    if (damage->n == 0 && S_ISDIR(st.st_mode))
        r->head->top_mtime_ns = stat_mtime_ns(&st);
}

/* ---- watching ---- */

static bool watch(const char *path, int guard_fd)
{
    const uint32_t mask = IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                          IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW;

    return inotify_add_watch(guard_fd, path, mask) >= 0;
}

/* The kernel says which watch it is when it is asked for again. */
static bool unwatch(const char *path, int guard_fd)
{
    int watch_id = inotify_add_watch(guard_fd, path, IN_MOVE_SELF | IN_DONT_FOLLOW);

    if (watch_id >= 0)
        (void)inotify_rm_watch(guard_fd, watch_id);
    return true;
}

static bool each_folder(const struct record *r, const char *cache_dir_path, int guard_fd,
                        bool (*each)(const char *path, int guard_fd))
{
    char name[CACHE_NAME_BYTES];
    struct buf path = { 0 };
    size_t top_n;
    bool goes_on;

    cache_name(&r->head->tree, "", name);
    buf_printf(&path, "%s/%s", cache_dir_path, name);
    top_n = path.n;
    goes_on = each(buf_text(&path), guard_fd);
    for (uint64_t i = 0; goes_on && i < r->head->n_folders; i++) {
        path.n = top_n;
        buf_printf(&path, "/%s",
                   r->folders[i] < r->head->n_rows ? record_path(r, r->folders[i]) : "");
        goes_on = each(buf_text(&path), guard_fd);
    }
    buf_free(&path);
    return goes_on;
}

bool check_watch(const struct record *r, const char *cache_dir_path, int guard_fd)
{
    return guard_fd >= 0 && r->head->n_folders <= WATCHES_MAX &&
           each_folder(r, cache_dir_path, guard_fd, watch);
}

void check_unwatch(const struct record *r, const char *cache_dir_path, int guard_fd)
{
    if (guard_fd >= 0 && r->head->n_folders <= WATCHES_MAX)
        (void)each_folder(r, cache_dir_path, guard_fd, unwatch);
}
