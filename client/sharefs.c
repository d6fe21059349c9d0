/* SPDX-License-Identifier: MIT */
/* sharefs.c - files below the shared drive, which is a folder of this machine */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/sharefs.h"
#include "common/io.h"
#include "common/path.h"

enum { LINK_MAX_BYTES = 4096 };

struct sharefs {
    char *root;
    int fd;
};

struct sharefs_file {
    int fd;
    char *path;
};

struct sharefs *sharefs_open(const char *root, struct err *e)
{
    int fd = io_open_dir(root, e);
    struct sharefs *fs;

    if (fd < 0) {
        err_wrap(e, "the shared drive is not to be seen here (config.yaml: share: says where it "
                    "is on this machine)");
        return NULL;
    }
    fs = mem_alloc(sizeof *fs);
    *fs = (struct sharefs){ .root = mem_strdup(root), .fd = fd };
    return fs;
}

void sharefs_close(struct sharefs *fs)
{
    if (fs == NULL)
        return;
    close(fs->fd);
    free(fs->root);
    free(fs);
}

static int check_path(const char *path, struct err *e)
{
    if (path_is_inside(path))
        return 0;
    return err_set(e, ERR_PROTOCOL, "'%s' is no path below the shared drive", path);
}

static int open_at(struct sharefs *fs, const char *path, int flags, struct err *e)
{
    int fd;

    if (check_path(path, e) < 0)
        return -1;
    fd = openat(fs->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);
    return fd < 0 ? err_sys(e, "open %s/%s", fs->root, path) : fd;
}

static enum sharefs_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return SHAREFS_FILE;
    if (S_ISDIR(mode))
        return SHAREFS_FOLDER;
    return S_ISLNK(mode) ? SHAREFS_LINK : SHAREFS_OTHER;
}

static struct sharefs_entry entry_of(const char *name, const struct stat *st)
{
    return (struct sharefs_entry){ .name = name,
                                   .kind = kind_of(st->st_mode),
                                   .size = st->st_size,
                                   .mtime_s = st->st_mtime,
                                   .executable = (st->st_mode & S_IXUSR) != 0 };
}

int sharefs_stat(struct sharefs *fs, const char *path, struct sharefs_entry *entry, struct err *e)
{
    struct stat st;

    if (check_path(path, e) < 0)
        return -1;
    if (fstatat(fs->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(e, "%s/%s", fs->root, path);
    *entry = entry_of(path_basename(path), &st);
    return 0;
}

static int compare_entries(const void *x, const void *y)
{
    const struct sharefs_entry *a = x, *b = y;

    return strcmp(a->name, b->name);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void keep_entries(struct list *entries, const struct sharefs_entry *items, size_t n,
                         struct arena *a)
{
    *entries = (struct list){ arena_alloc(a, n * sizeof *items), n };
    if (n == 0)
        return;
    memcpy(entries->items, items, n * sizeof *items);
    qsort(entries->items, n, sizeof *items, compare_entries);
}

/* Those that go away meanwhile are left out. */
static int read_entries(DIR *dir, struct arena *a, struct list *entries)
{
    struct sharefs_entry *items = NULL;
    size_t n = 0, capacity = 0;
    struct dirent *d;
    struct stat st;
    int number;

    while (errno = 0, (d = readdir(dir)) != NULL) {
        if (is_dots(d->d_name) || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        mem_grow((void **)&items, &capacity, n, sizeof *items);
        items[n++] = entry_of(arena_strdup(a, d->d_name), &st);
    }
    number = errno;
    if (number == 0)
        keep_entries(entries, items, n, a);
    free(items);
    errno = number;
    return number == 0 ? 0 : -1;
}

int sharefs_list(struct sharefs *fs, const char *path, struct arena *a, struct list *entries,
                 struct err *e)
{
    int fd = open_at(fs, path, O_DIRECTORY, e), result;
    DIR *dir;

    *entries = (struct list){ 0 };
    if (fd < 0)
        return -1;
    dir = fdopendir(fd);
    if (dir == NULL) {
        err_sys(e, "open %s/%s", fs->root, path);
        close(fd);
        return -1;
    }
    result = read_entries(dir, a, entries);
    if (result < 0)
        err_sys(e, "read %s/%s", fs->root, path);
    closedir(dir);
    return result;
}

const char *sharefs_read_link(struct sharefs *fs, const char *path, struct arena *a, struct err *e)
{
    char target[LINK_MAX_BYTES];
    ssize_t n;

    if (check_path(path, e) < 0)
        return NULL;
    n = readlinkat(fs->fd, path, target, sizeof target);
    if (n < 0) {
        err_sys(e, "%s/%s", fs->root, path);
        return NULL;
    }
    return arena_strndup(a, target, (size_t)n);
}

struct sharefs_file *sharefs_file_open(struct sharefs *fs, const char *path, struct err *e)
{
    int fd = open_at(fs, path, O_NONBLOCK, e);
    struct sharefs_file *f;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        err_set(e, ERR_FAILED, "%s/%s is no file", fs->root, path);
        close(fd);
        return NULL;
    }
    f = mem_alloc(sizeof *f);
    *f = (struct sharefs_file){ .fd = fd, .path = path_join(fs->root, path) };
    return f;
}

ssize_t sharefs_file_read(struct sharefs_file *f, void *bytes, size_t n, struct err *e)
{
    ssize_t got = io_read_all(f->fd, bytes, n);

    return got < 0 ? err_sys(e, "read %s", f->path) : got;
}

void sharefs_file_close(struct sharefs_file *f)
{
    if (f == NULL)
        return;
    close(f->fd);
    free(f->path);
    free(f);
}
