/* SPDX-License-Identifier: MIT */
/* upload.c - brings a project's folder and the files of a sweep to the shared drive */

#include "client/share/upload.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/share/share_upload.h"

static struct share_dir *open_drive(const struct place *to, struct err *e)
{
    if (to->drive->mount == NULL && share_connection_mend(to->drive, e) < 0)
        return NULL;
    return share_connection_read(to->drive, e);
}

int upload_make_project(const struct place *to, const struct folder_order *order, struct err *e)
{
    struct share_dir *root = open_drive(to, e);
    struct err why = { 0 };
    int result = 0;

    if (root == NULL)
        return -1;
    if (share_make_dir(root, to->project, 0700, &why) < 0 && why.kind != ERR_EXISTS)
        result = err_set(e, why.kind,
                         "make the project's folder: %s (the server cannot; its admin can name a "
                         "folder with projects: that you may write to)",
                         why.text);
    else
        result =
            share_set_folder(root, to->project, order->group == SCHEMA_NONE ? -1 : order->group,
                             (mode_t)order->mode, e);
    share_close(root);
    return result;
}

/* ---- files of a sweep ---- */

struct upload_sweep {
    struct share_dir *root;
    struct share_upload *files;
};

/* Of the project's folder, which is asked for unless it is known. */
static int find_modes(const struct place *to, const struct share_dir *root,
                      struct share_modes *modes, struct err *e)
{
    struct share_stat st = { .type = SHARE_FOLDER, .mode = to->mode & 07777, .group = (gid_t)-1 };

    if (!S_ISDIR(to->mode) && share_stat(root, to->project, &st, e) < 0)
        return err_wrap(e, "the project's folder on the share");
    if (st.type != SHARE_FOLDER)
        return err_set(e, ERR_DENIED, "the project's folder on the share, %s, is no folder",
                       to->project);
    *modes = share_modes_of(&st);
    return 0;
}

static int send_files(struct upload_sweep *u, const struct place *to, int64_t sweep,
                      const struct upload_text *files, size_t n, struct err *e)
{
    struct buf folder = { 0 };
    struct share_modes modes;
    char *above;
    unsigned number;
    int result = find_modes(to, u->root, &modes, e);

    if (result < 0)
        return -1;
    layout_sweep(&folder, to->project, sweep);
    above = path_dirname(buf_text(&folder));
    u->files = share_upload_open(u->root, &modes);
    if (share_upload_add_folder(u->files, above, false, &number, e) < 0 ||
        share_upload_add_folder(u->files, buf_text(&folder), false, &number, e) < 0)
        result = -1;
    for (size_t i = 0; i < n && result == 0; i++)
        result = share_upload_put(u->files, number, files[i].name, files[i].text,
                                  SHARE_UPLOAD_REPLACE, e);
    free(above);
    buf_free(&folder);
    return result;
}

static void free_sweep(struct upload_sweep *u)
{
    share_upload_close(u->files);
    share_close(u->root);
    free(u);
}

struct upload_sweep *upload_sweep_begin(const struct place *to, int64_t sweep,
                                        const struct upload_text *files, size_t n, struct err *e)
{
    struct upload_sweep *u = mem_alloc(sizeof *u);

    u->root = open_drive(to, e);
    if (u->root != NULL && send_files(u, to, sweep, files, n, e) == 0)
        return u;
    free_sweep(u);
    err_wrap(e, "files of the sweep");
    return NULL;
}

int upload_sweep_end(struct upload_sweep *u, struct err *e)
{
    int result = share_upload_settle(u->files, e);

    free_sweep(u);
    return result < 0 ? err_wrap(e, "files of the sweep") : 0;
}

int upload_sweep_files(const struct place *to, int64_t sweep, const struct upload_text *files,
                       size_t n, struct err *e)
{
    struct upload_sweep *u = upload_sweep_begin(to, sweep, files, n, e);

    return u == NULL ? -1 : upload_sweep_end(u, e);
}
