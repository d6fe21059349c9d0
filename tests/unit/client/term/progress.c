/* SPDX-License-Identifier: MIT */
/* progress.c - tests of which terminals get a title and progress */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "client/term/progress.h"

/* "TERM=xterm WT_SESSION=1", of the case that is tried. */
static const char *variables;

static const char *variable(const char *name)
{
    static char values[16][64];
    static size_t n_given;
    char *value = values[n_given++ % 16];
    size_t n = strlen(name);

    for (const char *at = variables; at != NULL && *at != '\0'; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            size_t length = strcspn(at + n + 1, " ");

            assert_true(length < sizeof values[0]);
            memcpy(value, at + n + 1, length);
            value[length] = '\0';
            return value;
        }
        if (strchr(at, ' ') == NULL)
            break;
    }
    return NULL;
}

static void only_terminals_that_know_them_get_signs(void **state)
{
    static const struct {
        const char *variables;
        bool title, taskbar;
    } cases[] = {
        { "", false, false },
        { "TERM=dumb WT_SESSION=1", false, false },
        { "TERM=linux", false, false },
        { "TERM=xterm", true, false },
        { "TERM=xterm-256color WT_SESSION=1", true, true },
        { "TERM=xterm-256color ConEmuANSI=ON", true, true },
        { "TERM=xterm-256color ConEmuANSI=OFF", true, false },
        { "TERM=xterm-ghostty TERM_PROGRAM=ghostty", true, true },
        { "TERM=xterm-256color TERM_PROGRAM=WezTerm", true, true },
        { "TERM=xterm-256color TERM_PROGRAM=iTerm.app", true, false },
        { "TERM=xterm-256color TERM_PROGRAM=iTerm.app TERM_FEATURES=T3CwP", true, true },
        { "TERM=xterm-256color VTE_VERSION=6800", true, false },
        { "TERM=xterm-256color VTE_VERSION=8000", true, true },
        { "TERM=tmux-256color TMUX=/tmp/tmux WT_SESSION=1", true, false },
        { "TERM=screen STY=1.x TERM_PROGRAM=WezTerm", false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct progress_signs signs;

        variables = cases[i].variables;
        signs = progress_signs(variable);
        if (signs.title != cases[i].title || signs.taskbar != cases[i].taskbar)
            fail_msg("%s: title %d, taskbar %d", cases[i].variables, signs.title, signs.taskbar);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_terminals_that_know_them_get_signs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
