/* SPDX-License-Identifier: MIT */
/* ssh_pump.c - pumps bytes between a channel of an SSH session and a descriptor */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/proto/unixsocket.h"
#include "common/ssh/ssh_internal.h"
#include "common/ssh/ssh_pump.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum {
    OPEN_MAX_MS = 30 * 1000,
    PACKET_BYTES = 32758, /* fit into one packet of sshd's */
    PIECE_BYTES = 8 * PACKET_BYTES,
    SOCKET_BYTES = 1024 * 1024,
    HEARD_MAX_BYTES = 256 * 1024,
    COMPLAINTS_MAX_BYTES = 4096
};

enum stage { STAGE_CHANNEL, STAGE_REQUEST, STAGE_OPEN };

struct ssh_pump {
    struct ssh *s;
    ssh_channel channel;
    struct ssh_channel_callbacks_struct callbacks;
    enum ssh_target target;
    char *text;
    enum stage stage;
    bool is_requested; /* STAGE_REQUEST: the request is on its way */
    bool is_settled;   /* opened or refused */
    int64_t deadline_ms;

    int fd;                /* our end; -1: not connected, or gone */
    struct buf heard;      /* from the other side, before ssh_pump_connect or not taken by fd yet */
    struct buf unsent;     /* for the other side */
    size_t kept;           /* bytes that libssh keeps for this pump */
    struct buf complaints; /* from standard error */
    int exit_status;
    bool is_connected;
    bool is_closed;        /* the other side has closed the channel */
    bool has_remote_ended; /* the other side sends no more */
    bool has_local_ended;  /* the pump's user sends no more */
    bool has_passed_on_remote_end;
    bool has_passed_on_local_end;
    bool is_broken; /* one side is gone */
};

/* ---- from the other side ---- */

/* Writes as much to the pump's user as fits; gives that number, or all when the user is gone. */
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

/* Returns the number of bytes taken.  libssh keeps the rest, and passes it again with more. */
static int on_bytes(ssh_session session, ssh_channel channel, void *data, uint32_t n, int is_stderr,
                    void *userdata)
{
    struct ssh_pump *l = userdata;
    size_t taken = 0;

    (void)session, (void)channel;
    if (is_stderr) {
        buf_add(&l->complaints, data, n);
        if (l->complaints.n > COMPLAINTS_MAX_BYTES)
            buf_drop_front(&l->complaints, l->complaints.n - COMPLAINTS_MAX_BYTES);
        return (int)n;
    }
    if (!l->is_connected && l->heard.n < HEARD_MAX_BYTES) {
        buf_add(&l->heard, data, n);
        taken = n;
    } else if (l->is_connected && l->heard.n == 0) {
        taken = deliver(l, (struct bytes){ data, n });
    }
    l->kept = n - taken;
    return (int)taken;
}

static void on_eof(ssh_session session, ssh_channel channel, void *userdata)
{
    struct ssh_pump *l = userdata;

    (void)session, (void)channel;
    l->has_remote_ended = true;
}

static void on_close(ssh_session session, ssh_channel channel, void *userdata)
{
    struct ssh_pump *l = userdata;

    (void)session, (void)channel;
    l->is_closed = l->has_remote_ended = true;
}

static void on_status(ssh_session session, ssh_channel channel, int status, void *userdata)
{
    struct ssh_pump *l = userdata;

    (void)session, (void)channel;
    l->exit_status = status;
}

/* Delivers the bytes of heard, then those that libssh has kept. */
static void deliver_kept(struct ssh_pump *l)
{
    size_t sent;

    while (!l->is_broken && (l->heard.n > 0 || l->kept > 0)) {
        if (l->heard.n == 0) {
            void *to = buf_reserve(&l->heard, PIECE_BYTES);
            int got = ssh_channel_read_nonblocking(l->channel, to, PIECE_BYTES, 0);
            size_t n = got > 0 ? (size_t)got : 0;

            buf_added(&l->heard, n);
            l->kept = n < l->kept && n > 0 ? l->kept - n : 0;
        }
        sent = deliver(l, buf_bytes(&l->heard));
        buf_drop_front(&l->heard, sent);
        if (sent == 0)
            return;
    }
}

