/* SPDX-License-Identifier: MIT */
/* jobdir_pool.c - folders of earlier attempts, used again */

#include "worker/base/jobdir_pool.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/crash_point.h"

/* More than wait for their publication in a burst of short jobs. */
enum { SPARES_MAX = 256 };

/* What is being removed; the names of those that runners have taken begin with a dot as well. */
#define DOOMED ".doomed-"

/* ---- the list ---- */

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void add_name(struct spares *p, size_t *capacity, const char *name)
{
    mem_grow((void **)&p->names, capacity, p->n, sizeof *p->names);
    p->names[p->n++] = mem_strdup(name);
}

/* with_taken: also those that a runner is about to use, or was when it was killed. */
static void list_spares(struct spares *p, const struct scratch *s, bool with_taken)
{
    int fd = io_open_dir_at(s->spare_fd, ".", NULL);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    size_t capacity = 0;
    struct dirent *entry;

    spares_free(p);
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL)
        if (!is_dots(entry->d_name) && (with_taken || entry->d_name[0] != '.'))
            add_name(p, &capacity, entry->d_name);
    closedir(dir);
}

void spares_free(struct spares *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->names[i]);
    free(p->names);
    *p = (struct spares){ 0 };
}

/* ---- taking ---- */

/* Other runners know the same names: beginning elsewhere, we seldom meet. */
static char *pick_name(struct spares *p)
{
    size_t at = (size_t)getpid() % p->n;
    char *name = p->names[at];

    p->names[at] = p->names[--p->n];
    return name;
}

static bool take_known(struct spares *p, const struct scratch *s, const char *as)
{
    bool taken = false;

    while (!taken && p->n > 0) {
        char *spare = pick_name(p);

        taken = renameat(s->spare_fd, spare, s->spare_fd, as) == 0;
        free(spare);
    }
    return taken;
}

bool jobdir_pool_take(struct spares *p, const struct scratch *s, const char *as)
{
    if (take_known(p, s, as))
        return true;
    list_spares(p, s, false);
    return take_known(p, s, as);
}

/* ---- giving ---- */

bool jobdir_pool_is_fresh(int dir_fd, const char *path)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct stat st;
    bool is_ours;
    size_t n = 0;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    is_ours = fstat(fd, &st) == 0 && (st.st_mode & 07777) == JOB_DIR_MODE && st.st_uid == geteuid();
    while (is_ours && n <= 2 && readdir(dir) != NULL)
        n++;
    closedir(dir);
    return is_ours && n == 2;
}

/* What every attempt has, and the next one overwrites. */
static bool is_kept(int dir_fd, const struct dirent *entry)
{
    static const char *const files[] = { JOB_ORDER,
                                         JOB_OUTCOME ".new",
                                         JOB_REPORT,
                                         JOB_LOG,
                                         JOB_PARAM2VAL ".json",
                                         JOB_PARAM2VAL ".yaml",
                                         JOB_PARAM2VAL ".msgpack" };

    if (entry->d_type == DT_DIR)
        return (strcmp(entry->d_name, JOB_WORK) == 0 || strcmp(entry->d_name, JOB_TMP) == 0 ||
                strcmp(entry->d_name, JOB_CHECKPOINT) == 0) &&
               jobdir_pool_is_fresh(dir_fd, entry->d_name);
    for (size_t i = 0; entry->d_type == DT_REG && i < sizeof files / sizeof files[0]; i++)
        if (strcmp(entry->d_name, files[i]) == 0)
            return true;
    return false;
}

static bool clean(int dir_fd)
{
    int fd = io_open_dir_at(dir_fd, ".", NULL);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    bool is_clean = true;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (is_clean && (entry = readdir(dir)) != NULL)
        if (!is_dots(entry->d_name) && !is_kept(fd, entry))
            is_clean = io_remove_tree_at(fd, entry->d_name, NULL) == 0;
    closedir(dir);
    return is_clean;
}

/* Kept when it is empty and nobody else's. */
static void take_log(const struct scratch *s, const char *name, int dir_fd)
{
    struct stat st;

    if (fstatat(s->log_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (!S_ISREG(st.st_mode) || st.st_size > 0 || st.st_nlink > 1 ||
        renameat(s->log_fd, name, dir_fd, JOB_LOG) < 0)
        (void)unlinkat(s->log_fd, name, 0);
}

/* An outcome in run/ would say that the next attempt has ended: it loses its name first. */
static bool prepare(const struct scratch *s, const char *name)
{
    int fd = openat(s->published_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is_ready = false;

    if (fd < 0)
        return false;
    if (renameat(fd, JOB_OUTCOME, fd, JOB_OUTCOME ".new") == 0) {
        take_log(s, name, fd);
        is_ready = clean(fd);
    }
    close(fd);
    return is_ready;
}

/* Runners have taken some since they were counted. */
static void count_again(const struct scratch *s, size_t *count)
{
    struct spares p = { 0 };

    list_spares(&p, s, true);
    *count = p.n;
    spares_free(&p);
}

bool jobdir_pool_give(const struct scratch *s, const char *name, size_t *count)
{
    if (*count >= SPARES_MAX)
        count_again(s, count);
    if (*count >= SPARES_MAX || !prepare(s, name))
        return false;
    CRASH_POINT_POINT(discard_begun);
    if (renameat(s->published_fd, name, s->spare_fd, name) < 0)
        return false;
    ++*count;
    return true;
}

/* A runner that takes it meanwhile has it: only one of the two renames succeeds. */
static void remove_spare(const struct scratch *s, const char *name)
{
    char *doomed = name[0] == '.' ? mem_strdup(name) : mem_printf(DOOMED "%s", name);

    if (name[0] == '.' || renameat(s->spare_fd, name, s->spare_fd, doomed) == 0)
        (void)io_remove_tree_at(s->spare_fd, doomed, NULL);
    free(doomed);
}

void jobdir_pool_clear(const struct scratch *s, size_t *count)
{
    struct spares p = { 0 };

    list_spares(&p, s, true);
    for (size_t i = 0; i < p.n; i++)
        if (p.names[i][0] != '.' || strncmp(p.names[i], DOOMED, strlen(DOOMED)) == 0)
            remove_spare(s, p.names[i]);
    spares_free(&p);
    *count = 0;
}
