/* SPDX-License-Identifier: MIT */
/* schema.c - docs/sweep.schema.json against the keys of a sweep file */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/spec/spec.h"
#include "common/base/quote.h"
#include "common/data/json.h"
#include "tests/unit/doc.h"

#define NUMBER "([0-9]+|[0-9]*\\\\.[0-9]+)"

/* What people write for an amount.  Without a unit, a duration is 0, and a size 0 or so large that
 * bytes are meant. */
static const char *const patterns[] = {
    [KEY_SIZE] = "^" NUMBER " *([kKmMgGtTpPeE]i?[bB]?|[bB])$|^(0|[0-9]{7,})$",
    [KEY_DURATION] = "^(" NUMBER " *([mM][sS]|[mM][iI][nN]|[sSmMhHdDwW]) *)+$|^0$"
                     "|^[0-9]+-[0-9]+(:[0-9]+){0,2}$|^[0-9]+(:[0-9]+){2}$",
    [KEY_MILLI] = "^" NUMBER "$",
};

/* How many of what a row counts make one of what a file says. */
static const double units[] = {
    [KEY_INT] = 1, [KEY_SIZE] = 1, [KEY_DURATION] = 1000, [KEY_MILLI] = 1000
};

static void add_bounds(struct buf *out, const struct key *key)
{
    double unit = units[key->type];

    buf_printf(out, ", \"minimum\": %.15g", (double)key->min / unit);
    /* Larger ones are only there so that nothing overflows. */
    if (key->max > 0 && (double)key->max / unit <= (double)(INT64_C(1) << 40))
        buf_printf(out, ", \"maximum\": %.15g", (double)key->max / unit);
}

static void add_map(struct buf *out, const struct key *rows, const char *required);

static void add_texts(struct buf *out, const struct key *key)
{
    static const char text[] = "{\"type\": [\"string\", \"number\"]}";

    buf_printf(out, "\"anyOf\": [%s, {\"type\": \"array\", \"items\": %s", text, text);
    if (key->max > 0)
        buf_printf(out, ", \"maxItems\": %" PRId64, key->max);
    buf_add_str(out, "}]");
}

static void add_amount(struct buf *out, const struct key *key)
{
    buf_printf(out, "\"type\": [\"number\", \"string\"], \"pattern\": \"%s\"", patterns[key->type]);
    if (key->type == KEY_DURATION) {
        buf_add_str(out, ", \"minimum\": 0, \"maximum\": 0");
        return;
    }
    if (key->type == KEY_SIZE)
        buf_add_str(out, ", \"not\": {\"type\": \"number\", \"exclusiveMinimum\": 0, "
                         "\"exclusiveMaximum\": 1000000}");
    add_bounds(out, key);
}

static void add_type(struct buf *out, const struct key *key)
{
    if (key->schema != NULL) {
        buf_add_str(out, key->schema);
        return;
    }
    switch (key->type) {
    case KEY_STR: buf_add_str(out, "\"type\": [\"string\", \"number\"]"); break;
    case KEY_STRS: add_texts(out, key); break;
    case KEY_BOOL: buf_add_str(out, "\"type\": \"boolean\""); break;
    case KEY_INT:
        buf_add_str(out, "\"type\": \"integer\"");
        add_bounds(out, key);
        break;
    case KEY_SIZE:
    case KEY_DURATION:
    case KEY_MILLI: add_amount(out, key); break;
    case KEY_MAP:
        buf_add_str(out, "\"type\": [\"object\", \"null\"], ");
        add_map(out, key->of, NULL);
        break;
    case KEY_VALUE: buf_add_str(out, "\"$comment\": \"anything\""); break;
    case KEY_CUSTOM: fail_msg("%s: its row lacks a schema", key->name);
    }
}

static void add_key(struct buf *out, const struct key *key)
{
    quote_add(out, key->name, strlen(key->name));
    buf_add_str(out, ": {\"description\": ");
    quote_add(out, key->help, strlen(key->help));
    buf_add_str(out, ", ");
    add_type(out, key);
    buf_add_char(out, '}');
}

/* The members that say what a map of these rows has. */
static void add_map(struct buf *out, const struct key *rows, const char *required)
{
    buf_add_str(out, "\"patternProperties\": {\"^x-\": true}, \"additionalProperties\": false");
    if (required != NULL)
        buf_printf(out, ", \"required\": [\"%s\"]", required);
    buf_add_str(out, ", \"properties\": {");
    for (const struct key *key = rows; key->name != NULL; key++) {
        buf_add_str(out, key > rows ? ", " : "");
        add_key(out, key);
    }
    buf_add_char(out, '}');
}

/* ---- what several places refer to ---- */

static void add_form(struct buf *out, const struct param_form_help *form)
{
    quote_add(out, form->name, strlen(form->name));
    buf_add_str(out, ": {\"description\": ");
    buf_add_char(out, '"');
    buf_printf(out, "%s: %s\"", form->argument, form->help);
    if (form->argument[0] == '[')
        buf_add_str(out, ", \"type\": \"array\", \"minItems\": 1");
    buf_add_char(out, '}');
}

