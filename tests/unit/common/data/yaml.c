/* SPDX-License-Identifier: MIT */
/* yaml.c - YAML read by the core schema, with places, and written */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/data/json.h"
#include "common/data/yaml.h"

struct text_case {
    const char *text;
    const char *answer;
};

/* Parses YAML and gives it as JSON, or the error's text. */
static const char *as_json_n(struct arena *a, const char *text, size_t n)
{
    char *exact = mem_resize(NULL, n, 1); /* so that a byte too far is noticed */
    struct buf out = { 0 };
    struct err e = { 0 };
    const struct yaml_node *root;
    struct value v;
    const char *answer;

    memcpy(exact, text, n);
    root = yaml_parse("f.yaml", exact, n, a, &e);
    free(exact);
    if (root == NULL) {
        assert_int_equal(e.kind, ERR_USAGE);
        return arena_strdup(a, e.text);
    }
    v = yaml_value(root, a);
    json_add_value(&out, &v);
    answer = arena_strdup(a, buf_text(&out));
    buf_free(&out);
    return answer;
}

static const char *as_json(struct arena *a, const char *text)
{
    return as_json_n(a, text, strlen(text));
}

static void check_all(const struct text_case *cases, size_t n)
{
    struct arena *a = arena_create();

    for (size_t i = 0; i < n; i++)
        assert_string_equal(as_json(a, cases[i].text), cases[i].answer);
    arena_destroy(a);
}

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof((cases)[0]))

static void unquoted_text_has_the_type_of_the_core_schema(void **state)
{
    static const struct text_case cases[] = {
        { "", "null" },
        { "# nothing\n", "null" },
        { "---\n", "null" },
        { "[~, null, Null, NULL, ]", "[null,null,null,null]" },
        { "a:", "{\"a\":null}" },
        { "[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]" },
        { "[yes, no, on, off, y, n, tRUE, nUll]",
          "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"tRUE\",\"nUll\"]" },
        { "[1, -1, +1, 007, 0o17, 0x1F, 0xff]", "[1,-1,1,7,15,31,255]" },
        { "[9223372036854775807, -9223372036854775808]",
          "[9223372036854775807,-9223372036854775808]" },
        { "[1.5, .5, 1., -0.5, +.5, 1e3, 1e-3, 1E+3, 2.5e2, 0.0]",
          "[1.5,0.5,1.0,-0.5,0.5,1000.0,0.001,1000.0,250.0,0.0]" },
        { "[.inf, -.inf, +.INF, .Inf, .nan, .NaN, .NAN]",
          "[Infinity,-Infinity,Infinity,Infinity,NaN,NaN,NaN]" },
        { "[., e5, 1e, 1e+, 1_000, 0x, 0xg, 0o8, 1.2.3, -, +, -.nan, inf]",
          "[\".\",\"e5\",\"1e\",\"1e+\",\"1_000\",\"0x\",\"0xg\",\"0o8\",\"1.2.3\",\"-\",\"+\","
          "\"-.nan\",\"inf\"]" },
        { "[2024-01-01, 10:30, 12:30:45, 1 2]", "[\"2024-01-01\",\"10:30\",\"12:30:45\",\"1 2\"]" },
        { "['1', \"true\", '', \"\", '~']", "[\"1\",\"true\",\"\",\"\",\"~\"]" },
        { "a: |\n  1\nb: >\n  2\n", "{\"a\":\"1\\n\",\"b\":\"2\\n\"}" },
        { "\"a\\0b\"", "\"a\\u0000b\"" },
        { "\xef\xbb\xbf"
          "a: 1\r\nb: 2\r\n",
          "{\"a\":1,\"b\":2}" },
        { "{1: a, 2.5: b, true: c}", "{\"1\":\"a\",\"2.5\":\"b\",\"true\":\"c\"}" },
        { "%YAML 1.2\n---\na: 1\n...\n", "{\"a\":1}" },
    };

    (void)state;
    CHECK_ALL(cases);
}

