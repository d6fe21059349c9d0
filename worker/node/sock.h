/* SPDX-License-Identifier: MIT */
/*
 * sock.h - unix sockets whose paths may be longer than the 107 bytes an address holds
 */
#ifndef LUDWIG_WORKER_NODE_SOCK_H
#define LUDWIG_WORKER_NODE_SOCK_H

#include "common/base/err.h"

/* A connected descriptor, or -1 with ERR_UNREACHABLE.  Never waits. */
int sock_connect(const char *path, struct err *e);
/* name in the folder dir_fd */
int sock_connect_at(int dir_fd, const char *name, struct err *e);
/* Listens under this name in the folder dir_fd, instead of what lies there; close-on-exec, does not
 * block. */
int sock_listen_at(int dir_fd, const char *name, struct err *e);
/* Two ends, close-on-exec; ours does not block, the child's does. */
int sock_pair(int *ours, int *childs, struct err *e);

#endif
