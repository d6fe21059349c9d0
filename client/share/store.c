/* SPDX-License-Identifier: MIT */
/* store.c - a project's folder on the shared drive: its packs and its sweeps */

#include "client/share/store.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/share/share_upload.h"

_Static_assert((int)PACK_SLOTS <= (int)SHARE_UPLOAD_SLOTS, "each part that is written has a slot");

enum { LEFTOVER_AGE_S = 7 * 24 * 3600 }; /* older temporary files belong to no living try */

const char *const store_folder_names[STORE_FOLDER_COUNT] = { "", "parts", "blocks" };

/* A temporary file found by store_list. */
struct leftover {
    char *path;
    struct share_stat stat;
};

struct store {
    const struct place *to;
    struct share_dir *root;               /* the folder of projects; NULL: not opened yet */
    struct share_upload *upload;          /* NULL: nothing was written or touched yet */
    unsigned numbers[STORE_FOLDER_COUNT]; /* of the folders, once is_prepared */
    bool is_prepared;                     /* the folders exist, or were asked for */
    bool is_there[STORE_FOLDER_COUNT];
    struct share_stat project;
    struct err project_why; /* why project is not known; ERR_NONE: it is, once is_looked_at */
    bool is_looked_at;
    size_t n_lanes; /* connections that are worth it */
    struct leftover *leftovers;
    size_t n_leftovers, leftovers_capacity;
};

struct store *store_open(const struct place *to, struct err *e)
{
    struct store *s;

    if (to->drive->mount == NULL && share_connection_mend(to->drive, e) < 0)
        return NULL;
    s = mem_alloc(sizeof *s);
    *s = (struct store){ .to = to, .n_lanes = 1 };
    return s;
}

/* Opens the folder of projects.  A drive that is not there yet has no packs, which is no error
 * before the first write. */
static int open_root(struct store *s, struct err *e)
{
    if (s->root == NULL)
        s->root = share_connection_read(s->to->drive, e);
    return s->root == NULL ? -1 : 0;
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    share_upload_close(s->upload);
    share_close(s->root);
    for (size_t i = 0; i < s->n_leftovers; i++)
        free(s->leftovers[i].path);
    free(s->leftovers);
    free(s);
}

char *store_key(const struct store *s)
{
    const struct share_connection *d = s->to->drive;

    if (d->mount != NULL)
        return mem_printf("mount %s %s", d->mount, s->to->project);
    return mem_printf("sftp %s %s", d->server_id, s->to->project);
}

int store_make_project(const struct place *to, const struct folder_order *order, struct err *e)
{
    struct store *s = store_open(to, e);
    struct err why = { 0 };
    int result = -1;

    if (s == NULL || open_root(s, e) < 0)
        goto out;
    if (share_make_dir(s->root, to->project, 0700, &why) < 0 && why.kind != ERR_EXISTS)
        err_set(
            e, why.kind,
            "make the project's folder: %s (the server cannot; its admin can name a folder with "
            "projects: that you may write to)",
            why.text);
    else
        result =
            share_set_folder(s->root, to->project, order->group == SCHEMA_NONE ? -1 : order->group,
                             (mode_t)order->mode, e);
out:
    store_close(s);
    return result;
}

/* "PROJECT/.ludwig/packs/BELOW"; the caller frees it. */
static char *path_of(const struct store *s, const char *below)
{
    struct buf path = { 0 };

    layout_packs(&path, s->to->project);
    if (below[0] != '\0')
        buf_printf(&path, "/%s", below);
    return buf_take(&path);
}

/* ---- looking ---- */

/* Whether an entry needs its size and time; of parts and blocks, which may be many, the name is
 * enough. */
static bool is_known_by_more_than_name(const char *name)
{
    return share_is_temporary(name) || strstr(name, ".manifest") != NULL;
}

/* Drops folders and links, and remembers temporary files. */
static void keep_files(struct store *s, enum store_folder folder, struct list *entries)
{
    struct share_entry *items = entries->items;
    size_t n = 0;

    for (size_t i = 0; i < entries->n; i++) {
        if (items[i].stat.type == SHARE_FOLDER || items[i].stat.type == SHARE_LINK)
            continue;
        if (share_is_temporary(items[i].name)) {
            mem_grow((void **)&s->leftovers, &s->leftovers_capacity, s->n_leftovers,
                     sizeof *s->leftovers);
            s->leftovers[s->n_leftovers++] =
                (struct leftover){ folder == STORE_PACKS
                                       ? mem_strdup(items[i].name)
                                       : path_join(store_folder_names[folder], items[i].name),
                                   items[i].stat };
        }
        items[n++] = items[i];
    }
    entries->n = n;
}

