/* SPDX-License-Identifier: MIT */
/* opt.c - tests of command line options */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/term/command.h"
#include "client/term/opt.h"
#include "common/data/schema.h"

struct options {
    bool follow, json;
    const char *name;
    const char *why;
    struct list set;
    int64_t lines;
};

static const struct opt rows[] = {
    { "follow", 'f', OPT_FLAG, NULL, offsetof(struct options, follow), 0, 0, "go on" },
    { "json", 0, OPT_FLAG, NULL, offsetof(struct options, json), 0, 0, "print JSON" },
    { "name", 0, OPT_STR, "NAME", offsetof(struct options, name), 0, 0, "what it is called" },
    { "why", 0, OPT_MAYBE, "REASON", offsetof(struct options, why), 0, 0, "it is so" },
    { "set", 's', OPT_STRS, "NAME=VALUE", offsetof(struct options, set), 0, 0, "a value" },
    { "lines", 'n', OPT_INT, "N", offsetof(struct options, lines), -5, 100, "how many" },
    { 0 },
};

/* Splits line at blanks and parses it; rest becomes one line again. */
static int parse(const char *line, struct options *o, char rest[200], struct err *e)
{
    struct arena *a = arena_create();
    struct opt_group group = { rows, o };
    struct opt_words words = { (char *[20]){ NULL }, 0 }, left;
    char *copy = arena_strdup(a, line);
    int result;

    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words.words[words.n++] = word;
    *o = (struct options){ 0 };
    rest[0] = '\0';
    result = opt_parse(&group, 1, &words, a, &left, e);
    for (size_t i = 0; result == 0 && i < left.n; i++)
        snprintf(rest + strlen(rest), 200 - strlen(rest), "%s%s", i > 0 ? " " : "", left.words[i]);
    /* Flags and numbers are all that is looked at once the words are gone. */
    o->name = o->name != NULL ? "given" : NULL;
    o->why = NULL;
    o->set.items = NULL;
    arena_destroy(a);
    return result;
}

