/* SPDX-License-Identifier: MIT */
/* sftp_file.c - a file on an SFTP server, with reads ahead and writes behind */
#include <stdlib.h>
#include <string.h>

#include "common/sftp/sftp_once.h"

enum {
    AHEAD_MAX = 32, /* pieces asked for ahead of the reader */
    BEHIND_MAX = 64 /* pieces written whose replies are due */
};

/* A piece that was asked for. */
struct piece {
    struct sftp_file *file; /* NULL: nobody wants it any more */
    uint64_t offset;
    size_t asked;
    struct buf bytes;
    size_t taken; /* of bytes */
    bool is_here;
    bool has_failed;
    struct sftp_failure failure;
    struct piece *next;
};

struct sftp_file {
    struct sftp *s;
    char *path;
    unsigned flags;
    uint8_t handle[SFTP_HANDLE_MAX_BYTES];
    size_t n_handle;
    /* reading */
    struct piece *first, *last; /* in order, without gaps */
    size_t n_pieces;
    size_t ahead;       /* so many may be */
    uint64_t read_end;  /* where the reader is */
    uint64_t asked_end; /* where the last piece ends */
    /* writing */
    size_t n_writing;
    uint64_t written_end;
    uint64_t acked_end;
    uint64_t n_written, n_acked; /* pieces; the first of them, without gaps */
    struct {
        uint64_t end;
        bool is_acked;
    } pieces[BEHIND_MAX]; /* those between the two, by their number modulo BEHIND_MAX */
    size_t n_syncing;
    bool has_failed;
    const char *failed_verb;
    struct sftp_failure failure;
};

static struct bytes handle_of(const struct sftp_file *f)
{
    return (struct bytes){ f->handle, f->n_handle };
}

static struct sftp_deed deed_of(const struct sftp_file *f, const char *verb, size_t needed_bytes)
{
    bool writes = (f->flags & SFTP_WRITE) != 0;

    return (struct sftp_deed){ .verb = verb,
                               .path = f->path,
                               .flags = DEED_OF_FILE | (writes ? DEED_MAKES : 0),
                               .needed_bytes = needed_bytes };
}

/* --- opening -------------------------------------------------------------------- */

static int set_mode(struct sftp_file *f, mode_t mode, struct err *e)
{
    return sftp_file_setstat(f, &(struct sftp_attrs){ .has = SFTP_MODE, .mode = mode }, e);
}

static void drop(struct sftp_file *f)
{
    free(f->path);
    free(f);
}

static int ask_open(struct sftp_file *f, mode_t mode, struct err *e)
{
    struct sftp_deed deed = deed_of(f, f->flags & SFTP_WRITE ? "write" : "read", 0);
    struct sftp_attrs attrs = { .has = f->flags & SFTP_CREATE ? SFTP_MODE : 0, .mode = mode };
    struct sftp_once once;
    struct buf *out = sftp_begin_once(f->s, FXP_OPEN, FXP_HANDLE, &once);
    int result;

    if (f->flags & SFTP_EXCLUSIVE)
        deed.flags |= DEED_CLAIMS;
    packet_add_str(out, f->path);
    packet_add_u32(out, f->flags);
    packet_add_attrs(out, &attrs);
    result = sftp_end_once(f->s, &once, &deed, e);
    if (result == 0) {
        f->n_handle = once.text.n;
        memcpy(f->handle, once.text.bytes, once.text.n);
    }
    sftp_once_free(&once);
    return result;
}

struct sftp_file *sftp_file_open(struct sftp *s, const char *path, unsigned flags, mode_t mode,
                                 struct err *e)
{
    struct sftp_file *f;

    if (sftp_check(s, e) < 0)
        return NULL;
    f = mem_alloc(sizeof *f);
    *f = (struct sftp_file){ .s = s, .path = mem_strdup(path), .flags = flags, .ahead = 1 };
    if (ask_open(f, mode, e) < 0) {
        drop(f);
        return NULL;
    }
    /* The server's umask may have taken bits off. */
    if ((flags & SFTP_CREATE) && set_mode(f, mode, e) < 0) {
        (void)sftp_file_close(f, NULL);
        return NULL;
    }
    return f;
}

/* --- attributes ------------------------------------------------------------------- */

