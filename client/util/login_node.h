/* SPDX-License-Identifier: MIT */
/*
 * login_node.h - tells whether this machine is a login node of a Slurm cluster
 */
#ifndef LUDWIG_CLIENT_UTIL_LOGIN_NODE_H
#define LUDWIG_CLIENT_UTIL_LOGIN_NODE_H

#include <stdbool.h>
#include <stdint.h>

enum { LOGIN_NODE_PING_MAX_MS = 1000 };

/* Whether sbatch is in PATH and a slurmctld answers `scontrol ping` within ping_max_ms, usually
 * LOGIN_NODE_PING_MAX_MS.  Slurm's programs alone make no login node. */
bool login_node_is_here(int64_t ping_max_ms);

#endif
