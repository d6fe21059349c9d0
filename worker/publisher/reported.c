/* SPDX-License-Identifier: MIT */
/* reported.c - all that a job has reported, over its attempts, as one file on the share */

#include "worker/publisher/reported.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/proto/layout.h"
#include "worker/base/child_protocol.h"

enum { PIECE_BYTES = 64 * 1024, EARLIER_MODE = 0600 };

/* ---- what earlier attempts reported ---- */

/* Opens a plain file; -1: there is none, as a job may put anything in its place. */
static int open_plain(int folder_fd, const char *name, int64_t *size_bytes)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size_bytes = st.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Opens the newest file of an attempt before this one; NULL without e set: there is none. */
static struct share_input *open_newest(const struct share_dir *logs, const char *log_name,
                                       int64_t attempt, struct err *e)
{
    struct share_input *in = NULL;
    struct err why = { .kind = ERR_NOT_FOUND };

    for (int64_t k = attempt - 1; k > 0 && in == NULL && why.kind == ERR_NOT_FOUND; k--) {
        struct buf name = { 0 };

        layout_earlier_metrics(&name, log_name, attempt, k);
        err_clear(&why);
        in = share_open_input(logs, buf_text(&name), 0, &why);
        buf_free(&name);
    }
    if (in == NULL && why.kind != ERR_NOT_FOUND)
        err_set(e, why.kind, "%s", why.text);
    return in;
}

/* Copies it; a last line without an end, of a job that was killed while it wrote, gets one. */
static int copy_lines(struct share_input *in, int to_fd, struct err *e)
{
    char *piece = mem_resize(NULL, 1, PIECE_BYTES);
    char last = '\n';
    int result = 0;
    ssize_t n;

    do {
        n = share_read_input(in, piece, PIECE_BYTES, e);
        if (n < 0 || (n > 0 && io_write_all(to_fd, piece, (size_t)n) < 0 &&
                      err_sys(e, "write %s", JOB_EARLIER) < 0))
            result = -1;
        else if (n > 0)
            last = piece[n - 1];
    } while (result == 0 && n > 0);
    if (result == 0 && last != '\n' && io_write_all(to_fd, "\n", 1) < 0)
        result = err_sys(e, "write %s", JOB_EARLIER);
    free(piece);
    return result;
}

/* The first one who gives the file its name decides what it says, as an attempt that was believed
 * lost may report more meanwhile. */
static int name_once(int folder_fd, const char *temporary, struct err *e)
{
    if (linkat(folder_fd, temporary, folder_fd, JOB_EARLIER, 0) < 0 && errno != EEXIST &&
        renameat(folder_fd, temporary, folder_fd, JOB_EARLIER) < 0) /* no hard links here? */
        return err_sys(e, "create %s", JOB_EARLIER);
    if (unlinkat(folder_fd, temporary, 0) < 0 && errno != ENOENT)
        return err_sys(e, "remove %s", temporary);
    return 0;
}

int reported_bring(int folder_fd, const struct share_dir *logs, const char *log_name,
                   int64_t attempt, struct err *e)
{
    struct share_input *in = NULL;
    char *temporary;
    int64_t size_bytes;
    int fd = open_plain(folder_fd, JOB_EARLIER, &size_bytes), result = -1;
    struct err why = { 0 };

    if (fd >= 0)
        close(fd);
    if (fd >= 0 || attempt < 2)
        return 0;
    if (logs != NULL)
        in = open_newest(logs, log_name, attempt, &why);
    if (why.kind != ERR_NONE)
        return err_set(e, why.kind, "%s", why.text);
    temporary = share_temporary_name();
    fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                EARLIER_MODE);
    if (fd < 0)
        err_sys(e, "create %s", JOB_EARLIER);
    else
        result = in == NULL ? 0 : copy_lines(in, fd, e);
    if (fd >= 0 && close(fd) < 0 && result == 0)
        result = err_sys(e, "write %s", JOB_EARLIER);
    if (result == 0)
        result = name_once(folder_fd, temporary, e);
    else if (fd >= 0)
        (void)unlinkat(folder_fd, temporary, 0);
    share_close_input(in);
    free(temporary);
    return result;
}

