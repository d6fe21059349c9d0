/* SPDX-License-Identifier: MIT */
/* share.c - the shared drive: connections, folders, names and small files */

#include "common/share/share.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/beneath.h"
#include "common/base/fs.h"
#include "common/base/io.h"
#include "common/base/nfs_lookup.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/sftp/sftp_root.h"
#include "common/share/share_internal.h"

#define SCHEME "sftp:"

enum {
    /* An unused connection is ended after this time: it costs the server memory and processes. */
    REST_MS = 60 * 1000,
    /* A connection that was unused for longer is tested before use: it may have died unnoticed. */
    TRUSTED_MS = 2 * 1000
};

static const char temporary_begin[] = ".tmp-";

struct shares {
    struct share_source source;
    struct share_line *line; /* the kept connection; NULL: none */
    int64_t used_at_ms;
};

/* ---- errors ---- */

/* Replaces ERR_PROTOCOL, which callers would take for a damaged file. */
static enum err_kind kind_of_sftp(enum err_kind kind)
{
    return kind == ERR_PROTOCOL ? ERR_UNREACHABLE : kind;
}

int share_sftp_fail(const struct err *why, struct err *e)
{
    return err_set(e, kind_of_sftp(why->kind), "%s", why->text);
}

int share_sftp_end(int result, char *full, struct err *e)
{
    free(full);
    if (result < 0 && e != NULL)
        e->kind = kind_of_sftp(e->kind);
    return result;
}

int share_check_path(const struct share_dir *at, const char *path, struct err *e)
{
    if (!at->is_client || path[0] == '\0' || path_is_inside(path))
        return 0;
    return err_set(e, ERR_PROTOCOL, "'%s' is no path below the shared drive", path);
}

/* Sets *e to "WHAT PATH: " and the text of errno.  Returns -1 and keeps errno. */
static int fail_at(const struct share_dir *at, const char *what, const char *path, struct err *e)
{
    int number = errno;
    char *where = at->path != NULL ? path_join(at->path, path) : mem_strdup(path);

    errno = number;
    err_sys(e, "%s %s", what, where);
    free(where);
    return -1;
}

/* ---- the names of shares ---- */

char *share_sftp_name(const char *server_id, const char *projects, const char *path)
{
    return mem_printf(SCHEME "%s:%s:%s", server_id, projects, path);
}

bool share_is_mounted(const char *name)
{
    return strncmp(name, SCHEME, strlen(SCHEME)) != 0;
}

/* The path on the server of the folder where projects lie, for a share's name; the caller frees
 * it. */
static char *find_projects(struct sftp *s, const char *name, struct err *e)
{
    const char *server_id = name + strlen(SCHEME);
    const char *projects = server_id + strcspn(server_id, ":");
    const char *path = projects[0] == '\0' ? projects : projects + 1 + strcspn(projects + 1, ":");
    struct arena *a = arena_create();
    const char *share = NULL;
    char *root = NULL;

    if (path[0] == '\0') {
        err_set(e, ERR_USAGE, "'%s' is no name of a share", name);
    } else {
        server_id = arena_strndup(a, server_id, (size_t)(projects - server_id));
        projects = arena_strndup(a, projects + 1, (size_t)(path - projects) - 1);
        share = sftp_root_find(s, path + 1, server_id, a, e);
    }
    if (share != NULL)
        root = mem_printf("%s%s%s", share, projects[0] == '\0' ? "" : "/", projects);
    arena_destroy(a);
    return root;
}

/* ---- connections ---- */

static void leave_line(struct share_line *line)
{
    if (line == NULL || --line->n_users > 0)
        return;
    share_ahead_free(line->ahead);
    if (!line->is_borrowed)
        sftp_close(line->sftp);
    if (line->is_connected && line->source.leave != NULL)
        line->source.leave(line->source.context);
    free(line->name);
    free(line->root);
    free(line);
}

/* Returns a connection with one user, or NULL with *e set.  Each error becomes ERR_UNREACHABLE, as
 * callers would take a refused login for a missing right to a file. */
static struct share_line *connect_line(const struct share_source *source, const char *name,
                                       struct err *e)
{
    struct share_line *line = mem_alloc(sizeof *line);
    struct err why = { 0 };
    int fd = -1;

