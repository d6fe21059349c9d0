/* SPDX-License-Identifier: MIT */
/* failure.c - tests of the normalised cause of a failure */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/data/schema.h"
#include "common/proto/failure.h"

#define NONE SCHEMA_NONE

static char *name_of(struct failure f)
{
    struct buf name = { 0 };

    failure_add_name(&name, &f);
    return buf_take(&name);
}

static void a_cause_is_the_error_line_without_what_differs_from_job_to_job(void **state)
{
    static const struct {
        struct failure failure;
        const char *name;
    } cases[] = {
        { { CAUSE_FAILED, 1, NONE, "exit code 1: ModuleNotFoundError: No module named 'lion'" },
          "ModuleNotFoundError: No module named 'lion'" },
        { { CAUSE_FAILED, 1, NONE, "exit code 1: ValueError: lr=-0.5 is below 1e-05" },
          "ValueError: lr=N is below N" },
        { { CAUSE_FAILED, 1, NONE,
            "exit code 1: RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; "
            "23.65 GiB total capacity)" },
          "RuntimeError: CUDA out of memory. Tried to allocate N MiB (GPU N; N GiB total "
          "capacity)" },
        { { CAUSE_FAILED, 1, NONE,
            "exit code 1: FileNotFoundError: [Errno 2] No such file or directory: "
            "'/tmp/ludwig-0/run/3f/data/train.csv'" },
          "FileNotFoundError: [Errno N] No such file or directory: '.../train.csv'" },
        { { CAUSE_FAILED, 1, NONE, "exit code 1: KeyError: 'layer_17'" }, "KeyError: 'layer_N'" },
        { { CAUSE_FAILED, 1, NONE, "exit code 1: TypeError: <f at 0x7f3a10> is no number" },
          "TypeError: <f at N> is no number" },
        { { CAUSE_FAILED, 1, NONE, "exit code 1: cannot read run 3fa9c81e" }, "cannot read run N" },
        { { CAUSE_FAILED, 1, NONE, "exit code 1: OSError: data/a/b/c.bin and ./x/y, either/or" },
          "OSError: .../c.bin and .../y, either/or" },
        { { CAUSE_FAILED, 1, NONE, "exit code 1: error:  two   blanks,\tutf-8" },
          "error: two blanks, utf-N" },
        { { CAUSE_FAILED, 1, NONE, "exit code 1: AssertionError, after 3 tries" },
          "AssertionError" },
        { { CAUSE_FAILED, 2, NONE, "exit code 2: train.py: error: unrecognized arguments: --x" },
          "exit code 2: train.py: error: unrecognized arguments: --x" },
        { { CAUSE_FAILED, 127, NONE, "exit code 127: sh: 1: trian: not found" },
          "exit code 127: sh: N: trian: not found" },
        { { CAUSE_FAILED, 3, NONE, "exit code 3" }, "exit code 3" },
        /* The last line may be no error, and then its numbers are all that tells jobs apart. */
        { { CAUSE_FAILED, 1, NONE, "exit code 1; last line: epoch 3 of a/b" }, "epoch 3 of a/b" },
        { { CAUSE_FAILED, 2, NONE, "exit code 2; last line: x: 3" }, "exit code 2: x: 3" },
        { { CAUSE_FAILED, 1, NONE, "exit code 1" }, "exit code 1" },
        { { CAUSE_FAILED, 137, NONE,
            "exit code 137; memory ran out meanwhile, and the kernel ended a process of this job "
            "or of another one here: Killed" },
          "exit code 137: Killed" },
        { { CAUSE_FAILED, 0, NONE, "its process reported it failed" },
          "its process reported it failed" },
        { { CAUSE_FAILED, NONE, NONE, "it diverged at step 12" }, "it diverged at step N" },
        { { CAUSE_SIGNAL, NONE, 11, "killed by signal 11 (Segmentation fault)" },
          "signal 11 (Segmentation fault)" },
        { { CAUSE_SIGNAL, NONE, 6,
            "killed by signal 6 (Aborted): a.c:12: Assertion `n > 3' failed." },
          "signal 6 (Aborted): a.c:N: Assertion `n > N' failed." },
        { { CAUSE_SIGNAL, NONE, 9, NULL }, "signal 9" },
        { { CAUSE_OOM, NONE, 9, "out of memory: the kernel ended it (peak 2.1 GiB of 2.0 GiB)" },
          "out of memory" },
        { { CAUSE_TIMEOUT, NONE, 15, "time limit of 2 h reached" }, "time limit reached" },
        { { CAUSE_NODE_LOST, NONE, NONE, NULL }, "node-lost" },
        { { CAUSE_ENVIRONMENT, NONE, NONE, "hoff has no /opt/conda/envs/a7" },
          "hoff has no .../aN" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *name = name_of(cases[i].failure);

        assert_string_equal(name, cases[i].name);
        free(name);
    }
}

static void a_cause_is_one_short_line_and_its_words_keep_the_numbers(void **state)
{
    struct failure f = { CAUSE_FAILED, 1, NONE, "exit code 1: ValueError: 7 of /a/b" };
    struct buf words = { 0 };
    char reason[1000], *name;

    (void)state;
    failure_add_words(&words, &f);
    assert_string_equal(buf_text(&words), "ValueError: 7 of /a/b");
    buf_free(&words);

    strcpy(reason, "exit code 1: ");
    for (size_t n = strlen(reason); n < sizeof reason - 3; n = strlen(reason))
        strcat(reason, "ä");
    f.reason = reason;
    name = name_of(f);
    assert_int_equal(strlen(name), FAILURE_NAME_MAX_BYTES);
    free(name);
}

static void only_what_the_program_did_is_its_own_failure(void **state)
{
    (void)state;
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        assert_int_equal(failure_is_own((enum cause)cause),
                         cause == CAUSE_FAILED || cause == CAUSE_SIGNAL || cause == CAUSE_OOM ||
                             cause == CAUSE_TIMEOUT || cause == CAUSE_NAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_is_the_error_line_without_what_differs_from_job_to_job),
        cmocka_unit_test(a_cause_is_one_short_line_and_its_words_keep_the_numbers),
        cmocka_unit_test(only_what_the_program_did_is_its_own_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
