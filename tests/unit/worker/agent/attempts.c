/* SPDX-License-Identifier: MIT */
/* attempts.c - tests of worker/agent/attempts.c: who shares a process */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "worker/agent/attempts.h"

static struct token token_of(char digit)
{
    char hex[TOKEN_HEX];
    struct token token;

    memset(hex, digit, TOKEN_HEX - 1);
    hex[TOKEN_HEX - 1] = '\0';
    assert_int_equal(token_parse(hex, &token), 0);
    return token;
}

/* batch '0': none */
static struct attempt *add(struct attempts *t, char digit, char batch)
{
    struct order order = { .server_id = "server", .share = "/share" };

    order.assignment.token = token_of(digit);
    order.assignment.batch = token_of(batch);
    order.work.work.resources.cpus_milli = 2000;
    return attempts_add(t, arena_create(), &order, NULL, PHASE_NEW);
}

static size_t count(const struct batch *b)
{
    size_t n = 0;

    for (RING_EACH(const struct attempt, a, &b->members, mate))
        n += a != NULL;
    return n;
}

static void those_handed_out_together_share_a_process(void **state)
{
    struct token f = token_of('f'), one = token_of('1');
    struct attempt *single, *first, *second, *other;
    struct attempts t;

    (void)state;
    attempts_init(&t);
    first = add(&t, 'a', 'f');
    second = add(&t, 'b', 'f');
    single = add(&t, '1', '0');
    other = add(&t, 'c', 'e');
    assert_ptr_equal(first->batch, second->batch);
    assert_ptr_equal(batch_first(first->batch), first);
    assert_int_equal(count(first->batch), 2);
    assert_true(first->batch->is_shared);
    assert_true(token_equal(&first->batch->token, &f));
    assert_ptr_equal(attempts_find_batch(&t, &f), first->batch);
    assert_ptr_not_equal(other->batch, first->batch);
    assert_int_equal(first->batch->slot.need.cpus_milli, 2000); /* of the process, not of each */
    assert_false(single->batch->is_shared);
    assert_true(token_equal(&single->batch->token, &one));
    assert_null(attempts_find_batch(&t, &one));
    assert_true(first->batch->slot.number < single->batch->slot.number);
    attempts_free(&t);
}

static void one_that_comes_again_is_there_once(void **state)
{
    struct attempt *first;
    struct attempts t;

    (void)state;
    attempts_init(&t);
    first = add(&t, 'a', 'f');
    assert_null(add(&t, 'a', 'f'));
    assert_int_equal(count(first->batch), 1);
    attempts_free(&t);
}

static void a_batch_lasts_as_long_as_members_or_process(void **state)
{
    struct token f = token_of('f');
    struct attempt *a, *b;
    struct batch *batch;
    struct attempts t;

    (void)state;
    attempts_init(&t);
    a = add(&t, 'a', 'f');
    b = add(&t, 'b', 'f');
    batch = a->batch;
    batch_leave(a);
    assert_null(a->batch);
    assert_ptr_equal(batch_first(batch), b);
    assert_false(batch_is_over(batch));
    attempts_remove(&t, a);
    assert_ptr_equal(attempts_find_batch(&t, &f), batch);
    batch->runner = (struct runner *)(void *)&t; /* somebody has it */
    batch_leave(b);
    assert_null(batch_first(batch));
    assert_false(batch_is_over(batch));
    batch->runner = NULL;
    assert_true(batch_is_over(batch));
    attempts_free(&t); /* with what is left */
}

static void the_last_member_that_is_removed_takes_its_batch_with_it(void **state)
{
    struct token f = token_of('f');
    struct attempts t;
    struct attempt *a;

    (void)state;
    attempts_init(&t);
    a = add(&t, 'a', 'f');
    attempts_remove(&t, add(&t, 'b', 'f'));
    assert_int_equal(count(a->batch), 1);
    attempts_remove(&t, a);
    assert_null(attempts_find_batch(&t, &f));
    attempts_free(&t);
}

/* Its members have ended, and an agent that adopts it knows no other. */
static void a_process_without_members_has_a_batch_too(void **state)
{
    struct token f = token_of('f');
    struct attempts t;
    struct attempt *a;
    struct batch *b;

    (void)state;
    attempts_init(&t);
    b = attempts_batch(&t, &f, NULL);
    assert_true(b->is_shared);
    assert_ptr_equal(attempts_batch(&t, &f, NULL), b);
    assert_ptr_equal(attempts_find_process(&t, &f), b);
    a = add(&t, 'a', 'f');
    assert_ptr_equal(a->batch, b);
    b->phase = PROCESS_GIVEN; /* its process may live */
    attempts_remove(&t, a);
    assert_ptr_equal(attempts_find_batch(&t, &f), b);
    attempts_free(&t);
}

static void an_attempt_of_its_own_is_found_by_its_token_as_its_process(void **state)
{
    struct token a = token_of('a'), m = token_of('b');
    struct attempts t;
    struct attempt *single;

    (void)state;
    attempts_init(&t);
    single = add(&t, 'a', '0');
    add(&t, 'b', 'f');
    assert_ptr_equal(attempts_find_process(&t, &a), single->batch);
    assert_null(attempts_find_process(&t, &m)); /* it shares one */
    attempts_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_handed_out_together_share_a_process),
        cmocka_unit_test(one_that_comes_again_is_there_once),
        cmocka_unit_test(a_batch_lasts_as_long_as_members_or_process),
        cmocka_unit_test(the_last_member_that_is_removed_takes_its_batch_with_it),
        cmocka_unit_test(a_process_without_members_has_a_batch_too),
        cmocka_unit_test(an_attempt_of_its_own_is_found_by_its_token_as_its_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
