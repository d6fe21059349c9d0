/* SPDX-License-Identifier: MIT */
/* share_sync.c - makes a group of files durable, where the share is mounted */

#include "worker/share/share_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/fs.h"

/* Each waits for a disk or a network, not for a processor. */
enum { THREADS = 8, ALONE_MAX = 4 };

static bool is_local(int fd)
{
    enum fs_kind kind = fs_type_of_fd(fd).kind;

    return kind == FS_LOCAL || kind == FS_MEMORY;
}

/* Before 5.8 syncfs kept quiet about what could not be written. */
static bool is_honest(void)
{
    struct utsname name;
    int major, minor;

    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 8));
}

bool share_sync_is_by_system(int fd)
{
    return is_local(fd) && is_honest();
}

int share_sync_system(int fd, struct err *e)
{
    return syncfs(fd) < 0 ? err_sys(e, "sync the share") : 0;
}

static bool cannot_sync(int error)
{
    return error == EINVAL || error == ENOTSUP || error == EROFS;
}

int share_sync_fd(int fd)
{
    return fsync(fd) < 0 && !cannot_sync(errno) ? errno : 0;
}

static int share_sync_one(const struct share_sync *f)
{
    int fd = openat(share_fd(f->dir), f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error;

    if (fd < 0)
        return errno;
    error = share_sync_fd(fd);
    close(fd);
    return error;
}

struct work {
    struct share_sync *files;
    size_t n;
    atomic_size_t next;
};

static void *share_sync_some(void *context)
{
    struct work *w = context;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
        w->files[i].error = share_sync_one(&w->files[i]);
    return NULL;
}

/* Threads that cannot be had are done without. */
void share_sync_files(struct share_sync *files, size_t n)
{
    struct work w = { .files = files, .n = n };
    pthread_t threads[THREADS];
    size_t started = 0;

    while (n > ALONE_MAX && started < THREADS - 1 &&
           pthread_create(&threads[started], NULL, share_sync_some, &w) == 0)
        started++;
    share_sync_some(&w);
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
}

int share_sync_folder(int fd, const char *name, struct err *e)
{
    errno = share_sync_fd(fd);
    return errno != 0 ? err_sys(e, "sync folder %s", name) : 0;
}