int store_list(struct store *s, bool has_details, struct arena *a,
               struct list entries[STORE_FOLDER_COUNT], struct err *e)
{
    struct share_look looks[STORE_FOLDER_COUNT + 1] = { { .lists = false } };
    char *paths[STORE_FOLDER_COUNT];
    struct err missing = { 0 };
    int result = 0;

    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++)
        entries[i] = (struct list){ 0 };
    if (open_root(s, &missing) < 0)
        return missing.kind == ERR_NOT_FOUND ? 0 : err_set(e, missing.kind, "%s", missing.text);
    looks[STORE_FOLDER_COUNT].path = s->to->project;
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++) {
        paths[i] = path_of(s, store_folder_names[i]);
        looks[i] = (struct share_look){ .path = paths[i], .lists = true };
    }
    share_look(s->root, looks, STORE_FOLDER_COUNT + 1,
               has_details ? NULL : is_known_by_more_than_name, a);
    s->project = looks[STORE_FOLDER_COUNT].stat;
    s->project_why = looks[STORE_FOLDER_COUNT].why;
    s->is_looked_at = true;
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++) {
        const struct err *why = &looks[i].why;

        s->is_there[i] = why->kind == ERR_NONE;
        entries[i] = looks[i].entries;
        keep_files(s, i, &entries[i]);
        if (why->kind != ERR_NONE && why->kind != ERR_NOT_FOUND && result == 0)
            result = err_set(e, why->kind, "%s", why->text);
        free(paths[i]);
    }
    return result;
}

int store_fetch(struct store *s, const char *path, size_t max_bytes, share_got *got, void *context,
                struct err *e)
{
    char *whole = path_of(s, path);
    int result = open_root(s, e) < 0 ? -1 : share_fetch(s->root, whole, max_bytes, got, context, e);

    free(whole);
    return result;
}

int store_fetch_all(struct store *s, struct err *e)
{
    return s->root == NULL ? 0 : share_fetch_all(s->root, e);
}

/* ---- removing ---- */

int store_remove_untouched(struct store *s, const char *path, int64_t mtime_s, struct err *e)
{
    char *whole = path_of(s, path);
    struct share_stat st;
    struct err why = { 0 };
    int result = open_root(s, &why) < 0 ? -1 : share_stat(s->root, whole, &st, &why);

    if (result == 0 && st.mtime_s == mtime_s)
        result = share_remove_file(s->root, whole, &why) < 0 ? -1 : 1;
    free(whole);
    if (result >= 0)
        return result;
    return why.kind == ERR_NOT_FOUND ? 1 : err_set(e, why.kind, "%s", why.text);
}

/* Makes a file to learn the server's clock and the owner of new files. */
static int ask_owner_and_clock(struct store *s, struct share_stat *st)
{
    char *name = share_temporary_name(), *whole = path_of(s, name);
    int result = share_write(s->root, whole, "", 0, share_modes_of(&s->project).file, NULL);

    if (result == 0) {
        result = share_stat(s->root, whole, st, NULL);
        (void)share_remove_file(s->root, whole, NULL);
    }
    free(whole);
    free(name);
    return result;
}

void store_sweep(struct store *s)
{
    struct share_stat own = { 0 };

    if (s->n_leftovers == 0 || !s->is_prepared || ask_owner_and_clock(s, &own) < 0)
        return;
    for (size_t i = 0; i < s->n_leftovers; i++) {
        const struct leftover *l = &s->leftovers[i];
        char *path;

        if (l->stat.mtime_s == 0 || l->stat.uid != own.uid ||
            own.mtime_s - l->stat.mtime_s <= LEFTOVER_AGE_S)
            continue;
        path = path_of(s, l->path);
        (void)share_remove_file(s->root, path, NULL);
        free(path);
    }
}

/* ---- writing ---- */

/* Looks at the project's folder, which must not be a symlink. */
static int look_at_project(struct store *s, struct err *e)
{
    if (open_root(s, e) < 0)
        return -1;
    /* A project that was missing may have been made meanwhile. */
    if (!s->is_looked_at || s->project_why.kind != ERR_NONE) {
        s->project_why = (struct err){ 0 };
        (void)share_stat(s->root, s->to->project, &s->project, &s->project_why);
        s->is_looked_at = true;
    }
    if (s->project_why.kind != ERR_NONE)
        return err_set(e, s->project_why.kind, "the project's folder on the share: %s",
                       s->project_why.text);
    if (s->project.type != SHARE_FOLDER)
        return err_set(e, ERR_DENIED, "the project's folder on the share, %s, is no folder",
                       s->to->project);
    return 0;
}

int store_limit_readers(struct store *s, const struct readers *all, const struct readers *files,
                        bool *has_closed, struct err *e)
{
    bool has_workers;
    mode_t mode;

    *has_closed = false;
    if (look_at_project(s, e) < 0)
        return -1;
    has_workers = (s->project.mode & S_IWGRP) != 0;
    mode = readers_limit(has_workers ? files : all, &s->project);
    if (has_workers && !readers_has_group(files, &s->project))
        return err_set(e, ERR_USAGE,
                       "some of the files are for you alone to read, and the workers of project %s "
                       "read as another account, through the group of its folder: let the group "
                       "read them (chmod -R g+rX), or leave them out with a .ludwigignore",
                       s->to->project);
    if (mode == (s->project.mode & 07777))
        return 0;
    if (share_set_folder_mode(s->root, s->to->project, mode, e) < 0)
        return err_wrap(e, "close the project's folder to those who may not read what goes there");
    s->project.mode = mode;
    *has_closed = true;
    return 0;
}

