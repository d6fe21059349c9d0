/* SPDX-License-Identifier: MIT */
/*
 * shared.h - data that lie on the shared drive already
 */
#ifndef LUDWIG_CLIENT_PACK_SHARED_H
#define LUDWIG_CLIENT_PACK_SHARED_H

#include "client/pack/cargo.h"
#include "client/session/rpc.h"

/* Has a worker pack them, waits for that, and says in c what they are. */
int shared_pack(struct rpc *rpc, const struct spec *s, struct cargo *c, struct err *e);

#endif
