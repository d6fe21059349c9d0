/* SPDX-License-Identifier: MIT */
/*
 * address.h - where the user's own server listens, kept in the state folder
 *
 * The file "address" says "unix:/path" and, in its second line, the host: the
 * folder may be seen by several.
 */
#ifndef LUDWIG_CLIENT_SESSION_ADDRESS_H
#define LUDWIG_CLIENT_SESSION_ADDRESS_H

#include "common/proto/endpoint.h"

/* The state folder, made if need be, checked to be private.  The caller frees it. */
char *address_make_state_dir(struct err *e);

/*
 * A path for the socket of a server with this state folder: short, on a file system that no
 * other host sees, in a folder (made here) that is the user's own.  The caller frees it.
 */
char *address_choose_socket(const char *state, struct err *e);

int address_write(const char *state, const char *socket_path, struct err *e);
/* ENDPOINT_SSH: it was started on another host that sees the same folder, as the login nodes of a
 * cluster do; it is reached from here as ssh reaches that host.  ERR_NOT_FOUND: none was started. */
int address_read(const char *state, struct endpoint *to, struct arena *a, struct err *e);

#endif
