/* SPDX-License-Identifier: MIT */
/*
 * flow_pause.h - where nothing can be started, nothing is taken for a while
 *
 * After a failure to start, a user's attempts are tried one at a time, later each time.
 */
#ifndef LUDWIG_WORKER_FLOW_FLOW_PAUSE_H
#define LUDWIG_WORKER_FLOW_FLOW_PAUSE_H

#include "worker/flow/phases.h"

void flow_pause_failed(struct user *u, const char *why);
void flow_pause_succeeded(struct user *u);
bool flow_pause_may_try(const struct user *u);
/* It takes long enough that others should get the work. */
bool flow_pause_is_long(const struct user *u);

#endif
