/* SPDX-License-Identifier: MIT */
/* slurmrefusal.c - tests of why commands of Slurm's failed, by what Slurm 22.05 has said */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/slurm/slurmrefusal.h"

static const struct {
    const char *said;
    int exit_code;
    enum slurm_failure failure;
    const char *words;
} cases[] = {
    { "", 0, SLURM_WELL, NULL },
    { "sbatch: warning: something\n", 0, SLURM_WELL, NULL },
    { "sbatch: error: invalid partition specified: nope\n"
      "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
      1, SLURM_REFUSED,
      "invalid partition specified: nope; Batch job submission failed: Invalid partition name "
      "specified" },
    { "sbatch: error: Batch job submission failed: Invalid account or account/partition combination "
      "specified\n",
      1, SLURM_REFUSED,
      "Batch job submission failed: Invalid account or account/partition combination specified" },
    { "sbatch: error: Batch job submission failed: Invalid qos specification\n", 1, SLURM_REFUSED,
      "Batch job submission failed: Invalid qos specification" },
    { "sbatch: error: Batch job submission failed: Invalid feature specification\n", 1,
      SLURM_REFUSED, "Batch job submission failed: Invalid feature specification" },
    { "sbatch: error: Memory specification can not be satisfied\n"
      "sbatch: error: Batch job submission failed: Requested node configuration is not "
      "available\n",
      1, SLURM_REFUSED, NULL },
    { "sbatch: error: Batch job submission failed: Invalid job array specification\n", 1,
      SLURM_REFUSED, NULL },
    { "sbatch: error: AssocMaxSubmitJobLimit\n"
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
      "limit, user's size and/or time limits)\n",
      1, SLURM_FULL, NULL },
    { "sbatch: error: Batch job submission failed: Required partition not available (inactive or "
      "drain)\n",
      1, SLURM_FULL, NULL },
    { "sbatch: error: QOSMaxSubmitJobPerUserLimit\n"
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
      "limit, user's size and/or time limits)\n",
      1, SLURM_FULL, NULL },
    { "sbatch: error: QOSMaxCpuPerJobLimit\n"
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
      "limit, user's size and/or time limits)\n",
      1, SLURM_REFUSED, NULL },
    { "sbatch: error: say how many GPUs\n"
      "sbatch: error: Batch job submission failed: Unspecified error\n",
      1, SLURM_REFUSED, "say how many GPUs; Batch job submission failed: Unspecified error" },
    { "sbatch: error: Invalid --time specification\n", 255, SLURM_REFUSED,
      "Invalid --time specification" },
    { "sbatch: unrecognized option '--error: x'\nTry \"sbatch --help\" for more information\n", 1,
      SLURM_REFUSED,
      "sbatch: unrecognized option '--error: x'; Try \"sbatch --help\" for more information" },
    { "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
      "failure)\n",
      1, SLURM_AWAY, NULL },
    { "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", 1,
      SLURM_AWAY, "Unable to contact slurm controller (connect failure)" },
    { "slurm_load_jobs error: Socket timed out on send/recv operation\n", 1, SLURM_AWAY, NULL },
    { "slurm_load_jobs error: Invalid job id specified\n", 1, SLURM_NO_SUCH_JOB,
      "Invalid job id specified" },
    { "scancel: error: Kill job error on job id 1: Unable to contact slurm controller (connect "
      "failure)\n",
      8, SLURM_AWAY, NULL },
    { "sbatch: error: Batch job submission failed: Something that nobody has heard of\n", 1,
      SLURM_AWAY, "Batch job submission failed: Something that nobody has heard of" },
    { "sbatch: No such file or directory\n", 127, SLURM_NOT_HERE,
      "sbatch: No such file or directory" },
    { "sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
      "sbatch: error: fetch_config: DNS SRV lookup failed\n"
      "sbatch: fatal: Could not establish a configuration source\n",
      1, SLURM_NOT_HERE, NULL },
    { "", 1, SLURM_AWAY, "it failed without a word" },
    { "", -1, SLURM_AWAY, "it was killed" },
    { "a\x1b[31m\n", 1, SLURM_AWAY, "a [31m" },
};

static void test_what_slurm_says_when_it_fails(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slurm_result result = { .exit_code = cases[i].exit_code };
        char *words;

        buf_add_str(&result.said, cases[i].said);
        if (slurm_failure_of(&result) != cases[i].failure)
            fail_msg("%d: %s", (int)slurm_failure_of(&result), cases[i].said);
        words = slurm_failure_words(&result, a);
        if (cases[i].words != NULL)
            assert_string_equal(words, cases[i].words);
        assert_null(strchr(words, '\n'));
        buf_free(&result.said);
    }
    arena_destroy(a);
}

/* Whatever it has said until then. */
static void test_one_that_was_killed_is_tried_again(void **state)
{
    struct slurm_result late = { .exit_code = -1, .is_late = true };
    struct slurm_result long_one = { .exit_code = -1, .is_too_long = true };
    struct arena *a = arena_create();

    (void)state;
    assert_int_equal(slurm_failure_of(&late), SLURM_AWAY);
    assert_string_equal(slurm_failure_words(&late, a), "it did not answer in time");
    assert_int_equal(slurm_failure_of(&long_one), SLURM_AWAY);
    assert_string_equal(slurm_failure_words(&long_one, a), "it said more than is read");
    arena_destroy(a);
}

static void test_words_have_an_end(void **state)
{
    struct slurm_result result = { .exit_code = 1 };
    struct arena *a = arena_create();

    (void)state;
    for (int i = 0; i < 10000; i++)
        buf_add_str(&result.said, "sbatch: error: again\n");
    assert_true(strlen(slurm_failure_words(&result, a)) < 1100);
    buf_free(&result.said);
    arena_destroy(a);
}

/* For tests/functional/slurm_commands.sh: of a command that has ended with that code and has said
 * what is read. */
static int print_failure(const char *exit_code)
{
    static const char *const names[] = {
        [SLURM_WELL] = "well",         [SLURM_AWAY] = "away",
        [SLURM_FULL] = "full",         [SLURM_REFUSED] = "refused",
        [SLURM_NOT_HERE] = "not here", [SLURM_NO_SUCH_JOB] = "no such job",
    };
    struct slurm_result result = { .exit_code = atoi(exit_code) };
    char text[4096];

    text[fread(text, 1, sizeof text - 1, stdin)] = '\0';
    buf_add_str(&result.said, text);
    puts(names[slurm_failure_of(&result)]);
    buf_free(&result.said);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_slurm_says_when_it_fails),
        cmocka_unit_test(test_one_that_was_killed_is_tried_again),
        cmocka_unit_test(test_words_have_an_end),
    };

    if (argc == 3 && strcmp(argv[1], "--print") == 0)
        return print_failure(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
