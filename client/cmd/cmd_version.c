/* SPDX-License-Identifier: MIT */
/* cmd_version.c - ludwig version */
#include "client/term/command.h"
#include "client/term/output.h"

static int run(struct cli *cli, struct err *e)
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
    .run = run,
};
