/* SPDX-License-Identifier: MIT */
/* nfs_lookup.c - finds files that another machine made a moment ago, also over a network */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/nfs_lookup.h"

/* Opens the folder, with O_PATH where this process may not read it. */
static int open_folder(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

#ifdef O_PATH
    if (fd < 0 && errno == EACCES)
        fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
#endif
    return fd;
}

static void close_quietly(int fd)
{
    int number = errno;

    close(fd);
    errno = number;
}

/* Opens each folder of path in turn, gives the last one, and sets *rest to path's last part. */
static int open_way(int dir_fd, const char *path, const char **rest)
{
    int fd = open_folder(dir_fd, path[0] == '/' ? "/" : ".");
    size_t n;

    path += strspn(path, "/");
    while (fd >= 0 && path[n = strcspn(path, "/")] == '/') {
        char *name = mem_strndup(path, n);
        int next = open_folder(fd, name);

        free(name);
        close_quietly(fd);
        fd = next;
        path += n + strspn(path + n, "/");
    }
    *rest = path;
    return fd;
}

int nfs_lookup_open(int dir_fd, const char *path, int flags)
{
    int fd = openat(dir_fd, path, flags), folder;
    const char *name;

    if (fd >= 0 || errno != ENOENT)
        return fd;
    folder = open_way(dir_fd, path, &name);
    if (folder < 0)
        return -1;
    fd = openat(folder, name, flags);
    close_quietly(folder);
    return fd;
}

int nfs_lookup_stat(int dir_fd, const char *path, struct stat *st)
{
    int rc = fstatat(dir_fd, path, st, AT_SYMLINK_NOFOLLOW), folder;
    const char *name;

    if (rc == 0 || errno != ENOENT)
        return rc;
    folder = open_way(dir_fd, path, &name);
    if (folder < 0)
        return -1;
    rc = fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW);
    close_quietly(folder);
    return rc;
}
