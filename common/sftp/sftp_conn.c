/* SPDX-License-Identifier: MIT */
/* sftp_conn.c - requests to an SFTP server and its replies */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/sftp/sftp_conn.h"

enum {
    LENGTH_BYTES = 4,
    READ_BYTES = 64 * 1024,
    PUSH_BYTES = 32 * 1024,
    DROP_BYTES = 1024 * 1024, /* so much that was sent is worth moving the rest */
    SLOT_BITS = 16
};

#define NO_SLOT UINT32_MAX

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS: see SO_NOSIGPIPE */
#endif

/* --- requests ------------------------------------------------------------------ */

static uint32_t take_slot(struct sftp *s)
{
    uint32_t slot = s->first_free;

    if (slot != NO_SLOT) {
        s->first_free = s->requests[slot].next_free;
        return slot;
    }
    assert(s->n_requests < (size_t)1 << SLOT_BITS);
    mem_grow((void **)&s->requests, &s->requests_capacity, s->n_requests, sizeof *s->requests);
    slot = (uint32_t)s->n_requests++;
    s->requests[slot] = (struct sftp_request){ .id = slot };
    return slot;
}

/* The slot's next request has another id, so that no reply counts twice. */
static void free_slot(struct sftp *s, uint32_t slot)
{
    struct sftp_request *r = &s->requests[slot];

    r->is_waiting = false;
    r->id += UINT32_C(1) << SLOT_BITS;
    r->next_free = s->first_free;
    s->first_free = slot;
    s->n_waiting--;
}

struct buf *sftp_begin(struct sftp *s, int type, const struct sftp_wait *wait)
{
    uint32_t slot = take_slot(s);
    struct sftp_request *r = &s->requests[slot];

    r->wait = *wait;
    r->is_waiting = true;
    s->n_waiting++;
    s->request_at = s->out.n;
    packet_add_u32(&s->out, 0);
    buf_add_char(&s->out, (char)type);
    packet_add_u32(&s->out, r->id);
    return &s->out;
}

