/* SPDX-License-Identifier: MIT */
/* cmd_pause.c - ludwig pause */
#include "client/cmd/job_change.h"
#include "client/query/selector.h"
#include "client/query/where.h"

struct options {
    struct job_change_options change;
};

static const struct opt options[] = {
    JOB_CHANGE_OPTIONS(struct options),
    { 0 },
};

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct msg_pause request = { 0 };
    const struct change pause = { MSG_PAUSE, &request, 1 << JOB_QUEUED | 1 << JOB_STAGING,
                                  "pause",   "paused", "waits" };

    return change_jobs(cli, &o->change, &pause, e);
}

const struct command cmd_pause = {
    .name = "pause",
    .args = "SWEEP|JOB... [OPTION]...",
    .help = "start no more of these jobs for now; those that run go on",
    .more = SELECTOR_HELP "A paused sweep also keeps back what is retried later.\n" WHERE_HELP,
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
