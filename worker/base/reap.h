/* SPDX-License-Identifier: MIT */
/*
 * reap.h - end every process of an attempt whose runner is gone
 */
#ifndef LUDWIG_WORKER_BASE_REAP_H
#define LUDWIG_WORKER_BASE_REAP_H

#include "common/base/digest.h"

/*
 * Sends SIGKILL to every process that was started with LUDWIG_ATTEMPT=<token>, and returns how
 * many there were.  Call again, later, until none is left: one may start another meanwhile,
 * and a process takes its time to end.
 */
size_t reap_kill(const struct token *token);

#endif
