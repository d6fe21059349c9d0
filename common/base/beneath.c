/* SPDX-License-Identifier: MIT */
/* beneath.c - what lies below a folder, reached through no symlink */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#if defined(__linux__) && defined(SYS_openat2) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#define HAS_OPENAT2 1
#else
#define HAS_OPENAT2 0
#endif

#include "common/base/beneath.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"

/* Flags for a folder that is only passed through; with O_PATH it need not be readable. */
#ifdef O_PATH
#define ENTERED (O_PATH | O_DIRECTORY)
#else
#define ENTERED (O_RDONLY | O_DIRECTORY)
#endif

/* How often beneath_create removes what others put in the place of the file. */
enum { CREATE_TRIES = 100 };

/* How often a way that is changed meanwhile is looked at again by the kernel. */
enum { KERNEL_TRIES = 100 };

static void close_quietly(int fd)
{
    int number = errno;

    close(fd);
    errno = number;
}

/* ---- the way, folder by folder ---- */

/* Opens one name.  A symlink is ELOOP whatever the flags: with O_DIRECTORY the kernel says ENOTDIR. */
static int open_name(int dir_fd, const char *name, int flags, mode_t mode)
{
    int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    struct stat st;

    if (fd >= 0 || errno != ENOTDIR)
        return fd;
    errno = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP
                                                                                        : ENOTDIR;
    return -1;
}

static int walk(int dir_fd, const char *path, int flags, mode_t mode)
{
    int fd = dir_fd;

    if (path[0] == '/') {
        errno = EXDEV;
        return -1;
    }
    for (;;) {
        size_t n = strcspn(path, "/"), slashes = strspn(path + n, "/");
        bool is_last = path[n + slashes] == '\0';
        char *name = mem_strndup(path, n);
        int next = -1;

        if (strcmp(name, "..") == 0)
            errno = EXDEV;
        else
            next = open_name(fd, name, is_last ? flags : ENTERED, mode);
        free(name);
        if (fd != dir_fd)
            close_quietly(fd);
        if (next < 0 || is_last)
            return next;
        fd = next;
        path += n + slashes;
    }
}

#if HAS_OPENAT2
/* -1 with ENOSYS: not this kernel, or a filter of system calls that does not know the call. */
static int open_in_kernel(int dir_fd, const char *path, int flags, mode_t mode)
{
    static atomic_bool is_missing;
    struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
                            .mode = (flags & O_CREAT) != 0 ? mode & 07777 : 0,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
    int fd, n_tries = 0;

    errno = ENOSYS;
    if (atomic_load(&is_missing))
        return -1;
    do
        fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
    while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++n_tries < KERNEL_TRIES)));
    if (fd < 0 && errno == ENOSYS)
        atomic_store(&is_missing, true);
    /* Some filters say EPERM for a call that they do not know, and EAGAIN is also said of a file that
     * somebody has a lease on; the walk finds out. */
    if (fd < 0 && (errno == EPERM || errno == EAGAIN))
        errno = ENOSYS;
    return fd;
}
#else
static int open_in_kernel(int dir_fd, const char *path, int flags, mode_t mode)
{
    (void)dir_fd, (void)path, (void)flags, (void)mode;
    errno = ENOSYS;
    return -1;
}
#endif

int beneath_open(int dir_fd, const char *path, int flags, mode_t mode)
{
    const char *name = path[0] == '\0' ? "." : path;
    int fd = open_in_kernel(dir_fd, name, flags, mode);

    return fd < 0 && errno == ENOSYS ? walk(dir_fd, name, flags, mode) : fd;
}

/* ---- the folder in which a path's last part lies ---- */

/* dir_fd itself where path has one part; *name points into path. */
static int enter(int dir_fd, const char *path, const char **name)
{
    char *folder;
    int fd;

    *name = path_basename(path);
    if (*name == path)
        return dir_fd;
    folder = mem_strndup(path, (size_t)(*name - path));
    fd = beneath_open(dir_fd, folder, ENTERED, 0);
    free(folder);
    return fd;
}

/* Gives result. */
static int leave(int fd, int dir_fd, int result)
{
    if (fd != dir_fd)
        close_quietly(fd);
    return result;
}

int beneath_open_here(int dir_fd, const char *name, int flags)
{
    const int all = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int fd = -1;

#if HAS_OPENAT2
    struct open_how how = { .flags = (unsigned)all,
                            .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH };

    fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) /* before Linux 5.6, or filtered out */
        return fd;
#endif
    fd = openat(dir_fd, name, all);
    return fd;
}

int beneath_open_own(int dir_fd, const char *path, int flags, mode_t bits)
{
    int fd = beneath_open(dir_fd, path, flags, 0), folder;
    const char *name;

    if (fd >= 0 || errno != EACCES)
        return fd;
    folder = enter(dir_fd, path[0] == '\0' ? "." : path, &name);
    return folder < 0 ? -1 : leave(folder, dir_fd, io_open_own(folder, name, flags, bits));
}

int beneath_create(int dir_fd, const char *path, mode_t mode)
{
    const char *name;
    int folder = enter(dir_fd, path, &name), fd = -1;

    if (folder < 0)
        return -1;
    for (int i = 0; i < CREATE_TRIES; i++) {
        fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST || (unlinkat(folder, name, 0) < 0 && errno != ENOENT))
            break;
        errno = EEXIST;
    }
    return leave(folder, dir_fd, fd);
}

int beneath_stat(int dir_fd, const char *path, struct stat *st)
{
    const char *name;
    int folder;

    if (path[0] == '\0')
        return fstat(dir_fd, st);
    folder = enter(dir_fd, path, &name);
    return folder < 0 ? -1 : leave(folder, dir_fd, fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW));
}

int beneath_make_dir(int dir_fd, const char *path, mode_t mode)
{
    const char *name;
    int folder = enter(dir_fd, path, &name);

    return folder < 0 ? -1 : leave(folder, dir_fd, mkdirat(folder, name, mode));
}

int beneath_make_link(const char *target, int dir_fd, const char *path)
{
    const char *name;
    int folder = enter(dir_fd, path, &name);

    return folder < 0 ? -1 : leave(folder, dir_fd, symlinkat(target, folder, name));
}

int beneath_remove(int dir_fd, const char *path, int flags)
{
    const char *name;
    int folder = enter(dir_fd, path, &name);

    return folder < 0 ? -1 : leave(folder, dir_fd, unlinkat(folder, name, flags));
}

int beneath_rename(int from_fd, const char *from, int to_fd, const char *to)
{
    const char *from_name, *to_name;
    int from_folder = enter(from_fd, from, &from_name), to_folder, result = -1;

    if (from_folder < 0)
        return -1;
    to_folder = enter(to_fd, to, &to_name);
    if (to_folder >= 0)
        result = leave(to_folder, to_fd, renameat(from_folder, from_name, to_folder, to_name));
    return leave(from_folder, from_fd, result);
}

int beneath_remove_tree(int dir_fd, const char *path, struct err *e)
{
    const char *name;
    int folder = enter(dir_fd, path, &name);

    if (folder < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(e, "remove %s", path);
    return leave(folder, dir_fd, io_remove_tree_at(folder, name, e));
}

char *beneath_read_link(int dir_fd, const char *path, struct err *e)
{
    const char *name;
    int folder = enter(dir_fd, path, &name);
    char *target;

    if (folder < 0) {
        err_sys(e, "read %s", path);
        return NULL;
    }
    target = io_read_link_at(folder, name, e);
    (void)leave(folder, dir_fd, 0);
    return target;
}
