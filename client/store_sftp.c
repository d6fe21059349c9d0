/* SPDX-License-Identifier: MIT */
/* store_sftp.c - the packs of a project, on an SFTP server */

/*
 * What is added stands in a queue, and gets its name in that order, each thing when it is whole.
 * As a server obeys the requests of one connection in order, neither the next rename nor the sync of
 * their folder need wait for the answer to the last; only the manifest waits for all of them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/store_way.h"
#include "common/path.h"
#include "common/sftp_folder.h"
#include "common/sftp_stripe.h"
#include "common/units.h"

enum {
    LANES = DRIVE_LANES_MAX,
    SPARE_FROM_BYTES = 16 * 1024 * 1024 /* of a part: then the next one's file is opened */
};

/* A file that has no final name yet. */
struct item {
    struct sftp_store *store;
    enum store_folder folder;
    char *temporary, *final; /* on the server */
    uint8_t *content;        /* of a small one */
    uint64_t bytes;
    bool is_whole; /* and on the server's disk */
    bool is_last;
    struct item *next;
};

/* A part that is being written. */
struct slot {
    struct sftp_stripe *stripe; /* NULL: none */
    char *temporary;
    uint64_t bytes;
};

struct sftp_store {
    struct store store;
    char *packs; /* on the server */
    struct upload_modes modes;
    struct sftp_lanes lanes;                 /* the first is the drive's own */
    struct sftp *opening[LANES];             /* lanes that cannot be used yet */
    bool has_lane[LANES], lacks_lane[LANES]; /* it is there; it will not be */
    size_t wanted_lanes;
    struct slot slots[PACK_SLOTS], spare;
    struct item *first, **end; /* in the order of their renames */
    size_t n_busy;             /* operations, and parts that are ending */
    size_t n_unsettled;        /* renames, and what is touched */
    size_t n_syncing;
    struct sftp_folder *folders[STORE_FOLDER_COUNT]; /* to be synced; NULL: the server cannot */
    bool is_dirty[STORE_FOLDER_COUNT]; /* a rename in it was asked for, and no sync behind that */
    bool is_there[STORE_FOLDER_COUNT];
    struct sftp_attrs project;
    struct err project_why; /* ERR_NONE: it is there */
    bool has_told;          /* what follows */
    int64_t uid, now_s;
    bool is_ending; /* nothing more will be added */
    struct err why; /* the first error of what goes on behind */
};

static struct sftp_store *mine(struct store *s)
{
    return (struct sftp_store *)(void *)s;
}

static struct sftp *first_lane(const struct sftp_store *s)
{
    return s->lanes.all[0];
}

static char *path_on(const struct sftp_store *s, const char *below)
{
    return below[0] == '\0' ? mem_strdup(s->packs) : path_join(s->packs, below);
}

static struct store *open_store(const struct place *to, struct err *e)
{
    struct sftp_store *s;
    char *below;

    if (drive_mend(to->drive, e) < 0)
        return NULL;
    s = mem_alloc(sizeof *s);
    below = store_path(to, "");
    s->packs = mem_printf("%s/%s", to->drive->root, below);
    free(below);
    s->lanes = (struct sftp_lanes){ .all = { to->drive->sftp }, .n = 1 };
    s->has_lane[0] = true;
    s->wanted_lanes = 1;
    s->end = &s->first;
    return &s->store;
}

/* ---- what goes on behind ---- */

static void note(struct sftp_store *s, const struct err *error)
{
    if (s->why.kind == ERR_NONE)
        err_set(&s->why, error->kind, "%s", error->text);
}

static int check(const struct sftp_store *s, struct err *e)
{
    return s->why.kind == ERR_NONE ? 0 : err_set(e, s->why.kind, "%s", s->why.text);
}

static void free_item(struct item *it)
{
    free(it->content);
    free(it->temporary);
    free(it->final);
    free(it);
}

static struct item *add_item(struct sftp_store *s, const char *path, char *temporary)
{
    struct item *it = mem_alloc(sizeof *it);

