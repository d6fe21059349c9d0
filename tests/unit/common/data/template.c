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
#include <unistd.h>

#include "common/data/json.h"
#include "common/data/template.h"

static const char params[] = "{\"lr\": 0.1, \"n\": 3, \"s\": \"it's a b\", \"empty\": \"\","
                             " \"list\": [1, \"x\"], \"none\": null, \"on\": true, \"a.b-c\": 1,"
                             " \"größe\": 1, \"model/depth\": 3, \"2d\": 4, \"a b\": 5,"
                             " \"run\": \"$(id) `id` \\\\ \\\"\"}";

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
        { "{größe} {model/depth} {2d} {a b} ${2d} {a c}", "1 3 4 5 ${2d} {a c}" },
        /* A number there would be that of a file. */
        { "echo {n}>f {n} >f", "echo '3'>f 3 >f" },
        /* Within quotes, what stands there is quoted as they ask for. */
        { "--name \"exp_{lr}_{s}\"", "--name \"exp_0.1_it's a b\"" },
        { "--name 'exp_{lr}_{s}'", "--name 'exp_0.1_it'\\''s a b'" },
        { "\"{run}\" '{run}' {run}",
          "\"\\$(id) \\`id\\` \\\\ \\\"\" '$(id) `id` \\ \"' '$(id) `id` \\ \"'" },
        { "\"{empty}\" '{empty}'", "\"\" ''" },
        { "a=\"$(f \"{s}\" {s})\" {s}", "a=\"$(f \"it's a b\" 'it'\\''s a b')\" 'it'\\''s a b'" },
        { "cat <<E\n{run}\nE\n{run}", "cat <<E\n\\$(id) \\`id\\` \\\\ \"\nE\n'$(id) `id` \\ \"'" },
        { "cat <<'E F'\n{run}\nE F\n{s}", "cat <<'E F'\n$(id) `id` \\ \"\nE F\n'it'\\''s a b'" },
        { "cat <<\\E\n{run}\nE\n{s}", "cat <<\\E\n$(id) `id` \\ \"\nE\n'it'\\''s a b'" },
        { "cat <<-'E'\n{run}\n\tE\n{empty}", "cat <<-'E'\n$(id) `id` \\ \"\n\tE\n''" },
        /* Comments are nobody's. */
        { "x {s} # it's {s} {nobody}\ny {s}",
          "x 'it'\\''s a b' # it's {s} {nobody}\ny 'it'\\''s a b'" },
        { "a#'{s}'", "a#'it'\\''s a b'" },
        /* What needs no quotes can stand anywhere. */
        { "echo $(( {n} * 2 )) `f {n}` \\{n} ${x:-{n}}", "echo $(( 3 * 2 )) `f 3` \\3 ${x:-3}" },
        { "no placeholders", "no placeholders" },
        { "awk '{ print $1 }' {{lr}}", "awk '{ print $1 }' {lr}" },
        { "${HOME}/x {1..3} {}", "${HOME}/x {1..3} {}" },
        { "{lr", "{lr" },
        /* Braces that no {{ opened are as they are written. */
        { "x '{\"a\": {\"b\": {lr}}}'", "x '{\"a\": {\"b\": 0.1}}'" },
        { "x '{\"a\": {\"b\": {}}}' }}", "x '{\"a\": {\"b\": {}}}' }}" },
        { "x {{\"a\": {{\"b\": {lr}}}}}", "x {\"a\": {\"b\": 0.1}}" },
        { "x {{\"a\": {\"b\": {lr}}}}", "x {\"a\": {\"b\": 0.1}}" },
        { "x {{{lr}}} {{{{lr}}}} {{}}", "x {0.1} {{lr}} {}" },
        { "${x:-{{lr}}} }}", "${x:-{lr}} }}" },
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

/* What a shell prints; the caller frees it. */
static char *run_by(const char *shell, const char *command)
{
    struct buf line = { 0 }, got = { 0 };
    FILE *pipe;
    int c;

    buf_printf(&line, "%s -c ", shell);
    template_add_quoted(&line, command, strlen(command));
    pipe = popen(buf_text(&line), "r");
    assert_non_null(pipe);
    while ((c = fgetc(pipe)) != EOF)
        buf_add_char(&got, (char)c);
    assert_int_equal(pclose(pipe), 0);
    buf_free(&line);
    return buf_take(&got);
}

