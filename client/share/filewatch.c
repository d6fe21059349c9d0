/* SPDX-License-Identifier: MIT */
/* filewatch.c - told when a file grows */
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif

#include "client/share/filewatch.h"
#include "common/base/fs.h"

int filewatch_open(const char *path)
{
#ifdef __linux__
    int fd = fs_is_network(path) ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd >= 0 && inotify_add_watch(fd, path, IN_MODIFY) < 0) {
        close(fd);
        return -1;
    }
    return fd;
#else
    (void)path;
    return -1;
#endif
}

void filewatch_drain(int fd)
{
    char events[4096];

    while (read(fd, events, sizeof events) > 0)
        ;
}

void filewatch_close(int fd)
{
    if (fd >= 0)
        close(fd);
}
