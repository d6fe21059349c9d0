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
        { "resources: {memory: 1GiB}\nretry: {grow: {memory: 1.5}, up_to: {memory: 3GiB}}\n",
          "1 CPU, 1 GiB of memory||||up to 3 times after oom; after oom with 1.5 times the memory, up to "
          "3 GiB|" },
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

static void what_is_far_more_than_was_needed_is_told_with_figures(void **state)
{
    enum { GIB = 1024, HOUR = 60 };
    static const struct {
        int64_t memory_mib, minutes, jobs, peak_mib, longest_minutes;
        const char *wanted;
    } cases[] = {
        { 8 * GIB, 4 * HOUR, 24, 1229, 35,
          "the 24 jobs of this project that ended before used at most 1.2 GiB and 35 min of the "
          "8 GiB and 4 h asked for: resources: {memory: 2GiB, time: 80min} would do" },
        { 8 * GIB, HOUR, 3, 400, 35,
          "the 3 jobs of this project that ended before used at most 400 MiB of the 8 GiB asked "
          "for: resources: {memory: 768MiB} would do" },
        { 0, 4 * HOUR, 3, 400, 20,
          "the 3 jobs of this project that ended before used at most 20 min of the 4 h asked for: "
          "resources: {time: 50min} would do" },
        { 8 * GIB, 4 * HOUR, 3, 3 * GIB, 90, "" }, /* not so far */
        { 8 * GIB, 4 * HOUR, 2, 1, 1, "" },        /* few jobs */
        { 500, 14, 9, 1, 1, "" },                  /* it costs nobody much */
        { 8 * GIB, 4 * HOUR, 3, 0, 0, "" },        /* not known */
        { 0, 0, 3, 1, 1, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct resources r = { .memory_bytes = cases[i].memory_mib << 20,
                                     .time_ms = cases[i].minutes * 60000 };
        struct buf out = { 0 };

        describe_unused(&out, &r, cases[i].jobs, cases[i].peak_mib << 20,
                        cases[i].longest_minutes * 60000);
        assert_string_equal(buf_text(&out), cases[i].wanted);
        buf_free(&out);
    }
}

static void a_time_that_is_missing_is_missed_by_pilots_alone(void **state)
{
    static const struct {
        const char *more;
        bool is_said;
    } cases[] = {
        { "", false },
        { "slurm: {partition: p}\n", true },
        { "slurm: {partition: p}\nresources: {time: 1h}\n", false },
        { "slurm: [{partition: p}, {partition: q, extra: [--time=60]}]\n", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        const char *text = arena_printf(a, "project: p\ncommand: x\n%s", cases[i].more);
        struct buf out = { 0 };
        struct spec s;

        assert_int_equal(spec_parse("f", NULL, text, strlen(text), a, &s, NULL), 0);
        describe_pilots_time(&out, &s);
        assert_int_equal(out.n > 0, cases[i].is_said);
        buf_free(&out);
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
        cmocka_unit_test(what_is_far_more_than_was_needed_is_told_with_figures),
        cmocka_unit_test(a_time_that_is_missing_is_missed_by_pilots_alone),
        cmocka_unit_test(hours_are_hours_from_one_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