static void test_no_shell_executes_a_value_wherever_it_stands(void **state)
{
    static const char *const shells[] = { "/bin/sh", "/bin/bash" };
    static const char *const values[] = { "$(echo BAD)",     "`echo BAD`",   "it's",
                                          "a \"b\" \\",      "; echo BAD #", "'\"'$(echo BAD)\"'\"",
                                          "* ~ $HOME \\$x !" };
    /* @ stands for the value in what is printed. */
    static const struct {
        const char *command, *printed;
    } cases[] = {
        { "printf %s {v}", "@" },
        { "printf %s \"{v}\"", "@" },
        { "printf %s '{v}'", "@" },
        { "printf %s \"x'{v}'\"'y\"{v}\"'", "x'@'y\"@\"" },
        { "printf %s a{v}\"b{v}c\"'d{v}'\"e\"{v}", "a@b@cd@e@" },
        { "x=\"$(printf %s \"<{v}>\" '{v}')\"; printf %s \"$x{v}\"", "<@>@@" },
        { "x=\"$( (printf %s {v}; printf %s \"{v}\") )\"; printf %s \"$x\"{v}", "@@@" },
        { "x=\"${y:-z}{v}\"; printf '%s%s' \"$x\" {v}", "z@@" },
        { "cat <<E; printf %s {v}\n{v}\nE\n", "@\n@" },
        { "cat <<\"E\"\n{v}\nE\nprintf %s \"{v}\"", "@\n@" },
        { "cat <<-E\n\t$(printf %s \"{v}\")\n\tE\nprintf %s {v}", "@\n@" },
        { "# it's {v} \"\nprintf %s {v} # it's\nprintf %s \"{v}\"", "@@" },
        { "x=$$; printf %s {v}", "@" },
        { "x=a; y=b; printf %s \"$x{v}\" $y{v}", "a@b@" },
        { "printf '%s' \"$(printf %s a # it's )\n)\"{v}", "a@" },
        { "f() { printf %s \"{v}\"; }; f", "@" },
        { "case {v} in {v}) printf %s \"{v}\";; esac", "@" },
        { "printf %s \\\"{v}\\\"", "\"@\"" },
        { "printf %s \"\\\"{v}\\\"\"", "\"@\"" },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < 2 * (sizeof values / sizeof values[0]); i++) {
        const char *text = values[i / 2], *shell = shells[i % 2];
        struct member members[] = { value_member("v", value_str(text)) };
        struct value config = value_map(a, members, 1);

        for (size_t k = 0; access(shell, X_OK) == 0 && k < sizeof cases / sizeof cases[0]; k++) {
            struct buf command = { 0 }, expected = { 0 };
            struct err e = { 0 };
            char *got;

            assert_int_equal(template_expand(cases[k].command, &config, &command, &e), 0);
            for (const char *c = cases[k].printed; *c != '\0'; c++)
                buf_add(&expected, *c == '@' ? text : c, *c == '@' ? strlen(text) : 1);
            got = run_by(shell, buf_text(&command));
            if (strcmp(got, buf_text(&expected)) != 0)
                print_error("%s: %s\n  gives: %s\n", shell, buf_text(&command), got);
            assert_string_equal(got, buf_text(&expected));
            free(got);
            buf_free(&command);
            buf_free(&expected);
        }
    }
    arena_destroy(a);
}