static void options_are_taken_in_all_their_forms(void **state)
{
    static const struct {
        const char *line;
        bool follow, json, name;
        size_t n_set;
        int64_t lines;
        const char *rest;
    } cases[] = {
        { "", false, false, false, 0, OPT_UNSET, "" },
        { "a b", false, false, false, 0, OPT_UNSET, "a b" },
        { "a -f b --json", true, true, false, 0, OPT_UNSET, "a b" },
        { "--lines 5", false, false, false, 0, 5, "" },
        { "--lines=5 7", false, false, false, 0, 5, "7" },
        { "-n5", false, false, false, 0, 5, "" },
        { "-n 5", false, false, false, 0, 5, "" },
        { "-n -5", false, false, false, 0, -5, "" },
        { "-fn5 x", true, false, false, 0, 5, "x" },
        { "--name --json", false, false, true, 0, OPT_UNSET, "" },
        { "--name=", false, false, true, 0, OPT_UNSET, "" },
        { "-s a=1 --set b=2 --set=c=3 -sd=4", false, false, false, 4, OPT_UNSET, "" },
        { "-- -f --json", false, false, false, 0, OPT_UNSET, "-f --json" },
        { "- x", false, false, false, 0, OPT_UNSET, "- x" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct options o;
        struct err e = { 0 };
        char rest[200];

        assert_int_equal(parse(cases[i].line, &o, rest, &e), 0);
        assert_int_equal(o.follow, cases[i].follow);
        assert_int_equal(o.json, cases[i].json);
        assert_int_equal(o.name != NULL, cases[i].name);
        assert_int_equal(o.set.n, cases[i].n_set);
        assert_int_equal(o.lines, cases[i].lines);
        assert_string_equal(rest, cases[i].rest);
    }
}

static void a_value_that_may_be_left_out_is_never_the_next_word(void **state)
{
    static const struct {
        const char *line;
        const char *why; /* NULL: not given */
        size_t n_rest;
    } cases[] = {
        { "a", NULL, 1 },      { "--why a", "", 1 }, { "--why=b a", "b", 1 },
        { "--why= a", "", 1 }, { "a --why", "", 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create();
        struct options o = { 0 };
        struct opt_group group = { rows, &o };
        struct opt_words words = { (char *[20]){ NULL }, 0 }, left;
        struct err e = { 0 };

        for (char *word = strtok(arena_strdup(a, cases[i].line), " "); word != NULL;
             word = strtok(NULL, " "))
            words.words[words.n++] = word;
        assert_int_equal(opt_parse(&group, 1, &words, a, &left, &e), 0);
        assert_int_equal(left.n, cases[i].n_rest);
        if (cases[i].why == NULL)
            assert_null(o.why);
        else
            assert_string_equal(o.why, cases[i].why);
        arena_destroy(a);
    }
}

static void mistakes_say_what_would_be_right(void **state)
{
    static const struct {
        const char *line;
        const char *error;
    } cases[] = {
        { "--folow", "unknown option --folow (did you mean --follow?)" },
        { "--xyzzy=3", "unknown option --xyzzy" },
        { "-x", "unknown option -x" },
        { "-fx", "unknown option -x" },
        { "--json=yes", "--json takes no value" },
        { "--name", "--name takes a value: NAME" },
        { "-n", "--lines takes a value: N" },
        { "-n five", "--lines takes a whole number from -5 to 100, not 'five'" },
        { "-n 101", "--lines takes a whole number from -5 to 100, not '101'" },
        { "-n -6", "--lines takes a whole number from -5 to 100, not '-6'" },
        { "-n 5x", "--lines takes a whole number from -5 to 100, not '5x'" },
        { "--lines=", "--lines takes a whole number from -5 to 100, not ''" },
        { "-n 99999999999999999999",
          "--lines takes a whole number from -5 to 100, not '99999999999999999999'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct options o;
        struct err e = { 0 };
        char rest[200];

        assert_int_equal(parse(cases[i].line, &o, rest, &e), -1);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_string_equal(e.text, cases[i].error);
    }
}

static void help_of_every_command_fits_80_columns(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i] != NULL; i++) {
        struct buf text = { 0 };
        const char *line;

        command_add_help(&text, commands[i]);
        assert_non_null(strstr(buf_text(&text), commands[i]->name));
        for (line = buf_text(&text); *line != '\0'; line += strcspn(line, "\n") + 1)
            assert_in_range(strcspn(line, "\n"), 0, 79);
        buf_free(&text);
    }
}

static void the_overview_has_every_command_in_a_group_and_fits_80_columns(void **state)
{
    struct buf text = { 0 };
    const char *line, *heading;

    (void)state;
    command_add_help(&text, NULL);
    for (line = buf_text(&text); *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 79);
    heading = strstr(buf_text(&text), "\nRun:\n");
    assert_non_null(heading);
    for (size_t i = 0; commands[i] != NULL; i++) {
        char row[40];

        snprintf(row, sizeof row, "\n  %s ", commands[i]->name);
        line = strstr(buf_text(&text), row);
        assert_non_null(line);
        assert_true(line > heading);
    }
    buf_free(&text);
}

static void help_wraps_at_blanks_and_indents(void **state)
{
    static const struct opt long_rows[] = {
        { "x", 'x', OPT_FLAG, NULL, 0, 0, 0,
          "a sentence that is longer than what is left of one line of eighty columns" },
        { "maybe", 0, OPT_MAYBE, "WHY", 0, 0, 0, "or not" },
        { "with-a-very-long-name", 0, OPT_STR, "AND-ARGUMENT", 0, 0, 0, "short" },
        { 0 },
    };
    struct buf text = { 0 };

    (void)state;
    opt_add_help(&text, long_rows);
    assert_string_equal(
        buf_text(&text),
        "  -x, --x               a sentence that is longer than what is left of one line\n"
        "                        of eighty columns\n"
        "      --maybe[=WHY]     or not\n"
        "      --with-a-very-long-name AND-ARGUMENT\n"
        "                        short\n");
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_taken_in_all_their_forms),
        cmocka_unit_test(a_value_that_may_be_left_out_is_never_the_next_word),
        cmocka_unit_test(mistakes_say_what_would_be_right),
        cmocka_unit_test(help_of_every_command_fits_80_columns),
        cmocka_unit_test(the_overview_has_every_command_in_a_group_and_fits_80_columns),
        cmocka_unit_test(help_wraps_at_blanks_and_indents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
