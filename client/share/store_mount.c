/* SPDX-License-Identifier: MIT */
/* store_mount.c - the packs of a project, in a folder of this machine */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/share/store_way.h"
#include "common/base/io.h"
#include "common/base/path.h"

enum {
    PENDING_MAX = 32,                  /* small files that are synced one behind the other */
    WRITE_BACK_BYTES = 8 * 1024 * 1024 /* the disk begins with so much */
};

/* A file that has no final name yet. */
struct unfinished {
    int fd; /* -1: none */
    enum store_folder folder;
    char *temporary;
    char *name;
    uint64_t bytes, handed_on; /* written; so much of it on its way to the disk */
};

struct mount_store {
    struct store store;
    struct upload_modes modes;
    int folders[STORE_FOLDER_COUNT]; /* -1: not made yet */
    bool is_dirty[STORE_FOLDER_COUNT];
    struct unfinished parts[PACK_SLOTS];
    struct unfinished pending[PENDING_MAX];
    size_t n_pending;
};

static struct mount_store *mine(struct store *s)
{
    return (struct mount_store *)(void *)s;
}

static struct store *open_store(const struct place *to, struct err *e)
{
    struct mount_store *m = mem_alloc(sizeof *m);

    (void)to;
    (void)e;
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++)
        m->folders[i] = -1;
    for (size_t i = 0; i < PACK_SLOTS; i++)
        m->parts[i].fd = -1;
    return &m->store;
}

/* ---- files on their way ---- */

static void forget(struct unfinished *f)
{
    if (f->fd >= 0)
        close(f->fd);
    free(f->temporary);
    free(f->name);
    *f = (struct unfinished){ .fd = -1 };
}

static void drop(struct mount_store *m, struct unfinished *f)
{
    if (f->fd >= 0)
        (void)unlinkat(m->folders[f->folder], f->temporary, 0);
    forget(f);
}

static int begin(struct mount_store *m, enum store_folder folder, struct unfinished *f,
                 struct err *e)
{
    *f = (struct unfinished){ .folder = folder, .temporary = upload_temporary_name() };
    f->fd = openat(m->folders[folder], f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                   m->modes.file);
    if (f->fd >= 0 && upload_set_mode(f->fd, m->modes.file) == 0)
        return 0;
    err_sys(e, "make a file in the project's packs on the share");
    drop(m, f);
    return -1;
}

static void write_back(struct unfinished *f)
{
    if (f->bytes - f->handed_on < WRITE_BACK_BYTES)
        return;
#ifdef __linux__
    (void)sync_file_range(f->fd, (off_t)f->handed_on, (off_t)(f->bytes - f->handed_on),
                          SYNC_FILE_RANGE_WRITE);
#endif
    f->handed_on = f->bytes;
}

static int add(struct unfinished *f, struct bytes bytes, struct err *e)
{
    if (io_write_all(f->fd, bytes.data, bytes.n) < 0)
        return err_sys(e, "write to the project's packs on the share");
    f->bytes += bytes.n;
    write_back(f);
    return 0;
}

/* Gives it its name.  What is there already is the same: its name is a digest. */
static int finish(struct mount_store *m, struct unfinished *f, struct err *e)
{
    int dir_fd = m->folders[f->folder];

    if (fsync(f->fd) < 0)
        return err_sys(e, "write to the project's packs on the share");
    if (close(f->fd) < 0) {
        f->fd = -1;
        err_sys(e, "write to the project's packs on the share");
        (void)unlinkat(dir_fd, f->temporary, 0);
        return -1;
    }
    f->fd = -1;
    if (renameat(dir_fd, f->temporary, dir_fd, f->name) < 0) {
        err_sys(e, "rename %s to %s on the share", f->temporary, f->name);
        (void)unlinkat(dir_fd, f->temporary, 0);
        return -1;
    }
    m->is_dirty[f->folder] = true;
    m->store.settled_bytes += f->bytes;
    forget(f);
    return 0;
}

