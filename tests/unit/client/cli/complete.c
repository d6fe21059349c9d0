/* SPDX-License-Identifier: MIT */
/* complete.c - tests of which words may come next */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/commands.h"
#include "common/base/mem.h"

/* Puts a `ludwig` into PATH that knows two sweeps, two jobs of each and some nodes. */
static int put_stub(void **state)
{
    static char dir[] = "/tmp/complete-XXXXXX";
    char *path, *variable;
    FILE *f;

    assert_non_null(mkdtemp(dir));
    path = mem_printf("%s/ludwig", dir);
    variable = mem_printf("%s:%s", dir, getenv("PATH"));
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(
        "#!/bin/sh\n"
        "case $1 in\n"
        "status) printf '1\\n2\\n' ;;\n"
        "jobs) printf '2.1\\n2.2\\n' ;;\n"
        "nodes) printf '%s\\n' 'good-1' '$(touch ran)' ';x' 'a b' '*' \"$(printf '\\033]0;x')\" ;;\n"
        "esac\n",
        f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(setenv("PATH", variable, 1), 0);
    free(variable);
    free(path);
    *state = dir;
    return 0;
}

static int remove_stub(void **state)
{
    char *path = mem_printf("%s/ludwig", (char *)*state);

    (void)unlink(path);
    (void)rmdir(*state);
    free(path);
    return 0;
}

/* The answers for a line of words with blanks between, those that begin as its last word does. */
static char *answers(const char *line)
{
    char *copy = mem_strdup(line), *words[16] = { NULL };
    struct opt_words all = { words, 0 };
    struct buf out = { 0 }, kept = { 0 };
    const char *last;

    for (char *at = copy; at != NULL; all.n++) {
        assert_true(all.n < 16);
        words[all.n] = strsep(&at, " ");
    }
    last = strcmp(words[all.n - 1], "=") == 0 ? "" : words[all.n - 1];
    complete_add_answers(&out, &all);
    for (const char *at = buf_text(&out); *at != '\0'; at += strcspn(at, "\n") + 1)
        if (at[0] == ':' || strncmp(at, last, strlen(last)) == 0)
            buf_printf(&kept, "%s%.*s", kept.n > 0 ? " " : "", (int)strcspn(at, "\t\n"), at);
    buf_free(&out);
    free(copy);
    return buf_take(&kept);
}

static void the_words_that_may_come_next_are_known_from_the_tables(void **state)
{
    static const struct {
        const char *line, *wanted;
    } cases[] = {
        { "resu", "results resume" },
        { "help und", "undrain" },
        { "no-such-command ", "" },
        { "version x", "" },
        { "results --s", "--sort --series --server" },
        { "--ser", "--server" },
        { "--server unix:/x resu", "results resume" },
        { "--server=unix:/x resu", "results resume" },
        { "completion ", "bash zsh fish" },
        { "submit --reuse ", "all params none" },
        { "submit --reuse=p", "--reuse=params" },
        { "submit --reuse = p", "params" },
        { "submit --reuse =", "all params none" },
        { "submit --dry-run ", ":yaml" },
        { "submit --no-such=", "" },
        { "submit --param2vals ", ":files" },
        { "submit sweep.yaml --set ", "" },
        { "fetch 7 ", ":folders" },
        { "jobs 7 --state ca", "cancelled" },
        { "jobs 7 --state done,ca", "done,cancelled" },
        { "jobs 7 --state=done,ca", "--state=done,cancelled" },
        { "retry 7 --state ", "failed cancelled stopped" },
        { "results 7 --goal m", "max min" },
        { "results 7 8 ", "last 1 2" },
        { "fetch ", "last 1 2" },
        { "status ", "last 1 2" },
        { "status 1 l", "last" },
        { "cancel ", "all last 1 2" },
        { "cancel 2.", "2.1 2.2" },
        { "cancel last.", "last.1 last.2" },
        { "cancel 2.1,", "2.1,1 2.1,2" },
        { "logs ", "last. 1. 2." },
        { "logs 2.1,", "" },
        { "logs $(x).", "" },
        { "drain ", "good-1" },
        { "drain good-1 ", "good-1" },
        { "submit --nodes x,g", "x,good-1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *found = answers(cases[i].line);

        if (strcmp(found, cases[i].wanted) != 0)
            fail_msg("'%s' may become '%s', not '%s'", cases[i].line, found, cases[i].wanted);
        free(found);
    }
}

/* A usage line with an argument that is not completed is most likely a slip in its spelling. */
static void the_first_argument_of_every_command_is_completed(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i] != NULL; i++) {
        char *line = mem_printf("%s ", commands[i]->name), *found = answers(line);
        const char *args = commands[i]->args;
        bool has_argument =
            args[0] != '\0' && strcmp(args, "[OPTION]...") != 0 && commands[i] != &cmd_report;

        if ((found[0] != '\0') != has_argument)
            fail_msg("%s: '%s' may become '%s'", commands[i]->name, commands[i]->args, found);
        free(found);
        free(line);
    }
}

static void every_option_is_answered_with_its_help(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i] != NULL; i++) {
        char *words[] = { mem_strdup(commands[i]->name), mem_strdup("--") };
        const struct opt_words line = { words, 2 };
        struct buf out = { 0 };

        complete_add_answers(&out, &line);
        for (const struct opt *row = commands[i]->options; row != NULL && row->name != NULL;
             row++) {
            char *wanted =
                mem_printf("--%s\t%.*s\n", row->name, (int)strcspn(row->help, ";"), row->help);

            if (strstr(buf_text(&out), wanted) == NULL)
                fail_msg("%s: lacks %s", commands[i]->name, wanted);
            free(wanted);
        }
        assert_non_null(strstr(buf_text(&out), "--server\t"));
        buf_free(&out);
        free(words[0]);
        free(words[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_that_may_come_next_are_known_from_the_tables),
        cmocka_unit_test(the_first_argument_of_every_command_is_completed),
        cmocka_unit_test(every_option_is_answered_with_its_help),
    };

    return cmocka_run_group_tests(tests, put_stub, remove_stub);
}
