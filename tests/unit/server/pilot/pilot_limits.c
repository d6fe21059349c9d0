/* SPDX-License-Identifier: MIT */
/* pilot_limits.c - what accounts and QOS allow a user's pilots */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "server/pilot/pilots_internal.h"

#define HOUR (INT64_C(3600) * 1000)
#define GIB  (INT64_C(1) << 30)

/* As sacctmgr prints them; a user's row has what is inherited. */
static const char assocs[] = "skynet|root|||normal||||||||cpu=400|\n"
                             "skynet|lab|||normal,long||5||7|20||root|cpu=64,mem=256G|\n"
                             "skynet|lab|ann||normal,long||5|9|||1-00:00:00|||cpu=8,gres/gpu=2\n"
                             "skynet|lab|ann|short|normal,long||3|||||||\n"
                             "skynet|lab|ben||normal,long|long|5|||||||\n"
                             "skynet|free|||normal|||||||root||\n"
                             "skynet|free|ann||normal|||||||||\n";
static const char qos[] = "normal||||||00:00:00|||||\n"
                          "long|2|4|||02:00:00|00:00:00||||cpu=16|mem=1024\n"
                          "crowd||||3||00:00:00|||||\n";
static const char users[] = "ann|lab\nben|lab\n";

static const struct known {
    const char *sentence;
    struct limits_of of;
    int64_t submit, run;
    const char *submit_what, *run_what;
    struct plan_size size;
    int64_t group_cpus, max_time_ms;
} cases[] = {
    { "the default account's, which has it from its parents in part",
      { "ann", NULL, NULL, "debug", NULL },
      9,
      5,
      "MaxSubmitJobs of account lab",
      "MaxJobs of account lab",
      { 8000, 2000, 256 * GIB },
      64,
      24 * HOUR },
    { "one for the partition is another",
      { "ann", NULL, NULL, "short", NULL },
      20,
      3,
      "GrpSubmitJobs of account lab",
      "MaxJobs of account lab",
      { 64000, 0, 256 * GIB },
      64,
      SLURM_NONE },
    { "of another account there are others",
      { "ann", "free", NULL, "short", NULL },
      SLURM_NONE,
      SLURM_NONE,
      NULL,
      NULL,
      { 400000, 0, 0 },
      400,
      SLURM_NONE },
    { "those of a QOS come before an account's",
      { "ann", "lab", "long", "debug", NULL },
      4,
      2,
      "MaxSubmitJobsPerUser of QOS long",
      "MaxJobsPerUser of QOS long",
      { 8000, 2000, GIB },
      16,
      2 * HOUR },
    { "there is a QOS by default",
      { "ben", NULL, NULL, "debug", NULL },
      4,
      2,
      "MaxSubmitJobsPerUser of QOS long",
      "MaxJobsPerUser of QOS long",
      { 16000, 0, GIB },
      16,
      2 * HOUR },
    { "a partition has a QOS, too, and groups count all the same",
      { "ann", "free", "long", "debug", "crowd" },
      3,
      2,
      "GrpSubmitJobs of QOS crowd",
      "MaxJobsPerUser of QOS long",
      { 16000, 0, GIB },
      16,
      2 * HOUR },
    { "of somebody unknown nothing is known",
      { "joe", NULL, NULL, "debug", NULL },
      SLURM_NONE,
      SLURM_NONE,
      NULL,
      NULL,
      { 0, 0, 0 },
      0,
      SLURM_NONE },
};

static struct slurm_accounts read_all(struct arena *a)
{
    struct slurm_accounts all = { { 0 }, { 0 }, { 0 } };

    assert_int_equal(slurm_read(SLURM_ASSOCS, assocs, strlen(assocs), a, &all.assocs, NULL), 0);
    assert_int_equal(slurm_read(SLURM_QOS, qos, strlen(qos), a, &all.qos, NULL), 0);
    assert_int_equal(slurm_read(SLURM_USERS, users, strlen(users), a, &all.users, NULL), 0);
    assert_int_equal(all.assocs.n_passed_over + all.qos.n_passed_over + all.users.n_passed_over, 0);
    return all;
}

