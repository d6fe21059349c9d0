/* SPDX-License-Identifier: MIT */
/* logfile.c - a job's log on its way to stdout */
#include "client/share/logfile.h"
#include "client/term/output.h"
#include "client/term/safe_text.h"

enum { PIECE_BYTES = 64 * 1024 };

int logfile_open(struct logfile *l, struct share_dir *fs, const char *path, bool harmless,
                 struct err *e)
{
    struct err why = { 0 };

    *l = (struct logfile){ .file = share_open_input(fs, path, 0, &why), .harmless = harmless };
    if (l->file != NULL)
        return 1;
    return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

int logfile_reopen(struct logfile *l, struct share_dir *fs, const char *path, struct err *e)
{
    struct err why = { 0 };
    struct share_input *file = share_open_input(fs, path, 0, &why);

    if (file == NULL)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    share_close_input(l->file);
    l->file = file;
    share_seek_input(l->file, l->offset);
    return 0;
}

void logfile_pause(struct logfile *l)
{
    share_close_input(l->file);
    l->file = NULL;
}

void logfile_close(struct logfile *l)
{
    logfile_pause(l);
    buf_free(&l->rest);
    l->offset = 0;
}

/* Reads the n bytes before offset end, which has so many. */
static int read_before(const struct logfile *l, int64_t end, char *bytes, size_t n, struct err *e)
{
    ssize_t got;

    share_seek_input(l->file, end - (int64_t)n);
    got = share_read_input(l->file, bytes, n, e);
    if (got == (ssize_t)n || got < 0)
        return got < 0 ? -1 : 0;
    return err_set(e, ERR_FAILED, "the log became shorter while it was read");
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
    int64_t size, end, left = n;

    if (share_input_size(l->file, &size, e) < 0)
        return -1;
    end = size;
    while (end > 0 && n > 0) {
        size_t take = end < PIECE_BYTES ? (size_t)end : PIECE_BYTES;
        ssize_t found;

        if (read_before(l, end, bytes, take, e) < 0)
            return -1;
        found = find_line(bytes, take, end == size, &left);
        end -= (int64_t)take;
        if (found >= 0) {
            end += found;
            break;
        }
    }
    l->offset = n > 0 ? end : size;
    share_seek_input(l->file, l->offset);
    return 0;
}

static int write_harmless(struct logfile *l, size_t whole, struct err *e)
{
    struct buf out = { 0 };

    safe_text_add_harmless(&out, buf_text(&l->rest), whole, "\n\t\r");
    buf_drop_front(&l->rest, whole);
    return output_write(&out, e);
}

static int write_piece(struct logfile *l, const char *bytes, size_t n, struct err *e)
{
    struct buf out = { 0 };

    if (l->harmless) {
        buf_add(&l->rest, bytes, n);
        return write_harmless(l, safe_text_whole(buf_text(&l->rest), l->rest.n), e);
    }
    buf_add(&out, bytes, n);
    return output_write(&out, e);
}

int logfile_copy(struct logfile *l, struct err *e)
{
    char bytes[PIECE_BYTES];
    ssize_t n;

    while ((n = share_read_input(l->file, bytes, sizeof bytes, e)) > 0) {
        l->offset += n;
        if (write_piece(l, bytes, (size_t)n, e) < 0)
            return -1;
    }
    return n < 0 ? -1 : 0;
}

int logfile_finish(struct logfile *l, struct err *e)
{
    return l->rest.n == 0 ? 0 : write_harmless(l, l->rest.n, e);
}