    *it = (struct item){ .store = s,
                         .folder = store_folder_of(path),
                         .temporary = temporary,
                         .final = path_on(s, path) };
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
static void remove_temporary(struct sftp_store *s, const char *path)
{
    struct sftp_op op = { .kind = SFTP_OP_REMOVE, .path = path };

    if (sftp_start(first_lane(s), &op, on_removed, s, NULL) == 0)
        s->n_busy++;
}

static void advance(struct sftp_store *s);

static void on_renamed(void *context, const struct sftp_answer *a)
{
    struct item *it = context;
    struct sftp_store *s = it->store;

    s->n_busy--;
    s->n_unsettled--;
    if (a->error == NULL || a->error->kind == ERR_EXISTS) {
        s->store.settled_bytes += it->bytes;
    } else {
        note(s, a->error);
    }
    if (a->error != NULL)
        remove_temporary(s, it->temporary);
    free_item(it);
    advance(s);
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
    if (sftp_start(first_lane(s), &op, on_renamed, it, &why) < 0)
        on_renamed(it, &(struct sftp_answer){ .error = &why });
}

static void on_synced(void *context, const struct err *error)
{
    struct sftp_store *s = context;

    /* Servers that cannot sync a folder call that a failure. */
    if (error != NULL && error->kind == ERR_UNREACHABLE)
        note(s, error);
    s->n_busy--;
    s->n_syncing--;
    advance(s);
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

static void advance(struct sftp_store *s)
{
    while (s->why.kind == ERR_NONE && s->first != NULL && s->first->is_whole &&
           (!s->first->is_last || is_settled(s)))
        rename_first(s);
    if (s->first == NULL && s->is_ending)
        sync_folders(s);
}

static void is_whole(struct item *it, const struct err *error)
{
    struct sftp_store *s = it->store;

    s->n_busy--;
    free(it->content);
    it->content = NULL;
    it->is_whole = error == NULL;
    if (error != NULL)
        note(s, error);
    advance(s);
}

static void on_put(void *context, const struct sftp_answer *a)
{
    is_whole(context, a->error);
}

static void on_part(void *context, const struct err *error)
{
    is_whole(context, error);
}

/* ---- lanes ---- */

static bool open_lane(struct sftp_store *s, size_t number)
{
    const struct drive *d = s->store.to->drive;
    struct sftp **lane = &s->opening[number];
    int fd, rc;

    if (*lane == NULL) {
        rc = d->lane != NULL ? d->lane(d->context, number, &fd, NULL) : -1;
        if (rc <= 0)
            return rc == 0;
        *lane = sftp_open_later(fd, NULL);
    }
    rc = *lane != NULL ? sftp_opens(*lane, NULL) : -1;
    if (rc <= 0)
        return rc == 0;
    s->has_lane[number] = true;
    s->lanes.all[s->lanes.n++] = *lane;
    *lane = NULL;
    return true;
}

/* Those that are wanted are made at once, and join when they are there. */
static void open_lanes(struct sftp_store *s)
{
    for (size_t i = 1; i < s->wanted_lanes && s->lanes.n < s->wanted_lanes; i++)
        if (!s->has_lane[i] && !s->lacks_lane[i])
            s->lacks_lane[i] = !open_lane(s, i);
}

static void expect(struct store *store, uint64_t bytes)
{
    struct sftp_store *s = mine(store);

    s->wanted_lanes = drive_lanes(store->to->drive, bytes);
    open_lanes(s);
}

/* ---- parts ---- */

static char *temporary_in(const struct sftp_store *s, const char *folder)
{
    char *name = upload_temporary_name(), *dir = path_on(s, folder), *path = path_join(dir, name);

    free(dir);
    free(name);
    return path;
}

static void open_slot(struct sftp_store *s, struct slot *slot)
{
    slot->temporary = temporary_in(s, store_folder_names[STORE_PARTS]);
    slot->stripe = sftp_stripe_open(&s->lanes, slot->temporary, s->modes.file);
    slot->bytes = 0;
}

static void drop_slot(struct slot *slot)
{
    sftp_stripe_drop(slot->stripe);
    free(slot->temporary);
    *slot = (struct slot){ 0 };
}

static int part_begin(struct store *store, unsigned number, struct err *e)
{
    struct sftp_store *s = mine(store);

    if (check(s, e) < 0)
        return -1;
    s->slots[number] = s->spare;
    s->spare = (struct slot){ 0 };
    if (s->slots[number].stripe == NULL)
        open_slot(s, &s->slots[number]);
    return 0;
}

static int part_write(struct store *store, unsigned number, struct bytes bytes, struct err *e)
{
    struct sftp_store *s = mine(store);
    struct slot *slot = &s->slots[number];

    open_lanes(s);
    if (check(s, e) < 0 || sftp_stripe_write(slot->stripe, bytes, e) < 0)
        return -1;
    slot->bytes += bytes.n;
    /* So that the next part need not wait for its file. */
    if (s->spare.stripe == NULL && slot->bytes >= SPARE_FROM_BYTES)
        open_slot(s, &s->spare);
    return 0;
}

static int start_put(struct sftp_store *s, const char *path, struct bytes bytes, bool is_last,
                     struct err *e)
{
    const char *folder = store_folder_names[store_folder_of(path)];
    struct item *it = add_item(s, path, temporary_in(s, folder));
    struct sftp_op op = { .kind = SFTP_OP_PUT,
                          .path = it->temporary,
                          .mode = s->modes.file,
                          .flags = SFTP_EXCLUSIVE,
                          .sync = true };

    it->content = mem_copy(bytes.data, bytes.n);
    it->bytes = bytes.n;
    it->is_last = is_last;
    op.content = (struct bytes){ it->content, bytes.n };
    s->n_busy++;
    if (sftp_start(first_lane(s), &op, on_put, it, e) == 0)
        return check(s, e);
    s->n_busy--;
    return -1;
}

static int put(struct store *store, const char *path, struct bytes bytes, struct err *e)
{
    return start_put(mine(store), path, bytes, false, e);
}

static int put_last(struct store *store, const char *path, struct bytes bytes, struct err *e)
{
    return start_put(mine(store), path, bytes, true, e);
}

static int part_end(struct store *store, unsigned number, const char *part, const char *list,
                    struct bytes list_bytes, struct err *e)
{
    struct sftp_store *s = mine(store);
    struct slot *slot = &s->slots[number];
    struct item *it = add_item(s, part, slot->temporary);

    it->bytes = slot->bytes;
    slot->temporary = NULL;
    s->n_busy++;
    if (sftp_stripe_end(slot->stripe, on_part, it, e) < 0) {
        s->n_busy--;
        return -1;
    }
    *slot = (struct slot){ 0 };
    return put(store, list, list_bytes, e);
}

/* ---- the end ---- */

static int wait_until_idle(struct sftp_store *s, struct err *e)
{
    while (s->n_busy > 0 && s->why.kind == ERR_NONE)
        if (sftp_lanes_wait(&s->lanes, e) < 0)
            return -1;
    return check(s, e);
}

static int settle(struct store *store, struct err *e)
{
    struct sftp_store *s = mine(store);

    s->is_ending = true;
    advance(s);
    return wait_until_idle(s, e);
}

/* What is under way comes to its end; who is called finds all there. */
static void end_all(struct sftp_store *s)
{
    for (size_t i = 0; i < PACK_SLOTS; i++)
        drop_slot(&s->slots[i]);
    drop_slot(&s->spare);
    while (s->n_busy > 0)
        sftp_lanes_wait_standing(&s->lanes);
}

static void close_store(struct store *store)
{
    struct sftp_store *s = mine(store);

    end_all(s);
    while (s->first != NULL) {
        struct item *it = s->first;

        s->first = it->next;
        if (!sftp_is_broken(first_lane(s)))
            (void)sftp_remove(first_lane(s), it->temporary, NULL);
        free_item(it);
    }
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++)
        sftp_folder_close(s->folders[i]);
    for (size_t i = 1; i < s->lanes.n; i++)
        sftp_close(s->lanes.all[i]);
    for (size_t i = 0; i < LANES; i++)
        sftp_close(s->opening[i]);
    free(s->packs);
    free(s);
}

/* ---- looking ---- */

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
            note(l->store, a->error);
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
    char *path = path_on(s, store_folder_names[l->folder]);
    struct sftp_op op = { .kind = SFTP_OP_LIST, .path = path, .arena = l->arena };
    int result = sftp_start(first_lane(s), &op, on_list, l, e);

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
    int result = sftp_start(first_lane(s), &op, on_project, s, e);

