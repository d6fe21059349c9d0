/* SPDX-License-Identifier: MIT */
/* flow_users.h - what follows for a user's attempts from who it is, or is not, on this machine */
#ifndef LUDWIG_WORKER_FLOW_FLOW_USERS_H
#define LUDWIG_WORKER_FLOW_FLOW_USERS_H

#include "worker/agent/agent.h"

extern const struct user_events flow_users_events;

#endif
