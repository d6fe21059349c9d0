/* SPDX-License-Identifier: MIT */
/* upload_mount.c - brings files to the shared drive, which is a folder of this machine */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/upload_way.h"
#include "common/fs.h"
#include "common/io.h"
#include "common/layout.h"
#include "common/path.h"

/* Up to so many files are synced one by one; of more the whole file system is. */
enum { SYNC_EACH_MAX = 64 };

struct upload {
    const struct tree *tree;
    struct upload_modes modes;
    struct uploadbar *bar;
    int packs_fd;
    int dir_fd; /* of the temporary folder */
    bool syncs_each;
};

/* ---- files and folders with exact modes ---- */

/* Where files have no owner of their own (CIFS), their server gives them modes as well. */
static bool is_for_server(int fd, int error)
{
    return (error == EPERM || error == ENOTSUP) && !fs_type_of_fd(fd).keeps_owners;
}

static int set_mode(int fd, mode_t mode)
{
    return fchmod(fd, mode) == 0 || is_for_server(fd, errno) ? 0 : -1;
}

/* A mode that is right, with the group's bit from the folder above, is left alone: whoever is no
 * member of that group would take the bit away. */
static int set_folder_mode(int fd, mode_t mode, const char *name, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || ((st.st_mode & 07777) != mode && set_mode(fd, mode) < 0))
        return err_sys(e, "set the mode of folder %s on the share", name);
    return 0;
}

