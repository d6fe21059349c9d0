/* SPDX-License-Identifier: MIT */
/* subscription.c - changes of sweeps, pushed by the server */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "client/session/subscription.h"
#include "client/term/interrupt.h"

static int ask_for_changes(struct subscription *s, bool *lost, struct err *e)
{
    for (size_t i = 0; i < s->n; i++)
        if (rpc_send(s->rpc, MSG_SUBSCRIBE, NULL, &s->requests[i], lost, e) < 0)
            return -1;
    return 0;
}

/* Subscribes again over a new connection, from the last cursors. */
static int ask_again(struct subscription *s, struct err *e)
{
    bool lost = true;

    while (lost) {
        if (rpc_reopen(s->rpc, e) < 0)
            return -1;
        if (ask_for_changes(s, &lost, e) == 0)
            return 0;
    }
    return -1;
}

int subscription_begin(struct subscription *s, struct rpc *rpc, const struct msg_subscribe *what,
                       struct err *e)
{
    return subscription_begin_all(s, rpc, what, 1, e);
}

int subscription_begin_all(struct subscription *s, struct rpc *rpc,
                           const struct msg_subscribe *what, size_t n, struct err *e)
{
    bool lost = false, is_own = rpc->interrupt_fd < 0;
    int fd = is_own ? interrupt_open(e) : rpc->interrupt_fd;

    if (fd < 0)
        return -1;
    *s = (struct subscription){ .rpc = rpc,
                                .requests = mem_copy(what, n * sizeof *what),
                                .n = n,
                                .interrupt_fd = fd,
                                .owns_interrupt = is_own,
                                .other_fd = -1 };
    rpc->interrupt_fd = s->interrupt_fd;
    rpc->patience_ms = SUBSCRIPTION_PATIENCE_MS;
    if (ask_for_changes(s, &lost, e) == 0 || (lost && ask_again(s, e) == 0))
        return 0;
    subscription_end(s);
    return -1;
}

void subscription_end(struct subscription *s)
{
    if (s->owns_interrupt) {
        interrupt_close(s->interrupt_fd);
        s->rpc->interrupt_fd = -1;
    }
    free(s->requests);
    s->rpc->patience_ms = RPC_PATIENCE_MS;
}

static bool is_readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 0) > 0;
}

/* Takes the next message: EVENT_CHANGES, or EVENT_TIMEOUT when no message is whole yet or the
 * connection was made anew. */
static enum event take_message(struct subscription *s, struct msg_changes *changes, struct err *e)
{
    struct err why = { 0 };
    struct envelope m;
    int got = wire_poll(&s->rpc->wire, &m, &why);

    if (got == 2)
        return EVENT_TIMEOUT;
    if (got == 0 || (got < 0 && why.kind == ERR_UNREACHABLE)) {
        if (ask_again(s, e) == 0)
            return EVENT_TIMEOUT;
        return is_readable(s->interrupt_fd) ? EVENT_INTERRUPT : EVENT_ERROR;
    }
    if (got < 0) {
        err_set(e, why.kind, "%s", why.text);
        return EVENT_ERROR;
    }
    if (rpc_read(s->rpc, &m, MSG_CHANGES, changes, e) < 0)
        return EVENT_ERROR;
    for (size_t i = 0; i < s->n; i++)
        if (s->requests[i].sweep == changes->sweep.sweep)
            s->requests[i].cursor = changes->cursor;
    return EVENT_CHANGES;
}

enum event subscription_wait(struct subscription *s, int timeout_ms, struct msg_changes *changes,
                             struct err *e)
{
    struct pollfd fds[] = { { .fd = s->rpc->wire.fd, .events = POLLIN },
                            { .fd = s->other_fd, .events = POLLIN },
                            { .fd = s->interrupt_fd, .events = POLLIN } };
    int n;

    if (wire_is_ready(&s->rpc->wire))
        return take_message(s, changes, e);
    n = poll(fds, 3, timeout_ms);
    if (n < 0 && errno != EINTR)
        return (enum event)err_sys(e, "poll");
    if (fds[2].revents != 0 || (n < 0 && is_readable(s->interrupt_fd)))
        return EVENT_INTERRUPT;
    if (n <= 0)
        return EVENT_TIMEOUT;
    return fds[0].revents != 0 ? take_message(s, changes, e) : EVENT_OTHER;
}
