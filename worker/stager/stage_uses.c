/* SPDX-License-Identifier: MIT */
/* stage_uses.c - which trees the jobs on scratch use, as their orders say */

#include "worker/stager/stage_uses.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "common/base/path.h"
#include "worker/base/folders.h"
#include "worker/base/tree_states.h"

struct looking {
    const struct digest *tree;
    bool is_found;
};

static void compare(void *context, const struct dataset *set)
{
    struct looking *l = context;

    l->is_found |= digest_equal(l->tree, &set->tree);
}

static bool order_uses(int dir_fd, const char *name, const struct digest *tree)
{
    struct looking l = { tree, false };
    struct arena *a = arena_create();
    char *path = mem_printf("%s/" JOB_ORDER, name);
    struct order o;

    if (scratch_read(dir_fd, path, &order_schema, a, &o, NULL) == 0)
        tree_states_each_tree(&o.work.work, compare, &l);
    free(path);
    arena_destroy(a);
    return l.is_found;
}

static bool is_used_below(int dir_fd, const struct digest *tree)
{
    int fd = io_open_dir_at(dir_fd, ".", NULL);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool is_used = false;

    if (dir == NULL && fd >= 0)
        close(fd);
    while (dir != NULL && !is_used && (entry = readdir(dir)) != NULL)
        is_used = order_uses(dir_fd, entry->d_name, tree);
    if (dir != NULL)
        closedir(dir);
    return is_used;
}

static bool is_used_on(const struct scratch *s, const struct digest *tree)
{
    return (s->run_fd >= 0 && is_used_below(s->run_fd, tree)) ||
           (s->spare_fd >= 0 && is_used_below(s->spare_fd, tree));
}

/* ---- beside ours ---- */

static bool is_same_folder(int one_fd, int other_fd)
{
    struct stat one, other;

    return one_fd >= 0 && fstat(one_fd, &one) == 0 && fstat(other_fd, &other) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool is_used_beside(const struct scratch *s, const char *path, const struct digest *tree)
{
    struct scratch other;
    bool is_used = false;

    if (strcmp(path, s->path) == 0)
        return false;
    scratch_look(&other, path);
    if (is_same_folder(other.cache_fd, s->cache_fd))
        is_used = is_used_on(&other, tree);
    scratch_close(&other);
    return is_used;
}

static bool is_used_by_others(const struct scratch *s, const struct digest *tree)
{
    char *base = path_dirname(s->path);
    DIR *dir = opendir(base);
    const struct dirent *entry;
    bool is_used = false;

    while (dir != NULL && !is_used && (entry = readdir(dir)) != NULL) {
        char *path = path_join(base, entry->d_name);

        if (strncmp(entry->d_name, FOLDERS_PREFIX, strlen(FOLDERS_PREFIX)) == 0)
            is_used = is_used_beside(s, path, tree);
        free(path);
    }
    if (dir != NULL)
        closedir(dir);
    free(base);
    return is_used;
}

bool stage_is_used(const struct scratch *s, const struct digest *tree)
{
    return is_used_on(s, tree) || is_used_by_others(s, tree);
}
