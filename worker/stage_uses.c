/* SPDX-License-Identifier: MIT */
/* stage_uses.c - which trees the jobs on scratch use, as their orders say */

#include "worker/stage_uses.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/io.h"
#include "common/mem.h"
#include "worker/staging.h"

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
        staging_each_tree(&o.work.work, compare, &l);
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

bool stage_is_used(const struct scratch *s, const struct digest *tree)
{
    return is_used_below(s->run_fd, tree) || is_used_below(s->spare_fd, tree);
}
