/* SPDX-License-Identifier: MIT */
/* folder.c - a folder that results are written to, and what its writers share */
#include "client/export/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/data/json.h"

enum { DIR_MODE = 0755, FILE_MODE = 0644, MARK_MAX_BYTES = 64 };

static const char mark_name[] = ".ludwig";

/* Returns 1 if the folder is empty, else 0; -1 with e set. */
static int is_empty(const char *dir, struct err *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    int n = 0;

    if (d == NULL)
        return err_sys(e, "%s", dir);
    while ((entry = readdir(d)) != NULL)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(d);
    return n == 0;
}

int export_folder_begin(const char *dir, const char *program, struct err *e)
{
    char *path = path_join(dir, mark_name);
    struct buf mark = { 0 };
    int empty = io_make_dirs(dir, DIR_MODE, e) < 0 ? -1 : is_empty(dir, e), result = 0;

    if (empty < 0)
        result = -1;
    else if (empty == 0 && (io_read_file(path, MARK_MAX_BYTES, &mark, NULL) < 0 ||
                            strcmp(buf_text(&mark), program) != 0))
        result = err_set(
            e, ERR_USAGE,
            "%s is not empty, and was not written by this command: name another folder", dir);
    else if (empty == 1)
        result = io_replace_file(path, program, strlen(program), FILE_MODE, e);
    buf_free(&mark);
    free(path);
    return result;
}

int export_folder_renew(const char *path, struct err *e)
{
    struct stat st;

    if (lstat(path, &st) == 0 && io_remove_tree(path, e) < 0)
        return -1;
    return io_make_dirs(path, DIR_MODE, e);
}

int export_file(const char *dir, const char *name, const struct buf *content, struct err *e)
{
    char *path = path_join(dir, name);
    int result = io_replace_file(path, buf_text(content), content->n, FILE_MODE, e);

    free(path);
    return result;
}

size_t *export_series_index(const struct gathered *g)
{
    size_t *at = arena_alloc(g->arena, (g->n_jobs + 1) * sizeof *at);

    for (size_t i = 0; i < g->n_jobs; i++)
        at[i] = g->curves.n;
    for (size_t i = g->curves.n; i-- > 0;) /* curves are sorted by job */
        at[g->curves.items[i].job] = i;
    return at;
}

bool export_series_next(const struct gathered *g, size_t job, size_t *at, struct export_series *s)
{
    if (*at == g->curves.n || g->curves.items[*at].job != job)
        return false;
    *s = (struct export_series){ g->aggregate->metrics[g->curves.items[*at].metric],
                                 g->curves.items[*at].points, g->curves.items[*at].n };
    ++*at;
    return true;
}

static bool is_whole(double step)
{
    return fabs(step) < 1e15 && !(step > floor(step));
}

int64_t export_step(const struct export_series *s, size_t point)
{
    for (size_t i = 0; i < s->n; i++)
        if (!is_whole(s->points[i].step)) /* true also for nan */
            return (int64_t)point;
    return (int64_t)s->points[point].step;
}

int64_t export_time_ms(const struct gathered_job *job, const struct export_series *s, size_t point)
{
    int64_t ms = job->ended_at - job->started_at;

    if (job->started_at == 0 || ms <= 0)
        return job->started_at > 0 ? job->started_at : job->ended_at;
    return job->started_at + (int64_t)((double)ms * (double)(point + 1) / (double)s->n);
}

void export_add_value(struct buf *out, const struct value *v)
{
    if (v->type == VALUE_STR) {
        bool is_plain = true;

        for (size_t i = 0; i < v->str.n; i++)
            is_plain = is_plain && !iscntrl((unsigned char)v->str.s[i]);
        if (is_plain) {
            json_add_text(out, v);
            return;
        }
    }
    json_add_value(out, v);
}
