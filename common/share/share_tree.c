/* SPDX-License-Identifier: MIT */
/* share_tree.c - trees to and from the shared drive, many files at a time */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/crash_point.h"
#include "common/share/share_internal.h"

enum {
    THREADS = 8,       /* each waits for a network, not for a processor */
    LOCAL_THREADS = 2, /* that is a disk's matter, and jobs want the processors */
    ALONE_MAX = 4,
    /* Each thread takes some that lie together: in one folder only one file at a time is made. */
    TAKEN_FRACTION = 8 * THREADS,
    TAKEN_MAX = 1024,
    PIECE_BYTES = 256 * 1024
};
#define DEEPEST SIZE_MAX

static int copy_folder(int to_fd, const struct share_item *x, struct err *e)
{
    return mkdirat(to_fd, x->to, x->mode & 0777) < 0 ? err_sys(e, "create %s", x->to) : 0;
}

static int create_file(int to_fd, const struct share_item *x, struct err *e)
{
    int fd = openat(to_fd, x->to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, x->mode & 0777);

    return fd < 0 ? err_sys(e, "create %s", x->to) : fd;
}

/* What a full or lost share says may only come when the file is closed. */
static int close_file(int fd, const struct share_item *x, int result, struct err *e)
{
    return close(fd) < 0 && result == 0 && errno != EINTR ? err_sys(e, "write %s", x->to) : result;
}

/* ---- in ---- */

/* What the threads share. */
struct copying {
    struct share_item *items;
    size_t n;
    int from_fd, to_fd;
    bool syncs;
    size_t depth; /* of what is made now */
    atomic_size_t next;
    atomic_bool has_failed;
    pthread_mutex_t lock;
    struct err why; /* the first time */
};

struct copier {
    struct copying *all;
    uint8_t *piece;
    struct hasher *hasher;
};

static ssize_t read_piece(const struct copier *c, int fd)
{
    ssize_t n;

    do
        n = read(fd, c->piece, PIECE_BYTES);
    while (n < 0 && errno == EINTR);
    return n;
}

/* It may be changed at this moment, by what escaped of a job. */
static int check_copied(struct copier *c, const struct share_item *x, int64_t copied_bytes,
                        struct err *e)
{
    struct digest d;

    hasher_end(c->hasher, &d);
    if (copied_bytes == x->size_bytes && (x->digest == NULL || digest_equal(&d, x->digest)))
        return 0;
    return err_set(e, ERR_FAILED, "%s changed while it was copied", x->from);
}

static int copy_content(struct copier *c, int in, int out, const struct share_item *x,
                        struct err *e)
{
    int64_t copied_bytes = 0;
    ssize_t n;

    while ((n = read_piece(c, in)) > 0 && copied_bytes <= x->size_bytes) {
        if (io_write_all(out, c->piece, (size_t)n) < 0)
            return err_sys(e, "write %s", x->to);
        hasher_add(c->hasher, c->piece, (size_t)n);
        copied_bytes += n;
    }
    if (n < 0)
        return err_sys(e, "read %s", x->from);
    return check_copied(c, x, copied_bytes, e);
}

static int sync_file(const struct copying *a, int fd, const struct share_item *x, struct err *e)
{
    if (!a->syncs || (errno = share_sync_fd(fd)) == 0)
        return 0;
    return err_sys(e, "sync %s", x->to);
}

