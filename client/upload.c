/* SPDX-License-Identifier: MIT */
/* upload.c - brings files to the shared drive */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/upload.h"
#include "common/io.h"
#include "common/layout.h"
#include "common/path.h"

enum { FILE_MODE = 0640, DIR_MODE = 0750 };

/* Up to so many files are synced one by one; of more the whole file system is. */
enum { SYNC_EACH_MAX = 64 };

struct upload {
    const struct tree *tree;
    int dir_fd; /* of the temporary folder */
    bool syncs_each;
};

static int check_unchanged(const struct tree_entry *entry, int fd, uint64_t copied_bytes,
                           struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "%s", entry->from);
    if (copied_bytes != entry->size || tree_changed_at_ns(&st) != entry->changed_at_ns)
        return err_set(e, ERR_FAILED, "%s was changed while it was sent; submit again",
                       entry->from);
    return 0;
}

/* Where a file goes. */
struct target_file {
    int dir_fd;
    const char *name;
    bool syncs;
};

static int copy_content(const struct target_file *to, const struct tree_entry *entry, int in_fd,
                        struct err *e)
{
    mode_t mode = FILE_MODE | (entry->type == 'x' ? 0110 : 0);
    int fd = openat(to->dir_fd, to->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    uint64_t copied_bytes = 0;
    int result;

    if (fd < 0)
        return err_sys(e, "create %s on the share", to->name);
    result = io_copy_fd(in_fd, fd, &copied_bytes, e);
    if (result == 0)
        result = check_unchanged(entry, in_fd, copied_bytes, e);
    if (result == 0 && (fchmod(fd, mode) < 0 || (to->syncs && fsync(fd) < 0)))
        result = err_sys(e, "write %s on the share", to->name);
    if (close(fd) < 0 && result == 0)
        result = err_sys(e, "write %s on the share", to->name);
    return result;
}

static int copy_file(const struct target_file *to, const struct tree_entry *entry, struct err *e)
{
    int fd = open(entry->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int result;

    if (fd < 0)
        return err_sys(e, "open %s", entry->from);
    result = copy_content(to, entry, fd, e);
    close(fd);
    return result < 0 ? err_wrap(e, "%s", entry->from) : 0;
}

static int copy_entry(const struct upload *u, const struct tree_entry *entry, struct err *e)
{
    struct target_file to = { u->dir_fd, entry->path, u->syncs_each };

    if (!path_is_inside(entry->path))
        return err_set(e, ERR_INTERNAL, "%s is no path in a tree", entry->path);
    if (entry->type == 'd' && mkdirat(u->dir_fd, entry->path, DIR_MODE) < 0)
        return err_sys(e, "make folder %s on the share", entry->path);
    if (entry->type == 'l' && symlinkat(entry->link, u->dir_fd, entry->path) < 0)
        return err_sys(e, "make link %s on the share", entry->path);
    return entry->type == 'd' || entry->type == 'l' ? 0 : copy_file(&to, entry, e);
}

static int sync_dir(int dir_fd, const char *path, struct err *e)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = 0;

    if (fd < 0)
        return err_sys(e, "open folder %s on the share", path);
    /* Some network file systems know no fsync of a folder. */
    if (fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        result = err_sys(e, "sync folder %s on the share", path);
    close(fd);
    return result;
}

static int sync_dirs(const struct upload *u, struct err *e)
{
    for (size_t i = 0; i < u->tree->n; i++)
        if (u->tree->entries[i].type == 'd' && sync_dir(u->dir_fd, u->tree->entries[i].path, e) < 0)
            return -1;
    return sync_dir(u->dir_fd, ".", e);
}

static int sync_all(const struct upload *u, struct err *e)
{
#ifdef __linux__
    if (!u->syncs_each && syncfs(u->dir_fd) < 0)
        return err_sys(e, "sync the share");
    return u->syncs_each ? sync_dirs(u, e) : 0;
#else
    return sync_dirs(u, e);
#endif
}

static bool syncs_each(const struct tree *t)
{
#ifdef __linux__
    return t->n_files <= SYNC_EACH_MAX;
#else
    (void)t;
    return true;
#endif
}

static int fill_folder(int packs_fd, const char *name, const struct tree *t, struct err *e)
{
    struct upload u = { .tree = t, .syncs_each = syncs_each(t) };
    int result = 0;

    if (mkdirat(packs_fd, name, DIR_MODE) < 0)
        return err_sys(e, "make folder %s on the share", name);
    u.dir_fd = io_open_dir_at(packs_fd, name, e);
    if (u.dir_fd < 0)
        return -1;
    for (size_t i = 0; i < t->n && result == 0; i++)
        result = copy_entry(&u, &t->entries[i], e);
    if (result == 0)
        result = sync_all(&u, e);
    close(u.dir_fd);
    return result;
}

/* A tree can be one file, which has no path in it. */
static int fill(int packs_fd, const char *name, const struct tree *t, struct err *e)
{
    struct target_file to = { packs_fd, name, true };

    if (t->n == 1 && t->entries[0].path[0] == '\0')
        return copy_file(&to, &t->entries[0], e);
    return fill_folder(packs_fd, name, t, e);
}

/* What is there already is the same: its name is the digest of its content. */
static int put_in_place(int packs_fd, const char *temporary, const char *name, struct err *e)
{
    if (renameat(packs_fd, temporary, packs_fd, name) == 0)
        return sync_dir(packs_fd, ".", e);
    if (errno == EEXIST || errno == ENOTEMPTY)
        return io_remove_tree_at(packs_fd, temporary, e);
    return err_sys(e, "rename %s to %s on the share", temporary, name);
}

static int upload_into(int packs_fd, const struct tree *t, struct err *e)
{
    char name[DIGEST_HEX], random[TOKEN_HEX];
    struct token token;
    struct stat st;
    char *temporary;
    int result;

    digest_hex(&t->digest, name);
    if (fstatat(packs_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    token_make(&token);
    token_hex(&token, random);
    temporary = mem_printf(".tmp-%s", random);
    result = fill(packs_fd, temporary, t, e);
    if (result == 0)
        result = put_in_place(packs_fd, temporary, name, e);
    if (result < 0)
        (void)io_remove_tree_at(packs_fd, temporary, NULL);
    free(temporary);
    return result;
}

static int check_share(const char *share, struct err *e)
{
    if (access(share, F_OK) == 0)
        return 0;
    return err_sys(e, "the shared drive is not here (config.yaml can say where: share: PATH): %s",
                   share);
}

/* ---- the project's folder ---- */

static int open_project(const struct place *to, struct err *e)
{
    char *path;
    int fd;

    if (check_share(to->share, e) < 0)
        return -1;
    path = path_join(to->share, to->project);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        err_sys(e, "the project's folder on the share: %s", path);
    free(path);
    return fd;
}

static int set_project_modes(int fd, const struct folder_order *order, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "the project's folder");
    if (order->group != SCHEMA_NONE && (int64_t)st.st_gid != order->group &&
        fchown(fd, (uid_t)-1, (gid_t)order->group) < 0)
        return err_sys(e,
                       "give the project's folder to group %" PRId64 ", whose members read it;"
                       " are you one?",
                       order->group);
    return fchmod(fd, (mode_t)order->mode) < 0 ? err_sys(e, "set the project folder's mode") : 0;
}

int upload_make_project(const struct place *to, const struct folder_order *order, struct err *e)
{
    char *path = path_join(to->share, to->project);
    int rc = check_share(to->share, e);
    int fd;

    if (rc == 0 && mkdir(path, 0700) < 0 && errno != EEXIST)
        rc = err_sys(e,
                     "make the project's folder %s (the server cannot; its admin can name a"
                     " folder with projects: that you may write to)",
                     path);
    free(path);
    fd = rc < 0 ? -1 : open_project(to, e);
    if (fd < 0)
        return -1;
    rc = set_project_modes(fd, order, e);
    close(fd);
    return rc;
}

/* Makes the folder below the project if need be, and opens it. */
static int open_on_share(const struct place *to, const char *below, struct err *e)
{
    int project_fd = open_project(to, e);
    int fd = -1;

    if (project_fd < 0)
        return -1;
    below += strlen(to->project) + 1;
    if (io_make_dirs_at(project_fd, below, DIR_MODE, e) == 0)
        fd = io_open_dir_at(project_fd, below, e);
    close(project_fd);
    return fd;
}

int upload_tree(const struct place *to, const struct tree *t, struct err *e)
{
    struct buf packs = { 0 };
    int fd, result;

    layout_packs(&packs, to->project);
    fd = open_on_share(to, buf_text(&packs), e);
    buf_free(&packs);
    if (fd < 0)
        return -1;
    result = upload_into(fd, t, e);
    close(fd);
    return result;
}

bool upload_has_tree(const struct place *to, const struct digest *tree)
{
    struct buf pack = { 0 };
    struct stat st;
    char *path;
    bool there;

    layout_pack(&pack, to->project, tree);
    path = path_join(to->share, buf_text(&pack));
    there = lstat(path, &st) == 0;
    free(path);
    buf_free(&pack);
    return there;
}

int upload_sweep_file(const struct place *to, int64_t sweep, const char *name, struct bytes text,
                      struct err *e)
{
    struct buf dir = { 0 };
    int fd, result;

    layout_sweep(&dir, to->project, sweep);
    fd = open_on_share(to, buf_text(&dir), e);
    buf_free(&dir);
    if (fd < 0)
        return -1;
    result = io_write_file_at(fd, name, text.data, text.n, FILE_MODE, e);
    close(fd);
    return result < 0 ? err_wrap(e, "%s of the sweep", name) : 0;
}
