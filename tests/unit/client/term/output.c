/* SPDX-License-Identifier: MIT */
/* output.c - tests of the question that is asked before a change */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "client/term/output.h"

/* Asks with the answer on stdin; shown holds what stderr got. */
static bool ask(const char *question, const char *answer, char *shown, size_t size)
{
    int in[2], out[2], before[2] = { dup(STDIN_FILENO), dup(STDERR_FILENO) };
    ssize_t n;
    bool yes;

    assert_int_equal(pipe(in) | pipe(out), 0);
    assert_int_equal(write(in[1], answer, strlen(answer)), strlen(answer));
    assert_true(dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDERR_FILENO) >= 0);
    close(in[1]);
    yes = output_ask(question);
    assert_true(dup2(before[0], STDIN_FILENO) >= 0 && dup2(before[1], STDERR_FILENO) >= 0);
    n = read(out[0], shown, size - 1);
    assert_true(n >= 0);
    shown[n] = '\0';
    for (int i = 0; i < 2; i++)
        close(before[i]);
    close(in[0]);
    close(out[0]);
    close(out[1]);
    return yes;
}

static void only_a_yes_is_a_yes(void **state)
{
    static const struct {
        const char *answer;
        bool yes;
    } cases[] = {
        { "y\n", true }, { "YES \r\n", true }, { "n\n", false },
        { "\n", false }, { "", false },        { "yess\n", false },
    };
    char shown[100];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(ask("go on?", cases[i].answer, shown, sizeof shown), cases[i].yes);
}

static void a_terminal_obeys_nothing_in_a_question(void **state)
{
    char shown[100];

    (void)state;
    assert_true(ask("remove \033[2Kp\n\xe2\x80\xae?", "y\n", shown, sizeof shown));
    assert_string_equal(shown, "remove ^[[2Kp^J\\xe2\\x80\\xae? [y/N] ");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_yes_is_a_yes),
        cmocka_unit_test(a_terminal_obeys_nothing_in_a_question),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
