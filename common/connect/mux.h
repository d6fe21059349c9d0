/* SPDX-License-Identifier: MIT */
/*
 * mux.h - one SSH connection, shared by all that a program does with a server
 *
 *   caller ──control socket──▶ mux process ──one SSH session──▶ sshd
 *          ◀── descriptors, each one end of a socket pair whose other end the mux
 *              pumps to and from a channel
 *
 * An SSH session is for one thread and waits in places, so a process of its own keeps it, and
 * everybody else, event loops too, sees plain connected sockets.  They may be shut down for
 * writing, handed to children and closed like others.  When the connection dies they all see
 * the end of file.  When the caller closes the control socket, or dies, the mux ends with all
 * its channels, once it has passed on what was written before.
 */
#ifndef LUDWIG_COMMON_CONNECT_MUX_H
#define LUDWIG_COMMON_CONNECT_MUX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/data/schema.h"
#include "common/proto/endpoint.h"
#include "common/ssh/connect_facts.h"

struct mux_options {
    bool may_prompt;       /* for passwords and passphrases, on the terminal */
    unsigned ways;         /* 1u << WAY_... of those to be tried; 0: all */
    int interrupt_fd;      /* readable: give up waiting; 0 or -1: none */
    const char *conf_said; /* of another to the same server, see mux_conf_said; NULL: none */
};

struct mux;

/*
 * Connects, checks the host key and authenticates; asks on the terminal if it may.  Forks: call it
 * before any thread is started, except zstd's, which hold nothing of anybody else's.  to is an ENDPOINT_SSH.
 *
 * NULL with e set: ERR_UNREACHABLE, or ERR_DENIED for a host key or an authentication that was
 * refused.  The text says which step failed and what to do.
 */
struct mux *mux_start(const struct endpoint *to, const struct mux_options *o, struct err *e);
/* The same without waiting until it has connected: mux_wait does, or mux_ask_sftp and mux_take, which
 * may not prompt. */
struct mux *mux_begin(const struct endpoint *to, const struct mux_options *o, struct err *e);
int mux_wait(struct mux *m, struct err *e);
/* Waits for its end.  NULL is fine. */
void mux_close(struct mux *m);

/*
 * A connected descriptor (close-on-exec, blocking) to ludwigd or to an SFTP server; the caller closes
 * it.  -1 with e set: ERR_UNREACHABLE when the
 * connection is lost or nobody listens, ERR_DENIED when sshd or a file's mode forbids it.
 * Several of each may be open at once; sshd allows 10 sessions (SFTP, commands) by default.
 */
int mux_server(struct mux *m, enum way *way, struct err *e);
int mux_sftp(struct mux *m, struct err *e);
/* Both: mux_server, and meanwhile what mux_sftp will give. */
int mux_server_and_sftp(struct mux *m, enum way *way, struct err *e);

/* false: the connection is gone; start another mux. */
bool mux_is_alive(const struct mux *m);
/* Once it has dialed: how long a round trip took then; SCHEMA_NONE: not known. */
int64_t mux_round_trip_ms(const struct mux *m);
/* Once it has dialed or connected: what ssh's configuration says of the server, which another need
 * not ask for again; lasts as long as the mux.  NULL: not known. */
const char *mux_conf_said(const struct mux *m);
/* Somebody was asked something, as for a password: another mux would have to ask, too. */
bool mux_has_prompted(const struct mux *m);

/* What is known of the connection. */
int mux_facts(struct mux *m, struct connect_facts *facts, struct arena *a, struct err *e);

/* ---- for event loops, which may neither wait nor fork ---- */

/* The whole life of a mux that was exec'ed with the control socket at control_fd; never prompts.
 * address may be one of a share as well.  The exit code. */
int mux_main(int control_fd, const char *address);

/* The other end of that socket.  Owns control_fd from here on; mux_close does not wait then. */
struct mux *mux_attach(int control_fd);
/* To be polled for reading. */
int mux_control_fd(const struct mux *m);
/* Asks once; mux_take brings the answer. */
int mux_ask_server(struct mux *m, struct err *e);
int mux_ask_sftp(struct mux *m, struct err *e);
/* 1 with a descriptor (non-blocking, in the order they were asked for), 0 when there is nothing
 * yet, -1 with e set: mux_is_alive says whether another may be asked for. way may be NULL. */
int mux_take(struct mux *m, int *fd, enum way *way, struct err *e);

#endif
