/* SPDX-License-Identifier: MIT */
/* sharefs.c - files below the shared drive, whichever way leads there */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/share/sharefs_way.h"
#include "common/base/path.h"

void sharefs_close(struct sharefs *fs)
{
    if (fs != NULL)
        fs->way->close(fs);
}

char *sharefs_where(const struct sharefs *fs, const char *path)
{
    return fs->way->where(fs, path);
}

static int check_path(const char *path, struct err *e)
{
    if (path_is_inside(path))
        return 0;
    return err_set(e, ERR_PROTOCOL, "'%s' is no path below the shared drive", path);
}

enum sharefs_kind sharefs_kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return SHAREFS_FILE;
    if (S_ISDIR(mode))
        return SHAREFS_FOLDER;
    return S_ISLNK(mode) ? SHAREFS_LINK : SHAREFS_OTHER;
}

int sharefs_stat(struct sharefs *fs, const char *path, struct sharefs_entry *entry, struct err *e)
{
    return check_path(path, e) < 0 ? -1 : fs->way->stat(fs, path, entry, e);
}

static int compare_entries(const void *x, const void *y)
{
    const struct sharefs_entry *a = x, *b = y;

    return strcmp(a->name, b->name);
}

int sharefs_list(struct sharefs *fs, const char *path, struct arena *a, struct list *entries,
                 struct err *e)
{
    *entries = (struct list){ 0 };
    if (check_path(path, e) < 0 || fs->way->list(fs, path, a, entries, e) < 0)
        return -1;
    if (entries->n > 0)
        qsort(entries->items, entries->n, sizeof(struct sharefs_entry), compare_entries);
    return 0;
}

const char *sharefs_read_link(struct sharefs *fs, const char *path, struct arena *a, struct err *e)
{
    return check_path(path, e) < 0 ? NULL : fs->way->read_link(fs, path, a, e);
}

struct sharefs_file *sharefs_file_open(struct sharefs *fs, const char *path, struct err *e)
{
    return check_path(path, e) < 0 ? NULL : fs->way->file_open(fs, path, e);
}

ssize_t sharefs_file_read(struct sharefs_file *f, void *bytes, size_t n, struct err *e)
{
    ssize_t got = f->way->file_read(f, f->offset, bytes, n, e);

    if (got > 0)
        f->offset += got;
    return got;
}

void sharefs_file_seek(struct sharefs_file *f, int64_t offset)
{
    f->offset = offset;
}

int sharefs_file_size(struct sharefs_file *f, int64_t *size_bytes, struct err *e)
{
    return f->way->file_size(f, size_bytes, e);
}

void sharefs_file_close(struct sharefs_file *f)
{
    if (f != NULL)
        f->way->file_close(f);
}

int sharefs_watch(const struct sharefs *fs, const char *path)
{
    return path_is_inside(path) ? fs->way->watch(fs, path) : -1;
}

void sharefs_ahead(struct sharefs *fs, const char *path, sharefs_wanted *wanted, void *context)
{
    if (path_is_inside(path))
        fs->way->ahead(fs, path, wanted, context);
}

void sharefs_forget(struct sharefs *fs, const char *path)
{
    fs->way->forget(fs, path);
}