static void check(const char *sentence, const char *what, int64_t is, int64_t expected)
{
    if (is != expected)
        fail_msg("%s: %s is %lld, not %lld", sentence, what, (long long)is, (long long)expected);
}

static void check_text(const char *sentence, const char *is, const char *expected)
{
    if ((is == NULL) != (expected == NULL) || (is != NULL && strcmp(is, expected) != 0))
        fail_msg("%s: '%s', not '%s'", sentence, is, expected);
}

static void each_has_its_limits(void **state)
{
    struct arena *a = arena_create();
    struct slurm_accounts all = read_all(a);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct known *k = &cases[i];
        struct pilot_limits is = pilot_limits(&all, &k->of, a);

        check(k->sentence, "submit", is.submit, k->submit);
        check(k->sentence, "run", is.run, k->run);
        check_text(k->sentence, is.submit_what, k->submit_what);
        check_text(k->sentence, is.run_what, k->run_what);
        check(k->sentence, "cpus", is.size.cpus_milli, k->size.cpus_milli);
        check(k->sentence, "gpus", is.size.gpus_milli, k->size.gpus_milli);
        check(k->sentence, "memory", is.size.memory_bytes, k->size.memory_bytes);
        check(k->sentence, "cpus of all", is.group_cpus, k->group_cpus);
        check(k->sentence, "time", is.max_time_ms, k->max_time_ms);
    }
    arena_destroy(a);
}

static void a_partitions_qos_counts_where_one_has_limits(void **state)
{
    static const struct {
        const char *qos;
        bool has_limits;
    } of[] = {
        { "", false },
        { "normal||||||00:00:00|||||\nhigh||||||00:01:00|normal||||\n", false },
        { "normal||||||00:00:00|||||\nlong|||||02:00:00|00:00:00|||||\n", true },
        { "two|2|||||00:00:00|||||\n", true },
        { "wide||||||00:00:00||||cpu=16|\n", true },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct slurm_accounts all = { { 0 }, { 0 }, { 0 } };

        assert_int_equal(slurm_read(SLURM_QOS, of[i].qos, strlen(of[i].qos), a, &all.qos, NULL), 0);
        assert_int_equal(all.qos.n_passed_over, 0);
        assert_int_equal(limits_any_qos(&all), of[i].has_limits);
    }
    arena_destroy(a);
}

static void without_accounting_there_are_none(void **state)
{
    const struct slurm_accounts none = { { 0 }, { 0 }, { 0 } };
    struct arena *a = arena_create();
    struct pilot_limits is = pilot_limits(&none, &cases[0].of, a);

    (void)state;
    assert_int_equal(is.submit, SLURM_NONE);
    assert_int_equal(is.run, SLURM_NONE);
    arena_destroy(a);
}

static void a_partition_is_as_small_as_its_limits(void **state)
{
    struct plan_partition p = { { 16000, 8000, 64 * GIB }, 48, 48 * HOUR, 4 * HOUR, false, { 0 } };
    const struct pilot_limits limits = { .size = { 8000, 0, 128 * GIB },
                                         .group_cpus = 20,
                                         .max_time_ms = HOUR };

    (void)state;
    limits_narrow(&limits, &p);
    assert_int_equal(p.node.cpus_milli, 8000);
    assert_int_equal(p.node.gpus_milli, 8000);
    assert_int_equal(p.node.memory_bytes, 64 * GIB);
    assert_int_equal(p.total_cpus, 20);
    assert_int_equal(p.max_time_ms, HOUR);
    assert_int_equal(p.default_time_ms, HOUR);
    assert_true(p.is_time_needed);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_limits),
        cmocka_unit_test(a_partitions_qos_counts_where_one_has_limits),
        cmocka_unit_test(without_accounting_there_are_none),
        cmocka_unit_test(a_partition_is_as_small_as_its_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
