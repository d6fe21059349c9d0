/* SPDX-License-Identifier: MIT */
/* describe.c - tests of what was understood, in words */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "client/spec/describe.h"

static void expect_parts(const struct spec *s, const char *wanted)
{
    struct buf out = { 0 };

    describe_resources(&out, &s->work.resources);
    buf_add_char(&out, '|');
    describe_nodes(&out, s);
    buf_add_char(&out, '|');
    describe_pools(&out, s);
    buf_add_char(&out, '|');
    describe_batch(&out, &s->work);
    buf_add_char(&out, '|');
    describe_retry(&out, &s->retry);
    buf_add_char(&out, '|');
    describe_checkpoint(&out, &s->work.checkpoint);
    assert_string_equal(buf_text(&out), wanted);
    buf_free(&out);
}

static void what_a_file_says_is_said_in_words(void **state)
{
    static const struct {
        const char *more, *wanted;
    } cases[] = {
        { "", "1 CPU, memory not limited|||||" },
        { "resources: {cpus: 0.5, gpus: 1, memory: 4GiB, time: 2h}\n",
          "0.5 CPUs, 1 GPU, 4 GiB of memory, at most 2 h|||||" },
        { "resources: {gpus: 2}\nnodes: []\n", "1 CPU, 2 GPUs, memory not limited|none||||" },
        { "nodes: [a, '@b']\nbatch: 8\n",
          "1 CPU, memory not limited|a, @b||8 configurations to a process||" },
        { "slurm: [{partition: p}, {partition: q, account: a, qos: b}]\n",
          "1 CPU, memory not limited||p, q (account a, qos b)|||" },
        { "retry: {max: 1}\n", "1 CPU, memory not limited||||once after failed|" },
        { "retry: {max: 3, on: [oom, timeout, 7]}\n",
          "1 CPU, memory not limited||||up to 3 times after oom, timeout or 7|" },
        { "checkpoint: {signal: USR1}\n",
          "1 CPU, memory not limited|||||SIGUSR1, then 1 min to end" },
        { "checkpoint: {every: 10min}\n", "1 CPU, memory not limited|||||copied every 10 min" },
        { "checkpoint: {signal: TERM, grace: 5s, every: 2s}\n",
          "1 CPU, memory not limited|||||SIGTERM, then 5 s to end; copied every 2 s" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        const char *text = arena_printf(a, "project: p\ncommand: x\n%s", cases[i].more);
        struct spec s;

        assert_int_equal(spec_parse("f", NULL, text, strlen(text), a, &s, NULL), 0);
        expect_parts(&s, cases[i].wanted);
        arena_destroy(a);
    }
}

static void hours_are_hours_from_one_on(void **state)
{
    static const struct {
        double hours;
        const char *wanted;
    } cases[] = {
        { 0, "about 0 ms of CPU time" },
        { 0.0001, "about 360 ms of CPU time" },
        { 40.0 / 3600, "about 40 s of CPU time (0.011 CPU-hours)" },
        { 0.5, "about 30 min of CPU time (0.5 CPU-hours)" },
        { 1, "about 1.0 CPU-hours" },
        { 12.34, "about 12.3 CPU-hours" },
        { 12345.6, "about 12346 CPU-hours" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        describe_time(&out, cases[i].hours, "CPU");
        assert_string_equal(buf_text(&out), cases[i].wanted);
        buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_file_says_is_said_in_words),
        cmocka_unit_test(hours_are_hours_from_one_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
