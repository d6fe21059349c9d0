/* SPDX-License-Identifier: MIT */
/*
 * unixsocket.h - sockets of this machine
 */
#ifndef LUDWIG_COMMON_PROTO_UNIXSOCKET_H
#define LUDWIG_COMMON_PROTO_UNIXSOCKET_H

#include "common/base/err.h"

/* A connected descriptor; -1 with ERR_UNREACHABLE when no process listens there. */
int unixsocket_connect(const char *path, struct err *e);
/* Two connected ends, close-on-exec. */
int unixsocket_pair(int ends[2], struct err *e);
/* Longest path that a socket can have. */
size_t unixsocket_path_max(void);
/* This machine's name; the caller frees it. */
char *unixsocket_host(void);

#endif
