/* SPDX-License-Identifier: MIT */
/* flow_runners.h - what runners say of attempts and their processes */
#ifndef LUDWIG_WORKER_FLOW_FLOW_RUNNERS_H
#define LUDWIG_WORKER_FLOW_FLOW_RUNNERS_H

#include "worker/agent/agent.h"

extern const struct runner_events flow_runners_events;

#endif
