/* SPDX-License-Identifier: MIT */
/* cmd_cancel.c - ludwig cancel */
#include "client/change.h"

static int run(struct cli *cli, struct err *e)
{
    return change_jobs(cli, MSG_CANCEL, "cancelled", e);
}

const struct command cmd_cancel = {
    .name = "cancel",
    .args = "SWEEP|JOB...",
    .help = "end jobs, those that run too; nothing of them is left",
    .more = "Name sweeps (7, last), jobs (7.13) or several (7.1-40).\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .run = run,
};
