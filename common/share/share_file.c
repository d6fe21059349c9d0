/* SPDX-License-Identifier: MIT */
/* share_file.c - files of the shared drive: small ones, logs, and large ones piece by piece */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif

#include "common/base/beneath.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/nfs_lookup.h"
#include "common/base/path.h"
#include "common/share/share_internal.h"

enum {
    PIECE_BYTES = SFTP_PIECE_BYTES,
    /* One share_put sends at most this much over SFTP, so that other files get their turn even on a
     * slow connection. */
    PUT_MAX_BYTES = 4 * PIECE_BYTES,
    /* Over SFTP a large file is synced as it grows, so that the sync of another file need not wait
     * for all of its bytes. */
    SYNC_EVERY_BYTES = 8 * 1024 * 1024,
    /* On a mount: hand_to_disk waits for the disk only if at least this much was written before. */
    WAITED_FOR_BYTES = 1024 * 1024
};

/* ---- opening ---- */

static int refuse_no_file(const struct share_dir *at, const char *path, struct err *e)
{
    return err_set(e, at->is_client ? ERR_FAILED : ERR_USAGE, "%s is no regular file", path);
}

static int open_plain(const struct share_dir *at, const char *path, struct err *e)
{
    int fd = share_open_below(at, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
    struct stat st;

    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return refuse_no_file(at, path, e);
}

/* SFTP can neither refuse symlinks nor open a fifo without waiting for a writer, so the file's type
 * is read first.  A user with write access can exchange the file meanwhile, but then the reader
 * still gets only a file that it may read anyway. */
static struct sftp_file *open_over_sftp(const struct share_dir *at, const char *full,
                                        bool follows_link, struct err *why)
{
    struct sftp *s = at->line->sftp;
    struct sftp_attrs attrs = { 0 };

    if ((follows_link ? sftp_stat : sftp_lstat)(s, full, &attrs, why) < 0)
        return NULL;
    if ((attrs.has & SFTP_MODE) && S_ISREG(attrs.mode))
        return sftp_file_open(s, full, SFTP_READ, 0, why);
    refuse_no_file(at, full, why);
    return NULL;
}

/* ---- small files ---- */

/* Appends max_bytes at most of the SFTP file f or, if f is NULL, of the descriptor fd, to out. */
static int read_up_to(int fd, struct sftp_file *f, size_t max_bytes, struct buf *out,
                      struct err *why)
{
    size_t offset = 0;
    ssize_t n = 1;

    while (n > 0 && offset < max_bytes) {
        size_t left = max_bytes - offset, piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        void *room = buf_reserve(out, piece);

        n = f != NULL ? sftp_file_read(f, offset, room, piece, why) : io_read_all(fd, room, piece);
        if (n > 0) {
            buf_added(out, (size_t)n);
            offset += (size_t)n;
        }
    }
    return n < 0 ? -1 : 0;
}

int share_read(const struct share_dir *at, const char *path, size_t max_bytes, struct buf *out,
               struct err *e)
{
    int result = -1;

    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd >= 0) {
        int fd = share_open_below(at, path, O_RDONLY | O_NONBLOCK, 0);

        result = fd < 0 ? -1 : read_up_to(fd, NULL, max_bytes, out, NULL);
        if (result < 0 && (errno == EISDIR || errno == ELOOP || errno == ENXIO))
            refuse_no_file(at, path, e);
        else if (result < 0)
            err_sys(e, "read %s", path);
        if (fd >= 0)
            close(fd);
    } else {
        char *full = share_sftp_path(at, path);
        struct sftp_file *f = open_over_sftp(at, full, at->is_client, e);

        if (f != NULL)
            result = read_up_to(-1, f, max_bytes, out, e);
        (void)sftp_file_close(f, NULL);
        (void)share_sftp_end(result, full, e);
    }
    return result;
}

static void on_written(void *context, const struct sftp_answer *answer)
{
    err_keep(context, answer->error);
}

/* Creates a file on a mount.  For a client, symlinks in the middle of the path are followed. */
static int create_here(const struct share_dir *at, const char *path, mode_t mode)
{
    char *folder;
    int folder_fd, fd, number;

    if (!at->is_client)
        return beneath_create(at->fd, path, mode & 0777);
    folder = path_dirname(path);
    folder_fd = share_open_below(at, folder, O_RDONLY | O_DIRECTORY, 0);
    free(folder);
    if (folder_fd < 0)
        return -1;
    fd = beneath_create(folder_fd, path_basename(path), mode & 0777);
    number = errno;
    close(folder_fd);
    errno = number;
    return fd;
}

