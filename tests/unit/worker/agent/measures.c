/* SPDX-License-Identifier: MIT */
/* measures.c - tests of values on their way to ludwigd: none is lost, and there are few messages */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "common/base/mem.h"
#include "worker/agent/measures.h"

struct scene {
    uv_loop_t loop;
    struct measures m;
    int64_t seq; /* of the last message */
    size_t n_messages;
    int64_t steps[2 * MEASURED_MAX]; /* of the values in them */
    size_t n;
    bool is_broken;
};

static int64_t take(void *context, const struct msg_measured *m)
{
    struct scene *s = context;
    const struct measured *values = m->values.items;

    if (s->is_broken)
        return -1;
    s->n_messages++;
    s->n = 0;
    for (size_t i = 0; i < m->values.n; i++)
        s->steps[s->n++] = values[i].step;
    return ++s->seq;
}

static int set_up(void **state)
{
    struct scene *s = mem_alloc(sizeof *s);

    uv_loop_init(&s->loop);
    measures_init(&s->m, &s->loop, take, s);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    measures_close(&s->m);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    free(s);
    return 0;
}

static void add(struct scene *s, int64_t first, int64_t last)
{
    for (int64_t step = first; step <= last; step++) {
        struct measured v = { .step = step };

        measures_add(&s->m, &v, 1);
    }
}

static void values_wait_for_a_connection_and_for_the_second(void **state)
{
    struct scene *s = *state;
    uint64_t begun;

    add(s, 1, 3);
    assert_int_equal(s->n_messages, 0);
    measures_connected(&s->m);
    assert_int_equal(s->n_messages, 1);
    assert_int_equal(s->n, 3);
    begun = uv_now(&s->loop);
    add(s, 4, 5);
    measures_answered(&s->m, s->seq, true);
    assert_int_equal(s->n_messages, 1);
    uv_run(&s->loop, UV_RUN_ONCE); /* the timer */
    assert_true(uv_now(&s->loop) - begun >= MEASURES_EVERY_MS - 1);
    assert_int_equal(s->n_messages, 2);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->steps[0], 4);
}

static void what_is_not_acknowledged_is_sent_again(void **state)
{
    struct scene *s = *state;

    measures_connected(&s->m);
    add(s, 1, 1);
    assert_int_equal(s->n_messages, 1);
    add(s, 2, 2);
    measures_disconnected(&s->m);
    s->m.not_before = 0;
    measures_connected(&s->m);
    assert_int_equal(s->n_messages, 2);
    assert_int_equal(s->n, 2);
    measures_answered(&s->m, s->seq - 1, true); /* of the connection before */
    assert_int_equal(s->m.n, 2);
    s->m.not_before = 0;
    measures_answered(&s->m, s->seq, false); /* it could not take them */
    assert_int_equal(s->n_messages, 3);
    measures_answered(&s->m, s->seq, true);
    assert_int_equal(s->m.n, 0);
}

static void a_connection_that_breaks_meanwhile_loses_nothing(void **state)
{
    struct scene *s = *state;

    s->is_broken = true;
    measures_connected(&s->m);
    add(s, 1, 2);
    measures_disconnected(&s->m);
    s->is_broken = false;
    s->m.not_before = 0;
    measures_connected(&s->m);
    assert_int_equal(s->n, 2);
}

static void more_than_a_message_holds_goes_on_in_the_next(void **state)
{
    struct scene *s = *state;

    add(s, 1, MEASURED_MAX + 10);
    measures_connected(&s->m);
    assert_int_equal(s->n, MEASURED_MAX);
    s->m.not_before = 0;
    measures_answered(&s->m, s->seq, true);
    assert_int_equal(s->n, 10);
    assert_int_equal(s->steps[0], MEASURED_MAX + 1);
    add(s, 1, MEASURES_KEPT_MAX + 10);
    assert_true(s->m.n <= MEASURES_KEPT_MAX);
}

/* One job writes as fast as it can; the node's other one is another user's. */
static void a_job_that_reports_much_keeps_no_other_one_waiting(void **state)
{
    struct measured other = { .token = { { 1 } } };
    struct scene *s = *state;
    size_t n_others = 0;

    add(s, 1, 2 * MEASURES_KEPT_MAX);
    for (other.step = 1; other.step <= 3; other.step++)
        measures_add(&s->m, &other, 1);
    assert_true(s->m.n <= MEASURES_KEPT_MAX);
    measures_connected(&s->m);
    assert_int_equal(s->n, MEASURED_MAX);
    for (size_t i = 0; i < s->n; i++)
        if (token_equal(&s->m.items[i].token, &other.token))
            assert_int_equal(s->m.items[i].step, ++n_others);
        else if (i > 0 && token_equal(&s->m.items[i].token, &s->m.items[i - 1].token))
            assert_true(s->m.items[i].step > s->m.items[i - 1].step);
    assert_int_equal(n_others, 3);
    /* What is on its way stays as it is when there is no room for more. */
    add(s, 1, 2 * MEASURES_KEPT_MAX);
    measures_answered(&s->m, s->seq, true);
    for (size_t i = 0; i < s->m.n; i++)
        assert_false(token_equal(&s->m.items[i].token, &other.token));
    assert_int_equal(s->m.items[s->m.n - 1].step, 2 * MEASURES_KEPT_MAX); /* the last one stays */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_wait_for_a_connection_and_for_the_second, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_acknowledged_is_sent_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_connection_that_breaks_meanwhile_loses_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(more_than_a_message_holds_goes_on_in_the_next, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_reports_much_keeps_no_other_one_waiting, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
