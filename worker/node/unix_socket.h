/* SPDX-License-Identifier: MIT */
/*
 * unix_socket.h - unix sockets of the worker and its children, below folders with paths of any length
 */
#ifndef LUDWIG_WORKER_NODE_UNIX_SOCKET_H
#define LUDWIG_WORKER_NODE_UNIX_SOCKET_H

#include "common/base/err.h"

/* A descriptor connected to name in the folder dir_fd, or -1 with ERR_UNREACHABLE.  Never waits. */
int unix_socket_connect_at(int dir_fd, const char *name, struct err *e);
/* Listens under this name in the folder dir_fd, instead of what lies there; close-on-exec, does not
 * block. */
int unix_socket_listen_at(int dir_fd, const char *name, struct err *e);
/* Two ends, close-on-exec; ours does not block, the child's does. */
int unix_socket_pair(int *ours, int *childs, struct err *e);

#endif
