/* SPDX-License-Identifier: MIT */
/* sftp_file.c - a file on an SFTP server, with reads ahead and writes behind */
#include <stdlib.h>
#include <string.h>

#include "common/sftp/sftp_explain.h"

enum {
    AHEAD_MAX = 32, /* pieces asked for ahead of the reader */
    BEHIND_MAX = 64 /* written pieces without a reply */
};

/* A piece that was asked for ahead. */
struct piece {
    struct sftp_file *file; /* NULL: the piece is no longer wanted */
    uint64_t offset;
    size_t asked;
    struct buf bytes;
    size_t taken; /* of bytes */
    bool is_here;
    struct sftp_failure failure;
    struct piece *next;
};

struct sftp_file {
    struct sftp *s;
    char *path;
    unsigned flags;
    struct sftp_handle handle;
    /* reading */
    struct piece *first, *last; /* in order, without gaps */
    size_t n_pieces;
    size_t ahead;       /* how many pieces may be asked for */
    uint64_t read_end;  /* the reader's offset */
    uint64_t asked_end; /* the end of the last piece */
    /* writing */
    size_t n_writing, n_syncing;
    struct sftp_failure failure;
};

static struct sftp_deed deed_of(const struct sftp_file *f, size_t needed_bytes)
{
    bool writes = (f->flags & SFTP_WRITE) != 0;

    return (struct sftp_deed){ .path = f->path,
                               .flags = DEED_OF_FILE | (writes ? DEED_MAKES : 0),
                               .needed_bytes = needed_bytes };
}

/* --- one request after the other ---------------------------------------------------- */

struct once {
    struct sftp_file *file;
    bool is_done, is_lost;
    struct sftp_attrs attrs;
    mode_t wanted_mode;
    struct sftp_failure failure;
};

static void on_once(void *context, const struct sftp_reply *r)
{
    struct once *o = context;
    struct packet body = r->body;

    o->is_done = true;
    o->is_lost = r->type == 0;
    if (r->type == FXP_HANDLE)
        sftp_take_handle(&o->file->handle, r);
    else if (r->type == FXP_ATTRS)
        o->attrs = packet_attrs(&body);
    sftp_failure_keep(&o->failure, r);
}

static void on_set_mode(void *context, const struct sftp_reply *r)
{
    struct once *o = context;

    if (!sftp_is_mode_refused(o->file->s, r))
        on_once(o, r);
    else
        o->is_done = true;
}

static void on_made_mode(void *context, const struct sftp_reply *r)
{
    struct once *o = context;
    struct sftp_reply judged = sftp_judge_made_mode(r, o->wanted_mode);

    on_once(o, &judged);
}

static int await_reply(struct once *o, unsigned deed_flags, struct err *e)
{
    struct sftp_deed deed = deed_of(o->file, 0);

    deed.flags |= deed_flags;
    while (!o->is_done)
        (void)sftp_wait(o->file->s, NULL);
    if (o->is_lost)
        return sftp_check(o->file->s, e);
    return o->failure.verb != NULL ? sftp_explain_now(o->file->s, &deed, &o->failure, e) : 0;
}

static void drop(struct sftp_file *f)
{
    free(f->path);
    free(f);
}

struct sftp_file *sftp_file_open(struct sftp *s, const char *path, unsigned flags, mode_t mode,
                                 struct err *e)
{
    struct once opening = { 0 }, setting = { 0 };
    struct sftp_file *f;