static void test_what_cannot_be_quoted_is_refused(void **state)
{
    static const char *const commands[] = {
        "echo `f {v}`",
        "echo $(( {v} ))",
        "echo ${x:-{v}}",
        "echo \"${x:-'{v}'}\"",
        "echo \\{v}",
        "echo \"\\{v}\"",
        "echo $'a' {v}",
        "x=\"$(case a in a) echo {v};; esac)\"",
        "cat <<A <<B\n{v}\nA\nB\n",
        "cat <<{v}\n",
        "echo $[ {v} ]",
        "x=\"$$(\"; echo {v}",
        "for ((i = 0; i < {v}; i++)); do :; done",
    };
    struct arena *a = arena_create();
    struct member members[] = { value_member("v", value_str("a[$(id)]")) };
    struct value config = value_map(a, members, 1), line;

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct buf out = { 0 };
        struct err e = { 0 };

        assert_int_equal(template_expand(commands[i], &config, &out, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_non_null(strstr(e.text, "{v} stands behind a backslash or in"));
        buf_free(&out);
    }
    members[0] = value_member("v", value_str("a\nE\nid"));
    line = value_map(a, members, 1);
    for (size_t i = 0; i < 2; i++) {
        struct buf out = { 0 };
        struct err e = { 0 };

        assert_int_equal(
            template_expand(i == 0 ? "cat <<E\n{v}\nE\n" : "cat <<'E'\n{v}\nE\n", &line, &out, &e),
            -1);
        assert_non_null(
            strstr(e.text, "in a here-document, where its value \"a\\nE\\nid\" cannot"));
        buf_free(&out);
    }
    arena_destroy(a);
}

static void test_what_no_shell_takes_is_refused(void **state)
{
    static const struct {
        size_t n;
        const char *command, *error;
    } cases[] = {
        { 128 * 1000, "echo {v}", NULL },
        { 128 * 1000 + 1, "echo {v}", "the value of {v} has 128001 bytes" },
        { 65 * 1024, "echo {v} {v}", "the command has 133126 bytes with its values" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        char *text = arena_alloc(a, cases[i].n + 1);
        struct member member =
            value_member("v", value_strn(memset(text, 'x', cases[i].n), cases[i].n));
        struct value config = value_map(a, &member, 1);
        struct buf out = { 0 };
        struct err e = { 0 };

        assert_int_equal(template_expand(cases[i].command, &config, &out, &e),
                         cases[i].error != NULL ? -1 : 0);
        if (cases[i].error != NULL)
            assert_non_null(strstr(e.text, cases[i].error));
        buf_free(&out);
        arena_destroy(a);
    }
}

static void test_no_value_ends_its_here_document(void **state)
{
    static const struct {
        const char *command, *value, *error;
    } cases[] = {
        { "cat <<E\n{v}\nid\nE\n", "E", "{v} would end" },
        { "cat <<EOF\nE{v}\nid\nEOF\n", "OF", "{v} would end" },
        { "cat <<-'E'\n\t{v}\nid\nE\n", "E", "{v} would end" },
        { "cat <<-E\n{v}\nE\n", "\tx", "in a here-document" },
        { "cat <<E\n{v}: {v}\nE\n", "E", NULL },
        { "cat <<E\nx\n{v}", "E", NULL },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct member members[] = { value_member("v", value_str(cases[i].value)) };
        struct value config = value_map(a, members, 1);
        struct buf out = { 0 };
        struct err e = { 0 };

        assert_int_equal(template_expand(cases[i].command, &config, &out, &e),
                         cases[i].error != NULL ? -1 : 0);
        if (cases[i].error != NULL)
            assert_non_null(strstr(e.text, cases[i].error));
        buf_free(&out);
    }
    arena_destroy(a);
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

static int remember(void *context, const struct placeholder *p)
{
    buf_printf(context, "%s@%zu%s ", p->name, p->offset, p->quotes == SHELL_DOUBLE ? "q" : "");
    return strcmp(p->name, "stop") == 0 ? -1 : 0;
}

static bool is_one(const void *of, const char *name)
{
    return strcmp(of, name) == 0;
}

static void test_each_placeholder_is_visited_with_its_place(void **state)
{
    struct buf seen = { 0 };

    (void)state;
    assert_int_equal(template_each("a {x} {{y}} \"{z}\" # {c}", NULL, NULL, remember, &seen), 0);
    assert_string_equal(buf_text(&seen), "x@2 z@13q ");
    buf_clear(&seen);
    assert_int_equal(template_each("{2d} {a/b} {1..2}", is_one, "a/b", remember, &seen), 0);
    assert_string_equal(buf_text(&seen), "a/b@5 ");
    assert_int_equal(template_each("{stop} {z}", NULL, NULL, remember, &seen), -1);
    buf_free(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placeholders_become_words_of_the_shell),
        cmocka_unit_test(test_a_shell_reads_back_what_was_quoted),
        cmocka_unit_test(test_no_shell_executes_a_value_wherever_it_stands),
        cmocka_unit_test(test_what_cannot_be_quoted_is_refused),
        cmocka_unit_test(test_what_no_shell_takes_is_refused),
        cmocka_unit_test(test_no_value_ends_its_here_document),
        cmocka_unit_test(test_a_placeholder_without_a_parameter_is_named),
        cmocka_unit_test(test_each_placeholder_is_visited_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
