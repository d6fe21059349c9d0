/* SPDX-License-Identifier: MIT */
/* memlimit.c - the group in which the kernel ends a job that takes more memory than it asked for */

#include "worker/runner/memlimit.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "worker/base/job_spawn.h"

static bool is_of_cgroup2(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* Caller frees; NULL: it has no name. */
static char *find_folder(int fd)
{
    char *link = mem_printf("/proc/self/fd/%d", fd), *path = realpath(link, NULL);

    free(link);
    if (path != NULL)
        *strrchr(path, '/') = '\0';
    return path;
}

void memlimit_open(struct memlimit *m, int fd)
{
    char *folder = is_of_cgroup2(fd) && job_spawn_knows_groups() ? find_folder(fd) : NULL;

    *m = (struct memlimit){ .max_fd = -1, .group_fd = -1, .oom = { .kills_fd = -1 } };
    if (folder == NULL)
        return;
    m->group_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->group_fd >= 0) {
        oom_open_group(&m->oom, folder);
        m->max_fd = fd;
    }
    free(folder);
}

void memlimit_close(struct memlimit *m)
{
    if (m->max_fd < 0)
        return;
    oom_close(&m->oom);
    close(m->group_fd);
    close(m->max_fd);
    m->max_fd = m->group_fd = -1;
}

bool memlimit_set(struct memlimit *m, int64_t bytes)
{
    char *text;
    bool is_set;

    if (m->max_fd < 0 || bytes <= 0)
        return false;
    /* What an earlier job has left in memory (/dev/shm) is not this one's. */
    if (m->bytes != 0)
        bytes += oom_left_bytes(&m->oom);
    if (bytes == m->bytes)
        return true;
    text = mem_printf("%lld", (long long)bytes);
    is_set = pwrite(m->max_fd, text, strlen(text), 0) == (ssize_t)strlen(text);
    m->bytes = is_set ? bytes : -1;
    free(text);
    return is_set;
}
