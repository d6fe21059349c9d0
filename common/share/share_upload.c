/* SPDX-License-Identifier: MIT */
/* share_upload.c - uploads new files to a project; the file that names the others comes last */

#include "common/share/share_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "common/base/units.h"
#include "common/sftp/sftp_stripe.h"
#include "common/share/share_internal.h"

enum {
    PENDING_MAX = 32,                  /* on a mount: small files that are synced together */
    WRITE_BACK_BYTES = 8 * 1024 * 1024 /* on a mount: bytes that go to the disk at a time */
};

/* A file that has no final name yet. */
struct item {
    struct share_upload *u;
    struct folder *folder;
    char *temporary, *final; /* names in the folder; over SFTP paths on the server */
    uint64_t bytes;
    enum share_upload_kind kind;
    /* on a mount */
    int fd;
    uint64_t handed_on; /* bytes that the kernel was asked to write to the disk */
    /* over SFTP */
    uint8_t *content;           /* of a small file */
    struct sftp_stripe *stripe; /* writes a large file; NULL: none */
    bool is_whole;              /* the file is whole and on the server's disk */
    struct item *next;          /* the item that gets its name next */
};

struct folder {
    char *path;
    int fd;                   /* on a mount */
    struct sftp_folder *sync; /* over SFTP; NULL: the server cannot sync */
    bool is_dirty;            /* a rename was begun, and no sync after it */
};

struct share_upload {
    const struct share_dir *root;
    struct share_modes modes;
    struct folder folders[SHARE_UPLOAD_FOLDERS];
    unsigned n_folders;
    uint64_t settled_bytes; /* bytes of new files that have their names */
    bool has_named; /* over SFTP: the rename of a new file was sent, whether or not it was done */
    struct item *slots[SHARE_UPLOAD_SLOTS]; /* large files that are being written; NULL: none */

    /* on a mount */
    struct item *pending[PENDING_MAX];
    size_t n_pending;

    /* over SFTP */
    struct sftp *first_lane; /* the root's connection: carries all requests but large writes */
    struct sftp_lanes lanes;
    bool is_lane_settled[SHARE_UPLOAD_LANES]; /* the lane has joined, or never will */
    size_t wanted_lanes;
    share_lane *lane;
    void *lane_context;
    struct item *first, **end;  /* the queue of files that wait for their names */
    size_t n_busy;              /* operations in flight, and large files that are ending */
    size_t n_unsettled;         /* renames and touches without a reply */
    size_t n_syncing, n_making; /* syncs of folders, and new folders, without a reply */
    bool is_ending;             /* no file will be added any more */
    struct err why;             /* the first error of requests in flight */
    struct err later_why;       /* the first error that a missing folder may have caused */
};

static int say_gone(const char *path, struct err *e)
{
    return err_set(e, ERR_BUSY,
                   "%s in the project's packs was removed while this relied on it; submit again",
                   path);
}

static struct item *new_item(struct share_upload *u, unsigned folder)
{
    struct item *it = mem_alloc(sizeof *it);
    char *name = share_temporary_name();

    *it = (struct item){ .u = u, .folder = &u->folders[folder], .fd = -1, .temporary = name };
    if (u->root->fd < 0) {
        char *path = path_join(it->folder->path, name);

        it->temporary = share_sftp_path(u->root, path);
        free(path);
        free(name);
    }
    return it;
}

static void free_item(struct item *it)
{
    free(it->content);
    free(it->temporary);
    free(it->final);
    free(it);
}

/* Removes the temporary file and frees the item. */
static void drop_item(struct item *it)
{
    if (it->fd >= 0) {
        close(it->fd);
        (void)unlinkat(it->folder->fd, it->temporary, 0);
    }
    sftp_stripe_drop(it->stripe);
    free_item(it);
}

/* ---- on a mount ---- */

static struct item *mount_begin(struct share_upload *u, unsigned folder, struct err *e)
{
    struct item *it = new_item(u, folder);

