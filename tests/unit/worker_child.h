/* SPDX-License-Identifier: MIT */
/*
 * worker_child.h - plays the agent that starts a child process and talks to it
 *
 * Errors fail the test.
 */
#ifndef LUDWIG_TESTS_UNIT_WORKER_CHILD_H
#define LUDWIG_TESTS_UNIT_WORKER_CHILD_H

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/base/units.h"
#include "tests/unit/worker_site.h"
#include "worker/base/child_start.h"

struct agent {
    struct wire wire;
    pid_t pid;
};

enum { CHILD_LONGEST_MS = 60 * 1000 }; /* longest wait for the child */

/* In the child: moves these descriptors (-1: none) to where a child expects them, and closes all
 * others from 3 to 99. */
static inline void agent_hand_over(int channel_fd, int lock_fd, int listen_fd)
{
    const int from[] = { channel_fd, lock_fd, listen_fd };
    const int to[] = { CHILD_CHANNEL_FD, CHILD_LOCK_FD, CHILD_LISTEN_FD };
    int copies[3];

    for (int i = 0; i < 3; i++)
        copies[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD, 20);
    for (int fd = CHILD_CHANNEL_FD; fd < 20; fd++)
        close(fd);
    for (int i = 0; i < 3; i++)
        if (copies[i] >= 0)
            dup2(copies[i], to[i]);
    for (int fd = 20; fd < 100; fd++)
        close(fd);
}

/* Starts a child that calls main_of with these arguments.  lock_fd, listen_fd: -1 for none. */
static inline struct agent agent_start(int (*main_of)(int, char **), int argc, char **argv,
                                       int lock_fd, int listen_fd)
{
    struct agent ag;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ag.pid = fork();
    assert_true(ag.pid >= 0);
    if (ag.pid == 0) {
        agent_hand_over(pair[1], lock_fd, listen_fd);
        _exit(main_of(argc, argv));
    }
    close(pair[1]);
    wire_init(&ag.wire, pair[0], &orders);
    return ag;
}

static inline void agent_tell(struct agent *ag, int type, const void *body)
{
    struct err e = { 0 };

    if (wire_send(&ag->wire, type, 0, NULL, body, &e) < 0)
        fail_msg("%s", e.text);
}

/* Waits for the next note, which must have this type.  Its strings are valid until the next one. */
static inline void wire_hear(struct wire *w, int type, void *body)
{
    struct pollfd p = { w->fd, POLLIN, 0 };
    struct envelope m;
    struct err e = { 0 };
    int rc;

    do {
        if (!wire_is_ready(w) && poll(&p, 1, CHILD_LONGEST_MS) <= 0)
            fail_msg("no %s came", orders.messages[type].name);
        rc = wire_poll(w, &m, &e);
    } while (rc == 2);
    if (rc != 1)
        fail_msg("the child is gone: %s", e.text);
    assert_string_equal(orders.messages[m.type].name, orders.messages[type].name);
    if (message_body(&orders, &m, w->arena, body, &e) < 0)
        fail_msg("%s", e.text);
}

static inline void agent_hear(struct agent *ag, int type, void *body)
{
    wire_hear(&ag->wire, type, body);
}

/* Waits until the child has ended by itself; returns its wait status. */
static inline int agent_wait(struct agent *ag)
{
    int64_t until_ms = units_monotonic_ms() + CHILD_LONGEST_MS;
    int status;

    while (waitpid(ag->pid, &status, WNOHANG) == 0) {
        assert_true(units_monotonic_ms() < until_ms);
        (void)poll(NULL, 0, 5);
    }
    return status;
}

/* Closes the channel, upon which the child must end; returns its wait status. */
static inline int agent_leave(struct agent *ag)
{
    wire_close(&ag->wire);
    return agent_wait(ag);
}

#endif
