/* SPDX-License-Identifier: MIT */
/* store_sftp_name.c - what was sent to an SFTP server gets its name, in order */

/*
 * What is added stands in a queue, and gets its name in that order, each thing when it is whole.
 * As a server obeys the requests of one connection in order, neither the next rename nor the sync of
 * their folder need wait for the answer to the last; only the manifest waits for all of them.
 */
#include <stdlib.h>

#include "client/share/store_sftp.h"

static void free_item(struct item *it)
{
    free(it->content);
    free(it->temporary);
    free(it->final);
    free(it);
}

struct item *sftp_store_add(struct sftp_store *s, const char *path, char *temporary)
{
    struct item *it = mem_alloc(sizeof *it);

    *it = (struct item){ .store = s,
                         .folder = store_folder_of(path),
                         .temporary = temporary,
                         .final = sftp_store_path(s, path) };
    *s->end = it;
    s->end = &it->next;
    return it;
}

static void on_removed(void *context, const struct sftp_answer *a)
{
    struct sftp_store *s = context;

    (void)a;
    s->n_busy--;
}

/* What is there already is the same: its name is a digest. */
void sftp_store_remove_temporary(struct sftp_store *s, const char *path)
{
    struct sftp_op op = { .kind = SFTP_OP_REMOVE, .path = path };

    if (sftp_start(sftp_store_lane(s), &op, on_removed, s, NULL) == 0)
        s->n_busy++;
}

static void on_renamed(void *context, const struct sftp_answer *a)
{
    struct item *it = context;
    struct sftp_store *s = it->store;

    s->n_busy--;
    s->n_unsettled--;
    if (a->error == NULL || a->error->kind == ERR_EXISTS) {
        s->store.settled_bytes += it->bytes;
    } else {
        sftp_store_note(s, a->error);
    }
    if (a->error != NULL)
        sftp_store_remove_temporary(s, it->temporary);
    free_item(it);
    sftp_store_advance(s);
}

static void rename_first(struct sftp_store *s)
{
    struct item *it = s->first;
    struct sftp_op op = { .kind = SFTP_OP_RENAME, .path = it->temporary, .to = it->final };
    struct err why = { 0 };

    s->first = it->next;
    if (s->first == NULL)
        s->end = &s->first;
    s->n_busy++;
    s->n_unsettled++;
    s->is_dirty[it->folder] = true;
    s->store.has_named = true;
    if (sftp_start(sftp_store_lane(s), &op, on_renamed, it, &why) < 0)
        on_renamed(it, &(struct sftp_answer){ .error = &why });
}

static void on_synced(void *context, const struct err *error)
{
    struct sftp_store *s = context;

    /* Servers that cannot sync a folder call that a failure. */
    if (error != NULL && error->kind == ERR_UNREACHABLE)
        sftp_store_note(s, error);
    s->n_busy--;
    s->n_syncing--;
    sftp_store_advance(s);
}

static void start_sync(struct sftp_store *s, enum store_folder folder)
{
    s->is_dirty[folder] = false;
    if (s->folders[folder] == NULL || sftp_folder_sync(s->folders[folder], NULL) < 0)
        return;
    s->n_busy++;
    s->n_syncing++;
}

static void sync_folders(struct sftp_store *s)
{
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++)
        if (s->is_dirty[i])
            start_sync(s, i);
}

/* What was renamed before is there for good. */
static bool is_settled(struct sftp_store *s)
{
    sync_folders(s);
    return s->n_unsettled == 0 && s->n_syncing == 0;
}

void sftp_store_advance(struct sftp_store *s)
{
    while (s->why.kind == ERR_NONE && s->first != NULL && s->first->is_whole &&
           (!s->first->is_last || is_settled(s)))
        rename_first(s);
    if (s->first == NULL && s->is_ending)
        sync_folders(s);
}

void sftp_store_whole(struct item *it, const struct err *error)
{
    struct sftp_store *s = it->store;

    s->n_busy--;
    it->ending = NULL;
    free(it->content);
    it->content = NULL;
    it->is_whole = error == NULL;
    if (error != NULL)
        sftp_store_note(s, error);
    sftp_store_advance(s);
}

void sftp_store_open_folders(struct sftp_store *s)
{
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++) {
        char *path = sftp_store_path(s, store_folder_names[i]);

        if (sftp_can(sftp_store_lane(s), SFTP_CAN_SYNC))
            s->folders[i] = sftp_folder_open(sftp_store_lane(s), path, on_synced, s);
        free(path);
    }
}

void sftp_store_drop_items(struct sftp_store *s)
{
    while (s->first != NULL) {
        struct item *it = s->first;

        s->first = it->next;
        if (!sftp_is_broken(sftp_store_lane(s)))
            (void)sftp_remove(sftp_store_lane(s), it->temporary, NULL);
        free_item(it);
    }
}
