/* SPDX-License-Identifier: MIT */
/* cache_locks.c - tests of who may use, fill and remove a tree that several stagers share */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/worker_site.h"
#include "worker/base/cache_locks.h"

static void a_tree_is_used_by_many_and_worked_at_by_one(void **state)
{
    struct cache_locks one, other;
    struct site s;
    struct digest tree, another;

    (void)state;
    site_open(&s, NULL);
    digest_of("tree", 4, &tree);
    digest_of("another", 7, &another);
    assert_true(cache_locks_open(&one, s.scratch.cache_fd));
    assert_true(cache_locks_open(&other, s.scratch.cache_fd));
    assert_true(cache_lock_use(&one, &tree));
    assert_true(cache_lock_use(&other, &tree));
    assert_false(cache_lock_use_alone(&one, &tree));
    assert_false(cache_lock_removal(&one, &tree));
    cache_unlock_use(&one, &tree);
    assert_false(cache_lock_removal(&one, &tree));
    assert_false(cache_lock_removal(&other, &tree)); /* it uses it itself */
    assert_true(cache_lock_use_alone(&other, &tree));
    cache_unlock_use(&other, &tree);
    assert_true(cache_lock_work(&one, &tree));
    assert_false(cache_lock_work(&other, &tree));
    assert_false(cache_lock_removal(&other, &tree));
    assert_true(cache_lock_use(&other, &tree)); /* who waits for it may say so */
    cache_unlock_use(&other, &tree);
    cache_unlock_work(&one, &tree);
    assert_true(cache_lock_removal(&one, &tree));
    assert_false(cache_lock_use(&other, &tree));
    assert_true(cache_lock_removal(&other, &another));
    cache_locks_close(&one); /* as when its process dies */
    assert_true(cache_lock_use(&other, &tree));
    cache_locks_close(&other);
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_used_by_many_and_worked_at_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
