/* SPDX-License-Identifier: MIT */
/* upload_mount.c - brings files to the shared drive, which is a folder of this machine */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/share/upload_way.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/path.h"
#include "common/proto/layout.h"

/* ---- files and folders with exact modes ---- */

/* Where files have no owner of their own (CIFS), their server gives them modes as well. */
static bool is_for_server(int fd, int error)
{
    return (error == EPERM || error == ENOTSUP) && !fs_type_of_fd(fd).keeps_owners;
}

int upload_set_mode(int fd, mode_t mode)
{
    return fchmod(fd, mode) == 0 || is_for_server(fd, errno) ? 0 : -1;
}

/* A mode that is right, with the group's bit from the folder above, is left alone: whoever is no
 * member of that group would take the bit away. */
static int set_folder_mode(int fd, mode_t mode, const char *name, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || ((st.st_mode & 07777) != mode && upload_set_mode(fd, mode) < 0))
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

static int check_mount(const struct place *to, struct err *e)
{
    const char *share = to->drive->mount;

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

    if (check_mount(to, e) < 0)
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
    int rc = check_mount(to, e);
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

int upload_open_below(const struct place *to, const char *path, struct upload_modes *modes,
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

/* ---- files of a sweep ---- */

static int write_text(int dir_fd, const struct upload_text *file, mode_t mode, struct err *e)
{
    if (io_write_file_at(dir_fd, file->name, file->text.data, file->text.n, mode, e) < 0)
        return err_wrap(e, "%s of the sweep", file->name);
    if (fchmodat(dir_fd, file->name, mode, 0) < 0 && !is_for_server(dir_fd, errno))
        return err_sys(e, "set the mode of %s of the sweep", file->name);
    return 0;
}

static int write_texts(const struct place *to, int64_t number, const struct upload_text *files,
                       size_t n, struct err *e)
{
    struct upload_modes modes;
    struct buf dir = { 0 };
    int fd, result = 0;

    layout_sweep(&dir, to->project, number);
    fd = upload_open_below(to, buf_text(&dir), &modes, e);
    buf_free(&dir);
    if (fd < 0)
        return -1;
    for (size_t i = 0; i < n && result == 0; i++)
        result = write_text(fd, &files[i], modes.file, e);
    close(fd);
    return result;
}

static struct upload_sweep *sweep_begin(const struct place *to, int64_t number,
                                        const struct upload_text *files, size_t n, struct err *e)
{
    return write_texts(to, number, files, n, e) < 0 ? NULL : mem_alloc(sizeof(struct upload_sweep));
}

static int sweep_end(struct upload_sweep *u, struct err *e)
{
    (void)e;
    free(u);
    return 0;
}

const struct upload_way upload_mount = {
    .make_project = make_project,
    .sweep_begin = sweep_begin,
    .sweep_end = sweep_end,
};
