/* SPDX-License-Identifier: MIT */
/* store_sftp.c - the packs of a project, on an SFTP server */

#include "client/share/store_sftp.h"

#include <stdlib.h>

#include "common/base/path.h"

enum {
    SPARE_FROM_BYTES = 16 * 1024 * 1024, /* of a part: then the next one's file is opened */
    SMALL_MAX_BYTES = 1024 * 1024        /* so much is written without a wait */
};

struct sftp_store *sftp_store_of(struct store *s)
{
    return (struct sftp_store *)(void *)s;
}

struct sftp *sftp_store_lane(const struct sftp_store *s)
{
    return s->lanes.all[0];
}

char *sftp_store_path(const struct sftp_store *s, const char *below)
{
    return below[0] == '\0' ? mem_strdup(s->packs) : path_join(s->packs, below);
}

void sftp_store_note(struct sftp_store *s, const struct err *error)
{
    err_keep(s->n_making > 0 ? &s->later_why : &s->why, error);
}

int sftp_store_check(const struct sftp_store *s, struct err *e)
{
    return s->why.kind == ERR_NONE ? 0 : err_set(e, s->why.kind, "%s", s->why.text);
}

static size_t open_lanes(void *context, struct pollfd coming[SFTP_LANES_MAX]);

static struct store *open_store(const struct place *to, struct err *e)
{
    struct sftp_store *s;
    char *below;

    if (share_connection_mend(to->drive, e) < 0)
        return NULL;
    s = mem_alloc(sizeof *s);
    below = store_path(to, "");
    s->packs = mem_printf("%s/%s", to->drive->root, below);
    free(below);
    s->lanes =
        (struct sftp_lanes){ .all = { to->drive->sftp }, .n = 1, .join = open_lanes, .context = s };
    s->first_lane = (struct sftp_lanes){ .all = { to->drive->sftp }, .n = 1 };
    s->wanted_lanes = 1;
    s->end = &s->first;
    return &s->store;
}

/* ---- lanes ---- */

/* 1: it has joined, 0: not yet, which *fd will tell, -1. */
static int join_lane(struct sftp_store *s, size_t number, int *fd)
{
    const struct share_connection *d = s->store.to->drive;
    int rc = d->lane != NULL ? d->lane(d->context, number, fd, NULL) : -1;
    struct sftp *lane = rc > 0 ? sftp_open_later(*fd, NULL) : NULL;

    if (rc <= 0 || lane == NULL)
        return rc <= 0 ? rc : -1;
    s->lanes.all[s->lanes.n++] = lane;
    return 1;
}

/* Those that are wanted are made at once, and join when they are there.  How many are not there yet,
 * of which descriptors will tell. */
static size_t open_lanes(void *context, struct pollfd coming[SFTP_LANES_MAX])
{
    struct sftp_store *s = context;
    size_t n = 0;

    for (size_t i = 1; i < s->wanted_lanes && s->lanes.n < s->wanted_lanes; i++) {
        int fd = -1, rc;

        if (s->is_lane_settled[i])
            continue;
        rc = join_lane(s, i, &fd);
        s->is_lane_settled[i] = rc != 0;
        if (rc == 0)
            coming[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
    }
    return n;
}

/* The same of those who wait for none. */
static void look_for_lanes(struct sftp_store *s)
{
    struct pollfd coming[SFTP_LANES_MAX];

    (void)open_lanes(s, coming);
}

static void expect(struct store *store, uint64_t bytes, unsigned parts)
{
    struct sftp_store *s = sftp_store_of(store);

    s->coming_parts = parts;
    s->wanted_lanes = share_connection_lanes(store->to->drive, bytes);
    look_for_lanes(s);
}

/* ---- parts ---- */

char *sftp_store_temporary(const struct sftp_store *s, const char *folder)
{
    char *name = upload_temporary_name(), *dir = sftp_store_path(s, folder),
         *path = path_join(dir, name);

    free(dir);
    free(name);
    return path;
}

static void open_slot(struct sftp_store *s, struct slot *slot, struct sftp_lanes *lanes)
{
    slot->temporary = sftp_store_temporary(s, store_folder_names[STORE_PARTS]);
    slot->stripe = sftp_stripe_open(lanes, slot->temporary, s->modes.file);
    slot->bytes = 0;
}

static void drop_slot(struct slot *slot)
{
    sftp_stripe_drop(slot->stripe);
    free(slot->temporary);
    *slot = (struct slot){ 0 };
}

/* So that the next part need not wait for its file. */
static void open_spare(struct sftp_store *s, bool is_coming)
{
    if (is_coming && s->spare.stripe == NULL)
        open_slot(s, &s->spare, &s->lanes);
}

static void open_small(struct sftp_store *s)
{
    for (size_t i = 0; i < SMALL_MAX; i++)
        if (s->small[i].stripe == NULL)
            open_slot(s, &s->small[i], &s->first_lane);
}

static int part_begin(struct store *store, unsigned number, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);

    if (sftp_store_check(s, e) < 0)
        return -1;
    s->slots[number] = s->spare;
    s->spare = (struct slot){ 0 };
    if (s->slots[number].stripe == NULL)
        open_slot(s, &s->slots[number], &s->lanes);
    open_small(s);
    s->coming_parts -= s->coming_parts > 0;
    open_spare(s, s->coming_parts > 0);
    return 0;
}

