/* SPDX-License-Identifier: MIT */
/*
 * gpu_hint.h - tells users of GPUs that their sweep does not ask for
 */
#ifndef LUDWIG_CLIENT_SUBMIT_GPU_HINT_H
#define LUDWIG_CLIENT_SUBMIT_GPU_HINT_H

#include "client/session/session.h"
#include "client/spec/spec.h"

/* Appends "hebb has 2 GPUs, and these jobs get none: resources: {gpus: 1} gives each of them one" where
 * nodes that may run it have GPUs, or this machine has, and the file does not say what it wants of them.
 * is_open: the session has reached its server. */
void gpu_hint_add(struct buf *out, const struct spec *s, struct session *session, bool is_open);

#endif
