/* SPDX-License-Identifier: MIT */
/* jobspec.c - tests of what makes two jobs the same, and of names on the share */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/proto/jobspec.h"
#include "common/proto/layout.h"

static bool same(const struct jobspec *x, const struct jobspec *y)
{
    struct digest dx, dy;

    jobspec_digest(x, &dx);
    jobspec_digest(y, &dy);
    return memcmp(&dx, &dy, sizeof dx) == 0;
}

static void test_command_setup_env_source_and_data_make_a_job_another_one(void **state)
{
    struct env_entry env = { "A", "1" };
    struct data_entry data = { "corpora", { .tree = { { 7 } } }, NULL };
    const struct jobspec base = { .command = "python3 train.py" };
    struct jobspec other;

    (void)state;
    other = base;
    assert_true(same(&base, &other));
    other.command = "python3 train.py ";
    assert_false(same(&base, &other));
    other = base;
    other.setup = "true";
    assert_false(same(&base, &other));
    other = base;
    other.env = (struct list){ &env, 1 };
    assert_false(same(&base, &other));
    other = base;
    other.source.tree.bytes[0] = 1;
    assert_false(same(&base, &other));
    other = base;
    other.data = (struct list){ &data, 1 };
    assert_false(same(&base, &other));
}

static void test_where_its_source_and_data_lie_makes_no_difference(void **state)
{
    struct data_entry here = { "corpora", { { { 7 } }, { { 1 } }, 3, 9 }, NULL };
    struct data_entry there = { "corpora", { { { 7 } }, { { 2 } }, 3, 9 }, NULL };
    const struct jobspec base = { .command = "x",
                                  .source = { { { 5 } }, { { 1 } }, 1, 2 },
                                  .data = { &here, 1 } };
    struct jobspec other = base;

    (void)state;
    other.source.id.bytes[0] = 2;
    other.data.items = &there;
    assert_true(same(&base, &other));
    there.set.tree.bytes[0] = 8;
    assert_false(same(&base, &other));
}

static void test_what_of_the_source_counts_may_be_told_apart(void **state)
{
    const struct jobspec base = { .command = "x", .source = { .tree = { { 5 } } } };
    struct jobspec other = base, another = base;

    (void)state;
    other.source.tree.bytes[0] = 6;
    other.same_source.bytes[0] = 5;
    assert_true(same(&base, &other));
    another.source.tree.bytes[0] = 7;
    another.same_source.bytes[0] = 5;
    assert_true(same(&other, &another));
    another.same_source.bytes[0] = 8;
    assert_false(same(&other, &another));
}

/* A copy of it for nodes is one of data, and counts as little. */
static void test_the_environment_counts_only_where_it_decides(void **state)
{
    struct data_entry data = { .name = ".venv", .set.tree = { { 7 } } };
    const char *modules[] = { "cuda/12.4" };
    const struct jobspec base = { .command = "x" };
    struct environment venv = { .path = "/a/.venv", .kind = "venv", .python = "3.11" };
    struct jobspec in_venv = base, staged, other;

    (void)state;
    in_venv.environment = venv;
    assert_true(same(&base, &in_venv));
    staged = in_venv;
    staged.environment.data = ".venv";
    staged.data = (struct list){ &data, 1 };
    assert_true(same(&base, &staged));
    other = base;
    other.environment.modules = (struct list){ modules, 1 };
    assert_false(same(&base, &other)); /* the sweep file names it, as a line of setup: would */
    other.environment.modules_were_loaded = true;
    assert_true(same(&base, &other));

    in_venv.environment.decides = true;
    assert_false(same(&base, &in_venv));
    other = in_venv;
    other.environment.python = "3.12";
    assert_false(same(&in_venv, &other));
    staged.environment.decides = true;
    other = staged;
    other.environment.path = "/b/.venv";
    assert_true(same(&staged, &other)); /* what is in it is the same */
    data.set.tree.bytes[0] = 8;
    other.data = (struct list){ &(struct data_entry){ .name = ".venv", .set.tree = { { 9 } } }, 1 };
    assert_false(same(&staged, &other));
}

