/* SPDX-License-Identifier: MIT */
/*
 * change_jobs.h - asks the server to cancel, pause, resume, retry or order jobs, however many
 */
#ifndef LUDWIG_CLIENT_QUERY_CHANGE_JOBS_H
#define LUDWIG_CLIENT_QUERY_CHANGE_JOBS_H

#include "client/session/rpc.h"

/* Each message begins with its targets. */
union change_request {
    struct list targets;
    struct msg_cancel cancel;
    struct msg_pause pause;
    struct msg_resume resume;
    struct msg_retry retry;
    struct msg_order order;
};

/* Sends as many requests of that type as the targets (struct target) need, each with its own id;
 * request says all else.  Adds what was changed to *changed. */
int change_jobs_send(struct rpc *rpc, enum msg_type type, union change_request *request,
                     const struct list *targets, struct msg_changed *changed, struct err *e);

#endif
