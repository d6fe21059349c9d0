/* SPDX-License-Identifier: MIT */
/* ssh_pump.c - pumps bytes between a channel of SSH and a descriptor */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/ssh/ssh_pump.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum {
    PACKET_BYTES = 32758, /* what fits into one packet of sshd's */
    PIECE_BYTES = 8 * PACKET_BYTES,
    SOCKET_BYTES = 1024 * 1024,
    HEARD_MAX_BYTES = 256 * 1024,
    COMPLAINTS_MAX_BYTES = 4096
};

struct ssh_pump {
    struct ssh *s;
    struct ssh_chan *chan;
    int fd;                /* our end; -1: not connected, or gone */
    struct buf heard;      /* from the other side: before it is connected, or did not fit */
    struct buf unsent;     /* for the other side */
    size_t kept;           /* bytes that libssh keeps for us */
    struct buf complaints; /* on standard error */
    int exit_status;
    bool is_connected;
    bool is_granted;       /* by sshd */
    bool has_remote_ended; /* no more from the other side */
    bool has_local_ended;  /* no more from our user */
    bool has_passed_on_remote_end;
    bool has_passed_on_local_end;
    bool is_broken; /* one side is gone */
};

/* ---- from the other side ---- */

/* To our user, as much as fits. */
static size_t deliver(struct ssh_pump *l, struct bytes b)
{
    size_t done = 0;

    while (done < b.n && !l->is_broken) {
        ssize_t n = send(l->fd, b.data + done, b.n - done, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        else if (n == 0 || errno != EINTR)
            l->is_broken = true;
    }
    return l->is_broken ? b.n : done;
}

static void keep_complaint(struct ssh_pump *l, struct bytes b)
{
    buf_add(&l->complaints, b.data, b.n);
    if (l->complaints.n > COMPLAINTS_MAX_BYTES)
        buf_drop_front(&l->complaints, l->complaints.n - COMPLAINTS_MAX_BYTES);
}

static size_t on_bytes(void *context, struct bytes b, bool is_stderr)
{
    struct ssh_pump *l = context;
    size_t taken = 0;

    if (is_stderr) {
        keep_complaint(l, b);
        return b.n;
    }
    if (!l->is_connected && l->heard.n < HEARD_MAX_BYTES) {
        buf_add(&l->heard, b.data, b.n);
        taken = b.n;
    } else if (l->is_connected && l->heard.n == 0) {
        taken = deliver(l, b);
    }
    l->kept = b.n - taken;
    return taken;
}

static void on_eof(void *context)
{
    struct ssh_pump *l = context;

    l->has_remote_ended = true;
}

static void on_status(void *context, int status)
{
    struct ssh_pump *l = context;

    l->exit_status = status;
}

/* What was heard and not delivered, then what libssh has kept. */
static bool deliver_kept(struct ssh_pump *l)
{
    size_t sent, moved = 0;

    while (!l->is_broken && (l->heard.n > 0 || l->kept > 0)) {
        if (l->heard.n == 0) {
            size_t n = ssh_chan_take(l->chan, buf_reserve(&l->heard, PIECE_BYTES), PIECE_BYTES);

            buf_added(&l->heard, n);
            l->kept = n < l->kept && n > 0 ? l->kept - n : 0;
        }
        sent = deliver(l, buf_bytes(&l->heard));
        buf_drop_front(&l->heard, sent);
        moved += sent;
        if (sent == 0)
            break;
    }
    return moved > 0;
}

static void pass_on_remote_end(struct ssh_pump *l)
{
    if (!l->has_remote_ended || l->has_passed_on_remote_end || l->heard.n > 0 || l->kept > 0)
        return;
    l->has_passed_on_remote_end = true;
    (void)shutdown(l->fd, SHUT_WR); /* our user may be gone already */
}

/* ---- to the other side ---- */

static bool send_unsent(struct ssh_pump *l)
{
    ssize_t n;

    if (l->unsent.n == 0)
        return false;
    n = ssh_chan_write(l->chan, buf_bytes(&l->unsent), NULL);
    if (n < 0)
        l->is_broken = true;
    else
        buf_drop_front(&l->unsent, (size_t)n);
    return n > 0;
}

static bool may_read(const struct ssh_pump *l)
{
    return !l->has_local_ended && l->unsent.n == 0 && ssh_may_write(l->s) &&
           ssh_chan_window(l->chan) > 0;
}

/* One piece; it is as large as sshd has room for. */
static bool fetch(struct ssh_pump *l)
{
    size_t window = ssh_chan_window(l->chan);
    size_t most = window < PIECE_BYTES ? window : PIECE_BYTES;
    ssize_t n = recv(l->fd, buf_reserve(&l->unsent, most), most, MSG_DONTWAIT);

    if (n > 0)
        buf_added(&l->unsent, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        l->has_local_ended = true;
    return n > 0;
}

static void pass_on_local_end(struct ssh_pump *l)
{
    if (!l->has_local_ended || l->has_passed_on_local_end || l->unsent.n > 0)
        return;
    l->has_passed_on_local_end = true;
    ssh_chan_end(l->chan);
}

/* ---- a lane's life ---- */

struct ssh_pump *ssh_pump_open(struct ssh *s, enum ssh_target target, const char *text,
                               struct err *e)
{
    static const struct ssh_channel_events events = { on_bytes, on_eof, on_status, on_eof };
    struct ssh_pump *l = mem_alloc(sizeof *l);

    l->s = s;
    l->fd = -1;
    l->exit_status = -1;
    l->chan = ssh_chan_open(s, target, text, &events, l, e);
    if (l->chan != NULL)
        return l;
    free(l);
    return NULL;
}

int ssh_pump_step(struct ssh_pump *l, struct err *e)
{
    int rc = ssh_chan_step(l->chan, e);

    l->is_granted = rc > 0;
    return rc;
}

bool ssh_pump_is_asked(const struct ssh_pump *l)
{
    return ssh_chan_is_asked(l->chan);
}

void ssh_pump_close(struct ssh_pump *l)
{
    if (l == NULL)
        return;
    ssh_chan_close(l->chan);
    if (l->fd >= 0)
        close(l->fd);
    buf_free(&l->heard);
    buf_free(&l->unsent);
    buf_free(&l->complaints);
    free(l);
}

int ssh_pump_say(struct ssh_pump *l, struct bytes bytes, struct err *e)
{
    buf_add(&l->unsent, bytes.data, bytes.n);
    (void)send_unsent(l);
    return l->is_broken ? err_set(e, ERR_UNREACHABLE, "the channel is closed") : 0;
}

struct bytes ssh_pump_heard(const struct ssh_pump *l)
{
    return buf_bytes(&l->heard);
}

void ssh_pump_forget(struct ssh_pump *l, size_t n)
{
    buf_drop_front(&l->heard, n);
}

const char *ssh_pump_complaints(const struct ssh_pump *l)
{
    return buf_text(&l->complaints);
}

bool ssh_pump_has_ended(const struct ssh_pump *l)
{
    return l->has_remote_ended || l->is_broken || ssh_chan_is_closed(l->chan);
}

int ssh_pump_exit_status(const struct ssh_pump *l)
{
    return l->exit_status;
}

static void enlarge(int fd)
{
    int bytes = SOCKET_BYTES;

    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes,
                     sizeof bytes); /* it is faster, that is all */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

int ssh_pump_connect(struct ssh_pump *l, struct err *e)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return err_sys(e, "socket pair");
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        enlarge(ends[i]);
    }
    l->fd = ends[0];
    l->is_connected = true;
    return ends[1];
}

