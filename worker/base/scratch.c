/* SPDX-License-Identifier: MIT */
/* scratch.c - the worker's own folder, its files, and the removal of an attempt */

#include "worker/base/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fs.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/crash_point.h"

enum { RECORD_MAX_BYTES = FRAME_MAX_BYTES };

static const char *const folder_names[] = { SCRATCH_RUN,        SCRATCH_ENDED, SCRATCH_PUBLISHED,
                                            SCRATCH_LOG,        SCRATCH_CACHE, SCRATCH_SPARE,
                                            SCRATCH_CHECKPOINTS };
enum { FOLDERS = sizeof folder_names / sizeof folder_names[0] };

/* ext4 then spreads the attempts over the disk, instead of crowding them where it
 * passes over all inodes that were freed lately.  Others do not know it. */
static void spread_folders(int fd)
{
    int flags;

    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_TOPDIR_FL;
        (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

/* Of a pilot the cache lies elsewhere, and a cleaner may have removed that. */
static void make_linked(int scratch_fd, const char *name)
{
    char target[NAME_MAX + 1], *slash;
    ssize_t n = readlinkat(scratch_fd, name, target, sizeof target - 1);

    if (n < 0)
        return;
    target[n] = '\0';
    slash = strrchr(target, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    (void)mkdirat(scratch_fd, target, 0700);
    *slash = '/';
    (void)mkdirat(scratch_fd, target, 0700);
}

static int open_folder(int scratch_fd, const char *name, struct err *e)
{
    int fd = openat(scratch_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        return fd;
    make_linked(scratch_fd, name);
    if (mkdirat(scratch_fd, name, 0700) < 0 && errno != EEXIST)
        return err_sys(e, "create %s", name);
    fd = io_open_dir_at(scratch_fd, name, e);
    if (fd >= 0 && strcmp(name, SCRATCH_RUN) == 0)
        spread_folders(fd);
    return fd;
}

/* In the order of their names. */
static void begin(struct scratch *s, const char *path, int *fds[FOLDERS])
{
    *s = (struct scratch){ mem_strdup(path), -1, -1, -1, -1, -1, -1, -1, -1 };
    fds[0] = &s->run_fd;
    fds[1] = &s->ended_fd;
    fds[2] = &s->published_fd;
    fds[3] = &s->log_fd;
    fds[4] = &s->cache_fd;
    fds[5] = &s->spare_fd;
    fds[6] = &s->checkpoints_fd;
}

void scratch_look(struct scratch *s, const char *path)
{
    int *fds[FOLDERS];

    begin(s, path, fds);
    s->fd = io_open_dir(path, NULL);
    for (size_t i = 0; s->fd >= 0 && i < FOLDERS; i++)
        *fds[i] = io_open_dir_at(s->fd, folder_names[i], NULL);
}

int scratch_open(struct scratch *s, const char *path, struct err *e)
{
    int *fds[FOLDERS];

    begin(s, path, fds);
    if (io_make_dirs(path, 0700, e) < 0)
        goto fail;
    s->fd = io_open_dir(path, e);
    if (s->fd < 0)
        goto fail;
    for (size_t i = 0; i < FOLDERS; i++) {
        *fds[i] = open_folder(s->fd, folder_names[i], e);
        if (*fds[i] < 0)
            goto fail;
    }
    return 0;
fail:
    scratch_close(s);
    return err_wrap(e, "scratch folder %s", path);
}

void scratch_close(struct scratch *s)
{
    const int fds[] = { s->run_fd,   s->ended_fd, s->published_fd,   s->log_fd,
                        s->cache_fd, s->spare_fd, s->checkpoints_fd, s->fd };

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(s->path);
    *s = (struct scratch){ NULL, -1, -1, -1, -1, -1, -1, -1, -1 };
}

int scratch_reopen(struct scratch *s, struct err *e)
{
    struct scratch fresh;

    if (scratch_open(&fresh, s->path, e) < 0)
        return -1;
    scratch_close(s);
    *s = fresh;
    return 0;
}

/* A job may have linked, replaced or closed it: then it is not ours to write to any more. */
static int open_again(int dir_fd, const char *path, mode_t mode, struct stat *st)
{
    int fd = openat(dir_fd, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_nlink == 1 &&
        (st->st_mode & 07777) == mode && st->st_uid == geteuid())
        return fd;
    if (fd >= 0)
        close(fd);
    else if (errno == ENOENT)
        return -1;
    (void)unlinkat(dir_fd, path, 0);
    return -1;
}

int scratch_put(int dir_fd, const char *path, const void *bytes, size_t n, mode_t mode,
                struct err *e)
{
    struct stat st = { .st_size = 0 };
    int fd = open_again(dir_fd, path, mode, &st);
    int result = 0;

    if (fd < 0)
        fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return err_sys(e, "create %s", path);
    if (io_write_all(fd, bytes, n) < 0 || (st.st_size > (off_t)n && ftruncate(fd, (off_t)n) < 0))
        result = err_sys(e, "write %s", path);
    close(fd);
    return result;
}

int scratch_write(int dir_fd, const char *path, const struct schema *schema, const void *from,
                  struct err *e)
{
    struct buf bytes = { 0 };
    int result;

    schema_encode(schema, from, &bytes);
    result = scratch_put(dir_fd, path, bytes.bytes, bytes.n, 0600, e);
    buf_free(&bytes);
    return result;
}

int scratch_replace(int dir_fd, const char *path, const struct schema *schema, const void *from,
                    struct err *e)
{
    char *temporary = mem_printf("%s.new", path);
    int result = scratch_write(dir_fd, temporary, schema, from, e);

    if (result == 0 && renameat(dir_fd, temporary, dir_fd, path) < 0)
        result = err_sys(e, "replace %s", path);
    free(temporary);
    return result;
}

static int read_plain(int fd, const char *path, struct buf *bytes, struct err *e)
{
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "stat %s", path);
    if (!S_ISREG(st.st_mode) || st.st_size > RECORD_MAX_BYTES)
        return err_set(e, ERR_USAGE, "%s is no record", path);
    n = io_read_all(fd, buf_reserve(bytes, (size_t)st.st_size), (size_t)st.st_size);
    if (n < 0)
        return err_sys(e, "read %s", path);
    buf_added(bytes, (size_t)n);
    return 0;
}

static int read_record(int dir_fd, const char *path, struct buf *bytes, struct err *e)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int result;

    if (fd < 0)
        return err_sys(e, "open %s", path);
    result = read_plain(fd, path, bytes, e);
    close(fd);
    return result;
}

int scratch_read(int dir_fd, const char *path, const struct schema *schema, struct arena *a,
                 void *to, struct err *e)
{
    struct buf bytes = { 0 };
    int result = read_record(dir_fd, path, &bytes, e);

    if (result == 0) {
        result = schema_read(schema, buf_bytes(&bytes), a, to, e);
        if (result < 0)
            err_wrap(e, "%s", path);
    }
    buf_free(&bytes);
    return result;
}

/* What most attempts leave; the rest is found by looking. */
static const char *const usual_files[] = {
    JOB_ORDER,
    JOB_OUTCOME,
    JOB_PARAM2VAL ".json",
    JOB_PARAM2VAL ".yaml",
    JOB_METRICS,
    JOB_PARAM2VAL ".msgpack",
};

static void remove_usual(int dir_fd)
{
    for (size_t i = 0; i < sizeof usual_files / sizeof usual_files[0]; i++)
        (void)unlinkat(dir_fd, usual_files[i], 0);
}

static int remove_published(int published_fd, const char *name, struct err *e)
{
    int dir_fd = openat(published_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    if (dir_fd < 0)
        return errno == ENOENT ? 0 : err_sys(e, "open %s", name);
    (void)unlinkat(dir_fd, JOB_REPORT, 0);
    CRASH_POINT_POINT(discard_begun);
    remove_usual(dir_fd);
    close(dir_fd);
    if (unlinkat(published_fd, name, AT_REMOVEDIR) == 0)
        return 0;
    return io_remove_tree_at(published_fd, name, e);
}

int scratch_discard_checkpoint(const struct scratch *s, const struct token *token, struct err *e)
{
    char hidden[TOKEN_HEX + 1] = "."; /* not complete yet */

    token_hex(token, hidden + 1);
    if (io_remove_tree_at(s->checkpoints_fd, hidden, e) < 0)
        return -1;
    return io_remove_tree_at(s->checkpoints_fd, hidden + 1, e);
}

int scratch_discard(const struct scratch *s, const struct token *token, struct err *e)
{
    char taken[TOKEN_HEX + 1] = ".";
    char *hex = taken + 1;
    int result = 0;

    token_hex(token, hex);
    if (unlinkat(s->log_fd, hex, 0) < 0 && errno != ENOENT)
        result = err_sys(e, "remove %s/%s", SCRATCH_LOG, hex);
    if (io_remove_tree_at(s->ended_fd, hex, e) < 0)
        result = -1;
    if (io_remove_tree_at(s->run_fd, hex, e) < 0)
        result = -1;
    if (io_remove_tree_at(s->spare_fd, taken, e) < 0)
        result = -1;
    if (scratch_discard_checkpoint(s, token, e) < 0)
        result = -1;
    return remove_published(s->published_fd, hex, e) < 0 ? -1 : result;
}

static void sweep_entry(const struct scratch *s, const char *name)
{
    char *report = mem_printf("%s/%s", name, JOB_REPORT);
    struct token token;
    struct err e = { 0 };
    bool is_whole = faccessat(s->published_fd, report, F_OK, 0) == 0 || errno != ENOENT;

    free(report);
    if (is_whole || token_parse(name, &token) < 0)
        return;
    if (scratch_discard(s, &token, &e) < 0)
        log_event(LOG_WARN, "not-discarded", "error", "%s", e.text, NULL);
}

void scratch_sweep(const struct scratch *s)
{
    struct err e = { 0 };
    int fd = io_open_dir_at(s->published_fd, ".", &e);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (dir == NULL) {
        log_event(LOG_WARN, "not-swept", "error", "%s", e.text, NULL);
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL)
        sweep_entry(s, entry->d_name);
    closedir(dir);
}