static void numbers_too_large_are_refused_not_rounded(void **state)
{
    static const struct text_case cases[] = {
        { "9223372036854775808", "f.yaml:1:1: 9223372036854775808 is too large for a number (quote "
                                 "it to keep it as text)" },
        { "a:\n  - -9223372036854775809",
          "f.yaml:2:5: -9223372036854775809 is too large for a number (quote it to keep it as "
          "text)" },
        { "[0xffffffffffffffff]",
          "f.yaml:1:2: 0xffffffffffffffff is too large for a number (quote it to keep it as "
          "text)" },
        { "1e999", "f.yaml:1:1: 1e999 is too large for a number (quote it to keep it as text)" },
        { "'9223372036854775808'", "\"9223372036854775808\"" },
        { "9223372036854775808: 1", "{\"9223372036854775808\":1}" },
    };

    (void)state;
    CHECK_ALL(cases);
}

static void tags_are_honoured_where_they_fit(void **state)
{
    static const struct text_case cases[] = {
        { "[!!str 1, !!str null, ! 1, !!int 3, !!int '3', !!float 1, !!float 1.5, !!bool true]",
          "[\"1\",\"null\",\"1\",3,3,1.0,1.5,true]" },
        { "[!!null '', !!seq [1], !!map {a: 1}]", "[null,[1],{\"a\":1}]" },
        { "!!str 99999999999999999999", "\"99999999999999999999\"" },
        { "!!int x", "f.yaml:1:1: the tag tag:yaml.org,2002:int cannot be used here" },
        { "!!int 1.5", "f.yaml:1:1: the tag tag:yaml.org,2002:int cannot be used here" },
        { "a: !env HOME", "f.yaml:1:4: the tag !env cannot be used here" },
        { "a: !!set {x}", "f.yaml:1:4: the tag tag:yaml.org,2002:set cannot be used here" },
        { "!!python/object:os.system x",
          "f.yaml:1:1: the tag tag:yaml.org,2002:python/object:os.system cannot be used here" },
        { "!!str [1]", "f.yaml:1:1: the tag tag:yaml.org,2002:str cannot be used here" },
    };

    (void)state;
    CHECK_ALL(cases);
}

