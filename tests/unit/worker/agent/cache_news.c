/* SPDX-License-Identifier: MIT */
/* cache_news.c - tests of what ludwigd is told of a cache */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "worker/agent/cache_news.h"

static struct note_cached note(int64_t number, bool is_gone)
{
    struct note_cached n = { .bytes = number, .is_gone = is_gone };

    digest_of(&number, sizeof number, &n.tree);
    return n;
}

static void add(struct cache_news *h, int64_t number, bool is_gone)
{
    struct note_cached n = note(number, is_gone);

    cache_news_take(h, &n);
}

static void nothing_new_is_not_told(void **state)
{
    struct cache_news h = { 0 };
    struct msg_holds m;

    (void)state;
    assert_false(cache_news_next(&h, &m));
    cache_news_free(&h);
}

static void what_came_and_went_is_told_once(void **state)
{
    struct cache_news h = { 0 };
    struct msg_holds m;

    (void)state;
    add(&h, 1, false);
    add(&h, 2, true);
    assert_true(cache_news_next(&h, &m));
    assert_false(m.all);
    assert_int_equal(m.trees.n, 1);
    assert_int_equal(((const struct held_tree *)m.trees.items)->bytes, 1);
    assert_int_equal(m.gone.n, 1);
    assert_false(cache_news_next(&h, &m));
    add(&h, 3, false);
    assert_true(cache_news_next(&h, &m));
    assert_int_equal(m.trees.n, 1);
    assert_int_equal(((const struct held_tree *)m.trees.items)->bytes, 3);
    cache_news_free(&h);
}

static void the_last_of_what_happened_to_a_tree_counts(void **state)
{
    struct cache_news h = { 0 };
    struct msg_holds m;

    (void)state;
    add(&h, 1, false);
    add(&h, 1, true);
    add(&h, 2, true);
    add(&h, 2, false);
    assert_true(cache_news_next(&h, &m));
    assert_int_equal(m.trees.n, 1);
    assert_int_equal(((const struct held_tree *)m.trees.items)->bytes, 2);
    assert_int_equal(m.gone.n, 1);
    assert_false(cache_news_next(&h, &m));
    cache_news_free(&h);
}

static void many_go_in_several_messages_of_which_the_first_begins_anew(void **state)
{
    struct cache_news h = { 0 };
    struct msg_holds m;
    size_t n = 0;

    (void)state;
    add(&h, 7, true); /* told before, and over with the beginning */
    for (int64_t i = 0; i < 2 * HOLDS_MAX + 5; i++) {
        struct note_cached is = note(i, false);

        cache_news_take(&h, &is);
    }
    cache_news_begin(&h);
    for (int i = 0; i < 3; i++) {
        assert_true(cache_news_next(&h, &m));
        assert_int_equal(m.all, i == 0);
        assert_int_equal(m.gone.n, 0);
        assert_true(m.trees.n <= HOLDS_MAX);
        n += m.trees.n;
    }
    assert_false(cache_news_next(&h, &m));
    assert_int_equal(n, 2 * HOLDS_MAX + 5);
    cache_news_free(&h);
    cache_news_begin(&h);
    assert_true(cache_news_next(&h, &m)); /* nothing lies there any more */
    assert_true(m.all);
    assert_int_equal(m.trees.n, 0);
    assert_false(cache_news_next(&h, &m));
    cache_news_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_new_is_not_told),
        cmocka_unit_test(what_came_and_went_is_told_once),
        cmocka_unit_test(the_last_of_what_happened_to_a_tree_counts),
        cmocka_unit_test(many_go_in_several_messages_of_which_the_first_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
