/* SPDX-License-Identifier: MIT */
/* commands.c - the table of commands, and the text of help and version */
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/help_json.h"
#include "client/term/output.h"
#include "common/base/suggest.h"

enum { HELP_COLUMN = 14 };

/* A line is a group. */
/* clang-format off */
const struct command *const commands[] = {
    &cmd_submit, &cmd_init,
    &cmd_status, &cmd_watch, &cmd_jobs, &cmd_why, &cmd_triage, &cmd_logs, &cmd_peek,
    &cmd_results, &cmd_plot, &cmd_ui, &cmd_best, &cmd_compare, &cmd_diff, &cmd_fetch, &cmd_debug, &cmd_reproduce, &cmd_replay,
    &cmd_cancel, &cmd_pause, &cmd_resume, &cmd_retry, &cmd_order, &cmd_limit, &cmd_label, &cmd_rm,
    &cmd_nodes, &cmd_drain, &cmd_undrain, &cmd_usage, &cmd_data,
    &cmd_up, &cmd_down, &cmd_invite, &cmd_doctor,
    &cmd_report, &cmd_bridge, &cmd_completion, &cmd_version, &cmd_help, NULL,
};
/* clang-format on */

const struct opt common_options[] = {
    { "server", 0, OPT_STR, "ADDRESS", offsetof(struct common_options, server), 0, 0,
      "the server to talk to, such as unix:/path/server.sock" },
    { "help", 'h', OPT_FLAG, NULL, offsetof(struct common_options, help), 0, 0,
      "print this help and exit" },
    { "version", 0, OPT_FLAG, NULL, offsetof(struct common_options, version), 0, 0,
      "print the version and exit" },
    { 0 },
};

/* Headings in `ludwig help`, and the command that each stands before. */
static const struct {
    const char *heading;
    const struct command *first;
} groups[] = {
    { "Run", &cmd_submit },     { "Look", &cmd_status }, { "Change", &cmd_cancel },
    { "Machines", &cmd_nodes }, { "More", &cmd_report },
};

/* Names of commands in other programs, and ours. */
static const struct {
    const char *word, *meant;
} habits[] = {
    { "run", "submit" },
    { "start", "submit" },
    { "list", "status' or 'jobs" },
    { "ls", "status' or 'jobs" },
    { "ps", "status' or 'jobs" },
    { "stop", "cancel" },
    { "kill", "cancel" },
    { "log", "logs" },
    { "delete", "rm" },
    { "remove", "rm" },
};

/* Names that commands had, which work as before. */
static const struct {
    const char *word;
    const struct command *command;
} old_names[] = {
    { "shrink", &cmd_limit },
};

const struct command *command_find(const char *name, struct err *e)
{
    struct suggest nearest = { .word = name };

    for (size_t i = 0; i < sizeof old_names / sizeof old_names[0]; i++)
        if (strcmp(old_names[i].word, name) == 0)
            return old_names[i].command;

    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        suggest_try(&nearest, commands[i]->name);
    }
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++)
        if (strcmp(habits[i].word, name) == 0)
            nearest.best = habits[i].meant;
    if (nearest.best != NULL)
        err_set(e, ERR_USAGE, "there is no command '%s' (did you mean '%s'?)", name, nearest.best);
    else
        err_set(e, ERR_USAGE, "there is no command '%s' (see ludwig help)", name);
    return NULL;
}

const char *command_group(const struct command *c)
{
    const char *group = "";

    for (size_t i = 0; commands[i] != NULL; i++) {
        for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++)
            if (groups[k].first == commands[i])
                group = groups[k].heading;
        if (commands[i] == c)
            break;
    }
    return group;
}

static void add_overview(struct buf *out)
{
    buf_add_str(out, "usage: ludwig COMMAND [OPTION]... [ARGUMENT]...\n\n"
                     "Runs hyperparameter sweeps on all the machines you have.\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++)
            if (groups[k].first == commands[i])
                buf_printf(out, "\n%s:\n", groups[k].heading);
        buf_printf(out, "  %-*s", HELP_COLUMN - 2, commands[i]->name);
        opt_add_wrapped(out, HELP_COLUMN, HELP_COLUMN, commands[i]->help);
    }
}

void command_add_help(struct buf *out, const struct command *c)
{
    if (c == NULL) {
        add_overview(out);
    } else {
        buf_printf(out, "usage: ludwig %s%s", c->name, c->args[0] != '\0' ? " " : "");
        opt_add_wrapped(out, out->n, strlen("usage: ludwig "), c->args);
        buf_add_char(out, '\n');
        opt_add_wrapped(out, 0, 0, c->help);
        if (c->more != NULL)
            buf_printf(out, "\n%s", c->more);
    }
    buf_add_str(out, "\nOptions:\n");
    if (c != NULL && c->options != NULL)
        opt_add_help(out, c->options);
    opt_add_help(out, common_options);
    if (c == NULL)
        buf_add_str(out, "\n`ludwig help COMMAND` explains a command.\n");
}

int command_print_help(const struct command *c, struct err *e)
{
    struct buf text = { 0 };

    command_add_help(&text, c);
    return output_write(&text, e) < 0 ? -1 : EXIT_WELL;
}

struct help_options {
    bool json;
};

static const struct opt help_options[] = {
    { "json", 0, OPT_FLAG, NULL, offsetof(struct help_options, json), 0, 0,
      "print JSON, for programs: all commands with their options and exit codes" },
    { 0 },
};

static int print_help(struct cli *cli, struct err *e)
{
    const struct help_options *o = cli->options;
    const struct command *c = NULL;
    struct help_answer answer;

    if (cli->args.n > 0 && (c = command_find(cli->args.words[0], e)) == NULL)
        return -1;
    if (!o->json)
        return command_print_help(c, e);
    help_describe(&answer, c, cli->arena);
    return output_write_json(&help_answer_schema, &answer, e) < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_help = {
    .name = "help",
    .args = "[COMMAND] [OPTION]...",
    .help = "explain ludwig, or one of its commands",
    .more = "  ludwig help results\n"
            "  ludwig results --help\n"
            "  ludwig help --json\n",
    .max_args = 1,
    .options = help_options,
    .options_size = sizeof(struct help_options),
    .run = print_help,
};

static int print_version(struct cli *cli, struct err *e)
{
    struct buf text = { 0 };

    (void)cli;
    buf_add_str(&text, "ludwig " LUDWIG_VERSION "\n");
    return output_write(&text, e) < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_version = {
    .name = "version",
    .args = "",
    .help = "print the version",
    .run = print_version,
};