static void mistakes_are_named_with_line_and_column(void **state)
{
    static const struct text_case cases[] = {
        { "a: b: c", "f.yaml:1:5: a ':' cannot stand here (quote values that contain one)" },
        { "a: 1\nb\nc: 2", "f.yaml:2:1: expected 'key: value'" },
        { "a: 1\n\n\n  b: 2",
          "f.yaml:4:3: this line is indented more than the one above it, and so goes on with the value "
          "of 'a:', where no ':' can stand (take the blanks before it away, or quote that value)" },
        { "a:\n  b: 1\n  c: 2: 3",
          "f.yaml:3:7: a ':' cannot stand here (quote values that contain one)" },
        { "a:\n  b: 1\n c: 2", "f.yaml:3:2: expected a key, indented as those above" },
        { "- 1\na: 2", "f.yaml:2:1: expected '- ', indented as those above" },
        { "a:\n\tb: 1", "f.yaml:2:1: a tab cannot indent (use blanks)" },
        { "\xc3\xa9:\n  - @x", "f.yaml:2:5: a value cannot begin with '@' (quote it)" },
        { "[1, , 2]", "f.yaml:1:5: a value cannot begin with ',' (quote it)" },
        { "a: `x`", "f.yaml:1:4: a value cannot begin with '`' (quote it)" },
        { "a: %x", "f.yaml:1:4: a value cannot begin with '%' (quote it)" },
        { "a: 1\nb: \"x\n\n", "f.yaml:2:4: this quoted text does not end" },
        { "a: [1, 2\nb: 3", "f.yaml:2:2: expected ',' or ']'" },
        { "{a: 1", "f.yaml:1:1: expected ',' or '}'" },
        { "a: [#ff0000, #00ff00]\nb: 1\n",
          "f.yaml:1:4: expected ',' or ']' (a # began a comment; quote a value that has one)" },
        { "a: [*.py]\n",
          "f.yaml:1:5: a value that begins with * or & is an alias or an anchor (quote it)" },
        { "a: [%d]\n", "f.yaml:1:5: a value cannot begin with '%' (quote it)" },
        { "a: \"\\q\"",
          "f.yaml:1:5: an unknown escape in a text in \" (text in ' takes \\ as it is)" },
        { "a: 1\nb: 2\na: 3", "f.yaml:3:1: 'a' appears a second time (first in line 1)" },
        { "{a: 1, 'a': 2}", "f.yaml:1:8: 'a' appears a second time (first in line 1)" },
        { "? [a]\n: 1",
          "f.yaml:1:3: a key must be text (a '{' that begins a value must be quoted)" },
        { "c: {{lr}}",
          "f.yaml:1:5: a key must be text (a '{' that begins a value must be quoted)" },
        { "a: 1\n---\nb: 2", "f.yaml:2:1: a second document begins here" },
        { "\"a\\0\": 1", "f.yaml:1:1: a key with a NUL character" },
        { "a: 1\n\xc3\xa9: \xff", "f.yaml:2:4: this is no UTF-8 text" },
        { "a: \x01", "f.yaml:1:4: a control character cannot stand here" },
        { "*x", "f.yaml:1:1: *x: there is no &x above" },
        { "a: &x [1, *x]", "f.yaml:1:11: *x stands inside of &x itself" },
    };

    (void)state;
    CHECK_ALL(cases);
}

static void a_nul_byte_is_refused(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    assert_string_equal(as_json_n(a, "a: 1\nb\0: 2", 10),
                        "f.yaml:2:2: a NUL byte (is this a text file?)");
    arena_destroy(a);
}

static void aliases_repeat_and_merge_keys_fill_in(void **state)
{
    static const struct text_case cases[] = {
        { "a: &x {k: [1, 2]}\nb: *x", "{\"a\":{\"k\":[1,2]},\"b\":{\"k\":[1,2]}}" },
        { "[&x 1, &x 2, *x]", "[1,2,2]" },
        { "base: &b {x: 1, y: 2}\nc: {<<: *b, y: 3, z: 4}",
          "{\"base\":{\"x\":1,\"y\":2},\"c\":{\"y\":3,\"z\":4,\"x\":1}}" },
        { "{<<: [{a: 1, b: 2}, {b: 3, c: 4}], d: 5}", "{\"d\":5,\"a\":1,\"b\":2,\"c\":4}" },
        { "{<<: {a: 1}, <<: {b: 2}}", "{\"a\":1,\"b\":2}" },
        { "{'<<': 1}", "{\"<<\":1}" },
        { "{<<: 1}", "f.yaml:1:6: '<<' takes a map or a list of maps" },
        { "{<<: [{a: 1}, 2]}", "f.yaml:1:15: '<<' takes a map or a list of maps" },
    };

    (void)state;
    CHECK_ALL(cases);
}

static void a_billion_laughs_are_refused(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    const char *answer;

    (void)state;
    buf_add_str(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        buf_printf(&text, "a%d: &a%d [*a%d", i, i, i - 1);
        for (int k = 1; k < 10; k++)
            buf_printf(&text, ", *a%d", i - 1);
        buf_add_str(&text, "]\n");
    }
    answer = as_json_n(a, buf_text(&text), text.n);
    assert_non_null(strstr(answer, ": more than 4000000 values"));
    buf_free(&text);
    arena_destroy(a);
}

