/* SPDX-License-Identifier: MIT */
/* share_look.c - many questions at once about what lies on the shared drive */

#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"
#include "common/share/share_internal.h"

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

static void look_over_sftp(const struct share_dir *at, struct share_look *looks, size_t n,
                           struct arena *a)
{
    struct sftp *s = at->line->sftp;
    struct asking *asking = mem_resize(NULL, n, sizeof *asking);

    for (size_t i = 0; i < n; i++) {
        char *full = share_sftp_path(at, looks[i].path);
        struct sftp_op op = { .kind = looks[i].lists ? SFTP_OP_LIST : SFTP_OP_LSTAT,
                              .path = full,
                              .arena = a };
        struct err why = { 0 };

        asking[i] = (struct asking){ &looks[i], a };
        if (sftp_start(s, &op, on_look, &asking[i], &why) < 0)
            share_sftp_fail(&why, &looks[i].why);
        free(full);
    }
    (void)sftp_finish(s, NULL);
    free(asking);
}

void share_look(const struct share_dir *at, struct share_look *looks, size_t n,
                bool (*wants_stat)(const char *name), struct arena *a)
{
    for (size_t i = 0; i < n; i++) {
        struct share_look *l = &looks[i];
        struct share_entry *items;

        l->entries = (struct list){ 0 };
        l->why = (struct err){ 0 };
        if (at->fd < 0)
            continue;
        if (!l->lists) {
            (void)share_stat(at, l->path, &l->stat, &l->why);
            continue;
        }
        (void)share_list(at, l->path, SHARE_NAMES, a, &l->entries, &l->why);
        items = l->entries.items;
        for (size_t k = 0; k < l->entries.n; k++)
            if (wants_stat == NULL || wants_stat(items[k].name)) {
                char *path = path_join(l->path, items[k].name);

                if (share_stat(at, path, &items[k].stat, NULL) < 0)
                    items[k].stat = (struct share_stat){ .type = SHARE_OTHER };
                free(path);
            }
    }
    if (at->fd < 0)
        look_over_sftp(at, looks, n, a);
}

/* ---- small files ---- */

struct fetching {
    share_got *got;
    void *context;
};

static void on_fetched(void *context, const struct sftp_answer *a)
{
    struct fetching *f = context;

    f->got(f->context, a->error, a->content);
    free(f);
}

int share_fetch(const struct share_dir *at, const char *path, size_t max_bytes, share_got *got,
                void *context, struct err *e)
{
    struct err why = { 0 };
    struct fetching *f;
    char *full;
    int result;

    if (share_check_path(at, path, e) < 0)
        return -1;
    if (at->fd >= 0) {
        struct buf content = { 0 };

        result = share_read(at, path, max_bytes + 1, &content, &why);
        if (result == 0 && content.n > max_bytes)
            result = err_set(&why, ERR_USAGE, "%s is larger than %zu bytes", path, max_bytes);
        got(context, result < 0 ? &why : NULL, buf_bytes(&content));
        buf_free(&content);
        return 0;
    }
    f = mem_alloc(sizeof *f);
    *f = (struct fetching){ got, context };
    full = share_sftp_path(at, path);
    result =
        sftp_start(at->line->sftp,
                   &(struct sftp_op){ .kind = SFTP_OP_GET, .path = full, .max_bytes = max_bytes },
                   on_fetched, f, &why);
    free(full);
    if (result == 0)
        return 0;
    free(f);
    return share_sftp_fail(&why, e);
}

int share_fetch_all(const struct share_dir *at, struct err *e)
{
    struct err why = { 0 };

    return at->fd >= 0 ? 0 : share_sftp_check(sftp_finish(at->line->sftp, &why), &why, e);
}