static int finish_pending(struct mount_store *m, struct err *e)
{
    int result = 0;

    for (size_t i = 0; i < m->n_pending; i++) {
        if (result == 0)
            result = finish(m, &m->pending[i], e);
        drop(m, &m->pending[i]);
    }
    m->n_pending = 0;
    return result;
}

/* ---- what store.c asks ---- */

static int prepare(struct store *s, struct err *e)
{
    struct mount_store *m = mine(s);

    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++) {
        char *path = store_path(s->to, store_folder_names[i]);

        if (m->folders[i] < 0)
            m->folders[i] = upload_open_below(s->to, path, &m->modes, e);
        free(path);
        if (m->folders[i] < 0)
            return -1;
    }
    return 0;
}

static int part_begin(struct store *s, unsigned slot, struct err *e)
{
    return begin(mine(s), STORE_PARTS, &mine(s)->parts[slot], e);
}

static int part_write(struct store *s, unsigned slot, struct bytes bytes, struct err *e)
{
    return add(&mine(s)->parts[slot], bytes, e);
}

static int put(struct store *s, const char *path, struct bytes bytes, struct err *e)
{
    struct mount_store *m = mine(s);
    struct unfinished *f = &m->pending[m->n_pending];

    if (begin(m, store_folder_of(path), f, e) < 0)
        return -1;
    f->name = mem_strdup(path_basename(path));
    m->n_pending++;
    if (add(f, bytes, e) < 0)
        return -1;
    return m->n_pending < PENDING_MAX ? 0 : finish_pending(m, e);
}

static int part_end(struct store *s, unsigned slot, const char *part, const char *list,
                    struct bytes list_bytes, struct err *e)
{
    struct mount_store *m = mine(s);
    struct unfinished *f = &m->parts[slot];

    f->name = mem_strdup(path_basename(part));
    return finish(m, f, e) < 0 ? -1 : put(s, list, list_bytes, e);
}

static int settle(struct store *s, struct err *e)
{
    struct mount_store *m = mine(s);

    if (finish_pending(m, e) < 0)
        return -1;
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++) {
        /* Some network file systems know no fsync of a folder. */
        if (m->is_dirty[i] && fsync(m->folders[i]) < 0 && errno != EINVAL && errno != ENOTSUP)
            return err_sys(e, "sync the project's packs on the share");
        m->is_dirty[i] = false;
    }
    return 0;
}

static int put_last(struct store *s, const char *path, struct bytes bytes, struct err *e)
{
    return settle(s, e) < 0 ? -1 : put(s, path, bytes, e);
}

static void close_store(struct store *s)
{
    struct mount_store *m = mine(s);

    for (size_t i = 0; i < PACK_SLOTS; i++)
        drop(m, &m->parts[i]);
    for (size_t i = 0; i < m->n_pending; i++)
        drop(m, &m->pending[i]);
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++)
        if (m->folders[i] >= 0)
            close(m->folders[i]);
    free(m);
}

/* ---- looking ---- */

static char *path_of(const struct store *s, const char *path)
{
    char *below = store_path(s->to, path), *whole = path_join(s->to->drive->mount, below);

    free(below);
    return whole;
}

/* Of parts and blocks, which may be very many, nobody wants to know more than that they are there. */
static bool is_looked_at(const char *name)
{
    return upload_is_temporary(name) || strstr(name, ".manifest") != NULL;
}

static void add_entry(struct list *entries, size_t *capacity, struct arena *a, const char *name,
                      const struct stat *st)
{
    struct store_entry *items = entries->items;

    mem_grow((void **)&items, capacity, entries->n, sizeof *items);
    items[entries->n++] = (struct store_entry){ .name = arena_strdup(a, name),
                                                .size = st->st_size,
                                                .mtime_s = st->st_mtime,
                                                .uid = (int64_t)st->st_uid };
    entries->items = items;
}

