/* SPDX-License-Identifier: MIT */
/* unixsocket.c - sockets of this machine */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/util/unixsocket.h"
#include "common/base/mem.h"

size_t unixsocket_path_max(void)
{
    return sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
}

int unixsocket_connect(const char *path, struct err *e)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd, result;

    if (strlen(path) > unixsocket_path_max())
        return err_set(e, ERR_USAGE, "the path of a socket has at most %zu bytes: %s",
                       unixsocket_path_max(), path);
    memcpy(address.sun_path, path, strlen(path));
#ifdef SOCK_CLOEXEC
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        close(fd);
        fd = -1;
    }
#endif
    if (fd < 0)
        return err_sys(e, "socket");
    do
        result = connect(fd, (const struct sockaddr *)&address, sizeof address);
    while (result < 0 && errno == EINTR);
    if (result == 0)
        return fd;
    err_sys(e, "connect to %s", path);
    if (e != NULL && e->kind != ERR_DENIED)
        e->kind = ERR_UNREACHABLE;
    close(fd);
    return -1;
}

char *unixsocket_host(void)
{
    char name[256] = "";

    if (gethostname(name, sizeof name - 1) < 0 || name[0] == '\0')
        return mem_strdup("localhost");
    return mem_strdup(name);
}
