/* SPDX-License-Identifier: MIT */
/* route_child.c - tests of what a mux lets a child do over SFTP */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/connect/route_child.h"

enum { WAIT_MS = 60000 };

static const char *const path = "/.ludwig/server.sock";

/* Returns the end of an SFTP server that says nothing. */
static int begin(struct route_child *c)
{
    const struct list paths = { (void *)(uintptr_t)&path, 1 };
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(route_child_explain(c, ends[0], &paths, NULL), 0);
    close(ends[0]);
    return ends[1];
}

static int status_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void one_that_is_given_up_is_killed(void **state)
{
    struct route_child c;
    int server = begin(&c), status;
    pid_t pid = c.pid;

    (void)state;
    assert_int_equal(route_child_step(&c), 0);
    alarm(WAIT_MS / 1000); /* rather than for ever */
    route_child_close(&c);
    status = status_of(pid);
    alarm(0);
    assert_true(WIFSIGNALED(status));
    close(server);
}

static void one_that_has_spoken_is_left_alone(void **state)
{
    struct route_child c;
    int server = begin(&c);
    struct pollfd p = { .fd = c.verdict_fd, .events = POLLIN };
    pid_t pid = c.pid;
    int rc;

    (void)state;
    close(server); /* which it has something to say about */
    do
        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    while ((rc = route_child_step(&c)) == 0);
    assert_int_equal(rc, -1);
    assert_string_not_equal(route_child_words(&c), "it ended without a word");
    assert_int_equal(c.pid, 0);
    route_child_close(&c);
    assert_true(WIFEXITED(status_of(pid)));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_given_up_is_killed),
        cmocka_unit_test(one_that_has_spoken_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
