/* SPDX-License-Identifier: MIT */
/* child.c - tests of programs that are started, and of what they write */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/util/child.h"

/* What poll(2) says instead of waiting, so often; 0: it waits. */
static int poll_errno;
static int n_polls_left;

int poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
    struct timespec at_most = { timeout / 1000, timeout % 1000 * 1000000L };

    if (n_polls_left > 0) {
        n_polls_left--;
        errno = poll_errno;
        return -1;
    }
    return ppoll(fds, nfds, timeout < 0 ? NULL : &at_most, NULL);
}

static void both_outputs_are_read_to_their_ends(void **state)
{
    static const char *const argv[] = {
        "sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; exit 7", NULL
    };
    struct buf out = { 0 }, errors = { 0 };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(child_capture_all(argv, &out, &errors, &e), 7);
    assert_int_equal(out.n, 300000);
    assert_int_equal(errors.n, 300000);
    buf_free(&out);
    buf_free(&errors);
}

static void a_signal_does_not_end_the_reading(void **state)
{
    static const char *const argv[] = { "echo", "said", NULL };
    struct buf out = { 0 }, errors = { 0 };
    struct err e = { 0 };

    (void)state;
    poll_errno = EINTR;
    n_polls_left = 3;
    assert_int_equal(child_capture_all(argv, &out, &errors, &e), 0);
    assert_string_equal(buf_text(&out), "said\n");
    buf_free(&out);
    buf_free(&errors);
}

/* It was asked again, and again, for ever. */
static void a_poll_that_cannot_be_is_an_error(void **state)
{
    static const char *const argv[] = { "sleep", "600", NULL };
    struct buf out = { 0 }, errors = { 0 };
    struct err e = { 0 };

    (void)state;
    poll_errno = ENOMEM;
    n_polls_left = 1000;
    alarm(60);
    assert_int_equal(child_capture_all(argv, &out, &errors, &e), -1);
    alarm(0);
    assert_int_equal(n_polls_left, 999);
    assert_non_null(strstr(e.text, "poll"));
    n_polls_left = 0;
    buf_free(&out);
    buf_free(&errors);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_outputs_are_read_to_their_ends),
        cmocka_unit_test(a_signal_does_not_end_the_reading),
        cmocka_unit_test(a_poll_that_cannot_be_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