    *line = (struct share_line){ .source = *source, .name = mem_strdup(name), .n_users = 1 };
    if (source->connect == NULL)
        err_set(&why, ERR_FAILED, "there is no way to ludwigd's machine");
    else
        fd = source->connect(source->context, &why);
    if (fd >= 0) {
        line->is_connected = true;
        line->sftp = sftp_open(fd, &why);
    }
    if (line->sftp != NULL)
        line->root = find_projects(line->sftp, name, &why);
    if (line->root != NULL)
        return line;
    leave_line(line);
    err_set(e, ERR_UNREACHABLE, "the share, over SFTP: %s", why.text);
    return NULL;
}

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
    leave_line(s->line);
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
    leave_line(s->line);
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

/* Makes an open folder: of a mount if line is NULL, else over SFTP.  It owns fd and path. */
static struct share_dir *new_dir(int fd, struct share_line *line, char *path, bool is_client)
{
    struct share_dir *d = mem_alloc(sizeof *d);

    *d = (struct share_dir){ .fd = fd, .path = path, .line = line, .is_client = is_client };
    if (line != NULL)
        line->n_users++;
    return d;
}

struct share_dir *share_open(struct shares *s, const char *name, struct err *e)
{
    if (share_is_mounted(name)) {
        int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0)
            return new_dir(fd, NULL, NULL, false);
        err_sys(e, "share %s", name);
        return NULL;
    }
    if (!is_usable(s, name)) {
        leave_line(s->line);
        s->line = connect_line(&s->source, name, e);
    }
    s->used_at_ms = units_monotonic_ms();
    return s->line == NULL ? NULL : new_dir(-1, s->line, mem_strdup(s->line->root), false);
}

struct share_dir *share_open_mount(const char *root, struct err *e)
{
    int fd = io_open_dir(root, e);

    return fd < 0 ? NULL : new_dir(fd, NULL, mem_strdup(root), true);
}

struct share_dir *share_open_sftp(struct sftp *s, const char *root)
{
    struct share_line *line = mem_alloc(sizeof *line);

    *line = (struct share_line){ .sftp = s, .is_borrowed = true };
    return new_dir(-1, line, mem_strdup(root), true);
}

int share_open_below(const struct share_dir *at, const char *path, int flags, mode_t mode)
{
    const char *name = path[0] == '\0' ? "." : path;

    if (!at->is_client)
        return beneath_open(at->fd, name, flags, mode);
    return (flags & O_CREAT) != 0 ? openat(at->fd, name, flags | O_CLOEXEC, mode)
                                  : nfs_lookup_open(at->fd, name, flags | O_CLOEXEC);
}

/* Checks that full, the server's path of `path`, is a folder, or for a client a symlink to one. */
static int ask_for_folder(const struct share_dir *at, const char *full, const char *path,
                          struct err *e)
{
    struct sftp_attrs attrs = { 0 };

    if ((at->is_client || path[0] == '\0' ? sftp_stat : sftp_lstat)(at->line->sftp, full, &attrs,
                                                                    e) < 0)
        return -1;
    if (S_ISDIR(attrs.mode))
        return 0;
    return S_ISLNK(attrs.mode)
               ? err_set(e, ERR_DENIED, "open %s: it is a symlink, which is not followed", full)
               : err_set(e, ERR_NOT_FOUND, "open %s: it is no folder", full);
}

struct share_dir *share_open_dir(const struct share_dir *at, const char *path, struct err *e)
{
    char *full;

    if (share_check_path(at, path, e) < 0)
        return NULL;
    if (at->fd >= 0) {
        int fd = share_open_below(at, path, O_RDONLY | O_DIRECTORY, 0);
        char *where = fd < 0 || at->path == NULL ? NULL : path_join(at->path, path);

        if (fd >= 0)
            return new_dir(fd, NULL, where, at->is_client);
        (void)fail_at(at, "open", path, e);
        return NULL;
    }
    full = share_sftp_path(at, path);
    if (ask_for_folder(at, full, path, e) == 0)
        return new_dir(-1, at->line, full, at->is_client);
    (void)share_sftp_end(-1, full, e);
    return NULL;
}

