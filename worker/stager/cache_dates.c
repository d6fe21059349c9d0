/* SPDX-License-Identifier: MIT */
/* cache_dates.c - gives Python sources in a staged tree the times that compiled modules name */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/mem.h"
#include "worker/stager/cache_stage.h"

/* The first bytes of a compiled module: a magic number, flags (0: the time when the source was
 * changed follows), that time in seconds, and the source's size. */
enum { HEAD_BYTES = 16, FLAGS_AT = 4, TIME_AT = 8, SIZE_AT = 12 };

static uint32_t number_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Returns the source of a compiled module, "a/b.py" of "a/__pycache__/b.cpython-311.pyc"; SIZE_MAX:
 * path is no compiled module, or its source is not in the dataset. */
static size_t source_of(const struct plan *p, const char *path)
{
    static const char folder[] = "__pycache__/";
    const char *at = strstr(path, folder), *name;
    size_t n = strlen(path), i;
    char *source;

    if (n < 4 || strcmp(path + n - 4, ".pyc") != 0 || at == NULL || (at > path && at[-1] != '/'))
        return SIZE_MAX;
    name = at + sizeof folder - 1;
    source = mem_printf("%.*s%.*s.py", (int)(at - path), path, (int)strcspn(name, "."), name);
    i = strchr(name, '/') == NULL ? plan_find(p, source) : SIZE_MAX;
    free(source);
    return i;
}

/* Python uses a compiled module only if the source has the time that the module names, and could
 * not keep one that it compiled anew, as nobody may write into the cache. */
int stage_date_sources(struct stage *s, struct err *e)
{
    struct plan *p = &s->plan;

    for (size_t i = 0; i < p->n; i++) {
        size_t source = source_of(p, plan_path(p, i));
        struct timespec times[2] = { { 0, UTIME_OMIT }, { 0, 0 } };
        unsigned char head[HEAD_BYTES];
        const char *name;
        struct stat st;
        int dir_fd, fd;
        ssize_t got;

        if (source == SIZE_MAX || !plan_is_file(p, i) || !plan_is_file(p, source))
            continue;
        dir_fd = dir_walk_to(&s->walk, plan_path(p, i), &name, e);
        fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return dir_fd < 0 ? -1 : err_sys(e, "open %s", plan_path(p, i));
        got = io_read_all(fd, head, sizeof head);
        close(fd);
        if (got != HEAD_BYTES || number_at(head + FLAGS_AT) != 0 ||
            number_at(head + SIZE_AT) != (uint32_t)p->rows[source].size)
            continue;
        times[1].tv_sec = (time_t)number_at(head + TIME_AT);
        /* Sources have their own walk, as the other one stays in the compiled modules' folder. */
        dir_fd = dir_walk_to(&s->other, plan_path(p, source), &name, e);
        if (dir_fd < 0)
            return -1;
        /* A source that another tree shares keeps the time that it got there, mostly the same. */
        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink > 1)
            continue;
        if (utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
            return err_sys(e, "date %s", plan_path(p, source));
        p->entries[source].has_stat = false;
    }
    return 0;
}
