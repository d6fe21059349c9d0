/* SPDX-License-Identifier: MIT */
/* copy.c - files and folders from the shared drive to this machine */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/copy.h"
#include "common/io.h"
#include "common/path.h"

enum { PIECE_BYTES = 256 * 1024, DEPTH_MAX = 200 };

/* Until a file is whole.  One copy at a time writes into a folder, so that one name does. */
static const char part_name[] = ".ludwig-fetch.part";

struct copy {
    struct sharefs *fs;
    int fd; /* the folder that is copied to */
    struct copy_counts counts;
    copy_tick_fn tick;
    void *context;
    char *piece;
};

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

struct copy *copy_open(struct sharefs *fs, const char *to, struct err *e)
{
    struct copy *c;
    int fd = -1;

    if (is_file(to)) {
        err_set(e, ERR_USAGE, "%s is a file; DIR must be a folder", to);
        return NULL;
    }
    if (io_make_dirs(to, 0777, e) == 0)
        fd = io_open_dir(to, e);
    if (fd < 0)
        return NULL;
    /* Where folders cannot be locked, as on NFS, people keep their fetches apart themselves. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        err_set(e, ERR_BUSY, "another fetch writes into %s", to);
        close(fd);
        return NULL;
    }
    c = mem_alloc(sizeof *c);
    *c = (struct copy){ .fs = fs, .fd = fd, .piece = mem_alloc(PIECE_BYTES) };
    return c;
}

void copy_close(struct copy *c)
{
    if (c == NULL)
        return;
    close(c->fd);
    free(c->piece);
    free(c);
}

void copy_on_tick(struct copy *c, copy_tick_fn tick, void *context)
{
    c->tick = tick;
    c->context = context;
}

const struct copy_counts *copy_counts(const struct copy *c)
{
    return &c->counts;
}

/* ---- what the folder is ---- */

static bool is_named(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Whether the folder has nothing but those names in it; 1, 0 or -1. */
static int holds_only(int dir_fd, const char *mark, const char *const *own, struct err *e)
{
    int fd = io_open_dir_at(dir_fd, ".", e);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int result = 1;

    if (dir == NULL) {
        if (fd >= 0) {
            err_sys(e, "read the folder to copy to");
            close(fd);
        }
        return -1;
    }
    while (result == 1 && (errno = 0, entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;

        result = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, mark) == 0 ||
                 strcmp(name, part_name) == 0 || is_named(name, own);
    }
    if (result == 1 && errno != 0)
        result = err_sys(e, "read the folder to copy to");
    closedir(dir);
    return result;
}

int copy_mark(struct copy *c, const char *name, const char *text, const char *const *own,
              struct err *e)
{
    int is_own = holds_only(c->fd, name, own, e);
    struct stat st;

    if (is_own <= 0)
        return is_own;
    if (fstatat(c->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    return io_write_file_at(c->fd, name, text, strlen(text), 0666, e);
}

/* ---- one file ---- */

/* Something on the share, and where it goes. */
struct item {
    const char *path; /* on the share */
    const struct sharefs_entry *entry;
    int to_fd; /* folder */
    const char *to;
};

static bool is_there(const struct item *it)
{
    struct stat st;

    return fstatat(it->to_fd, it->to, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_size == it->entry->size && st.st_mtime == it->entry->mtime_s;
}

static int copy_bytes(struct copy *c, struct sharefs_file *from, int to, const char *path,
                      struct err *e)
{
    ssize_t n;

    while ((n = sharefs_file_read(from, c->piece, PIECE_BYTES, e)) > 0) {
        if (io_write_all(to, c->piece, (size_t)n) < 0)
            return err_sys(e, "write the copy of %s", path);
        c->counts.bytes += n;
        if (c->tick != NULL)
            c->tick(c->context);
    }
    return n < 0 ? -1 : 0;
}

/* With the time of the original, by which the next fetch knows it. */
static int finish_file(const struct item *it, int fd, struct err *e)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
                                       { .tv_sec = (time_t)it->entry->mtime_s } };

    if (futimens(fd, times) < 0 || renameat(it->to_fd, part_name, it->to_fd, it->to) < 0)
        return err_sys(e, "make the copy of %s", it->path);
    return 0;
}

static int write_file(struct copy *c, const struct item *it, struct sharefs_file *from,
                      struct err *e)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    mode_t mode = it->entry->executable ? 0777 : 0666;
    int fd, result;

    if (unlinkat(it->to_fd, part_name, 0) < 0 && errno != ENOENT)
        return err_sys(e, "remove %s", part_name);
    fd = openat(it->to_fd, part_name, flags, mode);
    if (fd < 0)
        return err_sys(e, "make the copy of %s", it->path);
    result = copy_bytes(c, from, fd, it->path, e);
    if (result == 0)
        result = finish_file(it, fd, e);
    if (close(fd) < 0 && result == 0)
        result = err_sys(e, "write the copy of %s", it->path);
    if (result < 0)
        (void)unlinkat(it->to_fd, part_name, 0);
    return result;
}

static int copy_file(struct copy *c, const struct item *it, struct err *e)
{
    struct sharefs_file *from;
    int result;

    if (is_there(it)) {
        c->counts.there++;
        return 0;
    }
    from = sharefs_file_open(c->fs, it->path, e);
    if (from == NULL)
        return -1;
    result = write_file(c, it, from, e);
    sharefs_file_close(from);
    if (result == 0)
        c->counts.copied++;
    return result;
}

/* ---- links and folders ---- */

static bool is_same_link(const struct item *it, const char *target)
{
    size_t n = strlen(target);
    char *there = mem_alloc(n + 2);
    bool same =
        readlinkat(it->to_fd, it->to, there, n + 1) == (ssize_t)n && memcmp(there, target, n) == 0;

    free(there);
    return same;
}

static int copy_link(struct copy *c, const struct item *it, struct err *e)
{
    struct arena *a = arena_create();
    const char *target = sharefs_read_link(c->fs, it->path, a, e);
    int result = -1;

    if (target != NULL && is_same_link(it, target)) {
        c->counts.there++;
        result = 0;
    } else if (target != NULL) {
        (void)unlinkat(it->to_fd, part_name, 0);
        result = symlinkat(target, it->to_fd, part_name);
        if (result == 0)
            result = renameat(it->to_fd, part_name, it->to_fd, it->to);
        if (result < 0)
            err_sys(e, "make the link of %s", it->path);
        else
            c->counts.copied++;
    }
    arena_destroy(a);
    return result;
}

static int copy_item(struct copy *c, const struct item *it, int depth, struct err *e);

/* Opens a folder to copy into; one that is a link is refused. */
static int make_folder(int to_fd, const char *name, struct err *e)
{
    int fd;

    if (mkdirat(to_fd, name, 0777) < 0 && errno != EEXIST)
        return err_sys(e, "make folder %s", name);
    fd = openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? err_sys(e, "open folder %s", name) : fd;
}

static int copy_entries(struct copy *c, const char *path, const struct list *entries, int to_fd,
                        int depth, struct err *e)
{
    const struct sharefs_entry *items = entries->items;

    for (size_t i = 0; i < entries->n; i++) {
        char *below = path_join(path, items[i].name);
        struct item it = { below, &items[i], to_fd, items[i].name };
        int result = copy_item(c, &it, depth, e);

        free(below);
        if (result < 0)
            return -1;
    }
    return 0;
}

static int copy_folder(struct copy *c, const struct item *it, int depth, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries;
    int to_fd, result = -1;

    if (depth > DEPTH_MAX)
        err_set(e, ERR_FAILED, "%s: more than %d folders deep", it->path, DEPTH_MAX);
    else
        result = sharefs_list(c->fs, it->path, a, &entries, e);
    if (result == 0) {
        to_fd = make_folder(it->to_fd, it->to, e);
        result = to_fd < 0 ? -1 : copy_entries(c, it->path, &entries, to_fd, depth, e);
        if (to_fd >= 0)
            close(to_fd);
    }
    arena_destroy(a);
    return result;
}

static int copy_item(struct copy *c, const struct item *it, int depth, struct err *e)
{
    switch (it->entry->kind) {
    case SHAREFS_FILE: return copy_file(c, it, e);
    case SHAREFS_FOLDER: return copy_folder(c, it, depth + 1, e);
    case SHAREFS_LINK: return copy_link(c, it, e);
    case SHAREFS_OTHER: c->counts.odd++;
    }
    return 0;
}

/* ---- a path ---- */

/* Makes and opens the folder that the last name of the path lies in. */
static int open_parent(struct copy *c, const char *path, struct err *e)
{
    int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
    size_t n;

    if (fd < 0)
        return err_sys(e, "open the folder to copy to");
    for (; path[n = strcspn(path, "/")] == '/'; path += n + 1) {
        char *name = mem_strndup(path, n);
        int next = make_folder(fd, name, e);

        free(name);
        close(fd);
        if (next < 0)
            return -1;
        fd = next;
    }
    return fd;
}

int copy_path(struct copy *c, const char *path, size_t n, struct err *e)
{
    struct sharefs_entry entry;
    struct err why = { 0 };
    struct item it = { .path = path, .entry = &entry, .to = path_basename(path) };
    int result;

    if (sharefs_stat(c->fs, path, &entry, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    it.to_fd = open_parent(c, path + n, e);
    if (it.to_fd < 0)
        return -1;
    result = copy_item(c, &it, 0, e);
    close(it.to_fd);
    return result < 0 ? -1 : 1;
}
