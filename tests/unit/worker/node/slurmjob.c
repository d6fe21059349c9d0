/* SPDX-License-Identifier: MIT */
/* slurmjob.c - tests of worker/node/slurmjob.c */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker/node/slurmjob.h"

enum { ENTRIES_MAX = 10, GPUS = 3 };

struct entry {
    const char *name, *value;
};

static struct entry environment[ENTRIES_MAX + 1];

static const char *get(const char *name)
{
    for (const struct entry *e = environment; e->name != NULL; e++)
        if (strcmp(e->name, name) == 0)
            return e->value;
    return NULL;
}

static void what_slurm_gave_is_read_from_the_environment(void **state)
{
    static const struct {
        struct entry entries[ENTRIES_MAX];
        const char *id, *node;
        int64_t cpus, memory_mib, ends_at_ms;
        const char *gpus[GPUS + 1];
    } cases[] = {
        { .id = NULL },
        { .entries = { { "SLURM_JOB_ID", "17" },
                       { "SLURMD_NODENAME", "node1" },
                       { "SLURM_CPUS_ON_NODE", "16" },
                       { "SLURM_MEM_PER_NODE", "2048" },
                       { "SLURM_JOB_END_TIME", "1795298400" } },
          .id = "17",
          .node = "node1",
          .cpus = 16,
          .memory_mib = 2048,
          .ends_at_ms = INT64_C(1795298400000) },
        { .entries = { { "SLURM_JOB_ID", "30" },
                       { "SLURM_ARRAY_JOB_ID", "25" },
                       { "SLURM_ARRAY_TASK_ID", "1" },
                       { "SLURM_JOB_CPUS_PER_NODE", "4(x2)" },
                       { "SLURM_MEM_PER_CPU", "100" } },
          .id = "25_1",
          .cpus = 4,
          .memory_mib = 400 },
        /* nobody but a job with GPUs has these */
        { .entries = { { "SLURM_JOB_ID", "17" }, { "CUDA_VISIBLE_DEVICES", "0,1" } }, .id = "17" },
        { .entries = { { "SLURM_JOB_ID", "17" },
                       { "SLURM_JOB_GPUS", "2,5" },
                       { "SLURM_GPUS_ON_NODE", "2" },
                       { "SLURM_MEM_PER_GPU", "10" },
                       { "CUDA_VISIBLE_DEVICES", "0,1" } },
          .id = "17",
          .memory_mib = 20,
          .gpus = { "0", "1" } },
        { .entries = { { "SLURM_JOB_ID", "17" }, { "SLURM_JOB_GPUS", "2,5" } },
          .id = "17",
          .gpus = { "2", "5" } },
        { .entries = { { "SLURM_JOB_ID", "17" }, { "SLURM_GPUS_ON_NODE", "3" } },
          .id = "17",
          .gpus = { "0", "1", "2" } },
        /* all of the node's memory; what is no number */
        { .entries = { { "SLURM_JOB_ID", "17" },
                       { "SLURM_MEM_PER_NODE", "0" },
                       { "SLURM_CPUS_ON_NODE", "x" },
                       { "SLURMD_NODENAME", "" },
                       { "SLURM_JOB_END_TIME", "-5" } },
          .id = "17" },
        { .entries = { { "SLURM_JOB_ID", "17; true" } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slurm_job j;
        size_t n = 0;

        memcpy(environment, cases[i].entries, sizeof cases[i].entries);
        slurm_job_read(&j, get);
        assert_true((j.id == NULL) == (cases[i].id == NULL));
        if (j.id != NULL)
            assert_string_equal(j.id, cases[i].id);
        assert_true((j.node == NULL) == (cases[i].node == NULL));
        if (j.node != NULL)
            assert_string_equal(j.node, cases[i].node);
        assert_int_equal(j.cpus, cases[i].cpus);
        assert_int_equal(j.memory_bytes, cases[i].memory_mib << 20);
        assert_int_equal(j.ends_at_ms, cases[i].ends_at_ms);
        while (cases[i].gpus[n] != NULL)
            n++;
        assert_int_equal(j.n_gpus, n);
        for (size_t k = 0; k < n; k++)
            assert_string_equal(j.gpus[k], cases[i].gpus[k]);
        slurm_job_free(&j);
    }
}

static void one_that_starts_soon_knows_its_end_by_when_it_was_submitted(void **state)
{
    static const struct {
        int64_t submitted_at_ms, time_ms, now_ms, ends_at_ms;
    } cases[] = {
        { 1000, 600000, 1000, 601000 },
        { 1000, 600000, 13000, 601000 },
        { 1000, 600000, 13001, 0 },
        { 1000, 600000, 999, 0 }, /* clocks differ */
        { 0, 600000, 1000, 0 },
        { 1000, 0, 1000, 0 },
        { 1000, 3600000, 73000, 3601000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(
            slurm_job_soonest_end(cases[i].submitted_at_ms, cases[i].time_ms, cases[i].now_ms),
            cases[i].ends_at_ms);
}

static void the_end_of_its_time_is_read_from_what_scontrol_shows(void **state)
{
    static const struct {
        const char *text;
        int64_t ends_at_ms;
    } cases[] = {
        { "JobId=17 StartTime=2026-11-21T21:00:00 EndTime=2026-11-21T22:00:00 Deadline=N/A\n",
          INT64_C(1795298400000) },
        { "JobId=17 EndTime=Unknown Deadline=N/A\n", 0 },
        { "JobId=17 PreemptEligibleTime=2026-11-21T21:00:00\n", 0 },
        { "", 0 },
    };

    (void)state;
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(slurm_job_parse_end(cases[i].text), cases[i].ends_at_ms);
}

static void a_job_that_is_ended_is_told_by_its_output(void **state)
{
#define CANCELLED \
    "slurmstepd-node1: error: *** JOB 62 ON node1 CANCELLED AT 2026-11-26T18:10:06 ***\n"
    static const struct {
        const char *text;
        bool is_restarted, is_ended;
    } cases[] = {
        { "", false, false },
        { "modules: cuda/12.4 loaded\n", false, false },
        { CANCELLED, false, true },
        { "modules: cuda/12.4 loaded\n" CANCELLED, false, true },
        { "slurmstepd: error: *** JOB 7_1 ON n CANCELLED AT 2026-11-26T18:10:06 DUE TO PREEMPTION ***\n",
          false, true },
        { "slurmstepd: error: *** JOB 7 ON n CANCELLED AT 2026-11-26T18:10:06 DUE TO JOB REQUEUE ***\n",
          true, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FILE *output = tmpfile();

        assert_non_null(output);
        assert_true(fputs(cases[i].text, output) >= 0 && fflush(output) == 0);
        environment[0] = cases[i].is_restarted ? (struct entry){ "SLURM_RESTART_COUNT", "1" }
                                               : (struct entry){ NULL, NULL };
        environment[1].name = NULL;
        assert_int_equal(slurm_job_is_ended(get, fileno(output)), cases[i].is_ended);
        fclose(output);
    }
    assert_false(slurm_job_is_ended(get, -1));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_slurm_gave_is_read_from_the_environment),
        cmocka_unit_test(one_that_starts_soon_knows_its_end_by_when_it_was_submitted),
        cmocka_unit_test(the_end_of_its_time_is_read_from_what_scontrol_shows),
        cmocka_unit_test(a_job_that_is_ended_is_told_by_its_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