int sftp_file_stat(struct sftp_file *f, struct sftp_attrs *attrs, struct err *e)
{
    struct sftp_deed deed = deed_of(f, "look at", 0);
    struct sftp_once once;
    struct packet body;
    int result;

    if (sftp_check(f->s, e) < 0)
        return -1;
    packet_add_bytes(sftp_begin_once(f->s, FXP_FSTAT, FXP_ATTRS, &once), handle_of(f));
    result = sftp_end_once(f->s, &once, &deed, e);
    body = sftp_once_body(&once);
    if (result == 0)
        *attrs = packet_attrs(&body);
    sftp_once_free(&once);
    return result;
}

int sftp_file_setstat(struct sftp_file *f, const struct sftp_attrs *attrs, struct err *e)
{
    struct sftp_deed deed = deed_of(f, "set mode or times of", 0);
    struct sftp_once once;
    struct buf *out;
    int result;

    if (sftp_check(f->s, e) < 0)
        return -1;
    out = sftp_begin_once(f->s, FXP_FSETSTAT, FXP_STATUS, &once);
    packet_add_bytes(out, handle_of(f));
    packet_add_attrs(out, attrs);
    result = sftp_end_once(f->s, &once, &deed, e);
    sftp_once_free(&once);
    return result;
}

/* --- reading ---------------------------------------------------------------------- */

static void free_piece(struct piece *p)
{
    buf_free(&p->bytes);
    free(p);
}

static void ask_rest(struct piece *p);

static void take_data(struct piece *p, struct bytes data)
{
    buf_add(&p->bytes, data.data, data.n);
    if (p->bytes.n < p->asked)
        ask_rest(p);
    else
        p->is_here = true;
}

/* A piece that is cut short is asked on for, until the server says that the file ends. */
static void on_data(void *context, const struct sftp_reply *r)
{
    struct piece *p = context;

    if (p->file == NULL) {
        free_piece(p);
    } else if (r->type == FXP_DATA) {
        take_data(p, r->text);
    } else {
        p->is_here = true;
        p->has_failed = r->type != 0 && r->status != FX_EOF;
        sftp_failure_keep(&p->failure, r);
    }
}