/* Those that go away meanwhile are left out. */
static int read_entries(DIR *dir, bool all, struct arena *a, struct list *entries)
{
    struct list found = { 0 };
    size_t capacity = 0;
    const struct dirent *d;
    int number;

    while (errno = 0, (d = readdir(dir)) != NULL) {
        struct stat st = { .st_mode = S_IFREG };

        if ((all || is_looked_at(d->d_name)) &&
            fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISREG(st.st_mode))
            add_entry(&found, &capacity, a, d->d_name, &st);
    }
    number = errno;
    *entries = (struct list){ arena_alloc(a, found.n * sizeof(struct store_entry)), found.n };
    if (found.n > 0)
        memcpy(entries->items, found.items, found.n * sizeof(struct store_entry));
    free(found.items);
    errno = number;
    return number == 0 ? 0 : -1;
}

static int list_folder(struct store *s, const char *folder, struct arena *a, struct list *entries,
                       struct err *e)
{
    char *path = path_of(s, folder);
    DIR *dir = opendir(path);
    int result = -1;

    if (dir == NULL)
        err_sys(e, "open %s", path);
    else if (read_entries(dir, s->has_details, a, entries) < 0)
        err_sys(e, "read %s", path);
    else
        result = 0;
    if (dir != NULL)
        closedir(dir);
    free(path);
    return result;
}

static int list_all(struct store *s, struct arena *a, struct list entries[STORE_FOLDER_COUNT],
                    struct err *e)
{
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++) {
        struct err why = { 0 };

        if (list_folder(s, store_folder_names[i], a, &entries[i], &why) < 0 &&
            why.kind != ERR_NOT_FOUND)
            return err_set(e, why.kind, "%s", why.text);
    }
    return 0;
}

static int fetch(struct store *s, const char *path, size_t max_bytes, store_got *got, void *context,
                 struct err *e)
{
    char *whole = path_of(s, path);
    struct buf content = { 0 };
    struct err why = { 0 };
    int result = io_read_file(whole, max_bytes, &content, &why);

    (void)e;
    got(context, result < 0 ? &why : NULL, buf_bytes(&content));
    buf_free(&content);
    free(whole);
    return 0;
}

static int fetch_all(struct store *s, struct err *e)
{
    (void)s;
    (void)e;
    return 0;
}

static int remove_file(struct store *s, const char *path, struct err *e)
{
    char *whole = path_of(s, path);
    int result = unlink(whole) < 0 ? err_sys(e, "remove %s", whole) : 0;

    free(whole);
    return result;
}

static int mtime(struct store *s, const char *path, int64_t *mtime_s, struct err *e)
{
    char *whole = path_of(s, path);
    struct stat st;
    int result = lstat(whole, &st) < 0 ? err_sys(e, "%s", whole) : 0;

    free(whole);
    if (result == 0)
        *mtime_s = st.st_mtime;
    return result;
}

static int touch(struct store *s, const char *path, struct err *e)
{
    char *whole = path_of(s, path);
    int rc = utimensat(AT_FDCWD, whole, NULL, AT_SYMLINK_NOFOLLOW), error = errno;

    free(whole);
    return rc < 0 && (error == ENOENT || error == ESTALE) ? store_say_gone(path, e) : 0;
}

static void expect(struct store *s, uint64_t bytes, unsigned parts)
{
    (void)s;
    (void)bytes;
    (void)parts;
}

/* Something was just renamed in one of the folders. */
static int tell(struct store *s, int64_t *uid, int64_t *now_s)
{
    const struct mount_store *m = mine(s);
    struct stat st;

    *uid = (int64_t)geteuid();
    *now_s = 0;
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++)
        if (m->folders[i] >= 0 && fstat(m->folders[i], &st) == 0 && st.st_mtime > *now_s)
            *now_s = st.st_mtime;
    return *now_s > 0 ? 0 : -1;
}

const struct store_way store_mount = {
    .open = open_store,
    .close = close_store,
    .list = list_all,
    .fetch = fetch,
    .fetch_all = fetch_all,
    .remove = remove_file,
    .mtime = mtime,
    .touch = touch,
    .prepare = prepare,
    .part_begin = part_begin,
    .part_write = part_write,
    .part_end = part_end,
    .put = put,
    .put_last = put_last,
    .settle = settle,
    .expect = expect,
    .tell = tell,
};
