/* SPDX-License-Identifier: MIT */
/* cache_locks.c - locks on the trees of a cache that several stagers share */

#include "worker/base/cache_locks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCKS_FILE ".locks"

enum kind { KIND_USE, KIND_WORK };

/* Sets or, by type F_UNLCK, frees a lock; false: another stager has it. */
static bool set_lock(const struct cache_locks *l, bool is_of_work, const struct digest *tree,
                     enum kind kind, short type)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };
    int fd = l == NULL ? -1 : is_of_work ? l->work_fd : l->use_fd;
    uint64_t bits;

    /* 61 bits of the tree's digest: two trees with the same bits would only wait for each other. */
    memcpy(&bits, tree->bytes, sizeof bits);
    lock.l_start = (off_t)(bits >> 3 << 1 | (uint64_t)kind);

    return fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

static int open_file(int cache_fd)
{
    return openat(cache_fd, LOCKS_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool cache_locks_open(struct cache_locks *l, int cache_fd)
{
    struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

    *l = (struct cache_locks){ open_file(cache_fd), open_file(cache_fd) };
    if (l->use_fd >= 0 && l->work_fd >= 0 && fcntl(l->use_fd, F_OFD_SETLK, &lock) == 0 &&
        fcntl(l->work_fd, F_OFD_SETLK, &lock) == 0) {
        (void)futimens(l->use_fd, NULL); /* else cleaners of old files remove it */
        return true;
    }
    cache_locks_close(l);
    return false;
}

void cache_locks_close(struct cache_locks *l)
{
    if (l->use_fd >= 0)
        close(l->use_fd);
    if (l->work_fd >= 0)
        close(l->work_fd);
    *l = (struct cache_locks){ -1, -1 };
}

bool cache_lock_use(const struct cache_locks *l, const struct digest *tree)
{
    return set_lock(l, false, tree, KIND_USE, F_RDLCK);
}

bool cache_lock_use_alone(const struct cache_locks *l, const struct digest *tree)
{
    return set_lock(l, false, tree, KIND_USE, F_WRLCK);
}

void cache_unlock_use(const struct cache_locks *l, const struct digest *tree)
{
    (void)set_lock(l, false, tree, KIND_USE, F_UNLCK);
}

bool cache_lock_work(const struct cache_locks *l, const struct digest *tree)
{
    return set_lock(l, true, tree, KIND_WORK, F_WRLCK);
}

bool cache_lock_removal(const struct cache_locks *l, const struct digest *tree)
{
    if (!cache_lock_work(l, tree))
        return false;
    if (set_lock(l, true, tree, KIND_USE, F_WRLCK))
        return true;
    cache_unlock_work(l, tree);
    return false;
}

void cache_unlock_work(const struct cache_locks *l, const struct digest *tree)
{
    (void)set_lock(l, true, tree, KIND_USE, F_UNLCK);
    (void)set_lock(l, true, tree, KIND_WORK, F_UNLCK);
}
