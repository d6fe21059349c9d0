/* SPDX-License-Identifier: MIT */
/* sharefs_mount.c - files below the shared drive, which is a folder of this machine */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/share/filewatch.h"
#include "client/share/sharefs_way.h"
#include "common/base/io.h"
#include "common/base/nfs_lookup.h"
#include "common/base/path.h"

enum { LINK_MAX_BYTES = 4096 };

struct mount {
    struct sharefs fs;
    char *root;
    int fd;
};

struct mount_file {
    struct sharefs_file file;
    int fd;
    char *path;
};

static const struct sharefs_way way;

static struct mount *mount_of(struct sharefs *fs)
{
    return (struct mount *)(void *)fs;
}

struct sharefs *sharefs_open(const char *root, struct err *e)
{
    int fd = io_open_dir(root, e);
    struct mount *m;

    if (fd < 0) {
        err_wrap(e, "the shared drive is not to be seen here (config.yaml: share: says where it "
                    "is on this machine)");
        return NULL;
    }
    m = mem_alloc(sizeof *m);
    *m = (struct mount){ .fs = { &way }, .root = mem_strdup(root), .fd = fd };
    return &m->fs;
}

static void mount_close(struct sharefs *fs)
{
    struct mount *m = mount_of(fs);

    close(m->fd);
    free(m->root);
    free(m);
}

static char *mount_where(const struct sharefs *fs, const char *path)
{
    return path_join(((const struct mount *)(const void *)fs)->root, path);
}

static int open_at(const struct mount *m, const char *path, int flags, struct err *e)
{
    int fd = nfs_lookup_open(m->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);

    return fd < 0 ? err_sys(e, "open %s/%s", m->root, path) : fd;
}

static struct sharefs_entry entry_of(const char *name, const struct stat *st)
{
    return (struct sharefs_entry){ .name = name,
                                   .kind = sharefs_kind_of(st->st_mode),
                                   .size = st->st_size,
                                   .mtime_s = st->st_mtime,
                                   .executable = (st->st_mode & S_IXUSR) != 0 };
}

static int mount_stat(struct sharefs *fs, const char *path, struct sharefs_entry *entry,
                      struct err *e)
{
    const struct mount *m = mount_of(fs);
    struct stat st;

    if (nfs_lookup_stat(m->fd, path, &st) < 0)
        return err_sys(e, "%s/%s", m->root, path);
    *entry = entry_of(path_basename(path), &st);
    return 0;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void keep_entries(struct list *entries, const struct sharefs_entry *items, size_t n,
                         struct arena *a)
{
    *entries = (struct list){ arena_alloc(a, n * sizeof *items), n };
    if (n > 0)
        memcpy(entries->items, items, n * sizeof *items);
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

static int mount_list(struct sharefs *fs, const char *path, struct arena *a, struct list *entries,
                      struct err *e)
{
    const struct mount *m = mount_of(fs);
    int fd = open_at(m, path, O_DIRECTORY, e), result;
    DIR *dir;

    if (fd < 0)
        return -1;
    dir = fdopendir(fd);
    if (dir == NULL) {
        err_sys(e, "open %s/%s", m->root, path);
        close(fd);
        return -1;
    }
    result = read_entries(dir, a, entries);
    if (result < 0)
        err_sys(e, "read %s/%s", m->root, path);
    closedir(dir);
    return result;
}

static const char *mount_read_link(struct sharefs *fs, const char *path, struct arena *a,
                                   struct err *e)
{
    const struct mount *m = mount_of(fs);
    char target[LINK_MAX_BYTES];
    ssize_t n = readlinkat(m->fd, path, target, sizeof target);

    if (n < 0) {
        err_sys(e, "%s/%s", m->root, path);
        return NULL;
    }
    return arena_strndup(a, target, (size_t)n);
}

static struct mount_file *file_of(struct sharefs_file *f)
{
    return (struct mount_file *)(void *)f;
}

static struct sharefs_file *mount_file_open(struct sharefs *fs, const char *path, struct err *e)
{
    const struct mount *m = mount_of(fs);
    int fd = open_at(m, path, O_NONBLOCK, e);
    struct mount_file *f;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        err_set(e, ERR_FAILED, "%s/%s is no regular file", m->root, path);
        close(fd);
        return NULL;
    }
    f = mem_alloc(sizeof *f);
    *f = (struct mount_file){ .file = { .way = &way }, .fd = fd, .path = path_join(m->root, path) };
    return &f->file;
}

static ssize_t mount_file_read(struct sharefs_file *file, int64_t offset, void *bytes, size_t n,
                               struct err *e)
{
    const struct mount_file *f = file_of(file);
    ssize_t got = lseek(f->fd, (off_t)offset, SEEK_SET) < 0 ? -1 : io_read_all(f->fd, bytes, n);

    return got < 0 ? err_sys(e, "read %s", f->path) : got;
}

static int mount_file_size(struct sharefs_file *file, int64_t *size_bytes, struct err *e)
{
    const struct mount_file *f = file_of(file);
    struct stat st;

    if (fstat(f->fd, &st) < 0)
        return err_sys(e, "%s", f->path);
    *size_bytes = st.st_size;
    return 0;
}

static void mount_file_close(struct sharefs_file *file)
{
    struct mount_file *f = file_of(file);

    close(f->fd);
    free(f->path);
    free(f);
}

static int mount_watch(const struct sharefs *fs, const char *path)
{
    char *whole = mount_where(fs, path);
    int fd = filewatch_open(whole);

    free(whole);
    return fd;
}

/* The kernel reads ahead. */
static void mount_ahead(struct sharefs *fs, const char *path, sharefs_wanted *wanted, void *context)
{
    (void)fs;
    (void)path;
    (void)wanted;
    (void)context;
}

static void mount_forget(struct sharefs *fs, const char *path)
{
    (void)fs;
    (void)path;
}

static const struct sharefs_way way = {
    .close = mount_close,
    .where = mount_where,
    .stat = mount_stat,
    .list = mount_list,
    .read_link = mount_read_link,
    .file_open = mount_file_open,
    .file_read = mount_file_read,
    .file_size = mount_file_size,
    .file_close = mount_file_close,
    .watch = mount_watch,
    .ahead = mount_ahead,
    .forget = mount_forget,
};
