/* SPDX-License-Identifier: MIT */
/* spill.c - tests of bytes that are kept in a temporary file */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client/util/spill.h"
#include "common/base/mem.h"
#include "tests/unit/disk.h"
#include "tests/unit/skip.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static uint8_t byte_at(uint64_t at)
{
    return (uint8_t)(at * 2654435761u >> 16);
}

/* The next n bytes of a row that byte_at gives. */
static bool keep(struct spill *s, uint64_t *at, size_t n)
{
    uint8_t *bytes = mem_alloc(n);
    bool kept;

    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(*at + i);
    kept = spill_keep(s, (struct bytes){ bytes, n }, at);
    free(bytes);
    return kept;
}

static void expect(const struct spill *s, uint64_t from, uint64_t to)
{
    size_t n = (size_t)(to - from);
    uint8_t *bytes = mem_alloc(n);
    struct err e = { 0 };

    if (spill_read(s, from, bytes, n, &e) < 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != byte_at(from + i))
            fail_msg("byte %zu of %ju to %ju", i, (uintmax_t)from, (uintmax_t)to);
    free(bytes);
}

static void all_of_it_is_found_again(void **state)
{
    static const size_t sizes[] = { 1,         8 * KIB,  8 * KIB, 256 * KIB, 256 * KIB + 1,
                                    300 * KIB, 17 * KIB, MIB,     100,       200 * KIB };
    struct spill *s = spill_create(8 * MIB);
    uint64_t end = 0;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t at = end;

        assert_true(keep(s, &at, sizes[i]));
        assert_int_equal(at, end);
        end += sizes[i];
        expect(s, at, end);
        expect(s, 0, end);
        assert_int_equal(spill_room(s), 8 * MIB - end);
    }
    for (uint64_t at = 0; at + 33333 < end; at += 77777)
        expect(s, at, at + 33333);
    spill_destroy(s);
}

static void no_more_than_was_agreed_on(void **state)
{
    struct spill *s = spill_create(MIB);
    uint64_t at = 0;

    (void)state;
    assert_true(keep(s, &at, MIB - 10));
    at = MIB - 10;
    assert_false(keep(s, &at, 11));
    assert_int_equal(spill_room(s), 10);
    assert_true(keep(s, &at, 10));
    assert_int_equal(spill_room(s), 0);
    expect(s, 0, MIB);
    spill_destroy(s);
}

static void what_is_kept_after_all_was_dropped_comes_first(void **state)
{
    struct spill *s = spill_create(3 * MIB);
    uint64_t at = 0;

    (void)state;
    assert_true(keep(s, &at, 2 * MIB));
    spill_clear(s);
    assert_int_equal(spill_room(s), MIB);
    at = 0;
    assert_true(keep(s, &at, 700 * KIB));
    assert_int_equal(at, 0);
    expect(s, 0, 700 * KIB);
    assert_false(keep(s, &at, 400 * KIB));
    spill_destroy(s);
}

static void a_disk_that_takes_no_more_loses_nothing(void **state)
{
    struct rlimit before, small;
    struct spill *s = spill_create(8 * MIB);
    uint64_t at = 0, end = 0;

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ 500 * KIB, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    while (keep(s, &at, 30 * KIB))
        at = end += 30 * KIB;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_in_range(end, 256 * KIB, MIB);
    assert_int_equal(spill_room(s), 0);
    assert_false(keep(s, &at, 1));
    expect(s, 0, end);
    spill_destroy(s);
}

static void memory_is_no_disk(void **state)
{
    struct spill *s = spill_create(MIB);
    uint64_t at = 0;

    (void)state;
    if (!fs_is_memory("/dev/shm") || access("/dev/shm", W_OK) < 0) {
        spill_destroy(s);
        skip_because("takes a memory file system at /dev/shm");
    }
    assert_int_equal(setenv("TMPDIR", "/dev/shm", 1), 0);
    assert_false(keep(s, &at, 1));
    assert_int_equal(spill_room(s), 0);
    use_disk(NULL);
    spill_destroy(s);
}

static void without_a_folder_nothing_is_kept(void **state)
{
    struct spill *s = spill_create(MIB);
    uint64_t at = 0;

    (void)state;
    assert_int_equal(setenv("TMPDIR", "/dev/null", 1), 0);
    assert_false(keep(s, &at, 1));
    assert_int_equal(spill_room(s), 0);
    use_disk(NULL);
    spill_destroy(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_found_again),
        cmocka_unit_test(no_more_than_was_agreed_on),
        cmocka_unit_test(what_is_kept_after_all_was_dropped_comes_first),
        cmocka_unit_test(a_disk_that_takes_no_more_loses_nothing),
        cmocka_unit_test(memory_is_no_disk),
        cmocka_unit_test(without_a_folder_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, use_disk, NULL);
}
