/* SPDX-License-Identifier: MIT */
/* trusted_dir.c - folders that nobody but root and ludwigd's own account can change */
#include "server/conn/trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int trusted_dir_check(int fd, const char *path, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "look at %s", path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return err_set(e, ERR_DENIED,
                       "%s belongs to uid %u, who could change what is in it; it must be root's",
                       path, st.st_uid);
    if ((st.st_mode & 022) != 0)
        return err_set(e, ERR_DENIED, "others may write into %s (mode %04o); chmod go-w it", path,
                       st.st_mode & 07777u);
    return 0;
}

static int checked(int fd, const char *path, struct err *e)
{
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return err_set(e, ERR_DENIED, "%s is no folder, and links are not followed", path);
    if (fd < 0)
        return err_sys(e, "open %s", path);
    if (trusted_dir_check(fd, path, e) == 0)
        return fd;
    close(fd);
    return -1;
}

int trusted_dir_open(const char *path, struct err *e)
{
    return checked(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path, e);
}

int trusted_dir_step(int dir_fd, const char *name, const char *path, bool makes, struct err *e)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT && makes) {
        if (mkdirat(dir_fd, name, 0755) < 0 && errno != EEXIST)
            return err_sys(e, "make %s", path);
        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    return checked(fd, path, e);
}
