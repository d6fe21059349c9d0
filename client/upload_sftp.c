/* SPDX-License-Identifier: MIT */
/* upload_sftp.c - brings files to the shared drive over SFTP */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/upload_way.h"
#include "common/layout.h"
#include "common/path.h"

static char *path_on(const struct place *to, const char *below)
{
    return mem_printf("%s/%s", to->drive->root, below);
}

/* ---- the project's folder ---- */

static int look_at_project(const struct place *to, struct sftp_attrs *attrs, struct err *e)
{
    char *path = path_on(to, to->project);
    int result = sftp_lstat(to->drive->sftp, path, attrs, e);

    if (result < 0)
        err_wrap(e, "the project's folder on the share");
    else if (!(attrs->has & SFTP_MODE) || !S_ISDIR(attrs->mode))
        result =
            err_set(e, ERR_DENIED, "the project's folder on the share, %s, is no folder", path);
    free(path);
    return result;
}

static int set_group(const struct place *to, const char *path, const struct folder_order *order,
                     struct sftp_attrs *attrs, struct err *e)
{
    attrs->has = SFTP_OWNER;
    attrs->gid = (uint32_t)order->group;
    if (sftp_setstat(to->drive->sftp, path, attrs, e) == 0)
        return 0;
    return err_wrap(e,
                    "give the project's folder to group %" PRId64 ", whose members read it; are "
                    "you one?",
                    order->group);
}

static int set_project_modes(const struct place *to, const char *path,
                             const struct folder_order *order, struct err *e)
{
    struct sftp_attrs attrs, mode = { .has = SFTP_MODE, .mode = (mode_t)order->mode };

    if (look_at_project(to, &attrs, e) < 0)
        return -1;
    if (order->group != SCHEMA_NONE && (attrs.has & SFTP_OWNER) &&
        (int64_t)attrs.gid != order->group && set_group(to, path, order, &attrs, e) < 0)
        return -1;
    return sftp_setstat(to->drive->sftp, path, &mode, e);
}

static int make_project(const struct place *to, const struct folder_order *order, struct err *e)
{
    char *path = path_on(to, to->project);
    struct err why = { 0 };
    int result = drive_mend(to->drive, e);

    if (result == 0 && sftp_mkdir(to->drive->sftp, path, 0700, &why) < 0 && why.kind != ERR_EXISTS)
        result = err_set(e, why.kind,
                         "%s (ludwigd cannot make it either; its admin can name a folder with "
                         "projects: that you may write to)",
                         why.text);
    if (result == 0)
        result = set_project_modes(to, path, order, e);
    free(path);
    return result;
}

static int read_modes(const struct place *to, struct upload_modes *modes, struct err *e)
{
    struct sftp_attrs attrs;

    if (look_at_project(to, &attrs, e) < 0)
        return -1;
    *modes = upload_modes_of(attrs.mode);
    return 0;
}

/* ---- files of a sweep ---- */

/* The first error of what is under way. */
static void keep_error(void *context, const struct sftp_answer *a)
{
    struct err *first = context;

    if (a->error != NULL && first->kind == ERR_NONE)
        err_set(first, a->error->kind, "%s", a->error->text);
}

static void keep_folder_error(void *context, const struct sftp_answer *a)
{
    if (a->error != NULL && a->error->kind != ERR_EXISTS)
        keep_error(context, a);
}

static int start_folder(const struct place *to, const char *path, mode_t mode, struct err *first,
                        struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_MKDIR, .path = path, .mode = mode };

    return sftp_start(to->drive->sftp, &op, keep_folder_error, first, e);
}

static int start_folders(const struct place *to, const char *dir, mode_t mode, struct err *first,
                         struct err *e)
{
    char *above = path_dirname(dir);
    int result = start_folder(to, above, mode, first, e);

    free(above);
    return result < 0 ? -1 : start_folder(to, dir, mode, first, e);
}

static int start_text(const struct place *to, const char *dir, const struct upload_text *file,
                      mode_t mode, struct err *first, struct err *e)
{
    char *path = path_join(dir, file->name);
    struct sftp_op op = {
        .kind = SFTP_OP_PUT, .path = path, .mode = mode, .content = file->text, .sync = true
    };
    int result = sftp_start(to->drive->sftp, &op, keep_error, first, e);

    free(path);
    return result;
}

/* All at once, as the server does one after the other. */
static int write_texts(const struct place *to, const char *dir, const struct upload_text *files,
                       size_t n, const struct upload_modes *modes, struct err *e)
{
    struct err folders = { 0 }, texts = { 0 };
    const struct err *first;
    int result = start_folders(to, dir, modes->folder, &folders, e);

    for (size_t i = 0; i < n && result == 0; i++)
        result = start_text(to, dir, &files[i], modes->file, &texts, e);
    if (sftp_finish(to->drive->sftp, result == 0 ? e : NULL) < 0)
        result = -1;
    first = folders.kind != ERR_NONE ? &folders : &texts;
    if (result == 0 && first->kind != ERR_NONE)
        result = err_set(e, first->kind, "%s", first->text);
    return result;
}

/* A connection that breaks here breaks the opened sweep too: the caller begins anew. */
static int sweep_files(const struct place *to, int64_t number, const struct upload_text *files,
                       size_t n, struct err *e)
{
    struct upload_modes modes;
    struct buf below = { 0 };
    char *dir;
    int result = drive_mend(to->drive, e);

    layout_sweep(&below, to->project, number);
    dir = path_on(to, buf_text(&below));
    if (result == 0)
        result = read_modes(to, &modes, e);
    if (result == 0)
        result = write_texts(to, dir, files, n, &modes, e);
    free(dir);
    buf_free(&below);
    return result < 0 ? err_wrap(e, "files of the sweep") : 0;
}

const struct upload_way upload_sftp = {
    .make_project = make_project,
    .sweep_files = sweep_files,
};
