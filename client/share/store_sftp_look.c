/* SPDX-License-Identifier: MIT */
/* store_sftp_look.c - what lies in the packs of a project on an SFTP server */

#include <stdlib.h>
#include <string.h>

#include "client/share/store_sftp.h"
#include "common/base/path.h"

/* ---- folders ---- */

struct look {
    char *root;
    struct arena *arena;
    size_t n_busy;
    struct sftp_attrs project;
    struct err project_why; /* ERR_NONE: it is there */
    struct listing {
        struct look *look;
        struct list entries; /* struct sftp_entry */
        bool is_there;
    } listings[STORE_FOLDER_COUNT];
    struct err why;
};

static void free_look(struct look *l)
{
    arena_destroy(l->arena);
    free(l->root);
    free(l);
}

static void on_list(void *context, const struct sftp_answer *a)
{
    struct listing *l = context;

    l->look->n_busy--;
    l->is_there = a->error == NULL;
    l->entries = a->entries;
    if (a->error != NULL && a->error->kind != ERR_NOT_FOUND)
        err_keep(&l->look->why, a->error);
}

static void on_project(void *context, const struct sftp_answer *a)
{
    struct look *l = context;

    l->n_busy--;
    l->project = a->attrs;
    if (a->error != NULL)
        l->project_why = *a->error;
}

static void start(struct look *l, struct sftp *s, const struct sftp_op *op, sftp_done *done,
                  void *context)
{
    struct err why = { 0 };

    l->n_busy++;
    if (sftp_start(s, op, done, context, &why) < 0)
        done(context, &(struct sftp_answer){ .error = &why });
}

static char *path_below(const char *packs, enum store_folder folder)
{
    const char *name = store_folder_names[folder];

    return name[0] == '\0' ? mem_strdup(packs) : path_join(packs, name);
}

static struct look *begin_look(struct sftp *s, const char *root, const struct place *to)
{
    struct look *l = mem_alloc(sizeof *l);
    char *project = mem_printf("%s/%s", root, to->project), *below = store_path(to, ""),
         *packs = mem_printf("%s/%s", root, below);

    *l = (struct look){ .root = mem_strdup(root), .arena = arena_create() };
    start(l, s, &(struct sftp_op){ .kind = SFTP_OP_LSTAT, .path = project }, on_project, l);
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++) {
        char *path = path_below(packs, i);

        l->listings[i].look = l;
        start(l, s, &(struct sftp_op){ .kind = SFTP_OP_LIST, .path = path, .arena = l->arena },
              on_list, &l->listings[i]);
        free(path);
    }
    free(packs);
    free(below);
    free(project);
    return l;
}

/* ---- ahead ---- */

enum { ROOTS_MAX = 4 };

struct store_ahead {
    struct sftp *s;
    char *project;
    struct look *looks[ROOTS_MAX];
    size_t n;
};

struct store_ahead *store_ahead_begin(struct sftp *s, const struct list *roots,
                                      const struct place *to)
{
    const char *const *paths = roots->items;
    struct store_ahead *a = mem_alloc(sizeof *a);

    *a = (struct store_ahead){ .s = s, .project = mem_strdup(to->project) };
    for (size_t i = 0; i < roots->n && roots->n <= ROOTS_MAX; i++)
        a->looks[a->n++] = begin_look(s, paths[i], to);
    (void)sftp_poll(s, NULL);
    return a;
}

/* Nobody may be called who finds a look gone. */
static void wait_for(struct sftp *s, const struct look *l)
{
    while (l->n_busy > 0)
        (void)sftp_wait(s, NULL);
}

void store_ahead_end(struct store_ahead *a)
{
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->n; i++)
        if (a->looks[i] != NULL) {
            wait_for(a->s, a->looks[i]);
            free_look(a->looks[i]);
        }
    free(a->project);
    free(a);
}

/* NULL: that place was not looked at, or not on this connection. */
static struct look *take_ahead(struct store_ahead *a, struct sftp *s, const struct place *to)
{
    if (a == NULL || a->s != s || strcmp(a->project, to->project) != 0)
        return NULL;
    for (size_t i = 0; i < a->n; i++) {
        struct look *l = a->looks[i];

        if (l == NULL || strcmp(l->root, to->drive->root) != 0)
            continue;
        a->looks[i] = NULL;
        return l;
    }
    return NULL;
}

/* ---- the project that it is ---- */

static struct list copy_entries(const struct list *from, struct arena *a)
{
    const struct sftp_entry *found = from->items;
    struct store_entry *items = arena_alloc(a, from->n * sizeof *items);

    for (size_t i = 0; i < from->n; i++)
        items[i] = (struct store_entry){ .name = arena_strdup(a, found[i].name),
                                         .size = (int64_t)found[i].attrs.size_bytes,
                                         .mtime_s = (int64_t)found[i].attrs.mtime_s,
                                         .uid = (int64_t)found[i].attrs.uid };
    return (struct list){ items, from->n };
}

int sftp_store_list(struct store *store, struct arena *a, struct list entries[STORE_FOLDER_COUNT],
                    struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);
    struct sftp *lane = sftp_store_lane(s);
    struct look *l = take_ahead(store->to->drive->ahead, lane, store->to);

    if (l == NULL)
        l = begin_look(lane, store->to->drive->root, store->to);
    wait_for(lane, l);
    s->project = l->project;
    s->project_why = l->project_why;
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++) {
        s->is_there[i] = l->listings[i].is_there;
        entries[i] = copy_entries(&l->listings[i].entries, a);
    }
    if (l->why.kind != ERR_NONE)
        sftp_store_note(s, &l->why);
    free_look(l);
    return sftp_store_check(s, e);
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
