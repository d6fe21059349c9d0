/* SPDX-License-Identifier: MIT */
/* slots.c - tests of worker/agent/slots.c */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "worker/agent/slots.h"

enum { N = 64, GIB = 1 << 30 };

struct world {
    struct slots *slots;
    struct slot_item items[N];
    size_t n;
};

static void world_init_on(struct world *w, const unsigned *nodes, size_t n_cpus, int64_t cpus_milli,
                          size_t n_gpus, int64_t memory)
{
    static const unsigned cpus[] = { 3, 5, 7, 9, 11, 13, 15, 17 };
    struct slots_size size = { cpus, n_cpus, cpus_milli, n_gpus, memory, nodes };

    w->n = 0;
    w->slots = slots_create(&size);
}

static void world_init(struct world *w, size_t n_cpus, int64_t cpus_milli, size_t n_gpus,
                       int64_t memory)
{
    world_init_on(w, NULL, n_cpus, cpus_milli, n_gpus, memory);
}

static void world_free(struct world *w)
{
    for (size_t i = 0; i < w->n; i++)
        slots_release(w->slots, &w->items[i]);
    slots_destroy(w->slots);
}

static struct slot_item *add(struct world *w, int64_t cpus, int64_t gpus, int64_t memory)
{
    struct slot_item *item = &w->items[w->n];

    slot_item_init(item);
    item->need = (struct slot_need){ cpus, gpus, memory, 0 };
    item->number = (int64_t)++w->n;
    slots_add(w->slots, item);
    return item;
}

static struct slot_item *next(struct world *w)
{
    struct slots_asking gpus = { .gpus_are_known = true };

    return slots_next(w->slots, &gpus);
}

