/* SPDX-License-Identifier: MIT */
/* change_jobs.c - asks the server to cancel, pause, resume, retry or order any number of jobs */
#include <assert.h>
#include <inttypes.h>

#include "client/query/change_jobs.h"

static_assert(offsetof(struct msg_cancel, targets) == 0 &&
                  offsetof(struct msg_retry, targets) == 0 &&
                  offsetof(struct msg_pause, targets) == 0 &&
                  offsetof(struct msg_resume, targets) == 0 &&
                  offsetof(struct msg_order, targets) == 0,
              "change_jobs_send fills in the targets of all");

int change_jobs_send(struct rpc *rpc, enum msg_type type, union change_request *request,
                     const struct list *targets, struct msg_changed *changed, struct err *e)
{
    struct target *items = (struct target *)targets->items;

    for (size_t sent = 0; sent < targets->n;) {
        size_t left = targets->n - sent, n = left < TARGETS_MAX ? left : TARGETS_MAX;
        struct msg_changed reply;

        request->targets = (struct list){ &items[sent], n };
        if (rpc_call(rpc, type, request, &reply, e) < 0)
            return sent == 0 ? -1
                             : err_wrap(e, "after %" PRId64 " jobs were changed", changed->jobs);
        changed->jobs += reply.jobs;
        changed->searches += reply.searches;
        sent += n;
    }
    return 0;
}