static void nesting_ends_at_the_limit_also_through_aliases(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };
    char flow[80];

    (void)state;
    memset(flow, '[', 32);
    memset(flow + 32, ']', 32);
    assert_int_equal(as_json_n(a, flow, 64)[0], '[');
    memset(flow, '[', 33);
    assert_string_equal(as_json_n(a, flow, 33), "f.yaml:1:33: nested more than 32 deep");
    buf_add_str(&text, "a0: &a0 1\n");
    for (int i = 1; i <= 32; i++)
        buf_printf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    assert_string_equal(as_json_n(a, buf_text(&text), text.n),
                        "f.yaml:33:12: nested more than 32 deep");
    buf_free(&text);
    arena_destroy(a);
}

static void a_deeply_nested_text_is_refused_soon(void **state)
{
    enum { DEEP = 1000000 };
    struct arena *a = arena_create();
    char *text = mem_alloc(DEEP);

    (void)state;
    memset(text, '[', DEEP);
    assert_string_equal(as_json_n(a, text, DEEP), "f.yaml:1:33: nested more than 32 deep");
    memset(text, '{', DEEP);
    assert_non_null(strstr(as_json_n(a, text, DEEP), "a key must be text"));
    free(text);
    arena_destroy(a);
}

static void too_many_anchors_are_refused(void **state)
{
    struct arena *a = arena_create();
    struct buf text = { 0 };

    (void)state;
    for (int i = 0; i <= YAML_ANCHORS_MAX; i++)
        buf_printf(&text, "- &a%d 1\n", i);
    assert_string_equal(as_json_n(a, buf_text(&text), text.n),
                        "f.yaml:1001:3: more than 1000 anchors");
    buf_free(&text);
    arena_destroy(a);
}

static void nodes_know_where_they_stood_and_how_they_were_written(void **state)
{
    static const char text[] = "lr: 0.10\nsize:\n    - 0x10\n    - 'two'\nn: &n {a: 1}\nm: *n\n";
    struct arena *a = arena_create();
    const struct yaml_node *root = yaml_parse("f", text, sizeof text - 1, a, NULL);
    const struct yaml_node *size, *m;

    (void)state;
    assert_non_null(root);
    assert_int_equal(root->members[1].line, 2);
    assert_int_equal(root->members[1].column, 1);
    assert_int_equal(yaml_get(root, "lr")->column, 5);
    assert_string_equal(yaml_get(root, "lr")->text, "0.10");
    size = yaml_get(root, "size");
    assert_int_equal(size->line, 3);
    assert_int_equal(size->column, 5);
    assert_int_equal(size->items[1].line, 4);
    assert_int_equal(size->items[1].column, 7);
    assert_string_equal(size->items[0].text, "0x10");
    assert_string_equal(size->items[1].text, "two");
    m = yaml_get(root, "m");
    assert_int_equal(m->line, 6);
    assert_int_equal(m->members[0].line, 5);
    assert_null(yaml_get(root, "mm"));
    assert_null(yaml_get(size, "lr"));
    arena_destroy(a);
}

