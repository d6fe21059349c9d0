/* SPDX-License-Identifier: MIT */
/* login_node.c - tests of what makes a machine a login node */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/stat.h>

#include "client/util/login_node.h"
#include "common/base/io.h"
#include "common/base/path.h"

static void put_program(const char *folder, const char *name, const char *lines)
{
    char *path = path_join(folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", lines) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
    free(path);
}

/* With only these programs in PATH; NULL: there is none of that name. */
static bool is_login_node(const char *sbatch, const char *scontrol, int64_t ping_max_ms)
{
    char folder[] = "/tmp/ludwig-path-XXXXXX";
    bool is_here;

    assert_non_null(mkdtemp(folder));
    if (sbatch != NULL)
        put_program(folder, "sbatch", sbatch);
    if (scontrol != NULL)
        put_program(folder, "scontrol", scontrol);
    assert_int_equal(setenv("PATH", folder, 1), 0);
    is_here = login_node_is_here(ping_max_ms);
    assert_int_equal(io_remove_tree(folder, NULL), 0);
    return is_here;
}

enum { IN_ANY_CASE_MS = 60 * 1000 };

#define UP   "echo 'Slurmctld(primary) at head is UP'"
#define DOWN "echo 'Slurmctld(primary) at head is DOWN'"

static void a_slurm_that_answers_makes_a_login_node(void **state)
{
    static const struct {
        const char *sbatch, *scontrol;
        bool is;
    } cases[] = {
        { NULL, NULL, false },
        { NULL, UP, false },
        { "exit 0", NULL, false },
        { "exit 0", UP, true },
        { "exit 0", "[ \"$*\" = ping ] && " UP, true },
        { "exec sleep 60", UP, true }, /* sbatch is not run */
        { "exit 0", DOWN "; exit 1", false },
        { "exit 0", DOWN "; echo 'Slurmctld(backup) at other is UP'", true },
        { "exit 0",
          "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1",
          false },
        { "exit 0", "exit 127", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (is_login_node(cases[i].sbatch, cases[i].scontrol, IN_ANY_CASE_MS) != cases[i].is)
            fail_msg("case %zu: %s", i, cases[i].scontrol);
}

static void one_that_hangs_is_not_waited_for(void **state)
{
    (void)state;
    /* Were it waited for, this test would never end. */
    assert_false(is_login_node("exit 0", "exec /bin/sleep 100000", 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slurm_that_answers_makes_a_login_node),
        cmocka_unit_test(one_that_hangs_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