    if (sftp_check(s, e) < 0)
        return NULL;
    f = mem_alloc(sizeof *f);
    *f = (struct sftp_file){ .s = s, .path = mem_strdup(path), .flags = flags, .ahead = 1 };
    opening.file = setting.file = f;
    sftp_ask_open(
        s, path, flags, mode,
        sftp_waiter(FXP_HANDLE, on_once, &opening, flags & SFTP_WRITE ? "write" : "read"));
    if (await_reply(&opening, flags & SFTP_EXCLUSIVE ? DEED_CLAIMS : 0, e) < 0) {
        drop(f);
        return NULL;
    }
    if (!(flags & SFTP_CREATE))
        return f;
    /* The server's umask may have cleared bits of the mode. */
    setting.wanted_mode = mode;
    if (!s->keeps_modes)
        sftp_ask_mode(s, &f->handle, mode,
                      sftp_waiter(FXP_STATUS, on_set_mode, &setting, "set mode or times of"));
    while (!s->keeps_modes && !setting.is_done)
        (void)sftp_wait(s, NULL);
    if (s->keeps_modes) {
        setting = (struct once){ .file = f, .wanted_mode = mode };
        sftp_ask_made_mode(s, path, sftp_waiter(FXP_ATTRS, on_made_mode, &setting, "look at"));
    }
    if (await_reply(&setting, 0, e) == 0)
        return f;
    (void)sftp_file_close(f, NULL);
    return NULL;
}

int sftp_file_stat(struct sftp_file *f, struct sftp_attrs *attrs, struct err *e)
{
    struct once o = { .file = f };

    if (sftp_check(f->s, e) < 0)
        return -1;
    sftp_ask_of(f->s, FXP_FSTAT, &f->handle, sftp_waiter(FXP_ATTRS, on_once, &o, "look at"));
    if (await_reply(&o, 0, e) < 0)
        return -1;
    *attrs = o.attrs;
    return 0;
}

/* --- reading ---------------------------------------------------------------------- */

static void free_piece(struct piece *p)
{
    buf_free(&p->bytes);
    free(p);
}

static void on_data(void *context, const struct sftp_reply *r);

static void ask_rest(struct piece *p)
{
    sftp_ask_read(p->file->s, &p->file->handle, p->offset + p->bytes.n, p->asked - p->bytes.n,
                  sftp_waiter(FXP_DATA, on_data, p, "read"));
}

/* If a reply is shorter than its piece, the rest is asked for again, until the end of file. */
static void on_data(void *context, const struct sftp_reply *r)
{
    struct piece *p = context;

    if (p->file == NULL) {
        free_piece(p);
        return;
    }
    if (r->type == FXP_DATA)
        buf_add(&p->bytes, r->text.data, r->text.n);
    p->is_here = r->type != FXP_DATA || p->bytes.n == p->asked;
    if (!p->is_here)
        ask_rest(p);
    else if (r->status != FX_EOF)
        sftp_failure_keep(&p->failure, r);
}

static void ask_piece(struct sftp_file *f)
{
    struct piece *p = mem_alloc(sizeof *p);

    *p = (struct piece){ .file = f, .offset = f->asked_end, .asked = f->s->read_max_bytes };
    if (f->last != NULL)
        f->last->next = p;
    else
        f->first = p;
    f->last = p;
    f->n_pieces++;
    f->asked_end += p->asked;
    ask_rest(p);
}

static void drop_first(struct sftp_file *f)
{
    struct piece *p = f->first;

    f->first = p->next;
    if (f->first == NULL)
        f->last = NULL;
    f->n_pieces--;
    if (p->is_here)
        free_piece(p);
    else
        p->file = NULL;
}

static void forget_pieces(struct sftp_file *f, uint64_t offset)
{
    while (f->first != NULL)
        drop_first(f);
    f->read_end = f->asked_end = offset;
    f->ahead = 1;
}

/* Copies bytes of the first piece; gives their number, 0 at the end of the file. */
static ssize_t take_some(struct sftp_file *f, uint8_t *to, size_t n, struct err *e)
{
    struct piece *p;
    size_t left;

    while (f->n_pieces < f->ahead)
        ask_piece(f);
    while (!f->first->is_here)
        if (sftp_wait(f->s, e) < 0)
            return -1;
    if (sftp_check(f->s, e) < 0)
        return -1;
    if (f->first->failure.verb != NULL) {
        struct sftp_deed deed = deed_of(f, 0);
        struct sftp_failure failure = f->first->failure;

        forget_pieces(f, f->read_end);
        return sftp_explain_now(f->s, &deed, &failure, e);
    }
    p = f->first;
    left = p->bytes.n - p->taken;
    if (left == 0) {
        forget_pieces(f, f->read_end);
        return 0;
    }
    n = n < left ? n : left;
    memcpy(to, p->bytes.bytes + p->taken, n);
    p->taken += n;
    f->read_end += n;
    if (p->taken == p->asked) {
        drop_first(f);
        f->ahead = f->ahead < AHEAD_MAX ? 2 * f->ahead : AHEAD_MAX;
    }
    return (ssize_t)n;
}

