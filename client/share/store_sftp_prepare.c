/* SPDX-License-Identifier: MIT */
/* store_sftp_prepare.c - before packs are sent to an SFTP server: their folders, and what is there already */

#include <stdlib.h>
#include <sys/stat.h>

#include "client/share/store_sftp.h"
#include "common/base/path.h"
#include "common/base/units.h"

/* ---- folders ---- */

static int check_project(const struct sftp_store *s, struct err *e)
{
    if (s->project_why.kind != ERR_NONE)
        return err_set(e, s->project_why.kind, "the project's folder on the share: %s",
                       s->project_why.text);
    if ((s->project.has & SFTP_MODE) && S_ISDIR(s->project.mode))
        return 0;
    return err_set(e, ERR_DENIED, "the project's folder on the share, %s, is no folder",
                   s->store.to->project);
}

static void on_folder(void *context, const struct sftp_answer *a)
{
    struct sftp_store *s = context;

    s->n_busy--;
    s->n_making--;
    if (a->error != NULL && a->error->kind != ERR_EXISTS)
        err_keep(&s->why, a->error);
    if (s->n_making == 0)
        err_keep(&s->why, &s->later_why);
}

static int start_folder(struct sftp_store *s, const char *path, struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_MKDIR, .path = path, .mode = s->modes.folder };
    int result = sftp_start(sftp_store_lane(s), &op, on_folder, s, e);

    s->n_busy += result == 0;
    s->n_making += result == 0;
    return result;
}

/* All at once, as the server makes one after the other. */
static int make_folders(struct sftp_store *s, struct err *e)
{
    char *above = path_dirname(s->packs);
    int result = s->is_there[STORE_PACKS] ? 0 : start_folder(s, above, e);

    free(above);
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT && result == 0; i++) {
        char *path = sftp_store_path(s, store_folder_names[i]);

        if (!s->is_there[i])
            result = start_folder(s, path, e);
        free(path);
    }
    return result;
}

/* sftp_store_list was called.  What is asked for behind the folders on the same connection finds
 * them. */
int sftp_store_prepare(struct store *store, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);

    if (check_project(s, e) < 0)
        return -1;
    s->modes = upload_modes_of(s->project.mode);
    if (make_folders(s, e) < 0)
        return -1;
    sftp_store_open_folders(s);
    return 0;
}

/* ---- what is there already ---- */

/* Something that is relied on. */
struct touching {
    struct sftp_store *store;
    char *path;
};

static void end_touching(struct touching *t)
{
    free(t->path);
    free(t);
}

static void on_touched(void *context, const struct sftp_answer *a)
{
    struct touching *t = context;
    struct sftp_store *s = t->store;
    enum err_kind kind = a->error != NULL ? a->error->kind : ERR_NONE;
    struct err gone = { 0 };

    s->n_busy--;
    s->n_unsettled--;
    if (kind == ERR_NOT_FOUND) {
        store_say_gone(t->path, &gone);
        sftp_store_note(s, &gone);
    } else if (kind == ERR_UNREACHABLE) {
        sftp_store_note(s, a->error);
    }
    end_touching(t);
    sftp_store_advance(s);
}

/* By the clock here: the server's is told by nothing that costs no time. */
int sftp_store_touch(struct store *store, const char *path, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);
    uint32_t now_s = (uint32_t)(units_now_ms() / 1000);
    char *there = sftp_store_path(s, path);
    struct sftp_op op = { .kind = SFTP_OP_SETSTAT,
                          .path = there,
                          .attrs = { .has = SFTP_TIMES, .atime_s = now_s, .mtime_s = now_s } };
    struct touching *t = mem_alloc(sizeof *t);
    int result;

    *t = (struct touching){ s, mem_strdup(path) };
    s->n_busy++;
    s->n_unsettled++;
    result = sftp_start(sftp_store_lane(s), &op, on_touched, t, e);
    if (result < 0) {
        s->n_busy--;
        s->n_unsettled--;
        end_touching(t);
    }
    free(there);
    return result < 0 ? -1 : sftp_store_check(s, e);
}

static void on_told(void *context, const struct sftp_answer *a)
{
    struct sftp_store *s = context;

    (void)a;
    s->n_busy--;
}

/* Of a file that is made and taken away again. */
int sftp_store_tell(struct store *store, int64_t *uid, int64_t *now_s)
{
    struct sftp_store *s = sftp_store_of(store);
    unsigned needed = SFTP_OWNER | SFTP_TIMES;
    struct sftp_op op = { .kind = SFTP_OP_PUT, .flags = SFTP_EXCLUSIVE, .mode = s->modes.file };
    struct sftp_attrs attrs = { 0 };
    char *path;

    if (!s->has_told && store->is_prepared) {
        path = sftp_store_temporary(s, "");
        op.path = path;
        s->n_busy++;
        if (sftp_start(sftp_store_lane(s), &op, on_told, s, NULL) < 0)
            s->n_busy--;
        if (sftp_store_wait_until_idle(s, NULL) == 0 &&
            sftp_lstat(sftp_store_lane(s), path, &attrs, NULL) == 0)
            s->has_told = (attrs.has & needed) == needed;
        (void)sftp_remove(sftp_store_lane(s), path, NULL);
        s->uid = (int64_t)attrs.uid;
        s->now_s = (int64_t)attrs.mtime_s;
        free(path);
    }
    *uid = s->uid;
    *now_s = s->now_s;
    return s->has_told ? 0 : -1;
}