static int write_here(const struct share_dir *at, const char *path, struct bytes content,
                      mode_t mode, struct err *e)
{
    int fd = create_here(at, path, mode), number = 0;

    if (fd < 0)
        return err_sys(e, "create %s", path);
    if (io_write_all(fd, content.data, content.n) < 0)
        number = errno;
    /* Some file systems report a full disk or a lost server only by close(2). */
    if (close(fd) < 0 && number == 0 && errno != EINTR)
        number = errno;
    errno = number;
    return number == 0 ? 0 : err_sys(e, "write %s", path);
}

static int put_over_sftp(struct sftp *s, const char *full, struct bytes content, mode_t mode,
                         struct err *why)
{
    const struct sftp_op op = { .kind = SFTP_OP_PUT,
                                .path = full,
                                .mode = mode & 0777,
                                .flags = SFTP_EXCLUSIVE,
                                .content = content };

    err_clear(why);
    if (sftp_start(s, &op, on_written, why, why) == 0)
        (void)sftp_finish(s, why);
    return why->kind == ERR_NONE ? 0 : -1;
}

/* An existing file of this name is removed and not written to, as it may be a symlink. */
int share_write(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                mode_t mode, struct err *e)
{
    const struct bytes content = { bytes, n };
    struct err why = { 0 };
    struct sftp *s;
    char *full;
    int result;

    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd >= 0)
        return write_here(at, path, content, mode, e);
    s = at->line->sftp;
    full = share_sftp_path(at, path);
    result = put_over_sftp(s, full, content, mode, &why);
    /* For an existing name some servers report only a failure. */
    if (result < 0 && (why.kind == ERR_EXISTS || why.kind == ERR_FAILED)) {
        struct err left = { 0 };

        if (sftp_remove(s, full, &left) == 0)
            result = put_over_sftp(s, full, content, mode, &why);
        else if (left.kind == ERR_DENIED)
            why = left;
    }
    free(full);
    return result == 0 ? 0 : share_sftp_fail(&why, e);
}

struct fetching {
    share_got *got;
    void *context;
};

static void on_fetched(void *context, const struct sftp_answer *a)
{
    struct fetching *f = context;

    f->got(f->context, a->error, a->content);
    free(f);
}

int share_fetch(const struct share_dir *at, const char *path, size_t max_bytes, share_got *got,
                void *context, struct err *e)
{
    struct err why = { 0 };
    struct fetching *f;
    char *full;
    int result;

    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd >= 0) {
        struct buf content = { 0 };

        result = share_read(at, path, max_bytes + 1, &content, &why);
        if (result == 0 && content.n > max_bytes)
            result = err_set(&why, ERR_USAGE, "%s is larger than %zu bytes", path, max_bytes);
        got(context, result < 0 ? &why : NULL, buf_bytes(&content));
        buf_free(&content);
        return 0;
    }
    f = mem_alloc(sizeof *f);
    *f = (struct fetching){ got, context };
    full = share_sftp_path(at, path);
    result =
        sftp_start(at->line->sftp,
                   &(struct sftp_op){ .kind = SFTP_OP_GET, .path = full, .max_bytes = max_bytes },
                   on_fetched, f, e);
    if (result < 0)
        free(f);
    return share_sftp_end(result, full, e);
}

int share_fetch_all(const struct share_dir *at, struct err *e)
{
    return at->fd >= 0 ? 0 : share_sftp_end(sftp_finish(at->line->sftp, e), NULL, e);
}

/* ---- pouring: from a descriptor to a server ---- */

int share_sftp_pour(struct sftp_file *to, uint64_t offset, int in_fd, uint64_t max_bytes,
                    struct hasher *hasher, uint64_t *n_bytes, struct err *e)
{
    char *piece = mem_resize(NULL, PIECE_BYTES, 1);
    int result = 0;

    *n_bytes = 0;
    while (result == 0 && *n_bytes < max_bytes) {
        uint64_t left = max_bytes - *n_bytes;
        ssize_t n = io_read_all(in_fd, piece, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);

        if (n < 0)
            result = err_sys(e, "read");
        if (n <= 0)
            break;
        result = sftp_file_write(to, offset + *n_bytes, piece, (size_t)n, e);
        if (hasher != NULL)
            hasher_add(hasher, piece, (size_t)n);
        *n_bytes += (uint64_t)n;
    }
    free(piece);
    return result;
}

