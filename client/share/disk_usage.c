/* SPDX-License-Identifier: MIT */
/* disk_usage.c - how much of the shared drive a project takes */
#include "client/share/disk_usage.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/path.h"
#include "common/proto/jobspec.h"

static const struct field disk_usage_fields[] = {
    FIELD(struct disk_usage, project, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct disk_usage, user, FIELD_STR, 0, NAME_MAX_BYTES),
    FIELD(struct disk_usage, results, FIELD_INT, 0, INT64_MAX),
    FIELD(struct disk_usage, failed, FIELD_INT, 0, INT64_MAX),
    FIELD(struct disk_usage, logs, FIELD_INT, 0, INT64_MAX),
    FIELD(struct disk_usage, checkpoints, FIELD_INT, 0, INT64_MAX),
    FIELD(struct disk_usage, packs, FIELD_INT, 0, INT64_MAX),
    FIELD(struct disk_usage, other, FIELD_INT, 0, INT64_MAX),
    FIELD(struct disk_usage, total, FIELD_INT, 0, INT64_MAX),
    FIELD(struct disk_usage, unread, FIELD_INT, 0, INT64_MAX),
};
const struct schema disk_usage_schema = SCHEMA(struct disk_usage, "disk_usage", disk_usage_fields);

/* The part of a project's folder that a path below it belongs to. */
static int64_t *part_of(struct disk_usage *u, const char *path)
{
    const struct {
        const char *folder;
        int64_t *bytes;
    } parts[] = { { "runs/", &u->results },
                  { "failed/", &u->failed },
                  { "stopped/", &u->failed },
                  { "logs/", &u->logs },
                  { ".ludwig/checkpoints/", &u->checkpoints },
                  { ".ludwig/packs/", &u->packs } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strncmp(path, parts[i].folder, strlen(parts[i].folder)) == 0)
            return parts[i].bytes;
    return &u->other;
}

/* path: below the project's folder; "": that itself. */
static int add_folder(const struct share_dir *project, const char *path, struct disk_usage *u,
                      struct err *e)
{
    struct arena *a = arena_create();
    struct list entries = { 0 };
    struct err why = { 0 };
    const struct share_entry *items;
    int result = 0;

    if (share_list(project, path, SHARE_STATS, a, &entries, &why) < 0) {
        /* What is removed meanwhile takes nothing. */
        u->unread += why.kind == ERR_DENIED;
        if (why.kind != ERR_DENIED && why.kind != ERR_NOT_FOUND)
            result = err_set(e, why.kind, "%s", why.text);
    }
    items = entries.items;
    for (size_t i = 0; i < entries.n && result == 0; i++) {
        char *below = path[0] == '\0' ? mem_strdup(items[i].name) : path_join(path, items[i].name);

        if (items[i].stat.type == SHARE_FOLDER) {
            result = add_folder(project, below, u, e);
        } else if (items[i].stat.type == SHARE_FILE) {
            *part_of(u, below) += items[i].stat.size_bytes;
            u->total += items[i].stat.size_bytes;
        }
        free(below);
    }
    arena_destroy(a);
    return result;
}

int disk_usage_read(const struct share_dir *root, const char *project, struct disk_usage *u,
                    struct err *e)
{
    struct err why = { 0 };
    struct share_dir *dir = share_enter(root, project, &why);
    int result;

    if (dir == NULL) {
        u->unread += why.kind == ERR_DENIED;
        return why.kind == ERR_DENIED || why.kind == ERR_NOT_FOUND
                   ? 0
                   : err_set(e, why.kind, "%s", why.text);
    }
    result = add_folder(dir, "", u, e);
    share_close(dir);
    return result;
}

void disk_usage_add(struct disk_usage *sum, const struct disk_usage *u)
{
    sum->results += u->results;
    sum->failed += u->failed;
    sum->logs += u->logs;
    sum->checkpoints += u->checkpoints;
    sum->packs += u->packs;
    sum->other += u->other;
    sum->total += u->total;
    sum->unread += u->unread;
}