/* Without the folders no file can be made, and it is the folders' error that tells why. */
static int fail(struct sftp_store *s, const struct err *why, struct err *e)
{
    while (s->n_making > 0 && sftp_lanes_wait(&s->lanes, NULL) == 0)
        ;
    err_keep(&s->why, why);
    return sftp_store_check(s, e);
}

static int part_write(struct store *store, unsigned number, struct bytes bytes, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);
    struct slot *slot = &s->slots[number];
    struct err why = { 0 };

    look_for_lanes(s);
    if (sftp_store_check(s, e) < 0)
        return -1;
    if (sftp_stripe_write(slot->stripe, bytes, &why) < 0)
        return fail(s, &why, e);
    slot->bytes += bytes.n;
    open_spare(s, slot->bytes >= SPARE_FROM_BYTES);
    return 0;
}

static void on_put(void *context, const struct sftp_answer *a)
{
    sftp_store_whole(context, a->error);
}

static void on_part(void *context, const struct err *error)
{
    sftp_store_whole(context, error);
}

static struct slot *find_small(struct sftp_store *s)
{
    for (size_t i = 0; i < SMALL_MAX; i++)
        if (s->small[i].stripe != NULL && sftp_stripe_is_open(s->small[i].stripe))
            return &s->small[i];
    return NULL;
}

/* Into a file that is open already. */
static int fill_small(struct sftp_store *s, const char *path, struct slot *slot, struct bytes bytes,
                      bool is_last, struct err *e)
{
    struct item *it = sftp_store_add(s, path, slot->temporary);
    struct err why = { 0 };

    it->bytes = bytes.n;
    it->is_last = is_last;
    slot->temporary = NULL;
    s->n_busy++;
    if (sftp_stripe_write(slot->stripe, bytes, &why) < 0 ||
        sftp_stripe_end(slot->stripe, on_part, it, &why) < 0) {
        s->n_busy--;
        return fail(s, &why, e);
    }
    sftp_stripe_hurry(slot->stripe);
    *slot = (struct slot){ 0 };
    return sftp_store_check(s, e);
}

static int start_put(struct sftp_store *s, const char *path, struct bytes bytes, bool is_last,
                     struct err *e)
{
    struct slot *small = bytes.n <= SMALL_MAX_BYTES ? find_small(s) : NULL;
    struct sftp_op op = {
        .kind = SFTP_OP_PUT, .mode = s->modes.file, .flags = SFTP_EXCLUSIVE, .sync = true
    };
    struct item *it;

    if (small != NULL)
        return fill_small(s, path, small, bytes, is_last, e);
    it =
        sftp_store_add(s, path, sftp_store_temporary(s, store_folder_names[store_folder_of(path)]));
    op.path = it->temporary;
    it->content = mem_copy(bytes.data, bytes.n);
    it->bytes = bytes.n;
    it->is_last = is_last;
    op.content = (struct bytes){ it->content, bytes.n };
    s->n_busy++;
    if (sftp_start(sftp_store_lane(s), &op, on_put, it, e) == 0)
        return sftp_store_check(s, e);
    s->n_busy--;
    return -1;
}

static int put(struct store *store, const char *path, struct bytes bytes, struct err *e)
{
    return start_put(sftp_store_of(store), path, bytes, false, e);
}

static void on_unused(void *context, const struct err *error)
{
    struct sftp_store *s = context;

    (void)error;
    s->n_busy--;
}

/* The server removes it when it has closed it, in that order. */
static void end_one_small(struct sftp_store *s, struct slot *slot)
{
    s->n_busy++;
    if (sftp_stripe_end(slot->stripe, on_unused, s, NULL) < 0) {
        s->n_busy--;
        return;
    }
    sftp_stripe_hurry(slot->stripe);
    sftp_store_remove_temporary(s, slot->temporary);
    free(slot->temporary);
    *slot = (struct slot){ 0 };
}

/* What is open, or all, for which it may wait. */
static void end_small(struct sftp_store *s, bool waits)
{
    for (size_t i = 0; i < SMALL_MAX; i++)
        if (s->small[i].stripe != NULL && (waits || sftp_stripe_is_open(s->small[i].stripe)))
            end_one_small(s, &s->small[i]);
}

/* The manifest: no part of its tree comes any more. */
static int put_last(struct store *store, const char *path, struct bytes bytes, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);
    int result;

    for (struct item *it = s->first; it != NULL; it = it->next)
        if (it->ending != NULL)
            sftp_stripe_hurry(it->ending);
    result = start_put(s, path, bytes, true, e);
    end_small(s, false);
    return result;
}

