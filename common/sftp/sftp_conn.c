/* SPDX-License-Identifier: MIT */
/* sftp_conn.c - requests to an SFTP server and its replies */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/sftp/sftp_conn.h"

enum {
    PACKET_MAX_BYTES = 1024 * 1024, /* larger packets of the server are refused */
    MODEST_PIECE_BYTES = 32 * 1024, /* the largest piece that every server takes */
    LEAST_PIECE_BYTES = 4096,
    MODEST_HANDLES = 64,
    OWN_HANDLES = 12, /* left for files that are open longer */
    MOST_HANDLES = 512,
    LENGTH_BYTES = 4,
    READ_BYTES = 64 * 1024,
    PUSH_BYTES = 32 * 1024,
    DROP_BYTES = 1024 * 1024, /* so many sent bytes are dropped, and the rest moved to the front */
    SLOT_BITS = 16
};

#define NO_SLOT UINT32_MAX

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS: see SO_NOSIGPIPE */
#endif

/* --- requests ------------------------------------------------------------------ */

struct sftp_waiter sftp_waiter(int type, sftp_on_reply *on_reply, void *context, const char *verb)
{
    return (
        struct sftp_waiter){ .type = type, .on_reply = on_reply, .context = context, .verb = verb };
}

struct buf *sftp_begin(struct sftp *s, int type, struct sftp_waiter waiter)
{
    uint32_t slot = s->first_free;
    struct sftp_request *r;

    if (slot != NO_SLOT) {
        s->first_free = s->requests[slot].next_free;
    } else {
        assert(s->n_requests < (size_t)1 << SLOT_BITS);
        mem_grow((void **)&s->requests, &s->requests_capacity, s->n_requests, sizeof *s->requests);
        slot = (uint32_t)s->n_requests++;
        s->requests[slot] = (struct sftp_request){ .id = slot };
    }
    r = &s->requests[slot];
    r->waiter = waiter;
    r->is_waiting = true;
    s->request_at = s->out.n;
    packet_add_u32(&s->out, 0);
    buf_add_char(&s->out, (char)type);
    packet_add_u32(&s->out, r->id);
    return &s->out;
}

struct buf *sftp_begin_extended(struct sftp *s, const char *name, struct sftp_waiter waiter)
{
    struct buf *out = sftp_begin(s, FXP_EXTENDED, waiter);

    packet_add_str(out, name);
    return out;
}

void sftp_end(struct sftp *s)
{
    size_t n = s->out.n - s->request_at - LENGTH_BYTES;
    uint8_t *length = s->out.bytes + s->request_at;

    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (uint8_t)(n >> (24 - 8 * i));
}

void sftp_take_handle(struct sftp_handle *h, const struct sftp_reply *r)
{
    h->n = r->text.n;
    memcpy(h->bytes, r->text.data, r->text.n);
}

static void add_handle(struct buf *out, const struct sftp_handle *h)
{
    packet_add_bytes(out, (struct bytes){ h->bytes, h->n });
}

void sftp_ask_open(struct sftp *s, const char *path, unsigned flags, mode_t mode,
                   struct sftp_waiter waiter)
{
    struct sftp_attrs attrs = { .has = flags & SFTP_CREATE ? SFTP_MODE : 0, .mode = mode };
    struct buf *out = sftp_begin(s, FXP_OPEN, waiter);

    packet_add_str(out, path);
    packet_add_u32(out, flags);
    packet_add_attrs(out, &attrs);
    sftp_end(s);
}

void sftp_ask_of(struct sftp *s, int type, const struct sftp_handle *h, struct sftp_waiter waiter)
{
    add_handle(sftp_begin(s, type, waiter), h);
    sftp_end(s);
}

void sftp_ask_read(struct sftp *s, const struct sftp_handle *h, uint64_t offset, size_t n,
                   struct sftp_waiter waiter)
{
    struct buf *out;