    it->fd = openat(it->folder->fd, it->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    u->modes.file);
    if (it->fd >= 0 && share_set_mode(it->fd, u->modes.file) == 0)
        return it;
    err_sys(e, "make a file in %s on the share", it->folder->path);
    drop_item(it);
    return NULL;
}

static int mount_write(struct item *it, struct bytes bytes, struct err *e)
{
    if (io_write_all(it->fd, bytes.data, bytes.n) < 0)
        return err_sys(e, "write to %s on the share", it->folder->path);
    it->bytes += bytes.n;
    if (it->bytes - it->handed_on >= WRITE_BACK_BYTES) {
#ifdef __linux__
        (void)sync_file_range(it->fd, (off_t)it->handed_on, (off_t)(it->bytes - it->handed_on),
                              SYNC_FILE_RANGE_WRITE);
#endif
        it->handed_on = it->bytes;
    }
    return 0;
}

/* Gives the file its final name.  Frees the item, also when it fails. */
static int mount_name(struct item *it, struct err *e)
{
    struct folder *f = it->folder;
    int result = fsync(it->fd);

    if (close(it->fd) < 0)
        result = -1;
    it->fd = -1;
    if (result == 0)
        result = renameat(f->fd, it->temporary, f->fd, it->final);
    if (result < 0) {
        err_sys(e, "write %s in %s on the share", it->final, f->path);
        (void)unlinkat(f->fd, it->temporary, 0);
    } else {
        f->is_dirty = true;
        it->u->settled_bytes += it->kind == SHARE_UPLOAD_REPLACE ? 0 : it->bytes;
    }
    free_item(it);
    return result;
}

static int mount_name_pending(struct share_upload *u, struct err *e)
{
    int result = 0;

    for (size_t i = 0; i < u->n_pending; i++)
        if (result == 0)
            result = mount_name(u->pending[i], e);
        else
            drop_item(u->pending[i]);
    u->n_pending = 0;
    return result;
}

static int mount_settle(struct share_upload *u, struct err *e)
{
    if (mount_name_pending(u, e) < 0)
        return -1;
    for (unsigned i = 0; i < u->n_folders; i++) {
        struct folder *f = &u->folders[i];

        if (f->is_dirty && (errno = share_sync_fd(f->fd)) != 0)
            return err_sys(e, "sync %s on the share", f->path);
        f->is_dirty = false;
    }
    return 0;
}

static int mount_put(struct share_upload *u, unsigned folder, const char *name, struct bytes bytes,
                     enum share_upload_kind kind, struct err *e)
{
    struct item *it;

    if (kind == SHARE_UPLOAD_LAST && mount_settle(u, e) < 0)
        return -1;
    it = mount_begin(u, folder, e);
    if (it == NULL)
        return -1;
    if (mount_write(it, bytes, e) < 0) {
        drop_item(it);
        return -1;
    }
    it->final = mem_strdup(name);
    it->kind = kind;
    u->pending[u->n_pending++] = it;
    return u->n_pending < PENDING_MAX ? 0 : mount_name_pending(u, e);
}

/* ---- over SFTP: errors ---- */

static void note_error(struct share_upload *u, const struct err *error)
{
    err_keep(u->n_making > 0 ? &u->later_why : &u->why, error);
}

static int check_upload(const struct share_upload *u, struct err *e)
{
    return u->why.kind == ERR_NONE ? 0 : share_sftp_fail(&u->why, e);
}

/* Waits for folders that are being made: if one could not be made, its error comes first, as it is
 * the reason why files failed. */
static int fail_upload(struct share_upload *u, const struct err *why, struct err *e)
{
    while (u->n_making > 0 && sftp_lanes_wait(&u->lanes, NULL) == 0)
        ;
    err_keep(&u->why, why);
    return check_upload(u, e);
}

/* ---- over SFTP: names, in order ---- */

static void advance_names(struct share_upload *u);

