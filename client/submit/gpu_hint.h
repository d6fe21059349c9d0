/* SPDX-License-Identifier: MIT */
/*
 * gpu_hint.h - tells users of GPUs that their sweep does not ask for
 */
#ifndef LUDWIG_CLIENT_SUBMIT_GPU_HINT_H
#define LUDWIG_CLIENT_SUBMIT_GPU_HINT_H

#include "client/session/session.h"
#include "client/spec/spec.h"

/* The question which nodes there are, sent and not answered yet. */
struct gpu_look {
    struct msg_get_nodes request;
    struct rpc_question question;
    bool is_asked;
};

/* Asks the session's server for its nodes, unless resources: has gpus: or nodes: is empty. */
void gpu_hint_ask(struct gpu_look *look, const struct spec *s, struct session *session);
/* Appends "hebb has 2 GPUs, and these jobs get none: resources: {gpus: 1} gives each of them one"
 * if gpu_hint_ask would ask and nodes that may run the sweep have GPUs, or, where no node is up,
 * this machine as embedded worker. look: zero if the session has not reached its server. */
void gpu_hint_add(struct buf *out, const struct spec *s, struct session *session,
                  struct gpu_look *look);

#endif
