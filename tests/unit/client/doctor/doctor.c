/* SPDX-License-Identifier: MIT */
/* doctor.c - tests of what doctor says about scratch */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/doctor/doctor.h"
#include "common/base/path.h"

enum { NOBODY = 65534, NO_VERDICT = 9 };

/* In a process of its own, as root may write anywhere. */
static int verdict_as_user(const char *scratch)
{
    struct doctor d = { .arena = arena_create(), .check = "scratch", .has_choice = true };
    pid_t pid = fork();
    int status = 0;

    d.conf.scratch = scratch;
    d.choice.embedded = true;
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
            _exit(NO_VERDICT);
        check_scratch(&d);
        _exit(d.n == 1 ? d.findings[0].verdict : NO_VERDICT);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    arena_destroy(d.arena);
    return WEXITSTATUS(status);
}

static void scratch_is_well_where_the_user_can_write(void **state)
{
    static const struct {
        mode_t mode;
        const char *name;
        bool is_problem;
    } cases[] = {
        { 0777, "", false },      { 0777, "/made/later", false }, { 0555, "", true },
        { 0555, "/later", true }, { 0555, "/made/later", true },  { 0666, "", true },
    };
    const char *tmp = getenv("TMPDIR");
    char *root = mem_printf("%s/ludwig-doctor.XXXXXX", tmp != NULL ? tmp : "/tmp");

    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *scratch = mem_printf("%s%s", root, cases[i].name);
        int verdict;

        assert_int_equal(chmod(root, cases[i].mode), 0);
        verdict = verdict_as_user(scratch);
        if (verdict == NO_VERDICT || (verdict == CHECK_PROBLEM) != cases[i].is_problem)
            fail_msg("case %zu: %d", i, verdict);
        free(scratch);
    }
    assert_int_equal(rmdir(root), 0);
    free(root);
}

static void what_may_be_a_part_of_the_nodes_is_told_as_such(void **state)
{
    struct doctor d = {
        .arena = arena_create(), .check = "gpus", .is_connected = true, .n_gpus = 3
    };

    (void)state;
    check_gpus(&d);
    d.has_all_nodes = true;
    check_gpus(&d);
    assert_int_equal(d.n, 2);
    assert_string_equal(d.findings[0].found, "at least 3 with the workers that are up");
    assert_string_equal(d.findings[1].found, "3 with the workers that are up");
    free(d.findings);
    arena_destroy(d.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scratch_is_well_where_the_user_can_write),
        cmocka_unit_test(what_may_be_a_part_of_the_nodes_is_told_as_such),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
