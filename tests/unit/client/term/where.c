/* SPDX-License-Identifier: MIT */
/* where.c - tests of what --where takes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "client/query/jobinfo.h"
#include "client/term/where.h"
#include "common/data/json.h"
#include "common/proto/param_test.h"

/* A failed job with these parameters. */
static const char params_text[] =
    "{\"lr\": 0.01, \"n\": 64, \"big\": 9007199254740993, \"optimizer\": \"adam w\","
    " \"flag\": true, \"nothing\": null, \"state\": \"solid\", \"version\": \"1.10\","
    " \"loss\": NaN, \"name with blanks\": 1, \"a.b\": 5, \"model\": {\"depth\": 3,"
    " \"head\": {\"a.b\": 7, \"size\": 9}}, \"layers\": [64, 128], \"neg\": -3, \"in\": 4}";

static bool holds(const char *expression, struct err *e)
{
    struct arena *a = arena_create();
    struct job_info j = { .job = "7.13",
                          .param_name = "param_003",
                          .rep = 1,
                          .state = JOB_FAILED,
                          .attempt = 2,
                          .node = "hoff",
                          .exit_code = 7,
                          .signal = SCHEMA_NONE,
                          .cause = "failed",
                          .reason = "exit code 7" };
    struct jobinfo_row row;
    struct where *w;
    bool result = false;

    *e = (struct err){ 0 };
    assert_int_equal(json_read(params_text, strlen(params_text), a, &j.params, NULL), 0);
    jobinfo_fill_row(&row, &j);
    w = where_parse(expression, a, e);
    if (w != NULL)
        result = where_matches(w, &row.row);
    arena_destroy(a);
    return result;
}

static void check(const char *expression, bool expected)
{
    struct err e;
    bool result = holds(expression, &e);

    if (e.kind != ERR_NONE)
        fail_msg("%s: %s", expression, e.text);
    if (result != expected)
        fail_msg("%s: %s", expression, result ? "holds" : "does not hold");
}

static void numbers_compare_as_numbers(void **state)
{
    (void)state;
    check("lr = 0.01", true);
    check("lr == 1e-2", true);
    check("lr = 0.010", true);
    check("lr != 0.01", false);
    check("lr > 0.005", true);
    check("lr > 0.01", false);
    check("lr >= 0.01", true);
    check("lr <= 0.01", true);
    check("lr < 0.1", true);
    check("n > 9", true); /* "64" as text would be smaller */
    check("n < 640.5", true);
    check("n = 64.0", true);
    check("neg < -2", true);
    check("neg=-3", true);
    check("big = 9007199254740993", true);
    check("big = 9007199254740992", false);
    check("big > 9007199254740992", true);
    check("loss = .nan", true);
    check("loss != .nan", false);
    check("loss < 1", false);
    check("loss >= 1", false);
    check("loss != 1", true);
    check("lr < .inf", true);
}

static void everything_else_compares_as_text(void **state)
{
    (void)state;
    check("state = failed", true);
    check("state = 'failed'", true);
    check("state = Failed", false);
    check("node < norman", true);
    check("node > norman", false);
    check("optimizer = 'adam w'", true);
    check("optimizer = \"adam w\"", true);
    check("version = 1.10", true); /* as it was written */
    check("version = 1.1", false);
    check("job = 7.13", true);
    check("flag = true", true);
    check("flag = True", true);
    check("flag != false", true);
    check("flag = 'true'", true);
    check("layers = '[64,128]'", true);
    check("n = '64'", true);
    check("n = '064'", false);
    check("reason ~ 'code 7'", true);
    check("reason ~ 'code 8'", false);
    check("optimizer ~ adam", true);
    check("layers ~ 128", true);
    check("node ~ ''", true);
}

static void what_has_no_value_equals_null_and_nothing_else(void **state)
{
    static const char *const names[] = { "absent", "nothing", "signal", "model.absent" };
    static const char *const never[] = { "= 1",  "!= 1",     "< 1",       ">= 1",
                                         "~ x",  "= 'x'",    "in (1, x)", "not in (1, x)",
                                         "~ ''", "= 'null'", "!= null",   "not in (null)" };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char expression[100];

        for (size_t k = 0; k < sizeof never / sizeof never[0]; k++) {
            snprintf(expression, sizeof expression, "%s %s", names[i], never[k]);
            check(expression, false);
            snprintf(expression, sizeof expression, "not %s %s", names[i], never[k]);
            check(expression, true);
        }
        snprintf(expression, sizeof expression, "%s = null", names[i]);
        check(expression, true);
        snprintf(expression, sizeof expression, "%s in (1, NULL)", names[i]);
        check(expression, true);
    }
    check("lr = null", false);
    check("lr != null", true);
    check("lr in (null)", false);
}

