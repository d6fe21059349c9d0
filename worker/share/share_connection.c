/* SPDX-License-Identifier: MIT */
/* share_connection.c - a connection over which a share is reached, and its name */

#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"
#include "common/sftp/sftp_root.h"
#include "worker/share/share_sftp.h"

#define SCHEME "sftp:"

/* ---- names ---- */

char *share_sftp_name(const char *server_id, const char *projects, const char *path)
{
    return mem_printf(SCHEME "%s:%s:%s", server_id, projects, path);
}

bool share_is_mounted(const char *name)
{
    return strncmp(name, SCHEME, strlen(SCHEME)) != 0;
}

/* Up to the next colon; NULL when there is none. */
static char *take_part(const char **at)
{
    size_t n = strcspn(*at, ":");
    char *part;

    if ((*at)[n] == '\0')
        return NULL;
    part = mem_strndup(*at, n);
    *at += n + 1;
    return part;
}

/* ---- connecting ---- */

/* Of the folder where projects lie. */
static char *find_root(struct sftp *s, const char *name, struct err *e)
{
    const char *path = name + strlen(SCHEME);
    char *server_id = take_part(&path);
    char *projects = server_id == NULL ? NULL : take_part(&path);
    struct arena *a = arena_create();
    const char *share = NULL;
    char *root = NULL;

    if (projects == NULL)
        err_set(e, ERR_USAGE, "'%s' is no name of a share", name);
    else
        share = sftp_root_find(s, path, server_id, a, e);
    if (share != NULL)
        root = mem_printf("%s/%s", share, projects);
    arena_destroy(a);
    free(projects);
    free(server_id);
    return root;
}

static int fill_line(struct share_line *line, struct err *e)
{
    int fd = line->source.connect(line->source.context, e);

    if (fd < 0)
        return -1;
    line->is_connected = true;
    line->sftp = sftp_open(fd, e);
    if (line->sftp != NULL)
        line->root = find_root(line->sftp, line->name, e);
    return line->root == NULL ? -1 : 0;
}

static struct share_line *open_line(const struct share_source *source, const char *name,
                                    struct err *e)
{
    struct share_line *line;

    if (source->connect == NULL) {
        err_set(e, ERR_FAILED, "there is no way to ludwigd's machine");
        return NULL;
    }
    line = mem_alloc(sizeof *line);
    *line = (struct share_line){ .source = *source, .name = mem_strdup(name), .n_users = 1 };
    if (fill_line(line, e) == 0)
        return line;
    share_connection_leave(line);
    return NULL;
}

/* A refused login is no missing right to a file, for which callers would take it. */
struct share_line *share_connection_open(const struct share_source *source, const char *name,
                                         struct err *e)
{
    struct err why = { 0 };
    struct share_line *line = open_line(source, name, &why);

    if (line == NULL)
        err_set(e, ERR_UNREACHABLE, "the share, over SFTP: %s", why.text);
    return line;
}

void share_connection_leave(struct share_line *line)
{
    if (line == NULL || --line->n_users > 0)
        return;
    sftp_close(line->sftp);
    if (line->is_connected && line->source.leave != NULL)
        line->source.leave(line->source.context);
    free(line->name);
    free(line->root);
    free(line);
}

struct share_dir *share_connection_dir(struct share_line *line)
{
    return share_sftp_dir(line, mem_strdup(line->root));
}

bool share_connection_is_of(const struct share_line *line, const char *name)
{
    return strcmp(line->name, name) == 0 && !sftp_is_broken(line->sftp);
}

bool share_connection_is_free(const struct share_line *line)
{
    return line->n_users == 1;
}

bool share_connection_is_broken(struct share_line *line)
{
    struct sftp_attrs attrs;

    (void)sftp_stat(line->sftp, line->root, &attrs, NULL);
    return sftp_is_broken(line->sftp);
}