/* ---- to the other side ---- */

/* Sends what libssh takes: fewer bytes when the window is smaller, or during a new key exchange. */
static void send_unsent(struct ssh_pump *l)
{
    int n;

    if (l->unsent.n == 0)
        return;
    n = ssh_channel_write(l->channel, l->unsent.bytes, (uint32_t)l->unsent.n);
    if (n < 0)
        l->is_broken = true;
    else
        buf_drop_front(&l->unsent, (size_t)n);
}

static bool may_read(const struct ssh_pump *l)
{
    return !l->has_local_ended && l->unsent.n == 0 && ssh_may_write(l->s) &&
           ssh_channel_window_size(l->channel) > 0;
}

/* ---- opening ---- */

struct ssh_pump *ssh_pump_open(struct ssh *s, enum ssh_target target, const char *text,
                               struct err *e)
{
    struct ssh_pump *l = mem_alloc(sizeof *l);

    *l = (struct ssh_pump){ .s = s,
                            .target = target,
                            .text = mem_strdup(text),
                            .deadline_ms = units_monotonic_ms() + OPEN_MAX_MS,
                            .fd = -1,
                            .exit_status = -1 };
    l->callbacks = (struct ssh_channel_callbacks_struct){
        .userdata = l,
        .channel_data_function = on_bytes,
        .channel_eof_function = on_eof,
        .channel_close_function = on_close,
        .channel_exit_status_function = on_status,
    };
    ssh_callbacks_init(&l->callbacks);
    s->n_opening++;
    l->channel = ssh_channel_new(s->session);
    if (l->channel != NULL && ssh_set_channel_callbacks(l->channel, &l->callbacks) == SSH_OK)
        return l;
    err_set(e, ERR_FAILED, "libssh: no channel: %s", ssh_words(s));
    ssh_pump_close(l);
    return NULL;
}

/* "Channel opening failure: channel 43 error (1) administratively prohibited" */
static int refuse_open(const struct ssh_pump *l, struct err *e)
{
    const char *words = ssh_words(l->s), *number = strstr(words, "error (");
    bool is_forbidden = number != NULL && strtol(number + 7, NULL, 10) == 1;

    if (!ssh_is_connected(l->s->session))
        return err_set(e, ERR_UNREACHABLE, "the connection was lost: %s", words);
    /* OpenSSH answers so when a connection has MaxSessions sessions already. */
    if (!is_forbidden && (l->target == SSH_TO_COMMAND || l->target == SSH_TO_SUBSYSTEM))
        return err_set(
            e, ERR_UNREACHABLE,
            "sshd opens no further session (%s); is MaxSessions in its sshd_config too few (3 "
            "are enough)?",
            words);
    return err_set(e, is_forbidden ? ERR_DENIED : ERR_UNREACHABLE, "%s",
                   number != NULL && strchr(number, ')') != NULL ? strchr(number, ')') + 2 : words);
}

static int take_step(struct ssh_pump *l, struct err *e)
{
    bool is_command = l->target == SSH_TO_COMMAND;
    int rc;

    if (l->stage == STAGE_CHANNEL) {
        if (l->target == SSH_TO_PATH)
            rc = ssh_channel_open_forward_unix(l->channel, l->text, "localhost", 0);
        else if (l->target == SSH_TO_PORT)
            rc = ssh_channel_open_forward(l->channel, "localhost", atoi(l->text), "localhost", 0);
        else
            rc = ssh_channel_open_session(l->channel);
        if (rc == SSH_AGAIN)
            return 0;
        if (rc != SSH_OK)
            return refuse_open(l, e);
        l->stage = is_command || l->target == SSH_TO_SUBSYSTEM ? STAGE_REQUEST : STAGE_OPEN;
    }
    if (l->stage == STAGE_REQUEST) {
        l->is_requested = true;
        rc = is_command ? ssh_channel_request_exec(l->channel, l->text)
                        : ssh_channel_request_subsystem(l->channel, l->text);
        if (rc == SSH_AGAIN)
            return 0;
        if (rc != SSH_OK)
            return err_set(e, ERR_DENIED, "sshd refuses %s '%s'",
                           is_command ? "the command" : "the subsystem", l->text);
        l->stage = STAGE_OPEN;
    }
    return 1;
}