ssize_t sftp_file_read(struct sftp_file *f, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    size_t got = 0;

    if (sftp_check(f->s, e) < 0)
        return -1;
    if (offset != f->read_end)
        forget_pieces(f, offset);
    while (got < n) {
        ssize_t some = take_some(f, (uint8_t *)bytes + got, n - got, e);

        if (some < 0)
            return -1;
        if (some == 0)
            break;
        got += (size_t)some;
    }
    return (ssize_t)got;
}

/* --- writing ---------------------------------------------------------------------- */

static void on_written(void *context, const struct sftp_reply *r)
{
    struct sftp_file *f = context;

    f->n_writing--;
    sftp_failure_keep(&f->failure, r);
}

/* Returns -1 with e set if a write failed, after all requests in flight have been answered. */
static int check_written(struct sftp_file *f, struct err *e)
{
    struct sftp_deed deed = deed_of(f, f->s->write_max_bytes);

    if (f->failure.verb == NULL)
        return sftp_check(f->s, e);
    return sftp_explain_now(f->s, &deed, &f->failure, e);
}

bool sftp_file_has_room(const struct sftp_file *f)
{
    if (f->failure.verb != NULL || f->s->is_broken)
        return true;
    return f->n_writing < BEHIND_MAX && f->s->out.n - f->s->out_at < SFTP_UNSENT_MAX_BYTES;
}

int sftp_file_write(struct sftp_file *f, uint64_t offset, const void *bytes, size_t n,
                    struct err *e)
{
    const uint8_t *from = bytes;

    while (n > 0) {
        size_t piece = n < f->s->write_max_bytes ? n : f->s->write_max_bytes;

        while (!sftp_file_has_room(f))
            (void)sftp_wait(f->s, NULL);
        if (check_written(f, e) < 0)
            return -1;
        f->n_writing++;
        sftp_ask_write(f->s, &f->handle, offset, (struct bytes){ from, piece },
                       sftp_waiter(FXP_STATUS, on_written, f, "write"));
        sftp_push(f->s);
        from += piece;
        n -= piece;
        offset += piece;
    }
    return 0;
}

static void on_synced(void *context, const struct sftp_reply *r)
{
    struct sftp_file *f = context;

    f->n_syncing--;
    sftp_failure_keep(&f->failure, r);
}

/* The server carries out requests for one file in order, so the sync covers all earlier writes. */
int sftp_file_sync_later(struct sftp_file *f, struct err *e)
{
    if (check_written(f, e) < 0)
        return -1;
    if (!sftp_can(f->s, SFTP_CAN_SYNC))
        return 0;
    f->n_syncing++;
    sftp_ask_sync(f->s, &f->handle, sftp_waiter(FXP_STATUS, on_synced, f, "sync"));
    sftp_push(f->s);
    return 0;
}

static int settle_requests(struct sftp_file *f, struct err *e)
{
    while (f->n_writing + f->n_syncing > 0 && !f->s->is_broken)
        (void)sftp_wait(f->s, NULL);
    return check_written(f, e);
}

int sftp_file_sync(struct sftp_file *f, struct err *e)
{
    return sftp_file_sync_later(f, e) < 0 ? -1 : settle_requests(f, e);
}

/* --- closing ---------------------------------------------------------------------- */

int sftp_file_close(struct sftp_file *f, struct err *e)
{
    struct once o = { .file = f };
    int result;

    if (f == NULL)
        return 0;
    result = settle_requests(f, e);
    if (!f->s->is_broken) {
        sftp_ask_of(f->s, FXP_CLOSE, &f->handle, sftp_waiter(FXP_STATUS, on_once, &o, "close"));
        if (await_reply(&o, 0, result == 0 ? e : NULL) < 0)
            result = -1;
    }
    forget_pieces(f, 0);
    drop(f);
    return result;
}