/* ---- logs ---- */

/* Sends bytes `at` to `end` of the part's file, except holes, which may exceed the server's disk. */
static int pour_data(struct sftp_file *to, const struct share_part *part, int64_t at, int64_t end,
                     struct err *e)
{
    int64_t data, data_end;
    uint64_t n = 0;
    int result = 0;

    do {
        io_find_data(part->fd, at, &data, &data_end);
        if (data >= end)
            break;
        if (data_end > end)
            data_end = end;
        if (lseek(part->fd, (off_t)data, SEEK_SET) < 0)
            return err_sys(e, "seek");
        result = share_sftp_pour(to, (uint64_t)(part->begin + data), part->fd,
                                 (uint64_t)(data_end - data), NULL, &n, e);
        at = data + (int64_t)n;
    } while (result == 0 && n > 0);
    return result;
}

/* How many bytes the part has. */
static int part_size(const struct share_part *part, int64_t *n_bytes, struct err *e)
{
    struct stat st = { .st_size = 0 };

    if (part->fd >= 0 && fstat(part->fd, &st) < 0)
        return err_sys(e, "look at it");
    *n_bytes = part->max_bytes > 0 && st.st_size > part->max_bytes ? part->max_bytes : st.st_size;
    return 0;
}

/* What lies before the part was shipped before, and somebody cut it. */
static int refuse_cut(const char *path, struct err *e)
{
    return err_set(e, ERR_FAILED, "write %s: somebody has cut it", path);
}

/* Copies the next bytes of the part's file; holes stay in a whole file. */
static int copy_part(const struct share_part *part, int to, int64_t n_bytes, struct err *e)
{
    int64_t left = n_bytes;
    uint64_t n = 1;
    int result = 0;

    if (part->max_bytes == 0)
        return io_copy_fd(part->fd, to, NULL, e);
    for (; result == 0 && left > 0 && n > 0; left -= (int64_t)n)
        result = io_copy_some(part->fd, to, (uint64_t)left, &n, e);
    /* A reflink is of a whole file. */
    if (result == 0 && left < 0 && ftruncate(to, part->begin + part->max_bytes) < 0)
        result = err_sys(e, "cut it");
    return result;
}

static int ship_here(const struct share_dir *at, const char *path, mode_t mode,
                     const struct share_part *part, int64_t n_bytes, struct err *e)
{
    int to = share_open_below(at, path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW, mode);
    struct stat had;
    int result = 0;

    if (to < 0)
        return err_sys(e, "create %s", path);
    if (fstat(to, &had) < 0)
        result = err_sys(e, "look at it");
    else if (!S_ISREG(had.st_mode))
        result = err_set(e, ERR_FAILED, "write %s: it is no file", path);
    else if (had.st_size < part->begin)
        result = refuse_cut(path, e);
    else if (part->begin + n_bytes > had.st_size)
        result = lseek(part->fd, had.st_size - part->begin, SEEK_SET) < 0 ||
                         lseek(to, had.st_size, SEEK_SET) < 0
                     ? err_sys(e, "seek")
                     : copy_part(part, to, part->begin + n_bytes - had.st_size, e);
    if (close(to) < 0 && result == 0 && errno != EINTR)
        result = err_sys(e, "write %s", path);
    return result;
}

static int ship_over_sftp(struct sftp *s, const char *full, mode_t mode,
                          const struct share_part *part, int64_t n_bytes, struct err *why)
{
    struct sftp_attrs attrs = { 0 };
    struct sftp_file *to;
    bool is_new = sftp_lstat(s, full, &attrs, why) < 0;
    int result = 0;

    if (is_new && why->kind != ERR_NOT_FOUND)
        return -1;
    if (!is_new && !S_ISREG(attrs.mode))
        return err_set(why, ERR_FAILED, "write %s: it is no file", full);
    if (attrs.size_bytes < (uint64_t)part->begin)
        return refuse_cut(full, why);
    if (!is_new && (uint64_t)(part->begin + n_bytes) <= attrs.size_bytes)
        return 0;
    to = sftp_file_open(s, full, SFTP_WRITE | (is_new ? SFTP_CREATE : 0), mode, why);
    if (to == NULL)
        return -1;
    if (n_bytes > 0)
        result = pour_data(to, part, (int64_t)attrs.size_bytes - part->begin, n_bytes, why);
    if (sftp_file_close(to, result == 0 ? why : NULL) < 0)
        result = -1;
    return result;
}

