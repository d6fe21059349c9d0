/* SPDX-License-Identifier: MIT */
/* template.c - tests of {placeholders} in commands */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/data/json.h"
#include "common/data/template.h"

static const char params[] = "{\"lr\": 0.1, \"n\": 3, \"s\": \"it's a b\", \"empty\": \"\","
                             " \"list\": [1, \"x\"], \"none\": null, \"on\": true, \"a.b-c\": 1}";

static void test_placeholders_become_words_of_the_shell(void **state)
{
    static const struct {
        const char *command;
        const char *expected;
    } cases[] = {
        { "train --lr {lr} -n {n}", "train --lr 0.1 -n 3" },
        { "say {s}", "say 'it'\\''s a b'" },
        { "say {empty}.", "say ''." },
        { "say {list}", "say '[1,\"x\"]'" },
        { "say {none} {on}", "say null true" },
        { "x={a.b-c}", "x=1" },
        { "no placeholders", "no placeholders" },
        { "awk '{ print $1 }' {{lr}}", "awk '{ print $1 }' {lr}" },
        { "${HOME}/x {1..3} {}", "${HOME}/x {1..3} {}" },
        { "{lr", "{lr" },
        { "", "" },
    };
    struct arena *a = arena_create();
    struct value v;

    (void)state;
    assert_int_equal(json_read(params, strlen(params), a, &v, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };
        struct err e = { 0 };

        assert_int_equal(template_expand(cases[i].command, &v, &out, &e), 0);
        assert_string_equal(buf_text(&out), cases[i].expected);
        buf_free(&out);
    }
    arena_destroy(a);
}

static void test_a_shell_reads_back_what_was_quoted(void **state)
{
    static const char nasty[] = "a'b\"c $(touch x) `y` \\ \n ; & | * ? ~ # é";
    struct buf command = { 0 };
    char got[sizeof nasty + 1] = { 0 };
    FILE *shell;

    (void)state;
    buf_add_str(&command, "printf %s ");
    template_add_quoted(&command, nasty, sizeof nasty - 1);
    shell = popen(buf_text(&command), "r");
    assert_non_null(shell);
    assert_int_equal(fread(got, 1, sizeof got, shell), sizeof nasty - 1);
    assert_int_equal(pclose(shell), 0);
    assert_string_equal(got, nasty);
    buf_free(&command);
}

static void test_a_placeholder_without_a_parameter_is_named(void **state)
{
    struct value none = { .type = VALUE_MAP };
    struct buf out = { 0 };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(template_expand("x {missing}", &none, &out, &e), -1);
    assert_int_equal(e.kind, ERR_USAGE);
    assert_non_null(strstr(e.text, "{missing}"));
    buf_free(&out);
}

static int remember(void *context, const char *name, size_t offset)
{
    buf_printf(context, "%s@%zu ", name, offset);
    return strcmp(name, "stop") == 0 ? -1 : 0;
}

static void test_each_placeholder_is_visited_with_its_place(void **state)
{
    struct buf seen = { 0 };

    (void)state;
    assert_int_equal(template_each("a {x} {{y}} {z}", remember, &seen), 0);
    assert_string_equal(buf_text(&seen), "x@2 z@12 ");
    assert_int_equal(template_each("{stop} {z}", remember, &seen), -1);
    buf_free(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placeholders_become_words_of_the_shell),
        cmocka_unit_test(test_a_shell_reads_back_what_was_quoted),
        cmocka_unit_test(test_a_placeholder_without_a_parameter_is_named),
        cmocka_unit_test(test_each_placeholder_is_visited_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
