/* SPDX-License-Identifier: MIT */
/* store.c - a project's packs on the shared drive */

#include "client/share/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/path.h"
#include "common/proto/layout.h"
#include "common/share/share_upload.h"

_Static_assert((int)PACK_SLOTS <= (int)SHARE_UPLOAD_SLOTS, "each part that is written has a slot");

enum { LEFTOVER_AGE_S = 7 * 24 * 3600 }; /* older temporary files are of a try that is given up */

const char *const store_folder_names[STORE_FOLDER_COUNT] = { "", "parts", "blocks" };

struct store {
    const struct place *to;
    struct share_dir *root;               /* of projects; NULL: not opened yet */
    struct share_upload *upload;          /* NULL: nothing was written or touched yet */
    unsigned numbers[STORE_FOLDER_COUNT]; /* of the folders, once is_prepared */
    bool is_prepared;                     /* the folders are there, or on their way */
    bool has_details;                     /* of all files that are listed */
    bool is_there[STORE_FOLDER_COUNT];
    struct share_stat project;
    struct err project_why; /* why that is not known; ERR_NONE: it is, once is_looked_at */
    bool is_looked_at;
    size_t n_lanes; /* that are worth it */
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

/* A drive that is not there yet has no packs, which is no error until something is written. */
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
    free(s);
}

char *store_key(const struct place *to)
{
    const struct share_connection *d = to->drive;

    if (d->mount != NULL)
        return mem_printf("mount %s %s", d->mount, to->project);
    return mem_printf("sftp %s %s", d->server_id, to->project);
}

const struct place *store_place(const struct store *s)
{
    return s->to;
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

void store_want_details(struct store *s)
{
    s->has_details = true;
}

/* Of parts and blocks, which may be very many, it suffices that they are there. */
static bool is_known_by_more_than_name(const char *name)
{
    return share_is_temporary(name) || strstr(name, ".manifest") != NULL;
}

static struct list files_of(const struct list *found, struct arena *a)
{
    const struct share_entry *from = found->items;
    struct store_entry *items = arena_alloc(a, found->n * sizeof *items);
    size_t n = 0;

    for (size_t i = 0; i < found->n; i++)
        if (from[i].stat.type != SHARE_FOLDER && from[i].stat.type != SHARE_LINK)
            items[n++] = (struct store_entry){ .name = from[i].name,
                                               .size = from[i].stat.size_bytes,
                                               .mtime_s = from[i].stat.mtime_s,
                                               .uid = from[i].stat.uid };
    return (struct list){ items, n };
}

int store_list(struct store *s, struct arena *a, struct list entries[STORE_FOLDER_COUNT],
               struct err *e)
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
               s->has_details ? NULL : is_known_by_more_than_name, a);
    s->project = looks[STORE_FOLDER_COUNT].stat;
    s->project_why = looks[STORE_FOLDER_COUNT].why;
    s->is_looked_at = true;
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++) {
        const struct err *why = &looks[i].why;

        s->is_there[i] = why->kind == ERR_NONE;
        entries[i] = files_of(&looks[i].entries, a);
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

int store_remove(struct store *s, const char *path, struct err *e)
{
    char *whole = path_of(s, path);
    struct err why = { 0 };
    int result = open_root(s, &why) < 0 ? -1 : share_remove_file(s->root, whole, &why);

    free(whole);
    return result == 0 || why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
}

int store_mtime(struct store *s, const char *path, int64_t *mtime_s, struct err *e)
{
    char *whole = path_of(s, path);
    struct share_stat st = { .mtime_s = 0 };
    int result = open_root(s, e) < 0 ? -1 : share_stat(s->root, whole, &st, e);

    free(whole);
    *mtime_s = st.mtime_s;
    return result;
}

mode_t store_project_mode(const struct store *s)
{
    bool is_known = s->is_looked_at && s->project_why.kind == ERR_NONE;

    return is_known && s->project.type == SHARE_FOLDER ? S_IFDIR | s->project.mode : 0;
}

/* ---- leftovers ---- */

/* Whose files are made there, and what the clock there says: of a file that is made for it. */
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

void store_sweep(struct store *s, enum store_folder folder, const struct list *entries)
{
    const struct store_entry *items = entries->items;
    struct share_stat own = { 0 };

    if (entries->n == 0 || !s->is_prepared || ask_owner_and_clock(s, &own) < 0)
        return;
    for (size_t i = 0; i < entries->n; i++) {
        char *path;

        if (items[i].uid != own.uid || !share_is_temporary(items[i].name) ||
            own.mtime_s - items[i].mtime_s <= LEFTOVER_AGE_S)
            continue;
        path = folder == STORE_PACKS ? mem_strdup(items[i].name)
                                     : path_join(store_folder_names[folder], items[i].name);
        (void)store_remove(s, path, NULL);
        free(path);
    }
}

/* ---- writing ---- */

/* What is made gets its mode from the project's folder, which is no symlink. */
static int open_upload(struct store *s, struct err *e)
{
    struct share_modes modes;

    if (s->upload != NULL)
        return 0;
    if (open_root(s, e) < 0)
        return -1;
    /* A project that was not there may have been made meanwhile. */
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
    modes = share_modes_of(&s->project);
    s->upload = share_upload_open(s->root, &modes);
    share_upload_expect(s->upload, s->n_lanes, s->to->drive->lane, s->to->drive->context);
    return 0;
}

static int prepare(struct store *s, struct err *e)
{
    char *packs = path_of(s, ""), *above = path_dirname(packs);
    unsigned number;
    int result = open_upload(s, e);

    if (result == 0 && !s->is_prepared) {
        result = share_upload_add_folder(s->upload, above, s->is_there[STORE_PACKS], &number, e);
        for (size_t i = 0; i < STORE_FOLDER_COUNT && result == 0; i++) {
            char *path = path_of(s, store_folder_names[i]);

            result = share_upload_add_folder(s->upload, path, s->is_there[i], &s->numbers[i], e);
            free(path);
        }
        s->is_prepared = result == 0;
    }
    free(above);
    free(packs);
    return result;
}

int store_part_begin(struct store *s, unsigned slot, struct err *e)
{
    return prepare(s, e) < 0 ? -1 : share_upload_begin(s->upload, slot, s->numbers[STORE_PARTS], e);
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

static enum store_folder folder_of(const char *path)
{
    for (enum store_folder i = STORE_PARTS; i < STORE_FOLDER_COUNT; i++)
        if (strncmp(path, store_folder_names[i], strlen(store_folder_names[i])) == 0)
            return i;
    return STORE_PACKS;
}

int store_object(struct store *s, enum pack_object kind, const struct digest *name,
                 struct bytes bytes, struct err *e)
{
    struct buf path = { 0 };
    int result = prepare(s, e);

    pack_object_path(&path, kind, name);
    if (result == 0)
        result = share_upload_put(s->upload, s->numbers[folder_of(buf_text(&path))],
                                  path_basename(buf_text(&path)), bytes,
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