static void ask_rest(struct piece *p)
{
    struct sftp_file *f = p->file;
    size_t n = p->asked - p->bytes.n;
    struct sftp_wait wait = { FXP_DATA, on_data, p, 0, n };
    struct buf *out = sftp_begin(f->s, FXP_READ, &wait);

    packet_add_bytes(out, handle_of(f));
    packet_add_u64(out, p->offset + p->bytes.n);
    packet_add_u32(out, (uint32_t)n);
    sftp_end(f->s);
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

static void ask_ahead(struct sftp_file *f)
{
    while (f->n_pieces < f->ahead)
        ask_piece(f);
}

/* 1 when the first piece is there. */
static int wait_first(struct sftp_file *f, struct err *e)
{
    while (!f->first->is_here)
        if (sftp_turn(f->s, e) < 0)
            return -1;
    if (sftp_check(f->s, e) < 0)
        return -1;
    if (f->first->has_failed) {
        struct sftp_deed deed = deed_of(f, "read", 0);
        struct sftp_failure failure = f->first->failure;

        forget_pieces(f, f->read_end);
        return sftp_explain_now(f->s, &deed, &failure, e);
    }
    return 0;
}

/* Bytes of the first piece; 0 at the end of the file. */
static ssize_t take_some(struct sftp_file *f, uint8_t *to, size_t n, struct err *e)
{
    struct piece *p;
    size_t left;

    ask_ahead(f);
    if (wait_first(f, e) < 0)
        return -1;
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

static void keep_failure(struct sftp_file *f, const struct sftp_reply *r, const char *verb)
{
    if (f->has_failed || r->type == 0 || r->status == FX_OK)
        return;
    f->has_failed = true;
    f->failed_verb = verb;
    sftp_failure_keep(&f->failure, r);
}

static void on_written(void *context, const struct sftp_reply *r)
{
    struct sftp_file *f = context;

    f->n_writing--;
    keep_failure(f, r, "write");
    f->pieces[r->tag % BEHIND_MAX].is_acked = r->type == FXP_STATUS && r->status == FX_OK;
    for (; f->n_acked < f->n_written && f->pieces[f->n_acked % BEHIND_MAX].is_acked; f->n_acked++)
        f->acked_end = f->pieces[f->n_acked % BEHIND_MAX].end;
}

uint64_t sftp_file_acked_bytes(const struct sftp_file *f)
{
    return f->acked_end;
}

/* -1 for what failed before, once all that is in flight has been answered. */
static int check_written(struct sftp_file *f, struct err *e)
{
    struct sftp_deed deed;

    if (!f->has_failed)
        return sftp_check(f->s, e);
    deed = deed_of(f, f->failed_verb, f->s->write_max_bytes);
    return sftp_explain_now(f->s, &deed, &f->failure, e);
}

bool sftp_file_has_room(const struct sftp_file *f)
{
    if (f->has_failed || f->s->is_broken)
        return true;
    return f->n_written - f->n_acked < BEHIND_MAX &&
           f->s->out.n - f->s->out_at < SFTP_UNSENT_MAX_BYTES;
}

static void write_piece(struct sftp_file *f, uint64_t offset, struct bytes piece)
{
    struct sftp_wait wait = { FXP_STATUS, on_written, f, f->n_written, 0 };
    struct buf *out = sftp_begin(f->s, FXP_WRITE, &wait);

    f->pieces[f->n_written % BEHIND_MAX].end = offset + piece.n;
    f->pieces[f->n_written++ % BEHIND_MAX].is_acked = false;
    packet_add_bytes(out, handle_of(f));
    packet_add_u64(out, offset);
    packet_add_bytes(out, piece);
    sftp_end(f->s);
    f->n_writing++;
    sftp_push(f->s);
}

int sftp_file_write(struct sftp_file *f, uint64_t offset, const void *bytes, size_t n,
                    struct err *e)
{
    const uint8_t *from = bytes;

    while (n > 0) {
        size_t piece = n < f->s->write_max_bytes ? n : f->s->write_max_bytes;

        while (!sftp_file_has_room(f))
            (void)sftp_turn(f->s, NULL);
        if (check_written(f, e) < 0)
            return -1;
        write_piece(f, offset, (struct bytes){ from, piece });
        from += piece;
        n -= piece;
        offset += piece;
        f->written_end = offset;
    }
    return 0;
}

static void on_synced(void *context, const struct sftp_reply *r)
{
    struct sftp_file *f = context;

    f->n_syncing--;
    keep_failure(f, r, "sync");
}

/* Requests about one file are obeyed in the order they are sent: this one covers the writes before. */
int sftp_file_sync_later(struct sftp_file *f, struct err *e)
{
    struct sftp_wait wait = { FXP_STATUS, on_synced, f, 0, 0 };

    if (check_written(f, e) < 0)
        return -1;
    if (!sftp_can(f->s, SFTP_CAN_SYNC))
        return 0;
    packet_add_bytes(sftp_begin_extended(f->s, "fsync@openssh.com", &wait), handle_of(f));
    sftp_end(f->s);
    f->n_syncing++;
    sftp_push(f->s);
    return 0;
}

static int settle(struct sftp_file *f, struct err *e)
{
    while (f->n_writing + f->n_syncing > 0 && !f->s->is_broken)
        (void)sftp_turn(f->s, NULL);
    return check_written(f, e);
}

int sftp_file_sync(struct sftp_file *f, struct err *e)
{
    return sftp_file_sync_later(f, e) < 0 ? -1 : settle(f, e);
}

/* --- closing ---------------------------------------------------------------------- */

static int ask_close(struct sftp_file *f, struct err *e)
{
    struct sftp_deed deed = deed_of(f, "close", 0);
    struct sftp_once once;
    int result;

    packet_add_bytes(sftp_begin_once(f->s, FXP_CLOSE, FXP_STATUS, &once), handle_of(f));
    result = sftp_end_once(f->s, &once, &deed, e);
    sftp_once_free(&once);
    return result;
}

int sftp_file_close(struct sftp_file *f, struct err *e)
{
    int result;

    if (f == NULL)
        return 0;
    result = settle(f, e);
    if (!f->s->is_broken && ask_close(f, result == 0 ? e : NULL) < 0)
        result = -1;
    forget_pieces(f, 0);
    drop(f);
    return result;
}
