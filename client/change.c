/* SPDX-License-Identifier: MIT */
/* change.c - commands that change jobs and say how many they changed */
#include <inttypes.h>

#include "client/change.h"
#include "client/out.h"
#include "client/selector.h"
#include "client/session.h"

/* msg_cancel and msg_retry hold the same: a list of targets. */
static int send_targets(struct rpc *rpc, enum msg_type type, const struct list *targets,
                        struct msg_changed *reply, struct err *e)
{
    struct msg_cancel cancel = { *targets };
    struct msg_retry retry = { *targets };

    return rpc_call(rpc, type, type == MSG_CANCEL ? (void *)&cancel : (void *)&retry, reply, e);
}

int change_jobs(struct cli *cli, enum msg_type type, const char *done, struct err *e)
{
    struct msg_changed reply;
    struct list targets;
    struct session s;
    int result;

    if (selector_check(&cli->args, e) < 0 || session_open(cli, &s, e) < 0)
        return -1;
    result = selector_targets(&s.rpc, &cli->args, cli->arena, &targets, e);
    if (result == 0)
        result = send_targets(&s.rpc, type, &targets, &reply, e);
    if (result == 0)
        out_note("%" PRId64 " job%s %s", reply.jobs, reply.jobs == 1 ? "" : "s", done);
    session_close(&s);
    return result < 0 ? -1 : EXIT_WELL;
}