    waiter.data_max_bytes = n;
    out = sftp_begin(s, FXP_READ, waiter);
    add_handle(out, h);
    packet_add_u64(out, offset);
    packet_add_u32(out, (uint32_t)n);
    sftp_end(s);
}

void sftp_ask_write(struct sftp *s, const struct sftp_handle *h, uint64_t offset, struct bytes data,
                    struct sftp_waiter waiter)
{
    struct buf *out = sftp_begin(s, FXP_WRITE, waiter);

    add_handle(out, h);
    packet_add_u64(out, offset);
    packet_add_bytes(out, data);
    sftp_end(s);
}

void sftp_ask_mode(struct sftp *s, const struct sftp_handle *h, mode_t mode,
                   struct sftp_waiter waiter)
{
    struct sftp_attrs attrs = { .has = SFTP_MODE, .mode = mode };
    struct buf *out = sftp_begin(s, FXP_FSETSTAT, waiter);

    add_handle(out, h);
    packet_add_attrs(out, &attrs);
    sftp_end(s);
}

bool sftp_is_mode_refused(struct sftp *s, const struct sftp_reply *r)
{
    if (r->type != FXP_STATUS || (r->status != FX_UNSUPPORTED && r->status != FX_PERMISSION_DENIED))
        return false;
    s->keeps_modes = true;
    return true;
}

void sftp_ask_made_mode(struct sftp *s, const char *path, struct sftp_waiter waiter)
{
    packet_add_str(sftp_begin(s, FXP_LSTAT, waiter), path);
    sftp_end(s);
}

struct sftp_reply sftp_judge_made_mode(const struct sftp_reply *r, mode_t wanted)
{
    struct packet body = r->body;
    struct sftp_attrs is = { 0 };

    if (r->type == FXP_ATTRS)
        is = packet_attrs(&body);
    if (r->type == 0 || !(is.has & SFTP_MODE) || (is.mode & 0777 & ~wanted) == 0)
        return (struct sftp_reply){ .type = r->type == 0 ? 0 : FXP_STATUS, .status = FX_OK };
    return (struct sftp_reply){ .type = FXP_STATUS,
                                .status = FX_PERMISSION_DENIED,
                                .verb = "set (by setstat, or the server's umask) the mode of" };
}

void sftp_ask_sync(struct sftp *s, const struct sftp_handle *h, struct sftp_waiter waiter)
{
    add_handle(sftp_begin_extended(s, "fsync@openssh.com", waiter), h);
    sftp_end(s);
}

/* --- broken connections --------------------------------------------------------- */

int sftp_check(const struct sftp *s, struct err *e)
{
    return s->is_broken ? err_set(e, s->why.kind, "%s", s->why.text) : 0;
}

static void call_waiter(struct sftp *s, uint32_t slot, struct sftp_reply *reply)
{
    struct sftp_request *r = &s->requests[slot];
    struct sftp_waiter waiter = r->waiter;

    /* The slot's next request has another id, so that no reply counts twice. */
    r->is_waiting = false;
    r->id += UINT32_C(1) << SLOT_BITS;
    r->next_free = s->first_free;
    s->first_free = slot;
    reply->tag = waiter.tag;
    reply->verb = waiter.verb;
    s->depth++;
    waiter.on_reply(waiter.context, reply);
    s->depth--;
}

/* Tells every request that waits that no reply comes. */
static void lose_requests(struct sftp *s)
{
    for (uint32_t i = 0; i < s->n_requests; i++)
        if (s->requests[i].is_waiting)
            call_waiter(s, i, &(struct sftp_reply){ 0 });
}

void sftp_break(struct sftp *s, enum err_kind kind, const char *format, ...)
{
    va_list ap;
    char *text;

    if (s->is_broken)
        return;
    va_start(ap, format);
    text = mem_vprintf(format, ap);
    va_end(ap);
    s->is_broken = true;
    err_set(&s->why, kind, "%s", text);
    free(text);
    lose_requests(s);
}

