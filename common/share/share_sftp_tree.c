/* SPDX-License-Identifier: MIT */
/* share_sftp_tree.c - trees to and from a share that is reached over SFTP, many files at a time */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crash_point.h"
#include "common/base/io.h"
#include "common/share/share_internal.h"

/* Many operations for one purpose.  Once something failed nothing new is begun, and the first
 * failure is what is told. */

/* Larger files go one after the other, in pieces. */
enum { TRIP_SMALL_MAX_BYTES = 1024 * 1024 };

struct trip {
    struct sftp *sftp;
    const struct share_dir *there;
    int here_fd;
    uint64_t asked_bytes;
    const struct share_item *damaged; /* not what it should be; NULL: none is known */
    bool has_failed;
    struct err why;
};

static struct trip trip_of(const struct share_dir *there, int here_fd)
{
    return (struct trip){ .sftp = there->line->sftp, .there = there, .here_fd = here_fd };
}

static void trip_fail(struct trip *t, const struct err *why)
{
    if (!t->has_failed)
        t->why = *why;
    t->has_failed = true;
}

static bool trip_is_over(const struct trip *t)
{
    return t->has_failed || t->damaged != NULL;
}

static void trip_start(struct trip *t, const struct sftp_op *op, sftp_done *done, void *context)
{
    struct err why = { 0 };

    if (sftp_start(t->sftp, op, done, context, &why) < 0)
        trip_fail(t, &why);
}

static void trip_finish(struct trip *t)
{
    struct err why = { 0 };

    if (sftp_finish(t->sftp, &why) < 0)
        trip_fail(t, &why);
    t->asked_bytes = 0;
}

/* Also when it failed: what is in flight still points to what belongs to us. */
static int trip_end(struct trip *t, struct err *e)
{
    trip_finish(t);
    if (t->has_failed)
        return share_sftp_fail(&t->why, e);
    if (t->damaged == NULL)
        return 0;
    return err_set(e, ERR_PROTOCOL, "%s is not the file that it should be", t->damaged->from);
}

static void trip_on_done(void *context, const struct sftp_answer *answer)
{
    if (answer->error != NULL)
        trip_fail(context, answer->error);
}

/* ---- a tree to the share ---- */

static size_t depth_of(const char *path)
{
    size_t n = 0;

    for (; *path != '\0'; path++)
        n += *path == '/';
    return n;
}

/* ---- folders, a level at a time ---- */

static void make_dir(struct trip *t, const struct share_item *x)
{
    char *full = share_sftp_path(t->there, x->to);

    trip_start(t, &(struct sftp_op){ .kind = SFTP_OP_MKDIR, .path = full, .mode = x->mode },
               trip_on_done, t);
    free(full);
}

static void make_dirs(struct trip *t, const struct share_item *items, size_t n)
{
    size_t done = 0, wanted = 0;

    for (size_t i = 0; i < n; i++)
        wanted += items[i].type == SHARE_FOLDER;
    for (size_t depth = 0; done < wanted && !t->has_failed; depth++) {
        for (size_t i = 0; i < n; i++)
            if (items[i].type == SHARE_FOLDER && depth_of(items[i].to) == depth) {
                make_dir(t, &items[i]);
                done++;
            }
        trip_finish(t);
    }
}

/* ---- files ---- */

struct small {
    struct trip *trip;
    struct buf content;
};

static void on_put(void *context, const struct sftp_answer *answer)
{
    struct small *f = context;

    if (answer->error != NULL)
        trip_fail(f->trip, answer->error);
    buf_free(&f->content);
    free(f);
    CRASH_POINT_POINT(copy_begun);
}

static int changed(const struct share_item *x, struct err *e)
{
    return err_set(e, ERR_FAILED, "%s changed while it was copied", x->from);
}

static bool is_it(const struct share_item *x, const struct digest *d)
{
    return x->digest == NULL || digest_equal(d, x->digest);
}

