/* SPDX-License-Identifier: MIT */
/* proto.c - tests of the table of messages, and of docs/internals/protocol.md against it */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/proto/proto.h"
#include "tests/unit/doc.h"

static const char page[] = "docs/internals/protocol.md";

static const struct schema *const parts[] = {
    &work_schema,           &env_entry_schema,    &dataset_schema,        &data_entry_schema,
    &resources_schema,      &checkpoint_schema,   &metric_schema,         &retry_schema,
    &slurm_pool_schema,     &ranking_schema,      &folder_order_schema,   &target_schema,
    &sweep_info_schema,     &job_counts_schema,   &job_info_schema,       &job_result_schema,
    &node_info_schema,      &usage_info_schema,   &held_schema,           &token_entry_schema,
    &assignment_schema,     &sweep_work_schema,   &report_schema,         &verdict_entry_schema,
    &held_tree_schema,      &pool_trouble_schema, &dataset_info_schema,   &digest_entry_schema,
    &pilot_claim_schema,    &reused_job_schema,   &gone_job_schema,       &log_limit_schema,
    &guard_schema,          &early_config_schema, &stop_policy_schema,    &live_schema,
    &measured_value_schema, &gpu_use_schema,      &pilots_waiting_schema,
};

static void test_the_document_has_every_message_with_its_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < proto.n; i++) {
        const struct message *m = &proto.messages[i];
        struct buf heading = { 0 };

        buf_printf(&heading, "### %s", m->name);
        doc_must_describe(page, buf_text(&heading), m->schema);
        buf_free(&heading);
        if (m->reply >= 0) {
            struct buf reply = { 0 };

            buf_printf(&reply, "Answer: `%s`", proto.messages[m->reply].name);
            doc_must_contain(page, buf_text(&reply));
            buf_free(&reply);
        }
    }
}

static void test_the_document_has_every_part_with_its_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct buf heading = { 0 };

        buf_printf(&heading, "### %s", parts[i]->name);
        doc_must_describe(page, buf_text(&heading), parts[i]);
        buf_free(&heading);
    }
}

static void test_every_request_is_answered_and_only_requests_change_things(void **state)
{
    (void)state;
    for (size_t i = 0; i < proto.n; i++) {
        const struct message *m = &proto.messages[i];

        assert_true((m->flags & (FROM_CLIENT | FROM_WORKER | FROM_SERVER)) != 0);
        if ((m->flags & FROM_CLIENT) != 0)
            assert_true(m->reply >= 0);
        if ((m->flags & CHANGES) != 0)
            assert_true((m->flags & FROM_CLIENT) != 0);
    }
}

/* A report as a worker sends it comes out at the other end as it went in. */
static void test_a_report_survives_the_way(void **state)
{
    struct metric metric = { .name = "accuracy",
                             .value = 0.93,
                             .step = SCHEMA_NONE,
                             .min = 0.5,
                             .max = (double)NAN,
                             .n = 12 };
    struct report report = { .seq = 3,
                             .event = EV_DONE,
                             .exit_code = 0,
                             .cause = CAUSE_PREEMPTED,
                             .signal = SCHEMA_NONE,
                             .run_path = "digits/runs/param_001/x",
                             .metrics = { &metric, 1 } };
    struct msg_report sent = { .reports = { &report, 1 } };
    struct msg_report got;
    const struct report *r = NULL;
    const struct metric *m_got;
    struct frame_reader reader = { 0 };
    struct arena *a = arena_create();
    struct envelope m;
    struct bytes frame;
    struct buf out = { 0 };
    struct err e = { 0 };

    (void)state;
    token_make(&report.token);
    assert_int_equal(message_add(&out, &proto, MSG_REPORT, 7, 0, NULL, &sent, &e), 0);
    frame_feed(&reader, out.bytes, out.n);
    assert_int_equal(frame_next(&reader, &frame, &e), 1);
    assert_int_equal(message_read(frame, &proto, a, &m, &e), 0);
    assert_int_equal(m.type, MSG_REPORT);
    assert_int_equal(m.seq, 7);
    assert_int_equal(message_body(&proto, &m, a, &got, &e), 0);
    assert_int_equal(got.reports.n, 1);
    r = got.reports.items;
    assert_true(token_equal(&r->token, &report.token));
    assert_int_equal(r->event, EV_DONE);
    assert_int_equal(r->exit_code, 0);
    assert_true(r->signal == SCHEMA_NONE);
    assert_string_equal(r->run_path, report.run_path);
    assert_int_equal(r->cause, CAUSE_PREEMPTED);
    assert_int_equal(r->metrics.n, 1);
    m_got = r->metrics.items;
    assert_true(m_got->value == 0.93 && m_got->min == 0.5 && isnan(m_got->max));
    assert_int_equal(m_got->n, 12);
    buf_free(&out);
    frame_reader_free(&reader);
    arena_destroy(a);
}

static void test_an_unknown_type_and_a_missing_field_are_refused(void **state)
{
    static const struct schema empty = { "empty", 1, NULL, 0 };
    static const struct message rows[] = { { "nonsense", &empty, 0, -1 },
                                           { "hello", &empty, 0, -1 } };
    static const struct protocol other = { rows, 2 };
    struct arena *a = arena_create();
    struct msg_hello hello;
    struct envelope m;
    struct buf out = { 0 };
    struct err e = { 0 };

    (void)state;
    message_add(&out, &other, 0, 1, 0, NULL, "", &e);
    assert_int_equal(message_read((struct bytes){ out.bytes + 4, out.n - 4 }, &proto, a, &m, &e),
                     -1);
    assert_int_equal(e.kind, ERR_PROTOCOL);
    buf_clear(&out);
    message_add(&out, &other, 1, 1, 0, NULL, "", &e);
    assert_int_equal(message_read((struct bytes){ out.bytes + 4, out.n - 4 }, &proto, a, &m, &e),
                     0);
    assert_int_equal(message_body(&proto, &m, a, &hello, &e), -1);
    assert_non_null(strstr(e.text, "version"));
    buf_free(&out);
    arena_destroy(a);
}

static void test_a_worker_gives_several_signs_of_life_in_a_lease(void **state)
{
    const int64_t second = 1000;

    (void)state;
    assert_int_equal(proto_alive_every_ms(600 * second), 20 * second);
    assert_int_equal(proto_silent_after_ms(600 * second), 45 * second);
    assert_int_equal(proto_alive_every_ms(4 * second), 1 * second);
    assert_in_range(proto_silent_after_ms(4 * second), 2 * second, 3 * second);
    assert_int_equal(proto_alive_every_ms(1), 1);
}

/* Prints the rows for the document. */
static int print_document(void)
{
    for (size_t i = 0; i < proto.n + sizeof parts / sizeof parts[0]; i++) {
        const struct schema *s = i < proto.n ? proto.messages[i].schema : parts[i - proto.n];
        struct buf text = { 0 };

        doc_add_rows(&text, s);
        printf("### %s\n%s\n", s->name, buf_text(&text));
        buf_free(&text);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_document_has_every_message_with_its_fields),
        cmocka_unit_test(test_the_document_has_every_part_with_its_fields),
        cmocka_unit_test(test_every_request_is_answered_and_only_requests_change_things),
        cmocka_unit_test(test_a_report_survives_the_way),
        cmocka_unit_test(test_an_unknown_type_and_a_missing_field_are_refused),
        cmocka_unit_test(test_a_worker_gives_several_signs_of_life_in_a_lease),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0)
        return print_document();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
