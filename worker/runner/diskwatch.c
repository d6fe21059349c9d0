/* SPDX-License-Identifier: MIT */
/* diskwatch.c - watches how much a job's files take on scratch */

#include "worker/runner/diskwatch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/base/process_tree.h"

enum {
    EVERY_MS = 1000,
    LOOK_SHARE = 20, /* the pause after a look, in multiples of the time that it took */
    BLOCK_BYTES = 512,
    STEP_ENTRIES = 2000, /* some milliseconds */
    STEP_PAUSE_MS = 1,
    OPEN_MAX_LOOKED = 20000, /* descriptors, some ten milliseconds */
    SEEN_MAX = 1000          /* files without a name */
};

void diskwatch_begin(struct diskwatch *w, int64_t limit_bytes)
{
    *w = (struct diskwatch){ .limit_bytes = limit_bytes,
                             .used_bytes = -1,
                             .next_ms = units_monotonic_ms() + EVERY_MS };
}

void diskwatch_end(struct diskwatch *w)
{
    while (w->depth > 0)
        closedir(w->open[--w->depth]);
    w->began_ms = 0;
    w->limit_bytes = 0;
}

int diskwatch_wait_ms(const struct diskwatch *w)
{
    int64_t wait_ms = w->next_ms - units_monotonic_ms();

    if (w->limit_bytes == 0)
        return -1;
    return wait_ms < 0 ? 0 : (int)wait_ms;
}

/* Adds a file, or a folder, in which the look goes on, if it is on the same file system.  What cannot
 * be looked at counts nothing. */
static void add(struct diskwatch *w, int dir_fd, const char *name, int64_t *bytes)
{
    struct stat st;
    DIR *dir = NULL;
    int fd;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != w->device)
        return;
    *bytes += (int64_t)st.st_blocks * BLOCK_BYTES;
    if (!S_ISDIR(st.st_mode) || w->depth == DISKWATCH_DEPTH_MAX)
        return;
    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        dir = fdopendir(fd);
    if (dir != NULL)
        w->open[w->depth++] = dir;
    else if (fd >= 0)
        close(fd);
}

/* Goes on for some entries; true: the folders that were begun are done. */
static bool step(struct diskwatch *w, int64_t *bytes)
{
    for (int n = 0; w->depth > 0 && n < STEP_ENTRIES; n++) {
        DIR *dir = w->open[w->depth - 1];
        const struct dirent *entry = readdir(dir);

        if (entry == NULL) {
            closedir(dir);
            w->depth--;
        } else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            add(w, dirfd(dir), entry->d_name, bytes);
        }
    }
    return w->depth == 0;
}

static void begin_look(struct diskwatch *w, const struct scratch *s, const char *hex)
{
    struct stat st;

    w->began_ms = units_monotonic_ms();
    w->n_members = 0;
    w->shared_bytes = w->member_bytes = w->largest_bytes = 0;
    if (fstat(s->run_fd, &st) < 0)
        return;
    w->device = st.st_dev;
    add(w, s->run_fd, hex, &w->shared_bytes);
    add(w, s->log_fd, hex, &w->shared_bytes);
}

/* ---- files that have lost their name, or never had one ---- */

struct seen {
    ino_t files[SEEN_MAX];
    size_t n;
};

static bool is_new(struct seen *s, ino_t file)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->files[i] == file)
            return false;
    if (s->n == SEEN_MAX)
        return false;
    s->files[s->n++] = file;
    return true;
}

/* Adds up nameless files that the job's processes have open on the device; one that only a mapping
 * keeps is not seen. */
static int64_t nameless_bytes(dev_t device)
{
    size_t n;
    struct process_tree_process *all = process_tree_list(&n);
    struct seen seen = { .n = 0 };
    const struct dirent *entry;
    int64_t bytes = 0;
    struct stat st;
    int left = OPEN_MAX_LOOKED;

    for (size_t i = 0; i < n && left > 0; i++) {
        char *path = mem_printf("/proc/%lld/fd", (long long)all[i].pid);
        DIR *dir = opendir(path);

        while (dir != NULL && left-- > 0 && (entry = readdir(dir)) != NULL)
            if (entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
                S_ISREG(st.st_mode) && st.st_nlink == 0 && st.st_dev == device &&
                is_new(&seen, st.st_ino))
                bytes += (int64_t)st.st_blocks * BLOCK_BYTES;
        if (dir != NULL)
            closedir(dir);
        free(path);
    }
    free(all);
    return bytes;
}

int64_t diskwatch_look(struct diskwatch *w, const struct scratch *s, const char *hex)
{
    int64_t now_ms = units_monotonic_ms(), took_ms, bytes;
    const char *member = NULL;

    if (w->limit_bytes == 0 || now_ms < w->next_ms)
        return 0;
    if (w->began_ms == 0)
        begin_look(w, s, hex);
    if (step(w, w->n_members == 0 ? &w->shared_bytes : &w->member_bytes)) {
        if (w->member_bytes > w->largest_bytes)
            w->largest_bytes = w->member_bytes;
        w->member_bytes = 0;
        member = w->member == NULL ? NULL : w->member(w->context, w->n_members++);
        if (member != NULL)
            add(w, s->run_fd, member, &w->member_bytes);
    }
    bytes = w->shared_bytes + w->largest_bytes;
    if (w->depth > 0 || member != NULL) {
        w->next_ms = now_ms + STEP_PAUSE_MS;
        return bytes > w->limit_bytes ? bytes : 0;
    }
    now_ms = units_monotonic_ms();
    took_ms = now_ms - w->began_ms;
    w->next_ms = now_ms + (took_ms * LOOK_SHARE > EVERY_MS ? took_ms * LOOK_SHARE : EVERY_MS);
    w->began_ms = 0;
    w->used_bytes = bytes += nameless_bytes(w->device);
    w->n_looks++;
    return bytes > w->limit_bytes ? bytes : 0;
}
