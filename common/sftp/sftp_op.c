/* SPDX-License-Identifier: MIT */
/* sftp_op.c - operations of an SFTP client, many in flight */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/sftp/sftp_explain.h"

enum {
    ROUND_MAX = 16,                     /* requests of one operation in flight */
    NAME_MAX_BYTES = 1024,              /* of an entry */
    TEXT_MAX_BYTES = 64 * 1024,         /* of a link or a path */
    LIST_MAX_BYTES = 512 * 1024 * 1024, /* of names of a listing */
};

enum handle_state { HANDLE_NONE, HANDLE_OPEN, HANDLE_CLOSED, HANDLE_LATE };

struct op;
typedef void op_step(struct op *op);

/* What an operation is called, what kind of failure it meets, and how it begins and goes on. */
struct kind {
    const char *verb;
    op_step *begin;
    op_step *next;  /* when all its requests are answered; NULL: then it is done */
    unsigned flags; /* enum sftp_deed_flag */
    bool has_handle;
};

struct op {
    struct sftp *s;
    const struct kind *kind;
    struct sftp_op what; /* with strings of its own */
    char *path, *to;
    sftp_done *done;
    void *context;
    struct sftp_answer answer;
    struct buf content; /* text too */
    enum handle_state handle_state;
    uint8_t handle[SFTP_HANDLE_MAX_BYTES];
    size_t n_handle;
    size_t n_waiting; /* its requests in flight */
    int round;
    bool at_end;
    bool has_failed, is_explained;
    const char *failed_verb; /* where it is not that of the kind */
    struct sftp_failure failure;
    struct sftp_entry *entries;
    size_t n_entries, entries_capacity, names_bytes;
};

/* --- the end of an operation ------------------------------------------------------ */

static void free_op(struct op *op)
{
    buf_free(&op->content);
    free(op->entries);
    free(op->path);
    free(op->to);
    free(op);
}

static void finish(struct op *op, const struct err *error)
{
    struct sftp *s = op->s;

    s->n_ops--;
    s->content_bytes -= op->what.content.n;
    if (op->kind->has_handle && op->handle_state != HANDLE_LATE)
        s->n_handles--;
    op->answer.error = error;
    op->done(op->context, &op->answer);
    free_op(op);
}

static void finish_explained(void *context, const struct err *why)
{
    finish(context, why);
}

static void explain(struct op *op)
{
    bool is_rename = op->what.kind == SFTP_OP_RENAME || op->what.kind == SFTP_OP_REPLACE;
    struct sftp_deed deed = { .verb = op->failed_verb != NULL ? op->failed_verb : op->kind->verb,
                              .path = op->path,
                              .to = is_rename ? op->to : NULL,
                              .flags = op->kind->flags,
                              .needed_bytes = op->what.content.n };

    if (op->what.flags & SFTP_EXCLUSIVE && op->handle_state == HANDLE_NONE)
        deed.flags |= DEED_CLAIMS;
    op->is_explained = true;
    sftp_explain(op->s, &deed, &op->failure, finish_explained, op);
}

static void close_handle(struct op *op);

static void step(struct op *op)
{
    if (op->s->is_broken)
        finish(op, &op->s->why);
    else if (op->has_failed && op->handle_state == HANDLE_OPEN)
        close_handle(op);
    else if (op->has_failed)
        explain(op);
    else if (op->kind->next != NULL)
        op->kind->next(op);
    else
        finish(op, NULL);
}

/* --- requests and replies ------------------------------------------------------------ */

static struct buf *begin(struct op *op, int type, int reply_type, sftp_on_reply *on_reply)
{
    struct sftp_wait wait = { .type = reply_type, .on_reply = on_reply, .context = op };

    op->n_waiting++;
    return sftp_begin(op->s, type, &wait);
}

static struct buf *begin_extended(struct op *op, const char *name, sftp_on_reply *on_reply)
{
    struct sftp_wait wait = { .type = FXP_STATUS, .on_reply = on_reply, .context = op };

    op->n_waiting++;
    return sftp_begin_extended(op->s, name, &wait);
}

/* Every reply comes by here; the last one leads on. */
static void replied(struct op *op)
{
    if (--op->n_waiting == 0)
        step(op);
}

static void fail(struct op *op, const struct sftp_reply *r, const char *verb)
{
    if (op->has_failed || r->type == 0)
        return;
    op->has_failed = true;
    op->failed_verb = verb;
    sftp_failure_keep(&op->failure, r);
}

static void on_status(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    if (r->status != FX_OK)
        fail(op, r, NULL);
    replied(op);
}

