/* SPDX-License-Identifier: MIT */
/* share_sftp_out.c - files from a share that is reached over SFTP, many files at a time */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "worker/share/share_sftp_batch.h"

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
