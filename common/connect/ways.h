/* SPDX-License-Identifier: MIT */
/*
 * ways.h - from an SSH session to ludwigd: by which way, and why not by a faster one
 *
 * Tried in the order of enum way: a channel to ludwigd's socket, at the path of the address or where
 * it usually lies; `ludwig bridge`, run there; and store-and-forward over SFTP.  The way that led
 * there once is the one that is taken again.
 *
 * The bridge is spoken to in words that tell it from whatever else a forced command may start: it
 * is sent WAYS_HELLO, to which an SFTP server answers as SFTP servers do, and answers WAYS_BRIDGE.
 */
#ifndef LUDWIG_COMMON_CONNECT_WAYS_H
#define LUDWIG_COMMON_CONNECT_WAYS_H

#include <poll.h>

#include "common/ssh/lane.h"

/* The first packet of an SFTP client. */
#define WAYS_HELLO       "\0\0\0\5\1\0\0\0\3"
#define WAYS_HELLO_BYTES 9
/* The bridge's answer, once it is connected; the stream begins behind it. */
#define WAYS_BRIDGE "ludwig bridge 1\n"

struct ways;

struct ways_events {
    /* A lane that is to be pumped from now on; it belongs to the callee. */
    void (*adopt)(void *context, struct lane *l);
};

/* path: of the socket; NULL: looked for.  allowed: 1u << WAY_..., 0: all. */
struct ways *ways_create(struct ssh *s, const char *path, unsigned allowed,
                         const struct ways_events *events, void *context);
void ways_destroy(struct ways *w);

/* Begins to look; one at a time. */
void ways_begin(struct ways *w);
/* After each turn, and when ways_poll's descriptor is ready or ways_deadline_ms has come: 1 with a
 * connected descriptor, 0: not yet, -1 with e set. */
int ways_step(struct ways *w, int *fd, enum way *way, struct err *e);
struct pollfd ways_poll(const struct ways *w); /* fd -1: none */
int64_t ways_deadline_ms(const struct ways *w);

/* The way, path and refusals; texts live as long as w. */
void ways_tell(const struct ways *w, struct mux_facts *facts);

#endif
