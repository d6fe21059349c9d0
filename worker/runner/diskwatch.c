/* SPDX-License-Identifier: MIT */
/* diskwatch.c - watches how much a job's files take on scratch */

#include "worker/runner/diskwatch.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/units.h"

enum {
    EVERY_MS = 1000,
    LOOK_SHARE = 20, /* the pause after a look, in multiples of the time that it took */
    BLOCK_BYTES = 512,
    DEPTH_MAX = 100 /* what lies deeper does not count */
};

void diskwatch_begin(struct diskwatch *w, int64_t limit_bytes)
{
    *w = (struct diskwatch){ limit_bytes, units_monotonic_ms() + EVERY_MS };
}

int diskwatch_wait_ms(const struct diskwatch *w)
{
    int64_t wait_ms = w->next_ms - units_monotonic_ms();

    if (w->limit_bytes == 0)
        return -1;
    return wait_ms < 0 ? 0 : (int)wait_ms;
}

/* Of a file, or of a folder and what is in it on the same file system.  What cannot be looked at
 * counts nothing. */
static int64_t add_up(int dir_fd, const char *name, dev_t device, int depth)
{
    const struct dirent *entry;
    int64_t bytes = 0;
    struct stat st;
    DIR *dir;
    int fd;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != device)
        return 0;
    bytes = (int64_t)st.st_blocks * BLOCK_BYTES;
    if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX)
        return bytes;
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL && fd >= 0)
        close(fd);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            bytes += add_up(dirfd(dir), entry->d_name, device, depth + 1);
    if (dir != NULL)
        closedir(dir);
    return bytes;
}

int64_t diskwatch_look(struct diskwatch *w, const struct scratch *s, const char *hex)
{
    int64_t began_ms = units_monotonic_ms(), took_ms, bytes = 0;
    struct stat st;

    if (w->limit_bytes == 0 || began_ms < w->next_ms)
        return 0;
    if (fstat(s->run_fd, &st) == 0)
        bytes = add_up(s->run_fd, hex, st.st_dev, 0) + add_up(s->log_fd, hex, st.st_dev, 0);
    took_ms = units_monotonic_ms() - began_ms;
    w->next_ms =
        began_ms + took_ms + (took_ms * LOOK_SHARE > EVERY_MS ? took_ms * LOOK_SHARE : EVERY_MS);
    return bytes > w->limit_bytes ? bytes : 0;
}
