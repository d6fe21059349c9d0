/* SPDX-License-Identifier: MIT */
/* checkpoint_restore.c - brings the checkpoint that an attempt goes on from to scratch */

#include "worker/stager/checkpoint_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/proto/layout.h"
#include "worker/base/scratch.h"
#include "worker/saved/checkpoint.h"
#include "common/share/share_project.h"

/* The publisher of an attempt that still runs replaces its checkpoint by newer ones, which may
 * happen while it is read here; but not for ever. */
enum { TRIES_MAX = 10, INDEX_MAX_BYTES = 1 << 30 };

/* Makes of the copy on the share the folder as the job left it.  Other users cannot enter the
 * folder until all is there. */
static int fill_restored(const struct share_dir *from, const struct checkpoint_snapshot *s,
                         int to_fd, struct err *e)
{
    struct share_item *items = mem_alloc(s->n * sizeof *items);
    size_t n = 0;
    int result;

    for (size_t i = 0; i < s->n; i++) {
        const struct checkpoint_entry *x = &s->entries[i];
        bool is_file = x->type == CHECKPOINT_FILE;

        if (x->type != CHECKPOINT_LINK)
            items[n++] = (struct share_item){ .type = is_file ? SHARE_FILE : SHARE_FOLDER,
                                              .from = checkpoint_stored(x),
                                              .to = x->path,
                                              .mode = is_file ? 0600 : 0700,
                                              .size_bytes = x->size_bytes };
    }
    result = share_copy_out(from, to_fd, items, n, e);
    free(items);
    /* Symlinks are made last, so that no file is written through one. */
    for (size_t i = 0; i < s->n && result == 0; i++)
        if (s->entries[i].type == CHECKPOINT_LINK &&
            symlinkat(s->entries[i].target, to_fd, s->entries[i].path) < 0)
            result = err_sys(e, "create %s", s->entries[i].path);
    /* A folder gets its mode after its entries, as that mode may forbid to change them. */
    for (size_t i = s->n; i-- > 0 && result == 0;) {
        const struct checkpoint_entry *x = &s->entries[i];
        const struct timespec changed = { .tv_sec = x->changed_ns / 1000000000,
                                          .tv_nsec = x->changed_ns % 1000000000 };
        const struct timespec times[2] = { changed, changed };

        if ((x->type == CHECKPOINT_FILE &&
             utimensat(to_fd, x->path, times, AT_SYMLINK_NOFOLLOW) < 0) ||
            (x->type != CHECKPOINT_LINK && fchmodat(to_fd, x->path, (mode_t)x->mode, 0) < 0))
            result = err_sys(e, "restore %s", x->path);
    }
    if (result == 0 && fchmod(to_fd, JOB_DIR_MODE) < 0)
        result = err_sys(e, "restore a checkpoint");
    return result;
}

/* Brings one checkpoint to checkpoints/<hex>.  The folder gets that name when it is whole. */
static int restore_as(const struct scratch *s, const struct share_dir *from, const char *hex,
                      struct err *e)
{
    struct checkpoint_snapshot snapshot = { .n = 0 };
    struct buf index = { 0 };
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
    result = share_read(from, CHECKPOINT_INDEX, INDEX_MAX_BYTES, &index, e);
    if (result == 0)
        result = checkpoint_snapshot_read_index(&snapshot, buf_bytes(&index), e);
    if (result == 0)
        result = fill_restored(from, &snapshot, to_fd, e);
    checkpoint_snapshot_free(&snapshot);
    buf_free(&index);
    close(to_fd);
    if (result == 0 && renameat(s->checkpoints_fd, hidden, s->checkpoints_fd, hex) < 0)
        result = err_sys(e, "name a checkpoint");
    /* Half a checkpoint may have filled the disk, and must not stay. */
    if (result < 0)
        (void)io_remove_tree_at(s->checkpoints_fd, hidden, NULL);
    return result;
}

/* ---- the newest checkpoint ---- */
/* Brings the checkpoint of this name: 1; 0 when it cannot be used, as it was removed meanwhile
 * (*is_gone) or is damaged; -1 with e set when the share may answer later. */
