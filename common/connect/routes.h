/* SPDX-License-Identifier: MIT */
/*
 * routes.h - finds a way from an SSH session to ludwigd, and tells why faster ones failed
 *
 * Ways are tried in the order of enum way: a channel to ludwigd's socket, at the address's path or
 * the usual ones; `ludwig bridge`, run on the server; and store-and-forward over SFTP.  A way that
 * succeeded once is taken again.
 *
 * A forced command may start another program than the bridge.  So the program is sent ROUTES_HELLO,
 * which an SFTP server answers with its version, and the bridge with ROUTES_BRIDGE.
 */
#ifndef LUDWIG_COMMON_CONNECT_ROUTES_H
#define LUDWIG_COMMON_CONNECT_ROUTES_H

#include <poll.h>

#include "common/ssh/ssh_pump.h"

/* The first packet of an SFTP client. */
#define ROUTES_HELLO       "\0\0\0\5\1\0\0\0\3"
#define ROUTES_HELLO_BYTES 9
/* The answer of a bridge that is connected; the stream begins behind the answer. */
#define ROUTES_BRIDGE "ludwig bridge 1\n"

struct routes;

/* Takes over a lane (an SSH channel): the caller of routes_create pumps it from then on. */
typedef void (*routes_adopt_fn)(void *context, struct ssh_pump *l);

/* path: of ludwigd's socket; NULL: the usual paths.  allowed: bits 1u << WAY_...; 0: all ways. */
struct routes *routes_create(struct ssh *s, const char *path, unsigned allowed,
                             routes_adopt_fn adopt, void *context);
void routes_destroy(struct routes *w);

/* Begins a search for a way; there may be one search at a time. */
void routes_begin(struct routes *w);
/* Continues the search; called after each ssh_turn, and when routes_poll's descriptor is ready or
 * routes_deadline_ms has come.  Returns 1 with a connected descriptor, 0 while the search goes on,
 * -1 with e set. */
int routes_step(struct routes *w, int *fd, enum way *way, struct err *e);
/*
 * Some servers end the session when they are asked for a kind of channel that they do not know.  If
 * the session ended during a search and other ways are left, routes_leave gives up that way and all
 * that it has of the session; routes_resume goes on in a new one.  False: no way is left to try.
 */
bool routes_leave(struct routes *w);
void routes_resume(struct routes *w, struct ssh *s);
struct pollfd routes_poll(const struct routes *w); /* fd -1: none */
int64_t routes_deadline_ms(const struct routes *w);

/* Sets the way, path and refusals of facts; texts live as long as w. */
void routes_tell(const struct routes *w, struct connect_facts *facts);

#endif