struct share_dir *share_enter(const struct share_dir *at, const char *name, struct err *e)
{
    struct share_stat st;
    int fd;

    if (strchr(name, '/') != NULL || share_stat(at, name, &st, e) < 0)
        return NULL;
    if (st.type != SHARE_FOLDER) {
        err_set(e, ERR_DENIED, "%s is no folder%s", name,
                st.type == SHARE_LINK ? " but a link, which is not followed" : "");
        return NULL;
    }
    if (at->fd < 0)
        return new_dir(-1, at->line, share_sftp_path(at, name), at->is_client);
    fd = openat(at->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        (void)fail_at(at, "open", name, e);
        return NULL;
    }
    return new_dir(fd, NULL, at->path == NULL ? NULL : path_join(at->path, name), at->is_client);
}

void share_close(struct share_dir *d)
{
    if (d == NULL)
        return;
    if (d->fd >= 0)
        close(d->fd);
    leave_line(d->line);
    free(d->path);
    free(d);
}

int share_fd(const struct share_dir *d)
{
    return d->fd;
}

char *share_where(const struct share_dir *d, const char *path)
{
    if (d->fd < 0)
        return mem_printf("%s/%s on the server", d->path, path);
    return d->path != NULL ? path_join(d->path, path) : mem_strdup(path);
}

char *share_sftp_path(const struct share_dir *at, const char *path)
{
    if (path[0] == '\0')
        return mem_strdup(at->path[0] == '\0' ? "/" : at->path);
    return mem_printf("%s/%s", at->path, path);
}

/* ---- names ---- */

static enum share_type type_of(mode_t mode)
{
    return S_ISREG(mode)   ? SHARE_FILE
           : S_ISDIR(mode) ? SHARE_FOLDER
           : S_ISLNK(mode) ? SHARE_LINK
                           : SHARE_OTHER;
}

static struct share_stat stat_of(const struct stat *st)
{
    return (struct share_stat){ .type = type_of(st->st_mode),
                                .mode = st->st_mode & 07777,
                                .group = st->st_gid,
                                .uid = (int64_t)st->st_uid,
                                .size_bytes = st->st_size,
                                .mtime_s = st->st_mtime };
}

struct share_stat share_stat_of_attrs(const struct sftp_attrs *attrs)
{
    mode_t mode = (attrs->has & SFTP_MODE) ? attrs->mode : 0;
    bool is_large = attrs->size_bytes > INT64_MAX;

    return (struct share_stat){ .type = type_of(mode),
                                .mode = mode & 07777,
                                .group = (gid_t)-1,
                                .uid = (int64_t)attrs->uid,
                                .size_bytes = is_large ? INT64_MAX : (int64_t)attrs->size_bytes,
                                .mtime_s = attrs->mtime_s };
}

int share_stat(const struct share_dir *at, const char *path, struct share_stat *st, struct err *e)
{
    struct sftp_attrs attrs = { 0 };
    char *full;
    int result;

    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd >= 0) {
        struct stat own;

        result = path[0] == '\0'
                     ? fstat(at->fd, &own)
                     : (at->is_client ? nfs_lookup_stat : beneath_stat)(at->fd, path, &own);
        if (result < 0)
            return fail_at(at, "look at", path, e);
        *st = stat_of(&own);
        return 0;
    }
    result = share_ahead_stat(at, path, st, e);
    if (result != 0)
        return result < 0 ? -1 : 0;
    full = share_sftp_path(at, path);
    result = (path[0] == '\0' ? sftp_stat : sftp_lstat)(at->line->sftp, full, &attrs, e);
    if (result == 0)
        *st = share_stat_of_attrs(&attrs);
    return share_sftp_end(result, full, e);
}

bool share_exists(const struct share_dir *at, const char *path)
{
    struct share_stat st;

    return share_stat(at, path, &st, NULL) == 0;
}

static int compare_entries(const void *x, const void *y)
{
    const struct share_entry *a = x, *b = y;

    return strcmp(a->name, b->name);
}

