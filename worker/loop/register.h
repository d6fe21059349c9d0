/* SPDX-License-Identifier: MIT */
/* register.h - what ludwigd is told of this worker, and of the attempts it holds */
#ifndef LUDWIG_WORKER_LOOP_REGISTER_H
#define LUDWIG_WORKER_LOOP_REGISTER_H

#include "worker/agent/agent.h"

/* Once in each turn: tells ludwigd if that has changed, it is there, and we know. */
void register_if_due(struct agent *ag);

#endif
