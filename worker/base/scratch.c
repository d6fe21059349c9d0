/* SPDX-License-Identifier: MIT */
/* scratch.c - the scratch folder, its files, the removal of an attempt, and spare folders */

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
#include <sys/statvfs.h>
#include <unistd.h>
#include <linux/fs.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/base/crash_point.h"

enum {
    RECORD_MAX_BYTES = FRAME_MAX_BYTES,
    /* The room that an attempt takes before its job does anything. */
    ROOM_BYTES = 64 * 1024,
    ROOM_FILES = 32
};

/* The folders of scratch, and the members of struct scratch for their descriptors. */
static const struct {
    const char *name;
    size_t fd_offset;
} folders[] = {
    { SCRATCH_RUN, offsetof(struct scratch, run_fd) },
    { SCRATCH_ENDED, offsetof(struct scratch, ended_fd) },
    { SCRATCH_PUBLISHED, offsetof(struct scratch, published_fd) },
    { SCRATCH_LOG, offsetof(struct scratch, log_fd) },
    { SCRATCH_CACHE, offsetof(struct scratch, cache_fd) },
    { SCRATCH_SPARE, offsetof(struct scratch, spare_fd) },
    { SCRATCH_CHECKPOINTS, offsetof(struct scratch, checkpoints_fd) },
};
enum { FOLDERS = sizeof folders / sizeof folders[0] };

static int *fd_of(struct scratch *s, size_t i)
{
    return (int *)(void *)((char *)s + folders[i].fd_offset);
}

