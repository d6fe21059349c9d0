/* SPDX-License-Identifier: MIT */
/* pilot_cleanup.c - removes the folders of killed pilots on this machine */

#include "worker/node/pilot_cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "worker/base/child_start.h"
#include "worker/node/node.h"

#define PILOT_LOCK "pilot.lock"
/* The suffix of folders that are being removed. */
#define GONE ".gone"

enum {
    LOCKS_DEPTH = 2, /* SERVER/runner.N/lock */
    CLAIM_TRIES = 100,
    CLAIM_PAUSE_NS = 20 * 1000 * 1000,
    NICE = 10,
    UNPUBLISHED_MAX_S = 14 * 24 * 3600
};

/* ---- claims ---- */

static bool is_still(int fd, int dir_fd, const char *path)
{
    struct stat ours, there;

    return fstat(fd, &ours) == 0 && fstatat(dir_fd, path, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* Locks the folder and returns the lock's descriptor.  ERR_BUSY: another process has the lock, or
 * the folder was removed meanwhile, perhaps followed by another of its name. */
static int lock_folder(int folder_fd, int above_fd, const char *name, struct err *e)
{
    int fd = -1;

    if (child_lock(folder_fd, PILOT_LOCK, &fd, e) < 0)
        return -1;
    if (is_still(fd, folder_fd, PILOT_LOCK) && is_still(folder_fd, above_fd, name))
        return fd;
    close(fd);
    return err_set(e, ERR_BUSY, "%s was removed", name);
}

int pilot_cleanup_claim(const char *folder, struct err *e)
{
    const struct timespec pause = { 0, CLAIM_PAUSE_NS };
    int folder_fd, fd = -1;

    for (int i = 0; i < CLAIM_TRIES && fd < 0; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        err_clear(e);
        folder_fd = folders_own(folder, e) < 0 ? -1 : io_open_dir(folder, e);
        fd = folder_fd < 0 ? -1 : lock_folder(folder_fd, AT_FDCWD, folder, e);
        if (folder_fd >= 0)
            close(folder_fd);
        if (fd < 0 && e->kind != ERR_BUSY && e->kind != ERR_NOT_FOUND)
            return -1;
    }
    return fd;
}

/* ---- signs of life ---- */

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);

    return n >= n_end && strcmp(name + n - n_end, end) == 0;
}

/* Whether a process holds a lock below the folder, apart from the pilot's, which we hold now. */
static bool has_lock_held(int above_fd, const char *name, int depth)
{
    int fd = openat(above_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool is_held = false;

    if (dir == NULL && fd >= 0)
        close(fd);
    while (dir != NULL && !is_held && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, PILOT_LOCK) == 0)
            continue;
        is_held = ends_in(entry->d_name, "lock")
                      ? child_lock_is_held(fd, entry->d_name)
                      : depth > 0 && has_lock_held(fd, entry->d_name, depth - 1);
    }
    if (dir != NULL)
        closedir(dir);
    return is_held;
}

/* ---- removing ---- */

static void remove_gone(int dir_fd, const char *name)
{
    struct err e = { 0 };

    if (io_remove_tree_at(dir_fd, name, &e) < 0)
        log_event(LOG_WARN, "not-removed", "error", "%s", e.text, NULL);
}

/* Publishes the folder's results.  false: the share does not take them now, perhaps later. */
static bool may_go(int folder_fd, const char *path, const struct pilot_cleanup *how)
{
    struct err e = { 0 };
    struct stat st;

    if (how->publish == NULL || how->publish(path, how->address, &e) == 0)
        return true;
    log_event(LOG_WARN, "leftover-not-published", "folder", "%s", path, "why", "%s", e.text, NULL);
    return fstat(folder_fd, &st) == 0 && st.st_mtime + UNPUBLISHED_MAX_S < time(NULL);
}

