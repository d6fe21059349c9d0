/* SPDX-License-Identifier: MIT */
/* shared.c - folders on the shared drive, with the modes of their project */

#include "worker/shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io.h"
#include "common/mem.h"

mode_t shared_file_mode(const struct shared_modes *m, mode_t now)
{
    return m->file | ((now & S_IXUSR) != 0 ? m->dir & 0111 : 0);
}

int shared_open(const char *share, struct err *e)
{
    int fd = open(share, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? err_sys(e, "share %s", share) : fd;
}

static void take_modes(struct shared_modes *m, const struct stat *project)
{
    mode_t bits = project->st_mode & 0777;

    m->dir = bits | 0700 | (project->st_mode & S_ISGID);
    m->file = (bits & 0666) | 0600;
    m->group = (project->st_mode & S_ISGID) != 0 ? project->st_gid : (gid_t)-1;
}

int shared_open_project(int share_fd, const char *path, struct shared_modes *modes, struct err *e)
{
    char *name = mem_strndup(path, strcspn(path, "/"));
    struct stat st;
    int fd = io_open_dir_at(share_fd, name, e);

    if (fd < 0) {
        err_wrap(e, "the project's folder on the share");
    } else if (fstat(fd, &st) < 0) {
        err_sys(e, "the project's folder on the share: %s", name);
        close(fd);
        fd = -1;
    } else {
        take_modes(modes, &st);
    }
    free(name);
    return fd;
}

int shared_open_folder(int share_fd, const char *path, struct shared_modes *modes, struct err *e)
{
    const char *below = strchr(path, '/');
    int project_fd = shared_open_project(share_fd, path, modes, e);
    int fd = -1;

    if (project_fd < 0 || below == NULL)
        return project_fd;
    below++;
    fd = openat(project_fd, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        err_sys(e, "open %s", path);
    else if (fd < 0 && io_make_dirs_at(project_fd, below, modes->dir & 0777, e) == 0)
        fd = io_open_dir_at(project_fd, below, e);
    close(project_fd);
    return fd;
}

bool shared_is_listed(int dir_fd, const char *path, const char *name)
{
    int fd = io_open_dir_at(dir_fd, path, NULL);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry = NULL;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    while ((entry = readdir(dir)) != NULL && strcmp(entry->d_name, name) != 0)
        ;
    closedir(dir);
    return entry != NULL;
}
