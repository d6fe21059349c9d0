/* SPDX-License-Identifier: MIT */
/* sftp_op.c - operations of an SFTP client, one at a time or many in flight */
#include <stdlib.h>
#include <string.h>

#include "common/sftp/sftp_explain.h"

enum {
    ROUND_MAX = 16,                     /* requests of one operation in flight */
    NAME_MAX_BYTES = 1024,              /* of an entry */
    TEXT_MAX_BYTES = 64 * 1024,         /* of a link or a path */
    LIST_MAX_BYTES = 512 * 1024 * 1024, /* of names of a listing */
    OPS_MAX = 512,                      /* operations in flight */
    CONTENT_MAX_BYTES = 8 * 1024 * 1024 /* content of operations in flight */
};

enum handle_state { HANDLE_NONE, HANDLE_OPEN, HANDLE_CLOSED, HANDLE_LATE };

struct op;
typedef void op_step(struct op *op);

/* A kind of operation: its name, its steps, and the failures it can meet. */
struct kind {
    const char *verb;
    op_step *begin;
    op_step *next;  /* called when all requests of a step are answered; NULL: there is one step */
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
    struct sftp_handle handle;
    size_t n_waiting; /* its requests in flight */
    int round;
    bool at_end;
    struct sftp_failure failure;
    struct sftp_entry *entries;
    size_t n_entries, entries_capacity, names_bytes;
};

/* --- the end of an operation ------------------------------------------------------ */

static void finish_op(struct op *op, const struct err *error)
{
    struct sftp *s = op->s;

    s->n_ops--;
    s->content_bytes -= op->what.content.n;
    if (op->kind->has_handle && op->handle_state != HANDLE_LATE)
        s->n_handles--;
    op->answer.error = error;
    op->done(op->context, &op->answer);
    buf_free(&op->content);
    free(op->entries);
    free(op->path);
    free(op->to);
    free(op);
}

static void finish_explained(void *context, const struct err *why)
{
    finish_op(context, why);
}

static struct sftp_waiter wait_for(struct op *op, int type, sftp_on_reply *take)
{
    op->n_waiting++;
    return sftp_waiter(type, take, op, op->kind->verb);
}

static void on_reply(void *context, const struct sftp_reply *r);

/* A waiter for a request of the operation that has a verb of its own. */
static struct sftp_waiter wait_to(struct op *op, const char *verb)
{
    op->n_waiting++;
    return sftp_waiter(FXP_STATUS, on_reply, op, verb);
}

static void close_handle(struct op *op)
{
    op->handle_state = HANDLE_CLOSED;
    sftp_ask_of(op->s, FXP_CLOSE, &op->handle, wait_for(op, FXP_STATUS, on_reply));
}

static void step_op(struct op *op)
{
    bool is_rename = op->what.kind == SFTP_OP_RENAME || op->what.kind == SFTP_OP_REPLACE;
    bool claims = (op->what.flags & SFTP_EXCLUSIVE) && op->handle_state == HANDLE_NONE;
    struct sftp_deed deed = { .path = op->path,
                              .to = is_rename ? op->to : NULL,
                              .flags = op->kind->flags | (claims ? DEED_CLAIMS : 0),
                              .needed_bytes = op->what.content.n };

    if (op->s->is_broken)
        finish_op(op, &op->s->why);
    else if (op->failure.verb != NULL && op->handle_state == HANDLE_OPEN)
        close_handle(op);
    else if (op->failure.verb != NULL)
        sftp_explain(op->s, &deed, &op->failure, finish_explained, op);
    else if (op->kind->next != NULL)
        op->kind->next(op);
    else
        finish_op(op, NULL);
}

/* --- requests and replies ------------------------------------------------------------ */

/* Takes a reply for an operation; the reply to its last open request begins the next step. */
static void on_reply(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    sftp_failure_keep(&op->failure, r);
    if (--op->n_waiting == 0)
        step_op(op);
}

/* Stands for a reply that says end of file, which is no failure. */
static const struct sftp_reply no_reply;

static void on_attrs(void *context, const struct sftp_reply *r)
{
    struct op *op = context;
    struct packet body = r->body;

    if (r->type == FXP_ATTRS)
        op->answer.attrs = packet_attrs(&body);
    on_reply(op, r);
}

