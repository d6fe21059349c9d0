/* SPDX-License-Identifier: MIT */
/* flow_pack.h - packs data that lie on the share already for their owner, when ludwigd says so */
#ifndef LUDWIG_WORKER_FLOW_FLOW_PACK_H
#define LUDWIG_WORKER_FLOW_FLOW_PACK_H

#include "worker/agent/agent.h"

extern const struct service_events flow_pack_events; /* of the packer */

void flow_pack_begin(struct agent *ag, const struct msg_pack *m);
bool flow_pack_is_busy(const struct user *u);
/* Tells ludwigd that the user's packings failed, as the user is refused here. */
void flow_pack_refuse(struct user *u);
void flow_pack_free(struct agent *ag);

#endif
