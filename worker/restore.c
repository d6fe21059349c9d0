/* SPDX-License-Identifier: MIT */
/* restore.c - brings the checkpoint that an attempt goes on from to scratch */

#include "worker/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "common/layout.h"
#include "common/log.h"
#include "worker/kept.h"
#include "worker/shared.h"
#include "worker/snapshot.h"
#include "worker/spare.h"

/* One that is copied while its attempt still runs may be replaced under us, but not for ever. */
enum { TRIES_MAX = 10, INDEX_MAX_BYTES = 1 << 30 };

/* ---- one copy ---- */

static int damaged(const char *path, struct err *e)
{
    return err_set(e, ERR_PROTOCOL, "%s is not what the index says", path);
}

static int open_file(const struct snapshot_entry *entry, int from_fd, struct err *e)
{
    const char *stored = snapshot_stored(entry);
    int fd = snapshot_open(from_fd, stored, O_RDONLY | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return errno == ELOOP ? damaged(stored, e) : err_sys(e, "open %s", stored);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == entry->size_bytes)
        return fd;
    close(fd);
    return damaged(stored, e);
}

static int fill_file(const struct snapshot_entry *entry, int in, int out, struct err *e)
{
    const struct timespec changed = { .tv_sec = entry->changed_ns / 1000000000,
                                      .tv_nsec = entry->changed_ns % 1000000000 };
    const struct timespec times[2] = { changed, changed };
    uint64_t copied_bytes;

    if (io_copy_fd(in, out, &copied_bytes, e) < 0)
        return err_wrap(e, "copy %s", entry->path);
    if ((int64_t)copied_bytes != entry->size_bytes)
        return damaged(entry->path, e);
    if (futimens(out, times) < 0 || fchmod(out, (mode_t)entry->mode) < 0)
        return err_sys(e, "restore %s", entry->path);
    return 0;
}

static int restore_file(const struct snapshot_entry *entry, int from_fd, int to_fd, struct err *e)
{
    int in = open_file(entry, from_fd, e);
    int out, result = -1;

    if (in < 0)
        return -1;
    out = openat(to_fd, entry->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        err_sys(e, "create %s", entry->path);
    else
        result = fill_file(entry, in, out, e);
    if (out >= 0 && close(out) < 0 && result == 0 && errno != EINTR)
        result = err_sys(e, "write %s", entry->path);
    close(in);
    return result;
}

static int restore_entry(const struct snapshot_entry *entry, int from_fd, int to_fd, struct err *e)
{
    if (entry->type == SNAPSHOT_FILE)
        return restore_file(entry, from_fd, to_fd, e);
    if (entry->type == SNAPSHOT_FOLDER && mkdirat(to_fd, entry->path, 0700) < 0)
        return err_sys(e, "create %s", entry->path);
    return 0;
}

/* Last, so that nothing is written through one. */
static int restore_links(const struct snapshot *s, int to_fd, struct err *e)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].type == SNAPSHOT_LINK &&
            symlinkat(s->entries[i].target, to_fd, s->entries[i].path) < 0)
            return err_sys(e, "create %s", s->entries[i].path);
    return 0;
}

/* What is in a folder before the folder, which may close it. */
static int restore_modes(const struct snapshot *s, int to_fd, struct err *e)
{
    for (size_t i = s->n; i-- > 0;)
        if (s->entries[i].type == SNAPSHOT_FOLDER &&
            fchmodat(to_fd, s->entries[i].path, (mode_t)s->entries[i].mode, 0) < 0)
            return err_sys(e, "restore %s", s->entries[i].path);
    return fchmod(to_fd, JOB_DIR_MODE) < 0 ? err_sys(e, "restore it") : 0;
}

static int read_index(int from_fd, struct snapshot *s, struct err *e)
{
    struct buf index = { 0 };
    int result = io_read_file_at(from_fd, SNAPSHOT_INDEX, INDEX_MAX_BYTES, &index, e);

    if (result == 0)
        result = snapshot_read_index(s, buf_bytes(&index), e);
    buf_free(&index);
    return result;
}

static int fill(int from_fd, int to_fd, struct err *e)
{
    struct snapshot s = { .n = 0 };
    int result = read_index(from_fd, &s, e);

    for (size_t i = 0; result == 0 && i < s.n; i++)
        result = restore_entry(&s.entries[i], from_fd, to_fd, e);
    if (result == 0)
        result = restore_links(&s, to_fd, e);
    if (result == 0)
        result = restore_modes(&s, to_fd, e);
    snapshot_free(&s);
    return result;
}

