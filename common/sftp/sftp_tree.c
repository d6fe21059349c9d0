/* SPDX-License-Identifier: MIT */
/* sftp_tree.c - folders and trees on an SFTP server */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/digest.h"
#include "common/base/path.h"
#include "common/sftp/sftp.h"

/* Deeper trees than any path can name are nobody's. */
enum { DEPTH_MAX = 2048 };

/* --- making ---------------------------------------------------------------------- */

static int check_folder(const char *path, const struct sftp_attrs *attrs, struct err *e)
{
    if (!(attrs->has & SFTP_MODE) || S_ISDIR(attrs->mode))
        return 0;
    return err_set(e, ERR_EXISTS, "%s on the server is no folder", path);
}

static bool is_folder(struct sftp *s, const char *path, struct err *e)
{
    struct sftp_attrs attrs;

    return sftp_stat(s, path, &attrs, e) == 0 && check_folder(path, &attrs, e) == 0;
}

static int make_dir(struct sftp *s, const char *path, mode_t mode, struct err *e)
{
    struct err why = { 0 };

    if (sftp_mkdir(s, path, mode, &why) == 0)
        return 0;
    if (why.kind == ERR_EXISTS && is_folder(s, path, &why))
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

/* A folder on the way to another one. */
struct level {
    char *path;
    struct sftp_attrs attrs;
    struct err why; /* ERR_NONE: it is there, or was made */
};

struct levels {
    struct level *items; /* the deepest first */
    size_t n, capacity;
};

static void add_levels(struct levels *l, const char *path)
{
    char *above = mem_strdup(path), *last = mem_strdup("");

    while (strcmp(above, last) != 0 && strcmp(above, ".") != 0) {
        mem_grow((void **)&l->items, &l->capacity, l->n, sizeof *l->items);
        free(last);
        last = above;
        l->items[l->n++] = (struct level){ .path = mem_strdup(above) };
        above = path_dirname(last);
    }
    free(above);
    free(last);
}

static void free_levels(struct levels *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i].path);
    free(l->items);
}

static void on_level(void *context, const struct sftp_answer *a)
{
    struct level *level = context;

    level->attrs = a->attrs;
    level->why = a->error != NULL ? *a->error : (struct err){ .kind = ERR_NONE };
}

/* The same with each of the first n, at once, the highest first. */
static int with_levels(struct sftp *s, struct levels *l, size_t n, const struct sftp_op *op,
                       struct err *e)
{
    int result = 0;

    for (size_t i = n; i-- > 0 && result == 0;) {
        struct sftp_op one = *op;

        one.path = l->items[i].path;
        result = sftp_start(s, &one, on_level, &l->items[i], e);
    }
    /* Nobody may be called who finds l gone. */
    return sftp_finish(s, result == 0 ? e : NULL) < 0 ? -1 : result;
}

/* How many are missing. */
static int count_missing(const struct levels *l, size_t *n, struct err *e)
{
    *n = 0;
    while (*n < l->n && l->items[*n].why.kind == ERR_NOT_FOUND)
        ++*n;
    if (*n == l->n)
        return 0;
    if (l->items[*n].why.kind != ERR_NONE)
        return err_set(e, l->items[*n].why.kind, "%s", l->items[*n].why.text);
    return check_folder(l->items[*n].path, &l->items[*n].attrs, e);
}

/* All at once, as servers obey in order; where one did not, or somebody else was faster, one after
 * the other. */
static int make_levels(struct sftp *s, struct levels *l, size_t n, mode_t mode, struct err *e)
{
    if (with_levels(s, l, n, &(struct sftp_op){ .kind = SFTP_OP_MKDIR, .mode = mode }, e) < 0)
        return -1;
    for (size_t i = n; i-- > 0;)
        if (l->items[i].why.kind != ERR_NONE && make_dir(s, l->items[i].path, mode, e) < 0)
            return -1;
    return 0;
}

int sftp_make_dirs(struct sftp *s, const char *path, mode_t mode, struct err *e)
{
    struct levels l = { 0 };
    size_t n;
    int result;

    add_levels(&l, path);
    result = with_levels(s, &l, l.n, &(struct sftp_op){ .kind = SFTP_OP_STAT }, e);
    if (result == 0)
        result = count_missing(&l, &n, e);
    if (result == 0)
        result = make_levels(s, &l, n, mode, e);
    free_levels(&l);
    return result;
}

static char *temporary_name(const char *path)
{
    char random[TOKEN_HEX], *folder = path_dirname(path), *name, *whole;
    struct token token;

    token_make(&token);
    token_hex(&token, random);
    name = mem_printf(".%s.%s", path_basename(path), random);
    whole = path_join(folder, name);
    free(name);
    free(folder);
    return whole;
}

static void keep_error(void *context, const struct sftp_answer *a)
{
    struct err *e = context;

    if (a->error != NULL && e->kind == ERR_NONE)
        err_set(e, a->error->kind, "%s", a->error->text);
}

static int put(struct sftp *s, const char *path, struct bytes content, mode_t mode, struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_PUT,
                          .path = path,
                          .content = content,
                          .mode = mode,
                          .flags = SFTP_EXCLUSIVE,
                          .sync = true };
    struct err why = { 0 };

    if (sftp_start(s, &op, keep_error, &why, e) < 0 || sftp_finish(s, e) < 0)
        return -1;
    return why.kind == ERR_NONE ? 0 : err_set(e, why.kind, "%s", why.text);
}