static int put_small(struct trip *t, const struct share_item *x, int in_fd, struct err *why)
{
    size_t n = (size_t)x->size_bytes;
    struct small *f = mem_alloc(sizeof *f);
    struct digest d;
    ssize_t got;
    char *full;

    f->trip = t;
    got = io_read_all(in_fd, buf_reserve(&f->content, n + 1), n + 1);
    if (got >= 0)
        digest_of(f->content.bytes, (size_t)got, &d);
    if (got != (ssize_t)n || !is_it(x, &d)) {
        buf_free(&f->content);
        free(f);
        return got < 0 ? err_sys(why, "read %s", x->from) : changed(x, why);
    }
    buf_added(&f->content, n);
    full = share_sftp_path(t->there, x->to);
    if (sftp_start(t->sftp,
                   &(struct sftp_op){ .kind = SFTP_OP_PUT,
                                      .path = full,
                                      .mode = x->mode & 0777,
                                      .flags = SFTP_EXCLUSIVE,
                                      .content = buf_bytes(&f->content) },
                   on_put, f, why) < 0) {
        trip_fail(t, why);
        buf_free(&f->content);
        free(f);
    }
    free(full);
    return t->has_failed ? -1 : 0;
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
    if (result == 0 && ((int64_t)n_bytes != x->size_bytes || !is_it(x, &d)))
        result = changed(x, why);
    free(full);
    CRASH_POINT_POINT(copy_begun);
    return result;
}

static void put_file(struct trip *t, const struct share_item *x)
{
    int fd = openat(t->here_fd, x->from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct err why = { 0 };

    if (fd < 0) {
        err_sys(&why, "open %s", x->from);
        trip_fail(t, &why);
        return;
    }
    if ((x->size_bytes <= TRIP_SMALL_MAX_BYTES ? put_small : put_large)(t, x, fd, &why) < 0)
        trip_fail(t, &why);
    close(fd);
}

/* ---- symlinks ---- */

static bool has_no_links(const struct err *why)
{
    return why->kind == ERR_FAILED || why->kind == ERR_DENIED;
}

static void put_link(struct trip *t, struct share_item *x)
{
    struct err why = { 0 };
    char *target = io_read_link_at(t->here_fd, x->from, &why);
    char *full = share_sftp_path(t->there, x->to);

    if (target == NULL)
        trip_fail(t, &why);
    else if (sftp_symlink(t->sftp, target, full, &why) == 0)
        free(target);
    else if (has_no_links(&why))
        x->target = target;
    else {
        free(target);
        trip_fail(t, &why);
    }
    free(full);
}

int share_sftp_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                       struct err *e)
{
    struct trip t = trip_of(to, from_fd);

    make_dirs(&t, items, n);
    for (size_t i = 0; i < n && !t.has_failed; i++)
        if (items[i].type == SHARE_FILE)
            put_file(&t, &items[i]);
        else if (items[i].type == SHARE_LINK)
            put_link(&t, &items[i]);
    return trip_end(&t, e);
}

/* ---- files from the share ---- */

/* What answers may bring at once. */
enum { ASKED_MAX_BYTES = 32 * 1024 * 1024 };

/* ---- files ---- */

struct wanted {
    struct trip *trip;
    const struct share_item *item;
};

static struct wanted *want(struct trip *t, const struct share_item *x)
{
    struct wanted *w = mem_alloc(sizeof *w);

    *w = (struct wanted){ t, x };
    return w;
}

/* Ends what is wanted: the answer is there. */
static void note_answer(struct wanted *w, const struct err *error, bool is_it)
{
    struct trip *t = w->trip;

    if (error != NULL && error->kind != ERR_USAGE) /* that is: larger */
        trip_fail(t, error);
    else if ((error != NULL || !is_it) && t->damaged == NULL)
        t->damaged = w->item;
    free(w);
}

/* What is no file is not opened: a server would wait for who writes to a fifo. */
static void on_looked(void *context, const struct sftp_answer *answer)
{
    struct wanted *w = context;

    note_answer(w, answer->error,
                answer->error == NULL && S_ISREG(answer->attrs.mode) &&
                    (int64_t)answer->attrs.size_bytes == w->item->size_bytes);
}

static void start_wanted(struct trip *t, struct sftp_op *op, sftp_done *done,
                         const struct share_item *x)
{
    char *full = share_sftp_path(t->there, x->from);
    struct wanted *w = want(t, x);
    struct err why = { 0 };

    op->path = full;
    if (sftp_start(t->sftp, op, done, w, &why) < 0) {
        trip_fail(t, &why);
        free(w);
    }
    free(full);
}

