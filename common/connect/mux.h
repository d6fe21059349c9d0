/* SPDX-License-Identifier: MIT */
/*
 * mux.h - one SSH connection, shared by all of a program's streams to a server
 *
 *   caller ──control socket──▶ mux process ──one SSH session──▶ sshd
 *          ◀── descriptors, each one end of a socket pair whose other end the mux
 *              pumps to and from a channel
 *
 * An SSH session is for one thread and blocks in places, so a separate process, the mux, keeps it,
 * and its callers, event loops too, see plain connected sockets.  These may be shut down for
 * writing, handed to children and closed like others.  When the connection dies they all reach the
 * end of file.  When the caller closes the control socket or dies, the mux passes on the bytes
 * written before, and ends with all its channels.
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
    unsigned ways;         /* 1u << WAY_... of the ways to try; 0: all */
    int interrupt_fd;      /* once it is readable, waiting is given up; 0 or -1: none */
    const char *conf_said; /* mux_conf_said of another mux to the same server; NULL: none */
};

struct mux;

/*
 * Connects, checks the host key and authenticates; asks on the terminal if may_prompt.  It forks:
 * call it before any thread is started, except zstd's, which hold no locks of others.  to is an
 * ENDPOINT_SSH.
 *
 * NULL with e set: ERR_UNREACHABLE, or ERR_DENIED for a refused host key or authentication.  The
 * text says which step failed and what to do.
 */
struct mux *mux_start(const struct endpoint *to, const struct mux_options *o, struct err *e);
/* The same without waiting for the connection: the caller goes on with mux_wait or, without
 * may_prompt, with mux_ask_sftp and mux_take. */
struct mux *mux_begin(const struct endpoint *to, const struct mux_options *o, struct err *e);
int mux_wait(struct mux *m, struct err *e);
/* Ends the mux and waits for its process.  NULL is fine. */
void mux_close(struct mux *m);

/*
 * Both give a connected descriptor (close-on-exec, blocking) to ludwigd or an SFTP server; the
 * caller closes it.  -1 with e set: ERR_UNREACHABLE when the connection is lost or ludwigd does not
 * listen, ERR_DENIED when sshd or a file's mode forbids it.  Several of each may be open at once;
 * sshd allows 10 sessions (SFTP, commands) by default.
 */
int mux_server(struct mux *m, enum way *way, struct err *e);
int mux_sftp(struct mux *m, struct err *e);
/* As mux_server, and meanwhile opens the SFTP session that the next mux_sftp gives. */
int mux_server_and_sftp(struct mux *m, enum way *way, struct err *e);

/* False when the connection is lost; the caller needs another mux then. */
bool mux_is_alive(const struct mux *m);
/* The time of a round trip, measured when the mux dialed; SCHEMA_NONE: not known (yet). */
int64_t mux_round_trip_ms(const struct mux *m);
/* ssh's configuration for the server, for mux_options of another mux, which then need not ask ssh
 * again; lasts as long as the mux.  NULL: not known, or the mux has not dialed yet. */
const char *mux_conf_said(const struct mux *m);
/* Whether the mux had to ask the user, as for a password: another mux would have to ask, too. */
bool mux_has_prompted(const struct mux *m);

/* Fills *facts, whose texts live in a, with the state of the connection. */
int mux_facts(struct mux *m, struct connect_facts *facts, struct arena *a, struct err *e);

/* ---- for event loops, which may neither wait nor fork ---- */

/* The main function of a mux that was exec'ed with the control socket at control_fd; never prompts.
 * address: of a server, or of a mounted share.  Gives the exit code. */
int mux_main(int control_fd, const char *address);

/* The caller's side of a mux_main at the other end of control_fd, which it takes over; mux_close
 * does not wait for the mux's process. */
struct mux *mux_attach(int control_fd);
/* The descriptor to poll for reading. */
int mux_control_fd(const struct mux *m);
/* Both ask for one descriptor; mux_take gives the answer. */
int mux_ask_server(struct mux *m, struct err *e);
int mux_ask_sftp(struct mux *m, struct err *e);
/* Returns 1 with the next descriptor (non-blocking) in the order of asking, 0 when none has come
 * yet, -1 with e set: mux_is_alive says whether another may be asked for.  way may be NULL. */
int mux_take(struct mux *m, int *fd, enum way *way, struct err *e);

#endif
