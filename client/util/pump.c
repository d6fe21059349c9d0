/* SPDX-License-Identifier: MIT */
/* pump.c - copies between a socket and a pair of descriptors, both ways at once */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/util/pump.h"
#include "common/base/io.h"

enum {
    PIECE_BYTES = 256 * 1024,
    FAREWELL_MS = 5000 /* to pass on the input after the output broke */
};

/* One direction. */
struct flow {
    int from, to;
    struct buf held; /* read and not written yet */
    bool has_ended;  /* nothing more will be read */
    bool is_done;    /* all of it was written, or cannot be written any more */
    struct err why;  /* why the direction broke; kind ERR_NONE: it did not */
};

static bool is_passing(int number)
{
    return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
}

static struct pollfd awaited(const struct flow *f)
{
    if (f->is_done)
        return (struct pollfd){ .fd = -1 };
    if (f->held.n > 0)
        return (struct pollfd){ .fd = f->to, .events = POLLOUT };
    return (struct pollfd){ .fd = f->from, .events = POLLIN };
}

/* Writes the held bytes, or else reads some and writes them at once.  Tries nothing before poll(2)
 * says that the descriptor is ready, as a terminal's is blocking. */
static void step_flow(struct flow *f, const struct pollfd *p)
{
    ssize_t n;

    if (p->revents == 0)
        return;
    if (f->held.n == 0) {
        n = read(f->from, buf_reserve(&f->held, PIECE_BYTES), PIECE_BYTES);
        if (n > 0)
            buf_added(&f->held, (size_t)n);
        f->has_ended = n == 0 || (n < 0 && !is_passing(errno));
        if (n < 0 && f->has_ended)
            err_set(&f->why, ERR_UNREACHABLE, "the connection broke: %s", strerror(errno));
    }
    n = f->held.n == 0 ? 0 : write(f->to, f->held.bytes, f->held.n);
    if (n > 0)
        buf_drop_front(&f->held, (size_t)n);
    if (n < 0 && !is_passing(errno)) {
        if (f->why.kind == ERR_NONE)
            err_set(&f->why, ERR_UNREACHABLE, "the connection broke: %s", strerror(errno));
        /* The other direction goes on. */
        buf_clear(&f->held);
        f->has_ended = true;
    }
    f->is_done = f->has_ended && f->held.n == 0;
}

static int wait_for(struct pollfd *fds, nfds_t n, int timeout_ms, struct err *e)
{
    int rc = poll(fds, n, timeout_ms);

    if (rc >= 0)
        return rc;
    memset(fds, 0, n * sizeof *fds);
    return errno == EINTR ? (int)n : err_sys(e, "poll");
}

int pump_run(const struct pump_ends *ends, struct err *e)
{
    const int own[] = { ends->in_fd, ends->out_fd, ends->socket_fd };
    struct flow out = { .from = ends->in_fd, .to = ends->socket_fd };
    struct flow back = { .from = ends->socket_fd, .to = ends->out_fd };
    bool was_told = false;
    int result = 0;

    buf_add(&out.held, ends->first.data, ends->first.n);
    for (int i = 0; i < 3 && result == 0; i++)
        result = isatty(own[i]) ? 0 : io_set_nonblocking(own[i], e);
    /* Only the peer ends the connection; until then it may send, even if it no longer reads. */
    while (result == 0 && !back.is_done) {
        struct pollfd fds[] = { awaited(&out), awaited(&back) };

        if (wait_for(fds, 2, -1, e) < 0) {
            result = -1;
            break;
        }
        step_flow(&out, &fds[0]);
        step_flow(&back, &fds[1]);
        if (out.is_done && !was_told) {
            was_told = true;
            (void)shutdown(out.to, SHUT_WR); /* on a broken socket the next read fails */
        }
    }
    if (result == 0 && back.why.kind != ERR_NONE) {
        /* The output broke, but input that has come already is passed on. */
        while (!out.is_done) {
            struct pollfd p = awaited(&out);

            if (wait_for(&p, 1, out.held.n > 0 ? FAREWELL_MS : 0, NULL) <= 0)
                break;
            step_flow(&out, &p);
        }
        result = err_set(e, back.why.kind, "%s", back.why.text);
    }
    buf_free(&out.held);
    buf_free(&back.held);
    return result;
}
