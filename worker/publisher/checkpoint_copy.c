/* SPDX-License-Identifier: MIT */
/* checkpoint_copy.c - a checkpoint folder on its way to the share, piece by piece */

#include "worker/publisher/checkpoint_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "worker/base/child_protocol.h"
#include "worker/saved/saved.h"

enum { PIECE_BYTES = 8 * 1024 * 1024, INDEX_MAX_BYTES = 1 << 30, ROUNDS_MAX = 5, VANISHED = -1 };

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

    *fd = io_open_no_links(run_fd, path, O_RDONLY | O_DIRECTORY);
    if (*fd < 0)
        result = is_not_there(errno) || saved_is_foreign(errno) ? 0 : err_sys(e, "open %s", path);
    free(path);
    return result;
}

int checkpoint_copy_open(struct checkpoint_copy *k, int run_fd, const char *token_hex,
                         struct err *e)
{
    int result;

    *k = (struct checkpoint_copy){ .in_fd = -1 };
    result = open_folder(run_fd, token_hex, &k->from_fd, e);
    if (result == 1)
        result = checkpoint_snapshot_take(&k->now, k->from_fd, e) < 0 ? -1 : k->now.n > 0;
    if (result != 1)
        checkpoint_copy_close(k);
    return result;
}

void checkpoint_copy_close(struct checkpoint_copy *k)
{
    close_file(&k->from_fd);
    close_file(&k->in_fd);
    if (k->out != NULL)
        (void)share_end(k->out, NULL);
    share_close(k->to);
    k->out = NULL;
    k->to = NULL;
    checkpoint_snapshot_free(&k->now);
    checkpoint_snapshot_free(&k->before);
    free(k->temporary);
    k->temporary = NULL;
}

int checkpoint_copy_digest(const struct checkpoint_copy *k, struct digest *d, struct err *e)
{
    struct buf index = { 0 };
    int result = checkpoint_snapshot_add_index(&index, &k->now, e);

    if (result == 0)
        digest_of(index.bytes, index.n, d);
    buf_free(&index);
    return result;
}

int checkpoint_copy_digest_of(const struct share_dir *at, const char *copy, struct digest *d,
                              struct err *e)
{
    char *path = mem_printf("%s/%s", copy, CHECKPOINT_SNAPSHOT_INDEX);
    struct buf index = { 0 };
    int result = share_read(at, path, INDEX_MAX_BYTES, &index, e);

    if (result == 0)
        digest_of(index.bytes, index.n, d);
    buf_free(&index);
    free(path);
    return result;
}

/* ---- copying ---- */

int checkpoint_copy_begin(struct checkpoint_copy *k, const struct share_dir *at,
                          const char *temporary, const struct share_modes *modes, struct err *e)
{
    k->temporary = mem_strdup(temporary);
    k->modes = *modes;
    if (share_remove_tree(at, temporary, e) < 0 || share_make_dir(at, temporary, modes->dir, e) < 0)
        return -1;
    k->to = share_open_dir(at, temporary, e);
    return k->to == NULL ? -1 : 0;
}

/* Equal as far as the copy has it. */
static bool is_copied_as(const struct checkpoint_snapshot_entry *x,
                         const struct checkpoint_snapshot_entry *y)
{
    if (x == NULL || y == NULL || x->type != y->type)
        return false;
    return x->type != CHECKPOINT_SNAPSHOT_FILE ||
           (strcmp(x->path, y->path) == 0 && x->size_bytes == y->size_bytes &&
            x->changed_ns == y->changed_ns && x->inode == y->inode &&
            ((x->mode ^ y->mode) & S_IXUSR) == 0);
}

static void skip(struct checkpoint_copy *k, struct checkpoint_snapshot_entry *entry)
{
    entry->size_bytes = VANISHED; /* not what the next look finds, if it finds it */
    k->at++;
}

static int begin_file(struct checkpoint_copy *k, struct checkpoint_snapshot_entry *entry,
                      struct err *e)
{
    struct stat st;

