/* SPDX-License-Identifier: MIT */
/* param2vals.c - tests of configurations that are listed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/expand/param2vals.h"
#include "client/spec/params.h"
#include "common/base/io.h"
#include "common/data/json.h"
#include "common/data/msgpack.h"
#include "common/proto/jobspec.h"

/* ---- a file for each text ---- */

static char folder[] = "/tmp/ludwig-param2vals-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || chdir(folder) < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return chdir("/") < 0 ? -1 : io_remove_tree(folder, NULL);
}

static struct param2vals *read_with(const char *text, size_t n, const char *command,
                                    int64_t points_max, struct err *e)
{
    struct param2vals_wanted wanted = { "f", command, points_max, NULL };

    assert_int_equal(io_replace_file("f", text, n, 0600, NULL), 0);
    return param2vals_read(&wanted, e);
}

static struct param2vals *read_text(const char *text)
{
    struct err e = { 0 };
    struct param2vals *p = read_with(text, strlen(text), NULL, POINTS_MAX, &e);

    if (p == NULL)
        fail_msg("%s", e.text);
    return p;
}

/* The next one as JSON; "" when that was all. */
static const char *next(struct param2vals *p, struct arena *a)
{
    struct buf point = { 0 }, json = { 0 };
    struct value config;
    const char *text;

    if (param2vals_next(p, &point)) {
        assert_int_equal(mp_read(point.bytes, point.n, a, &config, NULL), 0);
        json_add_value(&json, &config);
    }
    text = arena_strdup(a, buf_text(&json));
    buf_free(&point);
    buf_free(&json);
    return text;
}

static void expect(const char *text, const char *const *wanted)
{
    struct arena *a = arena_create();
    struct param2vals *p = read_text(text);
    int64_t n = 0;

    for (; wanted[n] != NULL; n++)
        assert_string_equal(next(p, a), wanted[n]);
    assert_string_equal(next(p, a), "");
    assert_int_equal(param2vals_count(p), n);
    param2vals_destroy(p);
    arena_destroy(a);
}