/* With SHARE_STATS, an entry that is removed during the listing is left out.  -1 with errno set. */
static int read_entries(DIR *dir, enum share_detail detail, struct arena *a, struct list *entries)
{
    struct share_entry *items = NULL;
    size_t n = 0, capacity = 0;
    struct dirent *d;
    int number;

    while (errno = 0, (d = readdir(dir)) != NULL) {
        struct stat st = { 0 };

        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
            (detail == SHARE_STATS && fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0))
            continue;
        mem_grow((void **)&items, &capacity, n, sizeof *items);
        items[n++] = (struct share_entry){ arena_strdup(a, d->d_name), stat_of(&st) };
    }
    number = errno;
    *entries = (struct list){ arena_alloc(a, n * sizeof *items), n };
    if (n > 0)
        memcpy(entries->items, items, n * sizeof *items);
    free(items);
    errno = number;
    return number == 0 ? 0 : -1;
}

static int list_mount(const struct share_dir *at, const char *path, enum share_detail detail,
                      struct arena *a, struct list *entries, struct err *e)
{
    int fd = share_open_below(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int result;

    if (dir == NULL) {
        result = fail_at(at, "open", path, e);
        if (fd >= 0)
            close(fd);
        return result;
    }
    result = read_entries(dir, detail, a, entries) < 0 ? fail_at(at, "read", path, e) : 0;
    closedir(dir);
    return result;
}

static int list_sftp(const struct share_dir *at, const char *path, enum share_detail detail,
                     struct arena *a, struct list *entries, struct err *e)
{
    struct list found;
    struct sftp_entry *items;
    struct share_entry *kept;
    char *full = share_sftp_path(at, path);
    int result = share_ahead_list(at, path, a, &found, e);