static void as_many_start_as_fit(void **state)
{
    static const struct {
        int64_t cpus_milli; /* there are */
        int64_t memory;
        struct slot_need need; /* of each */
        int started;
    } cases[] = {
        { 4000, 0, { 1000, 0, 0, 0 }, 4 },
        { 4000, 0, { 1500, 0, 0, 0 }, 2 },
        { 4000, 0, { 500, 0, 0, 0 }, 8 },
        { 1500, 0, { 1000, 0, 0, 0 }, 1 },
        { 4000, 4 * (int64_t)GIB, { 1000, 0, 3 * (int64_t)GIB, 0 }, 1 },
        { 4000, 4 * (int64_t)GIB, { 1000, 0, 2 * (int64_t)GIB, 0 }, 2 },
        { 4000, 4 * (int64_t)GIB, { 1000, 0, 0, 0 }, 4 },
        { 4000, 0, { 1000, 0, 64 * (int64_t)GIB, 0 }, 4 },
        { 4000, 0, { 4001, 0, 0, 0 }, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world w;
        int started = 0;

        world_init(&w, 4, cases[i].cpus_milli, 0, cases[i].memory);
        for (int k = 0; k < 10; k++)
            add(&w, cases[i].need.cpus_milli, 0, cases[i].need.memory_bytes);
        while (next(&w) != NULL)
            started++;
        assert_int_equal(started, cases[i].started);
        world_free(&w);
    }
}

static void they_start_in_order_of_their_numbers(void **state)
{
    struct world w;
    struct slot_item *first, *second;

    (void)state;
    world_init(&w, 2, 1000, 0, 0);
    first = add(&w, 1000, 0, 0);
    second = add(&w, 1000, 0, 0);
    slots_drop(w.slots, first);
    slots_add(w.slots, first);
    assert_ptr_equal(next(&w), first);
    assert_null(next(&w));
    slots_release(w.slots, first);
    assert_ptr_equal(next(&w), second);
    world_free(&w);
}

static void processors_of_an_attempt_are_near_the_same_memory(void **state)
{
    static const unsigned nodes[] = { 0, 1, 0, 1, 0, 1, 0, 1 }; /* they take turns */
    const struct slot_item *one, *two, *three, *four;
    struct world w;

    (void)state;
    world_init_on(&w, nodes, 8, 8000, 0, 0);
    one = add(&w, 1000, 0, 0);
    two = add(&w, 2000, 0, 0);
    three = add(&w, 3000, 0, 0);
    four = add(&w, 2000, 0, 0);
    for (int i = 0; i < 4; i++)
        assert_non_null(next(&w));
    assert_int_equal(one->cpus[0], 3);
    /* Where less is left, so that three fit on the other one. */
    assert_int_equal(two->cpus[0], 7);
    assert_int_equal(two->cpus[1], 11);
    assert_int_equal(three->cpus[0], 5);
    assert_int_equal(three->cpus[1], 9);
    assert_int_equal(three->cpus[2], 13);
    /* No node has two any more. */
    assert_int_equal(four->cpus[0], 15);
    assert_int_equal(four->cpus[1], 17);
    world_free(&w);
}

static void whole_processors_are_an_attempts_own(void **state)
{
    struct world w;
    struct slot_item *two, *one;

    (void)state;
    world_init(&w, 4, 4000, 0, 0);
    two = add(&w, 2000, 0, 0);
    one = add(&w, 1000, 0, 0);
    assert_ptr_equal(next(&w), two);
    assert_ptr_equal(next(&w), one);
    assert_int_equal(two->n_cpus, 2);
    assert_int_equal(two->cpus[0], 3);
    assert_int_equal(two->cpus[1], 5);
    assert_int_equal(one->n_cpus, 1);
    assert_int_equal(one->cpus[0], 7);
    slots_release(w.slots, two);
    two = add(&w, 3000, 0, 0);
    assert_ptr_equal(next(&w), two);
    assert_int_equal(two->n_cpus, 3);
    assert_int_equal(two->cpus[0], 3);
    assert_int_equal(two->cpus[2], 9);
    world_free(&w);
}

static void fractions_have_no_processor_of_their_own(void **state)
{
    static const int64_t fractions[] = { 500, 1500, 0 };

    (void)state;
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        struct world w;
        struct slot_item *item;

        world_init(&w, 4, 4000, 0, 0);
        item = add(&w, fractions[i], 0, 0);
        assert_ptr_equal(next(&w), item);
        assert_int_equal(item->n_cpus, 0);
        world_free(&w);
    }
}

static void more_may_run_than_there_are_processors_when_configured(void **state)
{
    struct world w;
    struct slot_item *items[4];

    (void)state;
    world_init(&w, 2, 4000, 0, 0);
    for (int i = 0; i < 4; i++)
        items[i] = add(&w, 1000, 0, 0);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(next(&w), items[i]);
    assert_int_equal(items[1]->n_cpus, 1);
    assert_int_equal(items[2]->n_cpus, 0);
    world_free(&w);
}

static void a_small_one_passes_a_large_one_only_so_often(void **state)
{
    struct world w;
    struct slot_item *running, *large, *small;

    (void)state;
    world_init(&w, 4, 4000, 0, 0);
    running = add(&w, 1000, 0, 0);
    assert_ptr_equal(next(&w), running);
    large = add(&w, 4000, 0, 0);
    for (int i = 0; i < SLOTS_PASSED_MAX; i++) {
        small = add(&w, 1000, 0, 0);
        assert_ptr_equal(next(&w), small);
        slots_release(w.slots, small);
    }
    small = add(&w, 1000, 0, 0);
    assert_null(next(&w));
    slots_release(w.slots, running);
    assert_ptr_equal(next(&w), large);
    slots_release(w.slots, large);
    assert_ptr_equal(next(&w), small);
    world_free(&w);
}

static void what_can_never_fit_holds_up_nobody(void **state)
{
    struct world w;
    struct slot_item *small;

    (void)state;
    world_init(&w, 4, 4000, 1, 0);
    slots_offer_gpu(w.slots, 0, false);
    add(&w, 1000, 1000, 0);
    for (int i = 0; i < SLOTS_PASSED_MAX + 5; i++) {
        small = add(&w, 1000, 0, 0);
        assert_ptr_equal(next(&w), small);
        slots_release(w.slots, small);
    }
    world_free(&w);
}