static int open_folder(int scratch_fd, const char *name, struct err *e)
{
    int flags, fd = openat(scratch_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *target, *slash;

    if (fd >= 0)
        return fd;
    /* A pilot's cache is a link, and a cleaner may have removed the folder that it leads to. */
    target = io_read_link_at(scratch_fd, name, NULL);
    slash = target == NULL ? NULL : strrchr(target, '/');
    if (slash != NULL) {
        *slash = '\0';
        (void)mkdirat(scratch_fd, target, 0700);
        *slash = '/';
        (void)mkdirat(scratch_fd, target, 0700);
    }
    free(target);
    if (mkdirat(scratch_fd, name, 0700) < 0 && errno != EEXIST)
        return err_sys(e, "create %s", name);
    fd = io_open_dir_at(scratch_fd, name, e);
    /* With this flag ext4 spreads the attempts over the disk, instead of crowding them where it
     * passes over all inodes that were freed lately.  Other file systems do not know it. */
    if (fd >= 0 && strcmp(name, SCRATCH_RUN) == 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_TOPDIR_FL;
        (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
    return fd;
}

void scratch_look(struct scratch *s, const char *path)
{
    *s = (struct scratch){ .path = mem_strdup(path), .fd = io_open_dir(path, NULL) };
    for (size_t i = 0; i < FOLDERS; i++)
        *fd_of(s, i) = s->fd < 0 ? -1 : io_open_dir_at(s->fd, folders[i].name, NULL);
}

int scratch_open(struct scratch *s, const char *path, struct err *e)
{
    *s = (struct scratch){ .path = mem_strdup(path), .fd = -1 };
    for (size_t i = 0; i < FOLDERS; i++)
        *fd_of(s, i) = -1;
    if (io_make_dirs(path, 0700, e) < 0)
        goto fail;
    s->fd = io_open_dir(path, e);
    if (s->fd < 0)
        goto fail;
    for (size_t i = 0; i < FOLDERS; i++) {
        *fd_of(s, i) = open_folder(s->fd, folders[i].name, e);
        if (*fd_of(s, i) < 0)
            goto fail;
    }
    return 0;
fail:
    scratch_close(s);
    return err_wrap(e, "scratch folder %s", path);
}

void scratch_close(struct scratch *s)
{
    for (size_t i = 0; i < FOLDERS; i++) {
        if (*fd_of(s, i) >= 0)
            close(*fd_of(s, i));
        *fd_of(s, i) = -1;
    }
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    free(s->path);
    s->path = NULL;
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

/* Opens a file to overwrite it; removes it and returns -1 if a job has linked or changed it. */
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

int scratch_check_room(const char *path, struct err *e)
{
    struct buf text = { 0 };
    struct statvfs fs;
    int result = 0;

    if (statvfs(path, &fs) < 0 || fs.f_blocks == 0)
        return 0;
    if ((uint64_t)fs.f_bavail * fs.f_frsize < ROOM_BYTES) {
        buf_printf(&text, "scratch %s is full: ", path);
        units_add_size(&text, (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize));
        buf_add_str(&text, " of ");
        units_add_size(&text, (int64_t)((uint64_t)fs.f_blocks * fs.f_frsize));
        result = err_set(e, ERR_NO_SPACE, "%s are free", buf_text(&text));
    } else if (fs.f_files > 0 && fs.f_favail < ROOM_FILES) {
        result =
            err_set(e, ERR_NO_SPACE, "scratch %s can hold no more files: %llu of %llu are free",
                    path, (unsigned long long)fs.f_favail, (unsigned long long)fs.f_files);
    }
    buf_free(&text);
    return result;
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

int scratch_read(int dir_fd, const char *path, const struct schema *schema, struct arena *a,
                 void *to, struct err *e)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct buf bytes = { 0 };
    struct stat st;
    ssize_t n;
    int result = -1;

    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (fstat(fd, &st) < 0) {
        err_sys(e, "stat %s", path);
    } else if (!S_ISREG(st.st_mode) || st.st_size > RECORD_MAX_BYTES) {
        err_set(e, ERR_USAGE, "%s is no record", path);
    } else if ((n = io_read_all(fd, buf_reserve(&bytes, (size_t)st.st_size), (size_t)st.st_size)) <
               0) {
        err_sys(e, "read %s", path);
    } else {
        buf_added(&bytes, (size_t)n);
        result = schema_read(schema, buf_bytes(&bytes), a, to, e);
        if (result < 0)
            err_wrap(e, "%s", path);
    }
    close(fd);
    buf_free(&bytes);
    return result;
}

void scratch_log_end(struct buf *out, int64_t max_bytes)
{
    buf_add_str(out, "\nludwig: this log has reached its limit of ");
    units_add_size(out, max_bytes);
    buf_add_str(out, " (log: max); what the job prints from here on is left out\n");
}

/* Files that most attempts leave: scratch_discard removes them before it lists the folder. */
static const char *const usual_files[] = {
    JOB_ORDER,
    JOB_OUTCOME,
    JOB_PARAM2VAL ".json",
    JOB_PARAM2VAL ".yaml",
    JOB_METRICS,
    JOB_PARAM2VAL ".msgpack",
};

int scratch_discard_checkpoint(const struct scratch *s, const struct token *token, struct err *e)
{
    char hidden[TOKEN_HEX + 1] = "."; /* the name of one that is not complete yet */

    token_hex(token, hidden + 1);
    if (io_remove_tree_at(s->checkpoints_fd, hidden, e) < 0)
        return -1;
    return io_remove_tree_at(s->checkpoints_fd, hidden + 1, e);
}

int scratch_discard(const struct scratch *s, const struct token *token, struct err *e)
{
    char taken[TOKEN_HEX + 1] = ".";
    char *hex = taken + 1;
    int dir_fd, result = 0;

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
    dir_fd = openat(s->published_fd, hex, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir_fd < 0)
        return errno == ENOENT ? result : err_sys(e, "open %s", hex);
    (void)unlinkat(dir_fd, JOB_REPORT, 0);
    CRASH_POINT(discard_begun);
    for (size_t i = 0; i < sizeof usual_files / sizeof usual_files[0]; i++)
        (void)unlinkat(dir_fd, usual_files[i], 0);
    close(dir_fd);
    if (unlinkat(s->published_fd, hex, AT_REMOVEDIR) < 0 &&
        io_remove_tree_at(s->published_fd, hex, e) < 0)
        result = -1;
    return result;
}

void scratch_sweep(const struct scratch *s)
{
    struct err e = { 0 };
    DIR *dir = io_list_dir_at(s->published_fd, ".", &e);
    const struct dirent *entry;

    if (dir == NULL)
        log_event(LOG_WARN, "not-swept", "error", "%s", e.text, NULL);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char *report = mem_printf("%s/%s", entry->d_name, JOB_REPORT);
        bool is_whole = faccessat(s->published_fd, report, F_OK, 0) == 0 || errno != ENOENT;
        struct token token;

        free(report);
        err_clear(&e);
        if (!is_whole && token_parse(entry->d_name, &token) == 0 &&
            scratch_discard(s, &token, &e) < 0)
            log_event(LOG_WARN, "not-discarded", "error", "%s", e.text, NULL);
    }
    if (dir != NULL)
        closedir(dir);
}

/* ---- folders of earlier attempts, used again ---- */

/* Chosen above the number of folders that wait for publication in a burst of short jobs. */
enum { SPARES_MAX = 256 };

/* Begins names of folders being removed; those that runners have taken begin with a dot, too. */
#define DOOMED ".doomed-"

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* with_taken: lists also folders that a runner has taken, or had when it was killed. */
static void list_spares(struct spares *p, const struct scratch *s, bool with_taken)
{
    DIR *dir = io_list_dir_at(s->spare_fd, ".", NULL);
    size_t capacity = 0;
    struct dirent *entry;

    spares_free(p);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (!is_dots(entry->d_name) && (with_taken || entry->d_name[0] != '.')) {
            mem_grow((void **)&p->names, &capacity, p->n, sizeof *p->names);
            p->names[p->n++] = mem_strdup(entry->d_name);
        }
    if (dir != NULL)
        closedir(dir);
}

void spares_free(struct spares *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->names[i]);
    free(p->names);
    *p = (struct spares){ 0 };
}

bool scratch_take_spare(struct spares *p, const struct scratch *s, const char *as)
{
    bool taken = false, is_listed = false;

    while (!taken && (p->n > 0 || !is_listed)) {
        size_t at;
        char *spare;

        if (p->n == 0) {
            list_spares(p, s, false);
            is_listed = true;
            continue;
        }
        at = (size_t)getpid() % p->n; /* so that two runners seldom try the same folder */
        spare = p->names[at];
        p->names[at] = p->names[--p->n];
        taken = renameat(s->spare_fd, spare, s->spare_fd, as) == 0;
        free(spare);
    }
    return taken;
}

bool scratch_is_fresh_dir(int dir_fd, const char *path)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct stat st;
    bool is_ours;
    size_t n = 0;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    is_ours = fstat(fd, &st) == 0 && (st.st_mode & 07777) == JOB_DIR_MODE && st.st_uid == geteuid();
    while (is_ours && n <= 2 && readdir(dir) != NULL)
        n++;
    closedir(dir);
    return is_ours && n == 2;
}

/* Whether the entry stays in a spare folder, as every attempt has this file or empty folder. */
static bool is_kept(int dir_fd, const struct dirent *entry)
{
    static const char *const files[] = { JOB_ORDER,
                                         JOB_OUTCOME ".new",
                                         JOB_REPORT,
                                         JOB_LOG,
                                         JOB_PARAM2VAL ".json",
                                         JOB_PARAM2VAL ".yaml",
                                         JOB_PARAM2VAL ".msgpack" };

    if (entry->d_type == DT_DIR)
        return (strcmp(entry->d_name, JOB_WORK) == 0 || strcmp(entry->d_name, JOB_TMP) == 0 ||
                strcmp(entry->d_name, JOB_CHECKPOINT) == 0) &&
               scratch_is_fresh_dir(dir_fd, entry->d_name);
    for (size_t i = 0; entry->d_type == DT_REG && i < sizeof files / sizeof files[0]; i++)
        if (strcmp(entry->d_name, files[i]) == 0)
            return true;
    return false;
}

/* Empties published/NAME for the next attempt; false: it cannot.  Renames the outcome first, which
 * in run/ would say that the next attempt has ended. */
static bool prepare_spare(const struct scratch *s, const char *name)
{
    int fd = openat(s->published_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is_clean = fd >= 0 && renameat(fd, JOB_OUTCOME, fd, JOB_OUTCOME ".new") == 0;
    DIR *dir = is_clean ? io_list_dir_at(fd, ".", NULL) : NULL;
    struct dirent *entry;
    struct stat st;

    /* The log is kept if it is empty and has no other name. */
    if (is_clean && fstatat(s->log_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!S_ISREG(st.st_mode) || st.st_size > 0 || st.st_nlink > 1 ||
         renameat(s->log_fd, name, fd, JOB_LOG) < 0))
        (void)unlinkat(s->log_fd, name, 0);
    is_clean = dir != NULL;
    while (is_clean && (entry = readdir(dir)) != NULL)
        if (!is_dots(entry->d_name) && !is_kept(fd, entry))
            is_clean = io_remove_tree_at(fd, entry->d_name, NULL) == 0;
    if (dir != NULL)
        closedir(dir);
    if (fd >= 0)
        close(fd);
    return is_clean;
}

bool scratch_keep_spare(const struct scratch *s, const char *name, size_t *count)
{
    struct spares p = { 0 };

    if (*count >= SPARES_MAX) { /* runners may have taken some since the last count */
        list_spares(&p, s, true);
        *count = p.n;
        spares_free(&p);
    }
    if (*count >= SPARES_MAX || !prepare_spare(s, name))
        return false;
    CRASH_POINT(discard_begun);
    if (renameat(s->published_fd, name, s->spare_fd, name) < 0)
        return false;
    ++*count;
    return true;
}

void scratch_clear_spares(const struct scratch *s, size_t *count)
{
    struct spares p = { 0 };

    list_spares(&p, s, true);
    for (size_t i = 0; i < p.n; i++) {
        const char *name = p.names[i];
        bool is_doomed = strncmp(name, DOOMED, strlen(DOOMED)) == 0;
        char *doomed = is_doomed ? mem_strdup(name) : mem_printf(DOOMED "%s", name);

        /* If a runner takes the folder meanwhile, only one of the two renames succeeds. */
        if (is_doomed || (name[0] != '.' && renameat(s->spare_fd, name, s->spare_fd, doomed) == 0))
            (void)io_remove_tree_at(s->spare_fd, doomed, NULL);
        free(doomed);
    }
    spares_free(&p);
    *count = 0;
}