/* Begins the upload; modes follow the project's folder. */
static int open_upload(struct store *s, struct err *e)
{
    struct share_modes modes;

    if (s->upload != NULL)
        return 0;
    if (look_at_project(s, e) < 0)
        return -1;
    modes = share_modes_of(&s->project);
    s->upload = share_upload_open(s->root, &modes);
    share_upload_expect(s->upload, s->n_lanes, s->to->drive->lane, s->to->drive->context);
    return 0;
}

/* Adds a folder of packs to the upload, made after its parents if need be. */
static int add_folders(struct store *s, const char *folder, bool is_there, unsigned *number,
                       struct err *e)
{
    char *above = path_dirname(folder);
    int result = share_upload_add_folder(s->upload, above, is_there, number, e);

    free(above);
    return result < 0 ? -1 : share_upload_add_folder(s->upload, folder, is_there, number, e);
}

static int prepare_folders(struct store *s, struct err *e)
{
    char *path;
    int result = open_upload(s, e);

    if (result < 0 || s->is_prepared)
        return result;
    path = path_of(s, "");
    result = add_folders(s, path, s->is_there[STORE_PACKS], &s->numbers[STORE_PACKS], e);
    free(path);
    for (size_t i = STORE_PARTS; i < STORE_FOLDER_COUNT && result == 0; i++) {
        path = path_of(s, store_folder_names[i]);
        result = share_upload_add_folder(s->upload, path, s->is_there[i], &s->numbers[i], e);
        free(path);
    }
    s->is_prepared = result == 0;
    return result;
}

int store_part_begin(struct store *s, unsigned slot, struct err *e)
{
    return prepare_folders(s, e) < 0
               ? -1
               : share_upload_begin(s->upload, slot, s->numbers[STORE_PARTS], e);
}

int store_part_write(struct store *s, unsigned slot, struct bytes bytes, struct err *e)
{
    return share_upload_write(s->upload, slot, bytes, e);
}

int store_part_end(struct store *s, unsigned slot, const struct pack_part *part, struct bytes list,
                   struct err *e)
{
    struct buf path = { 0 };
    int result;

    pack_part_path(&path, part);
    result = share_upload_end(s->upload, slot, path_basename(buf_text(&path)), e);
    buf_free(&path);
    return result < 0 ? -1 : store_object(s, PACK_LIST, &part->list, list, e);
}

int store_object(struct store *s, enum pack_object kind, const struct digest *name,
                 struct bytes bytes, struct err *e)
{
    enum store_folder folder = STORE_BLOCKS;
    struct buf path = { 0 };
    int result = prepare_folders(s, e);

    pack_object_path(&path, kind, name);
    while (folder > STORE_PACKS && strncmp(buf_text(&path), store_folder_names[folder],
                                           strlen(store_folder_names[folder])) != 0)
        folder--;
    if (result == 0)
        result =
            share_upload_put(s->upload, s->numbers[folder], path_basename(buf_text(&path)), bytes,
                             kind == PACK_MANIFEST ? SHARE_UPLOAD_LAST : SHARE_UPLOAD_NEW, e);
    buf_free(&path);
    return result;
}

int store_touch(struct store *s, const char *path, struct err *e)
{
    char *whole = path_of(s, path);
    int result = open_upload(s, e) < 0 ? -1 : share_upload_touch(s->upload, whole, e);

    free(whole);
    return result;
}

int store_add_sweep(struct store *s, int64_t sweep, const struct store_text *files, size_t n,
                    struct err *e)
{
    struct buf folder = { 0 };
    unsigned number;
    int result = open_upload(s, e);

    layout_sweep(&folder, s->to->project, sweep);
    if (result == 0)
        result = add_folders(s, buf_text(&folder), false, &number, e);
    for (size_t i = 0; i < n && result == 0; i++)
        result = share_upload_put(s->upload, number, files[i].name, files[i].text,
                                  SHARE_UPLOAD_REPLACE, e);
    buf_free(&folder);
    return result < 0 ? err_wrap(e, "files of the sweep") : 0;
}

void store_expect(struct store *s, uint64_t bytes)
{
    const struct share_connection *d = s->to->drive;

    s->n_lanes = d->mount == NULL ? share_connection_lanes(d, bytes) : 1;
    if (s->upload != NULL)
        share_upload_expect(s->upload, s->n_lanes, d->lane, d->context);
    else if (s->n_lanes > 1)
        (void)open_upload(s, NULL);
}

int store_arrive(struct store *s, struct err *e)
{
    return s->upload == NULL ? 0 : share_upload_arrive(s->upload, e);
}

int store_settle(struct store *s, struct err *e)
{
    return s->upload == NULL ? 0 : share_upload_settle(s->upload, e);
}

void store_push(struct store *s)
{
    if (s->upload != NULL)
        share_upload_push(s->upload);
}

uint64_t store_settled_bytes(const struct store *s)
{
    return s->upload == NULL ? 0 : share_upload_settled_bytes(s->upload);
}

bool store_may_have_settled(const struct store *s)
{
    return s->upload != NULL && share_upload_may_have_settled(s->upload);
}
