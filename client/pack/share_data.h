/* SPDX-License-Identifier: MIT */
/*
 * share_data.h - data that lie on the shared drive already
 */
#ifndef LUDWIG_CLIENT_PACK_SHARE_DATA_H
#define LUDWIG_CLIENT_PACK_SHARE_DATA_H

#include "client/pack/inputs.h"
#include "client/session/rpc.h"

/* Has a worker pack them, waits for that, and says in c what they are. */
int share_data_pack(struct rpc *rpc, const struct spec *s, struct inputs *c, struct err *e);

#endif
