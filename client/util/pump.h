/* SPDX-License-Identifier: MIT */
/*
 * pump.h - copy between two pairs of descriptors, both ways at once
 */
#ifndef LUDWIG_CLIENT_UTIL_PUMP_H
#define LUDWIG_CLIENT_UTIL_PUMP_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* What belongs to nobody but us may be made non-blocking; a terminal is left as it is. */
struct pump_ends {
    int in_fd, out_fd; /* as standard input and output */
    int socket_fd;
    struct bytes first; /* of the input: it was read already */
};

/*
 * Until the socket's peer ends the connection and all of it was written.  The end of the input is
 * passed on.  A peer that does not listen any more may still speak, and so may the input when
 * nobody reads the output.  -1 with e set: ERR_UNREACHABLE when the output, or what comes from the
 * peer, broke.  SIGPIPE is to be ignored.  Closes nothing.
 */
int pump_run(const struct pump_ends *ends, struct err *e);

#endif
