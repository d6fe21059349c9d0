/* SPDX-License-Identifier: MIT */
/* checkpoint_restore.c - brings the checkpoint that an attempt goes on from to scratch */

#include "worker/stager/checkpoint_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/log.h"
#include "common/proto/jobspec.h"
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
            beneath_make_link(s->entries[i].target, to_fd, s->entries[i].path) < 0)
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

/* ---- whose it is ---- */

/* Over SFTP: whether uid is that of the account as which we make folders, by making one. */
static bool is_of_our_account(const struct share_dir *d, const char *hex, int64_t uid)
{
    char *probe = mem_printf(".owner.%s", hex);
    struct share_stat st;
    bool is = share_make_dir(d, probe, 0700, NULL) == 0 && share_stat(d, probe, &st, NULL) == 0 &&
              st.uid == uid;

    (void)share_remove_dir(d, probe, NULL);
    free(probe);
    return is;
}

/* Whether only the project's owner, or the service account that we are, can have made what lies in
 * from: members of the project's group may put folders there, and programs trust what they load. */
static bool is_trusted(const struct share_dir *d, const struct share_dir *from, int64_t owner,
                       const char *hex)
{
    struct share_stat st;

    if (share_fd(from) >= 0 && !fs_type_of_fd(share_fd(from)).keeps_owners)
        return true;
    if (share_stat(from, "", &st, NULL) < 0)
        return false;
    if (st.uid == owner)
        return (st.mode & (S_IWGRP | S_IWOTH)) == 0;
    return share_fd(from) >= 0 ? st.uid == (int64_t)geteuid() : is_of_our_account(d, hex, st.uid);
}

/* ---- the newest checkpoint ---- */

/* Where the checkpoints of a configuration lie. */
struct kept {
    struct share_dir *dir;
    int64_t owner; /* of the project */
};

/* Brings the checkpoint of this name.  Returns 1; 0 when it cannot be used, as it was removed
 * meanwhile (*is_gone) or is damaged; -1 with e set when the share may answer later. */
static int restore_kept(const struct scratch *s, const struct kept *k, const char *hex,
                        const char *name, bool *is_gone, struct err *e)
{
    const struct share_dir *d = k->dir;
    struct err why = { 0 };
    struct share_stat st;
    struct share_dir *from = NULL;
    int result = -1;

    if (share_stat(d, name, &st, &why) == 0 && st.type != SHARE_FOLDER) /* nor a symlink */
        err_set(&why, ERR_USAGE, "%s is no folder", name);
    else if (why.kind == ERR_NONE)
        from = share_open_dir(d, name, &why);
    if (from != NULL && !is_trusted(d, from, k->owner, hex))
        err_set(&why, ERR_DENIED, "others than the project's owner may have written it");
    else if (from != NULL)
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

/* Brings the newest checkpoint of earlier attempts.  Returns 1, 0 when there is none, -1. */
static int restore_newest(const struct scratch *s, const struct kept *k,
                          const struct order_restore *x, const char *hex, struct err *e)
{
    const struct checkpoint_name before = { x->attempt - 1, CHECKPOINT_AT_END };
    struct checkpoint_name up_to = before, newest;
    int rc = 0;

    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct buf name = { 0 };
        bool is_gone = false;

        rc = checkpoint_find_newest(k->dir, x->job_name, &up_to, &newest, e);
        if (rc <= 0)
            return rc;
        checkpoint_add_name(&name, x->job_name, &newest);
        rc = restore_kept(s, k, hex, buf_text(&name), &is_gone, e);
        buf_free(&name);
        if (rc != 0)
            return rc;
        up_to = is_gone ? before : (struct checkpoint_name){ newest.attempt, newest.number - 1 };
    }
    return err_set(e, ERR_BUSY, "the checkpoints of %s do not stop changing", x->job_name);
}

/* Brings what the job `from` left at its end.  Returns 1, 0 when that is not there, -1.  Asks for
 * that name alone: a network file system may list a folder as it was half a minute ago. */
static int restore_origin(const struct scratch *s, const struct kept *k,
                          const struct checkpoint_origin *from, const char *hex, struct err *e)
{
    struct buf name = { 0 };
    bool is_gone;
    int rc;

    checkpoint_add_name(&name, from->job_name,
                        &(struct checkpoint_name){ from->attempt, CHECKPOINT_AT_END });
    rc = restore_kept(s, k, hex, buf_text(&name), &is_gone, e);
    buf_free(&name);
    return rc;
}

/* Opens the folder with the checkpoints of a configuration.  Returns 1, 0 when there is none, -1. A
 * network file system may say for half a minute that a new folder is not there: its parents'
 * listings tell. */
static int open_checkpoints(const struct share_dir *share, const char *project_name,
                            const char *param_name, struct kept *k, struct err *e)
{
    struct buf path = { 0 };
    struct share_modes modes;
    struct share_dir *project = share_project_open_project(share, project_name, &modes, e);
    struct err why = { 0 };
    int result = -1;

    if (project == NULL)
        return -1;
    layout_checkpoints(&path, project_name, param_name);
    *k = (struct kept){ share_open_dir(share, buf_text(&path), &why), modes.owner };
    if (k->dir != NULL)
        result = 1;
    else if (why.kind == ERR_NOT_FOUND &&
             !(share_project_is_listed(project, LAYOUT_SERVER_DIR, "checkpoints") &&
               share_project_is_listed(project, LAYOUT_SERVER_DIR "/checkpoints", param_name)))
        result = 0;
    else
        err_set(e, why.kind, "%s", why.text);
    share_close(project);
    buf_free(&path);
    return result;
}

/* Brings the newest checkpoint of the job's earlier attempts (is_own), or that of the job that it
 * goes on from.  Returns 1, 0 when there is none, -1.  One that the user may not read is none. */
static int restore_of(const struct scratch *s, const struct share_dir *share,
                      const struct order_restore *x, bool is_own, struct err *e)
{
    struct err why = { 0 };
    char hex[TOKEN_HEX];
    struct kept k;
    int rc =
        open_checkpoints(share, x->project, is_own ? x->param_name : x->from.param_name, &k, &why);

    token_hex(&x->token, hex);
    if (rc == 1) {
        rc = is_own ? restore_newest(s, &k, x, hex, &why)
                    : restore_origin(s, &k, &x->from, hex, &why);
        share_close(k.dir);
    }
    if (rc >= 0)
        return rc;
    if (why.kind != ERR_DENIED)
        return err_set(e, why.kind, "%s", why.text);
    log_event(LOG_WARN, "checkpoint-not-read", "why", "%s", why.text, NULL);
    return 0;
}

int checkpoint_restore(const struct scratch *s, struct shares *access,
                       const struct order_restore *x, struct err *e)
{
    struct share_dir *share;
    char hex[TOKEN_HEX];
    int rc = 0;

    token_hex(&x->token, hex);
    if (faccessat(s->checkpoints_fd, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    share = share_open(access, x->share, e);
    if (share == NULL)
        return -1;
    if (x->attempt > 1)
        rc = restore_of(s, share, x, true, e);
    if (rc == 0 && x->from.param_name != NULL) {
        if (x->from.job_name != NULL)
            rc = restore_of(s, share, x, false, e);
        if (rc == 0) {
            share_close(share);
            err_set(e, ERR_NOT_FOUND,
                    "there is no checkpoint of %s that it could go on from (" PARAM_FROM_CHECKPOINT
                    "); was it removed, or not kept by `checkpoint: {keep: true}`?",
                    x->from.param_name);
            return 1;
        }
    }
    share_close(share);
    return rc < 0 ? -1 : 0;
}
