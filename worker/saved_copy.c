/* SPDX-License-Identifier: MIT */
/* saved_copy.c - copies what a job saved to a share on another file system */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "worker/crash.h"
#include "worker/saved.h"

static int copy_file(const struct saved_entry *x, int from_fd, int to_fd, struct err *e)
{
    int in = openat(from_fd, x->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    uint64_t copied_bytes;
    int out, result;

    if (in < 0)
        return err_sys(e, "open %s", x->path);
    out = openat(to_fd, x->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, x->mode & 0777);
    if (out < 0) {
        err_sys(e, "create %s", x->path);
        close(in);
        return -1;
    }
    result = io_copy_fd(in, out, &copied_bytes, e);
    if (result < 0)
        err_wrap(e, "copy %s", x->path);
    else if (copied_bytes != x->size_bytes)
        result = err_set(e, ERR_FAILED, "%s changed while it was copied", x->path);
    /* What a full or lost share says may only come now. */
    if (close(out) < 0 && result == 0 && errno != EINTR)
        result = err_sys(e, "write %s", x->path);
    close(in);
    return result;
}

char *saved_read_link(int dir_fd, const char *path, struct err *e)
{
    size_t room = 256;
    char *target = NULL;
    ssize_t n;

    do {
        room *= 2;
        target = mem_resize(target, room, 1);
        n = readlinkat(dir_fd, path, target, room);
    } while (n >= 0 && (size_t)n == room);
    if (n < 0) {
        err_sys(e, "read %s", path);
        free(target);
        return NULL;
    }
    target[n] = '\0';
    return target;
}

static bool has_no_links(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

/* Where the share has no symlinks, it is listed as left out, with what it led to. */
static int copy_link(struct saved *s, const struct saved_entry *x, int from_fd, int to_fd,
                     struct err *e)
{
    char *target = saved_read_link(from_fd, x->path, e);
    int result = target == NULL ? -1 : 0;

    if (target != NULL && symlinkat(target, to_fd, x->path) < 0) {
        if (!has_no_links(errno))
            result = err_sys(e, "create %s", x->path);
        else
            saved_leave_out(s, arena_printf(s->arena, "%s -> %s", x->path, target));
    }
    free(target);
    return result;
}

static int copy_entry(struct saved *s, const struct saved_entry *x, int from_fd, int to_fd,
                      struct err *e)
{
    switch (x->type) {
    case SAVED_FILE: return copy_file(x, from_fd, to_fd, e);
    case SAVED_LINK: return copy_link(s, x, from_fd, to_fd, e);
    default:
        return mkdirat(to_fd, x->path, x->mode & 0777) < 0 ? err_sys(e, "create %s", x->path) : 0;
    }
}

int saved_copy(struct saved *s, int from_fd, int to_fd, struct err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        if (copy_entry(s, &s->entries[i], from_fd, to_fd, e) < 0)
            return -1;
        CRASH_POINT(copy_begun);
    }
    return 0;
}
