/* SPDX-License-Identifier: MIT */
/* io.c - whole reads and writes, files, locks, and the descriptors of a forked process */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif

#include "common/base/digest.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/base/units.h"

/* The most that one call reads or writes: some kernels refuse 2 GiB. */
enum { TRANSFER_MAX_BYTES = 1 << 30, PIECE_BYTES = 256 * 1024 };

/* at -1: at the file's position. */
static int write_all(int fd, const void *bytes, size_t n, int64_t at)
{
    const char *from = bytes;

    while (n > 0) {
        size_t some = n < TRANSFER_MAX_BYTES ? n : TRANSFER_MAX_BYTES;
        ssize_t wrote = at < 0 ? write(fd, from, some) : pwrite(fd, from, some, (off_t)at);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote == 0)
            errno = EIO;
        if (wrote <= 0)
            return -1;
        from += wrote;
        at += at < 0 ? 0 : wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

int io_write_all(int fd, const void *bytes, size_t n)
{
    return write_all(fd, bytes, n, -1);
}

int io_write_all_at(int fd, const void *bytes, size_t n, uint64_t at)
{
    return write_all(fd, bytes, n, (int64_t)at);
}

/* read(2), begun again after a signal. */
static ssize_t read_some(int fd, void *bytes, size_t n)
{
    ssize_t got;

    do
        got = read(fd, bytes, n < TRANSFER_MAX_BYTES ? n : TRANSFER_MAX_BYTES);
    while (got < 0 && errno == EINTR);
    return got;
}

static ssize_t read_all(int fd, void *bytes, size_t n, int64_t at)
{
    char *to = bytes;
    size_t done = 0;

    while (done < n) {
        size_t rest = n - done < TRANSFER_MAX_BYTES ? n - done : TRANSFER_MAX_BYTES;
        ssize_t got = at < 0 ? read(fd, to + done, rest)
                             : pread(fd, to + done, rest, (off_t)at + (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

ssize_t io_read_all(int fd, void *bytes, size_t n)
{
    return read_all(fd, bytes, n, -1);
}

ssize_t io_read_all_at(int fd, void *bytes, size_t n, uint64_t at)
{
    return read_all(fd, bytes, n, (int64_t)at);
}

/* Appends the rest of fd, of which it reads max_bytes + 1 at most. */
static int read_rest(int fd, const char *name, size_t max_bytes, struct buf *out, struct err *e)
{
    size_t begin = out->n;

    for (size_t piece = 4096;; piece = piece < PIECE_BYTES ? 2 * piece : piece) {
        size_t left = max_bytes - (out->n - begin);
        size_t want = left < piece ? left + 1 : piece;
        ssize_t got = read_some(fd, buf_reserve(out, want), want);

        if (got < 0)
            return err_sys(e, "read %s", name);
        if (got == 0)
            return 0;
        if ((size_t)got > left)
            return err_set(e, ERR_USAGE, "%s is larger than %zu bytes", name, max_bytes);
        buf_added(out, (size_t)got);
    }
}

int io_read_file_at(int dir_fd, const char *name, size_t max_bytes, struct buf *out, struct err *e)
{
    size_t begin = out->n;
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    int result;

    if (fd < 0)
        return err_sys(e, "open %s", name);
    result = read_rest(fd, name, max_bytes, out, e);
    if (result < 0 && out->bytes != NULL) {
        out->n = begin;
        out->bytes[begin] = '\0';
    }
    close(fd);
    return result;
}

int io_read_file(const char *path, size_t max_bytes, struct buf *out, struct err *e)
{
    return io_read_file_at(AT_FDCWD, path, max_bytes, out, e);
}

/* Closes fd in any case.  A full disk or a lost server may only be reported by the close. */
static int write_and_close(int fd, const char *name, const void *bytes, size_t n, bool sync,
                           struct err *e)
{
    int number = 0;

    if (io_write_all(fd, bytes, n) < 0 || (sync && fsync(fd) < 0))
        number = errno;
    if (close(fd) < 0 && number == 0 && errno != EINTR)
        number = errno;
    if (number == 0)
        return 0;
    errno = number;
    return err_sys(e, "write %s", name);
}

int io_write_file_at(int dir_fd, const char *name, const void *bytes, size_t n, mode_t mode,
                     struct err *e)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    if (fd < 0)
        return err_sys(e, "create %s", name);
    return write_and_close(fd, name, bytes, n, false, e);
}

int io_replace_file(const char *path, const void *bytes, size_t n, mode_t mode, struct err *e)
{
    char *dir = path_dirname(path), hex[TOKEN_HEX], temporary[sizeof ".tmp-" + TOKEN_HEX];
    int dir_fd = io_open_dir(dir, e), fd, result = -1;
    struct token token;

    free(dir);
    if (dir_fd < 0)
        return -1;
    token_make(&token);
    token_hex(&token, hex);
    snprintf(temporary, sizeof temporary, ".tmp-%s", hex);
    fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
        err_sys(e, "create %s", path);
        goto out;
    }
    if (write_and_close(fd, path, bytes, n, true, e) < 0) {
        unlinkat(dir_fd, temporary, 0);
        goto out;
    }
    if (renameat(dir_fd, temporary, dir_fd, path_basename(path)) < 0) {
        err_sys(e, "replace %s", path);
        unlinkat(dir_fd, temporary, 0);
        goto out;
    }
    result = 0;
    /* Some file systems cannot sync folders, and need not. */
    if (fsync(dir_fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        result = err_sys(e, "sync %s", path);
out:
    close(dir_fd);
    return result;
}

int io_make_dirs_at(int dir_fd, const char *path, mode_t mode, struct err *e)
{
    char *prefix = mem_strdup(path);
    char *end = prefix;
    int result = 0;

    do {
        struct stat st;
        char rest;

        end += strspn(end, "/");
        end += strcspn(end, "/");
        rest = *end;
        *end = '\0';
        if (mkdirat(dir_fd, prefix, mode) < 0) {
            int number = errno;

            /* A folder that exists is fine, whichever error mkdir gave (EROFS, EISDIR, ...). */
            if (fstatat(dir_fd, prefix, &st, 0) < 0 || !S_ISDIR(st.st_mode)) {
                errno = number;
                result = err_sys(e, "create %s", prefix);
            }
        }
        *end = rest;
    } while (result == 0 && end[strspn(end, "/")] != '\0');
    free(prefix);
    return result;
}

int io_make_dirs(const char *path, mode_t mode, struct err *e)
{
    return io_make_dirs_at(AT_FDCWD, path, mode, e);
}

int io_open_dir_at(int dir_fd, const char *name, struct err *e)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? err_sys(e, "open %s", name) : fd;
}

DIR *io_list_dir_at(int dir_fd, const char *name, struct err *e)
{
    int fd = io_open_dir_at(dir_fd, name, e);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0) {
        err_sys(e, "list %s", name);
        close(fd);
    }
    return dir;
}

int io_open_dir(const char *path, struct err *e)
{
    return io_open_dir_at(AT_FDCWD, path, e);
}

static size_t at_most(uint64_t n, size_t most)
{
    return n < most ? (size_t)n : most;
}

#ifdef __linux__
/* Reflinks a whole file into an empty one; when true, both positions are at the end. */
static bool clone_file(int in_fd, int out_fd, uint64_t *copied_bytes)
{
    struct stat st;
    off_t size;

    if (fstat(out_fd, &st) < 0 || st.st_size != 0)
        return false;
    if (lseek(in_fd, 0, SEEK_CUR) != 0 || lseek(out_fd, 0, SEEK_CUR) != 0)
        return false;
    if (ioctl(out_fd, FICLONE, in_fd) < 0)
        return false;
    size = lseek(out_fd, 0, SEEK_END);
    if (size < 0 || lseek(in_fd, size, SEEK_SET) < 0)
        return false;
    *copied_bytes = (uint64_t)size;
    return true;
}

/*
 * Lets the kernel copy as far as it can.  The reason why it stopped does not matter:
 * after the end or a true error, reading and writing find the same.
 */
static void copy_in_kernel(int in_fd, int out_fd, uint64_t max_bytes, uint64_t *copied_bytes)
{
    ssize_t n = 0;

    while (*copied_bytes < max_bytes && (n >= 0 || errno == EINTR)) {
        n = copy_file_range(in_fd, NULL, out_fd, NULL,
                            at_most(max_bytes - *copied_bytes, TRANSFER_MAX_BYTES), 0);
        if (n == 0)
            break;
        if (n > 0)
            *copied_bytes += (uint64_t)n;
    }
}
#else
static bool clone_file(int in_fd, int out_fd, uint64_t *copied_bytes)
{
    (void)in_fd, (void)out_fd, (void)copied_bytes;
    return false;
}

static void copy_in_kernel(int in_fd, int out_fd, uint64_t max_bytes, uint64_t *copied_bytes)
{
    (void)in_fd, (void)out_fd, (void)max_bytes, (void)copied_bytes;
}
#endif

int io_copy_some(int in_fd, int out_fd, uint64_t max_bytes, uint64_t *copied_bytes, struct err *e)
{
    char *piece;
    int result = 0;

    *copied_bytes = 0;
    if (clone_file(in_fd, out_fd, copied_bytes))
        return 0;
    copy_in_kernel(in_fd, out_fd, max_bytes, copied_bytes);
    piece = mem_resize(NULL, PIECE_BYTES, 1);
    while (result == 0 && *copied_bytes < max_bytes) {
        ssize_t n = read_some(in_fd, piece, at_most(max_bytes - *copied_bytes, PIECE_BYTES));

        if (n == 0)
            break;
        if (n < 0)
            result = err_sys(e, "read");
        else if (io_write_all(out_fd, piece, (size_t)n) < 0)
            result = err_sys(e, "write");
        else
            *copied_bytes += (uint64_t)n;
    }
    free(piece);
    return result;
}

void io_find_data(int fd, int64_t from, int64_t *begin, int64_t *end)
{
    *begin = from;
    *end = INT64_MAX;
#ifdef SEEK_DATA
    *begin = lseek(fd, (off_t)from, SEEK_DATA);
    if (*begin < 0)
        *begin = errno == ENXIO ? INT64_MAX : from;
    else if ((*end = lseek(fd, (off_t)*begin, SEEK_HOLE)) <= *begin)
        *end = INT64_MAX;
#endif
}

/* Whether in has holes, and they can be left in out as well, which gets longer by what is copied. */
static bool has_holes(int in_fd, int out_fd, struct stat *in, int64_t *at, int64_t *out_at)
{
    struct stat out;

    if (fstat(in_fd, in) < 0 || !S_ISREG(in->st_mode) || in->st_blocks >= in->st_size / 512 ||
        fstat(out_fd, &out) < 0 || !S_ISREG(out.st_mode))
        return false;
    *at = lseek(in_fd, 0, SEEK_CUR);
    *out_at = lseek(out_fd, 0, SEEK_CUR);
    return *at >= 0 && *out_at == out.st_size && *at < in->st_size;
}

/* A file of some blocks may say that it has many terabytes: they would fill the other disk. */
int io_copy_fd(int in_fd, int out_fd, uint64_t *copied_bytes, struct err *e)
{
    uint64_t ignored = 0, n = 0, *n_bytes = copied_bytes ? copied_bytes : &ignored;
    int64_t at, out_at, begin, end;
    int result = 0;
    struct stat st;

    if (!has_holes(in_fd, out_fd, &st, &at, &out_at))
        return io_copy_some(in_fd, out_fd, UINT64_MAX, n_bytes, e);
    *n_bytes = 0;
    if (clone_file(in_fd, out_fd, n_bytes))
        return 0;
    for (int64_t base = out_at - at; result == 0 && at < st.st_size; at = begin + (int64_t)n) {
        io_find_data(in_fd, at, &begin, &end);
        begin = begin < st.st_size ? begin : st.st_size;
        if (begin == st.st_size && ftruncate(out_fd, base + begin) < 0)
            result = err_sys(e, "leave a hole");
        else if (lseek(in_fd, begin, SEEK_SET) < 0 || lseek(out_fd, base + begin, SEEK_SET) < 0)
            result = err_sys(e, "seek");
        else
            result = io_copy_some(in_fd, out_fd, (uint64_t)(end - begin), &n, e);
        *n_bytes += result == 0 ? (uint64_t)(begin - at) + n : 0;
        if (n == 0 && begin == at)
            break; /* it became shorter meanwhile */
    }
    return result;
}

int io_set_nonblocking(int fd, struct err *e)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_sys(e, "make a descriptor non-blocking");
    return 0;
}

int io_lock_file(const char *path, struct err *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (errno == EWOULDBLOCK)
        err_set(e, ERR_BUSY, "%s is locked by another process", path);
    else
        err_sys(e, "lock %s", path);
    close(fd);
    return -1;
}

int io_lock_file_within(const char *path, int timeout_ms, struct err *e)
{
    enum { LOOK_EVERY_MS = 10 };
    int64_t deadline_ms = units_monotonic_ms() + timeout_ms;
    struct err why = { 0 };
    int fd;

    while ((fd = io_lock_file(path, &why)) < 0 && why.kind == ERR_BUSY &&
           units_monotonic_ms() < deadline_ms)
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    return fd < 0 ? err_set(e, why.kind, "%s", why.text) : fd;
}

/* --- descriptors of a forked process ---------------------------------------- */

void io_close_all_but(const int *keep, size_t n)
{
    DIR *dir = opendir("/dev/fd");
    const struct dirent *entry;
    long last = dir == NULL ? sysconf(_SC_OPEN_MAX) : 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);

        last = fd > last ? fd : last;
    }
    if (dir != NULL)
        closedir(dir);
    for (int fd = STDERR_FILENO + 1; fd <= last; fd++) {
        bool is_kept = false;

        for (size_t i = 0; i < n; i++)
            is_kept |= keep[i] == fd;
        if (!is_kept)
            close(fd);
    }
}

void io_detach(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)dup2(fd, STDIN_FILENO);
    (void)dup2(fd, STDOUT_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}
