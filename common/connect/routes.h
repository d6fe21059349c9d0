/* SPDX-License-Identifier: MIT */
/*
 * routes.h - from an SSH session to ludwigd: by which way, and why not by a faster one
 *
 * Tried in the order of enum way: a channel to ludwigd's socket, at the path of the address or where
 * it usually lies; `ludwig bridge`, run there; and store-and-forward over SFTP.  The way that led
 * there once is the one that is taken again.
 *
 * The bridge is spoken to in words that tell it from whatever else a forced command may start: it
 * is sent ROUTES_HELLO, to which an SFTP server answers as SFTP servers do, and answers ROUTES_BRIDGE.
 */
#ifndef LUDWIG_COMMON_CONNECT_ROUTES_H
#define LUDWIG_COMMON_CONNECT_ROUTES_H

#include <poll.h>

#include "common/ssh/ssh_pump.h"

/* The first packet of an SFTP client. */
#define ROUTES_HELLO       "\0\0\0\5\1\0\0\0\3"
#define ROUTES_HELLO_BYTES 9
/* The bridge's answer, once it is connected; the stream begins behind it. */
#define ROUTES_BRIDGE "ludwig bridge 1\n"

struct routes;

/* Takes a lane over, which is to be pumped from then on. */
typedef void (*routes_adopt_fn)(void *context, struct ssh_pump *l);

/* path: of the socket; NULL: looked for.  allowed: 1u << WAY_..., 0: all. */
struct routes *routes_create(struct ssh *s, const char *path, unsigned allowed,
                             routes_adopt_fn adopt, void *context);
void routes_destroy(struct routes *w);

/* Begins to look; one at a time. */
void routes_begin(struct routes *w);
/* After each turn, and when routes_poll's descriptor is ready or routes_deadline_ms has come: 1 with a
 * connected descriptor, 0: not yet, -1 with e set. */
int routes_step(struct routes *w, int *fd, enum way *way, struct err *e);
struct pollfd routes_poll(const struct routes *w); /* fd -1: none */
int64_t routes_deadline_ms(const struct routes *w);

/* The way, path and refusals; texts live as long as w. */
void routes_tell(const struct routes *w, struct connect_facts *facts);

#endif