    s->n_busy += result == 0;
    free(path);
    return result;
}

static int list_all(struct store *store, struct arena *a, struct list entries[STORE_FOLDER_COUNT],
                    struct err *e)
{
    struct listing listings[STORE_FOLDER_COUNT];
    struct sftp_store *s = mine(store);
    int result = look_at_project(s, e);

    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT && result == 0; i++) {
        listings[i] = (struct listing){ s, &entries[i], a, i };
        result = start_list(&listings[i], e);
    }
    /* Nobody may be called who finds the listings gone. */
    while (s->n_busy > 0)
        sftp_lanes_wait_standing(&s->lanes);
    return result < 0 ? -1 : check(s, e);
}

static int check_project(const struct sftp_store *s, struct err *e)
{
    if (s->project_why.kind != ERR_NONE)
        return err_set(e, s->project_why.kind, "the project's folder on the share: %s",
                       s->project_why.text);
    if ((s->project.has & SFTP_MODE) && S_ISDIR(s->project.mode))
        return 0;
    return err_set(e, ERR_DENIED, "the project's folder on the share, %s, is no folder",
                   s->store.to->project);
}

static void on_folder(void *context, const struct sftp_answer *a)
{
    struct sftp_store *s = context;

    s->n_busy--;
    if (a->error != NULL && a->error->kind != ERR_EXISTS)
        note(s, a->error);
}

