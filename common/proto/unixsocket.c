/* SPDX-License-Identifier: MIT */
/* unixsocket.c - sockets of this machine */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/proto/unixsocket.h"

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0 /* macOS: it is set behind */
#endif

size_t unixsocket_path_max(void)
{
    return sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
}

int unixsocket_connect(const char *path, struct err *e)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd, rc;

    if (strlen(path) > unixsocket_path_max())
        return err_set(e, ERR_USAGE, "the path of a socket has at most %zu bytes: %s",
                       unixsocket_path_max(), path);
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        err_sys(e, "socket");
        goto failed;
    }
    do
        rc = connect(fd, (const struct sockaddr *)&address, sizeof address);
    while (rc < 0 && errno == EINTR);
    if (rc == 0)
        return fd;
    err_sys(e, "connect to %s", path);
    if (e != NULL && e->kind != ERR_DENIED)
        e->kind = ERR_UNREACHABLE;
failed:
    if (fd >= 0)
        close(fd);
    return -1;
}

int unixsocket_pair(int ends[2], struct err *e)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(e, "socket pair");
    for (int i = 0; i < 2; i++)
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return 0;
}

char *unixsocket_host(void)
{
    char name[256] = "";

    if (gethostname(name, sizeof name - 1) < 0 || name[0] == '\0')
        return mem_strdup("localhost");
    return mem_strdup(name);
}
