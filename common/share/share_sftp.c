/* SPDX-License-Identifier: MIT */
/* share_sftp.c - a share that is reached over SFTP: folders, names, and what is durable */

#include "common/share/share_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/log.h"
#include "common/base/path.h"

/* ---- errors ---- */

/* To callers ERR_PROTOCOL means that a file is damaged, not that a server is. */
int share_sftp_fail(const struct err *why, struct err *e)
{
    return err_set(e, why->kind == ERR_PROTOCOL ? ERR_UNREACHABLE : why->kind, "%s", why->text);
}

int share_sftp_check(int result, const struct err *why, struct err *e)
{
    return result < 0 ? share_sftp_fail(why, e) : result;
}

/* ---- folders ---- */

struct share_line *share_line_of(const struct share_dir *d)
{
    return ((const struct sftp_dir *)d)->line;
}

struct sftp *share_sftp_of(const struct share_dir *d)
{
    return share_line_of(d)->sftp;
}

char *share_sftp_path(const struct share_dir *at, const char *path)
{
    const char *folder = ((const struct sftp_dir *)at)->path;

    return path[0] == '\0' ? mem_strdup(folder) : path_join(folder, path);
}

struct share_dir *share_sftp_dir(struct share_line *line, char *path)
{
    struct sftp_dir *d = mem_alloc(sizeof *d);

    *d = (struct sftp_dir){ { &share_sftp_way }, line, path };
    line->n_users++;
    return &d->dir;
}

static struct share_dir *over_open_dir(const struct share_dir *at, const char *path, struct err *e)
{
    char *full = share_sftp_path(at, path);
    struct sftp_attrs attrs;
    struct err why = { 0 };

    if (sftp_stat(share_sftp_of(at), full, &attrs, &why) == 0) {
        if (S_ISDIR(attrs.mode))
            return share_sftp_dir(share_line_of(at), full);
        err_set(&why, ERR_NOT_FOUND, "open %s: it is no folder", full);
    }
    share_sftp_fail(&why, e);
    free(full);
    return NULL;
}

static void over_close(struct share_dir *d)
{
    struct sftp_dir *own = (struct sftp_dir *)d;

    share_connection_leave(own->line);
    free(own->path);
    free(own);
}

static int over_fd(const struct share_dir *d)
{
    (void)d;
    return -1;
}

/* ---- names ---- */

static enum share_type type_of(mode_t mode)
{
    return S_ISREG(mode)   ? SHARE_FILE
           : S_ISDIR(mode) ? SHARE_FOLDER
           : S_ISLNK(mode) ? SHARE_LINK
                           : SHARE_OTHER;
}

/* The server's groups have other numbers here. */
static int over_stat(const struct share_dir *at, const char *path, struct share_stat *st,
                     struct err *e)
{
    char *full = share_sftp_path(at, path);
    struct sftp_attrs attrs = { 0 };
    struct err why = { 0 };
    int result = (path[0] == '\0' ? sftp_stat : sftp_lstat)(share_sftp_of(at), full, &attrs, &why);

    free(full);
    if (result < 0)
        return share_sftp_fail(&why, e);
    *st = (struct share_stat){ type_of(attrs.mode), attrs.mode & 07777, (gid_t)-1,
                               (int64_t)attrs.size_bytes };
    return 0;
}

static int over_list(const struct share_dir *d, void (*each)(void *context, const char *name),
                     void *context, struct err *e)
{
    struct arena *a = arena_create();
    struct list entries;
    struct err why = { 0 };
    int result = sftp_list(share_sftp_of(d), ((const struct sftp_dir *)d)->path, a, &entries, &why);

    for (size_t i = 0; result == 0 && i < entries.n; i++)
        each(context, ((const struct sftp_entry *)entries.items)[i].name);
    arena_destroy(a);
    return share_sftp_check(result, &why, e);
}

static int over_make_dir(const struct share_dir *at, const char *path, mode_t mode, struct err *e)
{
    char *full = share_sftp_path(at, path);
    struct err why = { 0 };
    int result = sftp_mkdir(share_sftp_of(at), full, mode, &why);

    free(full);
    return share_sftp_check(result, &why, e);
}

typedef int (*plain_fn)(struct sftp *s, const char *path, struct err *e);

static int do_plain(plain_fn f, const struct share_dir *at, const char *path, struct err *e)
{
    char *full = share_sftp_path(at, path);
    struct err why = { 0 };
    int result = f(share_sftp_of(at), full, &why);

    free(full);
    return share_sftp_check(result, &why, e);
}

static int over_remove_file(const struct share_dir *at, const char *path, struct err *e)
{
    return do_plain(sftp_remove, at, path, e);
}

static int over_remove_dir(const struct share_dir *at, const char *path, struct err *e)
{
    return do_plain(sftp_rmdir, at, path, e);
}

static int over_remove_tree(const struct share_dir *at, const char *path, struct err *e)
{
    return do_plain(sftp_remove_tree, at, path, e);
}

/* ---- renaming ---- */

static bool lies_there(struct sftp *s, const char *path, bool *is_folder)
{
    struct sftp_attrs attrs;
    bool is_there = sftp_lstat(s, path, &attrs, NULL) == 0;

    *is_folder = is_there && S_ISDIR(attrs.mode);
    return is_there;
}

