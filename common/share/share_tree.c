/* SPDX-License-Identifier: MIT */
/* share_tree.c - copies trees to and from the shared drive, many files at a time */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/crash_point.h"
#include "common/share/share_internal.h"

enum {
    THREADS = 8,       /* each waits for a network, not for a processor */
    LOCAL_THREADS = 2, /* a local disk is fast, and jobs need the processors */
    ALONE_MAX = 4,     /* items that are copied without further threads */
    /* Each thread takes 1/TAKEN_FRACTION of the items at a time, TAKEN_MAX at most, which follow
     * each other: a file system makes only one file at a time in a folder. */
    TAKEN_FRACTION = 8 * THREADS,
    TAKEN_MAX = 1024,
    PIECE_BYTES = 256 * 1024,
    /* Over SFTP larger files are copied one after the other, in pieces. */
    SMALL_MAX_BYTES = 1024 * 1024,
    /* Over SFTP: bytes of files that may be requested at once. */
    ASKED_MAX_BYTES = 32 * 1024 * 1024
};
#define DEEPEST SIZE_MAX

static int copy_folder(int to_fd, const struct share_item *x, struct err *e)
{
    return beneath_make_dir(to_fd, x->to, x->mode & 0777) < 0 ? err_sys(e, "create %s", x->to) : 0;
}

static int create_file(int to_fd, const struct share_item *x, struct err *e)
{
    int fd = beneath_open(to_fd, x->to, O_WRONLY | O_CREAT | O_EXCL, x->mode & 0777);

    return fd < 0 ? err_sys(e, "create %s", x->to) : fd;
}

/* Closes the file.  Returns result, or -1 if closing fails, as of a full or lost share. */
static int close_file(int fd, const struct share_item *x, int result, struct err *e)
{
    return close(fd) < 0 && result == 0 && errno != EINTR ? err_sys(e, "write %s", x->to) : result;
}

static int changed(const struct share_item *x, struct err *e)
{
    return err_set(e, ERR_FAILED, "%s changed while it was copied", x->from);
}

static int damaged(const struct share_item *x, struct err *e)
{
    return err_set(e, ERR_PROTOCOL, "%s is not the file that it should be", x->from);
}

/* Whether a copied file has the size and, where it is known, the digest of its item. */
static bool is_it(const struct share_item *x, int64_t size_bytes, const struct digest *d)
{
    return size_bytes == x->size_bytes && (x->digest == NULL || digest_equal(d, x->digest));
}

/* The depth of a folder; DEEPEST for other items, which are copied after all folders. */
static size_t depth_of(const struct share_item *x)
{
    size_t depth = 0;

    if (x->type != SHARE_FOLDER)
        return DEEPEST;
    for (const char *at = x->to; *at != '\0'; at++)
        depth += *at == '/';
    return depth;
}

/* The number of items at this depth.  *next: the smallest larger depth that an item has. */
static size_t count_at(const struct share_item *items, size_t n, size_t depth, size_t *next)
{
    size_t count = 0;

    *next = DEEPEST;
    for (size_t i = 0; i < n; i++) {
        size_t is = depth_of(&items[i]);

        count += is == depth;
        if (is > depth && is < *next)
            *next = is;
    }
    return count;
}

/* ---- mounted, in ---- */

/* State that the threads share. */
struct copying {
    struct share_item *items;
    size_t n;
    int from_fd, to_fd;
    bool syncs;   /* each file is synced */
    size_t depth; /* depth of the items that are copied now */
    atomic_size_t next;
    atomic_bool has_failed;
    pthread_mutex_t lock;
    struct err why; /* the first error */
};

/* The state of one thread. */
struct copier {
    struct copying *all;
    uint8_t *piece;
    struct hasher *hasher;
};

static int copy_content(struct copier *c, int in, int out, const struct share_item *x,
                        struct err *e)
{
    int64_t copied_bytes = 0;
    struct digest d;
    ssize_t n;

    while ((n = io_read_all(in, c->piece, PIECE_BYTES)) > 0 && copied_bytes <= x->size_bytes) {
        if (io_write_all(out, c->piece, (size_t)n) < 0)
            return err_sys(e, "write %s", x->to);
        hasher_add(c->hasher, c->piece, (size_t)n);
        copied_bytes += n;
    }
    if (n < 0)
        return err_sys(e, "read %s", x->from);
    hasher_end(c->hasher, &d);
    /* A process that escaped from the job may be changing the file at this moment. */
    if (!is_it(x, copied_bytes, &d))
        return changed(x, e);
    if (c->all->syncs && (errno = share_sync_fd(out)) != 0)
        return err_sys(e, "sync %s", x->to);
    return 0;
}

