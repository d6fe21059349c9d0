/* SPDX-License-Identifier: MIT */
/* job_spawn.c - tests of commands that need no shell */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "worker/base/job_spawn.h"

static void plain_and_quoted_words_are_split(void **state)
{
    static const struct {
        const char *command;
        const char *words; /* with | between them */
    } cases[] = {
        { "/bin/true", "/bin/true" },
        { "  python3\ttrain.py --lr 0.1 ", "python3|train.py|--lr|0.1" },
        { "./train lr=0.1 a,b x@y %d +1 a:b", "./train|lr=0.1|a,b|x@y|%d|+1|a:b" },
        { "p 'a b' 'c'd'e f' ''", "p|a b|cde f|" },
        { "p '$HOME;*?~' 'x\ny'", "p|$HOME;*?~|x\ny" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char **words = job_spawn_words(cases[i].command, a);
        struct buf text = { 0 };

        assert_non_null(words);
        for (size_t k = 0; words[k] != NULL; k++)
            buf_printf(&text, "%s%s", k > 0 ? "|" : "", words[k]);
        assert_string_equal(buf_text(&text), cases[i].words);
        buf_free(&text);
    }
    arena_destroy(a);
}

static void all_else_is_left_to_the_shell(void **state)
{
    static const char *const commands[] = {
        "",          " ",       "a; b",     "a | b",    "a && b",      "a > f",      "a < f",
        "a $X",      "a `b`",   "a \"b\"",  "a \\b",    "a *.txt",     "a b?",       "a [b]",
        "~/a",       "a ~",     "a # b",    "! a",      "{ a; }",      "(a)",        "a &",
        "X=1 a",     "a\nb",    "a 'b",     "'' a",     "echo hello",  "exec a",     "cd x",
        "[ a = b ]", "test -f", "kill 1",   "'echo'",   "time a",      "true",       "if a",
        "a ^b",      ". ./env", "source x", "a {1..3}", "ulimit -c 0", "a \xc3\xa9",
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (job_spawn_words(commands[i], a) != NULL)
            fail_msg("needs a shell: %s", commands[i]);
    arena_destroy(a);
}

/* The shell itself is the judge: it must see the same words as we do. */
static void the_shell_splits_them_alike(void **state)
{
    static const char *const commands[] = { "f a 'b c' d=e 'x'y", "f -x 'a'b\tc",
                                            "f '*' %s 1,2 a:b ''", "f +x @y '$HOME' a='b'" };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char **words = job_spawn_words(commands[i], a);
        char *script = arena_printf(a, "f() { printf '%%s|' \"$@\"; }\n%s", commands[i]);
        struct buf ours = { 0 };
        char seen[200] = "";
        FILE *f;

        assert_non_null(words);
        assert_int_equal(setenv("SCRIPT", script, 1), 0);
        f = popen("exec sh -c \"$SCRIPT\"", "r");
        assert_non_null(f);
        assert_true(fgets(seen, sizeof seen, f) != NULL);
        pclose(f);
        for (size_t k = 1; words[k] != NULL; k++)
            buf_printf(&ours, "%s|", words[k]);
        assert_string_equal(seen, buf_text(&ours));
        buf_free(&ours);
    }
    arena_destroy(a);
}

static void programs_are_found_by_path(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    assert_string_equal(job_spawn_program("./x", "/bin", a), "./x");
    assert_string_equal(job_spawn_program("sh", "/nowhere::relative:/bin:/usr/bin", a), "/bin/sh");
    assert_null(job_spawn_program("sh", "/nowhere", a));
    assert_null(job_spawn_program("sh", NULL, a));
    assert_null(job_spawn_program("bin", "/", a)); /* a folder */
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_quoted_words_are_split),
        cmocka_unit_test(all_else_is_left_to_the_shell),
        cmocka_unit_test(the_shell_splits_them_alike),
        cmocka_unit_test(programs_are_found_by_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
