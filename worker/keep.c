/* SPDX-License-Identifier: MIT */
/* keep.c - a checkpoint folder on its way to the share, piece by piece */

#include "worker/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "worker/orders.h"
#include "worker/saved.h"

enum {
    PIECE_BYTES = 8 * 1024 * 1024,
    WAITED_FOR_BYTES = 1024 * 1024,
    ROUNDS_MAX = 5,
    VANISHED = -1
};

/* ---- looking ---- */

static bool is_not_there(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int open_folder(int run_fd, const char *token_hex, int *fd, struct err *e)
{
    char *path = mem_printf("%s/%s", token_hex, JOB_CHECKPOINT);
    int result = 1;

    *fd = snapshot_open(run_fd, path, O_RDONLY | O_DIRECTORY);
    if (*fd < 0)
        result = is_not_there(errno) || saved_is_foreign(errno) ? 0 : err_sys(e, "open %s", path);
    free(path);
    return result;
}

int keep_open(struct keep *k, int run_fd, const char *token_hex, struct err *e)
{
    int result;

    *k = (struct keep){ .to_fd = -1, .in_fd = -1, .out_fd = -1 };
    result = open_folder(run_fd, token_hex, &k->from_fd, e);
    if (result == 1)
        result = snapshot_take(&k->now, k->from_fd, e) < 0 ? -1 : k->now.n > 0;
    if (result != 1)
        keep_close(k);
    return result;
}

void keep_close(struct keep *k)
{
    close_file(&k->from_fd);
    close_file(&k->to_fd);
    close_file(&k->in_fd);
    close_file(&k->out_fd);
    snapshot_free(&k->now);
    snapshot_free(&k->before);
    free(k->temporary);
    k->temporary = NULL;
}

int keep_digest(const struct keep *k, struct digest *d, struct err *e)
{
    struct buf index = { 0 };
    int result = snapshot_add_index(&index, &k->now, e);

    if (result == 0)
        digest_of(index.bytes, index.n, d);
    buf_free(&index);
    return result;
}

int keep_digest_of(int dir_fd, const char *copy, struct digest *d, struct err *e)
{
    char *path = mem_printf("%s/%s", copy, SNAPSHOT_INDEX);
    int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    uint64_t size_bytes;
    int result = fd < 0 ? err_sys(e, "open %s", path) : digest_of_fd(fd, d, &size_bytes, e);

    if (fd >= 0)
        close(fd);
    free(path);
    return result;
}

/* ---- copying ---- */

int keep_begin(struct keep *k, int dir_fd, const char *temporary, const struct shared_modes *modes,
               struct err *e)
{
    k->dir_fd = dir_fd;
    k->temporary = mem_strdup(temporary);
    k->modes = *modes;
    if (io_remove_tree_at(dir_fd, temporary, e) < 0)
        return -1;
    if (mkdirat(dir_fd, temporary, modes->dir & 0777) < 0)
        return err_sys(e, "create %s", temporary);
    k->to_fd = io_open_dir_at(dir_fd, temporary, e);
    return k->to_fd < 0 ? -1 : 0;
}

/* Equal as far as the copy has it. */
static bool is_copied_as(const struct snapshot_entry *x, const struct snapshot_entry *y)
{
    if (x == NULL || y == NULL || x->type != y->type)
        return false;
    return x->type != SNAPSHOT_FILE ||
           (strcmp(x->path, y->path) == 0 && x->size_bytes == y->size_bytes &&
            x->changed_ns == y->changed_ns && x->inode == y->inode &&
            ((x->mode ^ y->mode) & S_IXUSR) == 0);
}

static void skip(struct keep *k, struct snapshot_entry *entry)
{
    entry->size_bytes = VANISHED; /* not what the next look finds, if it finds it */
    k->at++;
}

static int begin_file(struct keep *k, struct snapshot_entry *entry, struct err *e)
{
    const char *stored = snapshot_stored(entry);
    struct stat st;

    k->in_fd = snapshot_open(k->from_fd, entry->path, O_RDONLY | O_NONBLOCK);
    if (k->in_fd < 0 && !is_not_there(errno) && !saved_is_foreign(errno))
        return err_sys(e, "open %s", entry->path);
    if (k->in_fd < 0 || fstat(k->in_fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close_file(&k->in_fd);
        skip(k, entry);
        return 0;
    }
    k->copied_bytes = 0;
    k->out_fd = openat(k->to_fd, stored, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                       shared_file_mode(&k->modes, (mode_t)entry->mode) & 0777);
    return k->out_fd < 0 ? err_sys(e, "create %s", stored) : 0;
}

static int begin_folder(struct keep *k, const struct snapshot_entry *entry, struct err *e)
{
    const char *stored = snapshot_stored(entry);

    k->at++;
    return mkdirat(k->to_fd, stored, k->modes.dir & 0777) < 0 ? err_sys(e, "create %s", stored) : 0;
}

static int begin_entry(struct keep *k, struct err *e)
{
    struct snapshot_entry *entry = &k->now.entries[k->at];

    if (entry->type == SNAPSHOT_LINK ||
        is_copied_as(entry, snapshot_find(&k->before, snapshot_stored(entry)))) {
        k->at++;
        return 0;
    }
    return entry->type == SNAPSHOT_FILE ? begin_file(k, entry, e) : begin_folder(k, entry, e);
}

static int end_file(struct keep *k, struct err *e)
{
    int fd = k->out_fd;

    k->out_fd = -1;
    close_file(&k->in_fd);
    k->now.entries[k->at++].size_bytes = k->copied_bytes;
    /* What a full or lost share says may only come now. */
    return close(fd) < 0 && errno != EINTR ? err_sys(e, "write %s", k->temporary) : 0;
}

/* Who syncs the share for a small result must not wait for all of a large checkpoint. */
static int wait_for_disk(const struct keep *k, int64_t n_bytes, struct err *e)
{
    const unsigned all =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

    if (n_bytes >= WAITED_FOR_BYTES && sync_file_range(k->out_fd, 0, n_bytes, all) < 0 &&
        (errno == EIO || errno == ENOSPC || errno == EDQUOT))
        return err_sys(e, "write %s", k->temporary); /* it is said only once */
    return 0;
}

/* What was written to it meanwhile is for the next round: it may never end. */
static int copy_piece(struct keep *k, struct err *e)
{
    int64_t left_bytes = k->now.entries[k->at].size_bytes - k->copied_bytes;
    uint64_t copied_bytes = 0;

    if (left_bytes > 0 &&
        io_copy_some(k->in_fd, k->out_fd,
                     left_bytes < PIECE_BYTES ? (uint64_t)left_bytes : PIECE_BYTES, &copied_bytes,
                     e) < 0)
        return err_wrap(e, "copy %s", k->now.entries[k->at].path);
    if (copied_bytes == 0)
        return wait_for_disk(k, k->copied_bytes, e) < 0 ? -1 : end_file(k, e);
    k->copied_bytes += (int64_t)copied_bytes;
    /* The disk is at one piece while the next is copied. */
    (void)sync_file_range(k->out_fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return wait_for_disk(k, k->copied_bytes - (int64_t)copied_bytes, e);
}

/* ---- rounds ---- */

/* What is in a folder before the folder. */
static int remove_stale(struct keep *k, struct err *e)
{
    for (size_t i = k->before.n; i-- > 0;) {
        const struct snapshot_entry *was = &k->before.entries[i];
        const char *stored = snapshot_stored(was);

        if (was->type == SNAPSHOT_LINK || was->size_bytes == VANISHED ||
            is_copied_as(was, snapshot_find(&k->now, stored)))
            continue;
        if (unlinkat(k->to_fd, stored, was->type == SNAPSHOT_FOLDER ? AT_REMOVEDIR : 0) < 0)
            return err_sys(e, "remove %s", stored);
    }
    return 0;
}

static int begin_round(struct keep *k, struct snapshot *seen, struct err *e)
{
    if (++k->round == ROUNDS_MAX || seen->n == 0) {
        snapshot_free(seen);
        return err_set(e, ERR_BUSY, "the job does not stop changing its checkpoint");
    }
    snapshot_free(&k->before);
    k->before = k->now;
    k->now = *seen;
    k->at = 0;
    return remove_stale(k, e) < 0 ? -1 : 1;
}

static int write_index(struct keep *k, struct err *e)
{
    struct buf index = { 0 };
    int result = snapshot_add_index(&index, &k->now, e);

    if (result == 0)
        result = io_write_file_at(k->to_fd, SNAPSHOT_INDEX, index.bytes, index.n, k->modes.file, e);
    buf_free(&index);
    return result;
}

static int end_round(struct keep *k, struct err *e)
{
    struct snapshot seen;

    if (snapshot_take(&seen, k->from_fd, e) < 0)
        return -1;
    if (!snapshot_is_untouched(&seen, &k->now))
        return begin_round(k, &seen, e);
    snapshot_free(&seen);
    return write_index(k, e);
}

int keep_go_on(struct keep *k, struct err *e)
{
    if (k->out_fd >= 0)
        return copy_piece(k, e) < 0 ? -1 : 1;
    if (k->at < k->now.n)
        return begin_entry(k, e) < 0 ? -1 : 1;
    return end_round(k, e);
}

/* ---- what must be durable ---- */

static void call(const struct keep *k, const char *name,
                 void (*each)(void *context, const char *path), void *context)
{
    char *path = mem_printf("%s/%s", k->temporary, name);

    each(context, path);
    free(path);
}

void keep_each_path(const struct keep *k, void (*each)(void *context, const char *path),
                    void *context)
{
    for (size_t i = 0; i < k->now.n; i++)
        if (k->now.entries[i].type != SNAPSHOT_LINK)
            call(k, snapshot_stored(&k->now.entries[i]), each, context);
    call(k, SNAPSHOT_INDEX, each, context);
    each(context, k->temporary);
}
