/* SPDX-License-Identifier: MIT */
/*
 * mux_run.h - what a mux does in its own process
 */
#ifndef LUDWIG_COMMON_CONNECT_MUX_RUN_H
#define LUDWIG_COMMON_CONNECT_MUX_RUN_H

#include "common/connect/mux.h"

/* Connects and serves until the control socket closes, or the connection does. */
void mux_run(int control_fd, const struct endpoint *to, const struct mux_options *o);

/* The same where there is no connection at all: each descriptor is one end of a courier that works
 * with the share at that path of this machine (common/connect/courier.h). */
void mux_run_share(int control_fd, const char *share);

#endif