/* --- replies ------------------------------------------------------------------- */

/* Whether all fields of the reply are whole, also names and attributes that are read later. */
static bool is_reply_sound(struct sftp_reply *r, const struct sftp_waiter *waiter)
{
    struct packet body = r->body;
    struct sftp_attrs attrs;

    switch (r->type) {
    case FXP_STATUS:
        r->status = packet_u32(&r->body);
        /* Early servers send the status's number alone. */
        if (r->body.left > 0)
            r->text = packet_string(&r->body);
        return !r->body.bad && (r->status != FX_OK || waiter->type == FXP_STATUS);
    case FXP_HANDLE:
        r->text = packet_string(&r->body);
        return !r->body.bad && r->text.n > 0 && r->text.n <= SFTP_HANDLE_MAX_BYTES;
    case FXP_DATA:
        r->text = packet_string(&r->body);
        return !r->body.bad && r->text.n > 0 && r->text.n <= waiter->data_max_bytes;
    case FXP_NAME:
        for (uint32_t i = 0, n = packet_u32(&body); i < n && !body.bad; i++)
            packet_name(&body, &attrs);
        break;
    case FXP_ATTRS: packet_attrs(&body); break;
    }
    return !body.bad;
}

static void take_reply(struct sftp *s, struct packet body)
{
    struct sftp_reply reply = { 0 };
    uint8_t type = packet_u8(&body);
    uint32_t id = packet_u32(&body), slot = id & ((UINT32_C(1) << SLOT_BITS) - 1);
    const struct sftp_request *r = slot < s->n_requests ? &s->requests[slot] : NULL;

    reply.type = type;
    reply.body = body;
    if (body.bad || r == NULL || !r->is_waiting || r->id != id)
        sftp_break(s, ERR_PROTOCOL, "the SFTP server answers what it was not asked");
    else if (type != FXP_STATUS && type != r->waiter.type)
        sftp_break(s, ERR_PROTOCOL, "the SFTP server answers with message %d, where %d is due",
                   type, r->waiter.type);
    else if (!is_reply_sound(&reply, &r->waiter))
        sftp_break(s, ERR_PROTOCOL, "the SFTP server sent a damaged message (%d)", type);
    else
        call_waiter(s, slot, &reply);
}

/* --- greeting ------------------------------------------------------------------- */

static const struct {
    const char *name, *version;
    enum sftp_extension what;
} extensions[] = {
    { "fsync@openssh.com", "1", SFTP_CAN_SYNC },
    { "posix-rename@openssh.com", "1", SFTP_CAN_REPLACE },
    { "statvfs@openssh.com", "2", SFTP_CAN_TELL_SPACE },
};

static size_t clamp(uint64_t n, size_t least, size_t most)
{
    return n < least ? least : n > most ? most : (size_t)n;
}

/* A limit of 0 means that the server has none, or does not know it. */
static void on_limits(void *context, const struct sftp_reply *r)
{
    struct sftp *s = context;
    struct packet body = r->body;
    uint64_t read_bytes, write_bytes, handles;

    if (r->type != FXP_EXTENDED_REPLY)
        return;
    packet_u64(&body);
    read_bytes = packet_u64(&body);
    write_bytes = packet_u64(&body);
    handles = packet_u64(&body);
    if (body.bad)
        return;
    if (read_bytes > 0)
        s->read_max_bytes = clamp(read_bytes, LEAST_PIECE_BYTES, SFTP_PIECE_BYTES);
    if (write_bytes > 0)
        s->write_max_bytes = clamp(write_bytes, LEAST_PIECE_BYTES, SFTP_PIECE_BYTES);
    if (handles > 0)
        s->handles_max =
            handles <= 2 * OWN_HANDLES ? 1 : clamp(handles - OWN_HANDLES, 1, MOST_HANDLES);
}

