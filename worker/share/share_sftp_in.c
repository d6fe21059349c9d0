/* SPDX-License-Identifier: MIT */
/* share_sftp_in.c - a tree to a share that is reached over SFTP, many files at a time */

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/io.h"
#include "worker/base/crash_point.h"
#include "worker/saved/saved.h"
#include "worker/share/share_sftp_batch.h"

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
    char *target = saved_read_link(t->here_fd, x->from, &why);
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