    if (result == 0)
        result = share_sftp_end(sftp_list(at->line->sftp, full, a, &found, e), NULL, e);
    items = found.items;
    kept = result < 0 ? NULL : arena_alloc(a, found.n * sizeof *kept);
    *entries = (struct list){ kept, 0 };
    for (size_t i = 0; result >= 0 && i < found.n; i++) {
        struct sftp_attrs *attrs = &items[i].attrs;

        /* Some servers list names without attributes. */
        if (detail == SHARE_STATS && !(attrs->has & SFTP_MODE)) {
            char *one = path_join(full, items[i].name);
            bool is_gone = sftp_lstat(at->line->sftp, one, attrs, NULL) < 0;

            free(one);
            if (is_gone)
                continue;
        }
        kept[entries->n++] = (struct share_entry){ items[i].name, share_stat_of_attrs(attrs) };
    }
    free(full);
    return result < 0 ? -1 : 0;
}

int share_list(const struct share_dir *at, const char *path, enum share_detail detail,
               struct arena *a, struct list *entries, struct err *e)
{
    *entries = (struct list){ 0 };
    if (share_check_path(at, path, e) < 0 ||
        (at->fd >= 0 ? list_mount : list_sftp)(at, path, detail, a, entries, e) < 0)
        return -1;
    if (detail == SHARE_STATS && entries->n > 1)
        qsort(entries->items, entries->n, sizeof(struct share_entry), compare_entries);
    return 0;
}

/* The context of on_look. */
struct asking {
    struct share_look *look;
    struct arena *arena;
};

static void on_look(void *context, const struct sftp_answer *a)
{
    struct asking *x = context;
    const struct sftp_entry *found = a->entries.items;
    struct share_entry *items;

    if (a->error != NULL) {
        share_sftp_fail(a->error, &x->look->why);
        return;
    }
    x->look->stat = share_stat_of_attrs(&a->attrs);
    items = arena_alloc(x->arena, a->entries.n * sizeof *items);
    x->look->entries = (struct list){ items, a->entries.n };
    for (size_t i = 0; i < a->entries.n; i++)
        items[i] = (struct share_entry){ found[i].name, share_stat_of_attrs(&found[i].attrs) };
}

void share_look(const struct share_dir *at, struct share_look *looks, size_t n,
                bool (*wants_stat)(const char *name), struct arena *a)
{
    struct asking *asking = mem_resize(NULL, n, sizeof *asking);

    for (size_t i = 0; i < n; i++) {
        struct share_look *l = &looks[i];
        struct share_entry *items;

        l->entries = (struct list){ 0 };
        l->why = (struct err){ 0 };
        if (at->fd < 0) {
            char *full = share_sftp_path(at, l->path);
            struct sftp_op op = { .kind = l->lists ? SFTP_OP_LIST : SFTP_OP_LSTAT,
                                  .path = full,
                                  .arena = a };

            asking[i] = (struct asking){ l, a };
            (void)share_sftp_end(sftp_start(at->line->sftp, &op, on_look, &asking[i], &l->why),
                                 full, &l->why);
        } else if (!l->lists) {
            (void)share_stat(at, l->path, &l->stat, &l->why);
        } else {
            (void)share_list(at, l->path, SHARE_NAMES, a, &l->entries, &l->why);
        }
        items = l->entries.items;
        for (size_t k = 0; at->fd >= 0 && k < l->entries.n; k++)
            if (wants_stat == NULL || wants_stat(items[k].name)) {
                char *path = path_join(l->path, items[k].name);

                if (share_stat(at, path, &items[k].stat, NULL) < 0)
                    items[k].stat = (struct share_stat){ .type = SHARE_OTHER };
                free(path);
            }
    }
    if (at->fd < 0)
        (void)sftp_finish(at->line->sftp, NULL);
    free(asking);
}

char *share_read_link(const struct share_dir *at, const char *path, struct err *e)
{
    struct buf ahead = { 0 };
    char *full, *target;

    if (share_check_path(at, path, e) < 0)
        return NULL;
    if (at->fd >= 0)
        return (at->is_client ? io_read_link_at : beneath_read_link)(at->fd, path, e);
    if (share_ahead_content(at, path, &ahead, NULL) > 0)
        return buf_take(&ahead);
    full = share_sftp_path(at, path);
    target = sftp_read_link(at->line->sftp, full, e);
    (void)share_sftp_end(target == NULL ? -1 : 0, full, e);
    return target;
}

int share_set_mode(int fd, mode_t mode)
{
    if (fchmod(fd, mode) == 0)
        return 0;
    return (errno == EPERM || errno == ENOTSUP) && !fs_type_of_fd(fd).keeps_owners ? 0 : -1;
}

int share_make_dir(const struct share_dir *at, const char *path, mode_t mode, struct err *e)
{
    struct stat st;
    int fd, result = 0;

    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd < 0) {
        char *full = share_sftp_path(at, path);

        return share_sftp_end(sftp_mkdir(at->line->sftp, full, mode, e), full, e);
    }
    if ((at->is_client ? mkdirat : beneath_make_dir)(at->fd, path, mode & 0777) < 0)
        return fail_at(at, "create", path, e);
    if (!at->is_client)
        return 0;
    /* A client has a umask, so the mode may be wrong.  A right mode is left alone: chmod by a user
     * outside the folder's group would clear the set-group-id bit that the parent gave. */
    fd = io_open_dir_at(at->fd, path, e);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || ((st.st_mode & 07777) != mode && share_set_mode(fd, mode) < 0))
        result = fail_at(at, "set the mode of", path, e);
    close(fd);
    return result;
}

/* Wraps the error of a refused change of the group. */
static int say_not_given(int64_t group, struct err *e)
{
    return err_wrap(e,
                    "give the project's folder to group %" PRId64 ", whose members read it; are "
                    "you one?",
                    group);
}