/* Reads the server's first packet, which answers no request. */
static void take_greeting(struct sftp *s, struct packet p)
{
    uint8_t type = packet_u8(&p);
    uint32_t version = packet_u32(&p);
    bool has_limits = false;

    if (p.bad || type != FXP_VERSION || version != SFTP_VERSION) {
        sftp_break(s, ERR_PROTOCOL, "the server does not speak version %d of SFTP", SFTP_VERSION);
        return;
    }
    while (p.left > 0 && !p.bad) {
        struct bytes name = packet_string(&p), value = packet_string(&p);

        for (size_t i = 0; !p.bad && i < sizeof extensions / sizeof extensions[0]; i++)
            if (packet_is(name, extensions[i].name) && packet_is(value, extensions[i].version))
                s->can |= (unsigned)extensions[i].what;
        has_limits |= !p.bad && packet_is(name, "limits@openssh.com") && packet_is(value, "1");
    }
    s->is_greeted = true;
    /* Until the limits come, requests stay small, so that none has to wait for the limits. */
    if (has_limits) {
        sftp_begin_extended(s, "limits@openssh.com",
                            sftp_waiter(FXP_EXTENDED_REPLY, on_limits, s, NULL));
        sftp_end(s);
    }
}

/* --- bytes --------------------------------------------------------------------- */

/* A wrong length is often text that the account's shell prints at log-in. */
static void refuse_length(struct sftp *s, uint32_t n)
{
    const uint8_t *bytes = s->in.bytes + s->in_at;
    char text[LENGTH_BYTES + 1] = "";

    for (int i = 0; i < LENGTH_BYTES; i++)
        text[i] = bytes[i] >= ' ' && bytes[i] < 0x7f ? (char)bytes[i] : '?';
    if (s->is_greeted)
        sftp_break(s, ERR_PROTOCOL, "the SFTP server sent a message of %u bytes", (unsigned)n);
    else
        sftp_break(s, ERR_PROTOCOL,
                   "the server speaks no SFTP: it began with '%s...' (does a shell print that "
                   "when somebody logs in?)",
                   text);
}

static void take_replies(struct sftp *s)
{
    while (!s->is_broken) {
        struct packet in = { s->in.bytes + s->in_at, s->in.n - s->in_at, false };
        uint32_t n;

        if (in.left < LENGTH_BYTES)
            break;
        n = packet_u32(&in);
        if (n > PACKET_MAX_BYTES) {
            refuse_length(s, n);
            break;
        }
        if (in.left < n)
            break;
        s->in_at += LENGTH_BYTES + n;
        in.left = n;
        if (s->is_greeted)
            take_reply(s, in);
        else
            take_greeting(s, in);
    }
    if (s->in.bytes == NULL)
        return;
    buf_drop_front(&s->in, s->in_at);
    s->in_at = 0;
}

static void lose(struct sftp *s, const char *why)
{
    if (s->is_greeted)
        sftp_break(s, ERR_UNREACHABLE, "the connection for files is lost: %s", why);
    else
        sftp_break(s, ERR_UNREACHABLE,
                   "the server closed the connection for files at once; may this account use SFTP "
                   "there, and is there `Subsystem sftp` in its sshd_config?");
}

static void receive(struct sftp *s)
{
    uint8_t *to = buf_reserve(&s->in, READ_BYTES);
    ssize_t n = read(s->fd, to, s->in.capacity - s->in.n - 1);

    if (n > 0) {
        buf_added(&s->in, (size_t)n);
        take_replies(s);
    } else if (n == 0) {
        lose(s, "the server closed it");
    } else if (errno != EAGAIN && errno != EINTR) {
        lose(s, strerror(errno));
    }
}