int share_ship(const struct share_dir *at, const char *path, mode_t mode,
               const struct share_part *part, struct err *e)
{
    struct err why = { 0 };
    int64_t n_bytes = 0;
    char *full;
    int result;

    if (part_size(part, &n_bytes, e) < 0)
        return -1;
    if (at->fd >= 0)
        return ship_here(at, path, mode, part, n_bytes, e);
    full = share_sftp_path(at, path);
    result = ship_over_sftp(at->line->sftp, full, mode, part, n_bytes, &why);
    free(full);
    return result < 0 ? share_sftp_fail(&why, e) : 0;
}

/* ---- a large file to the share ---- */

struct share_file {
    int fd;               /* on a mount; else -1 */
    struct sftp_file *to; /* over SFTP; else NULL */
    char *name;
    uint64_t n_bytes;      /* bytes written so far */
    uint64_t synced_bytes; /* over SFTP: bytes that a sync was requested for */
};

struct share_file *share_create(const struct share_dir *at, const char *path, mode_t mode,
                                struct err *e)
{
    struct share_file file = { .fd = -1 };

    if (at->fd >= 0) {
        file.fd = share_open_below(at, path, O_WRONLY | O_CREAT | O_EXCL, mode & 0777);
        if (file.fd < 0)
            err_sys(e, "create %s", path);
    } else {
        char *full = share_sftp_path(at, path);

        file.to = sftp_file_open(at->line->sftp, full, SFTP_WRITE | SFTP_CREATE | SFTP_EXCLUSIVE,
                                 mode & 0777, e);
        (void)share_sftp_end(file.to == NULL ? -1 : 0, full, e);
    }
    if (file.fd < 0 && file.to == NULL)
        return NULL;
    file.name = mem_strdup(path);
    return mem_copy(&file, sizeof file);
}

/* Another process that syncs the share for a small result should not have to wait for all of a
 * large file.  So this starts writing the newest piece to the disk, which goes on while the next
 * piece is copied, and waits for the first waited_bytes bytes of the file. */
static int hand_to_disk(const struct share_file *f, uint64_t waited_bytes, struct err *e)
{
#ifdef __linux__
    const unsigned all =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

    if (f->n_bytes > waited_bytes)
        (void)sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    if (waited_bytes >= WAITED_FOR_BYTES &&
        sync_file_range(f->fd, 0, (off_t)waited_bytes, all) < 0 &&
        (errno == EIO || errno == ENOSPC || errno == EDQUOT))
        return err_sys(e, "write %s", f->name); /* the kernel reports it only once */
#else
    (void)f;
    (void)waited_bytes;
    (void)e;
#endif
    return 0;
}

int share_put(struct share_file *f, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
              struct err *e)
{
    uint64_t had_bytes = f->n_bytes;
    int result;

    *n_bytes = 0;
    if (f->fd >= 0) {
        if (max_bytes > 0 && io_copy_some(from_fd, f->fd, max_bytes, n_bytes, e) < 0)
            return err_wrap(e, "copy %s", f->name);
        f->n_bytes += *n_bytes;
        return hand_to_disk(f, had_bytes, e);
    }
    result =
        share_sftp_pour(f->to, f->n_bytes, from_fd,
                        max_bytes < PUT_MAX_BYTES ? max_bytes : PUT_MAX_BYTES, NULL, n_bytes, e);
    f->n_bytes += *n_bytes;
    if (result == 0 && f->n_bytes - f->synced_bytes >= SYNC_EVERY_BYTES) {
        result = sftp_file_sync_later(f->to, e);
        f->synced_bytes = f->n_bytes;
    }
    return share_sftp_end(result, NULL, e);
}

int share_end(struct share_file *f, struct err *e)
{
    int result;

    if (f->fd >= 0)
        result = close(f->fd) < 0 && errno != EINTR ? err_sys(e, "write %s", f->name) : 0;
    else
        result = share_sftp_end(sftp_file_close(f->to, e), NULL, e);
    free(f->name);
    free(f);
    return result;
}

/* ---- a file from the share ---- */

struct share_input {
    int fd;                 /* on a mount; else -1 */
    struct sftp_file *from; /* over SFTP; NULL: share_ahead has read all of the file */
    struct buf content;     /* the bytes that share_ahead has read */
    uint64_t offset;
    char *name;
};

