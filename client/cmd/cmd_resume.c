/* SPDX-License-Identifier: MIT */
/* cmd_resume.c - ludwig resume */
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
    struct msg_resume request = { 0 };
    const struct change resume = { MSG_RESUME, &request,  1 << JOB_QUEUED,
                                   "resume",   "resumed", "is paused" };

    return change_jobs(cli, &o->change, &resume, e);
}

const struct command cmd_resume = {
    .name = "resume",
    .args = "SWEEP|JOB... [OPTION]...",
    .help = "go on with what was paused",
    .more = SELECTOR_HELP
    "With a sweep, jobs of it that were paused one by one go on too.\n" WHERE_HELP,
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