static void transmit(struct sftp *s)
{
    while (s->out_at < s->out.n) {
        const uint8_t *from = s->out.bytes + s->out_at;
        size_t left = s->out.n - s->out_at;
        ssize_t n = send(s->fd, from, left, MSG_NOSIGNAL);

        if (n < 0 && errno == ENOTSOCK)
            n = write(s->fd, from, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            lose(s, strerror(errno));
        if (n < 0)
            return;
        s->out_at += (size_t)n;
    }
    if (s->out_at == s->out.n || s->out_at >= DROP_BYTES) {
        buf_drop_front(&s->out, s->out_at);
        s->out_at = 0;
    }
}

void sftp_push(struct sftp *s)
{
    if (!s->is_broken && s->out.n - s->out_at >= PUSH_BYTES)
        transmit(s);
}

int sftp_wait_beside(struct sftp *const *all, size_t n, const struct pollfd *others,
                     size_t n_others, int timeout_ms, struct err *e)
{
    struct pollfd fds[2 * SFTP_ANY_MAX];

    assert(n <= SFTP_ANY_MAX && n_others <= SFTP_ANY_MAX);
    for (size_t i = 0; i < n; i++) {
        struct sftp *s = all[i];

        assert(s->depth == 0);
        if (!s->is_broken)
            transmit(s);
        if (s->is_broken) {
            /* Requests may have been begun after the connection broke. */
            lose_requests(s);
            return sftp_check(s, e);
        }
        fds[i] = (struct pollfd){ .fd = s->fd,
                                  .events = s->out_at < s->out.n ? POLLIN | POLLOUT : POLLIN };
    }
    for (size_t i = 0; i < n_others; i++)
        fds[n + i] = others[i];
    if (poll(fds, (nfds_t)(n + n_others), timeout_ms) < 0 && errno != EINTR)
        sftp_break(all[0], ERR_FAILED, "wait for the SFTP server: %s", strerror(errno));
    for (size_t i = 0; i < n; i++) {
        if (fds[i].revents & ~POLLOUT)
            receive(all[i]);
        if (all[i]->is_broken)
            return sftp_check(all[i], e);
    }
    return 0;
}

int sftp_wait_any(struct sftp *const *all, size_t n, struct err *e)
{
    return sftp_wait_beside(all, n, NULL, 0, -1, e);
}

int sftp_wait(struct sftp *s, struct err *e)
{
    return sftp_wait_any(&s, 1, e);
}

/* --- a connection ---------------------------------------------------------------- */

struct sftp *sftp_open_later(int fd, struct err *e)
{
    struct sftp *s = mem_alloc(sizeof *s);

    *s = (struct sftp){ .fd = fd,
                        .read_max_bytes = MODEST_PIECE_BYTES,
                        .write_max_bytes = MODEST_PIECE_BYTES,
                        .handles_max = MODEST_HANDLES,
                        .first_free = NO_SLOT };
#ifdef SO_NOSIGPIPE
    (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){ 1 }, sizeof(int));
#endif
    if (io_set_nonblocking(fd, e) < 0) {
        sftp_close(s);
        return NULL;
    }
    packet_add_u32(&s->out, 5);
    buf_add_char(&s->out, FXP_INIT);
    packet_add_u32(&s->out, SFTP_VERSION);
    return s;
}

int sftp_opens(struct sftp *s, struct err *e)
{
    return sftp_wait_beside(&s, 1, NULL, 0, 0, e) < 0 ? -1 : s->is_greeted;
}

struct sftp *sftp_open(int fd, struct err *e)
{
    struct sftp *s = sftp_open_later(fd, e);

    while (s != NULL && !s->is_greeted)
        if (sftp_wait(s, e) < 0) {
            sftp_close(s);
            s = NULL;
        }
    return s;
}

void sftp_close(struct sftp *s)
{
    if (s == NULL)
        return;
    sftp_break(s, ERR_UNREACHABLE, "the connection for files was closed");
    close(s->fd);
    buf_free(&s->out);
    buf_free(&s->in);
    free(s->requests);
    free(s);
}

bool sftp_can(const struct sftp *s, enum sftp_extension what)
{
    return (s->can & (unsigned)what) != 0;
}

bool sftp_is_broken(const struct sftp *s)
{
    return s->is_broken;
}
