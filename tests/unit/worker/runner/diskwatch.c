/* SPDX-License-Identifier: MIT */
/* diskwatch.c - tests of what a job's files take */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_site.h"
#include "worker/runner/diskwatch.h"

#define HEX "0123456789abcdef0123456789abcdef"

enum { MIB = 1024 * 1024 };

static void fill(int dir_fd, const char *name, off_t from, size_t n)
{
    static const char bytes[MIB];
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT, 0600);

    assert_true(fd >= 0 && n <= sizeof bytes);
    assert_int_equal(pwrite(fd, bytes, n, from), n);
    assert_int_equal(fsync(fd), 0); /* what is not on the disk yet may count nothing */
    close(fd);
}

/* As if it were due. */
static int64_t look(const struct site *s, int64_t limit_bytes)
{
    struct diskwatch w;

    diskwatch_begin(&w, limit_bytes);
    assert_true((diskwatch_wait_ms(&w) < 0) == (limit_bytes == 0));
    w.next_ms = 0;
    return diskwatch_look(&w, &s->scratch, HEX);
}

static void all_of_an_attempt_counts(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    assert_int_equal(look(&s, 1), 0); /* it has nothing yet */
    assert_int_equal(mkdirat(s.scratch.run_fd, HEX, 0700), 0);
    assert_int_equal(mkdirat(s.scratch.run_fd, HEX "/save", 0700), 0);
    fill(s.scratch.run_fd, HEX "/file", 0, MIB);
    fill(s.scratch.run_fd, HEX "/save/file", 0, MIB);
    fill(s.scratch.log_fd, HEX, 0, MIB);
    assert_in_range(look(&s, 2 * MIB), 3 * MIB, 4 * MIB);
    assert_int_equal(look(&s, 4 * MIB), 0);
    assert_int_equal(look(&s, 0), 0);
    site_close(&s);
}

static void others_holes_and_what_links_lead_to_do_not(void **state)
{
    struct site s;

    (void)state;
    site_open(&s, NULL);
    assert_int_equal(mkdirat(s.scratch.run_fd, HEX, 0700), 0);
    fill(s.top_fd, "elsewhere", 0, MIB);
    fill(s.scratch.run_fd, "another", 0, MIB);
    fill(s.scratch.run_fd, HEX "/hole", (off_t)1 << 32, 1);
    assert_int_equal(symlinkat("../../../elsewhere", s.scratch.run_fd, HEX "/link"), 0);
    assert_int_equal(symlinkat("..", s.scratch.run_fd, HEX "/up"), 0);
    assert_int_equal(look(&s, MIB / 2), 0);
    site_close(&s);
}

static void it_is_not_looked_all_the_time(void **state)
{
    struct diskwatch w;
    struct site s;

    (void)state;
    site_open(&s, NULL);
    assert_int_equal(mkdirat(s.scratch.run_fd, HEX, 0700), 0);
    fill(s.scratch.run_fd, HEX "/file", 0, MIB);
    diskwatch_begin(&w, 1);
    assert_int_equal(diskwatch_look(&w, &s.scratch, HEX), 0);
    w.next_ms = 0;
    assert_true(diskwatch_look(&w, &s.scratch, HEX) > 0);
    assert_int_equal(diskwatch_look(&w, &s.scratch, HEX), 0);
    assert_true(diskwatch_wait_ms(&w) > 0);
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_an_attempt_counts),
        cmocka_unit_test(others_holes_and_what_links_lead_to_do_not),
        cmocka_unit_test(it_is_not_looked_all_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
