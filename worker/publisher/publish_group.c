/* SPDX-License-Identifier: MIT */
/* publish_group.c - folders and one sync, which results that are published together share */

#include "worker/publisher/publish_group.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/data/yaml.h"
#include "common/proto/layout.h"

enum { FOLDERS_EACH_MAX = 4 };

/* ---- shares and folders ---- */

struct publish_group_share *publish_group_share(struct publish_group *g, const char *share,
                                                struct err *e)
{
    struct publish_group_share *s;
    struct share_dir *dir;

    for (s = g->shares; s != NULL; s = s->next)
        if (strcmp(s->name, share) == 0)
            return s;
    dir = share_open(g->access, share, e);
    if (dir == NULL)
        return NULL;
    s = arena_alloc(g->arena, sizeof *s);
    *s = (struct publish_group_share){ .next = g->shares, .name = share, .dir = dir };
    s->is_synced_whole = share_is_synced_whole(dir);
    g->shares = s;
    return s;
}

struct publish_group_folder *publish_group_folder(struct publish_group *g, const char *share,
                                                  const char *path, struct err *e)
{
    struct publish_group_share *s = publish_group_share(g, share, e);
    struct publish_group_folder *f;

    if (s == NULL)
        return NULL;
    for (f = g->folders; f != NULL; f = f->next)
        if (f->share == s && strcmp(f->path, path) == 0)
            return f;
    f = arena_alloc(g->arena, sizeof *f);
    *f = (struct publish_group_folder){ .share = s, .path = path };
    f->dir = share_project_open_folder(s->dir, path, &f->modes, e);
    if (f->dir == NULL)
        return NULL;
    f->next = g->folders;
    g->folders = f;
    /* The folders above, up to the project's, may be new, and are synced, too. */
    for (size_t n = s->is_synced_whole ? 0 : strlen(path); n > 0; n--)
        if (path[n] == '/') {
            mem_grow((void **)&g->files, &g->capacity, g->n_files, sizeof *g->files);
            g->files[g->n_files++] =
                (struct share_sync){ s->dir, arena_strndup(g->arena, path, n), 0 };
        }
    return f;
}

int publish_group_add_params(struct publish_group *g, struct publish_group_folder *f,
                             const struct value *params, const char *token_hex, struct err *e)
{
    const char *temporary;
    struct buf text = { 0 };
    int result = 0;

    if (f->has_params || share_exists(f->dir, LAYOUT_PARAM2VAL)) {
        f->has_params = true;
        return 0;
    }
    yaml_add_value(&text, params);
    temporary = arena_printf(g->arena, ".%s.%s", LAYOUT_PARAM2VAL, token_hex);
    result = share_write(f->dir, temporary, text.bytes, text.n, f->modes.file, e);
    buf_free(&text);
    if (result == 0)
        result = share_rename(f->dir, temporary, f->dir, LAYOUT_PARAM2VAL, e);
    if (result == 0)
        publish_group_add_file(g, f, LAYOUT_PARAM2VAL);
    f->has_params = result == 0;
    return result;
}

int publish_group_remove(struct publish_group *g, const char *share, const char *path,
                         struct err *e)
{
    struct publish_group_share *s = publish_group_share(g, share, e);
    struct err why = { 0 };

    if (s == NULL)
        return -1;
    if (share_remove_tree(s->dir, path, &why) == 0)
        return 0;
    if (why.kind != ERR_DENIED)
        return err_set(e, why.kind, "%s", why.text);
    log_event(LOG_WARN, "not-removed", "error", "%s", why.text, NULL);
    return 0;
}

/* ---- syncing ---- */

void publish_group_add_file(struct publish_group *g, struct publish_group_folder *f,
                            const char *path)
{
    if (f->share->is_synced_whole)
        return;
    mem_grow((void **)&g->files, &g->capacity, g->n_files, sizeof *g->files);
    g->files[g->n_files++] = (struct share_sync){ f->dir, path, 0 };
}

void publish_group_sync(struct publish_group *g)
{
    for (struct publish_group_share *s = g->shares; s != NULL; s = s->next)
        if (s->is_synced_whole)
            s->has_failed = share_sync(s->dir, &s->why) < 0;
    share_sync_each(g->files, g->n_files);
}

/* Syncing a folder alone empties the disk's cache, so many folders are synced by one share_sync. */
void publish_group_sync_folders(struct publish_group *g)
{
    for (const struct publish_group_share *s = g->shares; s != NULL; s = s->next) {
        struct err why = { 0 };
        bool are_many, has_failed;
        size_t n = 0;

        for (const struct publish_group_folder *f = g->folders; f != NULL; f = f->next)
            n += f->share == s && f->has_changed;
        are_many = s->is_synced_whole && n > FOLDERS_EACH_MAX;
        has_failed = are_many && share_sync(s->dir, &why) < 0;
        for (struct publish_group_folder *f = g->folders; f != NULL; f = f->next) {
            if (f->share != s || !f->has_changed)
                continue;
            f->why = why;
            f->has_failed = are_many ? has_failed : share_sync_dir(f->dir, f->path, &f->why) < 0;
        }
    }
}

void publish_group_end(struct publish_group *g)
{
    for (struct publish_group_folder *f = g->folders; f != NULL; f = f->next)
        share_close(f->dir);
    for (struct publish_group_share *s = g->shares; s != NULL; s = s->next)
        share_close(s->dir);
    free(g->files);
    *g = (struct publish_group){ 0 };
}
