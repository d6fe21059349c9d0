/* SPDX-License-Identifier: MIT */
/*
 * login_node.h - tells whether this machine is a login node of a Slurm cluster
 */
#ifndef LUDWIG_CLIENT_UTIL_LOGIN_NODE_H
#define LUDWIG_CLIENT_UTIL_LOGIN_NODE_H

#include <stdbool.h>

/* Whether sbatch is in PATH and a slurmctld answers `scontrol ping` within a second.  Slurm's
 * programs alone make no login node. */
bool login_node_is_here(void);

#endif
