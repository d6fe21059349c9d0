/* SPDX-License-Identifier: MIT */
/*
 * ssh.h - one SSH session, for one process that does nothing else
 *
 * Only common/ssh, routes.c and mux_run.c use this: other code uses a mux (mux.h).  No libssh type
 * leaves common/ssh.  No function waits longer than its patience allows.
 */
#ifndef LUDWIG_COMMON_SSH_SSH_H
#define LUDWIG_COMMON_SSH_SSH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/ssh/connect_facts.h"
#include "common/ssh/ssh_conf.h"

/* A step's deadline, and a descriptor whose closing means that the caller has given up. */
struct ssh_patience {
    int64_t deadline_ms; /* units_monotonic_ms */
    int watch_fd;
};

/* Waits until fd is ready for events (of poll(2)).  -1: ERR_BUSY when time is up, ERR_FAILED when
 * the caller has given up. */
int ssh_wait(int fd, short events, const struct ssh_patience *p, struct err *e);

/* ---- ssh_dial.c: a byte stream to sshd ---- */

struct ssh_dialed {
    int fd;
    pid_t proxy;           /* process of the ProxyCommand; 0: none */
    char *address;         /* the IP address; "" with a proxy; caller frees */
    int64_t round_trip_ms; /* the time connecting took; SCHEMA_NONE: not known, with a proxy */
};

/* Connects and fills *d; the server's first line lies unread in d->fd.  While the server drops new
 * connections, it is tried again for as long as patience allows. */
int ssh_dial(const struct ssh_conf *c, const struct ssh_patience *p, struct ssh_dialed *d,
             struct err *e);
/* "HOST (ADDRESS) port N", for messages; caller frees. */
char *ssh_dial_name(const struct ssh_conf *c, const char *address);
/* Puts ssh_dial_name's text before the error.  Returns -1. */
int ssh_dial_wrap(const struct ssh_conf *c, const char *address, struct err *e);

/* ---- ssh.c: the session ---- */

/* Asks the user; the caller wipes and frees the answer (prompt_wipe).  NULL with e set when the
 * user cannot be asked. */
typedef char *(*ssh_ask_fn)(void *context, const char *text, bool echo, struct err *e);

struct ssh; /* an authenticated session */

struct ssh_plan {
    const struct endpoint *to;
    int watch_fd; /* see struct ssh_patience */
    ssh_ask_fn ask;
    void (*dialed)(void *context, const struct ssh *s); /* called when a server answers directly */
    const char *conf_said; /* ssh_conf.said of an earlier session with the server; NULL: ask ssh */
    void *context;         /* for ask and dialed */
};

/* Connects, checks the host key and logs in; NULL with e set when one of these fails. */
struct ssh *ssh_start(const struct ssh_plan *plan, struct err *e);
/* Disconnects, properly if that is possible without waiting, and frees s. */
void ssh_stop(struct ssh *s);

/* Fills the facts about the connection itself; texts are copied to a. */
void ssh_tell(const struct ssh *s, struct arena *a, struct connect_facts *facts);
const struct ssh_conf *ssh_conf_of(const struct ssh *s);

int64_t ssh_round_trip_ms(const struct ssh *s); /* see struct ssh_dialed */

/* The caller polls ssh_fd for ssh_poll_events until ssh_next_turn_ms, then calls ssh_turn, which
 * feeds the pumps of ssh_pump.h and gives -1 with the reason in e when the connection is lost. */
int ssh_fd(const struct ssh *s);
short ssh_poll_events(const struct ssh *s);
int64_t ssh_next_turn_ms(const struct ssh *s); /* units_monotonic_ms */
int ssh_turn(struct ssh *s, struct err *e);
/* False when the connection was lost; the next ssh_turn gives the reason. */
bool ssh_is_alive(const struct ssh *s);
/* Whether libssh has written all earlier bytes to the socket, so that it may be given more. */
bool ssh_may_write(const struct ssh *s);

#endif
