/* SPDX-License-Identifier: MIT */
/*
 * address.h - keeps the address of the user's own server in a file of the state folder
 *
 * The file "address" holds "unix:/path" and, in its second line, the host, as
 * several hosts may see the folder.
 */
#ifndef LUDWIG_CLIENT_SESSION_ADDRESS_H
#define LUDWIG_CLIENT_SESSION_ADDRESS_H

#include "common/proto/endpoint.h"

/* Returns the state folder, made if need be and checked to be private; the caller frees it. */
char *address_make_state_dir(struct err *e);

/*
 * Returns a path for the socket of a server with this state folder: short, on a file system that no
 * other host sees, in a folder (made here) that is the user's own.  The caller frees it.
 */
char *address_choose_socket(const char *state, struct err *e);

int address_write(const char *state, const char *socket_path, struct err *e);
/* Removes the file of a server that was stopped; a server that ends in another way leaves it. */
void address_forget(const char *state);
/* Reads the address.  ENDPOINT_SSH: the server was started on another host that sees the same
 * folder, as the login nodes of a cluster do, and is reached by ssh.  ERR_NOT_FOUND: none was
 * started. */
int address_read(const char *state, struct endpoint *to, struct arena *a, struct err *e);

#endif