struct buf *sftp_begin_extended(struct sftp *s, const char *name, const struct sftp_wait *wait)
{
    struct buf *out = sftp_begin(s, FXP_EXTENDED, wait);

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

/* --- the end of a connection --------------------------------------------------- */

int sftp_check(const struct sftp *s, struct err *e)
{
    return s->is_broken ? err_set(e, s->why.kind, "%s", s->why.text) : 0;
}

static void call(struct sftp *s, uint32_t slot, struct sftp_reply *reply)
{
    struct sftp_wait wait = s->requests[slot].wait;

    reply->tag = wait.tag;
    free_slot(s, slot);
    s->depth++;
    wait.on_reply(wait.context, reply);
    s->depth--;
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
    for (uint32_t i = 0; i < s->n_requests; i++)
        if (s->requests[i].is_waiting)
            call(s, i, &(struct sftp_reply){ 0 });
}

/* --- replies ------------------------------------------------------------------- */

static void read_status(struct sftp_reply *r)
{
    r->status = packet_u32(&r->body);
    /* Early servers send the number alone. */
    if (r->body.left > 0)
        r->text = packet_string(&r->body);
}

/* Whoever takes them later finds them sound. */
static bool are_names_sound(struct packet names)
{
    uint32_t n = packet_u32(&names);
    struct sftp_attrs attrs;

    for (uint32_t i = 0; i < n && !names.bad; i++)
        packet_name(&names, &attrs);
    return !names.bad;
}

static bool are_attrs_sound(struct packet attrs)
{
    packet_attrs(&attrs);
    return !attrs.bad;
}

static bool is_reply_sound(struct sftp_reply *r, const struct sftp_wait *wait)
{
    switch (r->type) {
    case FXP_STATUS:
        read_status(r);
        return !r->body.bad && (r->status != FX_OK || wait->type == FXP_STATUS);
    case FXP_HANDLE:
        r->text = packet_string(&r->body);
        return !r->body.bad && r->text.n > 0 && r->text.n <= SFTP_HANDLE_MAX_BYTES;
    case FXP_DATA:
        r->text = packet_string(&r->body);
        return !r->body.bad && r->text.n > 0 && r->text.n <= wait->data_max_bytes;
    case FXP_NAME: return are_names_sound(r->body);
    case FXP_ATTRS: return are_attrs_sound(r->body);
    }
    return true;
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
    else if (type != FXP_STATUS && type != r->wait.type)
        sftp_break(s, ERR_PROTOCOL, "the SFTP server answers with message %d, where %d is due",
                   type, r->wait.type);
    else if (!is_reply_sound(&reply, &r->wait))
        sftp_break(s, ERR_PROTOCOL, "the SFTP server sent a damaged message (%d)", type);
    else
        call(s, slot, &reply);
}

/* Servers whose shell prints something at log-in send that first. */
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

/* 1 with a packet, 0 when there is no whole one, -1 when the connection is broken. */
static int next_packet(struct sftp *s, struct packet *p)
{
    struct packet in = { s->in.bytes + s->in_at, s->in.n - s->in_at, false };
    uint32_t n;

    if (in.left < LENGTH_BYTES)
        return 0;
    n = packet_u32(&in);
    if (n > SFTP_PACKET_MAX_BYTES) {
        refuse_length(s, n);
        return -1;
    }
    if (in.left < n)
        return 0;
    *p = (struct packet){ in.at, n, false };
    s->in_at += LENGTH_BYTES + n;
    return 1;
}

static void take_replies(struct sftp *s)
{
    struct packet p;

    while (!s->is_broken && next_packet(s, &p) == 1)
        if (s->is_greeted)
            take_reply(s, p);
        else
            sftp_take_greeting(s, p);
    if (s->in.bytes == NULL)
        return;
    buf_drop_front(&s->in, s->in_at);
    s->in_at = 0;
}

/* --- bytes --------------------------------------------------------------------- */

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

static ssize_t send_some(int fd, const void *bytes, size_t n)
{
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

    return sent < 0 && errno == ENOTSOCK ? write(fd, bytes, n) : sent;
}

static void drop_sent(struct sftp *s)
{
    if (s->out_at < s->out.n && s->out_at < DROP_BYTES)
        return;
    buf_drop_front(&s->out, s->out_at);
    s->out_at = 0;
}

static void transmit(struct sftp *s)
{
    while (s->out_at < s->out.n) {
        ssize_t n = send_some(s->fd, s->out.bytes + s->out_at, s->out.n - s->out_at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            lose(s, strerror(errno));
        if (n < 0)
            return;
        s->out_at += (size_t)n;
    }
    drop_sent(s);
}

void sftp_push(struct sftp *s)
{
    if (!s->is_broken && s->out.n - s->out_at >= PUSH_BYTES)
        transmit(s);
}

/* What to wait for. */
static struct pollfd look(struct sftp *s)
{
    assert(s->depth == 0);
    if (!s->is_broken)
        transmit(s);
    return (struct pollfd){ .fd = s->fd,
                            .events = s->out_at < s->out.n ? POLLIN | POLLOUT : POLLIN };
}

int sftp_turn_beside(struct sftp *const *all, size_t n, const struct pollfd *others,
                     size_t n_others, int timeout_ms, struct err *e)
{
    struct pollfd fds[SFTP_ANY_MAX + SFTP_OTHERS_MAX];

    assert(n <= SFTP_ANY_MAX && n_others <= SFTP_OTHERS_MAX);
    for (size_t i = 0; i < n_others; i++)
        fds[n + i] = others[i];
    for (size_t i = 0; i < n; i++) {
        fds[i] = look(all[i]);
        if (all[i]->is_broken)
            return sftp_check(all[i], e);
    }
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

int sftp_turn_any(struct sftp *const *all, size_t n, int timeout_ms, struct err *e)
{
    return sftp_turn_beside(all, n, NULL, 0, timeout_ms, e);
}

int sftp_turn(struct sftp *s, struct err *e)
{
    return sftp_turn_any(&s, 1, -1, e);
}
