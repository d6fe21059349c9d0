/* SPDX-License-Identifier: MIT */
/* sftp_tree.c - removes a tree on an SFTP server */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/sftp/sftp.h"

/* No path can name a deeper tree. */
enum { DEPTH_MAX = 2048 };

/* Folders in the order they were found, so that each comes after its parent. */
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

static void note_error(struct removal *r, const struct err *error)
{
    if (error != NULL && error->kind != ERR_NOT_FOUND && r->why.kind == ERR_NONE)
        err_set(&r->why, error->kind, "%s", error->text);
}

static void on_removed(void *context, const struct sftp_answer *a)
{
    note_error(context, a->error);
}

static void on_listed(void *context, const struct sftp_answer *a)
{
    struct folder *f = context;

    note_error(f->removal, a->error);
    f->entries = a->entries;
}

static void add_folder(struct removal *r, const char *path)
{
    mem_grow((void **)&r->folders, &r->capacity, r->n, sizeof *r->folders);
    r->folders[r->n++] = (struct folder){ .path = path, .removal = r };
}

static int start_op(struct removal *r, enum sftp_op_kind kind, const char *path, struct err *e)
{
    return sftp_start(r->s, &(struct sftp_op){ .kind = kind, .path = path }, on_removed, r, e);
}

/* Removes a file at once, and notes a folder for later. */
static int remove_entry(struct removal *r, const char *folder, const struct sftp_entry *entry,
                        struct err *e)
{
    const char *path = arena_printf(r->arena, "%s/%s", folder, entry->name);
    struct sftp_attrs attrs = entry->attrs;

    if (!(attrs.has & SFTP_MODE) && sftp_lstat(r->s, path, &attrs, e) < 0)
        return -1;
    if (!(attrs.has & SFTP_MODE) || !S_ISDIR(attrs.mode))
        return start_op(r, SFTP_OP_REMOVE, path, e);
    add_folder(r, path);
    return 0;
}

/* Lists and empties the folders from begin to end, which lie equally deep. */
static int empty_level(struct removal *r, size_t begin, size_t end, struct err *e)
{
    for (size_t i = begin; i < end; i++) {
        struct sftp_op op = { .kind = SFTP_OP_LIST, .path = r->folders[i].path, .arena = r->arena };

        if (sftp_start(r->s, &op, on_listed, &r->folders[i], e) < 0)
            return -1;
    }
    if (sftp_finish(r->s, e) < 0)
        return -1;
    for (size_t i = begin; i < end; i++) {
        const struct folder f = r->folders[i];
        const struct sftp_entry *items = f.entries.items;

        for (size_t k = 0; k < f.entries.n; k++)
            if (remove_entry(r, f.path, &items[k], e) < 0)
                return -1;
    }
    return sftp_finish(r->s, e);
}

static int remove_level_by_level(struct removal *r, struct err *e)
{
    size_t levels[DEPTH_MAX + 1] = { 0 }, n_levels = 0; /* first folder of each level */

    while (levels[n_levels] < r->n) {
        if (n_levels + 1 >= DEPTH_MAX)
            return err_set(e, ERR_PROTOCOL, "%s on the server is too deep", r->folders[0].path);
        levels[n_levels + 1] = r->n;
        if (empty_level(r, levels[n_levels], levels[n_levels + 1], e) < 0)
            return -1;
        n_levels++;
    }
    while (n_levels-- > 0) {
        for (size_t i = levels[n_levels]; i < levels[n_levels + 1]; i++)
            if (start_op(r, SFTP_OP_RMDIR, r->folders[i].path, e) < 0)
                return -1;
        if (sftp_finish(r->s, e) < 0)
            return -1;
    }
    return r->why.kind == ERR_NONE ? 0 : err_set(e, r->why.kind, "%s", r->why.text);
}

int sftp_remove_tree(struct sftp *s, const char *path, struct err *e)
{
    struct removal r = { .s = s };
    struct sftp_attrs attrs;
    struct err why = { 0 };
    int result;

    if (sftp_lstat(s, path, &attrs, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    if (!(attrs.has & SFTP_MODE) || !S_ISDIR(attrs.mode))
        return sftp_remove(s, path, e);
    r.arena = arena_create();
    add_folder(&r, path);
    result = remove_level_by_level(&r, e);
    /* No callback may run after r is gone. */
    if (result < 0)
        (void)sftp_finish(s, NULL);
    free(r.folders);
    arena_destroy(r.arena);
    return result;
}