static int part_end(struct store *store, unsigned number, const char *part, const char *list,
                    struct bytes list_bytes, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);
    struct slot *slot = &s->slots[number];
    struct item *it = sftp_store_add(s, part, slot->temporary);
    struct err why = { 0 };

    it->bytes = slot->bytes;
    slot->temporary = NULL;
    s->n_busy++;
    it->ending = slot->stripe;
    if (sftp_stripe_end(slot->stripe, on_part, it, &why) < 0) {
        it->ending = NULL;
        s->n_busy--;
        return fail(s, &why, e);
    }
    *slot = (struct slot){ 0 };
    return put(store, list, list_bytes, e);
}

/* ---- the end ---- */

int sftp_store_wait_until_idle(struct sftp_store *s, struct err *e)
{
    while (s->n_busy > 0 && s->why.kind == ERR_NONE)
        if (sftp_lanes_wait(&s->lanes, e) < 0)
            return -1;
    return sftp_store_check(s, e);
}

static bool are_all_whole(const struct sftp_store *s)
{
    for (const struct item *it = s->first; it != NULL; it = it->next)
        if (!it->is_whole)
            return false;
    return s->n_making == 0;
}

static int arrive(struct store *store, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);

    while (!are_all_whole(s) && s->why.kind == ERR_NONE)
        if (sftp_lanes_wait(&s->lanes, e) < 0)
            return -1;
    if (sftp_store_check(s, e) < 0)
        return -1;
    /* The drive's connection, which is about to be made anew: what arrived gets no name over it. */
    return sftp_is_broken(sftp_store_lane(s))
               ? err_set(e, ERR_UNREACHABLE, "the connection for files is lost")
               : 0;
}

static mode_t project_mode(const struct store *store)
{
    const struct sftp_store *s = (const struct sftp_store *)(const void *)store;

    return (s->project.has & SFTP_MODE) ? s->project.mode : 0;
}

static void on_spare(void *context, const struct err *error)
{
    struct sftp_store *s = context;

    (void)error;
    s->n_busy--;
    sftp_store_remove_temporary(s, s->left_over);
    free(s->left_over);
    s->left_over = NULL;
}

/* Nothing was written to it; it goes while the others get their names. */
static void end_spare(struct sftp_store *s)
{
    if (s->spare.stripe == NULL)
        return;
    s->n_busy++;
    s->left_over = s->spare.temporary;
    if (sftp_stripe_end(s->spare.stripe, on_spare, s, NULL) == 0) {
        sftp_stripe_hurry(s->spare.stripe);
        s->spare = (struct slot){ 0 };
        return;
    }
    s->n_busy--;
    s->left_over = NULL;
}

static int settle(struct store *store, struct err *e)
{
    struct sftp_store *s = sftp_store_of(store);

    s->is_ending = true;
    end_spare(s);
    end_small(s, true);
    sftp_store_advance(s);
    return sftp_store_wait_until_idle(s, e);
}

/* Errors are told of when it settles. */
static void push(struct store *store)
{
    sftp_lanes_flush(&sftp_store_of(store)->lanes);
}

/* What is under way comes to its end; who is called finds all there. */
static void end_all(struct sftp_store *s)
{
    if (!sftp_is_broken(sftp_store_lane(s)))
        end_small(s, true);
    for (size_t i = 0; i < PACK_SLOTS; i++)
        drop_slot(&s->slots[i]);
    drop_slot(&s->spare);
    for (size_t i = 0; i < SMALL_MAX; i++)
        drop_slot(&s->small[i]);
    while (s->n_busy > 0)
        sftp_lanes_wait_standing(&s->lanes);
}

static void close_store(struct store *store)
{
    struct sftp_store *s = sftp_store_of(store);

    end_all(s);
    sftp_store_drop_items(s);
    for (enum store_folder i = 0; i < STORE_FOLDER_COUNT; i++)
        sftp_folder_close(s->folders[i]);
    for (size_t i = 1; i < s->lanes.n; i++)
        sftp_close(s->lanes.all[i]);
    free(s->left_over);
    free(s->packs);
    free(s);
}

const struct store_way store_sftp = {
    .open = open_store,
    .close = close_store,
    .list = sftp_store_list,
    .fetch = sftp_store_fetch,
    .fetch_all = sftp_store_fetch_all,
    .remove = sftp_store_remove,
    .mtime = sftp_store_mtime,
    .touch = sftp_store_touch,
    .prepare = sftp_store_prepare,
    .part_begin = part_begin,
    .part_write = part_write,
    .part_end = part_end,
    .put = put,
    .put_last = put_last,
    .settle = settle,
    .push = push,
    .arrive = arrive,
    .project_mode = project_mode,
    .expect = expect,
    .tell = sftp_store_tell,
};
