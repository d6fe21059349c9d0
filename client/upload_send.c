/* SPDX-License-Identifier: MIT */
/* upload_send.c - a tree on its way into a temporary folder of an SFTP server */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/upload_send.h"
#include "common/io.h"

enum {
    SMALL_MAX_BYTES = 1024 * 1024, /* such files are read into memory and go many at once */
    PIECE_BYTES = 1024 * 1024,
    SYNC_EVERY_BYTES = 64 * 1024 * 1024,
    LANES_FROM_FILES = 100, /* so many are worth opening all lanes */
    FILE_COST_BYTES = 1024  /* for progress: an empty file is something too */
};

/* One call of upload_send. */
struct sending {
    struct upload_send *u;
    const char *to;                   /* the temporary folder, or file */
    struct sftp *lanes[UPLOAD_LANES]; /* the first is the drive's own */
    size_t n_lanes, turn;
    size_t *odd; /* folders whose mode is another */
    size_t n_odd, odd_capacity;
    struct err why; /* the first error of an operation */
};

/* An operation on an entry. */
struct item {
    struct sending *s;
    size_t i;
    uint8_t *content;
};

static const struct tree_entry *entry_of(const struct item *it)
{
    return &it->s->u->tree->entries[it->i];
}

static char *path_of(const struct sending *s, const struct tree_entry *entry)
{
    return entry->path[0] == '\0' ? mem_strdup(s->to) : mem_printf("%s/%s", s->to, entry->path);
}

static bool is_file(const struct tree_entry *entry)
{
    return entry->type == 'f' || entry->type == 'x';
}

/* ---- operations ---- */

static void note(struct sending *s, const struct err *error)
{
    if (s->why.kind == ERR_NONE)
        err_set(&s->why, error->kind, "%s", error->text);
}

static bool open_lane(struct sending *s)
{
    struct sftp *another = drive_another(s->u->drive, NULL);

    if (another != NULL)
        s->lanes[s->n_lanes++] = another;
    return another != NULL;
}

/* A lane that takes the operation at once, each in turn. */
static struct sftp *find_lane(struct sending *s, const struct sftp_op *op, struct err *e)
{
    for (;;) {
        for (size_t k = 0; k < s->n_lanes; k++) {
            struct sftp *lane = s->lanes[s->turn++ % s->n_lanes];

            if (sftp_has_room(lane, op))
                return lane;
        }
        if (sftp_wait_any(s->lanes, s->n_lanes, e) < 0)
            return NULL;
    }
}

/* it goes to done, in any case. */
static int start(struct item *it, struct sftp_op *op, sftp_done *done)
{
    struct sending *s = it->s;
    char *path = path_of(s, entry_of(it));
    struct err why = { 0 };
    struct sftp *lane;
    int result = -1;

    op->path = path;
    lane = find_lane(s, op, &why);
    if (lane != NULL)
        result = sftp_start(lane, op, done, it, &why);
    free(path);
    if (result < 0)
        done(it, &(struct sftp_answer){ .error = &why });
    return result;
}

static struct item *make_item(struct sending *s, size_t i)
{
    struct item *it = mem_alloc(sizeof *it);

    *it = (struct item){ .s = s, .i = i };
    return it;
}

static void free_item(struct item *it)
{
    free(it->content);
    free(it);
}

/* Waits for all operations; -1 for the first error. */
static int settle(struct sending *s, struct err *e)
{
    for (size_t k = 0; k < s->n_lanes; k++) {
        struct err why = { 0 };

        if (sftp_finish(s->lanes[k], &why) < 0)
            note(s, &why);
    }
    return s->why.kind == ERR_NONE ? 0 : err_set(e, s->why.kind, "%s", s->why.text);
}

/* ---- folders ---- */

static void on_folder(void *context, const struct sftp_answer *a)
{
    struct item *it = context;

    if (a->error != NULL && a->error->kind != ERR_EXISTS)
        note(it->s, a->error);
    free_item(it);
}

static size_t depth_of(const char *path)
{
    size_t n = 1;

    for (; *path != '\0'; path++)
        n += *path == '/';
    return n;
}

