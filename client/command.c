/* SPDX-License-Identifier: MIT */
/* command.c - the table of commands, and what help says about them */
#include <string.h>

#include "client/cli.h"
#include "client/command.h"
#include "common/suggest.h"

const struct command *const commands[] = {
    &cmd_submit, &cmd_status, &cmd_jobs, &cmd_logs, &cmd_results, &cmd_cancel, &cmd_retry,
    &cmd_nodes,  &cmd_report, &cmd_up,   &cmd_down, &cmd_version, &cmd_help,   NULL,
};

const struct command *command_find(const char *name, struct err *e)
{
    struct suggest nearest = { .word = name };

    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        suggest_try(&nearest, commands[i]->name);
    }
    if (nearest.best != NULL)
        err_set(e, ERR_USAGE, "there is no command '%s' (did you mean '%s'?)", name, nearest.best);
    else
        err_set(e, ERR_USAGE, "there is no command '%s' (see ludwig help)", name);
    return NULL;
}

void command_add_help(struct buf *out, const struct command *c)
{
    buf_printf(out, "usage: ludwig %s ", c->name);
    opt_add_wrapped(out, out->n, strlen("usage: ludwig "), c->args);
    buf_add_char(out, '\n');
    opt_add_wrapped(out, 0, 0, c->help);
    if (c->more != NULL) {
        buf_add_char(out, '\n');
        buf_add_str(out, c->more);
    }
    buf_add_str(out, "\nOptions:\n");
    if (c->options != NULL)
        opt_add_help(out, c->options);
    opt_add_help(out, cli_options);
}

void command_add_overview(struct buf *out)
{
    buf_add_str(out, "usage: ludwig COMMAND [OPTION]... [ARGUMENT]...\n\n"
                     "Runs parameter sweeps on whatever machines there are.\n\nCommands:\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        buf_printf(out, "  %-9s %s\n", commands[i]->name, commands[i]->help);
    buf_add_str(out, "\nOptions:\n");
    opt_add_help(out, cli_options);
    buf_add_str(out, "\n`ludwig help COMMAND` tells more about a command.\n");
}
