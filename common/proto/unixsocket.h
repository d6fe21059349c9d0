/* SPDX-License-Identifier: MIT */
/*
 * unixsocket.h - sockets of this machine
 */
#ifndef LUDWIG_COMMON_PROTO_UNIXSOCKET_H
#define LUDWIG_COMMON_PROTO_UNIXSOCKET_H

#include <stdbool.h>

#include "common/proto/endpoint.h"

/* A connected descriptor; -1 with ERR_UNREACHABLE when no process listens there.  It may be
 * anybody's: see unixsocket_connect_server. */
int unixsocket_connect(const char *path, struct err *e);
/*
 * The same for the socket of a ludwigd, to->path, which may be longer than an address holds on
 * Linux.  ERR_DENIED where the process that listens is not root's, our own or to->server_uid's, or
 * somebody else could put a socket there: then nothing is sent.  ERR_UNREACHABLE also where the
 * socket is another machine's (to->host).  Without waits the call does not wait for a server that is
 * busy, and the descriptor does not block.
 */
int unixsocket_connect_server(const struct endpoint *to, bool waits, struct err *e);
/* ERR_DENIED where unixsocket_connect_server would refuse a socket in this folder. */
int unixsocket_check_folder(const char *folder, uid_t server_uid, struct err *e);
/* Two connected ends, close-on-exec. */
int unixsocket_pair(int ends[2], struct err *e);
/* Longest path that a socket can have. */
size_t unixsocket_path_max(void);
/* This machine as endpoints tell it from others until it is started again: its boot id, or where
 * there is none its name; the caller frees it.  Many machines have the same name. */
char *unixsocket_machine(void);
/* This machine's name; the caller frees it. */
char *unixsocket_host(void);

#endif
