/* SPDX-License-Identifier: MIT */
/*
 * capabilities.h - what a process of root's keeps of root's rights
 *
 * ludwigd and the agent read what strangers send.  An attacker who takes one of them over should
 * find no more of root's rights than it needs: no modules, devices, clock, network, or tracing of
 * others, say.
 */
#ifndef LUDWIG_COMMON_BASE_CAPABILITIES_H
#define LUDWIG_COMMON_BASE_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

/* Gives up all capabilities (linux/capability.h) but the n in kept; adds none that the process
 * lacks. for_all: programs that it starts, as whatever user, cannot get them back either. */
int capabilities_keep(const int *kept, size_t n, bool for_all, struct err *e);

#endif