static void add_param(struct buf *out)
{
    buf_add_str(
        out,
        "\"param\": {\"anyOf\": ["
        "{\"type\": [\"null\", \"boolean\", \"number\", \"string\"]}, "
        "{\"type\": \"array\", \"minItems\": 1}, "
        "{\"type\": \"object\", \"minProperties\": 1, \"maxProperties\": 1, "
        "\"patternProperties\": {\"^x-\": true}, \"additionalProperties\": false, \"properties\": {");
    for (size_t i = 0; param_forms[i].name != NULL; i++) {
        buf_add_str(out, i > 0 ? ", " : "");
        add_form(out, &param_forms[i]);
    }
    buf_printf(
        out,
        "}}, {\"type\": \"object\", \"required\": [\"round\"], \"minProperties\": 2, "
        "\"maxProperties\": 2, \"additionalProperties\": false, \"properties\": "
        "{\"round\": {\"description\": \"to how many significant digits draws are rounded\", "
        "\"type\": \"integer\", \"minimum\": 1, \"maximum\": %d}",
        PARAM_DIGITS_MAX);
    for (size_t i = 0; param_forms[i].name != NULL; i++)
        if (strcmp(param_forms[i].name, "normal") == 0 ||
            (strstr(param_forms[i].name, "uniform") != NULL && param_forms[i].name[0] != 'i')) {
            buf_add_str(out, ", ");
            add_form(out, &param_forms[i]);
        }
    buf_add_str(out, "}}]}");
}

static void add_end(struct buf *out)
{
    buf_add_str(out, "\"end\": {\"anyOf\": [{\"enum\": [");
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
        buf_printf(out, "%s\"%s\"", i > CAUSE_NONE + 1 ? ", " : "", cause_names[i]);
    buf_add_str(out, "]}, {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 255}, "
                     "{\"type\": \"string\", \"pattern\": "
                     "\"^([1-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])$\"}]}");
}

static const struct key *row_of(const char *name)
{
    const struct key *key = spec_keys;

    while (key->name != NULL && strcmp(key->name, name) != 0)
        key++;
    assert_non_null(key->name);
    return key;
}

static void add_schema(struct buf *out)
{
    buf_add_str(out, "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", "
                     "\"title\": \"sweep.yaml\", "
                     "\"description\": \"What ludwig runs; see ludwig-sweep(5).\", "
                     "\"type\": \"object\", ");
    add_map(out, spec_keys, "command");
    buf_add_str(out, ", \"$defs\": {");
    add_param(out);
    buf_add_str(out, ", ");
    add_end(out);
    buf_add_str(out, ", \"slurm\": {\"type\": \"object\", ");
    add_map(out, row_of("slurm")->of, "partition");
    buf_add_str(out, "}, \"reps\": {\"type\": \"object\", ");
    add_map(out, row_of("reps")->of, "max");
    buf_add_str(out, "}, \"guard\": {\"type\": \"object\", ");
    add_map(out, row_of("guard")->of, NULL);
    buf_add_str(out, "}, \"stop\": {\"type\": \"object\", ");
    add_map(out, row_of("stop")->of, "rule");
    buf_add_str(out, "}, \"advisor\": {\"type\": \"object\", ");
    add_map(out, row_of("method")->of, "advisor");
    buf_add_str(out, "}, \"notify\": {\"type\": \"object\", ");
    add_map(out, row_of("notify")->of, NULL);
    buf_add_str(out, "}}}");
}

/* The document as it should be. */
static char *make_document(void)
{
    struct buf text = { 0 }, pretty = { 0 };
    struct arena *a = arena_create();
    struct err e = { 0 };
    struct value v;

    add_schema(&text);
    if (json_read(buf_text(&text), text.n, a, &v, &e) < 0)
        fail_msg("%s in %s", e.text, buf_text(&text));
    json_add_pretty(&pretty, &v);
    if (pretty.bytes[pretty.n - 1] != '\n')
        buf_add_char(&pretty, '\n');
    arena_destroy(a);
    buf_free(&text);
    return buf_take(&pretty);
}

static void the_document_is_what_the_rows_make(void **state)
{
    struct buf found = { 0 };
    struct err e = { 0 };
    char *wanted = make_document();

    (void)state;
    if (io_read_file("docs/sweep.schema.json", 1 << 20, &found, &e) < 0)
        fail_msg("%s", e.text);
    if (strcmp(buf_text(&found), wanted) != 0)
        fail_msg("docs/sweep.schema.json is not what client_schema --print prints");
    buf_free(&found);
    free(wanted);
}

/* Rows that read themselves name words of other tables. */
static void words_in_the_rows_are_those_of_the_tables(void **state)
{
    const struct key *goal = row_of("results")->of, *on = row_of("retry")->of;

    (void)state;
    for (int i = 0; i < METHOD_COUNT; i++) {
        assert_non_null(strstr(row_of("method")->schema, method_names[i]));
        assert_non_null(strstr(row_of("method")->help, method_names[i]));
    }
    while (strcmp(goal->name, "goal") != 0)
        goal++;
    for (int i = 0; i < GOAL_COUNT; i++)
        assert_non_null(strstr(goal->schema, goal_names[i]));
    while (strcmp(on->name, "on") != 0)
        on++;
    for (int i = 0; i < STOP_WORDS; i++) {
        assert_non_null(strstr(row_of("stop")->of->schema, stop_words[i]));
        assert_non_null(strstr(row_of("stop")->of->help, stop_words[i]));
    }
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
        assert_non_null(strstr(on->help, cause_names[i]));
}

static void every_row_says_what_it_is_for(const struct key *rows)
{
    for (const struct key *key = rows; key->name != NULL; key++) {
        assert_non_null(key->help);
        assert_true(strlen(key->help) > 0);
        if (key->of != NULL)
            every_row_says_what_it_is_for(key->of);
    }
}

static void every_key_has_a_line_of_help(void **state)
{
    (void)state;
    every_row_says_what_it_is_for(spec_keys);
}

static int print_document(void)
{
    char *text = make_document();

    printf("%s", text);
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_is_what_the_rows_make),
        cmocka_unit_test(words_in_the_rows_are_those_of_the_tables),
        cmocka_unit_test(every_key_has_a_line_of_help),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0)
        return print_document();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
