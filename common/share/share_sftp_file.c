/* SPDX-License-Identifier: MIT */
/* share_sftp_file.c - files of a share that is reached over SFTP */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/share/share_internal.h"

enum {
    PIECE_BYTES = SFTP_PIECE_BYTES,
    /* Of a large file at once: between them others get their turn, however slow the line is. */
    PUT_MAX_BYTES = 4 * PIECE_BYTES,
    /* What was written is synced as it comes: who syncs another file need not wait for it all. */
    SYNC_EVERY_BYTES = 8 * 1024 * 1024
};

struct out_file {
    struct share_file file;
    struct sftp_file *to;
    uint64_t n_bytes;
    uint64_t synced_bytes; /* asked for */
};

struct in_file {
    struct share_input input;
    struct sftp_file *from;
    uint64_t at;
};

/* ---- small files ---- */

/* A server would wait for who writes to a fifo, and we for the server. */
static int check_is_file(struct sftp *s, const char *full, struct err *why)
{
    struct sftp_attrs attrs;

    if (sftp_stat(s, full, &attrs, why) < 0)
        return -1;
    return S_ISREG(attrs.mode) ? 0 : err_set(why, ERR_USAGE, "read %s: it is no file", full);
}

static int read_file(struct sftp_file *f, size_t max_bytes, struct buf *out, struct err *why)
{
    uint64_t offset = 0;
    ssize_t n = 1;

    while (n > 0 && offset < max_bytes) {
        size_t left = max_bytes - (size_t)offset;
        size_t piece = left < PIECE_BYTES ? left : PIECE_BYTES;

        n = sftp_file_read(f, offset, buf_reserve(out, piece), piece, why);
        if (n > 0) {
            buf_added(out, (size_t)n);
            offset += (uint64_t)n;
        }
    }
    return n < 0 ? -1 : 0;
}

int share_sftp_read(const struct share_dir *at, const char *path, size_t max_bytes, struct buf *out,
                    struct err *e)
{
    struct sftp *s = share_sftp_of(at);
    char *full = share_sftp_path(at, path);
    struct err why = { 0 };
    struct sftp_file *f = NULL;
    int result = check_is_file(s, full, &why);

    if (result == 0) {
        f = sftp_file_open(s, full, SFTP_READ, 0, &why);
        result = f == NULL ? -1 : read_file(f, max_bytes, out, &why);
        (void)sftp_file_close(f, NULL);
    }
    free(full);
    return share_sftp_check(result, &why, e);
}

static void on_written(void *context, const struct sftp_answer *answer)
{
    if (answer->error != NULL)
        *(struct err *)context = *answer->error;
}

int share_sftp_write(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                     mode_t mode, struct err *e)
{
    struct sftp *s = share_sftp_of(at);
    char *full = share_sftp_path(at, path);
    struct sftp_op op = {
        .kind = SFTP_OP_PUT, .path = full, .mode = mode & 0777, .content = { bytes, n }
    };
    struct err why = { 0 };

    if (sftp_start(s, &op, on_written, &why, &why) == 0)
        (void)sftp_finish(s, &why);
    free(full);
    return share_sftp_check(why.kind == ERR_NONE ? 0 : -1, &why, e);
}

/* ---- pouring ---- */

static ssize_t read_piece(int fd, void *piece, size_t n)
{
    ssize_t got;

    do
        got = read(fd, piece, n);
    while (got < 0 && errno == EINTR);
    return got;
}

int share_sftp_pour(struct sftp_file *to, uint64_t offset, int in_fd, uint64_t max_bytes,
                    struct hasher *hasher, uint64_t *n_bytes, struct err *e)
{
    char *piece = mem_resize(NULL, PIECE_BYTES, 1);
    int result = 0;

    *n_bytes = 0;
    while (result == 0 && *n_bytes < max_bytes) {
        uint64_t left = max_bytes - *n_bytes;
        ssize_t n = read_piece(in_fd, piece, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);

        if (n == 0)
            break;
        if (n < 0)
            result = err_sys(e, "read");
        else
            result = sftp_file_write(to, offset + *n_bytes, piece, (size_t)n, e);
        if (n > 0 && hasher != NULL)
            hasher_add(hasher, piece, (size_t)n);
        *n_bytes += n > 0 ? (uint64_t)n : 0;
    }
    free(piece);
    return result;
}

/* ---- logs ---- */

/* How much of it lies there; *is_new when nothing does. */
static int look_at_log(struct sftp *s, const char *full, uint64_t *had_bytes, bool *is_new,
                       struct err *why)
{
    struct sftp_attrs attrs;

    *had_bytes = 0;
    *is_new = sftp_lstat(s, full, &attrs, why) < 0;
    if (*is_new)
        return why->kind == ERR_NOT_FOUND ? 0 : -1;
    if (!S_ISREG(attrs.mode))
        return err_set(why, ERR_FAILED, "write %s: it is no file", full);
    *had_bytes = attrs.size_bytes;
    return 0;
}