static int copy_file(struct copier *c, const struct share_item *x, struct err *e)
{
    int in = openat(c->all->from_fd, x->from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int out = -1, result = -1;

    if (in < 0)
        return err_sys(e, "open %s", x->from);
    out = create_file(c->all->to_fd, x, e);
    if (out >= 0) {
        result = copy_content(c, in, out, x, e);
        if (result == 0)
            result = sync_file(c->all, out, x, e);
        result = close_file(out, x, result, e);
    }
    close(in);
    return result;
}

static bool has_no_links(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

static int copy_link(const struct copying *a, struct share_item *x, struct err *e)
{
    char *target = io_read_link_at(a->from_fd, x->from, e);

    if (target == NULL)
        return -1;
    if (symlinkat(target, a->to_fd, x->to) == 0) {
        free(target);
    } else if (has_no_links(errno)) {
        x->target = target;
    } else {
        err_sys(e, "create %s", x->to);
        free(target);
        return -1;
    }
    return 0;
}

static int copy_item(struct copier *c, struct share_item *x, struct err *e)
{
    switch (x->type) {
    case SHARE_FILE: return copy_file(c, x, e);
    case SHARE_LINK: return copy_link(c->all, x, e);
    default: return copy_folder(c->all->to_fd, x, e);
    }
}

/* Of folders; of what lies in them: DEEPEST. */
static size_t depth_of(const struct share_item *x)
{
    size_t depth = 0;

    if (x->type != SHARE_FOLDER)
        return DEEPEST;
    for (const char *at = x->to; *at != '\0'; at++)
        depth += *at == '/';
    return depth;
}

static void fail(struct copying *a, const struct err *why)
{
    pthread_mutex_lock(&a->lock);
    if (!atomic_exchange(&a->has_failed, true))
        a->why = *why;
    pthread_mutex_unlock(&a->lock);
}

static bool take(struct copying *a, size_t *begin, size_t *end)
{
    size_t n = a->n / TAKEN_FRACTION;

    n = n < 1 ? 1 : n > TAKEN_MAX ? TAKEN_MAX : n;
    *begin = atomic_fetch_add(&a->next, n);
    *end = *begin < a->n && a->n - *begin > n ? *begin + n : a->n;
    return *begin < a->n && !atomic_load(&a->has_failed);
}

static void *copy_some(void *context)
{
    struct copying *a = context;
    struct copier c = { a, mem_resize(NULL, PIECE_BYTES, 1), hasher_create() };
    struct err why = { 0 };
    size_t begin, end;

    while (take(a, &begin, &end))
        for (size_t i = begin; i < end && !atomic_load(&a->has_failed); i++) {
            if (depth_of(&a->items[i]) != a->depth)
                continue;
            if (copy_item(&c, &a->items[i], &why) < 0)
                fail(a, &why);
            CRASH_POINT_POINT(copy_begun);
        }
    hasher_destroy(c.hasher);
    free(c.piece);
    return NULL;
}

/* Threads that cannot be had are done without. */
static void copy_level(struct copying *a, size_t depth, size_t n)
{
    pthread_t threads[THREADS];
    size_t started = 0, most = a->syncs ? THREADS : LOCAL_THREADS;

    a->depth = depth;
    atomic_store(&a->next, 0);
    while (n > ALONE_MAX && started + 1 < most &&
           pthread_create(&threads[started], NULL, copy_some, a) == 0)
        started++;
    (void)copy_some(a);
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
}

/* *next: that of the next deeper ones. */
static size_t count_at(const struct copying *a, size_t depth, size_t *next)
{
    size_t n = 0;

    *next = DEEPEST;
    for (size_t i = 0; i < a->n; i++) {
        size_t is = depth_of(&a->items[i]);

        n += is == depth;
        if (is > depth && is < *next)
            *next = is;
    }
    return n;
}

static int copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                   struct err *e)
{
    struct copying a = { .items = items,
                         .n = n,
                         .from_fd = from_fd,
                         .to_fd = to->fd,
                         .syncs = !share_is_synced_whole(to) };
    size_t depth, next = 0;

    pthread_mutex_init(&a.lock, NULL);
    do {
        depth = next;
        copy_level(&a, depth, count_at(&a, depth, &next));
    } while (depth != DEEPEST);
    pthread_mutex_destroy(&a.lock);
    return atomic_load(&a.has_failed) ? err_set(e, a.why.kind, "%s", a.why.text) : 0;
}

/* ---- out ---- */

static int damaged(const struct share_item *x, struct err *e)
{
    return err_set(e, ERR_PROTOCOL, "%s is not the file that it should be", x->from);
}

static int open_out(int from_fd, const struct share_item *x, struct err *e)
{
    int fd = io_open_no_links(from_fd, x->from, O_RDONLY | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return errno == ELOOP ? damaged(x, e) : err_sys(e, "open %s", x->from);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == x->size_bytes)
        return fd;
    close(fd);
    return damaged(x, e);
}

static int copy_whole(int in, int out, const struct share_item *x, struct err *e)
{
    uint64_t copied_bytes;

    if (io_copy_fd(in, out, &copied_bytes, e) < 0)
        return err_wrap(e, "copy %s", x->from);
    if ((int64_t)copied_bytes != x->size_bytes)
        return err_set(e, ERR_FAILED, "%s changed while it was copied", x->from);
    return 0;
}

static int copy_out_file(int from_fd, int to_fd, const struct share_item *x, struct err *e)
{
    int in = open_out(from_fd, x, e);
    int out, result = -1;

    if (in < 0)
        return -1;
    out = create_file(to_fd, x, e);
    if (out >= 0)
        result = close_file(out, x, copy_whole(in, out, x, e), e);
    close(in);
    return result;
}

static int copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                    size_t n, struct err *e)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < n; i++)
        result = items[i].type == SHARE_FILE ? copy_out_file(from->fd, to_fd, &items[i], e)
                                             : copy_folder(to_fd, &items[i], e);
    return result;
}

/* ---- either backend ---- */

int share_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                  struct err *e)
{
    return (to->fd >= 0 ? copy_in : share_sftp_copy_in)(to, from_fd, items, n, e);
}

int share_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                   size_t n, struct err *e)
{
    return (from->fd >= 0 ? copy_out : share_sftp_copy_out)(from, to_fd, items, n, e);
}