static void on_handle(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    if (r->type == FXP_HANDLE) {
        sftp_take_handle(&op->handle, r);
        op->handle_state = HANDLE_OPEN;
    }
    on_reply(op, r);
}

static void on_closed(void *context, const struct sftp_reply *r)
{
    struct sftp *s = context;

    (void)r;
    s->n_handles--;
}

/* Closes the handle without waiting: after reading, the answer does not matter, and the request may
 * outlive the operation. */
static void close_late(struct op *op)
{
    op->handle_state = HANDLE_LATE;
    sftp_ask_of(op->s, FXP_CLOSE, &op->handle, sftp_waiter(FXP_STATUS, on_closed, op->s, NULL));
}

/* --- operations of one request ---------------------------------------------------------- */

/* Sends a request of a path and, where they are not NULL, another path and attributes. */
static void ask_about(struct op *op, int type, struct sftp_waiter waiter, const char *path,
                      const char *other, const struct sftp_attrs *attrs)
{
    struct buf *out = sftp_begin(op->s, type, waiter);

    packet_add_str(out, path);
    if (other != NULL)
        packet_add_str(out, other);
    if (attrs != NULL)
        packet_add_attrs(out, attrs);
    sftp_end(op->s);
}

static void begin_stat(struct op *op)
{
    ask_about(op, FXP_STAT, wait_for(op, FXP_ATTRS, on_attrs), op->path, NULL, NULL);
}

static void begin_lstat(struct op *op)
{
    ask_about(op, FXP_LSTAT, wait_for(op, FXP_ATTRS, on_attrs), op->path, NULL, NULL);
}

static void begin_remove(struct op *op)
{
    ask_about(op, FXP_REMOVE, wait_for(op, FXP_STATUS, on_reply), op->path, NULL, NULL);
}

static void begin_rmdir(struct op *op)
{
    ask_about(op, FXP_RMDIR, wait_for(op, FXP_STATUS, on_reply), op->path, NULL, NULL);
}

static void begin_setstat(struct op *op)
{
    ask_about(op, FXP_SETSTAT, wait_for(op, FXP_STATUS, on_reply), op->path, NULL, &op->what.attrs);
}

/* OpenSSH, and so all other servers, take the two paths in the opposite order of the standard. */
static void begin_symlink(struct op *op)
{
    ask_about(op, FXP_SYMLINK, wait_for(op, FXP_STATUS, on_reply), op->to, op->path, NULL);
}

static void begin_rename(struct op *op)
{
    ask_about(op, FXP_RENAME, wait_for(op, FXP_STATUS, on_reply), op->path, op->to, NULL);
}

static void begin_replace(struct op *op)
{
    struct buf *out =
        sftp_begin_extended(op->s, "posix-rename@openssh.com", wait_for(op, FXP_STATUS, on_reply));

    packet_add_str(out, op->path);
    packet_add_str(out, op->to);
    sftp_end(op->s);
}

static void on_space(void *context, const struct sftp_reply *r)
{
    struct op *op = context;

    if (r->type == FXP_EXTENDED_REPLY)
        op->at_end = sftp_read_space(r->body, &op->answer.space);
    on_reply(op, r);
}

static void begin_space(struct op *op)
{
    packet_add_str(sftp_begin_extended(op->s, "statvfs@openssh.com",
                                       wait_for(op, FXP_EXTENDED_REPLY, on_space)),
                   op->path);
    sftp_end(op->s);
}

static void next_space(struct op *op)
{
    struct err e = { 0 };

    if (!op->at_end)
        err_set(&e, ERR_PROTOCOL, "the SFTP server tells an impossible free space");
    finish_op(op, op->at_end ? NULL : &e);
}

