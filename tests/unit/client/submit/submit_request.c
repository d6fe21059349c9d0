/* SPDX-License-Identifier: MIT */
/* submit_request.c - tests of what is told about a sweep that is submitted */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/submit/submit_request.h"
#include "common/data/json.h"

static void parse(struct submit_request *o, const char *text, struct arena *a)
{
    struct err e = { 0 };

    if (spec_parse("f", NULL, text, strlen(text), a, &o->spec, &e) < 0)
        fail_msg("%s", e.text);
}

#define NO_TREE "0000000000000000000000000000000000000000000000000000000000000000"
#define WORK \
    "\"command\":\"x\",\"source\":{\"tree\":\"" NO_TREE "\",\"files\":0,\"bytes\":0},\"data\":{},"

static void expect_summary(const char *text, const char *wanted)
{
    struct arena *a = arena_create();
    struct submit_request o = { .configs = 12 };
    struct buf found = { 0 }, compact = { 0 };
    struct value v;

    parse(&o, text, a);
    submit_request_add_summary(&o, &o.spec.work, 7, &found);
    assert_int_equal(json_read(buf_text(&found), found.n, a, &v, NULL), 0);
    json_add_value(&compact, &v);
    assert_string_equal(buf_text(&compact), wanted);
    buf_free(&compact);
    buf_free(&found);
    arena_destroy(a);
}

static void the_summary_has_the_values_of_a_grid(void **state)
{
    (void)state;
    expect_summary("project: p\ncommand: x\nreps: 2\n"
                   "params: {lr: [0.1, 1e-3], a: adam, l: {value: [1, 2]}, r: {range: [1, 3]}}\n",
                   "{\"v\":1,\"sweep\":7,\"configs\":12,\"reps\":2,"
                   "\"git\":{\"commit\":null,\"dirty\":false}," WORK
                   "\"method\":\"grid\",\"params\":{"
                   "\"lr\":[0.1,0.001],\"a\":[\"adam\"],\"l\":[[1,2]],\"r\":[1,2,3]}}");
}

static void the_summary_has_the_distributions_of_samples(void **state)
{
    (void)state;
    expect_summary(
        "project: p\ncommand: x\nmethod: sobol\nsamples: 12\nseed: 5\n"
        "params: {u: {uniform: [0, 0.5]}, i: {int_uniform: [1, 8]}, "
        "w: {log_int: [8, 64]}, c: {choice: [a, null]}, n: {normal: [0, 1]}, l: [1]}\n",
        "{\"v\":1,\"sweep\":7,\"configs\":12,\"reps\":1,"
        "\"git\":{\"commit\":null,\"dirty\":false}," WORK "\"method\":\"sobol\",\"samples\":12,"
        "\"seed\":5,\"params\":{\"u\":{\"uniform\":[0.0,0.5]},"
        "\"i\":{\"int_uniform\":[1,8]},\"w\":{\"log_int\":[8,64]},\"c\":{\"choice\":[\"a\",null]},"
        "\"n\":{\"normal\":[0.0,1.0]},\"l\":[1]}}");
}

static void long_lists_are_not_written_out(void **state)
{
    (void)state;
    expect_summary("project: p\ncommand: x\nparams: {r: {range: [1, 5000]}}\n",
                   "{\"v\":1,\"sweep\":7,\"configs\":12,\"reps\":1,"
                   "\"git\":{\"commit\":null,\"dirty\":false}," WORK
                   "\"method\":\"grid\",\"params\":{"
                   "\"r\":{\"n\":5000,\"first\":1,\"last\":5000}}}");
}

static void the_server_is_told_what_the_file_says(void **state)
{
    struct arena *a = arena_create();
    struct submit_request o = { .configs = 1, .reuse = REUSE_PARAMS };
    struct msg_submit_begin begin;

    (void)state;
    parse(&o,
          "project: p\nname: n\ncommand: x\nreps: 3\npriority: -1\nnodes: []\n"
          "slurm: {partition: s}\nretry: {max: 2, on: oom}\nresults: {metric: m, goal: min}\n"
          "checkpoint: {signal: USR1}\nbatch: 4\ncontainer: /i.sif\n",
          a);
    begin = submit_request_begin(&o, &o.spec.work);
    assert_string_equal(begin.project, "p");
    assert_string_equal(begin.name, "n");
    assert_int_equal(begin.reps, 3);
    assert_int_equal(begin.priority, -1);
    assert_int_equal(begin.reuse, REUSE_PARAMS);
    assert_true(begin.no_nodes);
    assert_int_equal(begin.pools.n, 1);
    assert_int_equal(begin.retry.max, 2);
    assert_int_equal(begin.retry.on.n, 1);
    assert_string_equal(begin.ranking.metric, "m");
    assert_int_equal(begin.ranking.goal, GOAL_MIN);
    assert_string_equal(begin.work.checkpoint.signal, "SIGUSR1");
    assert_int_equal(begin.work.batch, 4);
    assert_string_equal(begin.work.container, "/i.sif");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_has_the_values_of_a_grid),
        cmocka_unit_test(the_summary_has_the_distributions_of_samples),
        cmocka_unit_test(long_lists_are_not_written_out),
        cmocka_unit_test(the_server_is_told_what_the_file_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
