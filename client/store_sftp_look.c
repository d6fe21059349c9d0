/* SPDX-License-Identifier: MIT */
/* store_sftp_look.c - what lies in the packs of a project on an SFTP server */

#include <stdlib.h>

#include "client/store_sftp.h"

/* ---- folders ---- */

/* One of the three folders. */
struct listing {
    struct sftp_store *store;
    struct list *entries;
    struct arena *arena;
    enum store_folder folder;
};

static void on_list(void *context, const struct sftp_answer *a)
{
    struct listing *l = context;
    const struct sftp_entry *found = a->entries.items;
    struct store_entry *items;

    l->store->n_busy--;
    if (a->error != NULL) {
        if (a->error->kind != ERR_NOT_FOUND)
            sftp_store_note(l->store, a->error);
        return;
    }
    l->store->is_there[l->folder] = true;
    items = arena_alloc(l->arena, a->entries.n * sizeof *items);
    for (size_t i = 0; i < a->entries.n; i++)
        items[i] = (struct store_entry){ .name = found[i].name,
                                         .size = (int64_t)found[i].attrs.size_bytes,
                                         .mtime_s = (int64_t)found[i].attrs.mtime_s,
                                         .uid = (int64_t)found[i].attrs.uid };
    *l->entries = (struct list){ items, a->entries.n };
}

static int start_list(struct listing *l, struct err *e)
{
    struct sftp_store *s = l->store;
    char *path = sftp_store_path(s, store_folder_names[l->folder]);
    struct sftp_op op = { .kind = SFTP_OP_LIST, .path = path, .arena = l->arena };
    int result = sftp_start(sftp_store_lane(s), &op, on_list, l, e);

    s->n_busy += result == 0;
    free(path);
    return result;
}

static void on_project(void *context, const struct sftp_answer *a)
{
    struct sftp_store *s = context;

    s->n_busy--;
    s->project = a->attrs;
    if (a->error != NULL)
        s->project_why = *a->error;
}

static int look_at_project(struct sftp_store *s, struct err *e)
{
    const struct place *to = s->store.to;
    char *path = mem_printf("%s/%s", to->drive->root, to->project);
    struct sftp_op op = { .kind = SFTP_OP_LSTAT, .path = path };
    int result = sftp_start(sftp_store_lane(s), &op, on_project, s, e);

    s->n_busy += result == 0;
    free(path);
    return result;
}

int sftp_store_list(struct store *store, struct arena *a, struct list entries[STORE_FOLDER_COUNT],
                    struct err *e)
{
    struct listing listings[STORE_FOLDER_COUNT];
    struct sftp_store *s = sftp_store_of(store);
    int result = look_at_project(s, e);

    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT && result == 0; i++) {
        listings[i] = (struct listing){ s, &entries[i], a, i };
        result = start_list(&listings[i], e);
    }
    /* Nobody may be called who finds the listings gone. */
    while (s->n_busy > 0)
        sftp_lanes_wait_standing(&s->lanes);
    return result < 0 ? -1 : sftp_store_check(s, e);
}

/* ---- files ---- */

/* Somebody waits for a file. */
struct fetching {
    struct sftp_store *store;
    store_got *got;
    void *context;
};

static void on_got(void *context, const struct sftp_answer *a)
{
    struct fetching *f = context;

    f->store->n_busy--;
    f->got(f->context, a->error, a->content);
    free(f);
}

int sftp_store_fetch(struct store *store, const char *path, size_t max_bytes, store_got *got,
                     void *context, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);
    struct fetching *f = mem_alloc(sizeof *f);
    char *there = sftp_store_path(s, path);
    struct sftp_op op = { .kind = SFTP_OP_GET, .path = there, .max_bytes = max_bytes };
    int result;

    *f = (struct fetching){ s, got, context };
    s->n_busy++;
    result = sftp_start(sftp_store_lane(s), &op, on_got, f, e);
    if (result < 0) {
        s->n_busy--;
        free(f);
    }
    free(there);
    return result;
}

int sftp_store_fetch_all(struct store *store, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);

    /* Also when a connection broke nobody may be called later, who may be gone. */
    while (s->n_busy > 0)
        sftp_lanes_wait_standing(&s->lanes);
    return sftp_lanes_poll(&s->lanes, e);
}

int sftp_store_remove(struct store *store, const char *path, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);
    char *there = sftp_store_path(s, path);
    int result = sftp_remove(sftp_store_lane(s), there, e);

    free(there);
    return result;
}

int sftp_store_mtime(struct store *store, const char *path, int64_t *mtime_s, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);
    char *there = sftp_store_path(s, path);
    struct sftp_attrs attrs = { 0 };
    int result = sftp_lstat(sftp_store_lane(s), there, &attrs, e);

    free(there);
    *mtime_s = attrs.mtime_s;
    return result;
}