/* Appends a file to the queue of files that wait for their names. */
static void queue_item(struct item *it, const char *name)
{
    char *path = path_join(it->folder->path, name);

    it->final = share_sftp_path(it->u->root, path);
    *it->u->end = it;
    it->u->end = &it->next;
    free(path);
}

static void on_removed(void *context, const struct sftp_answer *a)
{
    struct share_upload *u = context;

    (void)a;
    u->n_busy--;
}

static void remove_soon(struct share_upload *u, const char *path)
{
    struct sftp_op op = { .kind = SFTP_OP_REMOVE, .path = path };

    if (sftp_start(u->first_lane, &op, on_removed, u, NULL) == 0)
        u->n_busy++;
}

static void on_renamed(void *context, const struct sftp_answer *a)
{
    struct item *it = context;
    struct share_upload *u = it->u;

    u->n_busy--;
    u->n_unsettled--;
    /* An existing file of a new file's name has the same content, as the name is a digest. */
    if (a->error == NULL || (a->error->kind == ERR_EXISTS && it->kind != SHARE_UPLOAD_REPLACE))
        u->settled_bytes += it->kind == SHARE_UPLOAD_REPLACE ? 0 : it->bytes;
    else
        note_error(u, a->error);
    if (a->error != NULL)
        remove_soon(u, it->temporary);
    free_item(it);
    advance_names(u);
}

static void rename_first(struct share_upload *u)
{
    struct item *it = u->first;
    bool replaces = it->kind == SHARE_UPLOAD_REPLACE && sftp_can(u->first_lane, SFTP_CAN_REPLACE);
    struct sftp_op op = { .kind = replaces ? SFTP_OP_REPLACE : SFTP_OP_RENAME,
                          .path = it->temporary,
                          .to = it->final };
    struct err why = { 0 };

    u->first = it->next;
    if (u->first == NULL)
        u->end = &u->first;
    /* The rename of the SFTP standard fails if the target exists. */
    if (it->kind == SHARE_UPLOAD_REPLACE && !replaces)
        remove_soon(u, it->final);
    u->n_busy++;
    u->n_unsettled++;
    it->folder->is_dirty = true;
    u->has_named = u->has_named || it->kind != SHARE_UPLOAD_REPLACE;
    if (sftp_start(u->first_lane, &op, on_renamed, it, &why) < 0)
        on_renamed(it, &(struct sftp_answer){ .error = &why });
}

static void on_folder_synced(void *context, const struct err *error)
{
    struct share_upload *u = context;

    /* Servers that cannot sync a folder answer with a failure, which is ignored. */
    if (error != NULL && error->kind == ERR_UNREACHABLE)
        note_error(u, error);
    u->n_busy--;
    u->n_syncing--;
    advance_names(u);
}

/* Requests a sync of each folder with new renames.  Returns whether all renames and syncs so far
 * have their replies. */
static bool sync_folders(struct share_upload *u)
{
    for (unsigned i = 0; i < u->n_folders; i++) {
        struct folder *f = &u->folders[i];

        if (f->is_dirty && f->sync != NULL && sftp_folder_sync(f->sync, NULL) == 0) {
            u->n_busy++;
            u->n_syncing++;
        }
        f->is_dirty = false;
    }
    return u->n_unsettled == 0 && u->n_syncing == 0;
}

/* Requests the renames and syncs that are possible now. */
static void advance_names(struct share_upload *u)
{
    while (u->why.kind == ERR_NONE && u->first != NULL && u->first->is_whole &&
           (u->first->kind != SHARE_UPLOAD_LAST || sync_folders(u)))
        rename_first(u);
    if (u->first == NULL && u->is_ending)
        (void)sync_folders(u);
}

/* Called when a file is on the server's disk, or has failed. */
static void on_whole(void *context, const struct err *error)
{
    struct item *it = context;
    struct share_upload *u = it->u;

    u->n_busy--;
    it->stripe = NULL;
    free(it->content);
    it->content = NULL;
    it->is_whole = error == NULL;
    if (error != NULL)
        note_error(u, error);
    advance_names(u);
}

