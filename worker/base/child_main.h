/* SPDX-License-Identifier: MIT */
/*
 * child_main.h - what all children of the agent begin with
 */
#ifndef LUDWIG_WORKER_BASE_CHILD_MAIN_H
#define LUDWIG_WORKER_BASE_CHILD_MAIN_H

#include "common/base/err.h"
#include "worker/base/child_start.h" /* which descriptors it finds */

/* Default signals; those a terminal or a service manager sends to all, SIGPIPE and
 * SIGCHLD are blocked; what descriptors it got are not handed on. */
int child_begin(struct err *e);

/* Says on stderr why this child cannot go on, and returns its exit code. */
int child_main_fail(const char *child, const struct err *e);

#endif