static int start_folder(struct sftp_store *s, const char *path, struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_MKDIR, .path = path, .mode = s->modes.folder };
    int result = sftp_start(first_lane(s), &op, on_folder, s, e);

    s->n_busy += result == 0;
    return result;
}

/* All at once, as the server makes one after the other. */
static int make_folders(struct sftp_store *s, struct err *e)
{
    char *above = path_dirname(s->packs);
    int result = s->is_there[STORE_PACKS] ? 0 : start_folder(s, above, e);

    free(above);
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT && result == 0; i++) {
        char *path = path_on(s, store_folder_names[i]);

        if (!s->is_there[i])
            result = start_folder(s, path, e);
        free(path);
    }
    return result;
}

static void open_folders(struct sftp_store *s)
{
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++) {
        char *path = path_on(s, store_folder_names[i]);

        if (sftp_can(first_lane(s), SFTP_CAN_SYNC))
            s->folders[i] = sftp_folder_open(first_lane(s), path, on_synced, s);
        free(path);
    }
}

/* list_all was called. */
static int prepare(struct store *store, struct err *e)
{
    struct sftp_store *s = mine(store);

    if (check_project(s, e) < 0)
        return -1;
    s->modes = upload_modes_of(s->project.mode);
    if (make_folders(s, e) < 0 || wait_until_idle(s, e) < 0)
        return -1;
    open_folders(s);
    return 0;
}

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

static int fetch(struct store *store, const char *path, size_t max_bytes, store_got *got,
                 void *context, struct err *e)
{
    struct sftp_store *s = mine(store);
    struct fetching *f = mem_alloc(sizeof *f);
    char *there = path_on(s, path);
    struct sftp_op op = { .kind = SFTP_OP_GET, .path = there, .max_bytes = max_bytes };
    int result;

    *f = (struct fetching){ s, got, context };
    s->n_busy++;
    result = sftp_start(first_lane(s), &op, on_got, f, e);
    if (result < 0) {
        s->n_busy--;
        free(f);
    }
    free(there);
    return result;
}

static int fetch_all(struct store *store, struct err *e)
{
    struct sftp_store *s = mine(store);

    /* Also when a connection broke nobody may be called later, who may be gone. */
    while (s->n_busy > 0)
        sftp_lanes_wait_standing(&s->lanes);
    return sftp_lanes_poll(&s->lanes, e);
}

