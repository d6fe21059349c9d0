/* SPDX-License-Identifier: MIT */
/* cmd_retry.c - ludwig retry */
#include "client/cmd/job_change.h"
#include "client/query/selector.h"
#include "client/query/where.h"
#include "client/term/opt_state.h"

struct options {
    struct job_change_options change;
    bool failed;
    struct list states;
};

static const struct opt options[] = {
    { "failed", 0, OPT_FLAG, NULL, offsetof(struct options, failed), 0, 0,
      "only those that failed" },
    { "state", 0, OPT_STRS, "STATE", offsetof(struct options, states), 0, 0,
      "only those that are failed or cancelled" },
    JOB_CHANGE_OPTIONS(struct options),
    { 0 },
};

enum { FAILED = 1 << JOB_FAILED, CANCELLED = 1 << JOB_CANCELLED };

static int read_states(const struct options *o, unsigned *states, struct err *e)
{
    struct opt_state retried = stateopt_jobs;

    retried.allowed = FAILED | CANCELLED;
    retried.refusal = "retry takes no jobs that are";
    retried.mistaken = NULL;
    if (opt_state_read(&retried, &o->states, states, e) < 0)
        return -1;
    if (o->failed)
        *states |= FAILED;
    if (*states == 0)
        *states = FAILED | CANCELLED;
    return 0;
}

static const char *idle_of(unsigned states)
{
    if (states == FAILED)
        return "failed";
    return states == CANCELLED ? "was cancelled" : "failed or was cancelled";
}

static int run(struct cli *cli, struct err *e)
{
    const struct options *o = cli->options;
    struct msg_retry request = { 0 };
    struct change retry = { MSG_RETRY, &request, 0, "retry", "queued again", "" };

    if (read_states(o, &retry.states, e) < 0)
        return -1;
    retry.idle = idle_of(retry.states);
    request.states = opt_state_names(&stateopt_jobs, retry.states, cli->arena);
    return change_jobs(cli, &o->change, &retry, e);
}

const struct command cmd_retry = {
    .name = "retry",
    .args = "SWEEP|JOB... [OPTION]...",
    .help = "run jobs again that failed or were cancelled",
    .more = SELECTOR_HELP
    "The files and the log of the attempt before stay where they are. A retry runs\n"
    "the source as it was submitted: after a change of the program submit the file\n"
    "again, with --reuse params if what is done already shall count.\n" WHERE_HELP,
    .min_args = 1,
    .max_args = ARGS_ANY,
    .options = options,
    .options_size = sizeof(struct options),
    .run = run,
};
