/* SPDX-License-Identifier: MIT */
/* logfile.c - a job's log on its way to stdout */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/logfile.h"
#include "client/out.h"
#include "client/text.h"
#include "common/io.h"

enum { PIECE_BYTES = 64 * 1024 };

int logfile_open(struct logfile *l, const char *path, bool harmless, struct err *e)
{
    struct stat st;

    /* Whoever writes the share may have put a fifo or a device there. */
    *l = (struct logfile){ .fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC),
                           .harmless = harmless };
    if (l->fd < 0)
        return errno == ENOENT ? 0 : err_sys(e, "open %s", path);
    if (fstat(l->fd, &st) == 0 && S_ISREG(st.st_mode))
        return 1;
    logfile_close(l);
    return err_set(e, ERR_FAILED, "%s is no regular file", path);
}

void logfile_close(struct logfile *l)
{
    if (l->fd >= 0)
        close(l->fd);
    buf_free(&l->rest);
    l->fd = -1;
}

/* Reads the n bytes before offset end, which has so many. */
static int read_before(const struct logfile *l, off_t end, char *bytes, size_t n, struct err *e)
{
    if (lseek(l->fd, end - (off_t)n, SEEK_SET) < 0 || io_read_all(l->fd, bytes, n) != (ssize_t)n)
        return err_sys(e, "read the log");
    return 0;
}

/* Where in the piece the wanted line begins; counts those it passes in *left. */
static ssize_t find_line(const char *bytes, size_t n, bool is_last, int64_t *left)
{
    for (size_t i = n; i-- > 0;) {
        bool ends_file = is_last && i == n - 1;

        if (bytes[i] == '\n' && !ends_file && --*left == 0)
            return (ssize_t)i + 1;
    }
    return -1;
}

int logfile_seek_lines(struct logfile *l, int64_t n, struct err *e)
{
    char bytes[PIECE_BYTES] = "";
    off_t size = lseek(l->fd, 0, SEEK_END), end = size;
    int64_t left = n;

    if (size < 0)
        return err_sys(e, "read the log");
    while (end > 0 && n > 0) {
        size_t take = end < PIECE_BYTES ? (size_t)end : PIECE_BYTES;
        ssize_t found;

        if (read_before(l, end, bytes, take, e) < 0)
            return -1;
        found = find_line(bytes, take, end == size, &left);
        end -= (off_t)take;
        if (found >= 0) {
            end += found;
            break;
        }
    }
    return lseek(l->fd, n > 0 ? end : size, SEEK_SET) < 0 ? err_sys(e, "read the log") : 0;
}

static int write_harmless(struct logfile *l, size_t whole, struct err *e)
{
    struct buf out = { 0 };

    text_add_harmless(&out, buf_text(&l->rest), whole, "\n\t\r");
    buf_drop_front(&l->rest, whole);
    return out_write(&out, e);
}

static int write_piece(struct logfile *l, const char *bytes, size_t n, struct err *e)
{
    struct buf out = { 0 };

    if (l->harmless) {
        buf_add(&l->rest, bytes, n);
        return write_harmless(l, text_whole(buf_text(&l->rest), l->rest.n), e);
    }
    buf_add(&out, bytes, n);
    return out_write(&out, e);
}

int logfile_copy(struct logfile *l, struct err *e)
{
    char bytes[PIECE_BYTES];
    ssize_t n;

    while ((n = io_read_all(l->fd, bytes, sizeof bytes)) > 0)
        if (write_piece(l, bytes, (size_t)n, e) < 0)
            return -1;
    return n < 0 ? err_sys(e, "read the log") : 0;
}

int logfile_finish(struct logfile *l, struct err *e)
{
    return l->rest.n == 0 ? 0 : write_harmless(l, l->rest.n, e);
}