static void on_mode_set(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    if (r->status != FX_OK)
        fail(op, r, "set the mode of");
    replied(op);
}

static void on_synced(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    if (r->status != FX_OK)
        fail(op, r, "sync");
    replied(op);
}

static void on_attrs(void *context, const struct sftp_reply *r)
{
    struct op *op = context;
    struct packet body = r->body;

    if (r->type == FXP_ATTRS)
        op->answer.attrs = packet_attrs(&body);
    else
        fail(op, r, NULL);
    replied(op);
}

static void on_handle(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    if (r->type == FXP_HANDLE) {
        op->n_handle = r->text.n;
        memcpy(op->handle, r->text.data, r->text.n);
        op->handle_state = HANDLE_OPEN;
    } else {
        fail(op, r, NULL);
    }
    replied(op);
}

static void add_handle(struct op *op, struct buf *out)
{
    packet_add_bytes(out, (struct bytes){ op->handle, op->n_handle });
}

static void close_handle(struct op *op)
{
    op->handle_state = HANDLE_CLOSED;
    add_handle(op, begin(op, FXP_CLOSE, FXP_STATUS, on_status));
    sftp_end(op->s);
}

static void on_closed(void *context, const struct sftp_reply *r)
{
    struct sftp *s = context;

    (void)r;
    s->n_handles--;
}

/* After reading nothing depends on it: it outlives the operation. */
static void close_late(struct op *op)
{
    struct sftp_wait wait = { .type = FXP_STATUS, .on_reply = on_closed, .context = op->s };

    op->handle_state = HANDLE_LATE;
    add_handle(op, sftp_begin(op->s, FXP_CLOSE, &wait));
    sftp_end(op->s);
}

/* --- those of one request --------------------------------------------------------------- */

static void begin_path(struct op *op, int type, int reply_type, sftp_on_reply *on_reply)
{
    packet_add_str(begin(op, type, reply_type, on_reply), op->path);
    sftp_end(op->s);
}

static void begin_stat(struct op *op)
{
    begin_path(op, FXP_STAT, FXP_ATTRS, on_attrs);
}

static void begin_lstat(struct op *op)
{
    begin_path(op, FXP_LSTAT, FXP_ATTRS, on_attrs);
}

static void begin_remove(struct op *op)
{
    begin_path(op, FXP_REMOVE, FXP_STATUS, on_status);
}

static void begin_rmdir(struct op *op)
{
    begin_path(op, FXP_RMDIR, FXP_STATUS, on_status);
}

static void begin_setstat(struct op *op)
{
    struct buf *out = begin(op, FXP_SETSTAT, FXP_STATUS, on_status);

    packet_add_str(out, op->path);
    packet_add_attrs(out, &op->what.attrs);
    sftp_end(op->s);
}

static void add_two(struct op *op, struct buf *out, const char *first, const char *second)
{
    packet_add_str(out, first);
    packet_add_str(out, second);
    sftp_end(op->s);
}

/* OpenSSH has the two in the opposite order of the standard, and so has everybody else. */
static void begin_symlink(struct op *op)
{
    add_two(op, begin(op, FXP_SYMLINK, FXP_STATUS, on_status), op->to, op->path);
}

static void begin_rename(struct op *op)
{
    add_two(op, begin(op, FXP_RENAME, FXP_STATUS, on_status), op->path, op->to);
}

static void begin_replace(struct op *op)
{
    add_two(op, begin_extended(op, "posix-rename@openssh.com", on_status), op->path, op->to);
}

static void keep_text(struct op *op, struct packet names)
{
    uint32_t n = packet_u32(&names);
    struct sftp_attrs attrs;
    struct bytes name = packet_name(&names, &attrs);

    if (n != 1 || name.n == 0 || name.n > TEXT_MAX_BYTES || memchr(name.data, 0, name.n) != NULL) {
        sftp_break(op->s, ERR_PROTOCOL, "the SFTP server answers with no path, where one is due");
        return;
    }
    buf_add(&op->content, name.data, name.n);
    op->answer.text = buf_text(&op->content);
}

static void on_text(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    if (r->type == FXP_NAME)
        keep_text(op, r->body);
    else
        fail(op, r, NULL);
    replied(op);
}

static void begin_read_link(struct op *op)
{
    begin_path(op, FXP_READLINK, FXP_NAME, on_text);
}

/* --- a folder with exactly this mode ------------------------------------------------------- */

static struct sftp_attrs mode_of(const struct op *op)
{
    return (struct sftp_attrs){ .has = SFTP_MODE, .mode = op->what.mode };
}