static void on_put(void *context, const struct sftp_answer *a)
{
    on_whole(context, a->error);
}

/* ---- over SFTP: folders ---- */

static void on_folder_made(void *context, const struct sftp_answer *a)
{
    struct share_upload *u = context;

    u->n_busy--;
    u->n_making--;
    if (a->error != NULL && a->error->kind != ERR_EXISTS)
        err_keep(&u->why, a->error);
    if (u->n_making == 0)
        err_keep(&u->why, &u->later_why);
}

/* ---- over SFTP: lanes ---- */

/* Asks for all wanted lanes at once; each joins when it is connected.  Returns the number of lanes
 * that are not connected yet; coming: their descriptors to poll. */
static size_t join_lanes(void *context, struct pollfd coming[SFTP_LANES_MAX])
{
    struct share_upload *u = context;
    size_t n = 0;

    for (size_t i = 1; i < u->wanted_lanes && u->lanes.n < u->wanted_lanes; i++) {
        struct sftp *lane;
        int fd = -1, rc;

        if (u->is_lane_settled[i])
            continue;
        rc = u->lane(u->lane_context, i, &fd, NULL);
        u->is_lane_settled[i] = rc != 0;
        if (rc == 0)
            coming[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
        else if (rc > 0 && (lane = sftp_open_later(fd, NULL)) != NULL)
            u->lanes.all[u->lanes.n++] = lane;
    }
    return n;
}

void share_upload_expect(struct share_upload *u, size_t n_lanes, share_lane *lane, void *context)
{
    struct pollfd coming[SFTP_LANES_MAX];

    if (u->root->fd >= 0 || lane == NULL)
        return;
    u->lane = lane;
    u->lane_context = context;
    u->wanted_lanes = n_lanes < SHARE_UPLOAD_LANES ? n_lanes : SHARE_UPLOAD_LANES;
    (void)join_lanes(u, coming);
}

/* ---- over SFTP: large files ---- */

static int sftp_write(struct item *it, struct bytes bytes, struct err *e)
{
    struct pollfd coming[SFTP_LANES_MAX];
    struct err why = { 0 };

    (void)join_lanes(it->u, coming);
    if (check_upload(it->u, e) < 0)
        return -1;
    if (sftp_stripe_write(it->stripe, bytes, &why) < 0)
        return fail_upload(it->u, &why, e);
    it->bytes += bytes.n;
    return 0;
}

static int sftp_put(struct share_upload *u, unsigned folder, const char *name, struct bytes bytes,
                    enum share_upload_kind kind, struct err *e)
{
    struct item *it = new_item(u, folder);
    struct sftp_op op = { .kind = SFTP_OP_PUT,
                          .path = it->temporary,
                          .mode = u->modes.file,
                          .flags = SFTP_EXCLUSIVE,
                          .sync = true };

    queue_item(it, name);
    it->content = mem_copy(bytes.data, bytes.n);
    it->bytes = bytes.n;
    it->kind = kind;
    op.content = (struct bytes){ it->content, bytes.n };
    /* No large file follows SHARE_UPLOAD_LAST, so large files that are ending may use all lanes. */
    for (struct item *x = u->first; kind == SHARE_UPLOAD_LAST && x != NULL; x = x->next)
        if (x->stripe != NULL)
            sftp_stripe_hurry(x->stripe);
    u->n_busy++;
    if (sftp_start(u->first_lane, &op, on_put, it, e) == 0)
        return check_upload(u, e);
    u->n_busy--;
    return -1;
}

/* ---- over SFTP: touches ---- */

struct touching {
    struct share_upload *u;
    char *path;
};

static void on_touched(void *context, const struct sftp_answer *a)
{
    struct touching *t = context;
    struct share_upload *u = t->u;
    enum err_kind kind = a->error != NULL ? a->error->kind : ERR_NONE;
    struct err gone = { 0 };

    u->n_busy--;
    u->n_unsettled--;
    if (kind == ERR_NOT_FOUND) {
        say_gone(t->path, &gone);
        note_error(u, &gone);
    } else if (kind == ERR_UNREACHABLE) {
        note_error(u, a->error);
    }
    free(t->path);
    free(t);
    advance_names(u);
}

/* Sets the time by this machine's clock, as asking for the server's would cost a round trip. */
static int sftp_touch(struct share_upload *u, const char *path, struct err *e)
{
    uint32_t now_s = (uint32_t)(units_now_ms() / 1000);
    char *full = share_sftp_path(u->root, path);
    struct sftp_op op = { .kind = SFTP_OP_SETSTAT,
                          .path = full,
                          .attrs = { .has = SFTP_TIMES, .atime_s = now_s, .mtime_s = now_s } };
    struct touching *t = mem_alloc(sizeof *t);
    int result;

    *t = (struct touching){ u, mem_strdup(path_basename(path)) };
    result = sftp_start(u->first_lane, &op, on_touched, t, e);
    free(full);
    if (result < 0) {
        free(t->path);
        free(t);
        return -1;
    }
    u->n_busy++;
    u->n_unsettled++;
    return check_upload(u, e);
}

/* ---- on a mount and over SFTP ---- */

struct share_upload *share_upload_open(const struct share_dir *root,
                                       const struct share_modes *modes)
{
    struct share_upload *u = mem_alloc(sizeof *u);

    u->root = root;
    u->modes = *modes;
    if (root->fd < 0) {
        u->first_lane = root->line->sftp;
        u->lanes = (struct sftp_lanes){
            .all = { u->first_lane }, .n = 1, .join = join_lanes, .context = u
        };
        u->wanted_lanes = 1;
        u->end = &u->first;
    }
    return u;
}

void share_upload_close(struct share_upload *u)
{
    if (u == NULL)
        return;
    for (size_t i = 0; i < SHARE_UPLOAD_SLOTS; i++)
        if (u->slots[i] != NULL)
            drop_item(u->slots[i]);
    for (size_t i = 0; i < u->n_pending; i++)
        drop_item(u->pending[i]);
    /* Operations in flight must end first, as they point to structs that are freed here. */
    while (u->n_busy > 0)
        sftp_lanes_wait_standing(&u->lanes);
    while (u->first != NULL) {
        struct item *it = u->first;

        u->first = it->next;
        if (!sftp_is_broken(u->first_lane))
            (void)sftp_remove(u->first_lane, it->temporary, NULL);
        free_item(it);
    }
    for (unsigned i = 0; i < u->n_folders; i++) {
        sftp_folder_close(u->folders[i].sync);
        if (u->folders[i].fd >= 0)
            close(u->folders[i].fd);
        free(u->folders[i].path);
    }
    for (size_t i = 1; i < u->lanes.n; i++)
        sftp_close(u->lanes.all[i]);
    free(u);
}

int share_upload_add_folder(struct share_upload *u, const char *path, bool is_there,
                            unsigned *number, struct err *e)
{
    struct folder *f = &u->folders[u->n_folders];
    struct err why = { 0 };
    int result = 0;
    char *full;

    *number = u->n_folders++;
    *f = (struct folder){ .path = mem_strdup(path), .fd = -1 };
    if (u->root->fd >= 0) {
        if (!is_there && share_make_dir(u->root, path, u->modes.dir, &why) < 0 &&
            why.kind != ERR_EXISTS)
            return err_set(e, why.kind, "%s", why.text);
        f->fd = io_open_dir_at(u->root->fd, path, e);
        return f->fd < 0 ? -1 : 0;
    }
    full = share_sftp_path(u->root, path);
    /* Later requests on the same connection find the folder, so the reply is not waited for. */
    if (!is_there) {
        struct sftp_op op = { .kind = SFTP_OP_MKDIR, .path = full, .mode = u->modes.dir };

        result = sftp_start(u->first_lane, &op, on_folder_made, u, e);
        u->n_busy += result == 0;
        u->n_making += result == 0;
    }
    if (result == 0 && sftp_can(u->first_lane, SFTP_CAN_SYNC))
        f->sync = sftp_folder_open(u->first_lane, full, on_folder_synced, u);
    free(full);
    return result;
}

int share_upload_begin(struct share_upload *u, unsigned slot, unsigned folder, struct err *e)
{
    struct item *it;

    if (u->root->fd >= 0) {
        u->slots[slot] = mount_begin(u, folder, e);
        return u->slots[slot] != NULL ? 0 : -1;
    }
    if (check_upload(u, e) < 0)
        return -1;
    u->slots[slot] = it = new_item(u, folder);
    it->stripe = sftp_stripe_open(&u->lanes, it->temporary, u->modes.file);
    return 0;
}

int share_upload_write(struct share_upload *u, unsigned slot, struct bytes bytes, struct err *e)
{
    return (u->root->fd >= 0 ? mount_write : sftp_write)(u->slots[slot], bytes, e);
}

int share_upload_end(struct share_upload *u, unsigned slot, const char *name, struct err *e)
{
    struct item *it = u->slots[slot];
    struct err why = { 0 };

    u->slots[slot] = NULL;
    if (u->root->fd >= 0) {
        it->final = mem_strdup(name);
        return mount_name(it, e);
    }
    queue_item(it, name);
    u->n_busy++;
    if (sftp_stripe_end(it->stripe, on_whole, it, &why) == 0)
        return 0;
    u->n_busy--;
    sftp_stripe_drop(it->stripe);
    it->stripe = NULL;
    return fail_upload(u, &why, e);
}

int share_upload_put(struct share_upload *u, unsigned folder, const char *name, struct bytes bytes,
                     enum share_upload_kind kind, struct err *e)
{
    return (u->root->fd >= 0 ? mount_put : sftp_put)(u, folder, name, bytes, kind, e);
}

int share_upload_touch(struct share_upload *u, const char *path, struct err *e)
{
    if (u->root->fd < 0)
        return sftp_touch(u, path, e);
    if (utimensat(u->root->fd, path, NULL, AT_SYMLINK_NOFOLLOW) < 0 &&
        (errno == ENOENT || errno == ESTALE))
        return say_gone(path_basename(path), e);
    return 0;
}

void share_upload_push(struct share_upload *u)
{
    if (u->root->fd < 0)
        sftp_lanes_flush(&u->lanes);
}

static bool are_all_whole(const struct share_upload *u)
{
    for (const struct item *it = u->first; it != NULL; it = it->next)
        if (!it->is_whole)
            return false;
    return u->n_making == 0;
}

int share_upload_arrive(struct share_upload *u, struct err *e)
{
    if (u->root->fd >= 0)
        return 0;
    while (!are_all_whole(u) && u->why.kind == ERR_NONE)
        if (sftp_lanes_wait(&u->lanes, e) < 0)
            return -1;
    if (check_upload(u, e) < 0)
        return -1;
    /* Over a broken connection the arrived files cannot get their names. */
    return sftp_is_broken(u->first_lane)
               ? err_set(e, ERR_UNREACHABLE, "the connection for files is lost")
               : 0;
}

int share_upload_settle(struct share_upload *u, struct err *e)
{
    if (u->root->fd >= 0)
        return mount_settle(u, e);
    u->is_ending = true;
    advance_names(u);
    while (u->n_busy > 0 && u->why.kind == ERR_NONE)
        if (sftp_lanes_wait(&u->lanes, e) < 0)
            return -1;
    return check_upload(u, e);
}

uint64_t share_upload_settled_bytes(const struct share_upload *u)
{
    return u->settled_bytes;
}

bool share_upload_may_have_settled(const struct share_upload *u)
{
    return u->settled_bytes > 0 || u->has_named;
}