static void test_a_container_makes_a_job_another_one(void **state)
{
    const struct jobspec base = { .command = "x", .container = "image.sif" };
    struct jobspec other = base;

    (void)state;
    other.container = "image2.sif";
    assert_false(same(&base, &other));
    other.container = NULL;
    assert_false(same(&base, &other));
}

static void test_resources_checkpoints_batches_and_gits_names_do_not(void **state)
{
    const char *passed[] = { "KEY" };
    const struct jobspec base = { .command = "x" };
    struct jobspec other = base;

    (void)state;
    other.resources = (struct resources){ 2000, 1000, 1 << 30, 3600000, 1 << 30 };
    other.checkpoint = (struct checkpoint){ "SIGUSR1", 60000, 600000, true };
    other.batch = 16;
    other.passed = (struct list){ passed, 1 };
    other.git_commit = "0123456789";
    other.git_dirty = true;
    assert_true(same(&base, &other));
}

static void test_retry_lists_causes_exit_codes_and_signals(void **state)
{
    static const struct {
        const char *on;
        enum cause cause;
        int64_t exit_code, signal;
        bool is_listed;
    } cases[] = {
        { "failed", CAUSE_FAILED, 3, SCHEMA_NONE, true },
        { "failed", CAUSE_OOM, SCHEMA_NONE, 9, false },
        { "oom", CAUSE_OOM, SCHEMA_NONE, 9, true },
        { "137", CAUSE_OOM, SCHEMA_NONE, 9, true },
        { "137", CAUSE_FAILED, 137, SCHEMA_NONE, true },
        { "137", CAUSE_FAILED, 9, SCHEMA_NONE, false },
        { "9", CAUSE_SIGNAL, SCHEMA_NONE, 9, false },
        { "3", CAUSE_FAILED, 33, SCHEMA_NONE, false },
        { "node-lost", CAUSE_NODE_LOST, SCHEMA_NONE, SCHEMA_NONE, true },
        { "node-lost", CAUSE_PREEMPTED, SCHEMA_NONE, SCHEMA_NONE, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *on[] = { "timeout", cases[i].on };
        struct retry r = { .max = 1, .on = { on, 2 } };

        if (retry_lists(&r, cases[i].cause, cases[i].exit_code, cases[i].signal) !=
            cases[i].is_listed)
            fail_msg("case %zu", i);
        r.on.n = 1;
        assert_false(retry_lists(&r, cases[i].cause, cases[i].exit_code, cases[i].signal));
    }
}

static void test_names_on_the_share(void **state)
{
    struct token token = { { 0xab, 0xcd } };
    struct buf b = { 0 };

    (void)state;
    layout_param_name(&b, 3);
    assert_string_equal(buf_text(&b), "param_003");
    buf_clear(&b);
    layout_param_name(&b, 12345);
    assert_string_equal(buf_text(&b), "param_12345");
    buf_clear(&b);
    layout_log(&b, "p", 7, "param_001", "x_num0", 1);
    assert_string_equal(buf_text(&b), "p/logs/7/param_001_x_num0.log");
    buf_clear(&b);
    layout_log(&b, "p", 7, "param_001", "x_num0", 2);
    assert_string_equal(buf_text(&b), "p/logs/7/param_001_x_num0.a2.log");
    buf_clear(&b);
    layout_failed(&b, "p", "param_001", "x_num0", 2);
    assert_string_equal(buf_text(&b), "p/failed/param_001/x_num0.a2");
    buf_clear(&b);
    layout_temporary(&b, "p/runs/param_001/x_num0", &token);
    assert_string_equal(buf_text(&b), "p/runs/param_001/.x_num0.abcd0000000000000000000000000000");
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_setup_env_source_and_data_make_a_job_another_one),
        cmocka_unit_test(test_where_its_source_and_data_lie_makes_no_difference),
        cmocka_unit_test(test_what_of_the_source_counts_may_be_told_apart),
        cmocka_unit_test(test_a_container_makes_a_job_another_one),
        cmocka_unit_test(test_the_environment_counts_only_where_it_decides),
        cmocka_unit_test(test_resources_checkpoints_batches_and_gits_names_do_not),
        cmocka_unit_test(test_retry_lists_causes_exit_codes_and_signals),
        cmocka_unit_test(test_names_on_the_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