/* It gets its name when it is whole. */
static int restore_as(const struct scratch *s, int from_fd, const char *hex, struct err *e)
{
    char hidden[TOKEN_HEX + 1];
    int to_fd, result;

    snprintf(hidden, sizeof hidden, ".%s", hex);
    if (io_remove_tree_at(s->checkpoints_fd, hidden, e) < 0)
        return -1;
    if (mkdirat(s->checkpoints_fd, hidden, 0700) < 0)
        return err_sys(e, "create %s", SCRATCH_CHECKPOINTS);
    to_fd = io_open_dir_at(s->checkpoints_fd, hidden, e);
    if (to_fd < 0)
        return -1;
    result = fill(from_fd, to_fd, e);
    close(to_fd);
    if (result == 0 && renameat(s->checkpoints_fd, hidden, s->checkpoints_fd, hex) < 0)
        result = err_sys(e, "name a checkpoint");
    /* What did not fit must not stay in the way of what would. */
    if (result < 0)
        (void)io_remove_tree_at(s->checkpoints_fd, hidden, NULL);
    return result;
}

/* ---- the newest ---- */

/* What will be no better the next time. */
static bool is_final(const struct err *e)
{
    return e->kind == ERR_NOT_FOUND || e->kind == ERR_PROTOCOL || e->kind == ERR_EXISTS ||
           e->kind == ERR_DENIED || e->kind == ERR_USAGE;
}

/* 1 when it is there, 0 when it has gone or is damaged: *is_gone says which. */
static int restore_kept(const struct scratch *s, int dir_fd, const char *hex, const char *name,
                        bool *is_gone, struct err *e)
{
    struct err why = { 0 };
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int result = -1;

    if (fd < 0)
        err_sys(&why, "open %s", name);
    else
        result = restore_as(s, fd, hex, &why);
    if (fd >= 0)
        close(fd);
    if (result == 0)
        return 1;
    if (!is_final(&why))
        return err_set(e, why.kind, "checkpoint %s: %s", name, why.text);
    *is_gone = faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
    if (!*is_gone)
        log_event(LOG_WARN, "checkpoint-damaged", "name", "%s", name, "why", "%s", why.text, NULL);
    return 0;
}

static int restore_newest(const struct scratch *s, int dir_fd, const struct order_restore *x,
                          const char *hex, struct err *e)
{
    const struct kept before = { x->attempt - 1, KEPT_AT_END };
    struct kept up_to = before, newest;
    int rc = 0;

    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct buf name = { 0 };
        bool is_gone = false;

        rc = kept_newest(dir_fd, x->job_name, &up_to, &newest, e);
        if (rc <= 0)
            return rc;
        kept_add_name(&name, x->job_name, &newest);
        rc = restore_kept(s, dir_fd, hex, buf_text(&name), &is_gone, e);
        buf_free(&name);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
        up_to = is_gone ? before : (struct kept){ newest.attempt, newest.number - 1 };
    }
    return err_set(e, ERR_BUSY, "the checkpoints of %s do not stop changing", x->job_name);
}

/* ---- where they lie ---- */

static bool are_listed(int project_fd, const char *param_name)
{
    return shared_is_listed(project_fd, LAYOUT_SERVER_DIR, "checkpoints") &&
           shared_is_listed(project_fd, LAYOUT_SERVER_DIR "/checkpoints", param_name);
}

/* The folder of the configuration's checkpoints: 1; 0 when there is none. */
static int open_checkpoints(int share_fd, const struct order_restore *x, int *fd, struct err *e)
{
    struct buf path = { 0 };
    struct shared_modes modes;
    int project_fd = shared_open_project(share_fd, x->project, &modes, e);
    int result = -1;

    if (project_fd < 0)
        return -1;
    layout_checkpoints(&path, x->project, x->param_name);
    *fd = openat(share_fd, buf_text(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd >= 0)
        result = 1;
    else if (errno == ENOENT && !are_listed(project_fd, x->param_name))
        result = 0;
    else
        err_sys(e, "open %s", buf_text(&path));
    close(project_fd);
    buf_free(&path);
    return result;
}

static int restore_from(const struct scratch *s, int share_fd, const struct order_restore *x,
                        const char *hex, struct err *e)
{
    int dir_fd;
    int rc = open_checkpoints(share_fd, x, &dir_fd, e);

    if (rc == 1) {
        rc = restore_newest(s, dir_fd, x, hex, e);
        close(dir_fd);
    }
    return rc;
}

/* What we may not read is not waited for. */
int restore_checkpoint(const struct scratch *s, const struct order_restore *x, struct err *e)
{
    struct err why = { 0 };
    char hex[TOKEN_HEX];
    int share_fd, rc;

    token_hex(&x->token, hex);
    if (faccessat(s->checkpoints_fd, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    share_fd = shared_open(x->share, e);
    if (share_fd < 0)
        return -1;
    rc = restore_from(s, share_fd, x, hex, &why);
    close(share_fd);
    if (rc == 0)
        return 0;
    if (why.kind != ERR_DENIED)
        return err_set(e, why.kind, "%s", why.text);
    log_event(LOG_WARN, "checkpoint-not-read", "why", "%s", why.text, NULL);
    return 0;
}