static void lists_hold_alternatives(void **state)
{
    (void)state;
    check("n in (32, 64)", true);
    check("n in (32)", false);
    check("n in (32,64.0,128)", true);
    check("state in (done, failed)", true);
    check("state not in (done, failed)", false);
    check("state not in (done, cancelled)", true);
    check("state IN (done, 'failed')", true);
    check("not state in (done)", true);
}

static void or_is_weaker_than_and_and_not_is_strongest(void **state)
{
    (void)state;
    check("lr = 1 and n = 64 or node = hoff", true);
    check("lr = 1 and (n = 64 or node = hoff)", false);
    check("node = hoff or lr = 1 and n = 1", true);
    check("(node = hoff or lr = 1) and n = 1", false);
    check("not lr = 1 and node = hoff", true);
    check("not (lr = 1 and node = hoff)", true);
    check("not (lr = 0.01 and node = hoff)", false);
    check("not not not lr = 1", true);
    check("not (not (lr = 1))", false);
    check("((((node = hoff))))", true);
    check("lr=0.01 AND Not node=norman OR n=1", true);
    check("n = 1 or n = 2 or n = 64 or n = 3", true);
    check("n = 64 and n = 64 and n = 1 and n = 64", false);
}

static void a_field_comes_before_a_parameter_and_maps_are_entered(void **state)
{
    (void)state;
    check("params.state = solid", true);
    check("state = solid", false);
    check("params.lr = 0.01", true);
    check("'name with blanks' = 1", true);
    check("'params.name with blanks' = 1", true);
    check("a.b = 5", true);
    check("model.depth = 3", true);
    check("params.model.depth = 3", true);
    check("model.head.size = 9", true);
    check("model.head.a.b = 7", true);
    check("model.head.a = null", true);
    check("model.depth.x = null", true);
    check("\"in\" = 4", true);
}

