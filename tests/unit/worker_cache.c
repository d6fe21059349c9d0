/* SPDX-License-Identifier: MIT */
/* worker_cache.c - tests of staged trees */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_site.h"
#include "worker/cache.h"

static mode_t mode_of(const struct site *s, const char *path)
{
    struct stat st;

    assert_int_equal(fstatat(s->top_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static const char *in_cache(struct site *s, const struct digest *d, const char *path)
{
    char hex[DIGEST_HEX];

    digest_hex(d, hex);
    return arena_printf(s->arena, "scratch/cache/%s/%s", hex, path);
}

static void a_tree_is_copied_read_only(void **state)
{
    struct site s;
    struct digest d;
    struct err e = { 0 };

    (void)state;
    site_open(&s, NULL);
    digest_of("tree", 4, &d);
    assert_int_equal(mkdirat(s.top_fd, "tree", 0700), 0);
    assert_int_equal(mkdirat(s.top_fd, "tree/sub", 0700), 0);
    site_write(s.top_fd, "tree/sub/file", "text");
    site_write(s.top_fd, "tree/run", "#!");
    assert_int_equal(fchmodat(s.top_fd, "tree/run", 0700, 0), 0);
    assert_int_equal(symlinkat("run", s.top_fd, "tree/link"), 0);
    assert_false(cache_has(s.scratch.cache_fd, &d));
    assert_int_equal(cache_add(s.scratch.cache_fd, &d, s.dir, "tree", &e), 0);
    assert_true(cache_has(s.scratch.cache_fd, &d));
    assert_string_equal(site_read(&s, in_cache(&s, &d, "sub/file")), "text");
    assert_int_equal(mode_of(&s, in_cache(&s, &d, "sub/file")), 0444);
    assert_int_equal(mode_of(&s, in_cache(&s, &d, "run")), 0555);
    assert_int_equal(mode_of(&s, in_cache(&s, &d, "sub")), 0755);
    assert_int_equal(mode_of(&s, in_cache(&s, &d, "link")), 0777);
    site_close(&s);
}

static void what_a_crash_left_is_replaced(void **state)
{
    struct site s;
    struct digest d;
    struct err e = { 0 };
    char hex[DIGEST_HEX];

    (void)state;
    site_open(&s, NULL);
    digest_of("tree", 4, &d);
    digest_hex(&d, hex);
    assert_int_equal(mkdirat(s.top_fd, "tree", 0700), 0);
    site_write(s.top_fd, "tree/file", "whole");
    assert_int_equal(mkdirat(s.top_fd, arena_printf(s.arena, "scratch/cache/.%s.tmp", hex), 0700),
                     0);
    site_write(s.top_fd, arena_printf(s.arena, "scratch/cache/.%s.tmp/half", hex), "ha");
    assert_false(cache_has(s.scratch.cache_fd, &d));
    assert_int_equal(cache_add(s.scratch.cache_fd, &d, s.dir, "tree", &e), 0);
    assert_int_equal(site_count(arena_printf(s.arena, "%s/cache", s.scratch.path)), 2);
    site_close(&s);
}

static void a_tree_that_cannot_be_copied_leaves_nothing(void **state)
{
    struct site s;
    struct digest d;
    struct err e = { 0 };

    (void)state;
    site_open(&s, NULL);
    digest_of("tree", 4, &d);
    assert_int_equal(cache_add(s.scratch.cache_fd, &d, s.dir, "nothing", &e), -1);
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_int_equal(mkdirat(s.top_fd, "tree", 0700), 0);
    assert_int_equal(mkfifoat(s.top_fd, "tree/fifo", 0600), 0);
    assert_int_equal(cache_add(s.scratch.cache_fd, &d, s.dir, "tree", &e), -1);
    assert_int_equal(site_count(arena_printf(s.arena, "%s/cache", s.scratch.path)), 0);
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_copied_read_only),
        cmocka_unit_test(what_a_crash_left_is_replaced),
        cmocka_unit_test(a_tree_that_cannot_be_copied_leaves_nothing),
    };

    return SITE_EITHER_WAY(tests);
}