/* Looked at behind that: where it fails the answer does not matter. */
static void begin_mkdir(struct op *op)
{
    struct buf *out = begin(op, FXP_MKDIR, FXP_STATUS, on_status);
    struct sftp_attrs attrs = mode_of(op);

    packet_add_str(out, op->path);
    packet_add_attrs(out, &attrs);
    sftp_end(op->s);
    begin_lstat(op);
}

static void set_folder_mode(struct op *op)
{
    struct buf *out = begin(op, FXP_SETSTAT, FXP_STATUS, on_mode_set);
    struct sftp_attrs attrs = mode_of(op);

    packet_add_str(out, op->path);
    packet_add_attrs(out, &attrs);
    sftp_end(op->s);
}

static bool has_mode(const struct op *op)
{
    const struct sftp_attrs *is = &op->answer.attrs;

    return (is->has & SFTP_MODE) != 0 && (is->mode & 07777) == (op->what.mode & 07777);
}

/* The server's umask took bits off the mode, and mkdir(2) never sets the group's.  One that came
 * out right is left alone: whoever sets the mode of a folder of a foreign group takes the group's
 * bit off it. */
static void next_mkdir(struct op *op)
{
    if (op->round++ == 0 && !has_mode(op))
        set_folder_mode(op);
    else
        finish(op, NULL);
}

/* --- a whole file there ---------------------------------------------------------------------- */

static void open_file(struct op *op, unsigned flags)
{
    struct buf *out = begin(op, FXP_OPEN, FXP_HANDLE, on_handle);
    struct sftp_attrs attrs = mode_of(op);

    if (!(flags & SFTP_CREATE))
        attrs.has = 0;
    packet_add_str(out, op->path);
    packet_add_u32(out, flags);
    packet_add_attrs(out, &attrs);
    sftp_end(op->s);
}

static void begin_put(struct op *op)
{
    unsigned how = op->what.flags & SFTP_EXCLUSIVE ? SFTP_EXCLUSIVE : SFTP_TRUNCATE;

    open_file(op, SFTP_WRITE | SFTP_CREATE | how);
}

static void write_content(struct op *op)
{
    struct bytes rest = op->what.content;
    uint64_t offset = 0;

    while (rest.n > 0) {
        size_t n = rest.n < op->s->write_max_bytes ? rest.n : op->s->write_max_bytes;
        struct buf *out = begin(op, FXP_WRITE, FXP_STATUS, on_status);

        add_handle(op, out);
        packet_add_u64(out, offset);
        packet_add_bytes(out, (struct bytes){ rest.data, n });
        sftp_end(op->s);
        rest.data += n;
        rest.n -= n;
        offset += n;
    }
}

static void set_mode(struct op *op)
{
    struct buf *out = begin(op, FXP_FSETSTAT, FXP_STATUS, on_mode_set);
    struct sftp_attrs attrs = mode_of(op);

    add_handle(op, out);
    packet_add_attrs(out, &attrs);
    sftp_end(op->s);
}

static void sync_file(struct op *op)
{
    if (!op->what.sync || !sftp_can(op->s, SFTP_CAN_SYNC))
        return;
    add_handle(op, begin_extended(op, "fsync@openssh.com", on_synced));
    sftp_end(op->s);
}

/* Requests about one file are obeyed in the order they are sent. */
static void next_put(struct op *op)
{
    if (op->handle_state == HANDLE_CLOSED) {
        finish(op, NULL);
        return;
    }
    write_content(op);
    set_mode(op);
    sync_file(op);
    close_handle(op);
}

/* --- what lies there, on its disk --------------------------------------------------------------- */

static void begin_sync(struct op *op)
{
    open_file(op, SFTP_READ);
}

static void next_sync(struct op *op)
{
    if (op->handle_state == HANDLE_CLOSED) {
        finish(op, NULL);
        return;
    }
    add_handle(op, begin_extended(op, "fsync@openssh.com", on_synced));
    sftp_end(op->s);
    close_handle(op);
}

/* --- a whole file here -------------------------------------------------------------------------- */

static void begin_get(struct op *op)
{
    open_file(op, SFTP_READ);
}

static bool knows_size(const struct op *op)
{
    return (op->answer.attrs.has & SFTP_SIZE) != 0;
}

static void on_data(void *context, const struct sftp_reply *r);

static void ask_data(struct op *op, uint64_t offset, size_t n)
{
    struct sftp_wait wait = { FXP_DATA, on_data, op, offset, n };
    struct buf *out = sftp_begin(op->s, FXP_READ, &wait);

    op->n_waiting++;
    add_handle(op, out);
    packet_add_u64(out, offset);
    packet_add_u32(out, (uint32_t)n);
    sftp_end(op->s);
}