    k->in_fd = io_open_no_links(k->from_fd, entry->path, O_RDONLY | O_NONBLOCK);
    if (k->in_fd < 0 && !is_not_there(errno) && !saved_is_foreign(errno))
        return err_sys(e, "open %s", entry->path);
    if (k->in_fd < 0 || fstat(k->in_fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close_file(&k->in_fd);
        skip(k, entry);
        return 0;
    }
    k->copied_bytes = 0;
    k->out = share_create(k->to, checkpoint_snapshot_stored(entry),
                          share_project_file_mode(&k->modes, (mode_t)entry->mode), e);
    return k->out == NULL ? -1 : 0;
}

static int begin_folder(struct checkpoint_copy *k, const struct checkpoint_snapshot_entry *entry,
                        struct err *e)
{
    k->at++;
    return share_make_dir(k->to, checkpoint_snapshot_stored(entry), k->modes.dir, e);
}

static int begin_entry(struct checkpoint_copy *k, struct err *e)
{
    struct checkpoint_snapshot_entry *entry = &k->now.entries[k->at];

    if (entry->type == CHECKPOINT_SNAPSHOT_LINK ||
        is_copied_as(entry,
                     checkpoint_snapshot_find(&k->before, checkpoint_snapshot_stored(entry)))) {
        k->at++;
        return 0;
    }
    return entry->type == CHECKPOINT_SNAPSHOT_FILE ? begin_file(k, entry, e)
                                                   : begin_folder(k, entry, e);
}

static int end_file(struct checkpoint_copy *k, struct err *e)
{
    struct share_file *out = k->out;

    k->out = NULL;
    close_file(&k->in_fd);
    k->now.entries[k->at++].size_bytes = k->copied_bytes;
    return share_end(out, e);
}

/* What was written to it meanwhile is for the next round: it may never end. */
static int copy_piece(struct checkpoint_copy *k, struct err *e)
{
    int64_t left_bytes = k->now.entries[k->at].size_bytes - k->copied_bytes;
    uint64_t max_bytes = left_bytes <= 0            ? 0
                         : left_bytes < PIECE_BYTES ? (uint64_t)left_bytes
                                                    : PIECE_BYTES;
    uint64_t copied_bytes;

    if (share_put(k->out, k->in_fd, max_bytes, &copied_bytes, e) < 0)
        return -1;
    k->copied_bytes += (int64_t)copied_bytes;
    return copied_bytes == 0 ? end_file(k, e) : 0;
}

/* ---- rounds ---- */

/* What is in a folder before the folder. */
static int remove_stale(struct checkpoint_copy *k, struct err *e)
{
    for (size_t i = k->before.n; i-- > 0;) {
        const struct checkpoint_snapshot_entry *was = &k->before.entries[i];
        const char *stored = checkpoint_snapshot_stored(was);

        if (was->type == CHECKPOINT_SNAPSHOT_LINK || was->size_bytes == VANISHED ||
            is_copied_as(was, checkpoint_snapshot_find(&k->now, stored)))
            continue;
        if ((was->type == CHECKPOINT_SNAPSHOT_FOLDER ? share_remove_dir
                                                     : share_remove_file)(k->to, stored, e) < 0)
            return -1;
    }
    return 0;
}

static int begin_round(struct checkpoint_copy *k, struct checkpoint_snapshot *seen, struct err *e)
{
    if (++k->round == ROUNDS_MAX || seen->n == 0) {
        checkpoint_snapshot_free(seen);
        return err_set(e, ERR_BUSY, "the job does not stop changing its checkpoint");
    }
    checkpoint_snapshot_free(&k->before);
    k->before = k->now;
    k->now = *seen;
    k->at = 0;
    return remove_stale(k, e) < 0 ? -1 : 1;
}

static int write_index(struct checkpoint_copy *k, struct err *e)
{
    struct buf index = { 0 };
    int result = checkpoint_snapshot_add_index(&index, &k->now, e);

    if (result == 0)
        result =
            share_write(k->to, CHECKPOINT_SNAPSHOT_INDEX, index.bytes, index.n, k->modes.file, e);
    buf_free(&index);
    return result;
}

static int end_round(struct checkpoint_copy *k, struct err *e)
{
    struct checkpoint_snapshot seen;

    if (checkpoint_snapshot_take(&seen, k->from_fd, e) < 0)
        return -1;
    if (!checkpoint_snapshot_is_untouched(&seen, &k->now))
        return begin_round(k, &seen, e);
    checkpoint_snapshot_free(&seen);
    return write_index(k, e);
}

int checkpoint_copy_go_on(struct checkpoint_copy *k, struct err *e)
{
    if (k->out != NULL)
        return copy_piece(k, e) < 0 ? -1 : 1;
    if (k->at < k->now.n)
        return begin_entry(k, e) < 0 ? -1 : 1;
    return end_round(k, e);
}

/* ---- what must be durable ---- */

static void call(const struct checkpoint_copy *k, const char *name,
                 void (*each)(void *context, const char *path), void *context)
{
    char *path = mem_printf("%s/%s", k->temporary, name);

    each(context, path);
    free(path);
}

void checkpoint_copy_each_path(const struct checkpoint_copy *k,
                               void (*each)(void *context, const char *path), void *context)
{
    for (size_t i = 0; i < k->now.n; i++)
        if (k->now.entries[i].type != CHECKPOINT_SNAPSHOT_LINK)
            call(k, checkpoint_snapshot_stored(&k->now.entries[i]), each, context);
    call(k, CHECKPOINT_SNAPSHOT_INDEX, each, context);
    each(context, k->temporary);
}
