/* SPDX-License-Identifier: MIT */
/* store.c - a project's packs on the shared drive, whichever way leads there */
#include <stdlib.h>
#include <string.h>

#include "client/share/store_way.h"
#include "common/base/path.h"
#include "common/proto/layout.h"

struct store *store_open(const struct place *to, struct err *e)
{
    const struct store_way *way = to->drive->mount != NULL ? &store_mount : &store_sftp;
    struct store *s = way->open(to, e);

    if (s == NULL)
        return NULL;
    s->way = way;
    s->to = to;
    return s;
}

char *store_key(const struct place *to)
{
    const struct share_connection *d = to->drive;

    if (d->mount != NULL)
        return mem_printf("mount %s %s", d->mount, to->project);
    return mem_printf("sftp %s %s", d->server_id, to->project);
}

void store_close(struct store *s)
{
    if (s != NULL)
        s->way->close(s);
}

char *store_path(const struct place *to, const char *below)
{
    struct buf path = { 0 };

    layout_packs(&path, to->project);
    if (below[0] != '\0')
        buf_printf(&path, "/%s", below);
    return buf_take(&path);
}

const char *const store_folder_names[STORE_FOLDER_COUNT] = { "", "parts", "blocks" };

enum store_folder store_folder_of(const char *path)
{
    for (enum store_folder i = STORE_PARTS; i < STORE_FOLDER_COUNT; i++)
        if (strncmp(path, store_folder_names[i], strlen(store_folder_names[i])) == 0)
            return i;
    return STORE_PACKS;
}

/* ---- looking ---- */

void store_want_details(struct store *s)
{
    s->has_details = true;
}

int store_list(struct store *s, struct arena *a, struct list entries[STORE_FOLDER_COUNT],
               struct err *e)
{
    for (size_t i = 0; i < STORE_FOLDER_COUNT; i++)
        entries[i] = (struct list){ 0 };
    return s->way->list(s, a, entries, e);
}

int store_fetch(struct store *s, const char *path, size_t max_bytes, store_got *got, void *context,
                struct err *e)
{
    return s->way->fetch(s, path, max_bytes, got, context, e);
}

int store_fetch_all(struct store *s, struct err *e)
{
    return s->way->fetch_all(s, e);
}

int store_remove(struct store *s, const char *path, struct err *e)
{
    struct err why = { 0 };

    if (s->way->remove(s, path, &why) == 0 || why.kind == ERR_NOT_FOUND)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

int store_mtime(struct store *s, const char *path, int64_t *mtime_s, struct err *e)
{
    return s->way->mtime(s, path, mtime_s, e);
}

int store_touch(struct store *s, const char *path, struct err *e)
{
    return s->way->touch(s, path, e);
}

int store_say_gone(const char *path, struct err *e)
{
    return err_set(e, ERR_BUSY,
                   "%s in the project's packs was removed while this relied on it; submit again",
                   path);
}

void store_sweep(struct store *s, enum store_folder folder, const struct list *entries)
{
    const struct store_entry *items = entries->items;
    int64_t uid, now_s;

    if (entries->n == 0 || s->way->tell(s, &uid, &now_s) < 0)
        return;
    for (size_t i = 0; i < entries->n; i++) {
        char *path;

        if (items[i].uid != uid || !upload_is_temporary(items[i].name) ||
            now_s - items[i].mtime_s <= LEFTOVER_AGE_S)
            continue;
        path = folder == STORE_PACKS ? mem_strdup(items[i].name)
                                     : path_join(store_folder_names[folder], items[i].name);
        (void)s->way->remove(s, path, NULL);
        free(path);
    }
}

/* ---- writing ---- */

static int prepare(struct store *s, struct err *e)
{
    if (s->is_prepared)
        return 0;
    if (s->way->prepare(s, e) < 0)
        return -1;
    s->is_prepared = true;
    return 0;
}

int store_part_begin(struct store *s, unsigned slot, struct err *e)
{
    return prepare(s, e) < 0 ? -1 : s->way->part_begin(s, slot, e);
}

int store_part_write(struct store *s, unsigned slot, struct bytes bytes, struct err *e)
{
    return s->way->part_write(s, slot, bytes, e);
}

int store_part_end(struct store *s, unsigned slot, const struct pack_part *part, struct bytes list,
                   struct err *e)
{
    struct buf part_path = { 0 }, list_path = { 0 };
    int result;

    pack_part_path(&part_path, part);
    pack_object_path(&list_path, PACK_LIST, &part->list);
    result = s->way->part_end(s, slot, buf_text(&part_path), buf_text(&list_path), list, e);
    buf_free(&part_path);
    buf_free(&list_path);
    return result;
}

int store_object(struct store *s, enum pack_object kind, const struct digest *name,
                 struct bytes bytes, struct err *e)
{
    struct buf path = { 0 };
    int result;

    pack_object_path(&path, kind, name);
    result = prepare(s, e);
    /* It makes all the others count. */
    if (result == 0 && kind == PACK_MANIFEST)
        result = s->way->put_last(s, buf_text(&path), bytes, e);
    else if (result == 0)
        result = s->way->put(s, buf_text(&path), bytes, e);
    buf_free(&path);
    return result;
}

int store_settle(struct store *s, struct err *e)
{
    return s->way->settle(s, e);
}

int store_arrive(struct store *s, struct err *e)
{
    return s->way->arrive != NULL ? s->way->arrive(s, e) : 0;
}

mode_t store_project_mode(const struct store *s)
{
    return s->way->project_mode != NULL ? s->way->project_mode(s) : 0;
}

void store_push(struct store *s)
{
    if (s->way->push != NULL)
        s->way->push(s);
}

uint64_t store_settled_bytes(const struct store *s)
{
    return s->settled_bytes;
}

bool store_may_have_settled(const struct store *s)
{
    return s->settled_bytes > 0 || s->has_named;
}

void store_expect(struct store *s, uint64_t bytes, unsigned parts)
{
    s->way->expect(s, bytes, parts);
}