static int ship_rest(struct sftp *s, const char *full, unsigned flags, mode_t mode, int from_fd,
                     uint64_t had_bytes, struct err *why)
{
    struct sftp_file *to = sftp_file_open(s, full, SFTP_WRITE | flags, mode, why);
    uint64_t n_bytes;
    int result = 0;

    if (to == NULL)
        return -1;
    if (from_fd >= 0 && lseek(from_fd, (off_t)had_bytes, SEEK_SET) < 0)
        result = err_sys(why, "seek");
    else if (from_fd >= 0)
        result = share_sftp_pour(to, had_bytes, from_fd, UINT64_MAX, NULL, &n_bytes, why);
    if (sftp_file_close(to, result == 0 ? why : NULL) < 0)
        result = -1;
    return result;
}

int share_sftp_ship(const struct share_dir *at, const char *path, mode_t mode, int from_fd,
                    struct err *e)
{
    struct sftp *s = share_sftp_of(at);
    char *full = share_sftp_path(at, path);
    struct err why = { 0 };
    struct stat have = { .st_size = 0 };
    uint64_t had_bytes;
    bool is_new;
    int result = look_at_log(s, full, &had_bytes, &is_new, &why);

    if (result == 0 && from_fd >= 0 && fstat(from_fd, &have) < 0)
        result = err_sys(&why, "look at it");
    if (result == 0 && (is_new || (uint64_t)have.st_size > had_bytes))
        result = ship_rest(s, full, is_new ? SFTP_CREATE : 0, mode, from_fd, had_bytes, &why);
    free(full);
    return share_sftp_check(result, &why, e);
}

/* ---- a large file ---- */

struct share_file *share_sftp_create(const struct share_dir *at, const char *path, mode_t mode,
                                     struct err *e)
{
    char *full = share_sftp_path(at, path);
    struct err why = { 0 };
    struct sftp_file *to = sftp_file_open(
        share_sftp_of(at), full, SFTP_WRITE | SFTP_CREATE | SFTP_EXCLUSIVE, mode & 0777, &why);
    struct out_file *f = NULL;

    if (to == NULL) {
        share_sftp_fail(&why, e);
    } else {
        f = mem_alloc(sizeof *f);
        *f = (struct out_file){ { &share_sftp_way }, to, 0, 0 };
    }
    free(full);
    return f == NULL ? NULL : &f->file;
}

int share_sftp_put(struct share_file *file, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
                   struct err *e)
{
    struct out_file *f = (struct out_file *)file;
    struct err why = { 0 };
    int result;

    if (max_bytes > PUT_MAX_BYTES)
        max_bytes = PUT_MAX_BYTES;
    result = share_sftp_pour(f->to, f->n_bytes, from_fd, max_bytes, NULL, n_bytes, &why);
    f->n_bytes += *n_bytes;
    if (result == 0 && f->n_bytes - f->synced_bytes >= SYNC_EVERY_BYTES) {
        result = sftp_file_sync_later(f->to, &why);
        f->synced_bytes = f->n_bytes;
    }
    return share_sftp_check(result, &why, e);
}

int share_sftp_end(struct share_file *file, struct err *e)
{
    struct out_file *f = (struct out_file *)file;
    struct err why = { 0 };
    int result = sftp_file_close(f->to, &why);

    free(f);
    return share_sftp_check(result, &why, e);
}

static struct share_input *open_input(struct sftp *s, const char *full, uint64_t offset,
                                      struct err *why)
{
    struct sftp_attrs attrs;
    struct sftp_file *from;
    struct in_file *in;

    if (sftp_lstat(s, full, &attrs, why) < 0)
        return NULL;
    if (!S_ISREG(attrs.mode)) {
        err_set(why, ERR_USAGE, "read %s: it is no file", full);
        return NULL;
    }
    from = sftp_file_open(s, full, SFTP_READ, 0, why);
    if (from == NULL)
        return NULL;
    in = mem_alloc(sizeof *in);
    *in = (struct in_file){ { &share_sftp_way }, from, offset };
    return &in->input;
}

/* Whose files these are their server decides: what they hold is checked by who reads them. */
struct share_input *share_sftp_open_input(const struct share_dir *at, const char *path,
                                          uint64_t offset, struct err *e)
{
    char *full = share_sftp_path(at, path);
    struct err why = { 0 };
    struct share_input *in = open_input(share_sftp_of(at), full, offset, &why);

    if (in == NULL)
        share_sftp_fail(&why, e);
    free(full);
    return in;
}

ssize_t share_sftp_read_input(struct share_input *input, void *bytes, size_t n, struct err *e)
{
    struct in_file *in = (struct in_file *)input;
    struct err why = { 0 };
    ssize_t got = sftp_file_read(in->from, in->at, bytes, n, &why);

    if (got < 0)
        return share_sftp_fail(&why, e);
    in->at += (uint64_t)got;
    return got;
}

void share_sftp_close_input(struct share_input *input)
{
    struct in_file *in = (struct in_file *)input;

    (void)sftp_file_close(in->from, NULL);
    free(in);
}
