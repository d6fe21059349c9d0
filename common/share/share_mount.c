/* SPDX-License-Identifier: MIT */
/* share_mount.c - a share that is mounted here */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/share/share_internal.h"

enum { WAITED_FOR_BYTES = 1024 * 1024 };

struct mount_dir {
    struct share_dir dir;
    int fd;
};

struct mount_input {
    struct share_input input;
    int fd;
};

struct mount_file {
    struct share_file file;
    int fd;
    char *name;
    uint64_t n_bytes;
};

static const struct share_way mount_way;

/* ---- folders ---- */

static int mount_fd(const struct share_dir *d)
{
    return ((const struct mount_dir *)d)->fd;
}

static struct share_dir *wrap_dir(int fd)
{
    struct mount_dir *d;

    if (fd < 0)
        return NULL;
    d = mem_alloc(sizeof *d);
    *d = (struct mount_dir){ { &mount_way }, fd };
    return &d->dir;
}

struct share_dir *share_mount_open(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        err_sys(e, "share %s", path);
    return wrap_dir(fd);
}

static struct share_dir *mount_open_dir(const struct share_dir *at, const char *path, struct err *e)
{
    return wrap_dir(io_open_dir_at(mount_fd(at), path, e));
}

static void mount_close(struct share_dir *d)
{
    close(mount_fd(d));
    free(d);
}

/* ---- names ---- */

static enum share_type type_of(mode_t mode)
{
    return S_ISREG(mode)   ? SHARE_FILE
           : S_ISDIR(mode) ? SHARE_FOLDER
           : S_ISLNK(mode) ? SHARE_LINK
                           : SHARE_OTHER;
}

static int mount_stat(const struct share_dir *at, const char *path, struct share_stat *to,
                      struct err *e)
{
    struct stat st;

    if ((path[0] == '\0' ? fstat(mount_fd(at), &st)
                         : fstatat(mount_fd(at), path, &st, AT_SYMLINK_NOFOLLOW)) < 0)
        return err_sys(e, "look at %s", path);
    *to = (struct share_stat){ type_of(st.st_mode), st.st_mode & 07777, st.st_gid, st.st_size };
    return 0;
}