static void a_column_says_where_the_mistake_is(void **state)
{
    static const struct {
        const char *expression, *text;
    } cases[] = {
        { "", "--where: column 1: expected a name, found the end" },
        { "lr >", "--where: column 5: expected a value, found the end" },
        { "lr > and x = 1", "--where: column 6: expected a value, found 'and'" },
        { "lr > 0.1 and", "--where: column 13: expected a name, found the end" },
        { "lr 0.1", "--where: column 4: expected one of = != < <= > >= ~ in, found '0.1'" },
        { "lr", "--where: column 3: expected one of = != < <= > >= ~ in, found the end" },
        { "0.1 < lr", "--where: column 1: expected a name, found '0.1'" },
        { "lr = 1 n = 2", "--where: column 8: expected 'and', 'or' or the end, found 'n'" },
        { "lr = 1)", "--where: column 7: expected 'and', 'or' or the end, found ')'" },
        { "(lr = 1", "--where: column 8: expected 'and', 'or' or ')', found the end" },
        { "n in 1", "--where: column 6: expected '(', found '1'" },
        { "n in ()", "--where: column 7: expected a value, found ')'" },
        { "n in (1 2)", "--where: column 9: expected ',' or ')', found '2'" },
        { "n not 1", "--where: column 7: expected 'in', found '1'" },
        { "n => 1", "--where: column 4: expected a value, found '>'" },
        { "n = 'abc", "--where: column 5: this quote is never closed" },
        { "!n = 1", "--where: column 1: '!' stands only in '!=' (write not)" },
        { "n < null", "--where: column 5: only = and != compare with null" },
        { "n = 0.01and node = x",
          "--where: column 13: expected 'and', 'or' or the end, found 'node'" },
        { "n = 'x' 'y'", "--where: column 9: expected 'and', 'or' or the end, found 'y'" },
        /* columns are characters */
        { "größe = 1 1", "--where: column 11: expected 'and', 'or' or the end, found '1'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e;

        assert_false(holds(cases[i].expression, &e));
        assert_int_equal(e.kind, ERR_USAGE);
        assert_string_equal(e.text, cases[i].text);
    }
}

static void nest(struct buf *out, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_add_char(out, '(');
    buf_add_str(out, "n = 64");
    for (int i = 0; i < depth; i++)
        buf_add_char(out, ')');
}

static void depth_and_length_have_limits(void **state)
{
    struct buf text = { 0 };
    struct err e;

    (void)state;
    nest(&text, WHERE_DEPTH_MAX);
    check(buf_text(&text), true);
    buf_clear(&text);
    nest(&text, WHERE_DEPTH_MAX + 1);
    assert_false(holds(buf_text(&text), &e));
    assert_non_null(strstr(e.text, "column 51: more than 50 parentheses"));
    buf_clear(&text);
    for (int i = 0; i < 1000; i++)
        buf_add_str(&text, "n = 1 or ");
    buf_add_str(&text, "n = 64");
    check(buf_text(&text), true);
    while (text.n <= WHERE_BYTES_MAX)
        buf_add_char(&text, ' ');
    assert_false(holds(buf_text(&text), &e));
    assert_non_null(strstr(e.text, "longer than 16384 bytes"));
    buf_clear(&text);
    for (int i = 0; i <= WHERE_NAMES_MAX; i++)
        buf_printf(&text, "n%d = 1%s", i, i < WHERE_NAMES_MAX ? " or " : "");
    assert_false(holds(buf_text(&text), &e));
    assert_non_null(strstr(e.text, "at most 200 different names"));
    buf_free(&text);
}

/* Deciding early must not mean looking twice: this has 2^45 ways to be walked. */
static void a_deep_expression_is_looked_at_once(void **state)
{
    struct buf text = { 0 };

    (void)state;
    for (int i = 0; i < 45; i++)
        buf_add_str(&text, "(");
    buf_add_str(&text, "n = 64");
    for (int i = 0; i < 45; i++)
        buf_add_str(&text, i % 2 == 0 ? " or n = 1)" : " and n = 64)");
    check(buf_text(&text), true);
    buf_free(&text);
}

static void match(struct where *w, struct arena *a, const char *json)
{
    struct value params;
    struct where_row row = { .params = &params };

    assert_int_equal(json_read(json, strlen(json), a, &params, NULL), 0);
    where_matches(w, &row);
}

static void a_name_that_no_row_has_is_told_with_the_nearest(void **state)
{
    struct arena *a = arena_create();
    struct where *w = where_parse("momentun > 0.5 or lr = 1", a, NULL);
    struct err e = { 0 };

    (void)state;
    assert_int_equal(where_check_names(w, &e), 0); /* no row yet */
    assert_true(where_knows_names(w));
    match(w, a, "{\"lr\": 1}");
    assert_false(where_knows_names(w));
    assert_int_equal(where_check_names(w, &e), -1);
    assert_string_equal(e.text, "--where: no job has 'momentun'");
    match(w, a, "{\"lr\": 1, \"momentum\": 0.9}");
    assert_int_equal(where_check_names(w, &e), -1);
    assert_int_equal(e.kind, ERR_USAGE);
    assert_string_equal(e.text, "--where: no job has 'momentun' (did you mean 'momentum'?)");
    match(w, a, "{\"momentun\": null}");
    assert_true(where_knows_names(w));
    assert_int_equal(where_check_names(w, &e), 0);
    arena_destroy(a);
}

static void a_field_without_a_value_is_known_all_the_same(void **state)
{
    struct arena *a = arena_create();
    struct where *w = where_parse("signal = 9", a, NULL);
    struct job_info j = { .job = "1.1", .exit_code = SCHEMA_NONE, .signal = SCHEMA_NONE };
    struct jobinfo_row row;

    (void)state;
    jobinfo_fill_row(&row, &j);
    assert_false(where_matches(w, &row.row));
    assert_true(where_knows_names(w));
    j.signal = 9;
    jobinfo_fill_row(&row, &j);
    assert_true(where_matches(w, &row.row));
    arena_destroy(a);
}

static void states_and_causes_that_there_are_none_of_are_refused(void **state)
{
    static const struct {
        const char *expression, *error; /* NULL: none */
    } cases[] = {
        { "state = failed", NULL },
        { "state != failed and not state in (done, cancelled)", NULL },
        { "state ~ fail", NULL },
        { "state < faild", NULL },
        { "state = null", NULL },
        { "params.state = solid", NULL },
        { "cause in (oom, node-lost)", NULL },
        { "lr = faild", NULL },
        { "state = faild", "--where: state is never 'faild' (did you mean 'failed'?)" },
        { "a = 1 or (not state != 'dne')", "--where: state is never 'dne' (did you mean 'done'?)" },
        { "state not in (done, quux)", "--where: state is never 'quux'" },
        { "state = paused", "--where: paused is no state of a job; paused jobs are queued: "
                            "--where 'reason = paused'" },
        { "cause = out-of-memory", "--where: cause is never 'out-of-memory'" },
        { "cause = none", "--where: where nothing went wrong there is no cause: cause = null" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct err e = { 0 };
        struct where *w;
        bool is_fine = jobinfo_parse_where(cases[i].expression, a, &w, &e) == 0;

        if (is_fine != (cases[i].error == NULL))
            fail_msg("%s: %s", cases[i].expression, e.text);
        assert_string_equal(is_fine ? "" : e.text, cases[i].error != NULL ? cases[i].error : "");
        assert_int_equal(e.kind, is_fine ? ERR_NONE : ERR_USAGE);
        arena_destroy(a);
    }
}

/* The name that a job with the parameters above has for two things, or "". */
static const char *shadowing(const char *expression)
{
    static char kept[80];
    struct arena *a = arena_create();
    struct job_info j = { .job = "7.13", .state = JOB_DONE };
    struct jobinfo_row row;
    struct where *w = where_parse(expression, a, NULL);
    const char *name;

    assert_non_null(w);
    assert_int_equal(json_read(params_text, strlen(params_text), a, &j.params, NULL), 0);
    jobinfo_fill_row(&row, &j);
    where_matches(w, &row.row);
    name = where_shadowing(w);
    snprintf(kept, sizeof kept, "%s", name != NULL ? name : "");
    arena_destroy(a);
    return kept;
}

static void a_field_that_hides_a_parameter_is_known(void **state)
{
    (void)state;
    assert_string_equal(shadowing("state = done"), "state");
    assert_string_equal(shadowing("lr > 0 and state = done"), "state");
    assert_string_equal(shadowing("params.state = solid"), "");
    assert_string_equal(shadowing("rep = 0 and lr > 0"), "");
}

static void exit_codes_of_shells_have_words(void **state)
{
    static const struct {
        int64_t code;
        const char *words;
    } cases[] = {
        { 0, "" },
        { 1, "" },
        { 126, "exit code 126: the command was found and could not be executed" },
        { 127, "exit code 127: the command was not found" },
        { 128, "" },
        { 137, "exit code 137: as after signal 9, KILL" },
        { 139, "exit code 139: as after signal 11, SEGV" },
        { 255, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        assert_int_equal(jobinfo_add_exit_words(&out, cases[i].code), cases[i].words[0] != '\0');
        assert_string_equal(buf_text(&out), cases[i].words);
        buf_free(&out);
    }
}

/* What the guard and triage write is what --where reads. */
static void tests_of_parameters_are_read_as_they_are_written(void **state)
{
    struct arena *a = arena_create();
    struct value params;

    (void)state;
    assert_int_equal(json_read(params_text, strlen(params_text), a, &params, NULL), 0);
    for (size_t i = 0; i < params.map.n; i++) {
        struct param_test t = { params.map.members[i].key.str.s, PARAM_IS,
                                params.map.members[i].value };
        struct buf other = { 0 };
        double number;

        for (int op = PARAM_IS; op <= PARAM_AT_MOST; op++) {
            struct buf text = { 0 };

            t.op = (enum param_op)op;
            if (op != PARAM_IS && !param_number(&t.value, &number))
                continue;
            assert_true(param_test_holds(&t, &params));
            param_test_add(&text, &t);
            check(buf_text(&text), true);
            buf_free(&text);
        }
        t = (struct param_test){ t.name, PARAM_IS, value_str("another") };
        assert_false(param_test_holds(&t, &params));
        param_test_add(&other, &t);
        check(buf_text(&other), false);
        buf_free(&other);
    }
    arena_destroy(a);
}

static void a_parameter_that_hides_behind_a_field_is_written_as_a_parameter(void **state)
{
    struct job_info j = { .job = "7.1", .state = JOB_DONE };
    struct jobinfo_row row;

    (void)state;
    jobinfo_fill_row(&row, &j);
    for (size_t i = 0; i < row.row.n_fields; i++) {
        assert_non_null(param_test_fields[i]);
        assert_string_equal(param_test_fields[i], row.fields[i].key.str.s);
    }
    assert_null(param_test_fields[row.row.n_fields]);
    check("params.state=solid", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_and_causes_that_there_are_none_of_are_refused),
        cmocka_unit_test(a_field_that_hides_a_parameter_is_known),
        cmocka_unit_test(exit_codes_of_shells_have_words),
        cmocka_unit_test(numbers_compare_as_numbers),
        cmocka_unit_test(everything_else_compares_as_text),
        cmocka_unit_test(what_has_no_value_equals_null_and_nothing_else),
        cmocka_unit_test(lists_hold_alternatives),
        cmocka_unit_test(or_is_weaker_than_and_and_not_is_strongest),
        cmocka_unit_test(a_field_comes_before_a_parameter_and_maps_are_entered),
        cmocka_unit_test(a_column_says_where_the_mistake_is),
        cmocka_unit_test(depth_and_length_have_limits),
        cmocka_unit_test(a_deep_expression_is_looked_at_once),
        cmocka_unit_test(a_name_that_no_row_has_is_told_with_the_nearest),
        cmocka_unit_test(a_field_without_a_value_is_known_all_the_same),
        cmocka_unit_test(tests_of_parameters_are_read_as_they_are_written),
        cmocka_unit_test(a_parameter_that_hides_behind_a_field_is_written_as_a_parameter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
