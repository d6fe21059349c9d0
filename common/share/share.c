/* SPDX-License-Identifier: MIT */
/* share.c - the shared drive, however it is reached */

#include "common/share/share.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "common/share/share_internal.h"
#include "common/sftp/sftp_root.h"

#define SCHEME "sftp:"

enum {
    /* A connection costs the server memory and processes. */
    REST_MS = 60 * 1000,
    /* One that was not used for longer may have died unnoticed. */
    TRUSTED_MS = 2 * 1000
};

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
static struct share_line *connect_line(const struct share_source *source, const char *name,
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

/* ---- the connection that a thread keeps ---- */

struct shares {
    struct share_source source;
    struct share_line *line; /* NULL: none */
    int64_t used_at_ms;
};

struct shares *shares_create(const struct share_source *source)
{
    struct shares *s = mem_alloc(sizeof *s);

    if (source != NULL)
        s->source = *source;
    if (s->source.rest_ms == 0)
        s->source.rest_ms = REST_MS;
    return s;
}

void shares_destroy(struct shares *s)
{
    if (s == NULL)
        return;
    share_connection_leave(s->line);
    free(s);
}

int64_t shares_rest_ms(const struct shares *s)
{
    int64_t left_ms;

    if (s->line == NULL || s->line->n_users > 1)
        return -1;
    left_ms = s->used_at_ms + s->source.rest_ms - units_monotonic_ms();
    return left_ms > 0 ? left_ms : 0;
}

void shares_rest(struct shares *s)
{
    if (shares_rest_ms(s) != 0)
        return;
    share_connection_leave(s->line);
    s->line = NULL;
}

static bool is_usable(const struct shares *s, const char *name)
{
    struct sftp_attrs attrs;

    if (s->line == NULL || strcmp(s->line->name, name) != 0)
        return false;
    if (units_monotonic_ms() - s->used_at_ms > TRUSTED_MS)
        (void)sftp_stat(s->line->sftp, s->line->root, &attrs, NULL);
    return !sftp_is_broken(s->line->sftp);
}

/* ---- folders ---- */

struct share_dir *share_open(struct shares *s, const char *name, struct err *e)
{
    if (share_is_mounted(name))
        return share_mount_open(name, e);
    if (!is_usable(s, name)) {
        share_connection_leave(s->line);
        s->line = connect_line(&s->source, name, e);
    }
    s->used_at_ms = units_monotonic_ms();
    return s->line == NULL ? NULL : share_sftp_dir(s->line, mem_strdup(s->line->root));
}

struct share_dir *share_open_dir(const struct share_dir *at, const char *path, struct err *e)
{
    return at->way->open_dir(at, path, e);
}

void share_close(struct share_dir *d)
{
    if (d != NULL)
        d->way->close(d);
}

int share_fd(const struct share_dir *d)
{
    return d->way->fd(d);
}

/* ---- names ---- */

int share_stat(const struct share_dir *at, const char *path, struct share_stat *st, struct err *e)
{
    return at->way->stat(at, path, st, e);
}

bool share_exists(const struct share_dir *at, const char *path)
{
    struct share_stat st;

    return share_stat(at, path, &st, NULL) == 0;
}

int share_list(const struct share_dir *d, void (*each)(void *context, const char *name),
               void *context, struct err *e)
{
    return d->way->list(d, each, context, e);
}

int share_make_dir(const struct share_dir *at, const char *path, mode_t mode, struct err *e)
{
    return at->way->make_dir(at, path, mode, e);
}

int share_remove_file(const struct share_dir *at, const char *path, struct err *e)
{
    return at->way->remove_file(at, path, e);
}

int share_remove_dir(const struct share_dir *at, const char *path, struct err *e)
{
    return at->way->remove_dir(at, path, e);
}

int share_remove_tree(const struct share_dir *at, const char *path, struct err *e)
{
    return at->way->remove_tree(at, path, e);
}

int share_rename(const struct share_dir *at, const char *path, const struct share_dir *to,
                 const char *to_path, struct err *e)
{
    return at->way->rename(at, path, to, to_path, e);
}

/* ---- small files ---- */

int share_read(const struct share_dir *at, const char *path, size_t max_bytes, struct buf *out,
               struct err *e)
{
    return at->way->read(at, path, max_bytes, out, e);
}

int share_write(const struct share_dir *at, const char *path, const void *bytes, size_t n,
                mode_t mode, struct err *e)
{
    return at->way->write(at, path, bytes, n, mode, e);
}

int share_ship(const struct share_dir *at, const char *path, mode_t mode, int from_fd,
               struct err *e)
{
    return at->way->ship(at, path, mode, from_fd, e);
}

/* ---- trees ---- */

int share_copy_in(const struct share_dir *to, int from_fd, struct share_item *items, size_t n,
                  struct err *e)
{
    return to->way->copy_in(to, from_fd, items, n, e);
}

int share_copy_out(const struct share_dir *from, int to_fd, const struct share_item *items,
                   size_t n, struct err *e)
{
    return from->way->copy_out(from, to_fd, items, n, e);
}

/* ---- a large file ---- */

struct share_file *share_create(const struct share_dir *at, const char *path, mode_t mode,
                                struct err *e)
{
    return at->way->create(at, path, mode, e);
}

int share_put(struct share_file *f, int from_fd, uint64_t max_bytes, uint64_t *n_bytes,
              struct err *e)
{
    return f->way->put(f, from_fd, max_bytes, n_bytes, e);
}

int share_end(struct share_file *f, struct err *e)
{
    return f->way->end(f, e);
}

struct share_input *share_open_input(const struct share_dir *at, const char *path, uint64_t offset,
                                     struct err *e)
{
    return at->way->open_input(at, path, offset, e);
}

ssize_t share_read_input(struct share_input *in, void *bytes, size_t n, struct err *e)
{
    return in->way->read_input(in, bytes, n, e);
}

void share_close_input(struct share_input *in)
{
    if (in != NULL)
        in->way->close_input(in);
}

/* ---- making it durable ---- */

bool share_is_synced_whole(const struct share_dir *d)
{
    return d->way->is_synced_whole(d);
}

int share_sync(const struct share_dir *d, struct err *e)
{
    return d->way->sync(d, e);
}

void share_sync_each(struct share_sync *files, size_t n)
{
    size_t begin = 0;

    for (size_t end = 1; end <= n; end++)
        if (end == n || files[end].dir->way != files[begin].dir->way) {
            files[begin].dir->way->sync_each(files + begin, end - begin);
            begin = end;
        }
}

int share_sync_dir(const struct share_dir *d, const char *name, struct err *e)
{
    return d->way->sync_dir(d, name, e);
}