static void a_whole_gpu_belongs_to_one_and_fractions_share(void **state)
{
    struct world w;
    struct slot_item *whole, *half, *third, *other;

    (void)state;
    world_init(&w, 8, 8000, 2, 0);
    half = add(&w, 1000, 500, 0);
    whole = add(&w, 1000, 1000, 0);
    third = add(&w, 1000, 300, 0);
    other = add(&w, 1000, 300, 0);
    assert_ptr_equal(next(&w), half);
    assert_ptr_equal(next(&w), whole);
    assert_ptr_equal(next(&w), third);
    assert_null(next(&w));
    assert_int_equal(half->gpus[0], 0);
    assert_int_equal(whole->gpus[0], 1);
    assert_int_equal(third->gpus[0], 0);
    slots_release(w.slots, whole);
    assert_ptr_equal(next(&w), other);
    assert_int_equal(other->gpus[0], 1);
    world_free(&w);
}

static void several_gpus_and_a_share_come_from_different_devices(void **state)
{
    struct world w;
    struct slot_item *item;

    (void)state;
    world_init(&w, 8, 8000, 3, 0);
    item = add(&w, 1000, 2500, 0);
    assert_ptr_equal(next(&w), item);
    assert_int_equal(item->n_gpus, 3);
    assert_int_equal(item->gpus[0], 0);
    assert_int_equal(item->gpus[1], 1);
    assert_int_equal(item->gpus[2], 2);
    slots_release(w.slots, item);
    for (size_t i = 0; i < 3; i++)
        assert_true(slots_gpu_is_idle(w.slots, i));
    world_free(&w);
}

static void a_gpu_that_others_use_is_not_given(void **state)
{
    struct world w;
    struct slot_item *item;
    struct slot_need two = { 1000, 2000, 0, 0 };

    (void)state;
    world_init(&w, 8, 8000, 2, 0);
    slots_offer_gpu(w.slots, 0, false);
    assert_int_equal(slots_gpus_offered(w.slots), 1);
    assert_false(slots_could_fit(w.slots, &two));
    item = add(&w, 1000, 1000, 0);
    assert_ptr_equal(next(&w), item);
    assert_int_equal(item->gpus[0], 1);
    slots_offer_gpu(w.slots, 0, true);
    assert_true(slots_could_fit(w.slots, &two));
    world_free(&w);
}

static void a_fresh_gpu_is_asked_for_but_a_shared_one_is_ours(void **state)
{
    struct world w;
    struct slots_asking gpus = { .gpus_are_known = false };
    struct slot_item *first, *second, *none;

    (void)state;
    world_init(&w, 8, 8000, 1, 0);
    first = add(&w, 1000, 500, 0);
    none = add(&w, 1000, 0, 0);
    assert_ptr_equal(slots_next(w.slots, &gpus), none);
    assert_true(gpus.gpus_are_wanted);
    assert_ptr_equal(next(&w), first);
    second = add(&w, 1000, 500, 0);
    gpus = (struct slots_asking){ .gpus_are_known = false };
    assert_ptr_equal(slots_next(w.slots, &gpus), second);
    assert_false(gpus.gpus_are_wanted);
    world_free(&w);
}

static void what_was_running_before_counts(void **state)
{
    struct world w;
    struct slot_item *old, *new;

    (void)state;
    world_init(&w, 2, 2000, 1, 0);
    old = &w.items[w.n++];
    slot_item_init(old);
    old->need = (struct slot_need){ 1000, 1000, 0, 0 };
    old->cpus = calloc(1, sizeof *old->cpus);
    old->gpus = calloc(1, sizeof *old->gpus);
    old->cpus[0] = 3;
    old->n_cpus = old->n_gpus = 1;
    slots_take(w.slots, old);
    new = add(&w, 1000, 0, 0);
    add(&w, 1000, 1000, 0);
    assert_ptr_equal(next(&w), new);
    assert_int_equal(new->cpus[0], 5);
    assert_null(next(&w));
    slots_release(w.slots, old);
    assert_non_null(next(&w));
    world_free(&w);
}

