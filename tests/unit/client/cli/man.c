/* SPDX-License-Identifier: MIT */
/* man.c - ludwig(1), ludwig-sweep(5) and ludwig-config(5) against the tables */

#include "tests/unit/man.h"

#include <ctype.h>
#include <stdlib.h>

#include "client/cli/commands.h"
#include "client/spec/spec.h"
#include "client/term/command.h"
#include "client/util/conf.h"
#include "common/proto/envvars.h"

/* ---- ludwig(1) ---- */

static bool is_command(const void *unused, const char *name)
{
    (void)unused;
    for (size_t i = 0; commands[i] != NULL; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return true;
    return false;
}

/* A fragment of help as sentences, each on a line of its own. */
static void add_sentence(struct buf *out, const char *text)
{
    char last = '\0';

    buf_add_char(out, (char)toupper((unsigned char)text[0]));
    for (const char *at = text + 1; *at != '\0'; last = *at++)
        buf_add_char(out, last == '.' && *at == ' ' ? '\n' : *at);
    buf_add_str(out, last == '.' ? "\n" : ".\n");
}

static void add_option(struct buf *out, const struct opt *row)
{
    buf_add_str(out, ".It Fl ");
    if (row->letter != 0)
        buf_printf(out, "%c , Fl ", row->letter);
    buf_printf(out, "-%s", row->name);
    if (row->type != OPT_FLAG)
        buf_printf(out, " Ar %s", row->argument);
    buf_add_char(out, '\n');
    add_sentence(out, row->help);
}

/* The list of options as the page must have it. */
static char *option_list(const struct opt *rows)
{
    struct buf out = { 0 };
    char *list;

    buf_add_str(&out, ".Bl -tag -width Ds\n");
    for (; rows->name != NULL; rows++)
        add_option(&out, rows);
    buf_add_str(&out, ".El\n");
    list = mem_strdup(buf_text(&out));
    buf_free(&out);
    return list;
}

static char *command_head(const struct command *c)
{
    struct buf out = { 0 };
    char *head;

    buf_printf(&out, "\n.D1 ludwig %s%s%s\n", c->name, c->args[0] != '\0' ? " " : "", c->args);
    add_sentence(&out, c->help);
    head = mem_strdup(buf_text(&out));
    buf_free(&out);
    return head;
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

static void must_have(const char *part, const char *what, char *text)
{
    if (strstr(part, text) == NULL)
        fail_msg("ludwig.1, %s: lacks these lines (--print shows them all):\n%s", what, text);
    free(text);
}

static void check_command(const char *part, const struct command *c)
{
    must_have(part, c->name, command_head(c));
    if (c->options != NULL)
        must_have(part, c->name, option_list(c->options));
    if (count(part, "\n.It Fl ") > 0 && c->options == NULL)
        fail_msg("ludwig.1, %s: lists options, and there are none", c->name);
}

static void every_command_is_in_the_manual_with_its_options(void **state)
{
    char *page = man_read("ludwig.1");

    (void)state;
    for (size_t i = 0; commands[i] != NULL; i++) {
        char *line = mem_printf(".Ss ludwig %s", commands[i]->name);
        char *part = man_part(page, line, ".Ss ", ".Sh ");

        check_command(part, commands[i]);
        free(part);
        free(line);
    }
    free(page);
}

static void the_manual_has_no_command_that_is_none(void **state)
{
    static const char begin[] = "\n.Ss ludwig ";
    char *page = man_read("ludwig.1");

    (void)state;
    for (const char *at = page; (at = strstr(at, begin)) != NULL; at++) {
        const char *name = at + strlen(begin);
        char *word = mem_printf("%.*s", (int)strcspn(name, " \n"), name);

        if (!is_command(NULL, word))
            fail_msg("ludwig.1: there is no command '%s'", word);
        free(word);
    }
    free(page);
}

static void options_of_all_commands_are_in_the_manual(void **state)
{
    char *page = man_read("ludwig.1");
    char *part = man_part(page, ".Sh OPTIONS", ".Sh ", NULL);

    (void)state;
    must_have(part, "OPTIONS", option_list(common_options));
    free(part);
    free(page);
}

static void every_exit_code_is_in_the_manual(void **state)
{
#define X(constant, number, sentence) "\n.It " #number "\n",
    static const char *const items[] = { EXIT_CODES(X) };
#undef X
    char *page = man_read("ludwig.1");
    char *part = man_part(page, ".Sh EXIT STATUS", ".Sh ", NULL);

    (void)state;
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        assert_non_null(strstr(part, items[i]));
    assert_int_equal(count(part, "\n.It "), sizeof items / sizeof items[0]);
    free(part);
    free(page);
}

static void variables_that_the_programs_read_are_in_the_manual(void **state)
{
    char *page = man_read("ludwig.1");
    char *part = man_part(page, ".Sh ENVIRONMENT", ".Sh ", NULL);

    (void)state;
    for (int i = 0; i < USER_ENVVAR_COUNT; i++)
        if (!man_lists(part, "Ev", user_envvars[i].name))
            fail_msg("ludwig.1 does not list %s", user_envvars[i].name);
    free(part);
    free(page);
}

/* ---- ludwig-sweep(5) ---- */

static void every_key_of_a_sweep_is_in_the_manual(void **state)
{
    char *page = man_read("ludwig-sweep.5");
    char *part = man_part(page, ".Sh KEYS", ".Sh ", NULL);

    (void)state;
    man_check_keys(part, "Ic", spec_keys);
    free(part);
    free(page);
}

static void every_form_of_a_parameter_is_in_the_manual(void **state)
{
    char *page = man_read("ludwig-sweep.5");
    char *part = man_part(page, ".Sh PARAMETERS", ".Sh ", NULL);

    (void)state;
    for (size_t i = 0; param_forms[i].name != NULL; i++) {
        char *form = mem_printf("{%s: ", param_forms[i].name);

        if (strstr(part, form) == NULL)
            fail_msg("ludwig-sweep.5 does not show %s", form);
        free(form);
    }
    free(part);
    free(page);
}

static bool is_job_variable(const void *unused, const char *name)
{
    (void)unused;
    for (int i = 0; i < JOB_ENVVAR_COUNT; i++)
        if (strcmp(job_envvars[i].name, name) == 0)
            return true;
    for (int i = 0; i < NOTIFY_ENVVAR_COUNT; i++)
        if (strcmp(notify_envvars[i].name, name) == 0)
            return true;
    return false;
}

static void every_variable_of_a_job_is_in_the_manual(void **state)
{
    char *page = man_read("ludwig-sweep.5");
    char *part = man_part(page, ".Sh WHAT A JOB SEES", ".Sh ", NULL);

    (void)state;
    man_each(part, "Ev", is_job_variable, NULL);
    for (int i = 0; i < JOB_ENVVAR_COUNT; i++)
        if (!man_lists(part, "Ev", job_envvars[i].name))
            fail_msg("ludwig-sweep.5 does not list %s", job_envvars[i].name);
    for (int i = 0; i < NOTIFY_ENVVAR_COUNT; i++)
        if (!man_lists(part, "Ev", notify_envvars[i].name))
            fail_msg("ludwig-sweep.5 does not list %s", notify_envvars[i].name);
    free(part);
    free(page);
}

static void every_cause_that_can_be_retried_is_in_the_manual(void **state)
{
    char *page = man_read("ludwig-sweep.5");
    char *part = man_part(page, ".It Ic retry", ".It Ic ", ".S");

    (void)state;
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
        char *name = mem_printf("\n.Li %s", cause_names[i]);

        if (strstr(part, name) == NULL)
            fail_msg("ludwig-sweep.5, retry: does not name %s", cause_names[i]);
        free(name);
    }
    free(part);
    free(page);
}

/* ---- ludwig-config(5) ---- */

static void every_key_of_the_clients_configuration_is_in_the_manual(void **state)
{
    char *page = man_read("ludwig-config.5");
    char *part = man_part(page, ".Sh CONFIG.YAML", ".Sh ", NULL);

    (void)state;
    man_check_keys(part, "Ic", conf_keys);
    free(part);
    free(page);
}

static int print_all(void)
{
    char *list;

    for (size_t i = 0; commands[i] != NULL; i++) {
        char *head = command_head(commands[i]);
        list = commands[i]->options == NULL ? mem_strdup("") : option_list(commands[i]->options);

        printf(".Ss ludwig %s%s%s", commands[i]->name, head, list);
        free(list);
        free(head);
    }
    list = option_list(common_options);
    printf(".Sh OPTIONS\n%s", list);
    free(list);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_in_the_manual_with_its_options),
        cmocka_unit_test(the_manual_has_no_command_that_is_none),
        cmocka_unit_test(options_of_all_commands_are_in_the_manual),
        cmocka_unit_test(every_exit_code_is_in_the_manual),
        cmocka_unit_test(variables_that_the_programs_read_are_in_the_manual),
        cmocka_unit_test(every_key_of_a_sweep_is_in_the_manual),
        cmocka_unit_test(every_form_of_a_parameter_is_in_the_manual),
        cmocka_unit_test(every_variable_of_a_job_is_in_the_manual),
        cmocka_unit_test(every_cause_that_can_be_retried_is_in_the_manual),
        cmocka_unit_test(every_key_of_the_clients_configuration_is_in_the_manual),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0)
        return print_all();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
