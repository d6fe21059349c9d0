/* SPDX-License-Identifier: MIT */
/* share_sync.c - makes files on the shared drive durable */

/* On a local file system one syncfs does for all (Linux 5.8 and later say in its answer what could
 * not be written); elsewhere each file is synced, several at a time. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/share/share_internal.h"

/* ---- mounted ---- */

/* Each waits for a disk or a network, not for a processor. */
enum { SYNC_THREADS = 8, SYNC_ALONE_MAX = 4 };

static bool is_local(int fd)
{
    enum fs_kind kind = fs_type_of_fd(fd).kind;

    return kind == FS_LOCAL || kind == FS_MEMORY;
}

/* Before 5.8 syncfs kept quiet about what could not be written. */
static bool is_honest(void)
{
#ifdef __linux__
    struct utsname name;
    int major, minor;

    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 8));
#else
    return false;
#endif
}

static bool is_synced_by_system(int fd)
{
    return is_local(fd) && is_honest();
}

static bool cannot_sync(int error)
{
    return error == EINVAL || error == ENOTSUP || error == EROFS;
}

int share_sync_fd(int fd)
{
    return fsync(fd) < 0 && !cannot_sync(errno) ? errno : 0;
}

static int sync_one(const struct share_sync *f)
{
    int fd = openat(f->dir->fd, f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error;

    if (fd < 0)
        return errno;
    error = share_sync_fd(fd);
    close(fd);
    return error;
}

struct syncing {
    struct share_sync *files;
    size_t n;
    atomic_size_t next;
};

static void *sync_some(void *context)
{
    struct syncing *w = context;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
        w->files[i].error = sync_one(&w->files[i]);
    return NULL;
}

/* Threads that cannot be had are done without. */
static void sync_mounted_files(struct share_sync *files, size_t n)
{
    struct syncing w = { .files = files, .n = n };
    pthread_t threads[SYNC_THREADS];
    size_t started = 0;

    while (n > SYNC_ALONE_MAX && started < SYNC_THREADS - 1 &&
           pthread_create(&threads[started], NULL, sync_some, &w) == 0)
        started++;
    sync_some(&w);
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
}

/* ---- over SFTP ---- */

static int errno_of(const struct err *e)
{
    switch (e->kind) {
    case ERR_NOT_FOUND: return ENOENT;
    case ERR_DENIED: return EACCES;
    case ERR_NO_SPACE: return ENOSPC;
    case ERR_UNREACHABLE:
    case ERR_PROTOCOL: return ECONNRESET;
    default: return EIO;
    }
}

static void on_synced(void *context, const struct sftp_answer *answer)
{
    struct share_sync *f = context;

    f->error = answer->error == NULL ? 0 : errno_of(answer->error);
}

static void begin_sync(struct share_sync *f)
{
    char *full = share_sftp_path(f->dir, f->path);
    struct sftp_op op = { .kind = SFTP_OP_SYNC, .path = full };
    struct err why = { 0 };

    f->error = EIO;
    if (sftp_start(f->dir->line->sftp, &op, on_synced, f, &why) < 0)
        f->error = errno_of(&why);
    free(full);
}

/* Servers that open no folders keep those durable themselves, or nobody can. */
static void forgive_folder(struct share_sync *f)
{
    char *full = share_sftp_path(f->dir, f->path);
    struct sftp_attrs attrs;

    if ((f->error == EIO || f->error == EACCES) &&
        sftp_stat(f->dir->line->sftp, full, &attrs, NULL) == 0 && S_ISDIR(attrs.mode))
        f->error = 0;
    free(full);
}

static void warn_once(struct share_line *line)
{
    if (!line->has_warned)
        log_event(LOG_WARN, "not-synced", "why", "%s",
                  "this SFTP server knows no fsync@openssh.com: what its machine loses in a power "
                  "failure is lost",
                  NULL);
    line->has_warned = true;
}

static void sync_files_over_sftp(struct share_sync *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        files[i].error = 0;
        if (sftp_can(files[i].dir->line->sftp, SFTP_CAN_SYNC))
            begin_sync(&files[i]);
        else
            warn_once(files[i].dir->line);
    }
    for (size_t i = 0; i < n; i++)
        (void)sftp_finish(files[i].dir->line->sftp, NULL);
    for (size_t i = 0; i < n; i++)
        forgive_folder(&files[i]);
}

/* ---- either ---- */

bool share_is_synced_whole(const struct share_dir *d)
{
    return d->fd >= 0 && is_synced_by_system(d->fd);
}

int share_sync(const struct share_dir *d, struct err *e)
{
#ifdef __linux__
    if (d->fd >= 0)
        return syncfs(d->fd) < 0 ? err_sys(e, "sync the share") : 0;
#endif
    (void)d;
    return err_set(e, ERR_INTERNAL, "this share cannot be synced as a whole");
}

void share_sync_each(struct share_sync *files, size_t n)
{
    size_t begin = 0;

    for (size_t end = 1; end <= n; end++)
        if (end == n || (files[end].dir->fd < 0) != (files[begin].dir->fd < 0)) {
            (files[begin].dir->fd < 0 ? sync_files_over_sftp : sync_mounted_files)(files + begin,
                                                                                   end - begin);
            begin = end;
        }
}

int share_sync_dir(const struct share_dir *d, const char *name, struct err *e)
{
    struct share_sync f = { d, "", 0 };

    if (d->fd >= 0)
        f.error = share_sync_fd(d->fd);
    else
        sync_files_over_sftp(&f, 1);
    errno = f.error;
    return f.error == 0 ? 0 : err_sys(e, "sync folder %s", name);
}
