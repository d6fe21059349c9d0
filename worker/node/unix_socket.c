/* SPDX-License-Identifier: MIT */
/* unix_socket.c - connects to unix sockets, listens on them, makes pairs */

#include "worker/node/unix_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/io.h"

/* Returns a socket and fills in *address, by dir_fd's number, as the folder's path may be long. */
static int make_at(int dir_fd, const char *name, struct sockaddr_un *address, struct err *e)
{
    int n =
        snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", dir_fd, name);
    int fd;

    address->sun_family = AF_UNIX;
    if (n < 0 || (size_t)n >= sizeof address->sun_path)
        return err_set(e, ERR_USAGE, "%s: too long a name for a socket", name);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd < 0 ? err_sys(e, "socket") : fd;
}

int unix_socket_listen_at(int dir_fd, const char *name, struct err *e)
{
    enum { BACKLOG = 4 };
    struct sockaddr_un address = { 0 };
    int fd = make_at(dir_fd, name, &address, e);

    if (fd < 0)
        return -1;
    if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
        err_sys(e, "remove %s", name);
    else if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        err_sys(e, "bind %s", name);
    else if (listen(fd, BACKLOG) < 0)
        err_sys(e, "listen");
    else
        return fd;
    close(fd);
    return -1;
}

int unix_socket_connect_at(int dir_fd, const char *name, struct err *e)
{
    struct sockaddr_un address = { 0 };
    int fd = make_at(dir_fd, name, &address, e);

    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        err_sys(e, "connect to %s", name);
        if (e != NULL)
            e->kind = ERR_UNREACHABLE;
        close(fd);
        return -1;
    }
    return fd;
}

int unix_socket_pair(int *ours, int *childs, struct err *e)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(e, "socket pair");
    if (io_set_nonblocking(ends[0], e) < 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    *ours = ends[0];
    *childs = ends[1];
    return 0;
}