static void on_text(void *context, const struct sftp_reply *r)
{
    struct op *op = context;
    struct packet names = r->body;
    uint32_t n = r->type == FXP_NAME ? packet_u32(&names) : 0;
    struct sftp_attrs attrs;
    struct bytes name = { 0 };

    if (n > 0)
        name = packet_name(&names, &attrs);
    if (r->type == FXP_NAME && (n != 1 || name.n == 0 || name.n > TEXT_MAX_BYTES ||
                                memchr(name.data, 0, name.n) != NULL)) {
        sftp_break(op->s, ERR_PROTOCOL, "the SFTP server answers with no path, where one is due");
    } else if (r->type == FXP_NAME) {
        buf_add(&op->content, name.data, name.n);
        op->answer.text = buf_text(&op->content);
    }
    on_reply(op, r);
}

static void begin_read_link(struct op *op)
{
    ask_about(op, FXP_READLINK, wait_for(op, FXP_NAME, on_text), op->path, NULL, NULL);
}

/* --- modes ---------------------------------------------------------------------------------- */

static void on_made_mode(void *context, const struct sftp_reply *r)
{
    struct op *op = context;
    struct sftp_reply judged = sftp_judge_made_mode(r, op->what.mode);

    on_reply(op, &judged);
}

static void on_mode(void *context, const struct sftp_reply *r)
{
    struct op *op = context;
    struct sftp_reply failure = *r;

    if (!sftp_is_mode_refused(op->s, r)) {
        failure.verb = "set the mode of";
        on_reply(op, &failure);
        return;
    }
    sftp_ask_made_mode(op->s, op->path, wait_for(op, FXP_ATTRS, on_made_mode));
    on_reply(op, &no_reply);
}

/* --- a folder with exactly this mode ------------------------------------------------------- */

/* Asks for the folder's mode at once, too; that answer is ignored if mkdir fails. */
static void begin_mkdir(struct op *op)
{
    struct sftp_attrs attrs = { .has = SFTP_MODE, .mode = op->what.mode };

    ask_about(op, FXP_MKDIR, wait_for(op, FXP_STATUS, on_reply), op->path, NULL, &attrs);
    begin_lstat(op);
}

/* The server's umask may have cleared bits of the mode, and mkdir(2) never sets the setgid bit.  A
 * mode that came out right is left alone, as setting it would clear the setgid bit of a folder
 * whose group the account is not in. */
static void next_mkdir(struct op *op)
{
    struct sftp_attrs attrs = { .has = SFTP_MODE, .mode = op->what.mode };
    const struct sftp_attrs *is = &op->answer.attrs;

    /* rclone answers that it has set the mode, but has not. */
    if (op->round == 1 && !op->s->sets_modes && !op->s->keeps_modes) {
        op->round++;
        sftp_ask_made_mode(op->s, op->path, wait_for(op, FXP_ATTRS, on_made_mode));
        return;
    }
    op->s->sets_modes |= op->round == 2;
    if (op->round++ > 0 || ((is->has & SFTP_MODE) && (is->mode & 07777) == (attrs.mode & 07777)))
        finish_op(op, NULL);
    else
        ask_about(op, FXP_SETSTAT, wait_for(op, FXP_STATUS, on_mode), op->path, NULL, &attrs);
}

/* --- writing a whole file -------------------------------------------------------------------- */

static void begin_put(struct op *op)
{
    unsigned how = op->what.flags & SFTP_EXCLUSIVE ? SFTP_EXCLUSIVE : SFTP_TRUNCATE;

    sftp_ask_open(op->s, op->path, SFTP_WRITE | SFTP_CREATE | how, op->what.mode,
                  wait_for(op, FXP_HANDLE, on_handle));
}

/* The server carries out requests for one file in order, so all are sent at once. */
static void next_put(struct op *op)
{
    struct bytes content = op->what.content;

    if (op->handle_state == HANDLE_CLOSED) {
        finish_op(op, NULL);
        return;
    }
    for (size_t at = 0; at < content.n; at += op->s->write_max_bytes) {
        size_t left = content.n - at, most = op->s->write_max_bytes;

        sftp_ask_write(op->s, &op->handle, at,
                       (struct bytes){ content.data + at, left < most ? left : most },
                       wait_for(op, FXP_STATUS, on_reply));
    }
    if (op->s->keeps_modes)
        sftp_ask_made_mode(op->s, op->path, wait_for(op, FXP_ATTRS, on_made_mode));
    else
        sftp_ask_mode(op->s, &op->handle, op->what.mode, wait_for(op, FXP_STATUS, on_mode));
    if (op->what.sync && sftp_can(op->s, SFTP_CAN_SYNC))
        sftp_ask_sync(op->s, &op->handle, wait_to(op, "sync"));
    close_handle(op);
}