/* Opens it too. */
static int make_folder(int at_fd, const char *name, mode_t mode, struct err *e)
{
    int fd;

    if (mkdirat(at_fd, name, mode & 0777) < 0)
        return err_sys(e, "make folder %s on the share", name);
    fd = io_open_dir_at(at_fd, name, e);
    if (fd < 0 || set_folder_mode(fd, mode, name, e) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Opens one that may be there. */
static int enter_folder(int at_fd, const char *name, mode_t mode, struct err *e)
{
    struct err why = { 0 };
    int fd = make_folder(at_fd, name, mode, &why);

    if (fd >= 0)
        return fd;
    return why.kind == ERR_EXISTS ? io_open_dir_at(at_fd, name, e)
                                  : err_set(e, why.kind, "%s", why.text);
}

/* Where a file goes. */
struct target_file {
    int dir_fd;
    const char *name;
    mode_t mode;
    bool syncs;
};

static int copy_content(const struct target_file *to, const struct tree_entry *entry, int in_fd,
                        struct err *e)
{
    int fd = openat(to->dir_fd, to->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, to->mode);
    uint64_t copied_bytes = 0;
    int result;

    if (fd < 0)
        return err_sys(e, "create %s on the share", to->name);
    result = io_copy_fd(in_fd, fd, &copied_bytes, e);
    if (result == 0)
        result = upload_check_unchanged(entry, in_fd, copied_bytes, e);
    if (result == 0 && (set_mode(fd, to->mode) < 0 || (to->syncs && fsync(fd) < 0)))
        result = err_sys(e, "write %s on the share", to->name);
    if (close(fd) < 0 && result == 0)
        result = err_sys(e, "write %s on the share", to->name);
    return result;
}

static int copy_file(const struct upload *u, const struct target_file *to,
                     const struct tree_entry *entry, struct err *e)
{
    int fd = upload_open_entry(entry, e), result;

    if (fd < 0)
        return -1;
    result = copy_content(to, entry, fd, e);
    close(fd);
    if (result < 0)
        return err_wrap(e, "%s", entry->from);
    uploadbar_add(u->bar, 1, entry->size);
    return 0;
}

static int copy_entry(const struct upload *u, const struct tree_entry *entry, struct err *e)
{
    struct target_file to = { u->dir_fd, entry->path, upload_file_mode(&u->modes, entry),
                              u->syncs_each };
    int fd;

    if (!path_is_inside(entry->path))
        return err_set(e, ERR_INTERNAL, "%s is no path in a tree", entry->path);
    if (entry->type == 'd') {
        fd = make_folder(u->dir_fd, entry->path, u->modes.folder, e);
        return fd < 0 ? -1 : close(fd);
    }
    if (entry->type != 'l')
        return copy_file(u, &to, entry, e);
    if (symlinkat(entry->link, u->dir_fd, entry->path) < 0)
        return err_sys(e, "make link %s on the share", entry->path);
    uploadbar_add(u->bar, 1, 0);
    return 0;
}

/* ---- syncing ---- */

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

/* ---- a tree ---- */

static int fill_folder(struct upload *u, const char *name, struct err *e)
{
    int result = 0;

    u->dir_fd = make_folder(u->packs_fd, name, u->modes.folder, e);
    if (u->dir_fd < 0)
        return -1;
    for (size_t i = 0; i < u->tree->n && result == 0; i++)
        result = copy_entry(u, &u->tree->entries[i], e);
    if (result == 0)
        result = sync_all(u, e);
    close(u->dir_fd);
    return result;
}

/* A tree can be one file, which has no path in it. */
static int fill(struct upload *u, const char *name, struct err *e)
{
    const struct tree_entry *first = u->tree->entries;
    struct target_file to = { .dir_fd = u->packs_fd, .name = name, .syncs = true };

    if (u->tree->n != 1 || first->path[0] != '\0')
        return fill_folder(u, name, e);
    to.mode = upload_file_mode(&u->modes, first);
    return copy_file(u, &to, first, e);
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

static bool is_left_over(int packs_fd, const char *name, time_t now_s)
{
    struct stat st;

    return upload_is_temporary(name) && fstatat(packs_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_uid == geteuid() && now_s - st.st_mtime > LEFTOVER_AGE_S;
}

/* Of tries that were killed long ago. */
static void sweep(int packs_fd)
{
    int fd = io_open_dir_at(packs_fd, ".", NULL);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *d;
    struct stat st;

    if (dir != NULL && fstat(packs_fd, &st) == 0)
        while ((d = readdir(dir)) != NULL)
            if (is_left_over(packs_fd, d->d_name, st.st_mtime))
                (void)io_remove_tree_at(packs_fd, d->d_name, NULL);
    if (dir != NULL)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
}

static int upload_into(struct upload *u, struct err *e)
{
    char name[DIGEST_HEX], *temporary;
    struct stat st;
    int result;

    digest_hex(&u->tree->digest, name);
    if (fstatat(u->packs_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    temporary = upload_temporary_name();
    result = fill(u, temporary, e);
    if (result == 0)
        result = put_in_place(u->packs_fd, temporary, name, e);
    if (result < 0)
        (void)io_remove_tree_at(u->packs_fd, temporary, NULL);
    free(temporary);
    sweep(u->packs_fd);
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

    if (check_share(to->drive->mount, e) < 0)
        return -1;
    path = path_join(to->drive->mount, to->project);
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

static int make_project(const struct place *to, const struct folder_order *order, struct err *e)
{
    char *path = path_join(to->drive->mount, to->project);
    int rc = check_share(to->drive->mount, e);
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

static int read_modes(int project_fd, struct upload_modes *modes, struct err *e)
{
    struct stat st;

    if (fstat(project_fd, &st) < 0)
        return err_sys(e, "the project's folder");
    *modes = upload_modes_of(st.st_mode);
    return 0;
}

/* Makes the folder below the project if need be, and opens it. */
static int open_below(const struct place *to, const char *path, struct upload_modes *modes,
                      struct err *e)
{
    int fd = open_project(to, e);

    if (fd >= 0 && read_modes(fd, modes, e) < 0) {
        close(fd);
        return -1;
    }
    path += strlen(to->project) + 1;
    while (fd >= 0 && *path != '\0') {
        size_t n = strcspn(path, "/");
        char *name = mem_strndup(path, n);
        int next = enter_folder(fd, name, modes->folder, e);

        free(name);
        close(fd);
        fd = next;
        path += path[n] == '/' ? n + 1 : n;
    }
    return fd;
}

static int put_tree(const struct place *to, const struct tree *t, struct uploadbar *bar,
                    struct err *e)
{
    struct upload u = { .tree = t, .bar = bar, .syncs_each = syncs_each(t) };
    struct buf packs = { 0 };
    int result;

    layout_packs(&packs, to->project);
    u.packs_fd = open_below(to, buf_text(&packs), &u.modes, e);
    buf_free(&packs);
    if (u.packs_fd < 0)
        return -1;
    result = upload_into(&u, e);
    close(u.packs_fd);
    return result;
}

static bool has_tree(const struct place *to, const struct digest *tree)
{
    struct buf pack = { 0 };
    struct stat st;
    char *path;
    bool there;

    layout_pack(&pack, to->project, tree);
    path = path_join(to->drive->mount, buf_text(&pack));
    there = lstat(path, &st) == 0;
    free(path);
    buf_free(&pack);
    return there;
}

/* ---- files of a sweep ---- */

static int write_text(int dir_fd, const struct upload_text *file, mode_t mode, struct err *e)
{
    if (io_write_file_at(dir_fd, file->name, file->text.data, file->text.n, mode, e) < 0)
        return err_wrap(e, "%s of the sweep", file->name);
    if (fchmodat(dir_fd, file->name, mode, 0) < 0 && !is_for_server(dir_fd, errno))
        return err_sys(e, "set the mode of %s of the sweep", file->name);
    return 0;
}

static int sweep_files(const struct place *to, int64_t number, const struct upload_text *files,
                       size_t n, struct err *e)
{
    struct upload_modes modes;
    struct buf dir = { 0 };
    int fd, result = 0;

    layout_sweep(&dir, to->project, number);
    fd = open_below(to, buf_text(&dir), &modes, e);
    buf_free(&dir);
    if (fd < 0)
        return -1;
    for (size_t i = 0; i < n && result == 0; i++)
        result = write_text(fd, &files[i], modes.file, e);
    close(fd);
    return result;
}

const struct upload_way upload_mount = {
    .make_project = make_project,
    .tree = put_tree,
    .has_tree = has_tree,
    .sweep_files = sweep_files,
};