/* Of the message only the first lines: without excerpts when they do not matter. */
static void expect_refused(const char *text, size_t n, const char *command, const char *wanted)
{
    struct err e = { 0 };

    assert_null(read_with(text, n, command, POINTS_MAX, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    if (strncmp(e.text, wanted, strlen(wanted)) != 0)
        fail_msg("wanted: %s\nfound: %s", wanted, e.text);
}

/* ---- reading ---- */

static void types_are_those_of_the_text(void **state)
{
    (void)state;
    expect("{\"lr\": 1, \"h\": [1, 1.0, \"1\", null, true, {\"a\": -0.5}]}\n"
           "{\"lr\": 1.5}\n"
           "{\"lr\": \"1\"}\n"
           "{\"lr\": NaN, \"l\": -Infinity, \"big\": 9007199254740993}\n"
           "{}\n",
           (const char *[]){ "{\"lr\":1,\"h\":[1,1.0,\"1\",null,true,{\"a\":-0.5}]}",
                             "{\"lr\":1.5}", "{\"lr\":\"1\"}",
                             "{\"lr\":NaN,\"l\":-Infinity,\"big\":9007199254740993}", "{}", NULL });
}

static void blank_lines_and_what_windows_adds_are_passed_over(void **state)
{
    (void)state;
    expect("\xef\xbb\xbf{\"a\":1}\r\n\r\n \t\n  {\"a\":2} \n\n{\"a\":3}",
           (const char *[]){ "{\"a\":1}", "{\"a\":2}", "{\"a\":3}", NULL });
}

static void any_one_can_be_sought(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    struct param2vals *p;

    (void)state;
    for (int i = 0; i < 1000; i++)
        buf_printf(&text, "%s{\"i\": %d}\n", i % 3 == 0 ? "\n" : "", i);
    p = read_text(buf_text(&text));
    assert_int_equal(param2vals_count(p), 1000);
    for (int i = 999; i >= 0; i--) {
        char *wanted = mem_printf("{\"i\":%d}", i);

        param2vals_seek(p, i);
        assert_string_equal(next(p, a), wanted);
        free(wanted);
    }
    assert_int_equal(param2vals_text(p).n, text.n);
    assert_memory_equal(param2vals_text(p).data, text.bytes, text.n);
    param2vals_destroy(p);
    buf_free(&text);
    arena_destroy(a);
}

static void what_changes_in_the_file_afterwards_does_not_matter(void **state)
{
    struct arena *a = arena_create();
    struct param2vals *p = read_text("{\"a\":1}\n{\"a\":2}\n");

    (void)state;
    assert_int_equal(truncate("f", 0), 0);
    assert_string_equal(next(p, a), "{\"a\":1}");
    assert_int_equal(unlink("f"), 0);
    assert_string_equal(next(p, a), "{\"a\":2}");
    param2vals_destroy(p);
    arena_destroy(a);
}

static void the_first_one_can_stand_for_parameters(void **state)
{
    struct arena *a = arena_create();
    struct param2vals *p = read_text("\n{\"lr\":0.1,\"l\":[1,2]}\n{\"lr\":0.2}\n");
    struct list params = param2vals_first(p, a);
    const struct param *param = params.items;

    (void)state;
    assert_int_equal(params.n, 2);
    assert_string_equal(param[1].name, "l");
    assert_int_equal(param[1].form, PARAM_FIXED);
    assert_int_equal(param[1].n, 1);
    assert_int_equal(param[1].values[0].list.n, 2);
    param2vals_destroy(p);
    arena_destroy(a);
}

/* ---- refusing ---- */

static void each_mistake_has_its_place(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        { "", "f: there is no configuration in it" },
        { "\n  \n", "f: there is no configuration in it" },
        { "{\"a\":1}\n[1]\n", "f:2:1: expected an object such as {\"lr\": 0.1}, found a list\n" },
        { "{\"a\":1}\n7",
          "f:2:1: expected an object such as {\"lr\": 0.1}, found a whole number\n" },
        { "{\"a\":1,\n", "f:1:8: it ends too early; a configuration stands on one line\n" },
        { "{\"a\":1,\r\n", "f:1:9: it ends too early; a configuration stands on one line\n" },
        { "{\"a\":1} {\"a\":2}\n", "f:1:9: " },
        { "{\"\xc3\xa4\":1,\"b\":1,\"b\":2}\n",
          "f:1:14: this name stands twice between the same braces\n" },
        { "{\"a\":9223372036854775808}\n", "f:1:6: too large for a whole number\n" },
        { "{\"a\":1}\n{\"a\":\"\xff\"}\n", "f:2:7: this is no UTF-8 text\n" },
        { "{\"a\":1}\n\n{\"b\":2}\n{\"a\":1.0}\n",
          "f:4:1: the same configuration as in line 1 (1 and 1.0 are the same)" },
        { "{\"a\":1,\"b\":2}\n{\"b\":2,\"a\":1}\n", "f:2:1: the same configuration as in line 1 " },
        { "{\"LUDWIG_A\":1}\n", "f:1:1: LUDWIG_A: names that begin with LUDWIG_ are reserved\n" },
        { "{\"\":1}\n", "f:1:1: a parameter without a name\n" },
        { "{\"a\\u0000b\":1}\n", "f:1:2: a NUL character in a name\n" },
        { "{\"a\\nb\":1}\n", "f:1:1: a control character in a parameter's name\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(cases[i].text, strlen(cases[i].text), NULL, cases[i].wanted);
    expect_refused("{\"a\":1}\0\n", 9, NULL, "f:1:8: ");
}

static void the_line_is_shown_with_its_column(void **state)
{
    (void)state;
    expect_refused("{\"a\":1}\n{\"a\":x}\n", 16, NULL,
                   "f:2:6: unexpected character\n    2 | {\"a\":x}\n      |      ^");
}

static void many_mistakes_are_counted(void **state)
{
    struct buf text = { 0 };
    struct err e = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++)
        buf_add_str(&text, "{\"a\":1}\n");
    assert_null(read_with(buf_text(&text), text.n, NULL, POINTS_MAX, &e));
    assert_non_null(strstr(e.text, "\nf:9:1: the same configuration as in line 1 "));
    assert_non_null(strstr(e.text, "\nand 91 more"));
    buf_free(&text);
}

static void placeholders_of_the_command_must_be_there(void **state)
{
    static const char text[] = "{\"lr\":1,\"x\":1}\n{\"lR\":1,\"x\":2}\n{\"q\":0}\n";
    struct err e = { 0 };

    (void)state;
    expect_refused(text, strlen(text), "run {lr} {lr} {{x}}",
                   "f:2:1: command: needs lr, which is not there (did you mean 'lR'?)\n");
    assert_null(read_with(text, strlen(text), "{x}", POINTS_MAX, &e));
    assert_non_null(strstr(e.text, "f:3:1: command: needs x, which is not there\n"));
}

static void any_parameter_may_be_a_placeholder(void **state)
{
    static const char good[] = "{\"größe\":1,\"a/b\":\"x y\"}\n{\"größe\":2,\"a/b\":3}\n";
    static const char missing[] = "{\"größe\":1}\n{\"x\":1}\n",
                      late[] = "{\"x\":1}\n{\"größe\":1}\n";
    struct param2vals *p = read_with(good, strlen(good), "run {größe} '{a/b}' {1..3}", 9, NULL);

    (void)state;
    assert_non_null(p);
    param2vals_destroy(p);
    expect_refused(missing, strlen(missing), "run {größe}",
                   "f:2:1: command: needs größe, which is not there\n");
    expect_refused(
        late, strlen(late), "run {größe}",
        "f:2:1: command: {größe} cannot be filled in for all, as the first configuration "
        "has no größe\n");
    expect_refused(
        good, strlen(good), "run {größe} `f {a/b}`",
        "f:1:1: command: {a/b} stands behind a backslash or in `...`, ${...} or $((...)), "
        "where its value \"x y\" cannot be quoted; write VAR={a/b} on a line before, and "
        "\"$VAR\" here\n");
}

static void there_may_be_so_many(void **state)
{
    static const char text[] = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n";
    struct param2vals *p = read_with(text, strlen(text), NULL, 3, NULL);
    struct err e = { 0 };

    (void)state;
    assert_non_null(p);
    param2vals_destroy(p);
    assert_null(read_with(text, strlen(text), NULL, 2, &e));
    assert_string_equal(e.text, "f: more than 2 configurations need --yes");
}

static void large_configurations_are_refused(void **state)
{
    struct buf text = { 0 };

    (void)state;
    buf_add_str(&text, "{\"a\":\"");
    memset(buf_reserve(&text, PARAM2VAL_MAX_BYTES), 'x', PARAM2VAL_MAX_BYTES);
    buf_added(&text, PARAM2VAL_MAX_BYTES);
    buf_add_str(&text, "\"}\n");
    expect_refused(buf_text(&text), text.n, NULL,
                   "f:1:1: one configuration takes more than 1048576 bytes; put large values into "
                   "a file of data:");
    text.n -= 3 + 100;
    buf_add_str(&text, "\"}\n");
    param2vals_destroy(read_text(buf_text(&text)));
    text.n = 0;
    memset(buf_reserve(&text, PARAM2VALS_LINE_MAX_BYTES + 1), ' ', PARAM2VALS_LINE_MAX_BYTES + 1);
    buf_added(&text, PARAM2VALS_LINE_MAX_BYTES + 1);
    text.bytes[0] = '{';
    expect_refused(buf_text(&text), text.n, NULL, "f:1:1: a line of 4194305 bytes is too long; ");
    buf_free(&text);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    struct param2vals_wanted wanted = { "nothing.jsonl", NULL, POINTS_MAX, NULL };
    struct err e = { 0 };

    (void)state;
    assert_null(param2vals_read(&wanted, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_string_equal(e.text, "open nothing.jsonl: No such file or directory");
    wanted.path = "/";
    assert_null(param2vals_read(&wanted, &e));
    assert_int_equal(e.kind, ERR_USAGE);
    assert_string_equal(e.text, "read /: Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_those_of_the_text),
        cmocka_unit_test(blank_lines_and_what_windows_adds_are_passed_over),
        cmocka_unit_test(any_one_can_be_sought),
        cmocka_unit_test(what_changes_in_the_file_afterwards_does_not_matter),
        cmocka_unit_test(the_first_one_can_stand_for_parameters),
        cmocka_unit_test(each_mistake_has_its_place),
        cmocka_unit_test(the_line_is_shown_with_its_column),
        cmocka_unit_test(many_mistakes_are_counted),
        cmocka_unit_test(placeholders_of_the_command_must_be_there),
        cmocka_unit_test(any_parameter_may_be_a_placeholder),
        cmocka_unit_test(there_may_be_so_many),
        cmocka_unit_test(large_configurations_are_refused),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