static void end_opening(struct ssh_pump *l)
{
    l->s->n_opening -= l->is_settled ? 0 : 1;
    l->is_settled = true;
}

int ssh_pump_step(struct ssh_pump *l, struct err *e)
{
    int rc = take_step(l, e);

    if (rc != 0)
        end_opening(l);
    if (rc == 0 && units_monotonic_ms() >= l->deadline_ms)
        return err_set(e, ERR_UNREACHABLE, "sshd did not answer within %d s", OPEN_MAX_MS / 1000);
    return rc;
}

bool ssh_pump_is_asked(const struct ssh_pump *l)
{
    return l->stage == STAGE_OPEN || l->is_requested;
}

void ssh_pump_close(struct ssh_pump *l)
{
    if (l == NULL)
        return;
    end_opening(l);
    if (l->channel != NULL) {
        ssh_remove_channel_callbacks(l->channel, &l->callbacks);
        ssh_channel_free(l->channel);
    }
    if (l->fd >= 0)
        close(l->fd);
    buf_free(&l->heard);
    buf_free(&l->unsent);
    buf_free(&l->complaints);
    free(l->text);
    free(l);
}

/* ---- before ssh_pump_connect ---- */

int ssh_pump_say(struct ssh_pump *l, struct bytes bytes, struct err *e)
{
    buf_add(&l->unsent, bytes.data, bytes.n);
    send_unsent(l);
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
    return l->has_remote_ended || l->is_broken;
}

bool ssh_pump_is_closed(const struct ssh_pump *l)
{
    return l->is_closed || l->is_broken;
}

int ssh_pump_exit_status(const struct ssh_pump *l)
{
    return l->exit_status;
}

/* ---- pumping ---- */

int ssh_pump_connect(struct ssh_pump *l, struct err *e)
{
    const int bytes = SOCKET_BYTES;
    int ends[2];

    if (unixsocket_pair(ends, e) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        /* Errors are ignored, as larger buffers are only faster. */
        (void)setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        (void)setsockopt(ends[i], SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    l->fd = ends[0];
    l->is_connected = true;
    return ends[1];
}

/* While sshd has no room, fd is not polled, as poll(2) would return at once again and again. */
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

void ssh_pump_pump(struct ssh_pump *l, short revents)
{
    if (l->fd < 0)
        return;
    if (l->stage != STAGE_OPEN && ssh_pump_step(l, NULL) < 0)
        l->is_broken = true;
    if (l->has_local_ended && (revents & (POLLHUP | POLLERR)) != 0)
        l->is_broken = true;
    if (ssh_may_write(l->s))
        send_unsent(l);
    if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 && may_read(l)) {
        /* Reads one piece, as large as sshd has room for. */
        size_t window = ssh_channel_window_size(l->channel);
        size_t most = window < PIECE_BYTES ? window : PIECE_BYTES;
        ssize_t n = recv(l->fd, buf_reserve(&l->unsent, most), most, MSG_DONTWAIT);

        if (n > 0)
            buf_added(&l->unsent, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            l->has_local_ended = true;
        send_unsent(l);
    }
    deliver_kept(l);
    if (l->has_local_ended && !l->has_passed_on_local_end && l->unsent.n == 0) {
        l->has_passed_on_local_end = true;
        (void)ssh_channel_send_eof(l->channel); /* fails only where it is not needed any more */
    }
    if (l->has_remote_ended && !l->has_passed_on_remote_end && l->heard.n == 0 && l->kept == 0) {
        l->has_passed_on_remote_end = true;
        (void)shutdown(l->fd, SHUT_WR); /* the pump's user may be gone already */
    }
}

bool ssh_pump_is_over(const struct ssh_pump *l)
{
    if (l->is_broken)
        return true;
    if (l->is_closed)
        return l->heard.n == 0 && l->kept == 0 && l->is_connected;
    return l->has_passed_on_local_end && l->has_passed_on_remote_end;
}