/* ---- an attempt's file ---- */

/* Makes the lines of series a file, and ends the line before them. */
static int open_series(struct reported *r, const struct buf *series, struct err *e)
{
    int64_t n_lines = r->sizes[REPORTED_LINES];
    int fd = memfd_create("series", MFD_CLOEXEC);
    char last = '\n';

    if (fd < 0)
        return err_sys(e, "make room for series");
    r->fds[REPORTED_SERIES] = fd;
    if (n_lines > 0 && io_read_all_at(r->fds[REPORTED_LINES], &last, 1, (uint64_t)n_lines - 1) != 1)
        return err_sys(e, "read what it reported");
    if ((last != '\n' && io_write_all(fd, "\n", 1) < 0) ||
        io_write_all(fd, series->bytes, series->n) < 0)
        return err_sys(e, "write series");
    r->sizes[REPORTED_SERIES] = (int64_t)series->n + (last != '\n');
    return 0;
}

int reported_open(struct reported *r, int folder_fd, const struct buf *series, struct err *e)
{
    *r = (struct reported){ .fds = { -1, -1, -1 } };
    r->fds[REPORTED_EARLIER] = open_plain(folder_fd, JOB_EARLIER, &r->sizes[REPORTED_EARLIER]);
    r->fds[REPORTED_LINES] = open_plain(folder_fd, JOB_METRICS, &r->sizes[REPORTED_LINES]);
    if (series == NULL || series->n == 0 || open_series(r, series, e) == 0)
        return 0;
    reported_close(r);
    return -1;
}

void reported_close(struct reported *r)
{
    for (size_t i = 0; i < REPORTED_PARTS; i++)
        if (r->fds[i] >= 0)
            close(r->fds[i]);
}

int64_t reported_size(const struct reported *r)
{
    int64_t size_bytes = 0;

    for (size_t i = 0; i < REPORTED_PARTS; i++)
        size_bytes += r->sizes[i];
    return size_bytes;
}

int reported_ship(const struct reported *r, const struct share_dir *to, const char *name,
                  mode_t mode, struct err *e)
{
    struct share_part part = { 0 };

    for (size_t i = 0; i < REPORTED_PARTS; i++) {
        part.fd = r->fds[i];
        part.max_bytes = r->sizes[i];
        if (r->sizes[i] > 0 && share_ship(to, name, mode, &part, e) < 0)
            return err_wrap(e, "ship what it reported");
        part.begin += r->sizes[i];
    }
    return 0;
}

int reported_digest(const struct reported *r, struct digest *d, struct err *e)
{
    struct hasher *h = hasher_create();
    char *piece = mem_resize(NULL, 1, PIECE_BYTES);
    int result = 0;

    for (size_t i = 0; i < REPORTED_PARTS; i++)
        for (int64_t at = 0; result == 0 && at < r->sizes[i];) {
            int64_t left = r->sizes[i] - at;
            size_t most = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
            ssize_t n = io_read_all_at(r->fds[i], piece, most, (uint64_t)at);

            if (n <= 0)
                result = n < 0 ? err_sys(e, "read what it reported")
                               : err_set(e, ERR_FAILED, "what it reported has become shorter");
            else
                hasher_add(h, piece, (size_t)n);
            at += n;
        }
    hasher_end(h, d);
    hasher_destroy(h);
    free(piece);
    return result;
}

void reported_remove(const struct share_dir *logs, const char *log_name, int64_t attempt)
{
    for (int64_t k = 1; k <= attempt; k++) {
        struct buf name = { 0 };

        layout_earlier_metrics(&name, log_name, attempt, k);
        (void)share_remove_file(logs, buf_text(&name), NULL);
        buf_free(&name);
    }
}
