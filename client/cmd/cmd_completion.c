/* SPDX-License-Identifier: MIT */
/* cmd_completion.c - ludwig completion */
#include <string.h>

#include "client/cli/completion.h"
#include "client/term/output.h"

static const struct completion_shell *find_shell(const char *name, struct err *e)
{
    for (const struct completion_shell *s = completion_shells; s->name != NULL; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    err_set(e, ERR_USAGE, "there is no script for '%s': bash, zsh or fish", name);
    return NULL;
}

static int run(struct cli *cli, struct err *e)
{
    const struct completion_shell *shell = find_shell(cli->args.words[0], e);
    struct buf out = { 0 };

    if (shell == NULL)
        return -1;
    shell->add(&out, cli->arena);
    return output_write(&out, e) < 0 ? -1 : EXIT_WELL;
}

const struct command cmd_completion = {
    .name = "completion",
    .args = "SHELL",
    .help = "print a script by which your shell completes ludwig's words",
    .more = "SHELL is bash, zsh or fish. Commands, options and their values are completed,\n"
            "and the sweeps, jobs and nodes there are. In ~/.bashrc, in ~/.zshrc behind\n"
            "compinit, and in ~/.config/fish/config.fish:\n"
            "\n"
            "  source <(ludwig completion bash)\n"
            "  source <(ludwig completion zsh)\n"
            "  ludwig completion fish | source\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