/* The standard's own rename replaces nothing, not even a file. */
static int rename_plainly(struct sftp *s, const char *from, const char *to, struct err *why)
{
    bool from_folder, to_folder;

    if (sftp_rename(s, from, to, why) == 0)
        return 0;
    if (!lies_there(s, from, &from_folder) || !lies_there(s, to, &to_folder) || from_folder ||
        to_folder || sftp_remove(s, to, why) < 0)
        return -1;
    return sftp_rename(s, from, to, why);
}

/* Not every server says more than that it failed, and some say that a folder is not there when
 * a file lies in its way. */
static void explain_rename(struct sftp *s, const char *from, const char *to, struct err *why)
{
    bool from_folder, to_folder;

    if ((why->kind == ERR_FAILED || why->kind == ERR_NOT_FOUND) &&
        lies_there(s, from, &from_folder) && lies_there(s, to, &to_folder))
        err_set(why, ERR_EXISTS, "rename %s to %s: something is there already", from, to);
}

static int over_rename(const struct share_dir *at, const char *path, const struct share_dir *to,
                       const char *to_path, struct err *e)
{
    struct sftp *s = share_sftp_of(at);
    char *from = share_sftp_path(at, path);
    char *dest = share_sftp_path(to, to_path);
    struct err why = { 0 };
    int result =
        (sftp_can(s, SFTP_CAN_REPLACE) ? sftp_replace : rename_plainly)(s, from, dest, &why);

    if (result < 0)
        explain_rename(s, from, dest, &why);
    free(from);
    free(dest);
    return share_sftp_check(result, &why, e);
}

/* ---- making it durable ---- */

static bool over_is_synced_whole(const struct share_dir *d)
{
    (void)d;
    return false;
}

static int over_sync(const struct share_dir *d, struct err *e)
{
    (void)d;
    return err_set(e, ERR_INTERNAL, "a share over SFTP cannot be synced as a whole");
}

static int errno_of(const struct err *e)
{
    switch (e->kind) {
    case ERR_NOT_FOUND: return ENOENT;
    case ERR_DENIED: return EACCES;
    case ERR_NO_SPACE: return ENOSPC;
    case ERR_UNREACHABLE:
    case ERR_PROTOCOL: return ECONNRESET;
    default: return EIO;
    }
}

static void on_synced(void *context, const struct sftp_answer *answer)
{
    struct share_sync *f = context;

    f->error = answer->error == NULL ? 0 : errno_of(answer->error);
}

static void begin_sync(struct share_sync *f)
{
    char *full = share_sftp_path(f->dir, f->path);
    struct sftp_op op = { .kind = SFTP_OP_SYNC, .path = full };
    struct err why = { 0 };

    f->error = EIO;
    if (sftp_start(share_sftp_of(f->dir), &op, on_synced, f, &why) < 0)
        f->error = errno_of(&why);
    free(full);
}

/* Servers that open no folders keep those durable themselves, or nobody can. */
static void forgive_folder(struct share_sync *f)
{
    char *full = share_sftp_path(f->dir, f->path);
    struct sftp_attrs attrs;

    if ((f->error == EIO || f->error == EACCES) &&
        sftp_stat(share_sftp_of(f->dir), full, &attrs, NULL) == 0 && S_ISDIR(attrs.mode))
        f->error = 0;
    free(full);
}

static void warn_once(struct share_line *line)
{
    if (!line->has_warned)
        log_event(LOG_WARN, "not-synced", "why", "%s",
                  "this SFTP server knows no fsync@openssh.com: what its machine loses in a power "
                  "failure is lost",
                  NULL);
    line->has_warned = true;
}

static void over_sync_each(struct share_sync *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        files[i].error = 0;
        if (sftp_can(share_sftp_of(files[i].dir), SFTP_CAN_SYNC))
            begin_sync(&files[i]);
        else
            warn_once(share_line_of(files[i].dir));
    }
    for (size_t i = 0; i < n; i++)
        (void)sftp_finish(share_sftp_of(files[i].dir), NULL);
    for (size_t i = 0; i < n; i++)
        forgive_folder(&files[i]);
}

static int over_sync_dir(const struct share_dir *d, const char *name, struct err *e)
{
    struct share_sync f = { d, "", 0 };

    over_sync_each(&f, 1);
    if (f.error == 0)
        return 0;
    errno = f.error;
    return err_sys(e, "sync folder %s", name);
}

const struct share_way share_sftp_way = {
    .open_dir = over_open_dir,
    .close = over_close,
    .fd = over_fd,
    .stat = over_stat,
    .list = over_list,
    .make_dir = over_make_dir,
    .remove_file = over_remove_file,
    .remove_dir = over_remove_dir,
    .remove_tree = over_remove_tree,
    .rename = over_rename,
    .read = share_sftp_read,
    .write = share_sftp_write,
    .ship = share_sftp_ship,
    .copy_in = share_sftp_copy_in,
    .copy_out = share_sftp_copy_out,
    .create = share_sftp_create,
    .put = share_sftp_put,
    .end = share_sftp_end,
    .open_input = share_sftp_open_input,
    .read_input = share_sftp_read_input,
    .close_input = share_sftp_close_input,
    .is_synced_whole = over_is_synced_whole,
    .sync = over_sync,
    .sync_each = over_sync_each,
    .sync_dir = over_sync_dir,
};