/* --- syncing -------------------------------------------------------------------------------- */

/* Opens the file or folder: the first step of SFTP_OP_SYNC and SFTP_OP_GET. */
static void begin_reading(struct op *op)
{
    sftp_ask_open(op->s, op->path, SFTP_READ, 0, wait_for(op, FXP_HANDLE, on_handle));
}

static void next_sync(struct op *op)
{
    if (op->handle_state == HANDLE_CLOSED) {
        finish_op(op, NULL);
        return;
    }
    sftp_ask_sync(op->s, &op->handle, wait_to(op, "sync"));
    close_handle(op);
}

/* --- reading a whole file ------------------------------------------------------------------- */

static void on_data(void *context, const struct sftp_reply *r)
{
    struct op *op = context;
    bool is_end = r->type == FXP_STATUS && r->status == FX_EOF;

    /* Data that lies after a gap is dropped and asked for again. */
    if (r->type == FXP_DATA && r->tag == op->content.n)
        buf_add(&op->content, r->text.data, r->text.n);
    op->at_end |= is_end;
    on_reply(op, is_end ? &no_reply : r);
}

/* Asks for one byte more than max_bytes, to find out whether the file is too large. */
static void next_get(struct op *op)
{
    const struct sftp_attrs *attrs = &op->answer.attrs;
    bool knows_size = (attrs->has & SFTP_SIZE) != 0;
    uint64_t offset = op->content.n, end = (uint64_t)op->what.max_bytes + 1;
    size_t piece = op->s->read_max_bytes;
    bool is_larger = offset >= end;
    struct err e = { 0 };

    if (op->at_end || is_larger || (knows_size && offset == attrs->size_bytes)) {
        close_late(op);
        op->answer.content = buf_bytes(&op->content);
        if (is_larger)
            err_set(&e, ERR_USAGE, "%s on the server is larger than %zu bytes", op->path,
                    op->what.max_bytes);
        finish_op(op, is_larger ? &e : NULL);
        return;
    }
    if (op->round == 0)
        sftp_ask_of(op->s, FXP_FSTAT, &op->handle, wait_for(op, FXP_ATTRS, on_attrs));
    if (knows_size && attrs->size_bytes < end && attrs->size_bytes > offset)
        end = attrs->size_bytes;
    for (int i = 0; i < (op->round == 0 ? 1 : ROUND_MAX) && offset < end; i++) {
        size_t n = end - offset < piece ? (size_t)(end - offset) : piece;
        struct sftp_waiter waiter = wait_for(op, FXP_DATA, on_data);

        waiter.tag = offset;
        sftp_ask_read(op->s, &op->handle, offset, n, waiter);
        offset += n;
    }
    op->round++;
}

/* --- a folder's entries ---------------------------------------------------------------------------- */

static void begin_list(struct op *op)
{
    ask_about(op, FXP_OPENDIR, wait_for(op, FXP_HANDLE, on_handle), op->path, NULL, NULL);
}

static void keep_entry(struct op *op, struct bytes name, const struct sftp_attrs *attrs)
{
    bool is_sound = name.n > 0 && name.n <= NAME_MAX_BYTES &&
                    memchr(name.data, '/', name.n) == NULL && memchr(name.data, 0, name.n) == NULL;

    if (packet_is(name, ".") || packet_is(name, ".."))
        return;
    op->names_bytes += name.n;
    if (!is_sound || op->n_entries >= SFTP_LIST_MAX || op->names_bytes > LIST_MAX_BYTES) {
        sftp_break(op->s, ERR_PROTOCOL, "the SFTP server lists %s in %s",
                   is_sound ? "more files than there can be" : "impossible names", op->path);
        return;
    }
    mem_grow((void **)&op->entries, &op->entries_capacity, op->n_entries, sizeof *op->entries);
    op->entries[op->n_entries++] =
        (struct sftp_entry){ .name = arena_strndup(op->what.arena, (const char *)name.data, name.n),
                             .attrs = *attrs };
}

