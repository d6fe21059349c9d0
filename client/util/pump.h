/* SPDX-License-Identifier: MIT */
/*
 * pump.h - copies between a socket and a pair of descriptors, both ways at once
 */
#ifndef LUDWIG_CLIENT_UTIL_PUMP_H
#define LUDWIG_CLIENT_UTIL_PUMP_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* The descriptors are made non-blocking, except terminals, which other processes share. */
struct pump_ends {
    int in_fd, out_fd; /* such as standard input and output */
    int socket_fd;
    struct bytes first; /* bytes of the input that were read already */
};

/*
 * Copies until the socket's peer ends the connection and all its bytes are written.  The end of the
 * input is passed on.  A peer that no longer reads may still send, and the input is still passed on
 * when the output is closed.  -1 with e set: ERR_UNREACHABLE when the output or the peer's stream
 * broke.  SIGPIPE must be ignored.  Closes nothing.
 */
int pump_run(const struct pump_ends *ends, struct err *e);

#endif
