/* SPDX-License-Identifier: MIT */
/* upload_sftp.c - brings files to the shared drive over SFTP */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/share/upload_way.h"
#include "common/base/path.h"
#include "common/proto/layout.h"

static char *path_on(const struct place *to, const char *below)
{
    return mem_printf("%s/%s", to->drive->root, below);
}

/* ---- the project's folder ---- */

static int check_project(const struct place *to, const struct err *error,
                         const struct sftp_attrs *attrs, struct err *e)
{
    if (error != NULL)
        return err_set(e, error->kind, "the project's folder on the share: %s", error->text);
    if ((attrs->has & SFTP_MODE) && S_ISDIR(attrs->mode))
        return 0;
    return err_set(e, ERR_DENIED, "the project's folder on the share, %s/%s, is no folder",
                   to->drive->root, to->project);
}

static int look_at_project(const struct place *to, struct sftp_attrs *attrs, struct err *e)
{
    char *path = path_on(to, to->project);
    struct err why = { 0 };
    int result = sftp_lstat(to->drive->sftp, path, attrs, &why);

    free(path);
    return check_project(to, result < 0 ? &why : NULL, attrs, e);
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
    int result = share_connection_mend(to->drive, e);

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

/* ---- files of a sweep ---- */

/* The project's modes are asked for if need be, then all is made at once, as the server does one after the
 * other. */
struct sending {
    struct upload_sweep sweep;
    const struct place *to;
    char *dir;
    struct upload_text *files;
    size_t n;
    size_t n_busy;
    struct err folder_why, text_why; /* the first errors */
};

static void on_text(void *context, const struct sftp_answer *a)
{
    struct sending *s = context;

    s->n_busy--;
    err_keep(&s->text_why, a->error);
}

static void on_folder(void *context, const struct sftp_answer *a)
{
    struct sending *s = context;

    s->n_busy--;
    if (a->error == NULL || a->error->kind != ERR_EXISTS)
        err_keep(&s->folder_why, a->error);
}

static void start(struct sending *s, const struct sftp_op *op, sftp_done *done)
{
    struct err why = { 0 };

    s->n_busy++;
    if (sftp_start(s->to->drive->sftp, op, done, s, &why) < 0)
        done(s, &(struct sftp_answer){ .error = &why });
}

static void start_folder(struct sending *s, const char *path, mode_t mode)
{
    start(s, &(struct sftp_op){ .kind = SFTP_OP_MKDIR, .path = path, .mode = mode }, on_folder);
}

static void start_text(struct sending *s, const struct upload_text *file, mode_t mode)
{
    char *path = path_join(s->dir, file->name);
    struct sftp_op op = {
        .kind = SFTP_OP_PUT, .path = path, .mode = mode, .content = file->text, .sync = true
    };

    start(s, &op, on_text);
    free(path);
}

static void start_all(struct sending *s, const struct upload_modes *modes)
{
    char *above = path_dirname(s->dir);

    start_folder(s, above, modes->folder);
    start_folder(s, s->dir, modes->folder);
    free(above);
    for (size_t i = 0; i < s->n; i++)
        start_text(s, &s->files[i], modes->file);
}

static void on_project(void *context, const struct sftp_answer *a)
{
    struct sending *s = context;
    struct upload_modes modes = upload_modes_of(a->attrs.mode);
    struct err why = { 0 };

    s->n_busy--;
    if (check_project(s->to, a->error, &a->attrs, &why) < 0)
        err_keep(&s->folder_why, &why);
    else
        start_all(s, &modes);
}

static struct upload_sweep *sweep_begin(const struct place *to, int64_t number,
                                        const struct upload_text *files, size_t n, struct err *e)
{
    struct upload_modes modes;
    struct sending *s;
    struct buf below = { 0 };
    char *project;

    if (share_connection_mend(to->drive, e) < 0) {
        err_wrap(e, "files of the sweep");
        return NULL;
    }
    s = mem_alloc(sizeof *s);
    layout_sweep(&below, to->project, number);
    *s = (struct sending){ .to = to, .dir = path_on(to, buf_text(&below)), .n = n };
    s->files = mem_copy(files, n * sizeof *files);
    buf_free(&below);
    if (S_ISDIR(to->mode)) {
        modes = upload_modes_of(to->mode);
        start_all(s, &modes);
        return &s->sweep;
    }
    project = path_on(to, to->project);
    start(s, &(struct sftp_op){ .kind = SFTP_OP_LSTAT, .path = project }, on_project);
    free(project);
    return &s->sweep;
}

/* A connection that breaks here breaks the opened sweep too: the caller begins anew. */
static int sweep_end(struct upload_sweep *u, struct err *e)
{
    struct sending *s = (struct sending *)(void *)u;
    const struct err *first;
    int result = 0;

    /* One that is broken has answered all. */
    while (s->n_busy > 0)
        (void)sftp_wait(s->to->drive->sftp, NULL);
    first = s->folder_why.kind != ERR_NONE ? &s->folder_why : &s->text_why;
    if (first->kind != ERR_NONE)
        result = err_set(e, first->kind, "files of the sweep: %s", first->text);
    free(s->files);
    free(s->dir);
    free(s);
    return result;
}

const struct upload_way upload_sftp = {
    .make_project = make_project,
    .sweep_begin = sweep_begin,
    .sweep_end = sweep_end,
};
