/* SPDX-License-Identifier: MIT */
/* child_protocol.c - tests of what the agent and its children tell each other */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "tests/unit/doc.h"
#include "worker/base/child_protocol.h"

static void every_order_has_its_row(void **state)
{
    static const struct {
        const char *name;
        unsigned direction;
        size_t size;
    } rows[] = {
#define STRUCT_OF_1(name)            struct order_##name
#define STRUCT_OF_2(name)            struct note_##name
#define X(constant, name, direction) { #name, direction, sizeof(STRUCT_OF_##direction(name)) },
#define T(constant, name, direction) { #name, direction, sizeof(struct token_entry) },
#define N(constant, name, direction) { #name, direction, sizeof(struct order_nothing) },
        ORDERS(X, T, N)
    };

    (void)state;
    assert_int_equal(orders.n, ORDER_COUNT);
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        assert_string_equal(orders.messages[i].name, rows[i].name);
        assert_int_equal(orders.messages[i].flags, rows[i].direction);
        assert_int_equal(orders.messages[i].schema->size, rows[i].size);
        assert_int_equal(orders.messages[i].reply, -1);
    }
}

static void the_page_describes_every_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < orders.n; i++) {
        char *heading = mem_printf("### %s", orders.messages[i].name);

        doc_must_describe("docs/internals/agent-children.md", heading, orders.messages[i].schema);
        free(heading);
    }
}

static void an_order_survives_its_journey(void **state)
{
    struct number cpus[] = { { 0 }, { 5 } };
    struct gpu_entry gpus[] = { { "GPU-1" } };
    struct env_entry env[] = { { "A", "1" } };
    struct data_entry data[] = { { .name = "corpora" } };
    struct order_run sent = { .order = { .server_id = "s",
                                         .share = "/share",
                                         .cpus = { cpus, 2 },
                                         .gpus = { gpus, 1 },
                                         .in_slurm = true,
                                         .for_another = true } };
    struct arena *a = arena_create();
    struct buf frame = { 0 };
    struct envelope m = { 0 };
    struct order_run got = { 0 };
    const struct gpu_entry *gpu;
    const struct data_entry *entry;
    struct err e = { 0 };

    (void)state;
    token_make(&sent.order.assignment.token);
    sent.order.assignment.attempt = 2;
    sent.order.assignment.sweep = 7;
    sent.order.assignment.job = 13;
    sent.order.assignment.param_name = "param_003";
    sent.order.assignment.job_name = "n";
    sent.order.assignment.params = (struct bytes){ (const uint8_t *)"\x80", 1 };
    sent.order.work.sweep = 7;
    sent.order.work.project = "p";
    sent.order.work.user = "u";
    sent.order.work.work.command = "c";
    sent.order.work.work.env = (struct list){ env, 1 };
    sent.order.work.work.data = (struct list){ data, 1 };
    digest_of("x", 1, &data[0].set.tree);
    if (message_add(&frame, &orders, ORDER_RUN, 1, 0, NULL, &sent, &e) < 0)
        fail_msg("%s", e.text);
    if (message_read((struct bytes){ frame.bytes + FRAME_HEAD_BYTES, frame.n - FRAME_HEAD_BYTES },
                     &orders, a, &m, &e) < 0 ||
        message_body(&orders, &m, a, &got, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(m.type, ORDER_RUN);
    assert_true(token_equal(&got.order.assignment.token, &sent.order.assignment.token));
    assert_int_equal(got.order.cpus.n, 2);
    assert_memory_equal(got.order.cpus.items, cpus, sizeof cpus);
    gpu = got.order.gpus.items;
    entry = got.order.work.work.data.items;
    if (gpu == NULL || entry == NULL) {
        fail_msg("the lists were lost");
    } else {
        assert_string_equal(gpu->id, "GPU-1");
        assert_string_equal(entry->name, "corpora");
    }
    assert_true(got.order.in_slurm);
    assert_true(got.order.for_another);
    assert_null(got.order.work.work.setup);
    buf_free(&frame);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_has_its_row),
        cmocka_unit_test(the_page_describes_every_message),
        cmocka_unit_test(an_order_survives_its_journey),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
