/* SPDX-License-Identifier: MIT */
/*
 * unix_socket.h - unix sockets of the worker and its children, in folders with paths of any length
 */
#ifndef LUDWIG_WORKER_NODE_UNIX_SOCKET_H
#define LUDWIG_WORKER_NODE_UNIX_SOCKET_H

#include "common/base/err.h"

/* Connects to the socket name in dir_fd, without waiting; -1 with ERR_UNREACHABLE if it cannot. */
int unix_socket_connect_at(int dir_fd, const char *name, struct err *e);
/* Replaces name in dir_fd by a listening socket, close-on-exec and non-blocking; returns it. */
int unix_socket_listen_at(int dir_fd, const char *name, struct err *e);
/* Makes a pair of connected sockets, both close-on-exec; ours does not block, the child's does. */
int unix_socket_pair(int *ours, int *childs, struct err *e);

#endif
