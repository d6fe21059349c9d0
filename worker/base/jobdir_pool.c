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

/* with_taken: also those that a runner is about to use, or was when it was killed. */
static void list_spares(struct spares *p, const struct scratch *s, bool with_taken)
{
    DIR *dir = io_list_dir_at(s->spare_fd, ".", NULL);
    size_t capacity = 0;
    struct dirent *entry;

    spares_free(p);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (!is_dots(entry->d_name) && (with_taken || entry->d_name[0] != '.')) {
            mem_grow((void **)&p->names, &capacity, p->n, sizeof *p->names);
            p->names[p->n++] = mem_strdup(entry->d_name);
        }
    if (dir != NULL)
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

static bool take_known(struct spares *p, const struct scratch *s, const char *as)
{
    bool taken = false;

    while (!taken && p->n > 0) {
        size_t at = (size_t)getpid() % p->n; /* beginning elsewhere, runners seldom meet */
        char *spare = p->names[at];

        p->names[at] = p->names[--p->n];

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

/* An outcome in run/ would say that the next attempt has ended: it loses its name first. */
static bool prepare_spare(const struct scratch *s, const char *name)
{
    int fd = openat(s->published_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is_clean = fd >= 0 && renameat(fd, JOB_OUTCOME, fd, JOB_OUTCOME ".new") == 0;
    DIR *dir = is_clean ? io_list_dir_at(fd, ".", NULL) : NULL;
    struct dirent *entry;
    struct stat st;

    /* Its log is kept when it is empty and nobody else's. */
    if (is_clean && fstatat(s->log_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!S_ISREG(st.st_mode) || st.st_size > 0 || st.st_nlink > 1 ||
         renameat(s->log_fd, name, fd, JOB_LOG) < 0))
        (void)unlinkat(s->log_fd, name, 0);
    is_clean = dir != NULL;
    while (is_clean && (entry = readdir(dir)) != NULL)
        if (!is_dots(entry->d_name) && !is_kept(fd, entry))
            is_clean = io_remove_tree_at(fd, entry->d_name, NULL) == 0;
    if (dir != NULL)
        closedir(dir);
    if (fd >= 0)
        close(fd);
    return is_clean;
}

bool jobdir_pool_give(const struct scratch *s, const char *name, size_t *count)
{
    struct spares p = { 0 };

    if (*count >= SPARES_MAX) { /* runners have taken some since they were counted */
        list_spares(&p, s, true);
        *count = p.n;
        spares_free(&p);
    }
    if (*count >= SPARES_MAX || !prepare_spare(s, name))
        return false;
    CRASH_POINT_POINT(discard_begun);
    if (renameat(s->published_fd, name, s->spare_fd, name) < 0)
        return false;
    ++*count;
    return true;
}

void jobdir_pool_clear(const struct scratch *s, size_t *count)
{
    struct spares p = { 0 };

    list_spares(&p, s, true);
    for (size_t i = 0; i < p.n; i++) {
        const char *name = p.names[i];
        bool is_doomed = strncmp(name, DOOMED, strlen(DOOMED)) == 0;
        char *doomed = is_doomed ? mem_strdup(name) : mem_printf(DOOMED "%s", name);

        /* A runner that takes it meanwhile has it: only one of the two renames succeeds. */
        if (is_doomed || (name[0] != '.' && renameat(s->spare_fd, name, s->spare_fd, doomed) == 0))
            (void)io_remove_tree_at(s->spare_fd, doomed, NULL);
        free(doomed);
    }
    spares_free(&p);
    *count = 0;
}
