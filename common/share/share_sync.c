/* SPDX-License-Identifier: MIT */
/* share_sync.c - makes files on the shared drive durable */

/* On a local file system one syncfs(2) syncs all files (from Linux 5.8 on it reports write errors);
 * elsewhere each file is synced, several at a time. */

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

/* Threads that sync files: each waits for a disk or a network, not for a processor.  Up to
 * SYNC_ALONE_MAX files are synced without further threads. */
enum { SYNC_THREADS = 8, SYNC_ALONE_MAX = 4 };

int share_sync_fd(int fd)
{
    if (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS)
        return 0;
    return errno;
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

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n) {
        struct share_sync *f = &w->files[i];
        int fd = share_open_below(f->dir, f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

        f->error = fd < 0 ? errno : share_sync_fd(fd);
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

/* If pthread_create fails, fewer threads do the work. */
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

static void sync_files_over_sftp(struct share_sync *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct share_sync *f = &files[i];
        struct share_line *line = f->dir->line;
        char *full = share_sftp_path(f->dir, f->path);
        struct sftp_op op = { .kind = SFTP_OP_SYNC, .path = full };
        struct err why = { 0 };

        f->error = 0;
        if (sftp_can(line->sftp, SFTP_CAN_SYNC)) {
            f->error = EIO;
            if (sftp_start(line->sftp, &op, on_synced, f, &why) < 0)
                f->error = errno_of(&why);
        } else if (!line->has_warned) {
            log_event(LOG_WARN, "not-synced", "why", "%s",
                      "this SFTP server knows no fsync@openssh.com: what its machine loses in a "
                      "power failure is lost",
                      NULL);
            line->has_warned = true;
        }
        free(full);
    }
    for (size_t i = 0; i < n; i++)
        (void)sftp_finish(files[i].dir->line->sftp, NULL);
    for (size_t i = 0; i < n; i++) {
        struct share_sync *f = &files[i];
        char *full = share_sftp_path(f->dir, f->path);
        struct sftp_attrs attrs;

        /* A server that cannot open a folder either syncs it by itself, or nobody can. */
        if ((f->error == EIO || f->error == EACCES) &&
            sftp_stat(f->dir->line->sftp, full, &attrs, NULL) == 0 && S_ISDIR(attrs.mode))
            f->error = 0;
        free(full);
    }
}

/* ---- either ---- */

bool share_is_synced_whole(const struct share_dir *d)
{
#ifdef __linux__
    enum fs_kind kind = d->fd < 0 ? FS_UNKNOWN : fs_type_of_fd(d->fd).kind;
    struct utsname name;
    int major, minor;

    /* Before 5.8 syncfs did not report write errors. */
    return (kind == FS_LOCAL || kind == FS_MEMORY) && uname(&name) == 0 &&
           sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 8));
#else
    (void)d;
    return false;
#endif
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