static void one_that_has_all_gpus_leaves_none_to_others(void **state)
{
    static const struct {
        int64_t gpus_milli;
        bool leaves_a_half;
    } cases[] = { { 2000, false }, { 1500, true }, { 9000, false } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world w;
        struct slot_item *old, *half;

        world_init(&w, 8, 8000, 2, 0);
        old = &w.items[w.n++];
        slot_item_init(old);
        old->need = (struct slot_need){ 1000, cases[i].gpus_milli, 0, 0 };
        slots_list_gpus(w.slots, old);
        assert_int_equal(old->n_gpus, 2);
        slots_take(w.slots, old);
        half = add(&w, 1000, 500, 0);
        assert_ptr_equal(next(&w), cases[i].leaves_a_half ? half : NULL);
        slots_release(w.slots, old);
        slots_drop(w.slots, half);
        world_free(&w);
    }
}

static bool is_room_for_less(const struct slot_item *item)
{
    return item->need.disk_bytes < (int64_t)GIB;
}

/* However often others pass it. */
static void one_without_room_on_scratch_holds_up_nobody(void **state)
{
    struct slots_asking asking = { .has_room = is_room_for_less };
    struct slot_item *large, *small;
    struct world w;

    (void)state;
    world_init(&w, 2, 2000, 0, 0);
    large = add(&w, 1000, 0, 0);
    large->need.disk_bytes = 2 * (int64_t)GIB;
    small = add(&w, 1000, 0, 0);
    small->need.disk_bytes = 1;
    for (int i = 0; i < 2 * SLOTS_PASSED_MAX; i++) {
        assert_ptr_equal(slots_next(w.slots, &asking), small);
        assert_null(slots_next(w.slots, &asking));
        slots_release(w.slots, small);
        slots_add(w.slots, small);
    }
    asking.has_room = NULL;
    assert_ptr_equal(slots_next(w.slots, &asking), large);
    world_free(&w);
}

static void what_is_dropped_does_not_start(void **state)
{
    struct world w;
    struct slot_item *first, *second;

    (void)state;
    world_init(&w, 2, 2000, 0, 0);
    first = add(&w, 1000, 0, 0);
    second = add(&w, 1000, 0, 0);
    slots_drop(w.slots, first);
    assert_ptr_equal(next(&w), second);
    assert_null(next(&w));
    slots_drop(w.slots, first);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_start_as_fit),
        cmocka_unit_test(they_start_in_order_of_their_numbers),
        cmocka_unit_test(processors_of_an_attempt_are_near_the_same_memory),
        cmocka_unit_test(whole_processors_are_an_attempts_own),
        cmocka_unit_test(fractions_have_no_processor_of_their_own),
        cmocka_unit_test(more_may_run_than_there_are_processors_when_configured),
        cmocka_unit_test(a_small_one_passes_a_large_one_only_so_often),
        cmocka_unit_test(what_can_never_fit_holds_up_nobody),
        cmocka_unit_test(a_whole_gpu_belongs_to_one_and_fractions_share),
        cmocka_unit_test(several_gpus_and_a_share_come_from_different_devices),
        cmocka_unit_test(a_gpu_that_others_use_is_not_given),
        cmocka_unit_test(a_fresh_gpu_is_asked_for_but_a_shared_one_is_ours),
        cmocka_unit_test(what_was_running_before_counts),
        cmocka_unit_test(one_that_has_all_gpus_leaves_none_to_others),
        cmocka_unit_test(one_without_room_on_scratch_holds_up_nobody),
        cmocka_unit_test(what_is_dropped_does_not_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