static size_t deepest(const struct tree *t)
{
    size_t most = 0;

    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].type == 'd' && depth_of(t->entries[i].path) > most)
            most = depth_of(t->entries[i].path);
    return most;
}

static void make_level(struct sending *s, size_t depth)
{
    const struct tree *t = s->u->tree;

    for (size_t i = 0; i < t->n && s->why.kind == ERR_NONE; i++)
        if (t->entries[i].type == 'd' && depth_of(t->entries[i].path) == depth)
            start(make_item(s, i),
                  &(struct sftp_op){ .kind = SFTP_OP_MKDIR, .mode = s->u->modes.folder },
                  on_folder);
}

static bool is_one_file(const struct tree *t)
{
    return t->n == 1 && t->entries[0].path[0] == '\0';
}

static int make_top(struct sending *s, struct err *e)
{
    struct err why = { 0 };

    if (is_one_file(s->u->tree) || sftp_mkdir(s->lanes[0], s->to, s->u->modes.folder, &why) == 0 ||
        why.kind == ERR_EXISTS)
        return 0;
    return err_set(e, why.kind, "%s", why.text);
}

static int make_folders(struct sending *s, struct err *e)
{
    size_t most = deepest(s->u->tree);

    if (make_top(s, e) < 0)
        return -1;
    for (size_t depth = 1; depth <= most; depth++) {
        make_level(s, depth);
        if (settle(s, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- what an earlier try left ---- */

static bool is_as_sent(const struct item *it, const struct sftp_attrs *attrs)
{
    const struct tree_entry *entry = entry_of(it);
    mode_t type = attrs->mode & S_IFMT;

    if (!(attrs->has & SFTP_MODE))
        return false;
    if (entry->type == 'd')
        return type == S_IFDIR;
    if (entry->type == 'l')
        return type == S_IFLNK;
    return type == S_IFREG && (attrs->has & SFTP_SIZE) && attrs->size_bytes == entry->size;
}

static void count_before(struct item *it)
{
    uploadbar_add_before(it->s->u->bar, 1, entry_of(it)->size);
}

/* That the journal has it is not enough: it must be there too. */
static void on_before(void *context, const struct sftp_answer *a)
{
    struct item *it = context;

    if (a->error == NULL && is_as_sent(it, &a->attrs))
        count_before(it);
    else if (a->error == NULL || a->error->kind == ERR_NOT_FOUND)
        journal_drop(it->s->u->journal, it->i);
    else
        note(it->s, a->error);
    free_item(it);
}

static int look_at_before(struct sending *s, struct err *e)
{
    const struct tree *t = s->u->tree;

    for (size_t i = 0; i < t->n && s->why.kind == ERR_NONE; i++)
        if (journal_has(s->u->journal, i))
            start(make_item(s, i), &(struct sftp_op){ .kind = SFTP_OP_LSTAT }, on_before);
    return settle(s, e);
}

/* ---- links and small files ---- */

static void on_link(void *context, const struct sftp_answer *a)
{
    struct item *it = context;

    /* From a try before: of the same tree, so that it points where it should. */
    if (a->error != NULL && a->error->kind != ERR_EXISTS)
        note(it->s, a->error);
    else if (a->error == NULL)
        uploadbar_add(it->s->u->bar, 1, 0);
    free_item(it);
}

static void on_put(void *context, const struct sftp_answer *a)
{
    struct item *it = context;
    struct upload_send *u = it->s->u;

    if (a->error != NULL) {
        note(it->s, a->error);
    } else {
        journal_add(u->journal, it->i);
        u->sent_bytes += entry_of(it)->size + FILE_COST_BYTES;
        uploadbar_add(u->bar, 1, entry_of(it)->size);
    }
    free_item(it);
}

static int read_content(struct item *it, struct err *e)
{
    const struct tree_entry *entry = entry_of(it);
    int fd = upload_open_entry(entry, e), result;
    ssize_t n;

    if (fd < 0)
        return -1;
    it->content = mem_alloc((size_t)entry->size + 1);
    /* One byte more than there should be shows that it has grown. */
    n = io_read_all(fd, it->content, (size_t)entry->size + 1);
    result = n < 0 ? err_sys(e, "read %s", entry->from)
                   : upload_check_unchanged(entry, fd, (uint64_t)n, e);
    it->s->u->is_stale = it->s->u->is_stale || (n >= 0 && result < 0);
    close(fd);
    return result;
}

static int put_small(struct sending *s, size_t i)
{
    struct item *it = make_item(s, i);
    const struct tree_entry *entry = entry_of(it);
    struct sftp_op op = { .kind = SFTP_OP_PUT,
                          .mode = upload_file_mode(&s->u->modes, entry),
                          .sync = true };
    struct err why = { 0 };

    if (read_content(it, &why) < 0) {
        note(s, &why);
        free_item(it);
        return -1;
    }
    op.content = (struct bytes){ it->content, (size_t)entry->size };
    return start(it, &op, on_put);
}

static bool is_small(const struct sending *s, size_t i)
{
    const struct tree_entry *entry = &s->u->tree->entries[i];

    return is_file(entry) && entry->size <= SMALL_MAX_BYTES && !journal_has(s->u->journal, i);
}

static int send_small(struct sending *s, struct err *e)
{
    const struct tree *t = s->u->tree;

    for (size_t i = 0; i < t->n && s->why.kind == ERR_NONE; i++) {
        if (t->entries[i].type == 'l')
            start(make_item(s, i),
                  &(struct sftp_op){ .kind = SFTP_OP_SYMLINK, .to = t->entries[i].link }, on_link);
        else if (is_small(s, i))
            put_small(s, i);
    }
    return settle(s, e);
}

/* ---- large files, piece by piece ---- */

/*
 * A server that syncs does nothing else on that channel meanwhile, so another one does it: of what
 * was acknowledged when it is asked.
 */
struct large {
    struct sending *s;
    size_t i;
    const struct tree_entry *entry;
    int fd;
    char *path; /* there */
    struct sftp_file *file;
    uint64_t at;      /* so much was read and handed on */
    uint64_t synced;  /* so much is in the journal */
    uint64_t sync_at; /* the next one */
    uint64_t syncing; /* so much is being synced; 0: nothing is */
    char *piece;
};

static void note_synced(struct large *l, uint64_t bytes)
{
    if (bytes <= l->synced)
        return;
    journal_add_bytes(l->s->u->journal, l->i, bytes);
    l->s->u->sent_bytes += bytes - l->synced;
    l->synced = bytes;
}

static void on_part_synced(void *context, const struct sftp_answer *a)
{
    struct large *l = context;

    if (a->error == NULL)
        note_synced(l, l->syncing);
    else
        note(l->s, a->error);
    l->syncing = 0;
}

static int sync_part(struct large *l, struct err *e)
{
    struct sftp *lane = l->s->lanes[l->s->n_lanes - 1];
    struct sftp_op op = { .kind = SFTP_OP_SYNC, .path = l->path };

    if (sftp_poll(lane, e) < 0)
        return -1;
    if (l->s->why.kind != ERR_NONE)
        return err_set(e, l->s->why.kind, "%s", l->s->why.text);
    if (l->syncing > 0 || sftp_file_acked_bytes(l->file) < l->sync_at ||
        !sftp_can(lane, SFTP_CAN_SYNC))
        return 0;
    l->syncing = sftp_file_acked_bytes(l->file);
    l->sync_at = l->syncing + SYNC_EVERY_BYTES;
    return sftp_start(lane, &op, on_part_synced, l, e);
}

static int write_piece(struct large *l, size_t n, struct err *e)
{
    if (sftp_file_write(l->file, l->at, l->piece, n, e) < 0)
        return -1;
    l->at += n;
    uploadbar_add(l->s->u->bar, 0, n);
    return sync_part(l, e);
}

static int write_pieces(struct large *l, struct err *e)
{
    ssize_t n;

    while ((n = io_read_all(l->fd, l->piece, PIECE_BYTES)) > 0)
        if (write_piece(l, (size_t)n, e) < 0)
            return -1;
    if (n < 0)
        return err_sys(e, "read %s", l->entry->from);
    if (upload_check_unchanged(l->entry, l->fd, l->at, e) < 0) {
        l->s->u->is_stale = true;
        return -1;
    }
    if (sftp_file_sync(l->file, e) < 0)
        return -1;
    note_synced(l, l->at);
    return 0;
}

static int open_there(struct large *l, struct err *e)
{
    struct sending *s = l->s;
    unsigned flags = SFTP_WRITE | SFTP_CREATE | (l->at == 0 ? SFTP_TRUNCATE : 0);

    l->file =
        sftp_file_open(s->lanes[0], l->path, flags, upload_file_mode(&s->u->modes, l->entry), e);
    return l->file == NULL ? -1 : 0;
}

/* As much as the journal says of its beginning is trusted, if there is as much. */
static int find_begin(struct large *l, struct err *e)
{
    uint64_t bytes = journal_bytes(l->s->u->journal, l->i);
    struct err why = { 0 };
    struct sftp_attrs attrs;

    if (bytes == 0 || bytes > l->entry->size)
        return 0;
    if (sftp_lstat(l->s->lanes[0], l->path, &attrs, &why) < 0)
        return why.kind == ERR_NOT_FOUND ? 0 : err_set(e, why.kind, "%s", why.text);
    if (!S_ISREG(attrs.mode) || attrs.size_bytes < bytes || attrs.size_bytes > l->entry->size)
        return 0;
    if (lseek(l->fd, (off_t)bytes, SEEK_SET) < 0)
        return err_sys(e, "read %s", l->entry->from);
    l->at = l->synced = bytes;
    uploadbar_add_before(l->s->u->bar, 0, bytes);
    return 0;
}

static int send_content(struct large *l, struct err *e)
{
    int result;

    if (find_begin(l, e) < 0 || open_there(l, e) < 0)
        return -1;
    l->sync_at = l->at + SYNC_EVERY_BYTES;
    result = write_pieces(l, e);
    /* Nobody may be called who finds l gone. */
    (void)sftp_finish(l->s->lanes[l->s->n_lanes - 1], NULL);
    if (sftp_file_close(l->file, result == 0 ? e : NULL) < 0)
        result = -1;
    if (result < 0)
        uploadbar_take_back(l->s->u->bar, 0, l->at);
    return result;
}

static int send_large(struct sending *s, size_t i, struct err *e)
{
    struct large l = { .s = s, .i = i, .entry = &s->u->tree->entries[i] };
    int result;

    l.fd = upload_open_entry(l.entry, e);
    if (l.fd < 0)
        return -1;
    if (l.entry->size > SYNC_EVERY_BYTES && s->n_lanes == 1)
        open_lane(s);
    l.path = path_of(s, l.entry);
    l.piece = mem_alloc(PIECE_BYTES);
    result = send_content(&l, e);
    free(l.piece);
    free(l.path);
    close(l.fd);
    if (result < 0)
        return -1;
    journal_add(s->u->journal, i);
    uploadbar_add(s->u->bar, 1, 0);
    return 0;
}

static int send_all_large(struct sending *s, struct err *e)
{
    const struct tree *t = s->u->tree;

    for (size_t i = 0; i < t->n; i++)
        if (is_file(&t->entries[i]) && t->entries[i].size > SMALL_MAX_BYTES &&
            !journal_has(s->u->journal, i) && send_large(s, i, e) < 0)
            return -1;
    return 0;
}

/* ---- the end ---- */

/* Servers that cannot sync a folder call that a failure; what is in it is synced all the same. */
static void on_synced(void *context, const struct sftp_answer *a)
{
    struct item *it = context;

    if (a->error != NULL && a->error->kind != ERR_FAILED && a->error->kind != ERR_DENIED)
        note(it->s, a->error);
    free_item(it);
}

static void on_top_synced(void *context, const struct sftp_answer *a)
{
    struct sending *s = context;

    if (a->error != NULL && a->error->kind != ERR_FAILED && a->error->kind != ERR_DENIED)
        note(s, a->error);
}

static void sync_folders(struct sending *s)
{
    const struct tree *t = s->u->tree;
    struct err why = { 0 };

    if (is_one_file(t) || !sftp_can(s->lanes[0], SFTP_CAN_SYNC))
        return;
    for (size_t i = 0; i < t->n && s->why.kind == ERR_NONE; i++)
        if (t->entries[i].type == 'd')
            start(make_item(s, i), &(struct sftp_op){ .kind = SFTP_OP_SYNC }, on_synced);
    if (sftp_start(s->lanes[0], &(struct sftp_op){ .kind = SFTP_OP_SYNC, .path = s->to },
                   on_top_synced, s, &why) < 0)
        note(s, &why);
}

static void on_verified(void *context, const struct sftp_answer *a)
{
    struct item *it = context;
    struct sending *s = it->s;
    struct err why = { 0 };

    if (a->error != NULL) {
        note(s, a->error);
    } else if (!is_as_sent(it, &a->attrs)) {
        journal_drop(s->u->journal, it->i);
        err_set(&why, ERR_FAILED, "%s did not arrive as it was sent; submit again",
                entry_of(it)->from);
        note(s, &why);
    } else if (entry_of(it)->type == 'd' && (a->attrs.mode & 07777) != s->u->modes.folder) {
        mem_grow((void **)&s->odd, &s->odd_capacity, s->n_odd, sizeof *s->odd);
        s->odd[s->n_odd++] = it->i;
    }
    free_item(it);
}

static void on_mended(void *context, const struct sftp_answer *a)
{
    struct item *it = context;

    if (a->error != NULL)
        note(it->s, a->error);
    free_item(it);
}

/* Folders of a try that ended before they had their mode. */
static int mend_modes(struct sending *s, struct err *e)
{
    struct sftp_op op = { .kind = SFTP_OP_SETSTAT,
                          .attrs = { .has = SFTP_MODE, .mode = s->u->modes.folder } };

    for (size_t k = 0; k < s->n_odd && s->why.kind == ERR_NONE; k++)
        start(make_item(s, s->odd[k]), &op, on_mended);
    return settle(s, e);
}

static int sync_and_verify(struct sending *s, struct err *e)
{
    sync_folders(s);
    for (size_t i = 0; i < s->u->tree->n && s->why.kind == ERR_NONE; i++)
        start(make_item(s, i), &(struct sftp_op){ .kind = SFTP_OP_LSTAT }, on_verified);
    return settle(s, e) < 0 ? -1 : mend_modes(s, e);
}

/* ---- all of it ---- */

static size_t count_small(const struct sending *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->u->tree->n; i++)
        n += is_small(s, i);
    return n;
}

/* Each lane's server syncs one file at a time, and disks take several. */
static void open_lanes(struct sending *s)
{
    if (count_small(s) < LANES_FROM_FILES)
        return;
    while (s->n_lanes < UPLOAD_LANES && open_lane(s))
        ;
}

static void close_lanes(struct sending *s)
{
    while (s->n_lanes > 1)
        sftp_close(s->lanes[--s->n_lanes]);
}

static int send_all(struct sending *s, struct err *e)
{
    if (journal_is_resumed(s->u->journal) && !s->u->has_looked && look_at_before(s, e) < 0)
        return -1;
    s->u->has_looked = true;
    open_lanes(s);
    if (make_folders(s, e) < 0 || send_small(s, e) < 0 || send_all_large(s, e) < 0)
        return -1;
    return sync_and_verify(s, e);
}

int upload_send(struct upload_send *u, struct err *e)
{
    char *to = mem_printf("%s/%s", u->packs, journal_temporary(u->journal));
    struct sending s = { .u = u, .to = to, .lanes = { u->drive->sftp }, .n_lanes = 1 };
    int result = send_all(&s, e);

    /* Nobody may be called who finds s gone. */
    for (size_t k = 0; k < s.n_lanes; k++)
        (void)sftp_finish(s.lanes[k], NULL);
    close_lanes(&s);
    free(s.odd);
    free(to);
    return result;
}