static int copy_file(struct copier *c, const struct share_item *x, struct err *e)
{
    int in = beneath_open(c->all->from_fd, x->from, O_RDONLY | O_NONBLOCK, 0);
    int out, result = -1;

    if (in < 0)
        return err_sys(e, "open %s", x->from);
    out = create_file(c->all->to_fd, x, e);
    if (out >= 0)
        result = close_file(out, x, copy_content(c, in, out, x, e), e);
    close(in);
    return result;
}

static int copy_link(const struct copying *a, struct share_item *x, struct err *e)
{
    char *target = beneath_read_link(a->from_fd, x->from, e);
    bool is_made;

    if (target == NULL)
        return -1;
    is_made = beneath_make_link(target, a->to_fd, x->to) == 0;
    if (!is_made && (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
        x->target = target; /* the file system has no symlinks */
        return 0;
    }
    if (!is_made)
        err_sys(e, "create %s", x->to);
    free(target);
    return is_made ? 0 : -1;
}

static int copy_item(struct copier *c, struct share_item *x, struct err *e)
{
    switch (x->type) {
    case SHARE_FILE: return copy_file(c, x, e);
    case SHARE_LINK: return copy_link(c->all, x, e);
    default: return copy_folder(c->all->to_fd, x, e);
    }
}

/* Takes the next items, begin to end - 1, for a thread.  False: none is left, or an item failed. */
static bool take_items(struct copying *a, size_t *begin, size_t *end)
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

    while (take_items(a, &begin, &end))
        for (size_t i = begin; i < end && !atomic_load(&a->has_failed); i++) {
            if (depth_of(&a->items[i]) != a->depth)
                continue;
            if (copy_item(&c, &a->items[i], &why) < 0) {
                pthread_mutex_lock(&a->lock);
                if (!atomic_exchange(&a->has_failed, true))
                    a->why = why;
                pthread_mutex_unlock(&a->lock);
            }
            CRASH_POINT(copy_begun);
        }
    hasher_destroy(c.hasher);
    free(c.piece);
    return NULL;
}

/* Copies the n items at this depth.  If pthread_create fails, fewer threads do the work. */
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
        copy_level(&a, depth, count_at(items, n, depth, &next));
    } while (depth != DEEPEST);
    pthread_mutex_destroy(&a.lock);
    return atomic_load(&a.has_failed) ? err_set(e, a.why.kind, "%s", a.why.text) : 0;
}

/* ---- mounted, out ---- */

static int open_out(int from_fd, const struct share_item *x, struct err *e)
{
    int fd = beneath_open(from_fd, x->from, O_RDONLY | O_NONBLOCK, 0);
    struct stat st;

    if (fd < 0)
        return errno == ELOOP ? damaged(x, e) : err_sys(e, "open %s", x->from);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == x->size_bytes)
        return fd;
    close(fd);
    return damaged(x, e);
}