static void values_are_written_for_people_and_for_yaml_1_1(void **state)
{
    static const struct text_case cases[] = {
        { "{\"lr\":0.1,\"opt\":\"adam\",\"n\":2}", "lr: 0.1\nopt: adam\nn: 2\n" },
        { "{\"a\":{\"b\":{\"c\":1}},\"d\":{},\"e\":[]}", "a:\n  b:\n    c: 1\nd: {}\ne: []\n" },
        { "{\"a\":[1,\"x\",null],\"b\":[[1],{\"c\":2,\"d\":3}]}",
          "a: [1, x, null]\nb:\n  - [1]\n  - c: 2\n    d: 3\n" },
        { "[[[1,[]],2]]", "- - - 1\n    - []\n  - 2\n" },
        { "[\"yes\",\"No\",\"on\",\"~\",\"null\",\"True\",\"\",\" x\",\"x \",\"1e3\"]",
          "[\"yes\", \"No\", \"on\", \"~\", \"null\", \"True\", \"\", \" x\", \"x \", "
          "\"1e3\"]\n" },
        { "[\"a b\",\"/data/x.npz\",\"a:b\",\"a, b\",\"2024-01-01\",\"=\",\"<<\",\"x#y\"]",
          "[a b, /data/x.npz, \"a:b\", \"a, b\", \"2024-01-01\", \"=\", \"<<\", \"x#y\"]\n" },
        { "[1e-5,1e16,1.5e-7,NaN,Infinity,-Infinity,-0.0,3.0]",
          "[1.0e-05, 1.0e+16, 1.5e-07, .nan, .inf, -.inf, -0.0, 3.0]\n" },
        { "\"two\\nlines\"", "\"two\\nlines\"\n" },
        { "\"Gr\xc3\xbc\xc3\x9f\x65\"", "\"Gr\xc3\xbc\xc3\x9f\x65\"\n" },
        { "{\"\":1,\"a b\":2,\"1\":3}", "\"\": 1\na b: 2\n\"1\": 3\n" },
        { "7", "7\n" },
    };
    struct arena *a = arena_create();
    struct buf b = { 0 };
    struct value v, again;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct yaml_node *root;

        buf_clear(&b);
        assert_int_equal(json_read(cases[i].text, strlen(cases[i].text), a, &v, NULL), 0);
        yaml_add_value(&b, &v);
        assert_string_equal(buf_text(&b), cases[i].answer);
        root = yaml_parse("f", buf_text(&b), b.n, a, NULL);
        assert_non_null(root);
        again = yaml_value(root, a);
        assert_true(value_equal(&v, &again));
    }
    buf_free(&b);
    arena_destroy(a);
}

static void long_keys_are_read_again(void **state)
{
    struct arena *a = arena_create();
    struct buf json = { 0 }, b = { 0 };
    const struct yaml_node *root;
    struct value v, again;
    char key[3001];

    (void)state;
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    buf_printf(&json, "[{\"%s\":{\"%sx\":[1,[2]]},\"%.999s\":3}]", key, key, key);
    assert_int_equal(json_read(buf_text(&json), json.n, a, &v, NULL), 0);
    yaml_add_value(&b, &v);
    root = yaml_parse("f", buf_text(&b), b.n, a, NULL);
    assert_non_null(root);
    again = yaml_value(root, a);
    assert_true(value_equal(&v, &again));
    buf_free(&json);
    buf_free(&b);
    arena_destroy(a);
}

static void a_file_is_read_and_a_missing_one_is_named(void **state)
{
    char path[] = "/tmp/ludwig-yaml-XXXXXX";
    struct arena *a = arena_create();
    struct err e = { 0 };
    const struct yaml_node *root;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1\n", 5), 5);
    close(fd);
    root = yaml_parse_file(path, a, &e);
    assert_non_null(root);
    assert_int_equal(yaml_get(root, "a")->scalar.i, 1);
    unlink(path);
    assert_null(yaml_parse_file(path, a, &e));
    assert_int_equal(e.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, path));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unquoted_text_has_the_type_of_the_core_schema),
        cmocka_unit_test(numbers_too_large_are_refused_not_rounded),
        cmocka_unit_test(tags_are_honoured_where_they_fit),
        cmocka_unit_test(mistakes_are_named_with_line_and_column),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(aliases_repeat_and_merge_keys_fill_in),
        cmocka_unit_test(a_billion_laughs_are_refused),
        cmocka_unit_test(nesting_ends_at_the_limit_also_through_aliases),
        cmocka_unit_test(a_deeply_nested_text_is_refused_soon),
        cmocka_unit_test(too_many_anchors_are_refused),
        cmocka_unit_test(nodes_know_where_they_stood_and_how_they_were_written),
        cmocka_unit_test(values_are_written_for_people_and_for_yaml_1_1),
        cmocka_unit_test(long_keys_are_read_again),
        cmocka_unit_test(a_file_is_read_and_a_missing_one_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