static void on_data(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    /* What lies behind a gap is asked for again. */
    if (r->type == FXP_DATA && r->tag == op->content.n)
        buf_add(&op->content, r->text.data, r->text.n);
    else if (r->type == FXP_STATUS && r->status == FX_EOF)
        op->at_end = true;
    else if (r->type == FXP_STATUS)
        fail(op, r, NULL);
    replied(op);
}

/* One byte more than wanted tells that there is more. */
static void ask_round(struct op *op)
{
    uint64_t offset = op->content.n, end = (uint64_t)op->what.max_bytes + 1;
    size_t piece = op->s->read_max_bytes;

    if (knows_size(op) && op->answer.attrs.size_bytes < end && op->answer.attrs.size_bytes > offset)
        end = op->answer.attrs.size_bytes;
    for (int i = 0; i < ROUND_MAX && offset < end; i++) {
        size_t n = end - offset < piece ? (size_t)(end - offset) : piece;

        ask_data(op, offset, n);
        offset += n;
        if (op->round == 0)
            break;
    }
    op->round++;
}

static void ask_size(struct op *op)
{
    add_handle(op, begin(op, FXP_FSTAT, FXP_ATTRS, on_attrs));
    sftp_end(op->s);
}

static void end_get(struct op *op)
{
    struct err e = { 0 };

    op->answer.content = buf_bytes(&op->content);
    if (op->content.n <= op->what.max_bytes) {
        finish(op, NULL);
        return;
    }
    err_set(&e, ERR_USAGE, "%s on the server is larger than %zu bytes", op->path,
            op->what.max_bytes);
    finish(op, &e);
}

static void next_get(struct op *op)
{
    bool is_whole = knows_size(op) && op->content.n == op->answer.attrs.size_bytes;

    if (op->at_end || is_whole || op->content.n > op->what.max_bytes) {
        close_late(op);
        end_get(op);
    } else {
        if (op->round == 0)
            ask_size(op);
        ask_round(op);
    }
}

/* --- a folder's entries ---------------------------------------------------------------------------- */

static void begin_list(struct op *op)
{
    begin_path(op, FXP_OPENDIR, FXP_HANDLE, on_handle);
}

static bool is_name_sound(struct bytes name)
{
    return name.n > 0 && name.n <= NAME_MAX_BYTES && memchr(name.data, '/', name.n) == NULL &&
           memchr(name.data, 0, name.n) == NULL;
}

static void keep_entry(struct op *op, struct bytes name, const struct sftp_attrs *attrs)
{
    if (packet_is(name, ".") || packet_is(name, ".."))
        return;
    op->names_bytes += name.n;
    if (!is_name_sound(name) || op->n_entries >= SFTP_LIST_MAX ||
        op->names_bytes > LIST_MAX_BYTES) {
        sftp_break(op->s, ERR_PROTOCOL, "the SFTP server lists %s in %s",
                   is_name_sound(name) ? "more files than there can be" : "impossible names",
                   op->path);
        return;
    }
    mem_grow((void **)&op->entries, &op->entries_capacity, op->n_entries, sizeof *op->entries);
    op->entries[op->n_entries++] =
        (struct sftp_entry){ .name = arena_strndup(op->what.arena, (const char *)name.data, name.n),
                             .attrs = *attrs };
}

static void keep_entries(struct op *op, struct packet names)
{
    uint32_t n = packet_u32(&names);

    /* A listing of nothing at a time would never end. */
    if (n == 0)
        sftp_break(op->s, ERR_PROTOCOL, "the SFTP server lists nothing in %s, without end",
                   op->path);
    for (uint32_t i = 0; i < n && !op->s->is_broken; i++) {
        struct sftp_attrs attrs;
        struct bytes name = packet_name(&names, &attrs);

        keep_entry(op, name, &attrs);
    }
}

static void on_names(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    if (r->type == FXP_NAME)
        keep_entries(op, r->body);
    else if (r->type == FXP_STATUS && r->status == FX_EOF)
        op->at_end = true;
    else
        fail(op, r, NULL);
    replied(op);
}

static void end_list(struct op *op)
{
    struct list *entries = &op->answer.entries;

    entries->n = op->n_entries;
    entries->items = arena_alloc(op->what.arena, op->n_entries * sizeof *op->entries);
    if (op->n_entries > 0)
        memcpy(entries->items, op->entries, op->n_entries * sizeof *op->entries);
    finish(op, NULL);
}

/* A large folder comes a hundred names at a time: more and more of them are asked for at once, and
 * at first two, of which the second learns that a small one has no more. */
