/* SPDX-License-Identifier: MIT */
/* cmd_help.c - ludwig help, ludwig version */
#include "client/cli/commands.h"
#include "client/term/command.h"
#include "client/term/output.h"

static int print_help(struct cli *cli, struct err *e)
{
    struct buf text = { 0 };

    if (cli->args.n == 0) {
        command_add_overview(&text);
    } else {
        const struct command *c = command_find(cli->args.words[0], e);

        if (c == NULL)
            return -1;
        command_add_help(&text, c);
    }
    return output_write(&text, e) < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_help = {
    .name = "help",
    .args = "[COMMAND]",
    .help = "say how to use ludwig, or one of its commands",
    .more = "  ludwig help results\n"
            "  ludwig results --help\n",
    .max_args = 1,
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
    .help = "say which version this is",
    .run = print_version,
};
