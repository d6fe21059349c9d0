/* SPDX-License-Identifier: MIT */
/* shell_env.c - tests of variables that are taken from the shell */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "client/util/shell_env.h"

static void what_is_set_is_taken_and_nothing_else(void **state)
{
    static const struct {
        const char *name, *value, *says; /* says: NULL: it is taken */
    } cases[] = {
        { "SHELL_ENV_A", "a b", NULL },
        { "SHELL_ENV_A", "", NULL },
        { "SHELL_ENV_A", NULL, "SHELL_ENV_A is not set in this shell" },
        { "SHELL_ENV_A", "hush\xff", "no UTF-8 text" },
        { "LUDWIG_JOB", "1", "ludwig's own" },
        { "A=hush", "1", "env: A: name the variable alone" },
        { "A-B", NULL, "no name for a variable" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name = cases[i].name;
        struct list names = { &name, 1 }, entries = { 0 };
        struct err e = { 0 };

        (void)unsetenv("SHELL_ENV_A");
        if (cases[i].value != NULL && strchr(name, '=') == NULL)
            assert_int_equal(setenv(name, cases[i].value, 1), 0);
        assert_int_equal(shell_env_read(&names, a, &entries, &e), cases[i].says == NULL ? 0 : -1);
        if (cases[i].says != NULL) {
            assert_non_null(strstr(e.text, cases[i].says));
            assert_null(strstr(e.text, "hush"));
        } else {
            assert_int_equal(entries.n, 1);
            assert_string_equal(((struct env_entry *)entries.items)[0].value, cases[i].value);
        }
    }
    arena_destroy(a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_is_taken_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