/* While sshd has no room, our user's end is not looked at: it would be told of again and again. */
struct pollfd ssh_pump_poll(const struct ssh_pump *l)
{
    struct pollfd p = { .fd = l->fd };

    if (l->fd < 0 || l->is_broken)
        return (struct pollfd){ .fd = -1 };
    if (may_read(l))
        p.events |= POLLIN;
    if (l->heard.n > 0 || l->kept > 0)
        p.events |= POLLOUT;
    if (p.events == 0 && !l->has_local_ended)
        p.fd = -1;
    return p;
}

bool ssh_pump_pump(struct ssh_pump *l, short revents)
{
    bool moved = false;

    if (l->fd < 0)
        return false;
    if (!l->is_granted && ssh_pump_step(l, NULL) < 0)
        l->is_broken = true;
    if (l->has_local_ended && (revents & (POLLHUP | POLLERR)) != 0)
        l->is_broken = true;
    if (ssh_may_write(l->s))
        moved |= send_unsent(l);
    if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 && may_read(l) && fetch(l))
        moved |= send_unsent(l);
    moved |= deliver_kept(l);
    pass_on_local_end(l);
    pass_on_remote_end(l);
    return moved;
}

bool ssh_pump_is_over(const struct ssh_pump *l)
{
    bool has_delivered = l->heard.n == 0 && l->kept == 0;

    if (l->is_broken)
        return true;
    if (ssh_chan_is_closed(l->chan))
        return has_delivered && l->is_connected;
    return l->has_passed_on_local_end && l->has_passed_on_remote_end;
}
