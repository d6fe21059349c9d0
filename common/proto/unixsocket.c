/* SPDX-License-Identifier: MIT */
/* unixsocket.c - connects to Unix sockets of this machine, and names the machine */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/path.h"
#include "common/proto/unixsocket.h"

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0 /* macOS: fcntl(2) sets it afterwards */
#endif

size_t unixsocket_path_max(void)
{
    return sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
}

/* Connects to this address; errors name it by `shown`.  Without waits the descriptor is
 * non-blocking. */
static int connect_to(const char *address, const char *shown, bool waits, struct err *e)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd, rc;

    if (strlen(address) > unixsocket_path_max())
        return err_set(e, ERR_USAGE, "the path of a socket has at most %zu bytes: %s",
                       unixsocket_path_max(), shown);
    memcpy(to.sun_path, address, strlen(address));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(e, "socket");
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || (!waits && fcntl(fd, F_SETFL, O_NONBLOCK) < 0)) {
        err_sys(e, "socket");
        goto failed;
    }
    do
        rc = connect(fd, (const struct sockaddr *)&to, sizeof to);
    while (rc < 0 && errno == EINTR);
    if (rc == 0)
        return fd;
    err_sys(e, "connect to %s", shown);
    if (e != NULL && e->kind != ERR_DENIED)
        e->kind = ERR_UNREACHABLE;
failed:
    close(fd);
    return -1;
}

int unixsocket_connect(const char *path, struct err *e)
{
    return connect_to(path, path, true, e);
}

/* ---- whose socket it is ---- */

static bool is_believed(uid_t uid, uid_t server_uid)
{
    return uid == 0 || uid == geteuid() || uid == server_uid;
}

/* The permission bits by which other users may change the folder.  Our own group is allowed to: on
 * systems where each user has a group of their own, folders of mode 0775 are usual. */
static mode_t others_write(const struct stat *st)
{
    return st->st_mode & (st->st_gid == getegid() ? S_IWOTH : S_IWGRP | S_IWOTH);
}

/* Checks a folder for sockets and all folders above it; path is absolute, without symlinks.  A
 * sticky folder is accepted above the last one, as no user can rename another user's folder in it;
 * as the last one it is not, as any user could put a socket there before ludwigd does. */
static int check_real_folder(const char *path, uid_t server_uid, struct err *e)
{
    char *at = mem_strdup(path), *above;
    bool is_last = true, is_root = false;
    struct stat st;
    int rc = 0;

    while (rc == 0 && !is_root) {
        is_root = strcmp(at, "/") == 0;
        if (stat(at, &st) < 0)
            rc = err_sys(e, "look at %s", at);
        else if (!is_believed(st.st_uid, server_uid))
            rc = err_set(e, ERR_DENIED,
                         "%s belongs to uid %ju, who could put a socket there (where ludwigd runs "
                         "as that account, server_user: names it)",
                         at, (uintmax_t)st.st_uid);
        else if (others_write(&st) != 0 && (is_last || (st.st_mode & S_ISVTX) == 0))
            rc = err_set(e, ERR_DENIED,
                         "others may write into %s (mode %04o) and put a socket there (chmod go-w "
                         "it, or let ludwigd listen in another folder)",
                         at, (unsigned)st.st_mode & 07777u);
        is_last = false;
        above = path_dirname(at);
        free(at);
        at = above;
    }
    free(at);
    return rc;
}

int unixsocket_check_folder(const char *folder, uid_t server_uid, struct err *e)
{
    char *real = realpath(folder, NULL);
    int rc = real == NULL ? err_sys(e, "%s", folder) : check_real_folder(real, server_uid, e);

    free(real);
    return rc;
}

/* ERR_DENIED if a process of a user who is not trusted called listen(2) for this connection. */
static int check_peer(int fd, uid_t server_uid, struct err *e)
{
    uid_t uid;
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t n = sizeof peer;
    int rc = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);

    uid = rc < 0 ? 0 : peer.uid;
#else
    gid_t gid;
    int rc = getpeereid(fd, &uid, &gid);
#endif
    if (rc < 0)
        return err_sys(e, "whose process listens there");
    if (is_believed(uid, server_uid))
        return 0;
    return err_set(e, ERR_DENIED,
                   "a process of uid %ju listens there, not one of root's or your own (where "
                   "ludwigd runs as that account, server_user: names it)",
                   (uintmax_t)uid);
}

/* Returns an address of the socket that is short enough, which the caller frees.  If the path is
 * too long, the address has a descriptor of the folder, *dir_fd, which the caller closes; else
 * *dir_fd is -1. */
static char *short_address(const char *folder, const char *name, int *dir_fd)
{
    char *path = path_join(folder, name);

    *dir_fd = -1;
#ifdef __linux__
    if (strlen(path) > unixsocket_path_max())
        *dir_fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*dir_fd >= 0) {
        free(path);
        path = mem_printf("/proc/self/fd/%d/%s", *dir_fd, name);
    }
#endif
    return path;
}

/* Connects by the folder's real path, so that nobody can exchange the folder after the check. */
int unixsocket_connect_server(const struct endpoint *to, bool waits, struct err *e)
{
    char *here = unixsocket_machine(), *folder = path_dirname(to->path), *address;
    bool is_here = to->host == NULL || strcmp(to->host, here) == 0;
    char *real = is_here ? realpath(folder, NULL) : NULL;
    int fd = -1, dir_fd;

    if (!is_here) {
        err_set(e, ERR_UNREACHABLE, "connect to %s: it is a socket of another machine", to->path);
    } else if (real == NULL) {
        err_sys(e, "connect to %s", to->path);
        if (e != NULL && e->kind != ERR_DENIED)
            e->kind = ERR_UNREACHABLE;
    } else if (check_real_folder(real, to->server_uid, e) < 0) {
        err_wrap(e, "connect to %s", to->path);
    } else {
        address = short_address(real, path_basename(to->path), &dir_fd);
        fd = connect_to(address, to->path, waits, e);
        free(address);
        if (dir_fd >= 0)
            close(dir_fd);
    }
    if (fd >= 0 && check_peer(fd, to->server_uid, e) < 0) {
        err_wrap(e, "connect to %s", to->path);
        close(fd);
        fd = -1;
    }
    free(real);
    free(folder);
    free(here);
    return fd;
}

int unixsocket_pair(int ends[2], struct err *e)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(e, "socket pair");
    for (int i = 0; i < 2; i++)
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return 0;
}

char *unixsocket_machine(void)
{
    char id[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof id);

    const char *end = n > 0 ? memchr(id, '\n', (size_t)n) : NULL;

    if (fd >= 0)
        close(fd);
    return end != NULL && end > id ? mem_strndup(id, (size_t)(end - id)) : unixsocket_host();
}

char *unixsocket_host(void)
{
    char name[256] = "";

    if (gethostname(name, sizeof name - 1) < 0 || name[0] == '\0')
        return mem_strdup("localhost");
    return mem_strdup(name);
}
