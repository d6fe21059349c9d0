/* SPDX-License-Identifier: MIT */
/* slurmfailure.c - tests of what Slurm says when a command fails */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/slurm/slurmfailure.h"
#include "tests/unit/doc.h"

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
      1, SLURM_NOT_NOW, NULL },
    { "sbatch: error: Batch job submission failed: Required partition not available (inactive or "
      "drain)\n",
      1, SLURM_NOT_NOW, NULL },
    { "sbatch: error: QOSMaxSubmitJobPerUserLimit\n"
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
      "limit, user's size and/or time limits)\n",
      1, SLURM_NOT_NOW, NULL },
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
      SLURM_UNCLEAR, "Batch job submission failed: Something that nobody has heard of" },
    { "sbatch: No such file or directory\n", 127, SLURM_NOT_HERE,
      "sbatch: No such file or directory" },
    { "sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
      "sbatch: error: fetch_config: DNS SRV lookup failed\n"
      "sbatch: fatal: Could not establish a configuration source\n",
      1, SLURM_NOT_HERE, NULL },
    { "", 1, SLURM_UNCLEAR, "it failed without a word" },
    { "", -1, SLURM_AWAY, "it was killed" },
    { "a\x1b[31m\n", 1, SLURM_UNCLEAR, "a [31m" },
    /* which once held up every pool of every user */
    { "sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification\n",
      1, SLURM_REFUSED, NULL },
    { "sbatch: error: Batch job submission failed: Invalid GRES specification (with and without type "
      "identification)\n",
      1, SLURM_REFUSED, NULL },
    { "sbatch: error: Batch job submission failed: Requested partition configuration not available "
      "now\n",
      1, SLURM_NOT_NOW, NULL },
    { "sbatch: error: QOSMaxCpuPerUserLimit\n"
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
      "limit, user's size and/or time limits)\n",
      1, SLURM_NOT_NOW, NULL },
    { "sbatch: error: AssocMaxWallDurationPerJobLimit\n"
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
      "limit, user's size and/or time limits)\n",
      1, SLURM_REFUSED, NULL },
    /* a site's wrapper */
    { "Welcome. Jobs without --account go to lab.\n"
      "sbatch: error: Batch job submission failed: Invalid qos specification\nBye.\n",
      1, SLURM_REFUSED, "Batch job submission failed: Invalid qos specification" },
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

static void test_one_that_was_killed_is_tried_again(void **state)
{
    struct slurm_result full = { .exit_code = -1, .is_late = true };
    struct slurm_result late = { .exit_code = -1, .is_late = true };
    struct slurm_result long_one = { .exit_code = -1, .is_too_long = true };
    struct arena *a = arena_create();

    (void)state;
    assert_int_equal(slurm_failure_of(&late), SLURM_AWAY);
    assert_string_equal(slurm_failure_words(&late, a), "it did not answer in time");
    assert_int_equal(slurm_failure_of(&long_one), SLURM_AWAY);
    assert_string_equal(slurm_failure_words(&long_one, a), "it said more than is read");
    /* sbatch would go on asking for minutes, and says why. */
    buf_add_str(&full.said, "sbatch: error: Slurm temporarily unable to accept job, sleeping and "
                            "retrying\n");
    assert_int_equal(slurm_failure_of(&full), SLURM_NOT_NOW);
    buf_free(&full.said);
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
        [SLURM_NOT_NOW] = "not now",   [SLURM_REFUSED] = "refused",
        [SLURM_NOT_HERE] = "not here", [SLURM_NO_SUCH_JOB] = "no such job",
        [SLURM_UNCLEAR] = "unclear",
    };
    struct slurm_result result = { .exit_code = atoi(exit_code) };
    char text[4096];

    text[fread(text, 1, sizeof text - 1, stdin)] = '\0';
    buf_add_str(&result.said, text);
    puts(names[slurm_failure_of(&result)]);
    buf_free(&result.said);
    return 0;
}

/* A text that another one before it covers would never be found. */
static void test_each_row_can_be_reached(void **state)
{
    static const struct {
        const char *text;
        enum slurm_failure failure;
    } rows[] = {
#define X(text, failure, source) { text, failure },
        SLURM_FAILURES(X)
#undef X
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < i; k++)
            if (strstr(rows[i].text, rows[k].text) != NULL)
                fail_msg("'%s' covers '%s'", rows[k].text, rows[i].text);
}

/* ---- docs/slurm.md ---- */

static void add_failures(struct buf *out)
{
    static const char *const meanings[] = {
        [SLURM_AWAY] = "away",     [SLURM_NOT_NOW] = "not now",         [SLURM_REFUSED] = "never",
        [SLURM_NOT_HERE] = "away", [SLURM_NO_SUCH_JOB] = "no such job",
    };

    buf_add_str(out, "| the answer has | meaning | Slurm's name for it |\n|---|---|---|\n");
#define X(text, failure, source) \
    buf_printf(out, "| `%s` | %s | %s |\n", text, meanings[failure], source);
    SLURM_FAILURES(X)
#undef X
}

static void test_the_document_has_the_table(void **state)
{
    struct buf text = { 0 };

    (void)state;
    add_failures(&text);
    doc_must_contain("docs/slurm.md", buf_text(&text));
    buf_free(&text);
}

/* For who changes the table. */
static int print_table(void)
{
    struct buf text = { 0 };

    add_failures(&text);
    fputs(buf_text(&text), stdout);
    buf_free(&text);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_slurm_says_when_it_fails),
        cmocka_unit_test(test_one_that_was_killed_is_tried_again),
        cmocka_unit_test(test_words_have_an_end),
        cmocka_unit_test(test_each_row_can_be_reached),
        cmocka_unit_test(test_the_document_has_the_table),
    };

    if (argc == 3 && strcmp(argv[1], "--print") == 0)
        return print_failure(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--print") == 0)
        return print_table();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
