/* SPDX-License-Identifier: MIT */
/* memwatch.c - tests of what is said of jobs' memory, and how often it is looked at */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/units.h"
#include "tests/unit/skip.h"
#include "worker/runner/memwatch.h"

enum { MIB = 1024 * 1024 };

static void what_the_kernel_says_is_added_up(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        { "Name:\tx\nVmRSS:\t 900 kB\nRssAnon:\t     140 kB\nRssFile:\t 9 kB\nRssShmem:\t  2 kB\n",
          142 * 1024 },
        { "RssAnon:\t140 kB\n", -1 }, /* an old kernel */
        { "Name:\tx\nState:\tZ (zombie)\n", -1 },
        { "", -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(memwatch_parse(cases[i].text, "RssAnon", "RssShmem"), cases[i].bytes);
}

static void who_is_near_its_limit_is_looked_at_more_often(void **state)
{
    static const struct {
        int64_t mib, before_mib;
        int pause_ms;
    } cases[] = {
        { 0, 0, 1000 },    { 500, 500, 1000 }, { 790, 780, 1000 }, { 810, 810, 100 },
        { 999, 999, 100 }, { 300, 0, 1000 },   { 510, 0, 100 }, /* as much again, and it is there */
        { 700, 390, 100 }, { 100, 700, 1000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(
            memwatch_pause_ms(cases[i].mib * MIB, cases[i].before_mib * MIB, (int64_t)1000 * MIB),
            cases[i].pause_ms);
}

static void who_asked_for_nothing_is_not_looked_at(void **state)
{
    struct memwatch w;

    (void)state;
    memwatch_begin(&w, 0);
    assert_int_equal(memwatch_wait_ms(&w), -1);
    assert_int_equal(memwatch_look(&w), 0);
}

/* Two children that have the same memory have it once. */
static void what_children_share_counts_once(void **state)
{
    enum { BYTES = 64 * MIB };
    struct memwatch w;
    char *memory = malloc(BYTES), byte;
    pid_t pids[2];
    int ends[2], go[2];

    (void)state;
#ifdef __SANITIZE_THREAD__ /* what it notes of memory is memory, too */
    skip_because("ThreadSanitizer keeps notes in memory, which counts as the test's");
#endif
    assert_non_null(memory);
    memset(memory, 1, BYTES);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            close(go[1]);
            if (write(ends[1], "x", 1) == 1)
                (void)!read(go[0], &byte, 1);
            _exit(0);
        }
        assert_int_equal(read(ends[0], &byte, 1), 1);
    }
    memwatch_begin(&w, BYTES * 5 / 4);
    w.next_ms = 0;
    assert_int_equal(memwatch_look(&w), 0);
    memwatch_begin(&w, BYTES / 4);
    w.next_ms = 0;
    assert_true(memwatch_look(&w) > BYTES / 4);
    close(go[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    free(memory);
    close(ends[0]), close(ends[1]), close(go[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_kernel_says_is_added_up),
        cmocka_unit_test(who_is_near_its_limit_is_looked_at_more_often),
        cmocka_unit_test(who_asked_for_nothing_is_not_looked_at),
        cmocka_unit_test(what_children_share_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
