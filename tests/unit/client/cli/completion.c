/* SPDX-License-Identifier: MIT */
/* completion.c - tests of what options and arguments may be (for scripts: functional) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/completion.h"
#include "common/proto/states.h"

static int nobody(struct cli *cli, struct err *e)
{
    (void)cli;
    (void)e;
    return 0;
}

static void a_usage_line_says_what_arguments_may_be(void **state)
{
    static const struct {
        const char *args;
        size_t n;
        bool repeats;
        enum complete kinds[3]; /* of the first, second, third argument */
    } cases[] = {
        { "", 0, false, { COMPLETE_NOTHING, COMPLETE_NOTHING, COMPLETE_NOTHING } },
        { "[OPTION]...", 0, false, { COMPLETE_NOTHING, COMPLETE_NOTHING, COMPLETE_NOTHING } },
        { "SWEEP.yaml [OPTION]...", 1, false, { COMPLETE_YAML, COMPLETE_NOTHING } },
        { "SWEEP [DIR] [OPTION]...", 2, false, { COMPLETE_SWEEPS, COMPLETE_FOLDERS } },
        { "[SWEEP]... [OPTION]...",
          1,
          true,
          { COMPLETE_SWEEPS, COMPLETE_SWEEPS, COMPLETE_SWEEPS } },
        { "SWEEP|JOB... [OPTION]...",
          1,
          true,
          { COMPLETE_TARGETS, COMPLETE_TARGETS, COMPLETE_TARGETS } },
        { "JOB", 1, false, { COMPLETE_JOBS, COMPLETE_NOTHING } },
        { "NODE|@GROUP...", 1, true, { COMPLETE_NODES, COMPLETE_NODES, COMPLETE_NODES } },
        { "[COMMAND]", 1, false, { COMPLETE_COMMANDS, COMPLETE_NOTHING } },
        { "SHELL", 1, false, { COMPLETE_WORDS, COMPLETE_NOTHING } },
        { "NAME=VALUE... [step=N]", 2, false, { COMPLETE_NOTHING, COMPLETE_NOTHING } },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct command c = { .name = "c", .args = cases[i].args, .run = nobody };
        bool repeats;

        assert_int_equal(completion_n_arguments(&c, &repeats), cases[i].n);
        assert_int_equal(repeats, cases[i].repeats);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(completion_of_argument(&c, k, a).kind, cases[i].kinds[k]);
    }
    arena_destroy(a);
}

static const struct opt *find_option(const struct command *c, const char *name)
{
    for (const struct opt *row = c->options; row != NULL && row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    fail_msg("%s has no --%s", c->name, name);
    return NULL;
}

static void values_of_options_are_known_from_the_tables(void **state)
{
    static const struct {
        const struct command *command;
        const char *option;
        enum complete kind;
        bool is_list;
        const char *first;
        size_t n;
    } cases[] = {
        { &cmd_submit, "reuse", COMPLETE_WORDS, false, "all", 3 },
        { &cmd_submit, "set", COMPLETE_NOTHING, false, NULL, 0 },
        { &cmd_submit, "dry-run", COMPLETE_NOTHING, false, NULL, 0 },
        { &cmd_submit, "nodes", COMPLETE_NODES, true, NULL, 0 },
        { &cmd_jobs, "state", COMPLETE_WORDS, true, "queued", JOB_STATE_COUNT },
        { &cmd_status, "state", COMPLETE_WORDS, true, "running", 5 },
        { &cmd_nodes, "state", COMPLETE_WORDS, true, "up", 3 },
        { &cmd_results, "goal", COMPLETE_WORDS, false, "max", 2 },
        { &cmd_usage, "by", COMPLETE_WORDS, false, "user", 2 },
        { &cmd_report, "job", COMPLETE_JOBS, false, NULL, 0 },
        { &cmd_report, "failed", COMPLETE_NOTHING, false, NULL, 0 },
    };
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct opt *row = find_option(cases[i].command, cases[i].option);
        struct completion c = completion_of_option(cases[i].command, row, a);

        assert_int_equal(c.kind, cases[i].kind);
        assert_int_equal(c.is_list, cases[i].is_list);
        assert_int_equal(c.n, cases[i].n);
        if (cases[i].first != NULL)
            assert_string_equal(c.words[0], cases[i].first);
    }
    arena_destroy(a);
}

/* A usage line that says what nobody completes is most likely a slip in its spelling. */
static void arguments_of_all_commands_are_known(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    for (size_t i = 0; commands[i] != NULL; i++) {
        bool repeats;

        if (commands[i] == &cmd_report)
            continue;
        for (size_t k = 0; k < completion_n_arguments(commands[i], &repeats); k++)
            if (completion_of_argument(commands[i], k, a).kind == COMPLETE_NOTHING)
                fail_msg("%s: argument %zu of '%s' is not completed", commands[i]->name, k + 1,
                         commands[i]->args);
    }
    arena_destroy(a);
}

static void every_script_names_all_commands_and_options(void **state)
{
    struct arena *a = arena_create();

    (void)state;
    for (const struct completion_shell *s = completion_shells; s->name != NULL; s++) {
        struct buf out = { 0 };

        s->add(&out, a);
        for (size_t i = 0; commands[i] != NULL; i++) {
            if (strstr(buf_text(&out), commands[i]->name) == NULL)
                fail_msg("%s: lacks %s", s->name, commands[i]->name);
            for (const struct opt *row = commands[i]->options; row != NULL && row->name != NULL;
                 row++) {
                const char *dashes = strcmp(s->name, "fish") == 0 ? " -l " : "--";
                char *word = mem_printf("%s%s", dashes, row->name);

                if (strstr(buf_text(&out), word) == NULL)
                    fail_msg("%s: lacks %s of %s", s->name, word, commands[i]->name);
                free(word);
            }
        }
        buf_free(&out);
    }
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_usage_line_says_what_arguments_may_be),
        cmocka_unit_test(values_of_options_are_known_from_the_tables),
        cmocka_unit_test(arguments_of_all_commands_are_known),
        cmocka_unit_test(every_script_names_all_commands_and_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
