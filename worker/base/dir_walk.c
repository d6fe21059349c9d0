/* SPDX-License-Identifier: MIT */
/* dir_walk.c - opens the folders of a tree path after path, never through a symlink */

#include "worker/base/dir_walk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"

struct dir_walk_level {
    size_t end; /* length of the folder's path */
    int fd;
};

void dir_walk_begin(struct dir_walk *d, int base_fd, const char *tree)
{
    *d = (struct dir_walk){ .base_fd = base_fd, .tree = tree };
}

static void close_from(struct dir_walk *d, size_t keep)
{
    while (d->n > keep)
        close(d->levels[--d->n].fd);
}

void dir_walk_end(struct dir_walk *d)
{
    close_from(d, 0);
    free(d->levels);
    buf_free(&d->path);
}

static int current_fd(const struct dir_walk *d)
{
    return d->n > 0 ? d->levels[d->n - 1].fd : d->base_fd;
}

static int enter(struct dir_walk *d, const char *name, size_t end)
{
    int fd = openat(current_fd(d), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -1;
    mem_grow((void **)&d->levels, &d->capacity, d->n, sizeof *d->levels);
    d->levels[d->n++] = (struct dir_walk_level){ end, fd };
    return 0;
}

int dir_walk_to(struct dir_walk *d, const char *path, const char **name, struct err *e)
{
    const char *slash = strrchr(path, '/');
    size_t folder_n = slash == NULL ? 0 : (size_t)(slash - path), common = 0;

    if (path[0] == '\0') {
        *name = d->tree;
        return d->base_fd;
    }
    *name = slash == NULL ? path : slash + 1;
    /* Counts the open folders that are also parents of this path. */
    while (
        common < d->n && d->levels[common].end <= folder_n &&
        (d->levels[common].end == 0 || (memcmp(path, d->path.bytes, d->levels[common].end) == 0 &&
                                        path[d->levels[common].end] == '/')))
        common++;
    close_from(d, common);
    if (d->n == 0 && d->tree != NULL && enter(d, d->tree, 0) < 0)
        return err_sys(e, "enter %s", d->tree);
    for (size_t at = d->n > 0 ? d->levels[d->n - 1].end : 0, n; at < folder_n; at += n) {
        char *folder;
        int rc;

        at += path[at] == '/';
        n = strcspn(path + at, "/");
        folder = mem_strndup(path + at, n);
        rc = enter(d, folder, at + n);
        free(folder);
        if (rc < 0)
            return err_sys(e, "enter the folder of %s", path);
    }
    buf_clear(&d->path);
    buf_add(&d->path, path, folder_n);
    return current_fd(d);
}