static int remove_file(struct store *store, const char *path, struct err *e)
{
    struct sftp_store *s = mine(store);
    char *there = path_on(s, path);
    int result = sftp_remove(first_lane(s), there, e);

    free(there);
    return result;
}

static int mtime(struct store *store, const char *path, int64_t *mtime_s, struct err *e)
{
    struct sftp_store *s = mine(store);
    char *there = path_on(s, path);
    struct sftp_attrs attrs = { 0 };
    int result = sftp_lstat(first_lane(s), there, &attrs, e);

    free(there);
    *mtime_s = attrs.mtime_s;
    return result;
}

/* Something that is relied on. */
struct touching {
    struct sftp_store *store;
    char *path;
};

static void end_touching(struct touching *t)
{
    free(t->path);
    free(t);
}

static void on_touched(void *context, const struct sftp_answer *a)
{
    struct touching *t = context;
    struct sftp_store *s = t->store;
    enum err_kind kind = a->error != NULL ? a->error->kind : ERR_NONE;
    struct err gone = { 0 };

    s->n_busy--;
    s->n_unsettled--;
    if (kind == ERR_NOT_FOUND) {
        store_say_gone(t->path, &gone);
        note(s, &gone);
    } else if (kind == ERR_UNREACHABLE) {
        note(s, a->error);
    }
    end_touching(t);
    advance(s);
}

/* By the clock here: the server's is told by nothing that costs no time. */
static int touch(struct store *store, const char *path, struct err *e)
{
    struct sftp_store *s = mine(store);
    uint32_t now_s = (uint32_t)(units_now_ms() / 1000);
    char *there = path_on(s, path);
    struct sftp_op op = { .kind = SFTP_OP_SETSTAT,
                          .path = there,
                          .attrs = { .has = SFTP_TIMES, .atime_s = now_s, .mtime_s = now_s } };
    struct touching *t = mem_alloc(sizeof *t);
    int result;

    *t = (struct touching){ s, mem_strdup(path) };
    s->n_busy++;
    s->n_unsettled++;
    result = sftp_start(first_lane(s), &op, on_touched, t, e);
    if (result < 0) {
        s->n_busy--;
        s->n_unsettled--;
        end_touching(t);
    }
    free(there);
    return result < 0 ? -1 : check(s, e);
}

/* Of a file that is made and taken away again. */
static int tell(struct store *store, int64_t *uid, int64_t *now_s)
{
    struct sftp_store *s = mine(store);
    unsigned needed = SFTP_OWNER | SFTP_TIMES;
    struct sftp_op op = { .kind = SFTP_OP_PUT, .flags = SFTP_EXCLUSIVE, .mode = s->modes.file };
    struct sftp_attrs attrs = { 0 };
    char *path;

    if (!s->has_told && store->is_prepared) {
        path = temporary_in(s, "");
        op.path = path;
        s->n_busy++;
        if (sftp_start(first_lane(s), &op, on_removed, s, NULL) < 0)
            s->n_busy--;
        if (wait_until_idle(s, NULL) == 0 && sftp_lstat(first_lane(s), path, &attrs, NULL) == 0)
            s->has_told = (attrs.has & needed) == needed;
        (void)sftp_remove(first_lane(s), path, NULL);
        s->uid = (int64_t)attrs.uid;
        s->now_s = (int64_t)attrs.mtime_s;
        free(path);
    }
    *uid = s->uid;
    *now_s = s->now_s;
    return s->has_told ? 0 : -1;
}

const struct store_way store_sftp = {
    .open = open_store,
    .close = close_store,
    .list = list_all,
    .fetch = fetch,
    .fetch_all = fetch_all,
    .remove = remove_file,
    .mtime = mtime,
    .touch = touch,
    .prepare = prepare,
    .part_begin = part_begin,
    .part_write = part_write,
    .part_end = part_end,
    .put = put,
    .put_last = put_last,
    .settle = settle,
    .expect = expect,
    .tell = tell,
};
