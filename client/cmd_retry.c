/* SPDX-License-Identifier: MIT */
/* cmd_retry.c - ludwig retry */
#include "client/change.h"

static int run(struct cli *cli, struct err *e)
{
    return change_jobs(cli, MSG_RETRY, "queued again", e);
}

const struct command cmd_retry = {
    .name = "retry",
    .args = "SWEEP|JOB...",
    .help = "run jobs again that failed or were cancelled",
    .more = "Name sweeps (7, last), jobs (7.13) or several (7.1-40).\n",
    .min_args = 1,
    .max_args = ARGS_ANY,
    .run = run,
};