static int create_here(const struct trip *t, const struct share_item *x, struct err *e)
{
    int fd = openat(t->here_fd, x->to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, x->mode & 0777);

    return fd < 0 ? err_sys(e, "create %s", x->to) : fd;
}

static int close_here(int fd, const struct share_item *x, struct err *e)
{
    return close(fd) < 0 && errno != EINTR ? err_sys(e, "write %s", x->to) : 0;
}

static int write_here(const struct trip *t, const struct share_item *x, struct bytes content,
                      struct err *e)
{
    int fd = create_here(t, x, e);
    int result = 0;

    if (fd < 0)
        return -1;
    if (io_write_all(fd, content.data, content.n) < 0)
        result = err_sys(e, "write %s", x->to);
    return close_here(fd, x, result == 0 ? e : NULL) < 0 ? -1 : result;
}

static void on_got(void *context, const struct sftp_answer *answer)
{
    struct wanted *w = context;
    bool is_it = answer->error == NULL && (int64_t)answer->content.n == w->item->size_bytes;
    struct err why = { 0 };

    if (is_it && !trip_is_over(w->trip) && write_here(w->trip, w->item, answer->content, &why) < 0)
        trip_fail(w->trip, &why);
    note_answer(w, answer->error, is_it);
}

static void get_small(struct trip *t, const struct share_item *x)
{
    if (t->asked_bytes + (uint64_t)x->size_bytes > ASKED_MAX_BYTES)
        trip_finish(t);
    t->asked_bytes += (uint64_t)x->size_bytes;
    start_wanted(t, &(struct sftp_op){ .kind = SFTP_OP_GET, .max_bytes = (size_t)x->size_bytes },
                 on_got, x);
}

static int drain(struct sftp_file *from, int fd, const struct share_item *x, int64_t *size_bytes,
                 struct err *e)
{
    char *piece = mem_resize(NULL, TRIP_SMALL_MAX_BYTES, 1);
    int result = 0;
    ssize_t n;

    *size_bytes = 0;
    while ((n = sftp_file_read(from, (uint64_t)*size_bytes, piece, TRIP_SMALL_MAX_BYTES, e)) > 0 &&
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

static void get_large(struct trip *t, const struct share_item *x)
{
    char *full = share_sftp_path(t->there, x->from);
    struct err why = { 0 };
    struct sftp_file *from = sftp_file_open(t->sftp, full, SFTP_READ, 0, &why);
    int fd = from == NULL ? -1 : create_here(t, x, &why);
    int64_t size_bytes = 0;

    if (fd < 0 || drain(from, fd, x, &size_bytes, &why) < 0)
        trip_fail(t, &why);
    else if (size_bytes != x->size_bytes)
        t->damaged = x;
    if (fd >= 0 && close_here(fd, x, &why) < 0)
        trip_fail(t, &why);
    (void)sftp_file_close(from, NULL);
    free(full);
}

static void make_here(struct trip *t, const struct share_item *x)
{
    struct err why = { 0 };

    if (mkdirat(t->here_fd, x->to, x->mode & 0777) == 0)
        return;
    err_sys(&why, "create %s", x->to);
    trip_fail(t, &why);
}

static void get_item(struct trip *t, const struct share_item *x)
{
    if (x->type == SHARE_FOLDER)
        make_here(t, x);
    else if (x->size_bytes <= TRIP_SMALL_MAX_BYTES)
        get_small(t, x);
    else
        get_large(t, x);
}

int share_sftp_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                        size_t n, struct err *e)
{
    struct trip t = trip_of(from, to_fd);

    for (size_t i = 0; i < n && !trip_is_over(&t); i++)
        if (items[i].type == SHARE_FILE)
            start_wanted(&t, &(struct sftp_op){ .kind = SFTP_OP_LSTAT }, on_looked, &items[i]);
    trip_finish(&t);
    for (size_t i = 0; i < n && !trip_is_over(&t); i++)
        get_item(&t, &items[i]);
    return trip_end(&t, e);
}