static int mount_list(const struct share_dir *d, void (*each)(void *context, const char *name),
                      void *context, struct err *e)
{
    int fd = io_open_dir_at(mount_fd(d), ".", e);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int result = 0;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return fd < 0 ? -1 : err_sys(e, "list a folder");
    }
    while ((errno = 0, entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(context, entry->d_name);
    if (errno != 0)
        result = err_sys(e, "list a folder");
    closedir(dir);
    return result;
}

static int mount_make_dir(const struct share_dir *at, const char *path, mode_t mode, struct err *e)
{
    return mkdirat(mount_fd(at), path, mode & 0777) < 0 ? err_sys(e, "create %s", path) : 0;
}

static int mount_remove_file(const struct share_dir *at, const char *path, struct err *e)
{
    return unlinkat(mount_fd(at), path, 0) < 0 ? err_sys(e, "remove %s", path) : 0;
}

static int mount_remove_dir(const struct share_dir *at, const char *path, struct err *e)
{
    return unlinkat(mount_fd(at), path, AT_REMOVEDIR) < 0 ? err_sys(e, "remove %s", path) : 0;
}

static int mount_remove_tree(const struct share_dir *at, const char *path, struct err *e)
{
    return io_remove_tree_at(mount_fd(at), path, e);
}

/* Where a folder is to go and a file lies there the kernel says ENOTDIR. */
static int mount_rename(const struct share_dir *at, const char *path, const struct share_dir *to,
                        const char *to_path, struct err *e)
{
    if (renameat(mount_fd(at), path, mount_fd(to), to_path) == 0)
        return 0;
    if (errno == ENOTDIR)
        errno = EEXIST;
    return err_sys(e, "rename %s to %s", path, to_path);
}

/* ---- small files ---- */

static bool is_no_file(int error)
{
    return error == EISDIR || error == ELOOP || error == ENXIO;
}

static int read_up_to(int fd, size_t max_bytes, struct buf *out)
{
    enum { PIECE_BYTES = 64 * 1024 };
    size_t left = max_bytes;
    ssize_t n = 1;

    while (left > 0 && n > 0) {
        size_t piece = left < PIECE_BYTES ? left : PIECE_BYTES;

        n = io_read_all(fd, buf_reserve(out, piece), piece);
        if (n > 0)
            buf_added(out, (size_t)n);
        left -= n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : 0;
}

static int mount_read(const struct share_dir *at, const char *path, size_t max_bytes,
                      struct buf *out, struct err *e)
{
    int fd = openat(mount_fd(at), path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int result = 0;

    if (fd < 0 || read_up_to(fd, max_bytes, out) < 0)
        result = is_no_file(errno) ? err_set(e, ERR_USAGE, "read %s: it is no file", path)
                                   : err_sys(e, "read %s", path);
    if (fd >= 0)
        close(fd);
    return result;
}

static int mount_write(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                       mode_t mode, struct err *e)
{
    return io_write_file_at(mount_fd(at), path, bytes, n, mode, e);
}

static int copy_rest(int from, int to, struct err *e)
{
    struct stat have, had;

    if (fstat(from, &have) < 0 || fstat(to, &had) < 0)
        return err_sys(e, "look at it");
    if (have.st_size <= had.st_size)
        return 0;
    if (lseek(from, had.st_size, SEEK_SET) < 0 || lseek(to, had.st_size, SEEK_SET) < 0)
        return err_sys(e, "seek");
    return io_copy_fd(from, to, NULL, e);
}

static int mount_ship(const struct share_dir *at, const char *path, mode_t mode, int from_fd,
                      struct err *e)
{
    int to = openat(mount_fd(at), path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    int result = 0;

    if (to < 0)
        return err_sys(e, "create %s", path);
    if (from_fd >= 0 && copy_rest(from_fd, to, e) < 0)
        result = -1;
    if (close(to) < 0 && result == 0 && errno != EINTR)
        result = err_sys(e, "write %s", path);
    return result;
}

/* ---- a large file ---- */

static struct share_file *mount_create(const struct share_dir *at, const char *path, mode_t mode,
                                       struct err *e)
{
    int fd = openat(mount_fd(at), path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
    struct mount_file *f;

    if (fd < 0) {
        err_sys(e, "create %s", path);
        return NULL;
    }
    f = mem_alloc(sizeof *f);
    *f = (struct mount_file){ { &mount_way }, fd, mem_strdup(path), 0 };
    return &f->file;
}

/* Who syncs the share for a small result must not wait for all of a large file: the disk writes one
 * piece while the next is copied, and what came before is waited for. */
static int hand_to_disk(const struct mount_file *f, uint64_t waited_bytes, struct err *e)
{
#ifdef __linux__
    const unsigned all =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

    if (f->n_bytes > waited_bytes)
        (void)sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    if (waited_bytes >= WAITED_FOR_BYTES &&
        sync_file_range(f->fd, 0, (off_t)waited_bytes, all) < 0 &&
        (errno == EIO || errno == ENOSPC || errno == EDQUOT))
        return err_sys(e, "write %s", f->name); /* it is said only once */
#else
    (void)f;
    (void)waited_bytes;
    (void)e;
#endif
    return 0;
}

static int mount_put(struct share_file *file, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
                     struct err *e)
{
    struct mount_file *f = (struct mount_file *)file;
    uint64_t had_bytes = f->n_bytes;

    *n_bytes = 0;
    if (max_bytes > 0 && io_copy_some(from_fd, f->fd, max_bytes, n_bytes, e) < 0)
        return err_wrap(e, "copy %s", f->name);
    f->n_bytes += *n_bytes;
    return hand_to_disk(f, had_bytes, e);
}

static int mount_end(struct share_file *file, struct err *e)
{
    struct mount_file *f = (struct mount_file *)file;
    int result = close(f->fd) < 0 && errno != EINTR ? err_sys(e, "write %s", f->name) : 0;

    free(f->name);
    free(f);
    return result;
}

static int open_plain(int at_fd, const char *path, struct err *e)
{
    int fd = io_open_no_links(at_fd, path, O_RDONLY | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return err_set(e, ERR_USAGE, "read %s: it is no file", path);
}

static struct share_input *mount_open_input(const struct share_dir *at, const char *path,
                                            uint64_t offset, struct err *e)
{
    int fd = open_plain(mount_fd(at), path, e);
    struct mount_input *in;

    if (fd < 0)
        return NULL;
    if (offset > 0 && lseek(fd, (off_t)offset, SEEK_SET) < 0) {
        err_sys(e, "seek in %s", path);
        close(fd);
        return NULL;
    }
#ifdef POSIX_FADV_SEQUENTIAL
    (void)posix_fadvise(fd, (off_t)offset, 0, POSIX_FADV_SEQUENTIAL);
#endif
    in = mem_alloc(sizeof *in);
    *in = (struct mount_input){ { &mount_way }, fd };
    return &in->input;
}

static ssize_t mount_read_input(struct share_input *in, void *bytes, size_t n, struct err *e)
{
    ssize_t got;

    do
        got = read(((struct mount_input *)in)->fd, bytes, n);
    while (got < 0 && errno == EINTR);
    return got < 0 ? err_sys(e, "read") : got;
}

static void mount_close_input(struct share_input *in)
{
    close(((struct mount_input *)in)->fd);
    free(in);
}

/* ---- making it durable ---- */

/* Each waits for a disk or a network, not for a processor. */
enum { SYNC_THREADS = 8, SYNC_ALONE_MAX = 4 };

static bool is_local(int fd)
{
    enum fs_kind kind = fs_type_of_fd(fd).kind;

    return kind == FS_LOCAL || kind == FS_MEMORY;
}

/* Before 5.8 syncfs kept quiet about what could not be written. */
static bool is_honest(void)
{
#ifdef __linux__
    struct utsname name;
    int major, minor;

    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 8));
#else
    return false;
#endif
}

static bool is_synced_by_system(int fd)
{
    return is_local(fd) && is_honest();
}

static bool cannot_sync(int error)
{
    return error == EINVAL || error == ENOTSUP || error == EROFS;
}

int share_mount_sync_fd(int fd)
{
    return fsync(fd) < 0 && !cannot_sync(errno) ? errno : 0;
}

static int sync_one(const struct share_sync *f)
{
    int fd = openat(share_fd(f->dir), f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error;

    if (fd < 0)
        return errno;
    error = share_mount_sync_fd(fd);
    close(fd);
    return error;
}

struct syncing {
    struct share_sync *files;
    size_t n;
    atomic_size_t next;
};

static void *sync_some(void *context)
{
    struct syncing *w = context;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
        w->files[i].error = sync_one(&w->files[i]);
    return NULL;
}

/* Threads that cannot be had are done without. */
static void sync_files(struct share_sync *files, size_t n)
{
    struct syncing w = { .files = files, .n = n };
    pthread_t threads[SYNC_THREADS];
    size_t started = 0;

    while (n > SYNC_ALONE_MAX && started < SYNC_THREADS - 1 &&
           pthread_create(&threads[started], NULL, sync_some, &w) == 0)
        started++;
    sync_some(&w);
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
}

static bool mount_is_synced_whole(const struct share_dir *d)
{
    return is_synced_by_system(mount_fd(d));
}

static int mount_sync(const struct share_dir *d, struct err *e)
{
#ifdef __linux__
    return syncfs(mount_fd(d)) < 0 ? err_sys(e, "sync the share") : 0;
#else
    (void)d;
    return err_set(e, ERR_INTERNAL, "a file system cannot be synced as a whole here");
#endif
}

static int mount_sync_dir(const struct share_dir *d, const char *name, struct err *e)
{
    errno = share_mount_sync_fd(mount_fd(d));
    return errno != 0 ? err_sys(e, "sync folder %s", name) : 0;
}

static const struct share_way mount_way = {
    .open_dir = mount_open_dir,
    .close = mount_close,
    .fd = mount_fd,
    .stat = mount_stat,
    .list = mount_list,
    .make_dir = mount_make_dir,
    .remove_file = mount_remove_file,
    .remove_dir = mount_remove_dir,
    .remove_tree = mount_remove_tree,
    .rename = mount_rename,
    .read = mount_read,
    .write = mount_write,
    .ship = mount_ship,
    .copy_in = share_mount_copy_in,
    .copy_out = share_mount_copy_out,
    .create = mount_create,
    .put = mount_put,
    .end = mount_end,
    .open_input = mount_open_input,
    .read_input = mount_read_input,
    .close_input = mount_close_input,
    .is_synced_whole = mount_is_synced_whole,
    .sync = mount_sync,
    .sync_each = sync_files,
    .sync_dir = mount_sync_dir,
};