static int copy_out_file(int from_fd, int to_fd, const struct share_item *x, struct err *e)
{
    int in = open_out(from_fd, x, e);
    int out, result = -1;
    uint64_t copied_bytes;

    if (in < 0)
        return -1;
    out = create_file(to_fd, x, e);
    if (out >= 0) {
        if (io_copy_fd(in, out, &copied_bytes, e) < 0)
            err_wrap(e, "copy %s", x->from);
        else
            result = (int64_t)copied_bytes == x->size_bytes ? 0 : changed(x, e);
        result = close_file(out, x, result, e);
    }
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

/* ---- over SFTP: one copy with many operations at a time ---- */

/* A copy of a tree between this machine and the share. */
struct trip {
    struct sftp *sftp;
    const struct share_dir *there; /* the folder on the share */
    int here_fd;                   /* the folder of this machine */
    uint64_t asked_bytes;
    const struct share_item *damaged; /* a file on the share of another size or type; NULL: none */
    struct err why;                   /* the first failure; no operation is begun after it */
};

/* One operation of a copy. */
struct step {
    struct trip *trip;
    const struct share_item *item;
    struct buf content;
};

static bool is_over(const struct trip *t)
{
    return t->why.kind != ERR_NONE || t->damaged != NULL;
}

/* Starts the operation op for item x; path is relative to t->there.  The step owns content. */
static void begin_step(struct trip *t, const struct share_item *x, const char *path,
                       struct sftp_op op, struct buf content, sftp_done *done)
{
    struct step *step = mem_alloc(sizeof *step);
    char *full = share_sftp_path(t->there, path);
    struct err why = { 0 };

    *step = (struct step){ t, x, content };
    op.path = full;
    op.content = buf_bytes(&step->content);
    if (sftp_start(t->sftp, &op, done, step, &why) < 0) {
        err_keep(&t->why, &why);
        buf_free(&step->content);
        free(step);
    }
    free(full);
}

/* Waits for all operations that were started. */
static void finish_trip(struct trip *t)
{
    struct err why = { 0 };

    if (sftp_finish(t->sftp, &why) < 0)
        err_keep(&t->why, &why);
    t->asked_bytes = 0;
}

/* Ends a copy.  It waits for all operations also after a failure, as they point to the trip and its
 * items. */
static int end_trip(struct trip *t, struct err *e)
{
    finish_trip(t);
    if (t->why.kind != ERR_NONE)
        return share_sftp_fail(&t->why, e);
    return t->damaged == NULL ? 0 : damaged(t->damaged, e);
}

/* ---- over SFTP, in ---- */

static void on_put(void *context, const struct sftp_answer *answer)
{
    struct step *step = context;

    err_keep(&step->trip->why, answer->error);
    buf_free(&step->content);
    free(step);
    CRASH_POINT(copy_begun);
}

static int put_small(struct trip *t, const struct share_item *x, int in_fd, struct err *why)
{
    size_t n = (size_t)x->size_bytes;
    struct buf content = { 0 };
    struct digest d;
    ssize_t got = io_read_all(in_fd, buf_reserve(&content, n + 1), n + 1);

    if (got >= 0)
        digest_of(content.bytes, (size_t)got, &d);
    if (got < 0 || !is_it(x, got, &d)) {
        buf_free(&content);
        return got < 0 ? err_sys(why, "read %s", x->from) : changed(x, why);
    }
    buf_added(&content, n);
    begin_step(
        t, x, x->to,
        (struct sftp_op){ .kind = SFTP_OP_PUT, .mode = x->mode & 0777, .flags = SFTP_EXCLUSIVE },
        content, on_put);
    return 0;
}

static int put_large(struct trip *t, const struct share_item *x, int in_fd, struct err *why)
{
    char *full = share_sftp_path(t->there, x->to);
    struct sftp_file *to = sftp_file_open(t->sftp, full, SFTP_WRITE | SFTP_CREATE | SFTP_EXCLUSIVE,
                                          x->mode & 0777, why);
    struct hasher *hasher = hasher_create();
    struct digest d;
    uint64_t n_bytes;
    int result = to == NULL ? -1 : share_sftp_pour(to, 0, in_fd, UINT64_MAX, hasher, &n_bytes, why);

    if (to != NULL && sftp_file_close(to, result == 0 ? why : NULL) < 0)
        result = -1;
    hasher_end(hasher, &d);
    hasher_destroy(hasher);
    if (result == 0 && !is_it(x, (int64_t)n_bytes, &d))
        result = changed(x, why);
    free(full);
    CRASH_POINT(copy_begun);
    return result;
}

static int put_link(struct trip *t, struct share_item *x, struct err *why)
{
    char *target = beneath_read_link(t->here_fd, x->from, why);
    char *full = share_sftp_path(t->there, x->to);
    int result = target == NULL ? -1 : sftp_symlink(t->sftp, target, full, why);

    free(full);
    if (target != NULL && result < 0 && (why->kind == ERR_FAILED || why->kind == ERR_DENIED)) {
        x->target = target; /* the server cannot make it */
        return 0;
    }
    free(target);
    return result;
}

static int put_item(struct trip *t, struct share_item *x, struct err *why)
{
    int fd, result;

    if (x->type == SHARE_LINK)
        return put_link(t, x, why);
    if (x->type == SHARE_FOLDER) {
        begin_step(t, x, x->to, (struct sftp_op){ .kind = SFTP_OP_MKDIR, .mode = x->mode },
                   (struct buf){ 0 }, on_put);
        return 0;
    }
    fd = beneath_open(t->here_fd, x->from, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(why, "open %s", x->from);
    result = (x->size_bytes <= SMALL_MAX_BYTES ? put_small : put_large)(t, x, fd, why);
    close(fd);
    return result;
}

/* Makes the folders of one depth at a time, and then all files and symlinks. */
static int sftp_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                        struct err *e)
{
    struct trip t = { .sftp = to->line->sftp, .there = to, .here_fd = from_fd };
    size_t depth, next = 0;

    do {
        depth = next;
        (void)count_at(items, n, depth, &next);
        for (size_t i = 0; i < n && !is_over(&t); i++) {
            struct err why = { 0 };

            if (depth_of(&items[i]) == depth && put_item(&t, &items[i], &why) < 0)
                err_keep(&t.why, &why);
        }
        finish_trip(&t);
    } while (depth != DEEPEST && !is_over(&t));
    return end_trip(&t, e);
}

/* ---- over SFTP, out ---- */

static void end_step(struct step *step, const struct err *error, bool is_it)
{
    struct trip *t = step->trip;

    if (error != NULL && error->kind != ERR_USAGE) /* ERR_USAGE: the file is too large */
        err_keep(&t->why, error);
    else if ((error != NULL || !is_it) && t->damaged == NULL)
        t->damaged = step->item;
    free(step);
}

/* Accepts only plain files: a server that opens a fifo would wait for a writer. */
static void on_looked(void *context, const struct sftp_answer *answer)
{
    struct step *step = context;

    end_step(step, answer->error,
             S_ISREG(answer->attrs.mode) &&
                 (int64_t)answer->attrs.size_bytes == step->item->size_bytes);
}

static int write_here(int to_fd, const struct share_item *x, struct bytes content, struct err *e)
{
    int fd = create_file(to_fd, x, e);
    int result = 0;

    if (fd < 0)
        return -1;
    if (io_write_all(fd, content.data, content.n) < 0)
        result = err_sys(e, "write %s", x->to);
    return close_file(fd, x, result, e);
}

static void on_got(void *context, const struct sftp_answer *answer)
{
    struct step *step = context;
    struct trip *t = step->trip;
    bool is_it = answer->error == NULL && (int64_t)answer->content.n == step->item->size_bytes;
    struct err why = { 0 };

    if (is_it && !is_over(t) && write_here(t->here_fd, step->item, answer->content, &why) < 0)
        err_keep(&t->why, &why);
    end_step(step, answer->error, is_it);
}

/* Copies the SFTP file `from` to fd; *size_bytes: how many bytes. */
static int drain(struct sftp_file *from, int fd, const struct share_item *x, int64_t *size_bytes,
                 struct err *e)
{
    char *piece = mem_resize(NULL, SMALL_MAX_BYTES, 1);
    int result = 0;
    ssize_t n;

    *size_bytes = 0;
    while ((n = sftp_file_read(from, (uint64_t)*size_bytes, piece, SMALL_MAX_BYTES, e)) > 0 &&
           *size_bytes <= x->size_bytes) {
        if (io_write_all(fd, piece, (size_t)n) < 0) {
            result = err_sys(e, "write %s", x->to);
            break;
        }
        *size_bytes += n;
    }
    free(piece);
    return n < 0 ? -1 : result;
}

static int get_large(struct trip *t, const struct share_item *x, struct err *why)
{
    char *full = share_sftp_path(t->there, x->from);
    struct sftp_file *from = sftp_file_open(t->sftp, full, SFTP_READ, 0, why);
    int fd = from == NULL ? -1 : create_file(t->here_fd, x, why);
    int64_t size_bytes = 0;
    int result = -1;

    if (fd >= 0)
        result = close_file(fd, x, drain(from, fd, x, &size_bytes, why), why);
    if (result == 0 && size_bytes != x->size_bytes)
        t->damaged = x;
    (void)sftp_file_close(from, NULL);
    free(full);
    return result;
}

static int get_item(struct trip *t, const struct share_item *x, struct err *why)
{
    struct sftp_op op = { .kind = SFTP_OP_GET, .max_bytes = (size_t)x->size_bytes };

    if (x->type == SHARE_FOLDER)
        return copy_folder(t->here_fd, x, why);
    if (x->size_bytes > SMALL_MAX_BYTES)
        return get_large(t, x, why);
    if (t->asked_bytes + (uint64_t)x->size_bytes > ASKED_MAX_BYTES)
        finish_trip(t);
    t->asked_bytes += (uint64_t)x->size_bytes;
    begin_step(t, x, x->from, op, (struct buf){ 0 }, on_got);
    return 0;
}

static int sftp_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                         size_t n, struct err *e)
{
    struct trip t = { .sftp = from->line->sftp, .there = from, .here_fd = to_fd };

    for (size_t i = 0; i < n && !is_over(&t); i++)
        if (items[i].type == SHARE_FILE)
            begin_step(&t, &items[i], items[i].from, (struct sftp_op){ .kind = SFTP_OP_LSTAT },
                       (struct buf){ 0 }, on_looked);
    finish_trip(&t);
    for (size_t i = 0; i < n && !is_over(&t); i++) {
        struct err why = { 0 };

        if (get_item(&t, &items[i], &why) < 0)
            err_keep(&t.why, &why);
    }
    return end_trip(&t, e);
}

/* ---- mounted and over SFTP ---- */

int share_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                  struct err *e)
{
    return (to->fd >= 0 ? copy_in : sftp_copy_in)(to, from_fd, items, n, e);
}

int share_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                   size_t n, struct err *e)
{
    return (from->fd >= 0 ? copy_out : sftp_copy_out)(from, to_fd, items, n, e);
}