static void on_names(void *context, const struct sftp_reply *r)
{
    struct op *op = context;
    struct packet names = r->body;
    uint32_t n = r->type == FXP_NAME ? packet_u32(&names) : 0;
    bool is_end = r->type == FXP_STATUS && r->status == FX_EOF;

    /* Empty replies are refused, as a listing of them would never end. */
    if (r->type == FXP_NAME && n == 0)
        sftp_break(op->s, ERR_PROTOCOL, "the SFTP server lists nothing in %s, without end",
                   op->path);
    for (uint32_t i = 0; i < n && !op->s->is_broken; i++) {
        struct sftp_attrs attrs;
        struct bytes name = packet_name(&names, &attrs);

        keep_entry(op, name, &attrs);
    }
    op->at_end |= is_end;
    on_reply(op, is_end ? &no_reply : r);
}

/* The server sends a hundred names at a time, so that each round sends more requests at once; the
 * first round has two, of which the second finds the end of a small folder. */
static void next_list(struct op *op)
{
    int n = 2 << (op->round < 3 ? op->round : 3);
    struct list *entries = &op->answer.entries;

    if (op->at_end) {
        close_late(op);
        entries->n = op->n_entries;
        entries->items = arena_alloc(op->what.arena, op->n_entries * sizeof *op->entries);
        if (op->n_entries > 0)
            memcpy(entries->items, op->entries, op->n_entries * sizeof *op->entries);
        finish_op(op, NULL);
        return;
    }
    op->round++;
    for (int i = 0; i < n; i++)
        sftp_ask_of(op->s, FXP_READDIR, &op->handle, wait_for(op, FXP_NAME, on_names));
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
    [SFTP_OP_SYNC] = { "sync", begin_reading, next_sync, 0, true },
    [SFTP_OP_GET] = { "read", begin_reading, next_get, DEED_OF_FILE, true },
    [SFTP_OP_SPACE] = { "ask for the free space at", begin_space, next_space, 0, false },
};

static bool has_room(const struct sftp *s, const struct sftp_op *op)
{
    return (!kinds[op->kind].has_handle || s->n_handles < s->handles_max) && s->n_ops < OPS_MAX &&
           s->content_bytes < CONTENT_MAX_BYTES && s->out.n - s->out_at < SFTP_UNSENT_MAX_BYTES;
}

int sftp_start(struct sftp *s, const struct sftp_op *what, sftp_done *done, void *context,
               struct err *e)
{
    enum sftp_op_kind kind = what->kind;
    struct op *op;

    if (sftp_check(s, e) < 0)
        return -1;
    if ((kind == SFTP_OP_REPLACE && !sftp_can(s, SFTP_CAN_REPLACE)) ||
        (kind == SFTP_OP_SYNC && !sftp_can(s, SFTP_CAN_SYNC)))
        return err_set(e, ERR_FAILED, "%s: this SFTP server cannot do that", kinds[kind].verb);
    if (kind == SFTP_OP_SPACE && !sftp_can(s, SFTP_CAN_TELL_SPACE))
        return err_set(e, ERR_FAILED, "this SFTP server tells no free space");
    while (s->depth == 0 && !has_room(s, what))
        if (sftp_wait(s, e) < 0)
            return -1;
    op = mem_alloc(sizeof *op);
    op->s = s;
    op->kind = &kinds[kind];
    op->what = *what;
    op->path = mem_strdup(what->path);
    op->to = what->to != NULL ? mem_strdup(what->to) : NULL;
    op->done = done;
    op->context = context;
    s->n_ops++;
    s->content_bytes += what->content.n;
    s->n_handles += op->kind->has_handle;
    op->kind->begin(op);
    sftp_push(s);
    return 0;
}

int sftp_finish(struct sftp *s, struct err *e)
{
    while (s->n_ops > 0 && !s->is_broken)
        if (sftp_wait(s, e) < 0)
            return -1;
    return sftp_check(s, e);
}

/* --- one operation ------------------------------------------------------------------ */