static int restore_kept(const struct scratch *s, const struct share_dir *d, const char *hex,
                        const char *name, bool *is_gone, struct err *e)
{
    struct err why = { 0 };
    struct share_stat st;
    struct share_dir *from = NULL;
    int result = -1;

    if (share_stat(d, name, &st, &why) == 0 && st.type != SHARE_FOLDER) /* nor a symlink */
        err_set(&why, ERR_USAGE, "%s is no folder", name);
    else if (why.kind == ERR_NONE)
        from = share_open_dir(d, name, &why);
    if (from != NULL)
        result = restore_as(s, from, hex, &why);
    share_close(from);
    if (result == 0)
        return 1;
    switch (why.kind) {
    case ERR_NOT_FOUND:
    case ERR_PROTOCOL:
    case ERR_EXISTS:
    case ERR_DENIED:
    case ERR_USAGE: break; /* trying again would not help */
    default: return err_set(e, why.kind, "checkpoint %s: %s", name, why.text);
    }
    err_clear(e);
    *is_gone = share_stat(d, name, &st, e) < 0 && e->kind == ERR_NOT_FOUND;
    err_clear(e);
    if (!*is_gone)
        log_event(LOG_WARN, "checkpoint-damaged", "name", "%s", name, "why", "%s", why.text, NULL);
    return 0;
}

static int restore_newest(const struct scratch *s, const struct share_dir *d,
                          const struct order_restore *x, const char *hex, struct err *e)
{
    const struct checkpoint_name before = { x->attempt - 1, CHECKPOINT_AT_END };
    struct checkpoint_name up_to = before, newest;
    int rc = 0;

    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct buf name = { 0 };
        bool is_gone = false;

        rc = checkpoint_find_newest(d, x->job_name, &up_to, &newest, e);
        if (rc <= 0)
            return rc;
        checkpoint_add_name(&name, x->job_name, &newest);
        rc = restore_kept(s, d, hex, buf_text(&name), &is_gone, e);
        buf_free(&name);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
        up_to = is_gone ? before : (struct checkpoint_name){ newest.attempt, newest.number - 1 };
    }
    return err_set(e, ERR_BUSY, "the checkpoints of %s do not stop changing", x->job_name);
}

/* Opens the folder with the checkpoints of the configuration: 1; 0 when there is none.  A
 * network file system may say for half a minute that a new folder is not there: its parents'
 * listings tell. */
static int open_checkpoints(const struct share_dir *share, const struct order_restore *x,
                            struct share_dir **d, struct err *e)
{
    struct buf path = { 0 };
    struct share_modes modes;
    struct share_dir *project = share_project_open_project(share, x->project, &modes, e);
    struct err why = { 0 };
    int result = -1;

    if (project == NULL)
        return -1;
    layout_checkpoints(&path, x->project, x->param_name);
    *d = share_open_dir(share, buf_text(&path), &why);
    if (*d != NULL)
        result = 1;
    else if (why.kind == ERR_NOT_FOUND &&
             !(share_project_is_listed(project, LAYOUT_SERVER_DIR, "checkpoints") &&
               share_project_is_listed(project, LAYOUT_SERVER_DIR "/checkpoints", x->param_name)))
        result = 0;
    else
        err_set(e, why.kind, "%s", why.text);
    share_close(project);
    buf_free(&path);
    return result;
}

/* Checkpoints that the user may not read are not waited for: the job begins anew. */
int checkpoint_restore(const struct scratch *s, struct shares *access,
                       const struct order_restore *x, struct err *e)
{
    struct err why = { 0 };
    struct share_dir *share, *d;
    char hex[TOKEN_HEX];
    int rc;

    token_hex(&x->token, hex);
    if (faccessat(s->checkpoints_fd, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    share = share_open(access, x->share, e);
    if (share == NULL)
        return -1;
    rc = open_checkpoints(share, x, &d, &why);
    if (rc == 1) {
        rc = restore_newest(s, d, x, hex, &why);
        share_close(d);
    }
    share_close(share);
    if (rc == 0)
        return 0;
    if (why.kind != ERR_DENIED)
        return err_set(e, why.kind, "%s", why.text);
    log_event(LOG_WARN, "checkpoint-not-read", "why", "%s", why.text, NULL);
    return 0;
}