/* Where the server cannot do both at once there is a moment without the file. */
static int put_in_place(struct sftp *s, const char *from, const char *to, struct err *e)
{
    struct err why = { 0 };

    if (sftp_can(s, SFTP_CAN_REPLACE))
        return sftp_replace(s, from, to, e);
    if (sftp_remove(s, to, &why) < 0 && why.kind != ERR_NOT_FOUND)
        return err_set(e, why.kind, "%s", why.text);
    return sftp_rename(s, from, to, e);
}

int sftp_replace_file(struct sftp *s, const char *path, struct bytes content, mode_t mode,
                      struct err *e)
{
    char *temporary = temporary_name(path);
    int result = put(s, temporary, content, mode, e);

    if (result == 0)
        result = put_in_place(s, temporary, path, e);
    if (result < 0)
        (void)sftp_remove(s, temporary, NULL);
    free(temporary);
    return result;
}

/* --- removing -------------------------------------------------------------------- */

/* Folders in the order they were found, so that each lies behind the one it is in. */
struct removal {
    struct sftp *s;
    struct arena *arena;
    struct folder *folders;
    size_t n, capacity;
    struct err why; /* the first error */
};

struct folder {
    const char *path;
    struct list entries;
    struct removal *removal;
};

static void note(struct removal *r, const struct err *error)
{
    if (error != NULL && error->kind != ERR_NOT_FOUND && r->why.kind == ERR_NONE)
        err_set(&r->why, error->kind, "%s", error->text);
}

static void on_removed(void *context, const struct sftp_answer *a)
{
    note(context, a->error);
}

static void on_listed(void *context, const struct sftp_answer *a)
{
    struct folder *f = context;

    note(f->removal, a->error);
    f->entries = a->entries;
}

static void add_folder(struct removal *r, const char *path)
{
    mem_grow((void **)&r->folders, &r->capacity, r->n, sizeof *r->folders);
    r->folders[r->n++] = (struct folder){ .path = path, .removal = r };
}

static int start(struct removal *r, enum sftp_op_kind kind, const char *path, struct err *e)
{
    return sftp_start(r->s, &(struct sftp_op){ .kind = kind, .path = path }, on_removed, r, e);
}

/* Of what is in a folder: files go, folders are noted for later. */
static int remove_entry(struct removal *r, const char *folder, const struct sftp_entry *entry,
                        struct err *e)
{
    const char *path = arena_printf(r->arena, "%s/%s", folder, entry->name);
    struct sftp_attrs attrs = entry->attrs;

    if (!(attrs.has & SFTP_MODE) && sftp_lstat(r->s, path, &attrs, e) < 0)
        return -1;
    if (!(attrs.has & SFTP_MODE) || !S_ISDIR(attrs.mode))
        return start(r, SFTP_OP_REMOVE, path, e);
    add_folder(r, path);
    return 0;
}

static int remove_entries(struct removal *r, size_t number, struct err *e)
{
    const struct list entries = r->folders[number].entries;
    const char *path = r->folders[number].path;
    const struct sftp_entry *items = entries.items;

    for (size_t i = 0; i < entries.n; i++)
        if (remove_entry(r, path, &items[i], e) < 0)
            return -1;
    return 0;
}

static int list_folder(struct removal *r, struct folder *f, struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_LIST, .path = f->path, .arena = r->arena };

    return sftp_start(r->s, &op, on_listed, f, e);
}

/* The folders from begin on, which lie equally deep. */
static int empty_level(struct removal *r, size_t begin, size_t end, struct err *e)
{
    for (size_t i = begin; i < end; i++)
        if (list_folder(r, &r->folders[i], e) < 0)
            return -1;
    if (sftp_finish(r->s, e) < 0)
        return -1;
    for (size_t i = begin; i < end; i++)
        if (remove_entries(r, i, e) < 0)
            return -1;
    return sftp_finish(r->s, e);
}

static int remove_folders(struct removal *r, const size_t *levels, size_t n_levels, struct err *e)
{
    for (size_t level = n_levels; level-- > 0;) {
        for (size_t i = levels[level]; i < levels[level + 1]; i++)
            if (start(r, SFTP_OP_RMDIR, r->folders[i].path, e) < 0)
                return -1;
        if (sftp_finish(r->s, e) < 0)
            return -1;
    }
    return 0;
}

static int remove_level_by_level(struct removal *r, struct err *e)
{
    size_t levels[DEPTH_MAX + 1] = { 0 }, n_levels = 0; /* where each begins in folders */

    while (levels[n_levels] < r->n) {
        if (n_levels + 1 >= DEPTH_MAX)
            return err_set(e, ERR_PROTOCOL, "%s on the server is too deep", r->folders[0].path);
        levels[n_levels + 1] = r->n;
        if (empty_level(r, levels[n_levels], levels[n_levels + 1], e) < 0)
            return -1;
        n_levels++;
    }
    if (remove_folders(r, levels, n_levels, e) < 0)
        return -1;
    return r->why.kind == ERR_NONE ? 0 : err_set(e, r->why.kind, "%s", r->why.text);
}

static int remove_folder(struct sftp *s, const char *path, struct err *e)
{
    struct removal r = { .s = s, .arena = arena_create() };
    int result;

    add_folder(&r, path);
    result = remove_level_by_level(&r, e);
    /* Nobody may be called who finds r gone. */
    if (result < 0)
        (void)sftp_finish(s, NULL);
    free(r.folders);
    arena_destroy(r.arena);
    return result;
}

int sftp_remove_tree(struct sftp *s, const char *path, struct err *e)
{
    struct sftp_attrs attrs;
    struct err why = { 0 };

    if (sftp_lstat(s, path, &attrs, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    if ((attrs.has & SFTP_MODE) && S_ISDIR(attrs.mode))
        return remove_folder(s, path, e);
    return sftp_remove(s, path, e);
}