struct share_input *share_open_input(const struct share_dir *at, const char *path, uint64_t offset,
                                     struct err *e)
{
    struct share_input in = { .fd = -1, .offset = offset };
    int result = share_check_path(at, path, e);

    if (result < 0)
        return NULL;
    if (at->fd >= 0) {
        in.fd = open_plain(at, path, e);
        if (in.fd < 0)
            return NULL;
#ifdef POSIX_FADV_SEQUENTIAL
        (void)posix_fadvise(in.fd, (off_t)offset, 0, POSIX_FADV_SEQUENTIAL);
#endif
    } else if ((result = share_ahead_content(at, path, &in.content, e)) < 0) {
        return NULL;
    } else if (result == 0) {
        char *full = share_sftp_path(at, path);

        in.from = open_over_sftp(at, full, false, e);
        if (share_sftp_end(in.from == NULL ? -1 : 0, full, e) < 0)
            return NULL;
    }
    in.name = mem_strdup(path);
    return mem_copy(&in, sizeof in);
}

ssize_t share_read_input(struct share_input *in, void *bytes, size_t n, struct err *e)
{
    ssize_t got;

    if (in->fd >= 0) {
        got = io_read_all_at(in->fd, bytes, n, in->offset);
        if (got < 0)
            return err_sys(e, "read %s", in->name);
    } else if (in->from != NULL) {
        got = sftp_file_read(in->from, in->offset, bytes, n, e);
        if (got < 0)
            return share_sftp_end(-1, NULL, e);
    } else {
        size_t left = in->offset < in->content.n ? in->content.n - (size_t)in->offset : 0;

        got = (ssize_t)(n < left ? n : left);
        if (got > 0)
            memcpy(bytes, in->content.bytes + in->offset, (size_t)got);
    }
    in->offset += (uint64_t)got;
    return got;
}

void share_seek_input(struct share_input *in, int64_t offset)
{
    in->offset = (uint64_t)offset;
}

int64_t share_skip_hole(struct share_input *in)
{
#if defined(SEEK_DATA)
    struct stat st;
    off_t data;

    if (in->fd >= 0) {
        data = lseek(in->fd, (off_t)in->offset, SEEK_DATA);
        if (data < 0 && errno == ENXIO && fstat(in->fd, &st) == 0)
            data = st.st_size; /* the rest of the file is a hole */
        if (data > 0 && (uint64_t)data > in->offset)
            in->offset = (uint64_t)data;
    }
#endif
    return (int64_t)in->offset;
}

int share_input_size(struct share_input *in, int64_t *size_bytes, struct err *e)
{
    struct sftp_attrs attrs;
    struct stat st;

    if (in->fd >= 0) {
        if (fstat(in->fd, &st) < 0)
            return err_sys(e, "look at %s", in->name);
        *size_bytes = st.st_size;
    } else if (in->from != NULL) {
        if (sftp_file_stat(in->from, &attrs, e) < 0)
            return share_sftp_end(-1, NULL, e);
        if (!(attrs.has & SFTP_SIZE) || attrs.size_bytes > INT64_MAX)
            return err_set(e, ERR_PROTOCOL, "the SFTP server does not tell the size of a file");
        *size_bytes = (int64_t)attrs.size_bytes;
    } else {
        *size_bytes = (int64_t)in->content.n;
    }
    return 0;
}

void share_close_input(struct share_input *in)
{
    if (in == NULL)
        return;
    if (in->fd >= 0)
        close(in->fd);
    (void)sftp_file_close(in->from, NULL);
    buf_free(&in->content);
    free(in->name);
    free(in);
}

/* ---- watching ---- */

int share_watch(const struct share_dir *at, const char *path)
{
    int fd = -1;

#ifdef __linux__
    char *whole;

    if (at->fd < 0 || at->path == NULL || share_check_path(at, path, NULL) < 0)
        return -1;
    whole = path_join(at->path, path);
    if (!fs_is_network(whole))
        fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0 && inotify_add_watch(fd, whole, IN_MODIFY) < 0) {
        close(fd);
        fd = -1;
    }
    free(whole);
#else
    (void)at;
    (void)path;
#endif
    return fd;
}

void share_watch_drain(int fd)
{
    char events[4096];

    while (read(fd, events, sizeof events) > 0)
        ;
}
