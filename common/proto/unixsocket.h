/* SPDX-License-Identifier: MIT */
/* unixsocket.h - connects to Unix sockets of this machine, and names the machine */
#ifndef LUDWIG_COMMON_PROTO_UNIXSOCKET_H
#define LUDWIG_COMMON_PROTO_UNIXSOCKET_H

#include <stdbool.h>

#include "common/proto/endpoint.h"

/* Returns a connected descriptor, which the caller closes; -1 with *e set (ERR_UNREACHABLE when no
 * process listens there).  Any user's process may listen there: see unixsocket_connect_server. */
int unixsocket_connect(const char *path, struct err *e);
/* Connects to the socket of a ludwigd, to->path, which on Linux may be longer than an address
 * holds.  ERR_DENIED, before anything is sent: a process of another user than root, ourselves and
 * to->server_uid listens there, or another user could put a socket there.  ERR_UNREACHABLE: no
 * process listens, or the socket is another machine's (to->host).  With waits false the call does
 * not wait for a busy server, and the descriptor is non-blocking. */
int unixsocket_connect_server(const struct endpoint *to, bool waits, struct err *e);
/* -1 with ERR_DENIED if unixsocket_connect_server would refuse a socket in this folder. */
int unixsocket_check_folder(const char *folder, uid_t server_uid, struct err *e);
/* Makes two connected descriptors, close-on-exec. */
int unixsocket_pair(int ends[2], struct err *e);
/* Length of the longest path that the address of a socket can hold. */
size_t unixsocket_path_max(void);
/* The id of this machine in endpoints (?boot=): its boot id, which changes with each start of the
 * machine, or if it has none its name.  Names are not unique.  The caller frees it. */
char *unixsocket_machine(void);
/* This machine's name; the caller frees it. */
char *unixsocket_host(void);

#endif
