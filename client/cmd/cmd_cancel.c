/* SPDX-License-Identifier: MIT */
/* cmd_cancel.c - ludwig cancel */
#include "client/cmd/job_change.h"
#include "client/query/selector.h"
#include "client/query/where.h"

struct options {
    struct job_change_options change;
    bool drain;
};

static const struct opt options[] = {
    { "drain", 0, OPT_FLAG, NULL, offsetof(struct options, drain), 0, 0,
      "what runs already may finish, and is not tried again if it fails" },
    JOB_CHANGE_OPTIONS(struct options),
    { 0 },
};

enum {
    NOT_OVER = 1 << JOB_QUEUED | 1 << JOB_STAGING | 1 << JOB_RUNNING | 1 << JOB_PUBLISHING,
};

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct msg_cancel request = { .drain = o->drain };
    struct change cancel = {
        MSG_CANCEL, &request, NOT_OVER, "cancel", "cancelled", "waits or runs"
    };

    if (o->drain) {
        cancel.done = "drained: what waited is cancelled, what runs may finish";
        cancel.idle = "waits";
    }
    return change_jobs(cli, &o->change, &cancel, e);
}

const struct command cmd_cancel = {
    .name = "cancel",
    .args = "SWEEP|JOB... [OPTION]...",
    .help = "end jobs, those that run too; nothing of them is left",
    .more = SELECTOR_HELP "What was cancelled runs again after `ludwig retry`.\n" WHERE_HELP,
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
