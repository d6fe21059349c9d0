/* SPDX-License-Identifier: MIT */
/* share_project.c - folders on the shared drive, with the modes of their project */

#include "common/share/share_project.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/mem.h"

mode_t share_project_file_mode(const struct share_modes *m, mode_t now)
{
    return m->file | ((now & S_IXUSR) != 0 ? m->dir & 0111 : 0);
}

mode_t share_project_closed_mode(const struct share_modes *m)
{
    return m->dir & (S_ISGID | S_IRWXU);
}

struct share_modes share_modes_of(const struct share_stat *project)
{
    mode_t bits = project->mode & 0777;

    return (struct share_modes){ .dir = bits | 0700 | (project->mode & S_ISGID),
                                 .file = (bits & 0666) | 0600,
                                 .group =
                                     (project->mode & S_ISGID) != 0 ? project->group : (gid_t)-1,
                                 .owner = project->uid };
}

struct share_dir *share_project_open_project(const struct share_dir *share, const char *path,
                                             struct share_modes *modes, struct err *e)
{
    char *name = mem_strndup(path, strcspn(path, "/"));
    struct share_dir *d = share_open_dir(share, name, e);
    struct share_stat st;

    if (d != NULL && share_stat(d, "", &st, e) == 0) {
        *modes = share_modes_of(&st);
    } else {
        err_wrap(e, "the project's folder %s on the share", name);
        share_close(d);
        d = NULL;
    }
    free(name);
    return d;
}

static int make_dirs(const struct share_dir *at, const char *path, mode_t mode, struct err *e)
{
    size_t n = 0;
    int result = 0;

    while (result == 0 && path[n] != '\0') {
        struct err why = { 0 };
        char *above;

        n += strspn(path + n, "/");
        n += strcspn(path + n, "/");
        above = mem_strndup(path, n);
        if (share_make_dir(at, above, mode, &why) < 0 && why.kind != ERR_EXISTS)
            result = err_set(e, why.kind, "%s", why.text);
        free(above);
    }
    return result;
}

struct share_dir *share_project_open_folder(const struct share_dir *share, const char *path,
                                            struct share_modes *modes, struct err *e)
{
    const char *below = strchr(path, '/');
    struct share_dir *project = share_project_open_project(share, path, modes, e);
    struct share_dir *d;
    struct err why = { 0 };

    if (project == NULL || below == NULL)
        return project;
    below++;
    d = share_open_dir(project, below, &why);
    if (d == NULL && why.kind != ERR_NOT_FOUND)
        err_set(e, why.kind, "%s", why.text);
    else if (d == NULL && make_dirs(project, below, modes->dir, e) == 0)
        d = share_open_dir(project, below, e);
    share_close(project);
    return d;
}

int share_project_make_closed(const struct share_dir *at, const char *path,
                              const struct share_modes *m, struct err *e)
{
    return share_make_dir(at, path, share_fd(at) < 0 ? m->dir : share_project_closed_mode(m), e);
}

/* A missing folder is no error here: the rename that follows reports it. */
int share_project_open_up(const struct share_dir *at, const char *path, const struct share_modes *m,
                          struct err *e)
{
    const int64_t group = m->group == (gid_t)-1 ? -1 : (int64_t)m->group;
    struct err why = { 0 };

    if (share_fd(at) < 0 || share_set_folder(at, path, group, m->dir, &why) == 0 ||
        why.kind == ERR_DENIED || why.kind == ERR_NOT_FOUND)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

bool share_project_is_listed(const struct share_dir *at, const char *path, const char *name)
{
    struct arena *a = arena_create();
    struct list entries;
    const struct share_entry *items;
    bool is_found = false;

    (void)share_list(at, path, SHARE_NAMES, a, &entries, NULL);
    items = entries.items;
    for (size_t i = 0; i < entries.n && !is_found; i++)
        is_found = strcmp(items[i].name, name) == 0;
    arena_destroy(a);
    return is_found;
}