/* Removes the folder if no process holds it; first renames it, as its job may begin here again. */
static void remove_unclaimed(int dir_fd, const char *base, const char *name,
                             const struct pilot_cleanup *how)
{
    int folder_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char *gone = mem_printf("%s" GONE, name), *path = path_join(base, name);
    int lock_fd = -1;
    bool is_left = false;
    struct stat st;

    if (folder_fd >= 0 && fstat(folder_fd, &st) == 0 && st.st_uid == geteuid())
        lock_fd = lock_folder(folder_fd, dir_fd, name, NULL);
    if (lock_fd >= 0 && ends_in(name, GONE) && !how->only_looks) {
        remove_gone(dir_fd, name);
    } else if (lock_fd >= 0 && !ends_in(name, GONE) && !has_lock_held(dir_fd, name, LOCKS_DEPTH)) {
        is_left = how->only_looks;
        /* Publishing takes its time, in which Slurm may have begun the same job again here. */
        if (!how->only_looks && may_go(folder_fd, path, how) &&
            !has_lock_held(dir_fd, name, LOCKS_DEPTH)) {
            (void)io_remove_tree_at(dir_fd, gone, NULL);
            is_left = renameat(dir_fd, name, dir_fd, gone) == 0;
            if (is_left) {
                log_event(LOG_INFO, "leftover", "folder", "%s", name, NULL);
                remove_gone(dir_fd, gone);
            }
        }
    }
    if (is_left && how->tell != NULL)
        how->tell(path);
    if (lock_fd >= 0)
        close(lock_fd);
    if (folder_fd >= 0)
        close(folder_fd);
    free(path);
    free(gone);
}

void pilot_cleanup_remove(const char *prefix, const struct pilot_cleanup *how)
{
    const char *begin = path_basename(prefix);
    char *base = path_dirname(prefix);
    DIR *dir = opendir(base);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *id = entry->d_name + strlen(begin);
        size_t n;

        if (strncmp(entry->d_name, begin, strlen(begin)) != 0)
            continue;
        n = strspn(id, "0123456789_"); /* "17" or "17_3", perhaps with GONE */
        if (n > 0 && (id[n] == '\0' || strcmp(id + n, GONE) == 0))
            remove_unclaimed(dirfd(dir), base, entry->d_name, how);
    }
    if (dir != NULL)
        closedir(dir);
    free(base);
}

int pilot_cleanup_here(const char *scratch, const struct pilot_cleanup *how, struct err *e)
{
    struct conf conf = { .scratch = (char *)(uintptr_t)scratch };
    struct folders folders = { .scratch = NULL };
    struct node node = { .host = NULL };
    int rc = -1;

    if (node_look(&node, e) == 0 && folders_name(&conf, node.host, NULL, false, &folders, e) == 0) {
        pilot_cleanup_remove(folders.pilots_scratch, how);
        pilot_cleanup_remove(folders.pilots_runtime, how);
        rc = 0;
    }
    folders_free(&folders);
    node_free(&node);
    return rc;
}

/* ---- the process ---- */

void pilot_cleanup_start(const struct folders *p, const char *address)
{
    struct child child = { .args = { CHILD_LEFTOVERS, p->pilots_scratch, p->pilots_runtime,
                                     address } };
    struct err e = { 0 };
    pid_t pid;

    if (child_start(&child, &pid, &e) < 0)
        log_event(LOG_WARN, "child-start", "child", "leftovers", "why", "%s", e.text, NULL);
}

int pilot_cleanup_main(int argc, char **argv, const struct pilot_cleanup *how)
{
    struct pilot_cleanup with_address = *how;
    struct err e = { 0 };

    if (argc != 4 || argv[1][0] != '/' || argv[2][0] != '/') {
        err_set(&e, ERR_USAGE, "--leftovers SCRATCH RUNTIME ADDRESS, absolute");
        return child_fail("leftovers", &e);
    }
    if (child_begin(&e) < 0)
        return child_fail("leftovers", &e);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    with_address.address = argv[3];
    pilot_cleanup_remove(argv[1], &with_address);
    with_address.publish = NULL; /* runtime folders have no results */
    pilot_cleanup_remove(argv[2], &with_address);
    return 0;
}