static int set_mount_folder(const struct share_dir *at, const char *path, int64_t group,
                            mode_t mode, struct err *e)
{
    int fd = share_open_below(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct stat st;
    int result;

    if (fd < 0)
        return fail_at(at, "open", path, e);
    if (fstat(fd, &st) < 0) {
        result = err_sys(e, "look at %s", path);
    } else if (group >= 0 && (int64_t)st.st_gid != group &&
               fchown(fd, (uid_t)-1, (gid_t)group) < 0) {
        err_sys(e, "%s", path);
        result = say_not_given(group, e);
    } else {
        result = share_set_mode(fd, mode) < 0 ? err_sys(e, "set the mode of %s", path) : 0;
    }
    close(fd);
    return result;
}

/* The outcome of setting a mode over SFTP: the attributes then, and the errors of both requests. */
struct setting {
    struct sftp_attrs is;
    struct err set_why, look_why;
};

static void on_set(void *context, const struct sftp_answer *a)
{
    if (a->error != NULL)
        ((struct setting *)context)->set_why = *a->error;
}

static void on_set_look(void *context, const struct sftp_answer *a)
{
    struct setting *x = context;

    if (a->error != NULL)
        x->look_why = *a->error;
    else
        x->is = a->attrs;
}

/* Sends a request that sets the mode, and right behind it one that reads the attributes.  -1: the
 * connection is broken. */
static int set_and_look(struct sftp *s, const char *full, mode_t mode, struct setting *x,
                        struct err *e)
{
    const struct sftp_op set = { .kind = SFTP_OP_SETSTAT,
                                 .path = full,
                                 .attrs = { .has = SFTP_MODE, .mode = mode } };
    const struct sftp_op look = { .kind = SFTP_OP_LSTAT, .path = full };
    int result = sftp_start(s, &set, on_set, x, e);

    if (result == 0)
        result = sftp_start(s, &look, on_set_look, x, e);
    /* The callbacks use x, so they must run before this function returns. */
    return sftp_finish(s, result == 0 ? e : NULL) < 0 ? -1 : result;
}

/* Whether the folder's permissions, as far as the server tells them, allow more than mode does. */
static bool is_more_open(const struct sftp_attrs *is, mode_t mode)
{
    return (is->has & SFTP_MODE) && (is->mode & 0777 & ~mode) != 0;
}

static int set_sftp_mode(struct sftp *s, const char *full, mode_t mode, struct err *e)
{
    struct setting x = { 0 };

    if (set_and_look(s, full, mode, &x, e) < 0)
        return -1;
    if (x.look_why.kind != ERR_NONE)
        return err_set(e, x.look_why.kind, "%s", x.look_why.text);
    /* The server may have read the attributes before it set the mode. */
    if (x.set_why.kind == ERR_NONE && is_more_open(&x.is, mode) &&
        sftp_lstat(s, full, &x.is, e) < 0)
        return -1;
    if ((x.is.has & SFTP_MODE) && !S_ISDIR(x.is.mode))
        return err_set(e, ERR_DENIED, "%s is no folder", full);
    if (x.set_why.kind == ERR_NONE && !is_more_open(&x.is, mode))
        return 0;
    /* Some servers report success without setting the mode. */
    if (x.set_why.kind == ERR_NONE)
        return err_set(
            e, ERR_DENIED,
            "the SFTP server does not set modes, and others could read %s (its mode stays "
            "%03o instead of %03o): see its umask",
            full, x.is.mode & 0777u, mode & 0777u);
    /* A server that refuses to set modes keeps the old one, which will do if it allows no more. */
    if ((x.set_why.kind == ERR_DENIED || x.set_why.kind == ERR_FAILED) && (x.is.has & SFTP_MODE) &&
        !is_more_open(&x.is, mode))
        return 0;
    return err_set(e, x.set_why.kind, "%s", x.set_why.text);
}

static int set_sftp_folder(struct sftp *s, const char *full, int64_t group, mode_t mode,
                           struct err *e)
{
    struct sftp_attrs attrs;

    if (sftp_lstat(s, full, &attrs, e) < 0)
        return -1;
    if (!(attrs.has & SFTP_MODE) || !S_ISDIR(attrs.mode))
        return err_set(e, ERR_DENIED, "%s is no folder", full);
    if (group >= 0 && (attrs.has & SFTP_OWNER) && (int64_t)attrs.gid != group) {
        attrs.has = SFTP_OWNER;
        attrs.gid = (uint32_t)group;
        if (sftp_setstat(s, full, &attrs, e) < 0)
            return say_not_given(group, e);
    }
    return set_sftp_mode(s, full, mode, e);
}

int share_set_folder(const struct share_dir *at, const char *path, int64_t group, mode_t mode,
                     struct err *e)
{
    char *full;
    int result;

    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd >= 0)
        return set_mount_folder(at, path, group, mode, e);
    full = share_sftp_path(at, path);
    result = set_sftp_folder(at->line->sftp, full, group, mode, e);
    free(full);
    return result;
}

int share_set_folder_mode(const struct share_dir *at, const char *path, mode_t mode, struct err *e)
{
    char *full;
    int result;

    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd >= 0)
        return set_mount_folder(at, path, -1, mode, e);
    full = share_sftp_path(at, path);
    result = set_sftp_mode(at->line->sftp, full, mode, e);
    free(full);
    return result;
}

