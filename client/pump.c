/* SPDX-License-Identifier: MIT */
/* pump.c - copy between two pairs of descriptors, both ways at once */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/pump.h"
#include "common/io.h"

enum { PIECE_BYTES = 256 * 1024 };

/* One way. */
struct flow {
    int from, to;
    struct buf held; /* read and not written yet */
    bool has_ended;  /* nothing more will be read */
    bool is_done;    /* and all of it was written */
};

static bool is_passing(int number)
{
    return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
}

static int fill(struct flow *f, struct err *e)
{
    ssize_t n = read(f->from, buf_reserve(&f->held, PIECE_BYTES), PIECE_BYTES);

    if (n > 0)
        buf_added(&f->held, (size_t)n);
    else if (n == 0)
        f->has_ended = true;
    else if (!is_passing(errno))
        return err_set(e, ERR_UNREACHABLE, "the connection broke: %s", strerror(errno));
    return 0;
}

static int drain(struct flow *f, struct err *e)
{
    ssize_t n = f->held.n == 0 ? 0 : write(f->to, f->held.bytes, f->held.n);

    if (n < 0 && !is_passing(errno))
        return err_set(e, ERR_UNREACHABLE, "the connection broke: %s", strerror(errno));
    if (n > 0)
        buf_drop_front(&f->held, (size_t)n);
    f->is_done = f->has_ended && f->held.n == 0;
    return 0;
}

static struct pollfd awaited(const struct flow *f)
{
    if (f->is_done)
        return (struct pollfd){ .fd = -1 };
    if (f->held.n > 0)
        return (struct pollfd){ .fd = f->to, .events = POLLOUT };
    return (struct pollfd){ .fd = f->from, .events = POLLIN };
}

/* Before the descriptor says it is ready, nothing is tried: it may be one that waits. */
static int step(struct flow *f, const struct pollfd *p, struct err *e)
{
    if (p->revents == 0)
        return 0;
    if (f->held.n == 0 && fill(f, e) < 0)
        return -1;
    return drain(f, e);
}

static int pump(struct flow *out, struct flow *back, struct err *e)
{
    bool was_told = false;

    while (!back->is_done) {
        struct pollfd fds[] = { awaited(out), awaited(back) };

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return err_sys(e, "poll");
        if (step(out, &fds[0], e) < 0 || step(back, &fds[1], e) < 0)
            return -1;
        if (out->is_done && !was_told) {
            was_told = true;
            (void)shutdown(out->to, SHUT_WR); /* if it is closed, we are about to hear of that */
        }
    }
    return 0;
}

static int set_nonblocking(int fd, struct err *e)
{
    return isatty(fd) ? 0 : io_set_nonblocking(fd, e);
}

int pump_run(const struct pump_ends *ends, struct err *e)
{
    struct flow out = { .from = ends->in_fd, .to = ends->socket_fd };
    struct flow back = { .from = ends->socket_fd, .to = ends->out_fd };
    int result = -1;

    buf_add(&out.held, ends->first.data, ends->first.n);
    if (set_nonblocking(ends->in_fd, e) == 0 && set_nonblocking(ends->out_fd, e) == 0 &&
        set_nonblocking(ends->socket_fd, e) == 0)
        result = pump(&out, &back, e);
    buf_free(&out.held);
    buf_free(&back.held);
    return result;
}
