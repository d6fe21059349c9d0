/* SPDX-License-Identifier: MIT */
/* fds.c - what a forked process must not hold open */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/fds.h"
#include "common/base/mem.h"

static bool is_kept(int fd, const int *keep, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (keep[i] == fd)
            return true;
    return fd <= STDERR_FILENO;
}

static void close_up_to(long last, const int *keep, size_t n)
{
    for (int fd = 0; fd <= last; fd++)
        if (!is_kept(fd, keep, n))
            close(fd);
}

void fds_close_all_but(const int *keep, size_t n)
{
    DIR *dir = opendir("/dev/fd");
    const struct dirent *entry;
    long last = 0;

    if (dir == NULL) {
        close_up_to(sysconf(_SC_OPEN_MAX), keep, n);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);

        last = fd > last ? fd : last;
    }
    closedir(dir);
    close_up_to(last, keep, n);
}

void fds_detach(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)dup2(fd, STDIN_FILENO);
    (void)dup2(fd, STDOUT_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}