/* ---- removing and renaming ---- */

static int remove_over_sftp(int (*remove)(struct sftp *s, const char *path, struct err *e),
                            const struct share_dir *at, const char *path, struct err *e)
{
    char *full = share_sftp_path(at, path);

    return share_sftp_end(remove(at->line->sftp, full, e), full, e);
}

int share_remove_file(const struct share_dir *at, const char *path, struct err *e)
{
    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd < 0)
        return remove_over_sftp(sftp_remove, at, path, e);
    return (at->is_client ? unlinkat : beneath_remove)(at->fd, path, 0) < 0
               ? fail_at(at, "remove", path, e)
               : 0;
}

int share_remove_dir(const struct share_dir *at, const char *path, struct err *e)
{
    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd < 0)
        return remove_over_sftp(sftp_rmdir, at, path, e);
    return (at->is_client ? unlinkat : beneath_remove)(at->fd, path, AT_REMOVEDIR) < 0
               ? fail_at(at, "remove", path, e)
               : 0;
}

int share_remove_tree(const struct share_dir *at, const char *path, struct err *e)
{
    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd < 0)
        return remove_over_sftp(sftp_remove_tree, at, path, e);
    return (at->is_client ? io_remove_tree_at : beneath_remove_tree)(at->fd, path, e);
}

/* Whether the path exists; a symlink is not followed. */
static bool lies_there(struct sftp *s, const char *path, bool *is_folder)
{
    struct sftp_attrs attrs;
    bool is_there = sftp_lstat(s, path, &attrs, NULL) == 0;

    *is_folder = is_there && S_ISDIR(attrs.mode);
    return is_there;
}

/* Renames with the request of the SFTP standard, which fails if `to` exists: a file there is then
 * removed first, unless `from` is a folder. */
static int rename_plainly(struct sftp *s, const char *from, const char *to, struct err *why)
{
    bool from_folder, to_folder;

    if (sftp_rename(s, from, to, why) == 0)
        return 0;
    if (!lies_there(s, from, &from_folder) || !lies_there(s, to, &to_folder) || from_folder ||
        to_folder || sftp_remove(s, to, why) < 0)
        return -1;
    return sftp_rename(s, from, to, why);
}

int share_rename(const struct share_dir *at, const char *path, const struct share_dir *to,
                 const char *to_path, struct err *e)
{
    struct err why = { 0 };
    bool from_folder, to_folder;
    char *from, *dest;
    struct sftp *s;
    int result;

    if (share_check_path(at, path, e) < 0 || share_check_path(to, to_path, e) < 0)
        return -1;
    if (at->fd >= 0) {
        if ((at->is_client ? renameat : beneath_rename)(at->fd, path, to->fd, to_path) == 0)
            return 0;
        /* The kernel gives ENOTDIR when a folder would replace a file. */
        if (errno == ENOTDIR)
            errno = EEXIST;
        return err_sys(e, "rename %s to %s", path, to_path);
    }
    s = at->line->sftp;
    from = share_sftp_path(at, path);
    dest = share_sftp_path(to, to_path);
    result = (sftp_can(s, SFTP_CAN_REPLACE) ? sftp_replace : rename_plainly)(s, from, dest, &why);
    /* For an existing target some servers report only a failure, and some report that a folder to
     * rename is missing. */
    if (result < 0 && (why.kind == ERR_FAILED || why.kind == ERR_NOT_FOUND) &&
        lies_there(s, from, &from_folder) && lies_there(s, dest, &to_folder))
        err_set(&why, ERR_EXISTS, "rename %s to %s: something is there already", from, dest);
    free(from);
    free(dest);
    return result < 0 ? share_sftp_fail(&why, e) : 0;
}

char *share_temporary_name(void)
{
    char random[TOKEN_HEX];
    struct token token;

    token_make(&token);
    token_hex(&token, random);
    return mem_printf("%s%s", temporary_begin, random);
}

bool share_is_temporary(const char *name)
{
    size_t n = strlen(temporary_begin);

    return strncmp(name, temporary_begin, n) == 0 && strlen(name) == n + TOKEN_HEX - 1 &&
           strspn(name + n, "0123456789abcdef") == TOKEN_HEX - 1;
}