/* Where the answer of an operation that is waited for goes; NULL: not wanted. */
struct one {
    bool is_done;
    int result;
    struct err *e;
    struct sftp_attrs *attrs;
    char **text;
    struct list *entries;
    struct sftp_space *space;
};

static void on_one(void *context, const struct sftp_answer *a)
{
    struct one *o = context;

    o->is_done = true;
    if (a->error != NULL) {
        o->result = err_set(o->e, a->error->kind, "%s", a->error->text);
        return;
    }
    if (o->attrs != NULL)
        *o->attrs = a->attrs;
    if (o->text != NULL)
        *o->text = mem_strdup(a->text);
    if (o->entries != NULL)
        *o->entries = a->entries;
    if (o->space != NULL)
        *o->space = a->space;
}

static int run_op(struct sftp *s, const struct sftp_op *op, struct one *o, struct err *e)
{
    o->e = e;
    if (sftp_start(s, op, on_one, o, e) < 0)
        return -1;
    while (!o->is_done)
        (void)sftp_wait(s, NULL);
    return o->result;
}

static int run_plain(struct sftp *s, enum sftp_op_kind kind, const char *path, const char *to,
                     struct err *e)
{
    return run_op(s, &(struct sftp_op){ .kind = kind, .path = path, .to = to }, &(struct one){ 0 },
                  e);
}

int sftp_stat(struct sftp *s, const char *path, struct sftp_attrs *attrs, struct err *e)
{
    return run_op(s, &(struct sftp_op){ .kind = SFTP_OP_STAT, .path = path },
                  &(struct one){ .attrs = attrs }, e);
}

int sftp_lstat(struct sftp *s, const char *path, struct sftp_attrs *attrs, struct err *e)
{
    return run_op(s, &(struct sftp_op){ .kind = SFTP_OP_LSTAT, .path = path },
                  &(struct one){ .attrs = attrs }, e);
}

int sftp_setstat(struct sftp *s, const char *path, const struct sftp_attrs *attrs, struct err *e)
{
    return run_op(s, &(struct sftp_op){ .kind = SFTP_OP_SETSTAT, .path = path, .attrs = *attrs },
                  &(struct one){ 0 }, e);
}

int sftp_list(struct sftp *s, const char *path, struct arena *a, struct list *entries,
              struct err *e)
{
    return run_op(s, &(struct sftp_op){ .kind = SFTP_OP_LIST, .path = path, .arena = a },
                  &(struct one){ .entries = entries }, e);
}

char *sftp_read_link(struct sftp *s, const char *path, struct err *e)
{
    char *text = NULL;

    if (run_op(s, &(struct sftp_op){ .kind = SFTP_OP_READ_LINK, .path = path },
               &(struct one){ .text = &text }, e) < 0)
        return NULL;
    return text;
}

int sftp_symlink(struct sftp *s, const char *target, const char *path, struct err *e)
{
    return run_plain(s, SFTP_OP_SYMLINK, path, target, e);
}

int sftp_mkdir(struct sftp *s, const char *path, mode_t mode, struct err *e)
{
    return run_op(s, &(struct sftp_op){ .kind = SFTP_OP_MKDIR, .path = path, .mode = mode },
                  &(struct one){ 0 }, e);
}

int sftp_rmdir(struct sftp *s, const char *path, struct err *e)
{
    return run_plain(s, SFTP_OP_RMDIR, path, NULL, e);
}

int sftp_remove(struct sftp *s, const char *path, struct err *e)
{
    return run_plain(s, SFTP_OP_REMOVE, path, NULL, e);
}

int sftp_rename(struct sftp *s, const char *from, const char *to, struct err *e)
{
    return run_plain(s, SFTP_OP_RENAME, from, to, e);
}

int sftp_replace(struct sftp *s, const char *from, const char *to, struct err *e)
{
    return run_plain(s, SFTP_OP_REPLACE, from, to, e);
}

int sftp_space(struct sftp *s, const char *path, struct sftp_space *space, struct err *e)
{
    return run_op(s, &(struct sftp_op){ .kind = SFTP_OP_SPACE, .path = path },
                  &(struct one){ .space = space }, e);
}
