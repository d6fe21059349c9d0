/* SPDX-License-Identifier: MIT */
/* user_inotify.c - tests that a user's inotify descriptors are not taken from root */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/io.h"
#include "tests/unit/skip.h"
#include "worker/node/user_inotify.h"

/* Nobody has this uid, so that it has no instances yet. */
enum { STRANGER = 1987654, FD_MAX = 16 * 1024 };

static long most_instances(void)
{
    struct buf text = { 0 };
    long most = 0;

    if (io_read_file("/proc/sys/fs/inotify/max_user_instances", 64, &text, NULL) == 0)
        most = strtol(buf_text(&text), NULL, 10);
    buf_free(&text);
    return most;
}

static void our_own_is_opened(void **state)
{
    int fd = user_inotify_open(geteuid());

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    close(fd);
}

static void what_a_user_has_is_not_roots(void **state)
{
    const struct rlimit many = { FD_MAX, FD_MAX };
    long most = most_instances(), n = 0;
    int *fds, own;

    (void)state;
    if (geteuid() != 0)
        skip_because("takes root");
    if (most <= 0 || most > FD_MAX / 2 || setrlimit(RLIMIT_NOFILE, &many) < 0)
        skip_because("this machine has no limit of inotify instances that can be reached");
    fds = calloc((size_t)most, sizeof *fds);
    assert_non_null(fds);
    while (n < most && (fds[n] = user_inotify_open(STRANGER)) >= 0)
        n++;
    assert_int_equal(n, most);
    assert_int_equal(user_inotify_open(STRANGER), -1);
    assert_int_equal(errno, EMFILE);
    assert_int_equal(geteuid(), 0);
    own = inotify_init1(IN_CLOEXEC);
    assert_true(own >= 0);
    close(own);
    while (n > 0)
        close(fds[--n]);
    free(fds);
}

static void others_are_for_root_alone(void **state)
{
    (void)state;
    if (geteuid() == 0)
        assert_int_equal(seteuid(STRANGER), 0);
    assert_true(user_inotify_open(0) < 0 || getuid() == 0);
    assert_true(user_inotify_open(STRANGER + 1) < 0);
    assert_int_equal(errno, EPERM);
    assert_true(geteuid() == getuid() || seteuid(getuid()) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_is_opened),
        cmocka_unit_test(what_a_user_has_is_not_roots),
        cmocka_unit_test(others_are_for_root_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