static void next_list(struct op *op)
{
    int n = 2 << (op->round < 3 ? op->round : 3);

    if (op->at_end) {
        close_late(op);
        end_list(op);
        return;
    }
    op->round++;
    for (int i = 0; i < n; i++) {
        add_handle(op, begin(op, FXP_READDIR, FXP_NAME, on_names));
        sftp_end(op->s);
    }
}

/* --- all kinds ---------------------------------------------------------------------------------------- */

static const struct kind kinds[] = {
    [SFTP_OP_STAT] = { "look at", begin_stat, NULL, 0, false },
    [SFTP_OP_LSTAT] = { "look at", begin_lstat, NULL, 0, false },
    [SFTP_OP_SETSTAT] = { "set mode or times of", begin_setstat, NULL, 0, false },
    [SFTP_OP_READ_LINK] = { "read link", begin_read_link, NULL, 0, false },
    [SFTP_OP_SYMLINK] = { "make link", begin_symlink, NULL, DEED_CLAIMS | DEED_MAKES, false },
    [SFTP_OP_MKDIR] = { "make folder", begin_mkdir, next_mkdir, DEED_CLAIMS | DEED_MAKES, false },
    [SFTP_OP_RMDIR] = { "remove folder", begin_rmdir, NULL, DEED_EMPTIES, false },
    [SFTP_OP_REMOVE] = { "remove", begin_remove, NULL, DEED_OF_FILE, false },
    [SFTP_OP_RENAME] = { "rename", begin_rename, NULL, DEED_CLAIMS, false },
    [SFTP_OP_REPLACE] = { "rename", begin_replace, NULL, DEED_MAKES | DEED_EMPTIES, false },
    [SFTP_OP_LIST] = { "read folder", begin_list, next_list, 0, true },
    [SFTP_OP_PUT] = { "write", begin_put, next_put, DEED_MAKES | DEED_OF_FILE, true },
    [SFTP_OP_SYNC] = { "sync", begin_sync, next_sync, 0, true },
    [SFTP_OP_GET] = { "read", begin_get, next_get, DEED_OF_FILE, true },
};

static const struct {
    enum sftp_op_kind kind;
    enum sftp_extension extension;
} needs[] = {
    { SFTP_OP_REPLACE, SFTP_CAN_REPLACE },
    { SFTP_OP_SYNC, SFTP_CAN_SYNC },
};

static int check_can(const struct sftp *s, enum sftp_op_kind kind, struct err *e)
{
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (needs[i].kind == kind && !sftp_can(s, needs[i].extension))
            return err_set(e, ERR_FAILED, "%s: this SFTP server cannot do that", kinds[kind].verb);
    return 0;
}

bool sftp_has_room(const struct sftp *s, const struct sftp_op *op)
{
    if (kinds[op->kind].has_handle && s->n_handles >= s->handles_max)
        return false;
    return s->n_ops < SFTP_OPS_MAX && s->content_bytes < SFTP_CONTENT_MAX_BYTES &&
           s->out.n - s->out_at < SFTP_UNSENT_MAX_BYTES;
}

static struct op *make_op(struct sftp *s, const struct sftp_op *what)
{
    struct op *op = mem_alloc(sizeof *op);

    op->s = s;
    op->kind = &kinds[what->kind];
    op->what = *what;
    op->path = mem_strdup(what->path);
    op->to = what->to != NULL ? mem_strdup(what->to) : NULL;
    s->n_ops++;
    s->content_bytes += what->content.n;
    if (op->kind->has_handle)
        s->n_handles++;
    return op;
}

int sftp_start(struct sftp *s, const struct sftp_op *op, sftp_done *done, void *context,
               struct err *e)
{
    struct op *made;

    if (sftp_check(s, e) < 0 || check_can(s, op->kind, e) < 0)
        return -1;
    while (s->depth == 0 && !sftp_has_room(s, op))
        if (sftp_turn(s, e) < 0)
            return -1;
    made = make_op(s, op);
    made->done = done;
    made->context = context;
    made->kind->begin(made);
    sftp_push(s);
    return 0;
}

int sftp_wait(struct sftp *s, struct err *e)
{
    return sftp_turn(s, e);
}

int sftp_poll(struct sftp *s, struct err *e)
{
    return sftp_turn_any(&s, 1, 0, e);
}

int sftp_wait_any(struct sftp *const *all, size_t n, struct err *e)
{
    return sftp_turn_any(all, n, -1, e);
}

int sftp_finish(struct sftp *s, struct err *e)
{
    while (s->n_ops > 0 && !s->is_broken)
        if (sftp_turn(s, e) < 0)
            return -1;
    return sftp_check(s, e);
}
